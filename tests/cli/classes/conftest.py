"""A class model of three habitats, which the tests of classes look at."""

from pathlib import Path
from typing import Any

import pytest
from simulated.habitats import draw_plots
from terminal import succeed, write_table
from zoo import once


@pytest.fixture(scope="session")
def classified(world: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run in `results`, its points and its output: test sites, folds, a scenario, maps and a page.

    Tests change copies of it.
    """

    def make(folder: Path) -> None:
        table = write_table(folder / "plots.csv", ["longitude", "latitude", "habitat"], draw_plots(world))
        words = ("classify", table, world.layers, "--class-column", "habitat", "--categorical", "landcover")
        words += ("--fc", "lq", "--rm", "0.2", "--test-percent", 25, "--folds", 3, "--dpi", 50)
        result = succeed(*words, "--projections", f"warmer={world.folder / 'warmer'}", "-o", folder / "results")
        (folder / "output.txt").write_text(result.output, encoding="utf-8")

    return once(tmp_path_factory, "classes", make)


@pytest.fixture(scope="session")
def plots(classified: Path) -> Path:
    """The points that the run was fitted to."""
    return classified / "plots.csv"
