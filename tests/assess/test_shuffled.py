"""The AUC of a shuffled variable, by parts: orders are numpy's, and the AUC is that of predictions, to the last digit.
Otherwise importance would change with the way that it is computed."""

import numpy as np
import pytest

from sdm import Maxent
from sdm.assess.fits import fit_table
from sdm.assess.importance import permutation_importance
from sdm.assess.measures.basic import auc
from sdm.assess.shuffled import ShuffledModel, Shuffles


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 700, 5000])
def test_orders_are_numpys(n: int) -> None:
    shuffles, rng = Shuffles(7, n), np.random.default_rng(7)
    for count in (1, 3, 2):
        for order in shuffles.draw(count):
            assert np.array_equal(order, rng.permutation(np.arange(n)))


def test_orders_go_on_beyond_the_numbers_that_are_kept(monkeypatch) -> None:
    monkeypatch.setattr("sdm.assess.shuffled._RAW", 100)
    shuffles, rng = Shuffles(7, 500), np.random.default_rng(7)
    for order in shuffles.draw(10):
        assert np.array_equal(order, rng.permutation(np.arange(500)))
    shuffles.skip(3)
    after = [rng.permutation(np.arange(500)) for _ in range(4)][-1]
    assert np.array_equal(next(shuffles.draw(1)), after)


@pytest.mark.parametrize("features", ["l", "lqp", "lqph", "t", "qt"])
@pytest.mark.parametrize("shift", [0.0, 1e4])  # far from zero products are counted from the low end of a range
def test_auc_is_that_of_predictions(small, features: str, shift: float) -> None:
    presence, background = small.presence + shift, small.background + shift
    rows = np.vstack([presence, presence[:5], background])  # with some that tie
    y = np.repeat([1, 0], [len(presence), len(rows) - len(presence)])
    model = Maxent(features, multiplier=0.3).fit(rows, y).model_
    check(model, rows, len(presence))


def test_auc_with_categories_and_values_out_of_range(virtual) -> None:
    model = fit_table(virtual, Maxent("lqpht")).model_
    rows = np.vstack([virtual.presence, virtual.background])
    rows[::7] *= 1.5
    check(model, rows, virtual.n_presences)


def check(model, rows, m) -> None:
    assert ShuffledModel.serves(model, rows)
    shuffled, rng = ShuffledModel(model, rows, m), np.random.default_rng(3)
    assert any(shuffled.uses(v) for v in range(rows.shape[1]))
    orders = np.array([np.arange(len(rows)), rng.permutation(len(rows)), rng.permutation(len(rows))], dtype=np.uint32)
    for v in range(rows.shape[1]):
        found = shuffled.auc(v, orders)
        for order, value in zip(orders, found):
            columns = list(rows.T)
            columns[v] = rows[order, v]
            raw = model.predict_columns(columns, "raw")
            assert value == auc(raw[:m], raw)


def test_other_entropies_and_missing_values_are_left_to_predictions(small) -> None:
    rows = np.vstack([small.presence, small.background])
    model = fit_table(small, Maxent("l")).model_
    assert ShuffledModel.serves(model, rows)
    assert not ShuffledModel.serves(fit_table(small, Maxent("l", entropy=1.5)).model_, rows)
    rows[3, 0] = np.nan
    assert not ShuffledModel.serves(model, rows)


def test_threads_change_nothing(small, monkeypatch) -> None:
    monkeypatch.setattr("sdm.assess.shuffled.MANY", 10)
    model = fit_table(small, Maxent("lqp")).model_
    found = [permutation_importance(model, small.presence, small.background, threads=k) for k in (1, 2, 5)]
    assert found[0] == found[1] == found[2]
    assert max(one.drop for one in found[0]) > 0
