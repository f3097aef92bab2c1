"""Importance: the true drivers of a virtual species come first and noise last; the parts add up; nothing is refitted
that need not be."""

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

from sdm import Maxent, StructMaxent
from sdm.assess.fits import fit_table
from sdm.assess.importance import jackknife, percent_contribution, permutation_importance
from sdm.assess.measures.basic import auc
from sdm.errors import OptionError
from sdm.maxent.penalty import PENALTIES

DRIVERS = {"temperature", "precipitation", "landcover"}
NOISE = {"noise1", "noise2", "noise3"}

MODELS = {
    **{f"{penalty} {alpha:g}": {"regularization": penalty, "entropy": alpha, "features": "lq"}
       for penalty in PENALTIES for alpha in (1.0, 1.5, 2.0)},
    "hinge": {"features": "lqh"},
    "product": {"features": "lqp"},
    "trees": {"families": "trees:3", "lam": 0.02, "beta": 0.02},
    "mixed": {"families": "l,q,p,trees:2,mono:2", "lam": 0.05, "beta": 0.02},
}  # fmt: skip


def estimator_of(setting):
    return StructMaxent(**setting) if "families" in setting else Maxent(**setting)


def ranked(rows) -> list[str]:
    return [row.variable for row in sorted(rows, key=lambda row: -row.percent)]


@pytest.mark.parametrize("setting", [{"features": "lqh"}, {"families": "l,trees:3", "lam": 0.1, "beta": 0.05}])
def test_drivers_come_first_and_noise_last(virtual, setting) -> None:
    fitted = fit_table(virtual, estimator_of(setting))
    permuted = permutation_importance(fitted.model_, virtual.presence, virtual.background, seed=2)
    assert set(ranked(permuted)[:3]) == DRIVERS
    assert set(ranked(permuted)[3:]) == NOISE
    contributed = percent_contribution(fitted.problem_, fitted.coef_)
    assert set(ranked(contributed)[:3]) == DRIVERS
    assert sum(row.percent for row in contributed if row.variable in NOISE) < 10


def test_permutation_is_its_definition(small) -> None:
    model = fit_table(small, Maxent("lq")).model_
    rows = np.vstack([small.presence, small.background])
    m = small.n_presences
    raw = model.predict(rows, "raw")
    rng = np.random.default_rng(7)
    drops = []
    for v in range(3):
        own = []
        for _ in range(4):
            changed = rows.copy()
            changed[:, v] = rng.permutation(rows[:, v])
            worse = model.predict(changed, "raw")
            own.append(auc(raw[:m], raw) - auc(worse[:m], worse))
        drops.append(own)
    result = permutation_importance(model, small.presence, small.background, repeats=4, seed=7)
    assert [row.drop for row in result] == pytest.approx([np.mean(own) for own in drops])
    assert [row.drop_deviation for row in result] == pytest.approx([np.std(own, ddof=1) for own in drops])
    assert sum(row.percent for row in result) == pytest.approx(100)
    assert result == permutation_importance(model, small.presence, small.background, repeats=4, seed=7)
    with pytest.raises(OptionError, match="repeats=0"):
        permutation_importance(model, small.presence, small.background, repeats=0)


def test_java_maxents_importance_is_near(bradypus, shared) -> None:
    """Java shuffles once, and its model stops short of the optimum: ranks agree more than percentages."""
    import csv

    table, labels = bradypus
    with (shared / "reference" / "java_auto_maxentResults.csv").open(newline="") as source:
        row = next(csv.DictReader(source))
    fitted = Maxent(categorical=["ecoreg"]).fit(table, labels)
    x = fitted._data.encoder.encode(table)
    result = permutation_importance(fitted.model_, x[labels == 1], x[labels == 0], repeats=5)
    java = [float(row[f"{name} permutation importance"]) for name in fitted.model_.names]
    ours = [row.percent for row in result]
    assert np.corrcoef(java, ours)[0, 1] > 0.7
    contributed = [row.percent for row in percent_contribution(fitted.problem_, fitted.coef_)]
    java = [float(row[f"{name} contribution"]) for name in fitted.model_.names]
    assert np.corrcoef(java, contributed)[0, 1] > 0.5


