"""A few possible communities per site, against the quadratic program over all labelings."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joint import brute
from scipy.optimize import minimize

from sdm.joint.graph import Forest
from sdm.joint.inference import ABSENT, FREE, free_states
from sdm.joint.sparsemap import possible_communities

SIZE = 4
ALL = np.array(list(itertools.product((0, 1), repeat=SIZE)))


def drawn(seed: int, strength: float = 1.0):
    rng = np.random.default_rng(seed)
    forest = Forest(SIZE, np.array([[0, 1], [1, 2], [1, 3]])[: rng.integers(0, 4)].reshape(-1, 2))
    weights = rng.normal(size=len(forest.edges))
    table = weights[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return forest, strength * rng.normal(size=(1, SIZE)), strength * table


@given(st.integers(0, 10_000), st.sampled_from([0.3, 1.0, 4.0]))
def test_no_distribution_over_all_labelings_is_better(seed: int, strength: float) -> None:
    """The value, by brute force over 2⁴ labelings; the gap is what the optimality condition over all of them says."""
    forest, unary, table = drawn(seed, strength)
    result = possible_communities(forest, unary, table, free_states(1, SIZE))[0]
    score = np.array([brute.score(forest, unary[0], table, y) for y in ALL])
    p = np.zeros(len(ALL))
    for labels, probability in zip(result.labels, result.probability):
        p[int(np.flatnonzero((labels == ALL).all(axis=1))[0])] += probability
    assert p.sum() == pytest.approx(1)
    mean = p @ ALL
    slope = score - ALL @ (2 * mean - 1)
    assert slope.max() - p @ slope <= 1e-5
    assert result.gap <= 1e-5

    def value(q):
        return -(q @ score - 0.5 * np.sum((q @ ALL) ** 2 + (1 - q @ ALL) ** 2))

    rule = {"type": "eq", "fun": lambda q: q.sum() - 1}
    other = minimize(value, np.full(len(ALL), 1 / len(ALL)), bounds=[(0, 1)] * len(ALL), constraints=[rule])
    assert value(p) <= other.fun + 1e-6
    assert len(result.probability) <= SIZE + len(forest.edges) + 1


def test_a_clear_site_has_one_community_and_an_undecided_one_several() -> None:
    forest, _, table = drawn(3)
    unary = np.array([[5.0, -5.0, 5.0, -5.0]])
    sure = possible_communities(forest, unary, 0.1 * table, free_states(1, SIZE))[0]
    assert len(sure.probability) == 1
    assert sure.probability[0] == 1
    np.testing.assert_array_equal(sure.labels[0], [1, 0, 1, 0])
    for odds, expected in ((0.0, 0.5), (0.5, 0.75), (-0.5, 0.25), (3.0, 1.0)):
        alone = possible_communities(forest, np.full((1, SIZE), odds), 0 * table, free_states(1, SIZE))[0]
        np.testing.assert_allclose(alone.probability @ alone.labels, expected, atol=1e-5)
        assert len(alone.probability) <= SIZE + 1


def test_known_labels_are_held() -> None:
    forest, unary, table = drawn(5)
    states = np.array([[1, 0, FREE, FREE]], dtype=np.int8)
    result = possible_communities(forest, unary, table, states)[0]
    assert np.all(result.labels[:, 0] == 1)
    assert np.all(result.labels[:, 1] == 0)


def check_gap(seed: int) -> None:
    """The value and the gap against all labelings, with species held, free and left out, at any scale of the scores."""
    rng = np.random.default_rng(seed)
    forest, strength = brute.random_forest(rng, SIZE), 10.0 ** rng.integers(-3, 5)
    unary, table = strength * rng.normal(size=(1, SIZE)), strength * rng.normal(size=(len(forest.edges), 2, 2))
    state = rng.choice([ABSENT, 0, 1, FREE, FREE, FREE], SIZE).astype(np.int8)
    result = possible_communities(forest, unary, table, state[None], 1e-9)[0]
    listed = brute.labelings(state)
    score = np.array([brute.score(forest, unary[0], table, y) for y in listed], dtype=np.longdouble)
    present = np.maximum(listed, 0)
    p = np.zeros(len(listed), dtype=np.longdouble)
    for labels, probability in zip(result.labels, result.probability):
        p[int(np.flatnonzero((labels == present).all(axis=1))[0])] += probability

    def value(q: Any) -> Any:
        mean = (q @ present)[state != ABSENT]
        return q @ score - np.sum(mean**2 + (1 - mean) ** 2) / 2

    best, free = p, len(listed)
    for _ in range(300):  # Frank-Wolfe with pairwise steps, from the answer: the optimum, if it is another
        slope = score - present[:, state != ABSENT] @ (2 * (best @ present)[state != ABSENT] - 1)
        up, down = int(np.argmax(slope)), int(np.argmin(np.where(best > 0, slope, np.inf)))
        curve = 2 * np.sum((present[up] - present[down]) ** 2)
        step = min(best[down], (slope[up] - slope[down]) / curve) if curve else np.longdouble(0)
        best = best + step * (np.arange(free) == up) - step * (np.arange(free) == down)
    room = 1e-13 * max(strength, 1.0)
    assert value(best) - value(p) <= result.gap + room
    assert result.gap <= 1e-8 + room


def test_the_gap_bounds_the_distance_to_the_optimum() -> None:
    for seed in range(20):
        check_gap(seed)


@pytest.mark.thorough
def test_the_gap_bounds_the_distance_to_the_optimum_of_many_problems() -> None:
    for seed in range(20, 420):
        check_gap(seed)
