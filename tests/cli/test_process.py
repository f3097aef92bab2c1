"""The command as a process: exit codes, streams, Ctrl-C, a full disk, and what it does not import."""

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import QUICK, files, process, start, succeed

from sdm_cli.app import COMMANDS as LISTED
from sdm_cli.app import GROUPS, run_app, whole_app

HEAVY = ("numba", "numpy", "pandas", "rasterio", "geopandas", "matplotlib", "scipy", "rich", "yaml")
SMALL = (*QUICK, "--dpi", 72)
OTHERS = [f"sdm_cli.commands.{module}" for module in LISTED.values() if module != LISTED["fit"]]


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (("--version",), ("pydantic", "sdm.options", "sdm_cli.console")),
        (("--help",), ("pydantic", "sdm.options", "sdm_cli.console")),
        (("fit", "--help"), tuple(OTHERS)),
        (("schema",), ()),
    ],
)
def test_help_is_quick_because_nothing_heavy_is_imported(words, more) -> None:
    said = f"print([name for name in {HEAVY + more!r} if name in sys.modules], file=sys.stderr)"
    code = (
        f"import atexit, sys\nfrom sdm_cli.main import main\nsys.argv = ['sdm', *{words!r}]\n"
        f"atexit.register(lambda: {said})\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert done.stdout


@pytest.mark.parametrize("words", [("--help",), ("schema",)])
def test_a_reader_that_goes_away_is_no_error(words) -> None:
    """As in `sdm --help | head -1`: the shell's own programs end with 141, and say nothing."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "sdm_cli.main", *words]
    with os.fdopen(write, "w") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (141, "")


def test_settings_of_other_programs_do_not_stop_a_run() -> None:
    """Numba and matplotlib raise ValueError, or print a traceback, when they are imported with such values."""
    code = (
        "import atexit, os, sys\nfrom sdm_cli.main import main\nsys.argv = ['sdm', '--version']\n"
        "names = 'NUMBA_NUM_THREADS', 'MPLBACKEND', 'NUMBA_DISABLE_JIT'\n"
        "atexit.register(lambda: print(*map(os.environ.get, names)))\nmain()"
    )
    env = {**os.environ, "NUMBA_NUM_THREADS": "0", "MPLBACKEND": "nonsense", "NUMBA_DISABLE_JIT": "foo"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.endswith("\n1 Agg None\n")


def test_an_error_is_all_that_is_printed_without_the_database_of_coordinate_systems(world, tmp_path: Path) -> None:
    """PROJ reports it on standard error too."""
    env = {"PROJ_DATA": "/nonexistent", "PROJ_LIB": "/nonexistent"}
    done = process("fit", world.records, world.layers, "-o", tmp_path / "out", env=env)
    assert (done.stderr.startswith("error: "), done.stderr.count("\n")) == (True, 1), done.stderr


ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def test_names_are_utf8_in_a_locale_that_has_only_ascii(tmp_path: Path) -> None:
    done = process("init", tmp_path / "é" / "run.yaml", env=ASCII)
    assert done.returncode == 1
    assert "é" in done.stderr
    (tmp_path / "é").mkdir()
    done = process("init", tmp_path / "é" / "run.yaml", env=ASCII)
    assert (done.returncode, done.stderr) == (0, "")
    assert "é" in done.stdout
    assert (tmp_path / "é" / "run.yaml").is_file()


def limited(world, out: Path, kind: int, limit: int) -> "subprocess.CompletedProcess[str]":
    import resource

    words = ("fit", world.records, world.layers, *SMALL, "-o", out)
    return process(*words, preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)))


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the address space")
@pytest.mark.parametrize("megabytes", [300, 400, 600, 700, 1100])
def test_a_limit_of_memory_ends_a_run_with_a_sentence(world, tmp_path: Path, megabytes: int) -> None:
    done = limited(world, tmp_path / "out", 9, megabytes << 20)  # RLIMIT_AS
    if done.returncode:
        assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
        assert done.stderr.splitlines()[-1].startswith("error: not enough memory"), done.stderr
        assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
@pytest.mark.skipif(os.name == "nt", reason="this system has no such limit")
@pytest.mark.parametrize("files", [10, 14, 16, 17, 18])
def test_a_limit_of_open_files_ends_a_run_with_a_sentence(world, tmp_path: Path, files: int) -> None:
    import resource

    done = limited(world, tmp_path / "out", resource.RLIMIT_NOFILE, files)
    if done.returncode:
        assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
        assert done.stderr.splitlines()[-1].startswith("error: too many open files"), done.stderr
        assert list(tmp_path.iterdir()) == []


GIS = ("geopandas", "pyogrio", "shapely")
KINDS = ("sdm.kinds.classes", "sdm.kinds.community", "sdm.joint", "sdm.shared", "sdm.kinds.species.methods.axes")
STAGES = ("sdm.run.projecting", "sdm.run.studies", "sdm.java", "sdm.simulate", "sdm.api")
NEVER = ("sklearn", "distributed", "xarray", *GIS, *KINDS, *STAGES)
FEW = ("--categorical", "landcover", "--fc", "lq", "--dpi", "72")
PLAIN = ("--no-curves", "--no-importance", "--no-report")


@pytest.mark.thorough
@pytest.mark.parametrize(("more", "not_loaded"), [(PLAIN, ("rich",)), ((), ("rich",))])
def test_a_run_over_species_loads_what_it_does(world, tmp_path: Path, more, not_loaded) -> None:
    """No other kind of model, and no GIS library where records are a table."""
    words = ("fit", "one.csv", "layers", *FEW, "-q", "-o", str(tmp_path / "out"), *more)
    said = f"print([name for name in {(*NEVER, *not_loaded)!r} if name in sys.modules])"
    code = (
        f"import atexit, sys\nfrom sdm_cli.main import main\nsys.argv = ['sdm', *{words!r}]\n"
        f"atexit.register(lambda: {said})\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=world.folder)
    assert done.stdout.strip() == "[]"


def test_the_help_lists_every_command_in_a_line_of_ten_words_at_most() -> None:
    assert list(whole_app().commands) == list(LISTED)
    for commands in GROUPS.values():
        for name, (_, line) in commands.items():
            assert len(line.split()) <= 10, name


def test_a_whole_run_as_a_process(world, tmp_path: Path) -> None:
    done = process("fit", "one.csv", "layers", *SMALL, "-o", tmp_path / "out", "--json", cwd=world.folder)
    assert done.returncode == 0
    assert json.loads(done.stdout)["models"][0]["error"] is None
    assert "categorical layers: landcover" in done.stderr
    command = (tmp_path / "out" / "command.txt").read_text()
    assert command.startswith("sdm fit one.csv layers --fc lq")
    assert command.strip().endswith("--json")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("fit", "--multiplyer", "2"), "--multiplier"),
        (("bla",), "bla"),
        (("predict",), "sdm predict --help"),
        (("predict", "m.npz", "layers", "-o", "x.tif", "--threads", "many"), "--threads many"),
        (("fit",), "'sdm fit' needs occurrence records and layers"),
        (("fit", "one.csv", "layers"), "no output folder"),
    ],
)
def test_words_that_are_not_understood(tmp_path: Path, words, part, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sdm", *words])
    monkeypatch.setattr(logging.getLogger("sdm"), "handlers", [])
    assert run_app() == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    assert part in said.err
    assert files(tmp_path) == []


def test_a_process_ends_with_the_code_of_the_error(tmp_path: Path) -> None:
    done = process("fit", "--multiplyer", "2", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_no_words_at_all_show_the_help() -> None:
    done = process()
    assert done.returncode == 0
    assert "sdm fit occurrences.csv layers/ " in done.stdout


@pytest.mark.thorough
def test_a_quick_error_does_not_stumble_over_threads(world, tmp_path: Path) -> None:
    """Pictures are imported in a thread while the records are read: a failure must not wait for it, or crash in it."""
    for _ in range(2):
        done = process("fit", tmp_path / "none.csv", world.layers, "-o", tmp_path / "out")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr


@pytest.mark.thorough
def test_a_terminal_without_the_letters_of_a_name(world, tmp_path: Path) -> None:
    text = world.records.read_text().replace("Virtualis", "🦥")
    (tmp_path / "records.csv").write_text(text, encoding="utf-8")
    words = ("fit", tmp_path / "records.csv", world.layers, *SMALL, *PLAIN, "--no-map", "-o", tmp_path / "out")
    done = process(*words, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "\\U0001f9a5 montanus" in done.stdout


def interrupt(child: "subprocess.Popen[str]", what: signal.Signals) -> str:
    """Send a signal to a process that was held, and return what it says."""
    with child:
        child.send_signal(what)
        _, err = child.communicate(timeout=120)
    return err


@pytest.mark.parametrize(
    ("moment", "what", "code"),
    [
        ("open *_roc.csv", signal.SIGINT, 130),
        pytest.param("os.rename *.part*_thresholded.tif", signal.SIGTERM, 143, marks=pytest.mark.thorough),
        pytest.param("open *.html*", signal.SIGINT, 130, marks=pytest.mark.thorough),
    ],
)
def test_a_signal_leaves_nothing_behind(world, tmp_path: Path, moment, what, code) -> None:
    words = ("fit", world.records, world.layers, *SMALL, "--threshold", 0.5, "-o", tmp_path / "deep" / "out")
    child = start(*words, hold=moment)
    assert files(tmp_path), "something is there to be removed"
    err = interrupt(child, what)
    assert child.returncode == code, err
    assert err.splitlines()[-1] == "interrupted: nothing half-written was kept"
    assert "Traceback" not in err
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("what", "code"), [pytest.param(signal.SIGINT, 130, marks=pytest.mark.thorough), (signal.SIGTERM, 143)]
)
def test_a_signal_after_the_exchange_says_that_the_results_are_there(tmp_path: Path, what, code) -> None:
    words = ("simulate", tmp_path / "world", "--size", 32, "--overwrite")
    succeed(*words)
    (tmp_path / "world" / "mine.txt").write_text("mine")
    child = start(*words, "--seed", 3, hold="os.rmdir *.part/new")
    err = interrupt(child, what)
    assert child.returncode == code, err
    assert err.splitlines()[-1] == f"interrupted: the new results are in {tmp_path / 'world'}"
    assert (tmp_path / "world" / "mine.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["world"]


@pytest.mark.thorough
@pytest.mark.parametrize("module", ["typer", "pydantic", "numba", "rasterio*"])
def test_ctrl_c_while_modules_are_imported(world, tmp_path: Path, module) -> None:
    """The first seconds of every run, when a mistyped command is most often noticed."""
    child = start("fit", world.records, world.layers, "-o", tmp_path / "out", hold=f"import {module}")
    err = interrupt(child, signal.SIGINT)
    assert child.returncode == 130, err
    assert err == "" or err.splitlines()[-1] == "interrupted: nothing half-written was kept"
    assert "Traceback" not in err


@pytest.mark.thorough
def test_ctrl_c_while_simulating(tmp_path: Path) -> None:
    child = start("simulate", tmp_path / "world", "--size", 48, hold="open *truth.json*")
    err = interrupt(child, signal.SIGINT)
    assert child.returncode == 130, err
    assert files(tmp_path) == []


@pytest.mark.thorough
@pytest.mark.parametrize("limit", [10_000, 200_000])
def test_a_full_disk_leaves_nothing_behind(world, tmp_path: Path, limit: int) -> None:
    """No file may grow beyond the limit: the model, the tables or the map cannot be written."""
    resource = pytest.importorskip("resource", reason="this system sets no limits to processes")
    done = process(
        *("fit", world.records, world.layers, *SMALL, "-o", tmp_path / "out"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"error: {tmp_path / 'out'}")
    assert "cannot be written" in last
    assert ".part" not in last
    assert "Traceback" not in done.stderr
    assert files(tmp_path) == []


COMMANDS = [("schema",), ("--help",), ("info",), ("info", "--json")]


@pytest.mark.thorough
@pytest.mark.parametrize("words", COMMANDS)
def test_a_full_disk_behind_the_output(fit, words) -> None:
    """`sdm info model.npz > file` on a full disk: a sentence, not a traceback, and not exit code 0."""
    with open("/dev/full", "w") as full:
        done = process(*_complete(words, fit), stdout=full)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == "error: standard output cannot be written (No space left on device) [E063]", done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("words", COMMANDS)
def test_a_reader_that_stops_reading(fit, words) -> None:
    """`sdm schema | head -1`: silence, and the exit code of any program whose output is cut off."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = process(*_complete(words, fit), stdout=writing)
    finally:
        os.close(writing)
    assert done.returncode == 141, done.stderr
    assert "rror" not in done.stderr
    assert "Traceback" not in done.stderr


def _complete(words, fit) -> tuple:
    return (*words, fit.model) if words[0] == "info" else words


@pytest.mark.parametrize("closed", [1, 2])
def test_streams_that_are_closed(fit, closed: int) -> None:
    done = process("info", fit.model, preexec_fn=lambda: os.close(closed))
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


ENDS = [
    ("raise MemoryError", 1, "error: not enough memory"),
    ("raise ValueError from OSError(24, 'Too many open files')", 1, "error: too many open files"),
    ("raise OSError(28, 'No space left on device')", 1, "error: standard output cannot be written (No space left"),
    ("raise BrokenPipeError", 141, ""),
    ("raise KeyboardInterrupt", 130, ""),
    ("return 3", 3, ""),
    ("return 0", 0, ""),
]


@pytest.mark.parametrize(("end", "code", "start"), ENDS)
def test_scripts_see_the_exit_code_and_standard_error_has_the_reason(end, code, start) -> None:
    """Standard output keeps only results: `sdm info --json > model.json` must not contain an error."""
    app = f"def run_app():\n    print('result')\n    {end}\n"
    lines = "import sys, types", "app = sys.modules['sdm_cli.app'] = types.ModuleType('sdm_cli.app')"
    program = "\n".join([*lines, f"exec({app!r}, app.__dict__)", "from sdm_cli.main import main", "main()"])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, "result\n"), done.stderr
    assert (done.stderr.startswith(start), done.stderr.count("\n")) == (True, bool(start)), done.stderr
