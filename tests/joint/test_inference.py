"""Dynamic programming equals brute force over all labelings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joint import brute

from sdm.joint import inference
from sdm.joint.graph import chain, edgeless


@st.composite
def problems(draw, largest=8):
    size = draw(st.integers(1, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    forest = brute.random_forest(rng, size, draw(st.sampled_from([0.0, 0.7, 1.0])))
    scale = draw(st.sampled_from([0.1, 2.0, 300.0]))
    unary = scale * rng.normal(size=(3, size))
    table = scale * rng.normal(size=(len(forest.edges), 2, 2))
    kinds = [inference.FREE] if draw(st.booleans()) else [inference.ABSENT, 0, 1, inference.FREE]
    states = rng.choice(kinds, size=(3, size)).astype(np.int8)
    return forest, unary, table, states


def check(forest, unary, table, states):
    result = inference.marginals(forest, unary, table, states)
    best, value = inference.maximise(forest, unary, table, states)
    for i in range(len(unary)):
        log_z, nodes, edges, highest, _, _ = brute.gibbs(forest, unary[i], table, states[i])
        scale = 1e-12 * max(1.0, np.abs(unary).sum() + np.abs(table).sum())
        assert result.log_partition[i] == pytest.approx(log_z, abs=scale, rel=1e-12)
        np.testing.assert_allclose(result.nodes[i], nodes, atol=1e-9)
        np.testing.assert_allclose(result.edges[i], edges, atol=1e-9)
        labels = np.where(states[i] == inference.ABSENT, -1, best[i])
        assert value[i] == pytest.approx(highest, abs=scale, rel=1e-12)
        assert brute.score(forest, unary[i], table, labels) == pytest.approx(highest, abs=scale, rel=1e-12)
        held_out = np.isin(states[i], (0, 1))
        assert np.array_equal(best[i][held_out], states[i][held_out])


@given(problems())
def test_equals_brute_force(problem):
    """A wrong message would give wrong maps for every species linked with another."""
    check(*problem)


@pytest.mark.parametrize("make", [chain, edgeless, "tree"])
def test_equals_brute_force_for_twelve_species(make):
    rng = np.random.default_rng(12)
    forest = brute.random_forest(rng, 12, 1.0) if make == "tree" else make(12)
    unary, table = rng.normal(size=(2, 12)), rng.normal(size=(len(forest.edges), 2, 2))
    check(forest, unary, table, inference.free_states(2, 12))


@given(problems())
def test_scores_of_labelings(problem):
    forest, unary, table, states = problem
    rng = np.random.default_rng(0)
    labels = np.where(states == inference.ABSENT, -1, rng.integers(0, 2, states.shape)).astype(np.int8)
    result = inference.scores(forest, unary, table, labels)
    expected = [brute.score(forest, u, table, y) for u, y in zip(unary, labels)]
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-9)


def test_holding_a_species_is_conditioning():
    """Knowing that one species is there must change the others as Bayes' rule says."""
    rng = np.random.default_rng(1)
    forest = brute.random_forest(rng, 5, 1.0)
    unary, table = rng.normal(size=(1, 5)), 2 * rng.normal(size=(4, 2, 2))
    _, _, _, _, all_y, p = brute.gibbs(forest, unary[0], table, inference.free_states(1, 5)[0])
    states = inference.free_states(1, 5)
    states[0, 3] = 1
    given_third = (p[:, None] * all_y)[all_y[:, 3] == 1].sum(axis=0) / p[all_y[:, 3] == 1].sum()
    np.testing.assert_allclose(inference.marginals(forest, unary, table, states).nodes[0], given_third, atol=1e-12)
