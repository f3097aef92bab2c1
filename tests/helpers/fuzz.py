"""Random damage and odd inputs for every command: each ends in a result or in one sentence, soon and in bounded memory.

    python tests/helpers/fuzz.py --cases 500 --seed 1     # cases 1, 2, …, 500
    python tests/helpers/fuzz.py --only 137 -v            # one of them again, with what it said

A case is a number: the command, what is odd and where all follow from it. Each runs in a forked process, which may use
ten seconds of processor time and a gigabyte of memory.
"""

import argparse
import atexit
import contextlib
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}

import odd
from community import write_community
from terminal import succeed, write_table

SECONDS, BYTES = 10, 1 << 30
HANG = 120  # seconds by the clock until a case counts as hanging
BARE = "--no-curves --no-report"
FIT = f"{BARE} --no-importance --categorical landcover --fc lq"
TREES = "--model structural --families l,trees:2 --lambda 0.1 --beta 0.1"
JOINT = "--environment heat,rain --learner crf-l2"
LAYER = "layers/temperature.tif"
# What is run, and the files whose damage it should survive.
POINTS, SURVEY, PLOTS, SITES, RUN = "points.csv", "survey.csv", "plots.csv", "sites.csv", "run.yaml"
CLASSES = "classes/habitat.npz"
COMMANDS = {
    "fit": (f"fit {POINTS} layers {FIT} --no-map -o out", (POINTS, LAYER)),
    "fit a map": (f"fit {POINTS} layers {FIT} -o out", (POINTS, LAYER, "layers/landcover.tif")),
    "fit by a run file": (f"fit fit/{RUN} -o out", (f"fit/{RUN}", POINTS)),
    "fit a response": (f"fit {SURVEY} layers --response presence --fc l {BARE} --no-map -o out", (SURVEY,)),
    "fit trees": (f"fit {POINTS} layers {BARE} --no-map --no-importance {TREES} -o out", (POINTS, LAYER)),
    "tune": (f"tune {POINTS} layers {FIT} --no-map --feature-sets l --multipliers 1,2 --folds 2 -o out", (POINTS,)),
    "path": (f"path {POINTS} layers {FIT} --no-map --folds 2 -o out", (POINTS, LAYER)),
    "strata": (f"path {POINTS} --strata layers/landcover.tif {BARE} -o out", (POINTS, "layers/landcover.tif")),
    "curve": (f"curve sensitivity {POINTS} layers --sets l --strengths 1,2 --partitions 1 -o out", (POINTS, LAYER)),
    "joint": (f"joint {SITES} {JOINT} --no-report -o out", (SITES,)),
    "joint by a run file": (f"joint joint/{RUN} -o out", (f"joint/{RUN}", SITES)),
    "classify": (f"classify {PLOTS} layers --class-column habitat --fc l {BARE} --no-map -o out", (PLOTS, LAYER)),
    "classify by a run file": (f"classify classes/{RUN} -o out", (f"classes/{RUN}", PLOTS)),
    "check": (f"check {POINTS} layers", (POINTS, LAYER)),
    "check a run file": (f"check fit/{RUN} -o out", (f"fit/{RUN}",)),
    "predict": ("predict fit/sp.npz layers -o map.tif", ("fit/sp.npz", LAYER)),
    "predict a threshold": ("predict fit/sp.npz layers --threshold 10p -o map.tif", ("fit/sp.npz",)),
    "predict classes": (f"predict {CLASSES} layers -o map.tif", (CLASSES, LAYER)),
    "predict a community": ("predict joint2/joint.npz layers -o maps", ("joint2/joint.npz", LAYER)),
    "evaluate": (f"evaluate fit/sp.npz --presences {SURVEY} --layers layers", ("fit/sp.npz", SURVEY, LAYER)),
    "evaluate classes": (
        f"evaluate classes/habitat.npz --sites {PLOTS} --layers layers",
        (CLASSES, PLOTS),
    ),
    "evaluate a community": (f"evaluate joint/joint.npz --sites {SITES}", ("joint/joint.npz", SITES)),
    "info": ("info fit/sp.npz", ("fit/sp.npz",)),
    "info classes": (f"info {CLASSES}", (CLASSES,)),
    "info a community": ("info joint/joint.npz", ("joint/joint.npz",)),
    "info trees": ("info trees/sp.npz", ("trees/sp.npz",)),
    "report": (
        "report fit",
        ("fit/sp.json", f"fit/{RUN}", "fit/sp_curves.csv", "fit/maxentResults.csv", "fit/sp.tif", "fit/sp.npz"),
    ),
    "report classes": ("report classes", ("classes/habitat.json", "classes/habitat_curves.csv")),
    "report a community": ("report joint", ("joint/joint.json",)),
    "simulate": ("simulate world2 --size 32 --layers 3 --records 20", ()),
    "init": ("init new.yaml", ()),
}
OPTIONS = {
    "predict": ("--scale", "--threshold", "--study-area", "--nodata", "--align", "--threads", "-o"),
    "evaluate": (
        "--crs",
        "--x-column",
        "--nodata",
        "--align",
        "--absences",
        "--background",
        "--species",
        "--truth",
        "--seed",
    ),
    "info": ("--features",),
    "simulate": (
        "--size",
        "--layers",
        "--species",
        "--records",
        "--sites",
        "--noise",
        "--shared-axes",
        "--warming",
        "--crs",
        "--seed",
    ),
    "init": (),
    "report": (),
}
# Numbers of these are honest orders for more work than a case may take.
LONG = {
    "replicates",
    "repeats",
    "null_models",
    "partitions",
    "thin_tries",
    "threads",
    "processes",
    "max_iterations",
    "rounds",
}


