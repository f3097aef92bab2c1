"""The curvature of a joint model's log-partition is the covariance of its features, summed over all labelings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joint import brute
from joint.brute import MISSING, features_of, problem

from sdm.joint import curvature as module
from sdm.joint.curvature import curvature, variances
from sdm.joint.graph import Forest
from sdm.joint.inference import marginals


@given(st.integers(0, 10_000), st.sampled_from(MISSING), st.sampled_from([0.2, 1.0, 5.0]))
def test_covariances_are_sums_over_all_labelings(seed: int, kind, size: float) -> None:
    """Species that were not looked for, several trees."""
    d, sites = problem(seed, kind, n=4)
    w = size * np.random.default_rng(seed).normal(size=d.size)
    result = marginals(d.forest, d.unary(w, sites.x), d.table(w), sites.states)
    expected = np.zeros((d.size, d.size))
    for x, state, unary in zip(sites.x, sites.states, d.unary(w, sites.x)):
        *_, labelings, p = brute.gibbs(d.forest, unary, d.table(w), state)
        f = np.array([features_of(d, x, y) for y in labelings])
        expected += (f.T * p) @ f - np.outer(p @ f, p @ f)
    np.testing.assert_allclose(curvature(d, sites, result), expected, atol=1e-9 * max(1, size))
    np.testing.assert_allclose(variances(d, sites, result), np.diag(expected), atol=1e-9 * max(1, size))


def test_sites_may_be_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    d, sites = problem(7, n=9)
    w = np.random.default_rng(1).normal(size=d.size)
    result = marginals(d.forest, d.unary(w, sites.x), d.table(w), sites.states)
    full = curvature(d, sites, result)
    monkeypatch.setattr(module, "NUMBERS", 1)
    np.testing.assert_allclose(curvature(d, sites, result), full, rtol=1e-12)


def test_ways_through_a_forest() -> None:
    """A path of three edges, and an edge apart."""
    paths = Forest(6, np.array([[1, 0], [1, 2], [3, 2], [4, 5]])).paths
    assert paths.walk[0, :4].tolist() == [[1, 0, 0], [2, 1, 1], [3, 2, 2], [-1, -1, -1]]
    assert paths.near[0, 1] == paths.near[0, 2] == 0  # species 1
    assert (paths.near[1, 0], paths.near[1, 2]) == (0, 1)
    assert paths.near[2, 0] == 1  # species 2
