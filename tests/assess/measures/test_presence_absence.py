"""Measures with absences, against scikit-learn and against their definitions."""

import csv
from pathlib import Path

import numpy as np
import pytest
import rasterio
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, roc_curve

from sdm import Maxent
from sdm.assess.fits import fit_table
from sdm.assess.measures.basic import auc, tss
from sdm.assess.measures.presence_absence import brier, calibration, correlation, measure_values, prg_auc
from sdm.data.table import SampleTable
from sdm.errors import DataError

shares = st.integers(1, 40).flatmap(lambda n: arrays(np.float64, n, elements=st.integers(0, 16).map(lambda k: k / 16)))


def joined(presence, absence) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat([1, 0], [presence.size, absence.size]), np.concatenate([presence, absence])


@given(shares, shares)
def test_brier_is_that_of_scikit_learn(presence, absence) -> None:
    assert brier(presence, absence) == pytest.approx(brier_score_loss(*joined(presence, absence)))


@given(shares, shares)
def test_correlation_by_its_definition(presence, absence) -> None:
    y, x = joined(presence, absence)
    if np.ptp(x) == 0:
        assert np.isnan(correlation(presence, absence))
    else:
        share = np.sqrt(presence.size * absence.size) / y.size
        expected = (presence.mean() - absence.mean()) / x.std() * share
        assert correlation(presence, absence) == pytest.approx(expected)


def curve(rows: list[dict[str, float]]) -> list[np.ndarray]:
    return [np.array([row[name] for row in rows]) for name in ("predicted", "observed", "count")]


def test_calibration_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    presence, absence = rng.beta(3, 2, 70), rng.beta(2, 3, 150)
    predicted_here, observed_here, count = curve(calibration(presence, absence, bins=8))
    observed, predicted = calibration_curve(*joined(presence, absence), n_bins=8, strategy="uniform")
    assert observed_here == pytest.approx(observed)
    assert predicted_here == pytest.approx(predicted)
    assert count.sum() == 220


@given(shares, shares)
def test_calibration_counts_every_prediction_once(presence, absence) -> None:
    predicted, observed, count = curve(calibration(presence, absence))
    assert count.sum() == presence.size + absence.size
    assert count @ observed == pytest.approx(presence.size)
    assert count @ predicted == pytest.approx(presence.sum() + absence.sum())


def gains_by_count(presence, absence) -> float:
    """The area below precision gain against recall gain, its curve drawn at a hundred thousand fractional counts."""
    y, x = joined(presence, absence)
    false, true, _ = roc_curve(y, x, drop_intermediate=False)
    m, share = presence.size, presence.size / y.size
    t = np.linspace(share * m, m, 100_001)
    f = np.interp(t, true * m, false * absence.size)
    gain = {"precision": t / (t + f), "recall": t / m}
    gain = {k: (v - share) / ((1 - share) * v) for k, v in gain.items()}
    return float(np.sum(np.diff(gain["recall"]) * 0.5 * (gain["precision"][1:] + gain["precision"][:-1])))


@pytest.mark.parametrize("seed", range(6))
def test_precision_recall_gain_by_its_definition(seed: int) -> None:
    """Flach and Kull (2015): both gains are harmonic, so the curve between thresholds is straight."""
    rng = np.random.default_rng(seed)
    presence, absence = rng.normal(0.4 * seed - 0.4, 1, 30), rng.normal(0, 1, 90)
    assert prg_auc(presence, absence) == pytest.approx(gains_by_count(presence, absence), abs=1e-5)


def test_precision_recall_gain_of_extremes() -> None:
    high, low = np.linspace(2, 3, 20), np.linspace(0, 1, 50)
    assert prg_auc(high, low) == pytest.approx(1.0)
    assert prg_auc(np.ones(5), np.ones(20)) == pytest.approx(0.0), "everything present is the baseline"
    assert prg_auc(low, high) < 0


def test_precision_recall_gain_by_hand() -> None:
    """Two presences at 3 and 1, two absences at 2 and 0: π = ½ and odds 1.

    Recall gain 0 is at one true positive: (TP, FP) = (1, 0), gains (0, 1); then (1, 1): (0, 0); then (2, 1): recall
    gain 1, precision gain ½; then (2, 2): (1, 0). The area is ¼.
    """
    assert prg_auc(np.array([3.0, 1.0]), np.array([2.0, 0.0])) == pytest.approx(0.25)


def test_all_measures_of_a_model(small) -> None:
    model = fit_table(small, Maxent("lq")).model_
    presence, absence = small.presence, small.background[:200]
    level = float(np.median(model.predict(presence, "raw")))
    here, away = model.predict(presence), model.predict(absence)
    result = measure_values(here, away, float(model.from_raw(level, model.scale)))
    assert result["auc"] == pytest.approx(auc(here, away))
    assert result["tss"] == pytest.approx(0.5 + np.mean(model.predict(absence, "raw") < level) - 1, abs=0.02)
    assert result["tss.max"] == pytest.approx(tss(here, away, result["tss.max.threshold"]))
    assert result["tss.max"] >= result["tss"]
    assert result["brier"] == pytest.approx(brier(here, away))
    assert np.isnan(measure_values(here, away)["tss"])
    with pytest.raises(DataError, match="0 background points"):
        measure_values(here, away[:0])


def grassland(folder: Path) -> tuple[SampleTable, np.ndarray, np.ndarray]:
    """The records as a table with all other cells as background, and the plots' values and what was found there."""
    paths = sorted(folder.glob("c*/*.tif"))
    layers = []
    for path in paths:
        with rasterio.open(path) as source:
            layers.append(np.where(source.read_masks(1) > 0, source.read(1).astype(float), np.nan))
            grid = source.transform
    stack = np.array(layers)

    def values(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        with (folder / name).open(newline="") as source:
            rows = list(csv.reader(source))[1:]
        x, y = (np.array([float(row[k]) for row in rows]) for k in (1, 2))
        cells = ((y - grid.f) / grid.e).astype(int), ((x - grid.c) / grid.a).astype(int)
        at = stack[:, cells[0], cells[1]].T
        known = np.isfinite(at).all(axis=1)
        return at[known], np.array([row[0] for row in rows])[known], x[known], y[known]

    at, _, x, y = values("occurrence_PO.csv")
    cells = np.argwhere(np.isfinite(stack).all(axis=0))
    around = stack[:, cells[:, 0], cells[:, 1]].T
    names = tuple(path.stem for path in paths)
    classes = tuple(path.stem for path in paths if path.parent.name == "categorical")
    table = SampleTable("grassland", names, classes, at, around, x, y, *cells.T.astype(float)[::-1])
    plots, what, *_ = values("occurrence_PA.csv")
    return table, plots, what == "1"


def test_grassland_plots_are_told_apart(shared) -> None:
    """Semi-natural grassland in Norway, 8 continuous and 5 categorical layers: fitted to presence-only records, and
    measured on independent plots."""
    folder = shared / "data" / "grassland"
    if not folder.is_dir():
        pytest.skip("the grassland data are not there")
    table, plots, result = grassland(folder)
    fitted = fit_table(table, Maxent("lqh"))
    numbers = measure_values(fitted.model_.predict(plots[result]), fitted.model_.predict(plots[~result]))
    assert numbers["auc"] > 0.7
    assert numbers["cor"] > 0.3
    assert 0 < numbers["brier"] < 0.3
    assert numbers["prg"] > 0.3
    assert numbers["tss.max"] > 0.35
