"""Six species of the small world on shared axes, one of which has one record only; and what one process leaves."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared_axes.runs import Group, write_records
from simulated.flora import result_bytes
from terminal import PLAIN, rows, sdm
from zoo import once

FEW = ("--background-points", 800, *PLAIN)


class SmallGroup(Group):
    """A group whose bare runs have few background points, and no importance of variables."""

    def bare(self, out: Path, *more: Any) -> tuple[Any, ...]:
        return super().bare(out, *FEW, *more)


@pytest.fixture(scope="session")
def group(world: Any, tmp_path_factory: pytest.TempPathFactory) -> Group:
    """Five species that can be fitted, and one that cannot; three layers, each of which is a panel of pictures."""

    def make(folder: Path) -> None:
        rng, places = np.random.default_rng(6), [(r["longitude"], r["latitude"]) for r in rows(world.both)]
        body = [
            (f"Planta numerus{k:03d}", *places[i])
            for k in range(5)
            for i in rng.choice(len(places), 20 + k, replace=False)
        ]
        body.append(("Solus unicus", *places[0]))
        (folder / "layers").mkdir()
        for name in ("landcover", "precipitation", "temperature"):
            shutil.copy(world.layers / f"{name}.tif", folder / "layers")
        write_records(folder / "records.csv", body)

    folder = once(tmp_path_factory, "group", make)
    return SmallGroup(folder / "records.csv", folder / "layers")


@pytest.fixture(scope="session")
def out(group: Group, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run in one process, with everything; tests look at it, and change nothing."""

    def make(folder: Path) -> None:
        result = sdm(*group.words(folder / "out", "--dpi", 50))
        assert result.exit_code == 1, result.output
        assert "5 of 6 species fitted" in result.output
        assert result.output.count("error: Solus unicus: one usable presence") == 1

    return once(tmp_path_factory, "shared", make) / "out"


@pytest.fixture(scope="session")
def bare_out(group: Group, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run without pages and maps of species, called `out`; tests change copies of it."""
    place = tmp_path_factory.mktemp("bare") / "out"
    assert sdm(*group.bare(place)).exit_code == 1
    return place


@pytest.fixture(scope="session")
def bare(bare_out: Path) -> dict[str, bytes]:
    """What that run leaves."""
    return result_bytes(bare_out)