def build(folder: Path) -> None:
    """Make a small world, and a model of each kind in it."""
    with contextlib.chdir(folder):
        succeed("simulate", "world", "--size", 32, "--layers", 3, "--records", 40, "--sites", 60, "--seed", 3)
        shutil.move("world/layers", "layers")
        for new, old in (("points.csv", "occurrences.csv"), ("survey.csv", "presence_absence.csv")):
            text = (folder / "world" / old).read_text()
            (folder / new).write_text(re.sub(r"Virtualis \w+", "sp", text))
        shutil.rmtree("world")
        rows = [line.split(",") for line in Path("survey.csv").read_text().splitlines()]
        at = {name: k for k, name in enumerate(rows[0])}
        classes = ("wet", "dry", "mild")
        body = [(r[at["longitude"]], r[at["latitude"]], classes[k % 3]) for k, r in enumerate(rows[1:])]
        write_table(Path("plots.csv"), ["longitude", "latitude", "habitat"], body)
        write_community(folder)
        two = [(r[at["longitude"]], r[at["latitude"]], r[at["presence"]], str(k % 2)) for k, r in enumerate(rows[1:])]
        write_table(Path("pair.csv"), ["longitude", "latitude", "one", "two"], two)
        for line in (
            f"fit {POINTS} layers --categorical landcover --fc lq --test-percent 20 -o fit",
            f"fit {POINTS} layers {BARE} --no-map {TREES} -o trees",
            f"classify {PLOTS} layers --class-column habitat --fc lq --test-percent 20 -o classes",
            f"joint {SITES} {JOINT} -o joint",
            "joint pair.csv layers --no-map -o joint2",
        ):
            succeed(*line.split())
        for path in Path().glob("*/run.yaml"):
            path.write_text(path.read_text().replace(str(folder) + "/", "../"))


def warm(folder: Path) -> None:
    """Import and compile once what all cases need."""
    with tempfile.TemporaryDirectory() as out, contextlib.chdir(folder):
        for name in ("fit", "classify", "joint", "info"):
            succeed(*COMMANDS[name][0].replace("-o out", f"-o {out}/{name}").split())


@dataclass
class Case:
    """What is run, and what is odd about it."""

    words: list[str]
    what: str


def prepare(number: int, folder: Path) -> Case:
    """Make the files of a case in a folder that holds the world."""
    rng = Random(number)  # noqa: S311
    name = rng.choice(list(COMMANDS))
    words, files = COMMANDS[name][0].split(), COMMANDS[name][1]
    if not files or rng.random() < 0.3:
        return _odd_option(name, words, rng)
    file = rng.choice(files)
    path = folder / file
    content = path.read_bytes()
    kinds = {".csv": odd.odd_table, ".yaml": odd.odd_yaml, ".json": odd.odd_json, ".npz": odd.odd_model}
    if rng.random() < 0.4:
        path.write_bytes(odd.damage(content, rng))
        return Case(words, f"{name}: {file} damaged")
    if path.suffix == ".tif":
        odd.odd_raster(path, rng)
    elif path.suffix == ".csv" and "/" not in file and rng.random() < 0.2:
        packed = odd.odd_zip(path, rng)
        words = [packed.name if word == path.name else word for word in words]
    else:
        path.write_bytes(kinds[path.suffix](content, rng))
    return Case(words, f"{name}: {file} odd")


