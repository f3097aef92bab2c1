"""Forests over species: edges between species, and the order of messages.

Inference on a graph without cycles is exact, so every joint model has a forest. It has listed edges, a chain, or the
maximum-weight spanning tree of the species' residual association, which the environment does not explain.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sdm.errors import OptionError, UnknownNameError, name_list
from sdm.types import Array, Index


@dataclass(frozen=True)
class Paths:
    """Paths through a forest."""

    walk: Index  # (S, S − 1, 3): from each species, nearest first: next species, previous species, edge; else −1
    near: Index  # (E, E): the end of the first edge nearest to the second; 0 in different trees


@dataclass(frozen=True)
class Forest:
    """Species 0…S−1 and the edges between them, `(E, 2)`, without cycles."""

    size: int
    edges: Index

    @cached_property
    def start(self) -> Index:
        """Return the position of each species' edges in `around`, and the end of the last."""
        counts = np.bincount(self.edges.ravel(), minlength=self.size)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @cached_property
    def around(self) -> Index:
        """Return the edges of each species, concatenated."""
        ends = self.edges.ravel()
        return (np.argsort(ends, kind="stable") // 2).astype(np.int64)

    @cached_property
    def paths(self) -> Paths:
        """Return the paths from every species to all others of its tree."""
        walk = np.full((self.size, max(self.size - 1, 0), 3), -1, dtype=np.int64)
        end = np.zeros((self.size, len(self.edges)), dtype=np.int64)  # the end of an edge nearest to a species
        for root in range(self.size):
            before, order = {root: -1}, [root]
            for s in order:
                for e in self.around[self.start[s] : self.start[s + 1]].tolist():
                    t = int(self.edges[e].sum() - s)
                    if t not in before:
                        before[t] = s
                        order.append(t)
                        walk[root, len(order) - 2] = t, s, e
                        end[root, e] = int(self.edges[e, 1] == s)
        near = end[self.edges[:, 0]].T.copy()
        np.fill_diagonal(near, 0)
        return Paths(walk, near)

    @cached_property
    def messages(self) -> tuple[Index, Index, Index]:
        """Return the order of messages: species after their parents, the parents, and the edges to parents.

        Messages go up in the reverse of this order, and down in it. Roots have parent and edge −1.
        """
        order: list[int] = []
        parent, link = np.full(self.size, -1, dtype=np.int64), np.full(self.size, -1, dtype=np.int64)
        seen = np.zeros(self.size, dtype=bool)
        for root in range(self.size):
            stack = [] if seen[root] else [root]
            seen[root] = True
            while stack:
                s = stack.pop()
                order.append(s)
                for e in self.around[self.start[s] : self.start[s + 1]]:
                    t = int(self.edges[e].sum() - s)
                    if not seen[t]:
                        seen[t] = True
                        parent[t], link[t] = s, e
                        stack.append(t)
        return np.array(order, dtype=np.int64), parent, link


def edgeless(size: int) -> Forest:
    """Return a forest without edges, for independent single-species models."""
    return Forest(size, np.empty((0, 2), dtype=np.int64))


def chain(size: int) -> Forest:
    """Return a forest with an edge from each species to the next one."""
    return Forest(size, np.column_stack([np.arange(size - 1), np.arange(1, size)]).astype(np.int64))


def forest_of_edges(edges: Sequence[Sequence[Any]], names: Sequence[str]) -> Forest:
    """Return the forest of an edge list with names or positions of species; refuse loops and cycles."""
    group = list(range(len(names)))
    out = []
    for edge in edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise OptionError(f"graph: {edge!r} is not an edge; expected two species, as ('{names[0]}', '{names[-1]}')")
        s, t = (_position(end, names) for end in edge)
        if s == t:
            raise OptionError(f"graph: the edge '{names[s]}' – '{names[t]}' joins a species with itself: remove it")
        if not _unite(group, s, t):
            raise OptionError(f"graph: the edge '{names[s]}' – '{names[t]}' closes a cycle: remove an edge of it")
        out.append((s, t))
    return Forest(len(names), np.array(out, dtype=np.int64).reshape(-1, 2))


def spanning_tree(weight: Array) -> Forest:
    """Return the maximum-weight spanning forest of a symmetric matrix (Kruskal), without edges of weight zero."""
    size = weight.shape[0]
    first, second = np.triu_indices(size, 1)
    group = list(range(size))
    edges = [
        (s, t)
        for s, t in ((int(first[k]), int(second[k])) for k in np.argsort(-weight[first, second], kind="stable"))
        if weight[s, t] > 0 and _unite(group, s, t)
    ]
    return Forest(size, np.array(sorted(edges), dtype=np.int64).reshape(-1, 2))


def association(residual: Array) -> Array:
    """Return the absolute correlations of the species' residuals, over the sites where both are observed (not NaN)."""
    observed = np.isfinite(residual).astype(np.float64)
    r = np.where(observed > 0, residual, 0.0)
    count = np.maximum(observed.T @ observed, 1.0)
    mean = (r.T @ observed) / count  # mean of the row's species, over the sites where the column's is also observed
    square = ((r * r).T @ observed) / count
    covariance = (r.T @ r) / count - mean * mean.T
    spread = np.sqrt(np.maximum(square - mean * mean, 0.0))
    scale = spread * spread.T
    out: Array = np.divide(np.abs(covariance), scale, out=np.zeros_like(scale), where=scale > 1e-12)
    np.fill_diagonal(out, 0.0)
    return out


def _unite(group: list[int], s: int, t: int) -> bool:
    """Merge the groups of two species; return whether they were different."""
    one, other = group[s], group[t]
    if one == other:
        return False
    group[:] = [one if number == other else number for number in group]
    return True


def _position(end: Any, names: Sequence[str]) -> int:
    if isinstance(end, (int, np.integer)) and not isinstance(end, bool) and 0 <= end < len(names):
        return int(end)
    if end in names:
        return list(names).index(end)
    raise UnknownNameError(f"graph: {end!r} is not a species; the species are {name_list(names)}")
