"""Associations of all pairs, and the parts of a species' log-odds, against slow versions written from their words."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.stats import false_discovery_control

from sdm.assess.measures.community import ASSOCIATIONS, log_odds_parts, partition_variance
from sdm.estimators.community import JointModel
from sdm.joint.labels import read_labels
from sdm.joint.pairs import RIDGE, adjusted, pair_associations

FOUR = list(itertools.product((0, 1), repeat=2))


def sites_of_loss(theta, odds, labels):
    """Every site's −ln p(y_s, y_t | x), over the four pairs of labels."""
    u, v = (odds[:, k] + theta[2 * k] + theta[2 * k + 1] * odds[:, k] for k in (0, 1))
    score = np.array([y[0] * u + y[1] * v + theta[4] * (1 if y[0] == y[1] else -1) for y in FOUR])
    return np.log(np.exp(score).sum(axis=0)) - score[labels @ [2, 1], np.arange(len(labels))]  # in the order of FOUR


@pytest.fixture(scope="module")
def drawn():
    """Four species: the first two together, the third apart from the first, the fourth alone; some labels missing."""
    rng = np.random.default_rng(5)
    n = 240
    odds = np.column_stack([rng.normal(0, 1, n) for _ in range(4)])
    weights = {(0, 1): 0.5, (0, 2): -0.5}
    labelings = np.array(list(itertools.product((0, 1), repeat=4)))
    score = odds @ labelings.T
    for (s, t), w in weights.items():
        score += w * np.where(labelings[:, s] == labelings[:, t], 1, -1)
    labels = labelings[np.argmax(score + rng.gumbel(size=score.shape), axis=1)].astype(np.int8)
    labels[rng.random(labels.shape) < 0.05] = -1
    return odds, labels, rng.integers(0, 200, n)


def test_every_pair_is_the_optimum_of_its_likelihood_with_a_robust_error(drawn):
    odds, labels, group = drawn
    result = pair_associations("abcd", odds, labels, group)
    assert result.gap < 1e-6
    for k, (s, t) in enumerate(result.pairs):
        rows = (labels[:, s] >= 0) & (labels[:, t] >= 0)
        own = odds[rows][:, [s, t]], labels[rows][:, [s, t]]

        def value(theta, own=own):
            return sites_of_loss(theta, *own).sum() + 0.5 * (RIDGE * theta) @ theta

        best = minimize(value, np.zeros(5), method="BFGS", options={"gtol": 1e-6}).x
        assert result.weight[k] == pytest.approx(best[4], abs=2e-4)
        assert result.sites[k] == rows.sum()
        scores = approx_fprime(best, lambda theta, own=own: sites_of_loss(theta, *own), 1e-6)
        summed = pd.DataFrame(scores).groupby(group[rows]).sum().to_numpy()
        curve = np.array([approx_fprime(best, lambda x, j=j: approx_fprime(x, value, 1e-5)[j], 1e-4) for j in range(5)])
        plain, spread = np.linalg.inv(curve), np.linalg.inv(curve) @ summed.T @ summed @ np.linalg.inv(curve)
        assert result.sd[k] == pytest.approx(np.sqrt(max(plain[4, 4], spread[4, 4])), rel=0.02)


def test_what_was_put_in_is_found_and_no_more(drawn):
    odds, labels, group = drawn
    result = pair_associations("abcd", odds, labels, group)
    rows = {(row["first"], row["second"]): row for row in result.rows()}
    assert {pair for pair, row in rows.items() if row["q"] < 0.05} == {("a", "b"), ("a", "c"), ("b", "c")}
    assert rows["a", "d"]["q"] > 0.05
    assert rows["a", "b"]["low"] < 0.5 < rows["a", "b"]["high"]
    assert rows["a", "c"]["low"] < -0.5 < rows["a", "c"]["high"]
    assert abs(rows["b", "c"]["weight"]) < 0.35, "through the first alone"
    square = result.matrix()
    np.testing.assert_array_equal(square, square.T)
    assert np.isnan(np.diag(square)).all()


def test_species_that_were_never_looked_for_together_have_no_association(drawn):
    odds, labels, _ = drawn
    labels = labels.copy()
    labels[:120, 0], labels[120:, 1] = -1, -1
    result = pair_associations("abcd", odds, labels)
    assert [0, 1] not in result.pairs.tolist()
    assert len(result.pairs) == 5


def test_two_species_that_are_never_apart_have_a_finite_weight():
    odds, same = np.zeros((30, 2)), np.repeat(np.tile([0, 1], 15)[:, None], 2, axis=1).astype(np.int8)
    result = pair_associations("ab", odds, same)
    assert 0.5 < result.weight[0] < 5
    assert result.gap < 1e-6


def test_two_rare_species_that_never_met_are_not_called_enemies():
    """One site of two hundred was to be expected; a test is right about as often as it says, over many draws."""
    odds, labels = np.full((200, 2), np.log(0.07 / 0.93)), np.zeros((200, 2), dtype=np.int8)
    labels[:14, 0], labels[14:28, 1] = 1, 1
    assert pair_associations("ab", odds, labels).q[0] > 0.2
    rng = np.random.default_rng(8)
    drawn = (rng.random((400, 200, 2)) < 0.1).astype(np.int8)
    odds = np.full((200, 2), np.log(0.1 / 0.9))
    wrong = np.mean([pair_associations("ab", odds, one).q[0] < 0.05 for one in drawn])
    assert wrong < 0.08


def test_adjusted_p_values():
    p = np.random.default_rng(3).random(40) ** 2
    np.testing.assert_allclose(adjusted(p), false_discovery_control(p))


def test_parts_of_the_log_odds_add_up_to_what_the_model_says_given_the_others():
    """The log-odds of a species given all others, from the model's own conditional probabilities."""
    rng = np.random.default_rng(2)
    x = pd.DataFrame(rng.normal(size=(90, 2)), columns=["heat", "rain"])
    first = x["heat"] + rng.logistic(size=90) > 0
    y = pd.DataFrame({"a": first, "b": first ^ (rng.random(90) < 0.2), "c": rng.random(90) < 0.5}).astype(int)
    model = JointModel(features="lqp", c=1.0).fit(x, y).model_
    labels = read_labels(y, model.species, 90)
    values = model.encode(x)
    parts = log_odds_parts(model, values, labels)
    assert list(parts) == ["heat", "rain", ASSOCIATIONS]
    bias = {row["species"]: row["weight"] for row in model.effects() if row["feature"] == "bias"}
    rows = {row["species"]: row for row in partition_variance(model, values, labels)}
    for s, name in enumerate(model.species):
        others = y.drop(columns=name)
        p = model.predict_proba(x, others)[:, s]
        full = sum(part[:, s] for part in parts.values())
        np.testing.assert_allclose(full + bias[name], np.log(p / (1 - p)), atol=1e-8)
        shares = [rows[name][part] for part in parts]
        assert sum(shares) == pytest.approx(1)
        assert rows[name]["heat"] == pytest.approx(np.cov(parts["heat"][:, s], full, ddof=0)[0, 1] / full.var())
        present = labels[:, s] > 0
        assert rows[name]["r2 given the others"] == pytest.approx(p[present].mean() - p[~present].mean())
    assert min(rows["a"][ASSOCIATIONS], rows["b"][ASSOCIATIONS]) > 0.2 > rows["c"][ASSOCIATIONS] - 0.8
    assert rows["a"]["r2 given the others"] > rows["a"]["r2"]
