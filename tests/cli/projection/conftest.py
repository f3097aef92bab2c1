"""Futures of the small virtual world, and models of every kind, for the tests of `sdm project`."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from projection.futures import GCMS, PERIODS, SSPS, Futures, Models, make_future
from terminal import BARE, PLAIN, succeed, write_table
from zoo import once

NAMES = ("bare", "forest", "meadow")


@pytest.fixture(scope="package")
def futures(world, tmp_path_factory: pytest.TempPathFactory) -> Futures:
    def make(folder: Path) -> None:
        for g, s, p in itertools.product(range(2), range(2), range(2)):
            name = f"{GCMS[g]}_{SSPS[s]}_{PERIODS[p]}"
            make_future(world, folder / name, 0.8 + 0.5 * g + 0.9 * s + 0.7 * p, (1.0, 0.9)[g])

    return Futures(once(tmp_path_factory, "futures", make))


@pytest.fixture(scope="package")
def models(world, tmp_path_factory: pytest.TempPathFactory) -> Models:
    return Models(once(tmp_path_factory, "models", lambda folder: make_models(world, folder)))


def make_models(world: Any, folder: Path) -> None:
    """Fit a model of every kind."""
    few = ("--no-report", "--categorical", "landcover", "--no-map", "--no-curves")
    fixed = ("--rm", 0.2, *few, "--no-importance", "--dpi", 50)
    succeed("fit", world.both, world.layers, *BARE, *PLAIN, "-o", folder / "batch")
    for multiplier in ("1", "4"):  # models of one species
        words = (*PLAIN, "--multiplier", multiplier, "-o", folder / "runs" / multiplier)
        succeed("fit", world.records, world.layers, *BARE, *words)
    with rasterio.open(world.layers / "temperature.tif") as source:
        band, place = source.read(1, masked=True), source.transform
    rng = np.random.default_rng(3)
    cells = np.argwhere(~np.ma.getmaskarray(band))
    cells = cells[rng.permutation(len(cells))[:150]]
    heat = band[cells[:, 0], cells[:, 1]].data
    x, y = rasterio.transform.xy(place, cells[:, 0], cells[:, 1])
    level = np.digitize(heat + 0.4 * heat.std() * rng.normal(size=150), np.quantile(heat, [0.4, 0.7]))
    plots = write_table(
        folder / "plots.csv", ["longitude", "latitude", "habitat"], [(*c, NAMES[k]) for *c, k in zip(x, y, level)]
    )
    succeed("classify", plots, world.layers, "--class-column", "habitat", "--fc", "l", *fixed, "-o", folder / "habitat")
    there = write_table(
        folder / "there.csv", ["longitude", "latitude", "owl"], [(*c, int(k > 0)) for *c, k in zip(x, y, level)]
    )
    succeed("classify", there, world.layers, "--class-column", "owl", "--fc", "lq", *fixed, "-o", folder / "presence")
    labels = [(heat > np.quantile(heat, q)) ^ (rng.random(150) < 0.15) for q in (0.3, 0.5, 0.7)]
    sites = write_table(
        folder / "sites.csv",
        ["site", "longitude", "latitude", "fox", "hen", "owl"],
        [(k, *c, *map(int, row)) for k, (*c, row) in enumerate(zip(x, y, zip(*labels)))],
    )
    succeed("joint", sites, world.layers, "--fc", "l", "--cost", 1, *few[:-1], "--dpi", 50, "-o", folder / "joint")
