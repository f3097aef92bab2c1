"""`Maxent(features="lqh,relu:N")`: random rectified features are certified, kept and read again like any others."""

from dataclasses import replace

import naive
import numpy as np
import pandas as pd
import pytest

from sdm import Maxent, load_model
from sdm.assess.importance import percent_contribution, permutation_importance, used_variables
from sdm.assess.profiles import effect
from sdm.errors import ModelFileError, OptionError
from sdm.estimators.model_parts import feature_names, weighted_features
from sdm.features.feature_set import build_features
from sdm.features.finite.ridge import RidgeFamily
from sdm.models.compiled import Compiled
from sdm.models.species import Model


def table(seed=0, n=400, presences=80):
    """A species that is where heat and rain go together, which no feature of one variable can tell."""
    rng = np.random.default_rng(seed)
    x = pd.DataFrame({"heat": rng.normal(10, 3, n), "rain": rng.gamma(3, 300, n), "soil": rng.integers(1, 4, n)})
    z = (x["heat"] - 10) / 3 * (x["rain"] - 900) / 520
    y = np.zeros(n, dtype=int)
    y[np.argsort(z + 0.5 * rng.normal(size=n))[-presences:]] = 1
    return x, y


def fit(features="lqh,relu:60", seed=1, **options):
    x, y = table()
    return Maxent(features, knots=6, categorical=["soil"], seed=seed, **options).fit(x, y)


@pytest.fixture(scope="module")
def fitted():
    return fit()


def ridges_of(model):
    (family,) = [family for family in model.feature_set_.families if isinstance(family, RidgeFamily)]
    return family


def cells(model):
    domain = model.feature_set_.domain
    return np.column_stack([domain.spread(v, a.values) for v, a in enumerate(domain.variables)])


def test_the_certificate_holds(fitted):
    """The optimum of an l1 penalty: no expectation is off by more than its β, and those with a weight by just that."""
    solution, problem = fitted.solution_, fitted.problem_
    assert solution.status == "converged"
    assert solution.gap <= 1e-6
    family = ridges_of(fitted)
    columns = naive.ridge_values(family.ridges, cells(fitted))
    off = (solution.p - problem.sample) @ columns
    beta, weights = (array[-family.size :] for array in (problem.penalty.beta, solution.weights))
    assert np.count_nonzero(weights) >= 3
    assert np.all(np.abs(off) <= beta + 1e-3)
    used = weights != 0
    np.testing.assert_allclose(off[used], -np.sign(weights[used]) * beta[used], atol=2e-3)


@pytest.mark.parametrize("presences", [8, 80])
def test_they_are_penalised_like_hinges_or_products_whichever_is_more(presences):
    x, y = table(presences=presences)
    model = Maxent("relu:10").fit(x[["heat", "rain"]], y)
    family, beta = ridges_of(model), model.problem_.penalty.beta
    columns, sample = naive.ridge_values(family.ridges, cells(model)), model.problem_.sample
    mean = sample @ columns
    spread = np.sqrt(sample @ (columns - mean) ** 2 * presences / (presences - 1))
    like_hinges = [naive.tabulated_penalty("h", {"h"}, presences, s, m, "maxent") for s, m in zip(spread, mean)]
    times = {8: naive.interpolate(naive.TABLES["p"], 8) / 0.5, 80: 1.0}[presences]
    np.testing.assert_allclose(beta, np.array(like_hinges) * times, rtol=1e-9)


@pytest.mark.parametrize("regularization", ["l2", "elastic", "smoothed_l1"])
def test_other_penalties(regularization):
    assert fit("lq,relu:20", regularization=regularization).solution_.gap <= 1e-6


def test_they_hold_what_variables_do_together(fitted):
    assert fitted.solution_.gain > fit("lqh").solution_.gain + 0.1


def test_predictions_are_the_scores_of_training(fitted):
    x = cells(fitted)
    scores = fitted.feature_set_.scores(fitted.coef_)
    np.testing.assert_allclose(fitted.model_.compiled.scores(list(x.T)), scores, atol=1e-12)
    raw = fitted.model_.predict(x, "raw")
    np.testing.assert_allclose(raw, fitted.solution_.p / fitted.feature_set_.domain.q0 / len(x), rtol=1e-10)


def test_clamping_holds_their_variables(fitted):
    x = cells(fitted)
    far = x[:50] + np.array([100.0, -9000.0, 0.0])
    held_out = np.clip(far, x.min(axis=0), x.max(axis=0))
    np.testing.assert_array_equal(fitted.predict(far), fitted.predict(held_out))
    assert np.abs(fitted.predict(far, "link", clamp=False) - fitted.predict(far, "link")).max() > 1
    assert np.isnan(fitted.predict([[np.nan, 1.0, 2.0], [10.0, 900.0, 1.0]])).tolist() == [True, False]


def test_the_seed_decides(fitted):
    assert fit().model_.to_bytes() == fitted.model_.to_bytes()
    other = fit(seed=2)
    assert not np.array_equal(ridges_of(other).ridges.bend, ridges_of(fitted).ridges.bend)
    assert np.abs(other.predict(table()[0]) - fitted.predict(table()[0])).max() > 1e-3
    plain = [fit("lqh", seed=seed).model_.predict(table()[0]) for seed in (1, 2)]
    np.testing.assert_array_equal(*plain)


