"""What Java Maxent 3.4.4 gave on the sample data of this project, for everyone: a fit of ours agrees with it.

The figures and how they were obtained are in tests/models/java. Java Maxent's background is random and not known, so
two fits agree as far as two random backgrounds do.
"""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio
from conftest import ROOT
from rasterio.transform import rowcol

from sdm import Maxent, load_model

SAMPLE = ROOT / "sample_data"
JAVA = Path(__file__).parents[1] / "models" / "java"
NAMES = ["elevation", "landcover", "precipitation", "seasonality", "slope", "temperature", "wetness"]


def table(folder: str) -> pd.DataFrame:
    """The layers of the sample, one row per cell."""
    columns = {}
    for name in NAMES:
        with rasterio.open(SAMPLE / folder / f"{name}.tif") as layer:
            columns[name] = layer.read(1, masked=True).astype(np.float32).filled(np.nan).ravel()
    return pd.DataFrame(columns).astype(float)


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    return pd.read_csv(JAVA / "cells.csv", index_col="cell")


@pytest.fixture(scope="module")
def fits() -> dict[str, Maxent]:
    """Fits with the settings of two runs of Java Maxent, and with a background drawn in the same way."""
    everywhere = table("layers")
    records = pd.read_csv(SAMPLE / "occurrences.csv").query("species == 'Virtualis montanus'")
    with rasterio.open(SAMPLE / "layers" / "slope.tif") as layer:
        rows, columns = rowcol(layer.transform, records["longitude"].to_numpy(), records["latitude"].to_numpy())
        at = np.asarray(rows, int) * layer.width + np.asarray(columns, int)
    X = pd.concat([everywhere.iloc[at], everywhere.dropna().sample(10_000, random_state=1)], ignore_index=True)
    y = np.repeat([1, 0], [len(at), 10_000])
    built = {"default": "auto", "lqpht": "lqpht"}
    return {
        run: Maxent(features, categorical=["landcover"], add_presences="distinct").fit(X, y)
        for run, features in built.items()
    }


@pytest.mark.parametrize("run", ["default", "lqpht"])
def test_gain_and_entropy_are_javas(fits, run) -> None:
    """Never below Java Maxent, whose default rule stops before the optimum; above it by a few hundredths at most."""
    with (JAVA / f"{run}_maxentResults.csv").open() as source:
        (java,) = csv.DictReader(source)
    gain = fits[run].solution_.gain - float(java["Regularized training gain"])
    assert 0 <= gain <= 0.025
    assert fits[run].model_.entropy == pytest.approx(float(java["Entropy"]), abs=0.025)
    assert fits[run].model_.n_domain == pytest.approx(int(java["#Background points"]), abs=15)


def test_maps_are_javas(fits, cells) -> None:
    """Today and in a warmer climate, where variables are held at the limits of their training range."""
    for folder, column, least, most in (
        ("layers", "default", 0.999, 0.005),
        ("warmer", "default_warmer", 0.999, 0.005),
    ):
        ours = fits["default"].predict(table(folder).iloc[cells.index])
        assert np.corrcoef(ours, cells[column])[0, 1] > least
        assert np.abs(ours - cells[column]).mean() < most
    raw = fits["lqpht"].model_.predict(table("layers").iloc[cells.index], scale="raw", clamp=False)
    assert np.corrcoef(raw, cells["lqpht_raw"])[0, 1] > 0.99


@pytest.mark.parametrize(
    ("run", "folder", "column", "scale", "clamp"),
    [
        ("default", "layers", "default", "cloglog", True),
        ("default", "warmer", "default_warmer", "cloglog", True),
        ("lqpht", "layers", "lqpht_raw", "raw", False),
    ],
)
def test_predictions_of_its_model_files_are_javas(cells, run, folder, column, scale, clamp) -> None:
    """To the six digits that Java Maxent writes."""
    ours = load_model(JAVA / f"{run}.lambdas").predict(table(folder).iloc[cells.index], scale, clamp)
    np.testing.assert_allclose(ours, cells[column], rtol=6e-6, atol=1e-12)