@pytest.mark.parametrize("name", MODELS)
def test_contributions_add_up_to_the_gain(small, name: str) -> None:
    """The gain without its penalty is π̃[θ] − Ω*(θ), for every entropy, penalty and family."""
    fitted = fit_table(small, estimator_of(MODELS[name]))
    problem = fitted.problem_
    state = problem.state(fitted.coef_)
    full = float(problem.sample @ state.theta) - state.gibbs.conjugate
    result = percent_contribution(problem, fitted.coef_)
    assert [row.variable for row in result] == list(small.names)
    smooth = problem.entropy.alpha == 1.0  # others have kinks where cells come to zero
    assert sum(row.gain for row in result) == pytest.approx(full, abs=1e-9 if smooth else 1e-4)
    assert sum(row.percent for row in result) == pytest.approx(100)
    assert ranked(result)[-1] == "noise1"


@pytest.mark.thorough
def test_contributions_do_not_depend_on_the_solvers_path(small) -> None:
    newton = fit_table(small, Maxent("l", tolerance=1e-9))
    summet = fit_table(small, Maxent("l", solver="summet", tolerance=1e-5))
    one, two = (percent_contribution(f.problem_, f.coef_) for f in (newton, summet))
    assert [row.percent for row in one] == pytest.approx([row.percent for row in two], abs=1.0)


def test_without_weights_nothing_contributes(small) -> None:
    fitted = fit_table(small, Maxent("l", multiplier=1000.0))
    assert not np.any(fitted.coef_)
    assert all(row.percent == 0 for row in percent_contribution(fitted.problem_, fitted.coef_))
    alike = permutation_importance(fitted.model_, small.presence, small.background, repeats=1)
    assert all(row.percent == 0 for row in alike)
    assert all(np.isnan(row.drop_deviation) for row in alike), "one repeat has no spread"


@pytest.mark.parametrize("setting", [{"features": "lq"}, {"families": "trees:2", "lam": 0.05, "beta": 0.05}])
def test_jackknife_fits_without_and_only(small, setting) -> None:
    estimator = estimator_of(setting)
    test = small.presence[:20]
    rows = jackknife(small, estimator, test)
    assert [(row.variable, row.kind) for row in rows] == [
        ("", "all"),
        *((name, kind) for name in small.names for kind in ("without", "only")),
    ]
    with ProcessPoolExecutor(1) as pool:
        assert jackknife(small, estimator, test, executor=pool) == rows
    by = {(row.variable, row.kind): row for row in rows}
    single = fit_table(small, estimator, [1])
    assert by["rain", "only"].train_gain == pytest.approx(single.solution_.gain)
    raw = single.model_.predict(test[:, [1]], "raw")
    assert by["rain", "only"].test_gain == pytest.approx(np.mean(np.log(raw * single.model_.n_domain)))
    # fewer variables cannot fit better, but a tree among fewer variables is cheaper (eq. 15)
    full = by["", "all"].train_gain + (1e-4 if "features" in setting else 0.01)
    for name in small.names:
        assert by[name, "without"].train_gain <= full + 1e-4
        assert by[name, "only"].train_gain <= full + 1e-4
    assert by["warmth", "only"].train_gain > by["noise1", "only"].train_gain + 0.1
    assert by["warmth", "without"].train_gain < by["noise1", "without"].train_gain - 0.1
    assert by["warmth", "only"].test_auc > 0.6


def test_jackknife_of_a_variable_that_does_not_vary(small) -> None:
    """Alone it says nothing, and nobody misses it."""
    from dataclasses import replace

    constant = replace(small, presence=small.presence.copy(), background=small.background.copy())
    constant.presence[:, 2] = constant.background[:, 2] = 5.0
    rows = jackknife(constant, Maxent("l"))
    only = next(row for row in rows if row.variable == "noise1" and row.kind == "only")
    assert (only.train_gain, only.train_auc) == (0.0, 0.5)
    assert np.isnan(only.test_gain)
    without = next(row for row in rows if row.variable == "noise1" and row.kind == "without")
    assert without.train_gain == pytest.approx(rows[0].train_gain)