def test_a_model_comes_back_as_it_was(fitted, tmp_path):
    fitted.save(tmp_path / "a.npz")
    again = load_model(tmp_path / "a.npz")
    x = cells(fitted)
    np.testing.assert_array_equal(again.predict(x), fitted.model_.predict(x))
    np.testing.assert_array_equal(again.predict(x, clamp=False), fitted.model_.predict(x, clamp=False))
    assert again.feature_names == fitted.model_.feature_names
    assert again.identity == fitted.model_.identity
    assert again.meta["classes"] == "lqh,relu:60"
    names = {fitted.feature_names_[j] for j in np.flatnonzero(fitted.coef_)}
    assert set(again.feature_names) == names
    assert any(name.startswith("relu ") for name in names)


def test_only_files_with_random_features_are_of_the_newest_version(fitted):
    """So that an earlier program says "update" of them, and still reads all others."""
    assert fitted.model_.to_file()[0]["version"] == Model.archive.newest
    assert "version" not in fit("lq").model_.to_file()[0]


def damaged(model, change):
    ridges = model.shapes.ridges
    return replace(model, shapes=replace(model.shapes, ridges=change(ridges)))


@pytest.mark.parametrize(
    "change",
    [
        lambda r: replace(r, weight=r.weight * np.inf),
        lambda r: replace(r, directions=r.directions[:, :-1], centre=r.centre[:-1], scale=r.scale[:-1]),
        lambda r: replace(r, scale=r.scale * 0),
        lambda r: replace(r, hi=r.lo),
        lambda r: replace(r, bend=r.bend[1:]),
    ],
)
def test_a_damaged_file_is_refused(fitted, change, tmp_path):
    (tmp_path / "b.npz").write_bytes(damaged(fitted.model_, change).to_bytes())
    with pytest.raises(ModelFileError, match=r"b\.npz"):
        load_model(tmp_path / "b.npz")


def test_a_temperature_divides_their_scores(fitted):
    cold = fit(temperature=0.5).model_
    x = list(cells(fitted).T)
    np.testing.assert_allclose(cold.compiled.scores(x), 2 * fitted.model_.compiled.scores(x), rtol=1e-12)


def test_a_fit_goes_on_from_an_earlier_one(fitted):
    x, y = table()
    again = Maxent("lqh,relu:60", knots=6, categorical=["soil"]).fit(x, y, start=fitted)
    assert again.solution_.iterations < fitted.solution_.iterations
    assert again.solution_.objective == pytest.approx(fitted.solution_.objective, abs=2e-6)


def test_contributions_add_up_and_go_by_direction(fitted):
    parts = percent_contribution(fitted.problem_, fitted.coef_)
    before, after = (fitted.problem_.state(share * fitted.coef_).objective for share in (0.0, 1.0))
    gain = fitted.problem_.penalty.value(fitted.coef_) - after + before
    assert sum(part.gain for part in parts) == pytest.approx(gain, rel=1e-4)
    alone = np.zeros_like(fitted.coef_)
    family = ridges_of(fitted)
    j = int(np.argmax(np.abs(fitted.coef_[-family.size :])))
    alone[alone.size - family.size + j] = fitted.coef_[alone.size - family.size + j]
    gains = np.array([part.gain for part in percent_contribution(fitted.problem_, alone)])
    np.testing.assert_allclose(gains / gains.sum(), family.ridges.directions[j] ** 2, atol=1e-9)
    assert used_variables(family, j) == [0, 1]


def test_importance_and_effects_see_them(fitted):
    x, y = table()
    values = x.to_numpy(dtype=float)
    rows = permutation_importance(fitted.model_, values[y == 1], values[y == 0], repeats=2, seed=1)
    assert min(row.percent for row in rows if row.variable != "soil") > 10
    assert effect(fitted.model_, 0, values).kind == "partial"


def test_one_variable_alone():
    """Rectified features of one variable are hinges; those that bend nowhere are copies of the variable."""
    rng = np.random.default_rng(3)
    x, y = pd.DataFrame({"heat": rng.random(300)}), np.repeat([1, 0], [60, 240])
    model = Maxent("l,relu:150").fit(x, y)
    assert model.solution_.gap <= 1e-6
    assert "are duplicates and were dropped" in model.notes_[0]
    assert "relu" in model.notes_[0]


@pytest.mark.parametrize("seed", [-1, "a", None])
def test_a_seed_is_a_number(seed):
    with pytest.raises(OptionError, match="seed="):
        fit(seed=seed)


def test_a_model_of_waves_and_rectified_features_predicts_its_scores(fitted):
    """They count variables from different centres; a model keeps one."""
    domain, rng = fitted.feature_set_.domain, np.random.default_rng(7)
    drawn = [RidgeFamily.rectified(domain, 12, rng), RidgeFamily.waves(domain, 9, rng, [0, 1])]
    features = build_features(domain, "lq", sample=fitted.problem_.sample, ridges=drawn)
    weights = rng.normal(size=features.size) * (rng.random(features.size) < 0.7)
    terms, shapes = weighted_features(features.families, weights)
    assert len(terms) + len(shapes) == np.count_nonzero(weights)
    compiled = Compiled(terms, *fitted.model_.limits, shapes)
    np.testing.assert_allclose(compiled.scores(list(cells(fitted).T)), features.scores(weights), atol=1e-11)
    names = feature_names(features.families, fitted.model_.variables)
    remaining = shapes.names(fitted.model_.names)
    assert [name.split()[:2] for name in remaining] == [
        name.split()[:2] for name, weight in zip(names, weights) if weight and name.startswith(("relu", "wave"))
    ]
