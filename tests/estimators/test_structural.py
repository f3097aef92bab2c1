"""`StructMaxent`: what a Python user gets, from fit to file."""

import re

import naive
import numpy as np
import pandas as pd
import pytest

from sdm import Maxent, StructMaxent, load_model
from sdm.assess.structure import describe_structure
from sdm.errors import OptionError
from sdm.estimators.structural import _thinned


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    x = pd.DataFrame(rng.random((600, 3)).round(3), columns=["warmth", "rain", "noise"])
    x["soil"] = rng.choice(["clay", "loam", "sand"], 600)
    suitable = np.where((x.warmth > 0.5) ^ (x.rain > 0.5), 1.0, 0.05) * np.where(x.soil == "clay", 0.3, 1.0)
    present = rng.choice(600, 70, replace=False, p=suitable / suitable.sum())
    return pd.concat([x.iloc[present], x]), np.repeat([1, 0], [70, 600])


def test_fit_predict_save_load(data, tmp_path):
    x, y = data
    model = StructMaxent("l,trees:3,mono:2", lam=0.05, beta=0.02, categorical=["soil"]).fit(x, y)
    assert model.solution_.status == "converged"
    assert model.solution_.gap <= 1e-4
    assert len(model.feature_names_) == len(model.coef_)
    # what predicts is what was fitted
    fitted = model.feature_set_.scores(model.coef_) - model.solution_.tau - np.log(model.model_.n_domain)
    np.testing.assert_allclose(model.predict(x[y == 0], "link"), fitted[:600], atol=1e-10)
    model.save(tmp_path / "tree.npz")
    loaded = load_model(tmp_path / "tree.npz")
    codes = x.assign(soil=x.soil.map({"clay": 0, "loam": 1, "sand": 2})).to_numpy(dtype=float)
    np.testing.assert_array_equal(loaded.predict(codes), model.predict(x))
    assert any("warmth" in name and "rain" in name for name in loaded.feature_names)
    assert loaded.meta["families"] == {"trees": 3, "mono": 2}


@pytest.mark.thorough
def test_penalties_are_chosen_by_held_out_loss(data):
    x, y = data
    model = StructMaxent("trees:2", categorical=["soil"], grid=(0.02, 0.1, 0.5), folds=2, seed=3).fit(x, y)
    assert (model.lam_, model.beta_) in {(s.lam, s.beta) for s in model.search_}
    best = min(model.search_, key=lambda s: s.loss)
    assert (best.lam, best.beta) == (model.lam_, model.beta_)
    assert best.loss < -0.05, "better than the base measure"
    again = StructMaxent("trees:2", categorical=["soil"], grid=(0.02, 0.1, 0.5), folds=2, seed=3).fit(x, y)
    assert [s.losses for s in again.search_] == [s.losses for s in model.search_]


def test_unseen_class_and_missing_value(data):
    x, y = data
    model = StructMaxent("trees:3", lam=0.05, beta=0.02, categorical=["soil"]).fit(x, y)
    strange = x.iloc[:2].assign(soil=["peat", None])
    prediction = model.predict(strange)
    assert np.isfinite(prediction[0])
    assert np.isnan(prediction[1])


@pytest.mark.parametrize(
    "wrong",
    [
        {"lam": -1},
        {"beta": "x"},
        {"lam": 0, "beta": 0},
        {"complexity": "x"},
        {"families": "lq"},
        {"folds": 0},
        {"repeats": 0},
    ],
)
def test_wrong_options_are_one_line(data, wrong):
    options = {"lam": 0.1, "beta": 0.1, "categorical": ["soil"], **wrong}
    with pytest.raises(OptionError) as error:
        StructMaxent(**options).fit(*data)
    assert "\n" not in str(error.value)


def test_parameters_follow_scikit_learn(data):
    from sklearn.base import clone

    model = StructMaxent("trees:2", lam=0.1, beta=0.1, categorical=["soil"])
    assert clone(model).get_params() == model.get_params()
    assert "StructMaxent(" in repr(model)
    assert np.isfinite(clone(model).fit(*data).score(*data))


