"""Pictures drawn by a process beside the run, or by a thread: the same files, whatever happens to the process."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sdm.executors import painter
from sdm.executors.local import LocalProcesses
from sdm.report.titled import get_ready


def write(path: Path, text: str, files: dict[str, Any]) -> None:
    path.write_text(f"{text} {os.getpid()}")
    files[text] = path.name


def fail(files: dict[str, Any]) -> None:
    raise ValueError("no such colour")


def die_apart(path: Path, home: int, files: dict[str, Any]) -> None:
    """End the process, unless it is that of the test."""
    if os.getpid() != home:
        os._exit(9)
    write(path, "drawn", files)


@pytest.fixture
def process():
    """A process that waits for something to draw."""
    painter._waiting.append(LocalProcesses(1))
    yield
    painter.dismiss_painter()


def test_a_process_draws_and_tells_the_names(process, tmp_path: Path) -> None:
    with painter.painting() as one:
        one.draw(write, tmp_path / "a", "map")
        one.draw_later(write, tmp_path / "b", "curves")
        assert one.names() == {"map": "a"}
    assert [(tmp_path / name).read_text().split()[0] for name in "ab"] == ["map", "curves"]
    assert (tmp_path / "a").read_text() != f"map {os.getpid()}"
    assert not painter.has_painter()


def test_without_a_process_a_thread_draws(tmp_path: Path) -> None:
    with painter.painting() as one:
        one.draw(write, tmp_path / "a", "map")
        one.draw_later(write, tmp_path / "b", "curves")
    assert (tmp_path / "a").read_text() == f"map {os.getpid()}"
    assert (tmp_path / "b").exists(), "all is drawn at the end"


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("later", [True, False])
def test_what_goes_wrong_is_raised(tmp_path: Path, apart: bool, later: bool) -> None:
    if apart:
        painter._waiting.append(LocalProcesses(1))
    with pytest.raises(ValueError, match="no such colour"), painter.painting() as one:
        (one.draw_later if later else one.draw)(fail)


def test_pictures_are_drawn_even_if_the_process_is_killed(process, tmp_path: Path) -> None:
    with painter.painting() as one:
        one.draw(die_apart, tmp_path / "a", os.getpid())
        one.draw_later(write, tmp_path / "b", "curves")
        assert one.names() == {"drawn": "a"}
    assert (tmp_path / "b").exists()


def test_a_failure_of_the_run_ends_the_process_at_once(process, tmp_path: Path) -> None:
    def run() -> None:
        with painter.painting() as one:
            one.draw(write, tmp_path / "a", "map")
            raise KeyError

    with pytest.raises(KeyError):
        run()
    assert not painter.has_painter()


def test_no_process_is_started_where_the_library_is_loaded() -> None:
    __import__("matplotlib")
    painter.start_painter(get_ready)
    assert not painter.has_painter()


@pytest.mark.thorough
def test_a_command_draws_in_its_own_process_what_a_thread_draws(tmp_path: Path) -> None:
    """The same bytes, and no plotting library in the process of the run."""
    root = Path(__file__).parents[2] / "sample_data"
    words = ["fit", str(root / "occurrences.csv"), str(root / "layers"), "--species", "Virtualis montanus", "-q"]
    words += ["--categorical", "landcover"]
    code = "import atexit, sys; {0}; from sdm_cli.main import main\n"
    code += "atexit.register(lambda: print('matplotlib' in sys.modules))\n"
    code += "sys.argv = ['sdm', *sys.argv[1:]]; main()"
    said = []
    for k, before in enumerate(("pass", "import matplotlib")):
        command = [sys.executable, "-c", code.format(before), *words, "-o", str(tmp_path / str(k))]
        said.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])
    assert said == ["False", "True"]
    made = [{path.relative_to(tmp_path / k): path for path in (tmp_path / k).rglob("*.png")} for k in "01"]
    assert made[0].keys() == made[1].keys()
    assert len(made[0]) > 8
    for name, path in made[0].items():
        assert path.read_bytes() == made[1][name].read_bytes(), name
