"""The order of the entropy by held-out loss: the right one where one is right, and the same as by hand."""

import numpy as np
import pytest

from sdm import ConditionalMaxent, Maxent, StructMaxent
from sdm.errors import OptionError
from sdm.maxent.entropy import FLOOR, ORDERS, choose_order, floored_log_loss


@pytest.fixture(scope="module")
def presences_of_a_range():
    """Records uniform over a part of one gradient, and none beyond its edges: a sparse density is right."""
    rng = np.random.default_rng(3)
    background = rng.uniform(-3, 3, size=(1500, 1))
    density = np.maximum(1 - (background[:, 0] / 1.2) ** 2, 0)
    present = background[rng.choice(1500, 300, replace=False, p=density / density.sum())]
    return np.vstack([present, background]), np.repeat([1, 0], [300, 1500])


def test_a_density_with_an_edge_has_an_entropy_above_one(presences_of_a_range):
    x, y = presences_of_a_range
    model = Maxent("lq", entropy="auto", multiplier=0.2).fit(x, y)
    assert model.entropy_ > 1.0
    assert model.model_.alpha == model.entropy_
    assert [trial.order for trial in model.order_search_] == list(ORDERS)
    best = min(model.order_search_, key=lambda trial: trial.loss)
    assert best.order == model.entropy_
    same = Maxent("lq", entropy=model.entropy_, multiplier=0.2).fit(x, y)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert any("chosen by the held-out log loss" in note for note in model.notes_)
    assert model.get_params()["entropy"] == "auto"


def test_the_loss_of_an_order_is_that_of_its_folds_by_hand(presences_of_a_range):
    """Fit without each fold by hand, with held-out records as cells of the domain, and average over records."""
    x, y = presences_of_a_range
    model = Maxent("lq", entropy="auto").fit(x, y)
    full = Maxent("lq").fit(x, y)
    sample, q0 = full.problem_.sample, full.domain_.q0
    cells = np.random.default_rng([1, 6]).permutation(np.flatnonzero(sample))
    losses, shares = [], []
    for held_out in np.array_split(cells, 5):
        weight = np.ones(len(y))
        inside = set(full.domain_.variables[0].values[full.domain_.codes[0][held_out]].tolist())
        weight[[label == 1 and row[0] in inside for row, label in zip(x, y)]] = 0.0
        fold = Maxent("lq", entropy=1.5).fit(x, y, sample_weight=weight)
        p = fold.solution_.p
        ratio = p[held_out] / q0[held_out] / (p[:1500].sum() / q0[:1500].sum())
        losses += (-np.log((1 - FLOOR) * ratio + FLOOR)).tolist()
        shares += sample[held_out].tolist()
    (trial,) = (trial for trial in model.order_search_ if trial.order == 1.5)
    assert trial.loss == pytest.approx(np.average(losses, weights=shares), abs=1e-5)


@pytest.mark.thorough
def test_classes_with_hard_borders_have_an_entropy_above_one():
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, size=(240, 1))
    shares = np.clip(np.column_stack([0.5 - x[:, 0], 0.5 + x[:, 0]]), 0, 1)  # what sparsemax of linear scores gives
    model = ConditionalMaxent("l", entropy="auto", regularization="l1").fit(x, shares)
    assert model.entropy_ == 2.0
    assert model.model_.alpha == 2.0
    assert [trial.order for trial in model.order_search_] == list(ORDERS)
    assert model.multiplier_search_ is not None
    given = ConditionalMaxent("l", entropy="auto", multiplier=0.5).fit(x, shares)
    assert given.entropy_ > 1.0
    assert given.multiplier_ == 0.5


def test_logistic_classes_keep_shannon():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 1))
    y = rng.random(400) < 1 / (1 + np.exp(-1.5 * x[:, 0]))
    model = ConditionalMaxent("l", entropy="auto", regularization="l1").fit(x, y.astype(int))
    losses = [trial.loss for trial in model.order_search_]
    assert losses[0] <= losses[-1]
    assert model.entropy_ < 2.0


def test_a_structural_model_takes_the_order_of_its_ordinary_classes(presences_of_a_range):
    x, y = presences_of_a_range
    model = StructMaxent("l,q,trees:2", lam=0.05, beta=0.1, multiplier=0.2, entropy="auto").fit(x, y)
    assert model.entropy_ == Maxent("lq", entropy="auto", multiplier=0.2).fit(x, y).entropy_
    with pytest.raises(OptionError, match="ordinary feature classes"):
        StructMaxent("trees:2", lam=0.05, beta=0.1, entropy="auto").fit(x, y)


def test_zeros_cost_much_but_not_everything_and_ties_go_to_shannon():
    assert floored_log_loss(np.array([0.0, 1.0])) == pytest.approx([-np.log(FLOOR), 0.0])
    order, trials = choose_order({1.5: np.array([1.0, 2.0]), 1.0: np.array([2.0, 1.0])})
    assert order == 1.0
    assert trials[0].error == pytest.approx(0.5)
    with pytest.raises(OptionError, match="entropy"):
        Maxent("l", entropy=3.0).fit(np.arange(6.0)[:, None], [1, 1, 0, 0, 0, 0])