def niche_world(seed, suitability, n=3000, m=120):
    """Cells with four variables, the true distribution over them, and labelled rows of presences and background."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, 4))
    truth = suitability(x)
    truth /= truth.sum()
    return x, truth, np.vstack([x[rng.choice(n, m, p=truth)], x]), np.repeat([1, 0], [m, n])


def true_loss(model, x, truth):
    """Expected log loss under the truth, over the cells."""
    score = model.model_.predict(x, "link")
    return float(np.log(np.exp(score - score.max()).sum()) + score.max() - truth @ score)


def check_rule(seed):
    x, truth, rows, y = niche_world(seed, lambda x: np.where((x[:, 0] > 0.6) & (x[:, 1] < 0.4), 1.0, 1e-3))
    trees = StructMaxent("trees:2", lam=0.0, beta=0.05).fit(rows, y)
    stumps = StructMaxent("trees:1", lam=0.0, beta=0.05).fit(rows, y)
    thresholds = Maxent("t", beta=0.05).fit(rows, y)
    best = true_loss(trees, x, truth)
    assert best < true_loss(thresholds, x, truth) - 0.02
    assert best < true_loss(stumps, x, truth)
    structure = describe_structure(trees)
    assert (structure.interactions[0]["first"], structure.interactions[0]["second"]) == ("x0", "x1")
    assert not describe_structure(stumps).interactions
    result = re.findall(r"(x[01]) [<≥] ([0-9.]+)", structure.rules[0]["says"])
    assert {name for name, _ in result} == {"x0", "x1"}
    for name, value in result:
        assert float(value) == pytest.approx({"x0": 0.6, "x1": 0.4}[name], abs=0.05)
    assert re.fullmatch(r"tree\[(not )?\(?x\d [<≥] [0-9.]+ and x\d [<≥] [0-9.]+\)?\]", structure.rules[0]["says"])


@pytest.mark.thorough
def test_a_rule_of_two_variables_is_found_and_named():
    """Presence only where x0 > 0.6 and x1 < 0.4: thresholds at the same penalty are worse, and know of no pair."""
    for seed in (1, 2, 3):
        check_rule(seed)


@pytest.mark.thorough
def test_without_evidence_the_model_is_that_of_maxent():
    """A niche of smooth curves: the default leaves trees out, and what is left is the L1 model to the last bit."""
    _, _, rows, y = niche_world(2, lambda x: np.exp(-((x[:, 0] - 0.6) ** 2) / 0.1 - x[:, 1]), n=1500, m=60)
    table = pd.DataFrame(rows, columns=list("abcd")).assign(soil=np.where(rows[:, 2] > 0.7, "clay", "sand"))
    options = {"categorical": ["soil"], "tolerance": 1e-6}
    plain, model = Maxent(**options).fit(table, y), StructMaxent(**options).fit(table, y)
    assert np.isinf(model.lam_)
    assert model.feature_names_ == plain.feature_names_
    np.testing.assert_array_equal(model.problem_.penalty.beta, plain.problem_.penalty.beta)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.solution_.objective == plain.solution_.objective
    assert model.solution_.gap == plain.solution_.gap
    np.testing.assert_array_equal(model.predict(table), plain.predict(table))
    assert describe_structure(model).as_dict()["lambda"] is None


@pytest.mark.parametrize(
    "options",
    [
        {"knots": "maxnet"},
        {"multiplier": 2.5},
        {"entropy": 1.5, "knots": 10},
        {"solver": "structmaxent2", "max_iterations": 20},
    ],
)
def test_infinite_lambda_is_maxent_with_the_same_options(data, options):
    x, y = data
    options = {"categorical": ["soil"], "tolerance": 1e-5, **options}
    plain, model = Maxent("lqht", **options).fit(x, y), StructMaxent("lqht,trees:2", lam=np.inf, **options).fit(x, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.notes_ == plain.notes_


def check_default(seed):
    x, truth, rows, y = niche_world(seed, lambda x: np.where((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5), 1.0, 0.05), n=500, m=70)
    model, plain = StructMaxent().fit(rows, y), Maxent().fit(rows, y)
    assert np.isfinite(model.lam_)
    assert true_loss(model, x, truth) < true_loss(plain, x, truth) - 0.05


@pytest.mark.thorough
def test_where_one_variable_turns_the_effect_of_another_the_default_finds_it():
    """With 70 records Maxent has no products, and no sum of curves can follow this."""
    for seed in (1, 2):
        check_default(seed)


def test_a_thinned_background_keeps_all_presences_once(monkeypatch):
    monkeypatch.setattr("sdm.estimators.structural.CHOICE", 400)
    gate = niche_world(1, lambda x: np.where((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5), 1.0, 0.05), n=1000, m=70)
    effort = 1.0 + gate[2][:, 0]
    for add in ("all", "distinct"):
        model = StructMaxent("l,trees:2", add_presences=add)
        data = model._read(gate[2], gate[3], None, effort)
        less = _thinned(data, np.random.default_rng(1))
        remaining = less.domain.n - less.n_background
        assert less.n_background == 400
        assert less.sample.sum() == pytest.approx(1.0)
        assert np.count_nonzero(less.sample) == np.count_nonzero(data.sample) >= remaining
        first = less.domain.variables[0].values[less.domain.codes[0]]
        np.testing.assert_allclose(less.domain.q0, (1.0 + first) / np.sum(1.0 + first))


@pytest.mark.thorough
def test_a_large_background_is_thinned_for_the_choice_alone(monkeypatch):
    monkeypatch.setattr("sdm.estimators.structural.CHOICE", 400)
    gate = niche_world(1, lambda x: np.where((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5), 1.0, 0.05), n=1000, m=70)
    for add in ("all", "distinct"):
        model = StructMaxent("l,trees:2", add_presences=add)
        assert len(model.fit(gate[2], gate[3]).search_) > 1
        assert model.problem_.domain.n == (1070 if add == "all" else 1000)


def test_too_few_presences_to_choose_by(data):
    x, y = data
    few = np.flatnonzero((y == 0) | (np.arange(len(y)) < 3))
    model = StructMaxent(categorical=["soil"]).fit(x.iloc[few], y[few])
    assert np.isinf(model.lam_)
    assert "too few" in model.notes_[-1]
    with pytest.raises(OptionError, match="set lam and beta"):
        StructMaxent("trees:2", categorical=["soil"]).fit(x.iloc[few], y[few])
    with pytest.raises(OptionError, match="no feature remains"):
        StructMaxent("trees:2", lam=np.inf, categorical=["soil"]).fit(x, y)


@pytest.mark.thorough
def test_without_interactions_trees_cost_nothing():
    """A niche that is a product of two curves: with penalties chosen by folds, trees beside hinges do no harm."""
    differences = []
    for seed in range(3):
        x, truth, rows, y = niche_world(
            seed, lambda x: np.exp(-0.5 * ((x[:, 0] - 0.6) / 0.15) ** 2 - 0.5 * ((x[:, 1] - 0.4) / 0.25) ** 2), n=600
        )
        plain = Maxent("lqh").fit(rows, y)
        mixed = StructMaxent("l,q,h,trees:4", grid=(0.02, 0.1, 0.5)).fit(rows, y)
        differences.append(true_loss(mixed, x, truth) - true_loss(plain, x, truth))
    assert np.mean(differences) < 0.02


def points(seed, variables=3, presences=15, background=100):
    rng = np.random.default_rng(seed)
    x = np.vstack([rng.normal(0.7, 0.6, (presences, variables)), rng.normal(size=(background, variables))])
    return x, np.repeat([1, 0], [presences, background])


FAMILIES = ("exacttrees:2", "trees:4", "mono:3", "trees:3,mono:2", "l,q,trees:3", "exacttrees:1,mono:3")


def check_optimum(seed, tolerance):
    rng = np.random.default_rng(seed)
    x, y = points(seed, int(rng.integers(1, 4)), int(rng.integers(5, 20)), int(rng.integers(40, 120)))
    entropy = 1.0 if seed % 4 else 1.5
    beta = [0.02, 0.05][seed % 2]
    model = StructMaxent(FAMILIES[seed % 6], [0.0, 0.05][seed // 6 % 2], beta, entropy, tolerance=tolerance).fit(x, y)
    assert model.solution_.gap <= max(tolerance, 1e-10), "or as near as double precision gets"
    assert model.coef_.size == model.problem_.mu.size == len(model.feature_names_)
    matrix = np.column_stack([model.feature_set_.column(j) for j in range(model.coef_.size)])
    problem = model.problem_
    dense = naive.Dense(matrix, problem.q0, problem.sample, entropy, "l1", problem.penalty.beta)
    if entropy == 1.0 and tolerance == 1e-8:  # else the slow way takes too long, or is no more exact
        assert model.solution_.objective == pytest.approx(dense.optimum(), abs=1e-7)
    assert dense.objective(model.coef_) == pytest.approx(model.solution_.objective, abs=1e-12)


@pytest.mark.parametrize("tolerance", [pytest.param(1e-8, marks=pytest.mark.thorough), 1e-12])
def test_the_tightest_tolerance_ends_at_the_optimum_of_its_columns(tolerance):
    """A run may keep no state of a problem with fewer features than the one it has got to."""
    for seed in range(12):
        check_optimum(seed, tolerance)


def test_the_tightest_tolerance_on_one_variable():
    rng = np.random.default_rng(4)
    x = np.vstack([rng.normal(0.7, 0.6, (8, 1)), rng.normal(size=(60, 1))])
    model = StructMaxent("exacttrees:2", 0.0, 0.05, tolerance=1e-8).fit(x, np.repeat([1, 0], [8, 60]))
    assert model.solution_.gap <= 1e-8


def check_bounds(seed, version):
    x, y = points(seed)
    penalties = ("trees:6,mono:4", 0.1, 0.002)
    best = StructMaxent(*penalties, tolerance=1e-6).fit(x, y).solution_.objective
    for rounds in (1, 5, 15, 2000):
        solver = StructMaxent(*penalties, solver=f"structmaxent{version}", tolerance=0.03, max_iterations=rounds)
        result = solver.fit(x, y).solution_
        assert result.objective - best <= result.gap + 1e-9


@pytest.mark.parametrize("version", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_the_papers_solvers_prove_what_they_say(version):
    """They take in the steepest feature; the bound needs the feature that is violated most for its penalty."""
    for seed in (0, 3, 5):
        check_bounds(seed, version)


def test_a_species_that_is_everywhere_alike_has_no_feature(tmp_path):
    x = np.repeat(np.arange(6.0), 5)[:, None]
    model = StructMaxent("trees:3,mono:2", 0.1, 0.1).fit(np.vstack([x, x]), np.repeat([1, 0], 30))
    assert model.solution_.status == "converged"
    assert model.feature_names_ == []
    np.testing.assert_allclose(model.predict(x, "raw"), 1 / model.model_.n_domain)
    model.save(tmp_path / "flat.npz")
    np.testing.assert_array_equal(load_model(tmp_path / "flat.npz").predict(x), model.predict(x))
    assert describe_structure(model).rules == []
