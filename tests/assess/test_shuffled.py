"""The AUC of a shuffled variable, by parts, is that of predictions, to the last digit. Otherwise importance would
change with the way that it is computed."""

import numpy as np
import pytest

from sdm import Maxent
from sdm.assess.fits import fit_table
from sdm.assess.measures.basic import auc
from sdm.assess.shuffled import ShuffledModel


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
    shuffled, rng = ShuffledModel(model, rows), np.random.default_rng(3)
    assert any(shuffled.uses(v) for v in range(rows.shape[1]))
    orders = [np.arange(len(rows)), rng.permutation(len(rows)), rng.permutation(len(rows))]
    for v in range(rows.shape[1]):
        shuffling = shuffled.shuffling(v)
        for order in orders:
            theta = shuffling(order)
            columns = list(rows.T)
            columns[v] = rows[order, v]
            raw = model.predict_columns(columns, "raw")
            assert auc(theta[:m], theta) == auc(raw[:m], raw)


def test_other_entropies_and_missing_values_are_left_to_predictions(small) -> None:
    rows = np.vstack([small.presence, small.background])
    model = fit_table(small, Maxent("l")).model_
    assert ShuffledModel.serves(model, rows)
    assert not ShuffledModel.serves(fit_table(small, Maxent("l", entropy=1.5)).model_, rows)
    rows[3, 0] = np.nan
    assert not ShuffledModel.serves(model, rows)