def _odd_option(name: str, words: list[str], rng: Random) -> Case:
    """Give an option, or a file's place, an odd value."""
    value = rng.choice(odd.WORDS)
    command = words[0]
    if rng.random() < 0.2:
        at = rng.randrange(1, len(words))
        strange = ("/dev/zero", "/dev/null", "none", ".", "fit", "layers", os.fsdecode(b"caf\xe9"), "fifo", value)
        place = rng.choice(strange)
        words[at] = place
        return Case(words, f"{name}: word {at} is {place[:40]!r}")
    if command in OPTIONS:
        options = OPTIONS[command]
    else:
        from sdm.options.reading import leaves

        options = tuple(f"--{leaf.dotted}" for leaf in leaves() if not leaf.flag and leaf.name not in LONG)
    if not options:
        return Case(words, f"{name}: as it is")
    option = rng.choice(options)
    return Case([*words, option, value], f"{name}: {option} {value[:40]!r}")


def run(case: Case, folder: Path) -> tuple[str, int, float, int]:
    """Run a case in a forked process; return what it said, its exit code, processor seconds and bytes of memory."""
    said = folder / ".said"
    os.mkfifo(folder / "fifo")
    if (child := os.fork()) == 0:
        _become(case.words, folder, said)
    until = time.monotonic() + HANG
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.005)
    text = said.read_bytes().decode(errors="backslashreplace")
    return text, os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def _memory(key: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{key}:\s+(\d+)", status)[1]) * 1024  # type: ignore[index]


def _become(words: list[str], folder: Path, said: Path) -> None:
    """Be the command: its streams in a file, its memory limited."""
    code = 99
    try:
        os.chdir(folder)
        out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        limit = _memory("VmSize") + 2 * BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sys.argv = ["sdm", *words]
        atexit._clear()  # what the parent wants done at its own end
        from sdm_cli.main import main

        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def judge(text: str, code: int, seconds: float, memory: int) -> str | None:
    """Say what is wrong with how a case ended; None if nothing is."""
    errors = [line for line in text.splitlines() if line.startswith(("error: ", "problem "))]
    wrong = {
        "a traceback": "Traceback" in text or "Exception ignored" in text,
        "unexpected": "bug in sdm" in text,
        f"exit code {code}": code not in (0, 1, 2),
        "no error said": bool(code) and not errors,
        "control characters": bool(re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)),
        f"{seconds:.0f} s": seconds > SECONDS,
        f"{memory >> 20} MB": memory > BYTES or "not enough memory" in text,
    }
    return next((what for what, is_so in wrong.items() if is_so), None)


def main() -> int:
    parser = argparse.ArgumentParser(description="Random damage and odd inputs for every command.")
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1, help="number of the first case")
    parser.add_argument("--only", type=int, nargs="*", help="these cases alone")
    parser.add_argument("--plain", action="store_true", help="first the commands as they are, which must succeed")
    parser.add_argument("--verbose", "-v", action="store_true")
    asked = parser.parse_args()
    names = list(COMMANDS)
    numbers = asked.only or [*range(-len(names) * asked.plain, 0), *range(asked.seed, asked.seed + asked.cases)]
    failed, ends, slowest, largest = [], Counter[int](), (0.0, 0), (0, 0)
    with tempfile.TemporaryDirectory() as temporary:
        world = Path(temporary).resolve() / "world"
        world.mkdir()
        if (child := os.fork()) == 0:  # the threads in which GDAL writes maps would not survive a fork
            build(world)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0, "the world could not be made"
        warm(world)
        for number in numbers:
            folder = world.with_name("case")
            for _ in range(2):  # one that takes long may be the first to need a kernel, and have compiled it
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(world, folder)
                plain = Case(COMMANDS[names[number]][0].split(), names[number]) if number < 0 else None
                case = plain or prepare(number, folder)
                text, code, seconds, memory = run(case, folder)
                if seconds < SECONDS / 2:
                    break
            ends[code] += 1
            slowest, largest = max(slowest, (seconds, number)), max(largest, (memory, number))
            wrong = "failed" if number < 0 and code else judge(text, code, seconds, memory)
            if wrong:
                failed.append(number)
            if wrong or asked.verbose:
                end = f"{wrong or 'good'}: code {code}, {seconds:.1f} s, {memory >> 20} MB"
                print(f"case {number}: {end}\n  {case.what}\n  sdm {' '.join(word[:60] for word in case.words)!r}")
                print("".join(f"    {line[:300]}\n" for line in text.splitlines()[-8:]), flush=True)
            shutil.rmtree(folder)
    listed = ", ".join(f"{count} with {code}" for code, count in sorted(ends.items()))
    print(f"{sum(ends.values())} cases ended: {listed}; {len(failed)} wrong{f': {failed}' if failed else ''}")
    print(f"most time: {slowest[0]:.1f} s (case {slowest[1]}); most memory: {largest[0] >> 20} MB (case {largest[1]})")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
