"""A flora of the small world, and what one process makes of it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from simulated.flora import Flora, make_flora, result_bytes
from terminal import sdm


@pytest.fixture(scope="session")
def flora(world: Any, tmp_path_factory: pytest.TempPathFactory) -> Flora:
    """Twelve species, three of them broken."""
    return make_flora(world, tmp_path_factory.mktemp("flora") / "records.csv", 12)


@pytest.fixture(scope="session")
def made(flora: Flora, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run in one process leaves, kept beside the folder `out` that it wrote."""
    out = tmp_path_factory.mktemp("whole") / "out"
    result = sdm(*flora.words(out))
    assert result.exit_code == 1, result.output
    assert f"{flora.species - 3} of {flora.species} species fitted" in result.output
    return shutil.copytree(out, out.with_name("kept"))


@pytest.fixture(scope="session")
def whole(made: Path) -> dict[str, bytes]:
    """The bytes of a run in one process."""
    return result_bytes(made)


@pytest.fixture
def out(made: Path) -> Path:
    """A finished run in the folder that its commands name, as it was left; a test may do with it what it likes."""
    place = made.with_name("out")
    shutil.rmtree(place, ignore_errors=True)
    return shutil.copytree(made, place)
