"""The choice of variables: who has a say in it, and what the reduction measures."""

from dataclasses import replace

import numpy as np
import pytest

from sdm.assess.assessor import PRESENCE_ONLY
from sdm.assess.importance import jackknife
from sdm.assess.measures.basic import relative_gain
from sdm.assess.splits.methods import random_folds
from sdm.assess.validation import cross_validate
from sdm.assess.variables.reduction import Shuffles, reduce_variables
from sdm.assess.variables.selection import single_gains
from sdm.data.table import SampleTable
from sdm.estimators.maxent import Maxent
from sdm.kinds.choosing import choose_variables, chosen_in_folds
from sdm.kinds.registry import task_for
from sdm.kinds.species.inputs import SpeciesPrepared
from sdm.options.reading import make_options

OPTIONS = make_options({"features": "lq", "drop_correlated": 0.7, "folds": 4})
NAMES = ("a", "a2", "b", "b2", "c")


def sample(seed: int = 1, m: int = 48, n: int = 400) -> SampleTable:
    """Two pairs of variables that agree, and one alone; the species follows `a` and `b`."""
    rng = np.random.default_rng(seed)

    def points(count: int, shift: float) -> np.ndarray:
        a, b, c = rng.normal(size=(3, count)) + np.array([[shift], [-0.5 * shift], [0.0]])
        near = [0.4 * rng.normal(size=count) for _ in range(2)]
        return np.column_stack([a, a + near[0], b, b + near[1], c])

    zero = [np.zeros(count) for count in (m, m, n, n)]
    return SampleTable("sp", NAMES, (), points(m, 1.0), points(n, 0.0), *zero)


def test_held_out_records_have_no_say_in_the_variables_of_their_fold() -> None:
    task, table = task_for("species"), sample()
    prepared = choose_variables(task, SpeciesPrepared({"sp": table}), "sp", OPTIONS)
    split = task.plan(prepared, "sp", OPTIONS).split
    whole, nested = chosen_in_folds(task, prepared, "sp", split, OPTIONS, None)
    assert whole.names == NAMES
    assert all(len(fold.variables) == 3 for fold in nested.folds), "one of each pair, and the one alone"
    for k, fold in enumerate(nested.folds):
        presence = table.presence.copy()
        presence[fold.test] = np.random.default_rng(k).normal(0, 30, (fold.test.size, 5))  # other held-out records
        choice = replace(prepared.chosen["sp"], table=replace(table, presence=presence))
        spoilt = replace(prepared, chosen={"sp": choice})
        _, again = chosen_in_folds(task, spoilt, "sp", split, OPTIONS, None)
        assert again.folds[k].variables == fold.variables


def test_a_fold_with_variables_of_its_own_is_fitted_to_them() -> None:
    table = sample()
    split = random_folds(table.n_presences, 3)
    chosen = [("a", "c"), ("b",), ("a2", "b2", "c")]
    folds = tuple(replace(fold, variables=names) for fold, names in zip(split.folds, chosen))
    found = cross_validate(table, Maxent(features="l"), replace(split, folds=folds), keep_models=True)
    assert [model.names for model in found.models] == chosen
    for fold, names, row in zip(split.folds, chosen, found.rows):
        plain = cross_validate(table.pick(names), Maxent(features="l"), replace(split, folds=(fold,)))
        assert plain.rows[0] == row


def test_records_that_are_set_aside_take_no_part() -> None:
    task, table = task_for("species"), sample()
    options = make_options({"features": "lq", "drop_correlated": 0.7, "test_percent": 25})
    first = choose_variables(task, SpeciesPrepared({"sp": table}), "sp", options).chosen["sp"]
    assert first.table.n_presences == 36
    kept = {tuple(row) for row in first.table.presence}
    other = table.presence.copy()
    aside = [k for k, row in enumerate(table.presence) if tuple(row) not in kept]
    other[aside] = 50.0
    again = choose_variables(task, SpeciesPrepared({"sp": replace(table, presence=other)}), "sp", options)
    assert again.chosen["sp"].gains == first.gains


def test_the_gain_of_a_variable_alone_is_that_of_the_jackknife() -> None:
    table, estimator = sample(), Maxent(features="lq")
    alone = {row.variable: row.train_gain for row in jackknife(table, estimator) if row.kind == "only"}
    assert single_gains(table, estimator, NAMES, PRESENCE_ONLY) == pytest.approx(alone)


def test_a_narrow_table_keeps_order_levels_and_weights() -> None:
    table = replace(sample(), categorical=("c",), levels={"c": ("x", "y")}, weights=np.arange(400.0))
    few = table.pick(["c", "a"])
    assert few.names == ("a", "c")
    assert (few.categorical, few.levels) == (("c",), {"c": ("x", "y")})
    np.testing.assert_array_equal(few.presence, table.presence[:, [0, 4]])
    np.testing.assert_array_equal(few.weights, table.weights)
    assert table.pick(["a"]).levels == {}


def test_reduction_leaves_out_what_a_slow_reading_of_the_rule_leaves_out() -> None:
    table, estimator, repeats, seed = sample(2), Maxent(features="l"), 3, 5
    split = random_folds(table.n_presences, 3)
    steps = reduce_variables(table, estimator, split, PRESENCE_ONLY, shuffles=Shuffles(repeats, seed))
    left, best = list(NAMES), None
    for k, step in enumerate(steps):
        assert step.names == tuple(left)
        losses, drops = [], []
        for fold in split.folds:
            train, test = fold.training(table).pick(left), fold.testing(table).pick(left)
            fitted = PRESENCE_ONLY.fit(train, estimator)
            losses.append(PRESENCE_ONLY.measure_fold(fitted, train, test)[0]["loss.val"])
            both, m, rng = (
                np.vstack([test.presence, test.background]),
                test.n_presences,
                np.random.default_rng([seed, 29]),
            )

            def gain(values: np.ndarray, model=fitted.model_, m=m) -> float:
                raw = model.predict(values, "raw")
                return relative_gain(raw[:m], raw)

            own = []
            for v in range(len(left)):
                worse = []
                for _ in range(repeats):
                    mixed = both.copy()
                    mixed[:, v] = rng.permutation(both[:, v])
                    worse.append(gain(both) - gain(mixed))
                own.append(np.mean(worse))
            drops.append(own)
        mean, error = np.mean(losses), np.std(losses, ddof=1) / np.sqrt(3)
        assert (step.loss, step.error) == (pytest.approx(mean), pytest.approx(error))
        assert step.kept == (best is None or mean <= best[0] + best[1])
        best = (mean, error) if best is None or mean < best[0] else best
        if k + 1 < len(steps):
            least = int(np.argmin(np.mean(drops, axis=0)))
            assert steps[k + 1].dropped == left[least]
            assert steps[k + 1].importance == pytest.approx(np.mean(drops, axis=0)[least])
            left.pop(least)
    assert not steps[-1].kept or len(steps[-1].names) == 1
    assert len(reduce_variables(table, estimator, split, PRESENCE_ONLY, shuffles=Shuffles(1), to=2)) == 4
