"""A small community at survey sites whose associations are known."""

from pathlib import Path

import numpy as np
import pandas as pd

SPECIES = ("owl", "vole", "fox", "hen")


def draw_community(n: int = 160, seed: int = 3) -> pd.DataFrame:
    """Return sites with coordinates, heat, rain and soil; voles are where owls are, hens where no foxes are."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0, 4, n), rng.uniform(50, 54, n)
    heat, rain = rng.normal(size=n), rng.normal(size=n) + 0.3 * x
    owl = heat + rng.logistic(size=n) > 0
    fox = rain + rng.logistic(size=n) > 0.5
    vole = np.where(rng.random(n) < 0.85, owl, rng.random(n) < 0.5)
    hen = np.where(rng.random(n) < 0.85, ~fox, rng.random(n) < 0.5)
    labels = {name: column.astype(int) for name, column in zip(SPECIES, (owl, vole, fox, hen))}
    soil = rng.choice(["clay", "peat", "sand"], n)
    places = {"site": np.arange(n), "longitude": x.round(4), "latitude": y.round(4)}
    return pd.DataFrame({**places, **labels, "heat": heat.round(4), "rain": rain.round(4), "soil": soil})


def write_community(folder: Path, frame: pd.DataFrame | None = None, name: str = "sites.csv") -> Path:
    """Write the sites of a community as one table."""
    path = folder / name
    (draw_community() if frame is None else frame).to_csv(path, index=False)
    return path
