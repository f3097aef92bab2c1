"""Tables to assess models on: a small one made of formulas, and a virtual species with layers of pure noise."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio

from sdm.data.table import SampleTable
from sdm.simulate.world import simulate


def make_table(seed: int = 1, m: int = 80, n: int = 500, noise: int = 1, soil: bool = False) -> SampleTable:
    """Presences where `warmth` is near 0.7 and `rain` is high; `noise` more columns that they do not know."""
    rng = np.random.default_rng(seed)
    xy = rng.uniform(0, 10, (40 * m, 2))
    values = np.column_stack(
        [xy[:, 0] / 10 + rng.normal(0, 0.1, len(xy)), xy[:, 1] / 10 + rng.normal(0, 0.1, len(xy))]
        + [rng.normal(size=len(xy)) for _ in range(noise)]
        + ([rng.integers(1, 4, len(xy)).astype(float)] if soil else [])
    )
    fits = np.exp(-0.5 * ((values[:, 0] - 0.7) / 0.15) ** 2) / (1 + np.exp(-8 * (values[:, 1] - 0.5)))
    if soil:
        fits *= np.where(values[:, -1] == 2, 1.0, 0.2)
    at = rng.choice(len(xy), m, replace=False, p=fits / fits.sum())
    around = rng.choice(np.setdiff1d(np.arange(len(xy)), at), n, replace=False)
    names = ("warmth", "rain", *(f"noise{k + 1}" for k in range(noise)), *(("soil",) if soil else ()))
    return SampleTable("sp", names, ("soil",) if soil else (), values[at], values[around], *xy[at].T, *xy[around].T)


@pytest.fixture(scope="session")
def virtual(tmp_path_factory: pytest.TempPathFactory) -> SampleTable:
    """Virtualis montanus in a landscape of its own, with three layers of noise: 400 records, 2,000 background cells."""
    built = simulate(tmp_path_factory.mktemp("virtual"), size=128, layers=3, noise=3, records=400, sites=10, seed=1)
    return read_virtual(built.layers, built.occurrences)


def read_virtual(layers: tuple[Path, ...], occurrences: Path) -> SampleTable:
    stack = []
    for path in layers:
        with rasterio.open(path) as source:
            stack.append(np.where(source.read_masks(1) > 0, source.read(1).astype(float), np.nan))
            transform = source.transform
    stack = np.array(stack)
    records = pd.read_csv(occurrences)
    cols = ((records["longitude"].to_numpy() - transform.c) / transform.a).astype(int)
    rows = ((records["latitude"].to_numpy() - transform.f) / transform.e).astype(int)
    land = np.argwhere(np.isfinite(stack).all(axis=0))
    cells = land[np.random.default_rng(1).choice(len(land), 2000, replace=False)].T
    return SampleTable(
        species=str(records["species"][0]),
        names=tuple(path.stem for path in layers),
        categorical=("landcover",),
        presence=stack[:, rows, cols].T.copy(),
        background=stack[:, cells[0], cells[1]].T.copy(),
        presence_x=records["longitude"].to_numpy(),
        presence_y=records["latitude"].to_numpy(),
        background_x=transform.c + (cells[1] + 0.5) * transform.a,
        background_y=transform.f + (cells[0] + 0.5) * transform.e,
    )


@pytest.fixture(scope="session")
def small() -> SampleTable:
    """80 presences, 500 background points, two variables that matter and one that does not."""
    return make_table()


@pytest.fixture(scope="session")
def classed() -> SampleTable:
    """The same with a categorical variable."""
    return make_table(2, soil=True)
