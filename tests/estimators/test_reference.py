"""Bradypus: what Java Maxent, maxnet and an exact optimiser gave on the same data (shared/reference/bradypus.json)."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from java import java_raw, read_lambdas

from sdm import Maxent

ROUNDED = 5e-5  # Java prints gains with four digits


@pytest.fixture(scope="session")
def figures(shared):
    return json.loads((shared / "reference" / "bradypus.json").read_text())


@pytest.fixture(scope="session")
def fit(bradypus):
    """Fit by settings, each once."""
    table, y = bradypus

    @cache
    def fitted(variables="all 14", classes="auto", **options):
        categorical = ["ecoreg"] if variables == "all 14" else []
        x = table if categorical else table.drop(columns="ecoreg")
        return Maxent(features=classes.removesuffix("+category"), categorical=categorical, **options).fit(x, y)

    return fitted


def listed(figures, key):
    """The entries of a list, each tried in turn so that a failure names its settings."""
    assert figures[key], key
    return figures[key]


def test_the_exact_optimum_to_a_millionth(figures, fit):
    for entry in listed(figures, "exact"):
        add = {"all": "all", "setdiff": "distinct"}[entry["domain"]]
        model = fit(entry["variables"], entry["classes"], add_presences=add, tolerance=1e-8)
        assert model.problem_.domain.n == entry["N"]
        assert model.solution_.gain == pytest.approx(entry["regularised_gain"], abs=1e-6), entry
        assert model.solution_.n_nonzero == entry["nonzero"], entry
        assert model.model_.entropy == pytest.approx(entry["entropy"], abs=1e-6), entry


def test_at_an_exact_optimum_the_entropy_is_the_regularised_loss(figures, fit):
    for entry in listed(figures, "exact"):
        add = {"all": "all", "setdiff": "distinct"}[entry["domain"]]
        model = fit(entry["variables"], entry["classes"], add_presences=add, tolerance=1e-8)
        assert model.model_.entropy == pytest.approx(np.log(entry["N"]) - model.solution_.gain, abs=1e-6)


def test_maxnets_own_problem_is_solved_exactly_and_better_than_by_maxnet(figures, fit):
    for entry in listed(figures, "exact_maxnet"):
        model = fit(entry["variables"], entry["classes"], knots="maxnet")
        loss = np.log(model.model_.n_domain) - model.solution_.gain
        assert model.model_.n_domain == 1114
        assert loss == pytest.approx(entry["exact_loss"], abs=1e-6), entry
        assert loss <= entry["maxnet_loss"] + 1e-9, entry


def test_maxnets_gains_within_a_thousandth(figures, fit):
    for entry in listed(figures, "maxnet"):
        model = fit(entry["variables"], entry["classes"], knots="maxnet")
        assert model.model_.n_domain == entry["N"]
        assert model.solution_.gain == pytest.approx(entry["regularised_gain"], abs=1e-3), entry
        assert model.solution_.gain >= entry["regularised_gain"] - 1e-9, entry


def test_javas_converged_gains(figures, fit):
    for entry in listed(figures, "java_converged"):
        model = fit(entry["variables"], entry["classes"])
        assert model.model_.n_domain == entry["N"]
        assert model.solution_.gain == pytest.approx(entry["regularised_gain"], abs=0.005), entry
        assert model.solution_.n_nonzero == entry["nonzero"], entry


def test_javas_long_runs_to_a_millionth(figures, fit):
    """Where Java was left to run, it ends where we do: features, prices and scaling are the same."""
    for entry in listed(figures, "java_long_run"):
        model = fit(entry["variables"], entry["classes"])
        assert model.solution_.gain == pytest.approx(entry["regularised_gain"], abs=1e-6), entry
        assert model.solution_.gain >= entry["regularised_gain"] - 1e-6


def test_never_below_javas_default(figures, fit):
    """Java stops up to 0.04 nats short of its own optimum."""
    shortfall = []
    for entry in listed(figures, "java_default"):
        gain = fit(entry["variables"], entry["classes"]).solution_.gain
        assert gain >= entry["regularised_gain"] - ROUNDED, entry
        shortfall.append(gain - entry["regularised_gain"])
    assert max(shortfall) > 0.03


def test_every_fit_of_these_is_certified(figures, fit):
    for key, options in (("java_converged", {}), ("maxnet", {"knots": "maxnet"})):
        for entry in listed(figures, key):
            solution = fit(entry["variables"], entry["classes"], **options).solution_
            assert solution.status == "converged"
            assert 0.0 <= solution.gap <= 1e-6


@pytest.fixture(scope="session")
def columns(bradypus):
    table, _ = bradypus
    return {name: table[name].to_numpy(float) for name in table.columns}


def test_the_reader_of_javas_models_reproduces_javas_predictions(shared, bradypus, columns):
    """Else the next test would compare with nothing."""
    _, y = bradypus
    raw = java_raw(shared / "reference" / "java_auto.lambdas", columns)
    samples = pd.read_csv(shared / "reference" / "java_auto_samplePredictions.csv")["Raw prediction"]
    background = pd.read_csv(shared / "reference" / "java_auto_background_raw.csv").iloc[:, 2]
    np.testing.assert_allclose(raw[y == 1], samples, rtol=1e-12)
    np.testing.assert_allclose(raw[y == 0], background, rtol=1e-6)


def test_the_map_is_javas_converged_map(shared, bradypus, columns, fit):
    """Measured: cloglog within 0.0006 everywhere, total variation 0.00013."""
    table, _ = bradypus
    path = shared / "reference" / "java_lqph_converged.lambdas"
    raw = java_raw(path, columns)
    model = fit(classes="lqph+category")
    ours = model.predict(table, "raw")
    assert 0.5 * np.abs(ours - raw).sum() < 5e-4
    cloglog = 1 - np.exp(-raw * np.exp(read_lambdas(path)[1]["entropy"]))
    np.testing.assert_allclose(model.predict(table), cloglog, atol=2e-3)


def test_the_map_is_near_maxnets(shared, bradypus, fit):
    """Measured: cloglog within 0.049 and on average 0.003 of maxnet's, which stops 0.001 nats short of its optimum."""
    table, _ = bradypus
    points = pd.read_csv(shared / "reference" / "maxnet_default_points.csv")
    model = fit(knots="maxnet")
    difference = np.abs(model.predict(table) - points["cloglog"])
    assert difference.max() < 0.06
    assert difference.mean() < 0.005
    assert np.corrcoef(model.predict(table), points["cloglog"])[0, 1] > 0.9995
    assert np.abs(model.predict(table, "logistic") - points["logistic"]).max() < 0.05


def test_sparsemax_draws_a_range_edge_away_from_the_records(bradypus, fit):
    """Order 2: half of the cells get exactly zero, twice as far from the nearest record as the others, certified."""
    table, y = bradypus
    model = fit(entropy=2.0)
    assert model.solution_.status == "converged"
    assert model.solution_.gap <= 1e-6
    zero = model.predict(table, "raw") == 0.0
    assert 300 < zero.sum() < 800
    assert np.count_nonzero(zero[y == 1]) <= 5  # three records are outliers
    x = table.drop(columns="ecoreg").to_numpy(float)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    nearest = np.sqrt(((x[:, None] - x[y == 1][None]) ** 2).sum(axis=2)).min(axis=1)
    background = y == 0
    assert nearest[background & zero].mean() > 2 * nearest[background & ~zero].mean()


@pytest.mark.parametrize("alpha", [1.2, 1.5, 1.8])
def test_orders_between_are_certified_too(alpha, fit):
    solution = fit(entropy=alpha).solution_
    assert solution.status == "converged"
    assert solution.gap <= 1e-6
