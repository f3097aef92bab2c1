"""Six species of the small world on shared axes, one of which has one record only; and what one process leaves."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flora import result_bytes
from shared_axes.runs import Group, write_records
from terminal import PLAIN, rows, sdm

FEW = ("--background-points", 800, *PLAIN)


class SmallGroup(Group):
    """A group whose bare runs have few background points, and no importance of variables."""

    def bare(self, out: Path, *more: Any) -> tuple[Any, ...]:
        return super().bare(out, *FEW, *more)


@pytest.fixture(scope="session")
def group(world: Any, tmp_path_factory: pytest.TempPathFactory) -> Group:
    """Five species that can be fitted, and one that cannot."""
    rng, known = np.random.default_rng(6), [(r["longitude"], r["latitude"]) for r in rows(world.both)]
    body = [
        (f"Planta numerus{k:03d}", *known[i]) for k in range(5) for i in rng.choice(len(known), 20 + k, replace=False)
    ]
    body.append(("Solus unicus", *known[0]))
    return SmallGroup(write_records(tmp_path_factory.mktemp("group") / "records.csv", body), world.layers)


@pytest.fixture(scope="session")
def out(group: Group, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run in one process, with everything; tests look at it, and change nothing."""
    place = tmp_path_factory.mktemp("shared") / "out"
    result = sdm(*group.words(place, "--dpi", 50))
    assert result.exit_code == 1, result.output
    assert "5 of 6 species fitted" in result.output
    assert result.output.count("error: Solus unicus: one usable presence only") == 1
    return place


@pytest.fixture(scope="session")
def bare(group: Group, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run without pages and maps of species leaves, in a folder called `out`."""
    place = tmp_path_factory.mktemp("bare") / "out"
    assert sdm(*group.bare(place)).exit_code == 1
    return result_bytes(place)
