"""Forests: the spanning tree is the heaviest, cycles are refused, every species comes after its parent."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.errors import OptionError
from sdm.joint import graph

NAMES = ["a", "b", "c", "d", "e"]


def connected(size, edges):
    reach = np.eye(size, dtype=bool)
    for s, t in edges:
        reach[s, t] = reach[t, s] = True
    for _ in range(size):
        reach = reach | ((reach.astype(int) @ reach.astype(int)) > 0)
    return reach.all()


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_the_spanning_tree_is_the_heaviest_of_all_trees(seed, size):
    """Another tree would leave out an association that matters more."""
    weight = np.random.default_rng(seed).random((size, size))
    weight = weight + weight.T
    tree = graph.spanning_tree(weight)
    pairs = list(itertools.combinations(range(size), 2))
    best = max(
        sum(weight[s, t] for s, t in chosen)
        for chosen in itertools.combinations(pairs, size - 1)
        if connected(size, chosen)
    )
    assert connected(size, tree.edges)
    assert sum(weight[s, t] for s, t in tree.edges) == pytest.approx(best)


def test_species_without_association_stay_alone():
    weight = np.zeros((4, 4))
    weight[0, 2] = weight[2, 0] = 1.0
    assert graph.spanning_tree(weight).edges.tolist() == [[0, 2]]


@given(st.integers(0, 10_000), st.integers(1, 12))
def test_messages_can_pass_in_order(seed, size):
    """A species before its parent would send a message that nobody has computed yet."""
    rng = np.random.default_rng(seed)
    edges = [(int(rng.integers(t)), t) for t in range(1, size) if rng.random() < 0.8]
    relabel = rng.permutation(size)
    forest = graph.Forest(size, relabel[np.array(edges, dtype=np.int64).reshape(-1, 2)].astype(np.int64))
    order, parent, link = forest.messages
    place = np.argsort(order)
    assert sorted(order) == list(range(size))
    for s in range(size):
        if parent[s] >= 0:
            assert place[parent[s]] < place[s]
            assert set(forest.edges[link[s]]) == {s, parent[s]}
        own = forest.around[forest.start[s] : forest.start[s + 1]]
        assert sorted(own) == sorted(e for e, ends in enumerate(forest.edges) if s in ends)
    assert np.sum(parent < 0) == size - len(forest.edges)


def test_a_chain_links_neighbours():
    assert graph.chain(4).edges.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert graph.chain(1).edges.shape == graph.edgeless(1).edges.shape == (0, 2)


def test_edges_by_name_or_position():
    assert graph.forest_of_edges([("c", "a"), (3, 1)], NAMES).edges.tolist() == [[2, 0], [3, 1]]
    assert graph.forest_of_edges([], NAMES).edges.shape == (0, 2)


@pytest.mark.parametrize(
    "edges, said",
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], "'c' – 'a' closes a cycle"),
        ([("a", "b"), ("b", "a")], "'b' – 'a' closes a cycle"),
        ([("a", "a")], "joins a species with itself"),
        ([("a", "x")], "'x' is not a species; the species are a, b, c, d, e"),
        ([(0, 7)], "7 is not a species"),
        (["ab"], "'ab' is not an edge"),
        ([("a", "b", "c")], "is not an edge"),
    ],
)
def test_what_is_no_forest_is_refused(edges, said):
    with pytest.raises(OptionError, match=said):
        graph.forest_of_edges(edges, NAMES)


def test_association_is_the_correlation_over_sites_where_both_are_known():
    rng = np.random.default_rng(0)
    r = rng.normal(size=(60, 3))
    r[:, 1] -= 0.7 * r[:, 0]
    r[rng.random(r.shape) < 0.2] = np.nan
    weight = graph.association(r)
    for s, t in [(0, 1), (0, 2), (1, 2)]:
        both = np.isfinite(r[:, s]) & np.isfinite(r[:, t])
        expected = abs(np.corrcoef(r[both, s], r[both, t])[0, 1])
        assert weight[s, t] == pytest.approx(expected) == weight[t, s]
    assert not weight.diagonal().any()


def test_a_constant_residual_has_no_association():
    assert not graph.association(np.column_stack([np.ones(5), np.arange(5.0)])).any()
