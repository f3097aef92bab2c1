"""A command that is killed, or whose disk fails, at any call: the whole old result is there, or the whole new one."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from faults import FAULTS, KILL, Commands
from terminal import QUICK

from sdm.run.journal import JOURNAL
from sdm.storage.written_files import LISTED

TIMES = ("run", "time", "seconds")
LEAN = (*QUICK, "--no-report", "--no-map-picture", "--no-importance", "--overwrite", "--threads", 1)


def snapshot(place: Path) -> dict[str, bytes]:
    """Every file of a result by its name, but for what is there only while a run is at work."""
    if place.is_file():
        return {place.name: place.read_bytes()}
    found = {path.relative_to(place).as_posix(): path for path in place.rglob("*") if path.is_file()}
    return {name: content(path) for name, path in found.items() if ".sdm-" not in name or name.endswith(LISTED)}


def content(path: Path) -> bytes:
    """The bytes of a file; of a journal, without times."""
    if path.name != JOURNAL:
        return path.read_bytes()
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return repr([{key: value for key, value in line.items() if key not in TIMES} for line in lines]).encode()


def survive(
    commands: Commands, root: Path, result: str, old: tuple[Any, ...], new: tuple[Any, ...], how: str, every: int = 1
) -> None:
    """Put a fault into every call of a command that replaces a result, one after the other; or into every n-th.

    A kill leaves the disk as it is at that moment, so one run is looked at before each of its calls; every tenth call
    really kills a run.
    """
    first, place = root / "first", root / "place"
    place.mkdir()  # always the same folder: the command is part of the result
    assert commands.run(old)[1] == 0
    (place / "mine.txt").write_text("mine")
    shutil.copytree(place, first)
    before = snapshot(place / result)
    calls, code = commands.run(new)
    after = snapshot(place / result)
    assert code == 0
    assert after != before

    def look(at: int) -> None:
        assert snapshot(place / result) in (before, after), f"call {at} of {calls}"
        assert (place / "mine.txt").read_text() == "mine"

    def back() -> None:
        shutil.rmtree(place)
        shutil.copytree(first, place)

    if how == KILL:
        back()
        stops, code = commands.watch(new, look)
        assert code == 0
        assert stops >= calls
        every = 10
    for at in range(1, calls + 1, every):
        back()
        _, code = commands.run(new, at, how)
        look(at)
        if how == KILL:
            assert code == -9, f"call {at}"
        else:
            assert code in (0, 1), f"call {at}"
            assert code == 1 or snapshot(place / result) == after, f"call {at}: success is said of an old result"
        if at % 10 == 1:  # what was left does not hinder the next run, which clears it away
            assert commands.run(new)[1] == 0
            assert snapshot(place / result) == after
            assert {path.name for path in place.iterdir()} == {path.name for path in first.iterdir()}


@pytest.fixture(scope="module")
def layers(world, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two layers: what is written does not become more with more of them."""
    folder = tmp_path_factory.mktemp("two")
    for name in ("landcover", "temperature"):
        shutil.copy(world.layers / f"{name}.tif", folder)
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize("how", FAULTS)
def test_fit(commands, world, layers: Path, tmp_path: Path, how: str) -> None:
    words = ("fit", world.records, layers, *LEAN, "-o", tmp_path / "place" / "out")
    survive(commands, tmp_path, "out", words, (*words, "--rm", 3), how)


@pytest.mark.thorough
@pytest.mark.parametrize("how", FAULTS)
def test_batch(commands, world, layers: Path, tmp_path: Path, how: str) -> None:
    words = ("fit", world.both, layers, *LEAN, "--no-map", "-o", tmp_path / "place" / "out")
    survive(commands, tmp_path, "out", words, (*words, "--rm", 3), how, every=4)


@pytest.mark.thorough
@pytest.mark.parametrize("how", FAULTS)
def test_predict(commands, world, layers: Path, tmp_path: Path, how: str) -> None:
    model = tmp_path / "model"
    assert commands.run(("fit", world.records, layers, *LEAN, "--no-map", "-o", model))[1] == 0
    (model,) = model.glob("*.npz")
    words = ("predict", model, layers, "-o", tmp_path / "place" / "map.tif", "--overwrite")
    survive(commands, tmp_path, "map.tif", words, (*words, "--scale", "raw"), how)
