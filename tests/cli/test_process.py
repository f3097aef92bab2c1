"""The command as a process: exit codes, streams, Ctrl-C, a full disk, and what it does not import."""

import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from terminal import QUICK, files, process, start

HEAVY = ("numba", "pandas", "rasterio", "geopandas", "matplotlib", "scipy")


@pytest.mark.parametrize("words", [("--help",), ("fit", "--help"), ("version",), ("schema",)])
def test_help_is_quick_because_nothing_heavy_is_imported(words) -> None:
    code = (
        "import sys\nfrom sdm_cli.main import app\n"
        f"try:\n    app({list(words)!r})\nexcept SystemExit as stop:\n    assert not stop.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_a_whole_run_as_a_process(world, tmp_path: Path) -> None:
    done = process("fit", "one.csv", "layers", *QUICK, "-o", tmp_path / "out", "--json", cwd=world.folder)
    assert done.returncode == 0
    assert json.loads(done.stdout)["species"][0]["error"] is None
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
        (("predict", "m.npz", "layers", "-o", "x.tif", "--threads", "many"), "--threads"),
        (("fit",), "no output folder"),
    ],
)
def test_words_that_are_not_understood(tmp_path: Path, words, part) -> None:
    done = process(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert part in done.stderr
    assert files(tmp_path) == []


def test_no_words_at_all_show_the_help() -> None:
    done = process()
    assert done.returncode == 0
    assert "sdm fit records.csv layers/ -o results" in done.stdout


def test_a_quick_error_does_not_stumble_over_threads(world, tmp_path: Path) -> None:
    """Pictures are imported in a thread while the records are read: a failure must not wait for it, or crash in it."""
    for _ in range(2):
        done = process("fit", tmp_path / "none.csv", world.layers, "-o", tmp_path / "out")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr


def test_a_terminal_without_the_letters_of_a_name(world, tmp_path: Path) -> None:
    text = world.records.read_text().replace("Virtualis", "🦥")
    (tmp_path / "records.csv").write_text(text, encoding="utf-8")
    words = ("fit", tmp_path / "records.csv", world.layers, *QUICK, "-o", tmp_path / "out")
    done = process(*words, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "\\U0001f9a5 montanus" in done.stdout


def wait_for(folder: Path, pattern: str, child: "subprocess.Popen[str]") -> None:
    """Wait until a file is there, or the process has ended."""
    until = time.monotonic() + 60
    while not list(folder.rglob(pattern)) and child.poll() is None and time.monotonic() < until:
        time.sleep(0.002)


@pytest.mark.parametrize("pattern", ["*.part", "plain*.tif"])
@pytest.mark.parametrize(("what", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_nothing_behind(world, tmp_path: Path, pattern, what, code) -> None:
    words = ("fit", world.records, world.layers, "--categorical", "landcover", "-o", tmp_path / "deep" / "out")
    with start(*words) as child:
        wait_for(tmp_path, pattern, child)
        child.send_signal(what)
        _, err = child.communicate(timeout=60)
    if child.returncode == 0:
        pytest.skip("the run was over before it could be interrupted")
    assert child.returncode == code, err
    assert "Traceback" not in err
    assert "interrupted" in err
    assert files(tmp_path) == []


def test_ctrl_c_while_simulating(tmp_path: Path) -> None:
    with start("simulate", tmp_path / "world", "--size", 1500) as child:
        wait_for(tmp_path, "*.tif", child)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert files(tmp_path) == []


@pytest.mark.parametrize("limit", [10_000, 200_000])
def test_a_full_disk_leaves_nothing_behind(world, tmp_path: Path, limit: int) -> None:
    """No file may grow beyond the limit: the model, the tables or the map cannot be written."""
    done = process(
        *("fit", world.records, world.layers, *QUICK, "-o", tmp_path / "out"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"error: {tmp_path / 'out'}")
    assert "cannot be written" in last
    assert ".part" not in last
    assert "Traceback" not in done.stderr
    assert files(tmp_path) == []


def test_a_reader_that_stops_reading(world) -> None:
    with start("schema") as child:
        assert child.stdout is not None
        child.stdout.read(10)
        child.stdout.close()
        assert child.wait(timeout=60) in (0, 1)
