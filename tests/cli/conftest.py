"""A small virtual world, and a fit of it, for the tests of the command line."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from faults import Commands
from terminal import rows, succeed
from zoo import once, small_world


@dataclass(frozen=True)
class World:
    """A virtual landscape of 48 × 48 cells with 5 layers and two species of 60 records each."""

    folder: Path

    @property
    def layers(self) -> Path:
        return self.folder / "layers"

    @property
    def records(self) -> Path:
        """Records of one species."""
        return self.folder / "one.csv"

    @property
    def both(self) -> Path:
        """Records of two species."""
        return self.folder / "occurrences.csv"

    @property
    def survey(self) -> Path:
        """Sites of both species, with a column `presence` of 1 and 0."""
        return self.folder / "presence_absence.csv"


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(small_world(tmp_path_factory))


@pytest.fixture
def own(world: World, tmp_path: Path) -> World:
    """A copy of the world that a test may spoil."""
    shutil.copytree(world.folder, tmp_path / "own")
    return World(tmp_path / "own")


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    """A process that runs commands with faults."""
    server = Commands()
    yield server
    server.close()


@dataclass(frozen=True)
class Fit:
    """A finished run, and what it said."""

    folder: Path
    name: str
    said: str

    @property
    def model(self) -> Path:
        return self.folder / f"{self.name}.npz"

    @property
    def map(self) -> Path:
        return self.folder / f"{self.name}.tif"


@pytest.fixture(scope="session")
def fit(world: World, tmp_path_factory: pytest.TempPathFactory) -> Fit:
    """A fit with everything: curves, test records, a threshold, a projection."""

    def make(folder: Path) -> None:
        result = succeed(
            *("fit", world.records, world.layers, "--categorical", "landcover", "-o", folder / "results"),
            *("--test-percent", 20, "--threshold", "10p", "--features", "lqh", "--dpi", 100),
            *("--projections", f"warmer={world.folder / 'warmer'}"),
        )
        (folder / "output.txt").write_text(result.output, encoding="utf-8")

    folder = once(tmp_path_factory, "species-full", make)
    name = rows(world.records)[0]["species"].replace(" ", "_")
    return Fit(folder / "results", name, (folder / "output.txt").read_text(encoding="utf-8"))
