"""Response curves: what each kind holds fixed, and what it shows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sdm import Maxent
from sdm.assess.profiles import (
    EXPONENT,
    POINTS,
    additive,
    band,
    class_names,
    marginal,
    only,
    partial_dependence,
    response_grid,
    surface,
    typical,
)
from sdm.errors import OptionError
from sdm.models.species import Model


@pytest.fixture(scope="module")
def fitted() -> tuple[Model, np.ndarray, pd.DataFrame, np.ndarray]:
    """A model of two variables and a class given as text; the presences' values; the table and labels."""
    rng = np.random.default_rng(3)
    n, m = 500, 80
    table = pd.DataFrame(
        {
            "warmth": np.concatenate([rng.normal(1, 0.5, m), rng.normal(0, 1, n)]),
            "rain": rng.uniform(0, 10, m + n),
            "soil": [*rng.choice(["clay", "sand"], m, p=[0.8, 0.2]), *rng.choice(["clay", "sand", "rock"], n)],
        }
    )
    labels = np.repeat([1, 0], [m, n])
    estimator = Maxent(features="lq", categorical=["soil"]).fit(table, labels)
    codes = pd.Categorical(table["soil"], sorted(table["soil"].unique())).codes
    values = np.column_stack([table["warmth"], table["rain"], codes])
    return estimator.model_, values[:m].astype(float), table, labels


def test_the_grid_is_the_training_range_and_a_tenth_more(fitted) -> None:
    model, _, table, _ = fitted
    x = response_grid(model, 0)
    low, high = table["warmth"].min(), table["warmth"].max()
    assert len(x) == POINTS
    assert (x[0], x[-1]) == pytest.approx((low - 0.1 * (high - low), high + 0.1 * (high - low)))
    assert list(response_grid(model, 2)) == [0, 1, 2]


def test_others_are_held_at_the_presences_mean_or_commonest_class(fitted) -> None:
    model, presences, *_ = fitted
    at = typical(model, presences)
    assert at[:2] == pytest.approx(presences[:, :2].mean(axis=0))
    assert class_names(model, 2)[int(at[2])] == "clay"
    assert class_names(model, 0) is None


def test_an_exponent_is_the_score_from_zero_at_the_left_end(fitted) -> None:
    """Of categories from that of an unknown one, which has no effect: also where a map would refuse it."""
    model, presences, *_ = fitted
    curve = marginal(model, 0, presences, EXPONENT)
    link = marginal(model, 0, presences, "link")
    np.testing.assert_allclose(curve.y, link.y - link.y[0], atol=1e-12)
    strict = marginal(replace(model, unseen="error"), 2, presences, EXPONENT)
    np.testing.assert_allclose(strict.y, model.compiled.contribution(2, strict.x, True), atol=1e-12)


def test_marginal_is_the_prediction_along_one_variable(fitted) -> None:
    model, presences, *_ = fitted
    profile = marginal(model, 0, presences, "cloglog")
    for x, y in list(zip(profile.x, profile.y))[::20]:
        row = typical(model, presences)
        row[0] = x
        assert y == pytest.approx(model.predict(row[None], "cloglog")[0])
    assert (profile.variable, profile.kind, profile.classes) == ("warmth", "marginal", None)
    inside = (profile.x >= profile.lo) & (profile.x <= profile.hi)
    assert 0.7 < inside.mean() < 0.9
    # clamped: beyond the training range nothing changes
    assert len(np.unique(profile.y[profile.x > profile.hi])) == 1


def test_the_class_curve_has_names(fitted) -> None:
    model, presences, *_ = fitted
    profile = marginal(model, 2, presences, "raw")
    assert profile.classes == ("clay", "rock", "sand")
    assert profile.y[0] > profile.y[1], "most presences are on clay, none on rock"


def test_only_is_a_model_of_one_variable(fitted) -> None:
    model, _, table, labels = fitted
    single = Maxent(features="lq").fit(table[["rain"]], labels).model_
    profile = only(single, model, 1, "logistic")
    assert profile.y == pytest.approx(single.predict(profile.x[:, None], "logistic"))
    assert profile.kind == "only"


def test_additive_effects_sum_to_the_score(fitted) -> None:
    """Without products the score is the sum of the variables' own effects, up to a constant."""
    model, presences, *_ = fitted
    assert additive(model, 0).y.mean() == pytest.approx(0, abs=1e-12)
    effects = [
        model.compiled.contribution(v, np.ascontiguousarray(presences[:, v])) for v in range(len(model.variables))
    ]
    link = model.predict(presences, "link")
    assert np.ptp(link - np.sum(effects, axis=0)) == pytest.approx(0, abs=1e-9)
    profile = additive(model, 0)
    steps = np.diff(profile.y)
    assert steps == pytest.approx(np.diff(model.compiled.contribution(0, profile.x)))


def test_partial_dependence_is_the_mean_over_the_background(fitted) -> None:
    model, _, table, labels = fitted
    codes = pd.Categorical(table["soil"], sorted(table["soil"].unique())).codes
    background = np.column_stack([table["warmth"], table["rain"], codes]).astype(float)[labels == 0]
    profile = partial_dependence(model, 0, background, "cloglog")
    for k in (0, 40, 77, 100):
        rows = background.copy()
        rows[:, 0] = profile.x[k]
        assert profile.y[k] == pytest.approx(model.predict(rows, "cloglog").mean())
    assert profile.kind == "partial"
    few = partial_dependence(model, 2, background, "cloglog", rows=100)
    assert few.classes == ("clay", "rock", "sand")
    assert few.y == pytest.approx(partial_dependence(model, 2, background, "cloglog").y, abs=0.05)


def test_a_surface_varies_two_variables(fitted) -> None:
    model, presences, *_ = fitted
    built = surface(model, 0, 2, presences, "cloglog", points=11)
    assert built.variables == ("warmth", "soil")
    assert built.z.shape == (11, 3)
    assert built.classes == (None, ("clay", "rock", "sand"))
    row = typical(model, presences)
    row[[0, 2]] = built.x[4], built.y[1]
    assert built.z[4, 1] == pytest.approx(model.predict(row[None], "cloglog")[0])
    # with the second at its typical class, a column is the marginal curve
    clay = int(typical(model, presences)[2])
    assert built.z[:, clay] == pytest.approx(marginal(model, 0, presences, "cloglog", x=built.x).y)
    with pytest.raises(OptionError, match="two variables, and 'rain' occurs twice"):
        surface(model, 1, 1, presences, "raw")


def test_bands_hold_the_replicates(fitted) -> None:
    model, presences, table, labels = fitted
    rng = np.random.default_rng(1)
    models = [model]
    for _ in range(4):
        subset = np.sort(rng.choice(len(table), len(table) - 100, replace=False))
        models.append(Maxent(features="lq", categorical=["soil"]).fit(table.iloc[subset], labels[subset]).model_)
    x = response_grid(model, 0)
    profiles = [marginal(each, 0, presences, "cloglog", x=x) for each in models]
    profiles[2] = replace(profiles[2], lo=profiles[0].lo - 1.0, hi=profiles[0].hi + 2.0)
    mean, built = band(profiles)
    assert mean.y == pytest.approx(built.mean)
    assert built.mean == pytest.approx(np.mean([p.y for p in profiles], axis=0))
    assert built.lower == pytest.approx(np.quantile([p.y for p in profiles], 0.05, axis=0))
    assert built.upper == pytest.approx(np.quantile([p.y for p in profiles], 0.95, axis=0))
    assert (mean.lo, mean.hi) == (min(p.lo for p in profiles), max(p.hi for p in profiles))
    with pytest.raises(OptionError, match="compute them at the same x"):
        band([profiles[0], marginal(models[1], 0, presences, "cloglog", x=x + 1)])
    with pytest.raises(OptionError, match="at least 2 replicates"):
        band(profiles[:1])
