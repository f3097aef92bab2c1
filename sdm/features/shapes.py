"""Trees, monomials and ridges with their weights: the features of a model that are not terms."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.features.growing.monomial import Monomial
from sdm.features.growing.tree import Tree
from sdm.features.ridges import CompiledRidges, Ridges
from sdm.types import AnyArray, Array

MOST = 100_000  # largest number of trees or monomials in a model file; no fit has as many


@dataclass(frozen=True)
class Shapes:
    """Trees, monomials and ridges, each with a weight."""

    trees: tuple[Tree, ...] = ()
    tree_weight: Array = field(default_factory=lambda: np.empty(0))
    monomials: tuple[Monomial, ...] = ()
    monomial_weight: Array = field(default_factory=lambda: np.empty(0))
    ridges: Ridges = field(default_factory=Ridges.none)

    @classmethod
    def concatenate(cls, parts: Sequence["Shapes"]) -> "Shapes":
        """Join shapes: the trees of all, their monomials, and their ridges."""
        trees = tuple(tree for part in parts for tree in part.trees)
        monomials = tuple(one for part in parts for one in part.monomials)
        tree = np.concatenate([part.tree_weight for part in parts])
        monomial = np.concatenate([part.monomial_weight for part in parts])
        return cls(trees, tree, monomials, monomial, Ridges.concatenate([part.ridges for part in parts]))

    def __len__(self) -> int:
        return len(self.trees) + len(self.monomials) + len(self.ridges)

    @property
    def weight(self) -> Array:
        """Return the weights of the trees, monomials and ridges, in this order."""
        return np.concatenate([self.tree_weight, self.monomial_weight, self.ridges.weight])

    def with_weight(self, weight: Array) -> "Shapes":
        """Return the same shapes with other weights, in the order of `weight`."""
        tree, monomial, ridge = self._divided(weight)
        return replace(self, tree_weight=tree, monomial_weight=monomial, ridges=replace(self.ridges, weight=ridge))

    def take_used(self, weight: Array) -> "Shapes":
        """Return the shapes with a nonzero weight."""
        tree, monomial, ridge = self._divided(weight)
        grown, powers, used = np.flatnonzero(tree), np.flatnonzero(monomial), np.flatnonzero(ridge)
        trees, monomials = tuple(self.trees[k] for k in grown), tuple(self.monomials[k] for k in powers)
        return Shapes(trees, tree[grown], monomials, monomial[powers], self.ridges.take(used, ridge[used]))

    def _divided(self, weight: Array) -> list[Array]:
        """Divide a vector of weights into the parts of trees, monomials and ridges."""
        return np.split(weight, [len(self.trees), len(self.trees) + len(self.monomials)])

    def variables(self) -> list[NDArray[np.int32]]:
        """Return the variables of every shape."""
        ridges = [np.flatnonzero(direction).astype(np.int32) for direction in self.ridges.directions]
        return [*(tree.var for tree in self.trees), *(m.var for m in self.monomials), *ridges]

    def names(self, variables: Sequence[str], labels: Mapping[int, Mapping[int, str]] | None = None) -> list[str]:
        """Return readable names; a tree is given by the rules of its leaves with label 1."""
        trees = [tree.describe(list(variables), labels) for tree in self.trees]
        monomials = [m.name(list(variables)) for m in self.monomials]
        return [*(f"tree[{text}]" for text in trees), *monomials, *self.ridges.names(variables)]

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return all fields as flat arrays, for a file; arrays of ridges only if there are ridges."""
        ridges = self.ridges.to_arrays() if len(self.ridges) else {}
        sets = [group for tree in self.trees for group in tree.classes]
        return {
            "tree_size": np.array([tree.size for tree in self.trees], dtype=np.int32),
            "tree_leaf": _join([tree.leaf for tree in self.trees], np.int32),
            "tree_var": _join([tree.var for tree in self.trees], np.int32),
            "tree_threshold": _join([tree.threshold for tree in self.trees], np.float64),
            "tree_label": _join([tree.label for tree in self.trees], np.int8),
            "tree_set_size": np.array([len(group) for group in sets], dtype=np.int32),
            "tree_set": _join([np.array(group) for group in sets], np.float64),
            "tree_weight": np.asarray(self.tree_weight, dtype=np.float64),
            "monomial_size": np.array([m.size for m in self.monomials], dtype=np.int32),
            "monomial_var": _join([m.var for m in self.monomials], np.int32),
            "monomial_weight": np.asarray(self.monomial_weight, dtype=np.float64),
            **{f"ridge_{name}": array for name, array in ridges.items()},
        }

    @staticmethod
    def ridge_arrays() -> list[str]:
        """Return the names of the arrays of ridges, which are optional."""
        return [f"ridge_{name}" for name in Ridges.none().to_arrays()]

    @classmethod
    def from_arrays(cls, arrays: dict[str, AnyArray]) -> "Shapes":
        """Return shapes from `to_arrays`; raise ValueError for inconsistent sizes."""
        sizes = arrays["tree_size"]
        for kind, size in (("tree", sizes), ("monomial", arrays["monomial_size"])):
            if size.shape != arrays[f"{kind}_weight"].shape or size.size > MOST:
                raise ValueError("as many weights as shapes are needed")
        leaves = _cut(arrays["tree_leaf"], sizes)
        variables = _cut(arrays["tree_var"], sizes)
        thresholds = _cut(arrays["tree_threshold"], sizes)
        labels = _cut(arrays["tree_label"], sizes + 1)
        sets = [tuple(group.tolist()) for group in _cut(arrays["tree_set"], arrays["tree_set_size"])]
        per_tree = _cut(np.arange(len(sets)), sizes)
        trees = tuple(
            Tree(leaf, var, threshold, tuple(sets[k] for k in splits), label)
            for leaf, var, threshold, splits, label in zip(leaves, variables, thresholds, per_tree, labels)
        )
        monomials = tuple(Monomial(var) for var in _cut(arrays["monomial_var"], arrays["monomial_size"]))
        stored = {name.removeprefix("ridge_"): arrays[name] for name in cls.ridge_arrays() if name in arrays}
        ridges = Ridges.from_arrays(stored) if stored else Ridges.none()
        out = cls(trees, arrays["tree_weight"], monomials, arrays["monomial_weight"], ridges)
        for tree in trees:
            if np.any(tree.leaf < 0) or np.any(tree.leaf > np.arange(tree.size)):
                raise ValueError("a split divides a leaf that is not there")
        return out


class CompiledShapes:
    """Shapes as flat arrays for kernels; `lo, hi` are the training ranges, for scaling of monomials and clamping of
    ridges."""

    def __init__(self, shapes: Shapes, lo: Array, hi: Array) -> None:
        a = shapes.to_arrays()
        self.classes = _classes_by_variable(shapes.trees)
        place = {v: k for k, v in enumerate(self.classes)}
        width = max((values.size for values in self.classes.values()), default=0) + 1
        splits = int(a["tree_size"].sum())
        # Per split: the position of its variable among the categorical ones (or −1), and a mask of classes that go
        # right.
        which = np.full(splits, -1, dtype=np.int32)
        member = np.zeros((splits, width), dtype=np.bool_)
        excluded = np.zeros((splits, 2), dtype=np.uint64)
        s = 0
        for tree in shapes.trees:
            excluded[s : s + tree.size] = _excluded_leaves(tree.leaf)
            for v, group in zip(tree.var.tolist(), tree.classes):
                if group:
                    which[s] = place[v]
                    member[s, np.searchsorted(self.classes[v], group)] = True
                s += 1
        ones = np.array([_bits(np.flatnonzero(tree.label)) for tree in shapes.trees], dtype=np.uint64)
        self.tree = (
            *(_starts(a["tree_size"]), a["tree_var"], a["tree_threshold"], which, member, excluded),
            *(ones, a["tree_weight"]),
        )
        self.monomials = [(m.var, weight) for m, weight in zip(shapes.monomials, shapes.monomial_weight.tolist())]
        self.ridges = CompiledRidges(shapes.ridges, lo, hi) if len(shapes.ridges) else None
        self.lo, self.hi = lo, hi

    def add_scores(self, x: Array, clamp: bool, theta: Array) -> None:
        """Add the scores of cells in a `(V, n)` array."""
        codes = np.empty((len(self.classes), x.shape[1]), dtype=np.int32)
        for row, (v, values) in zip(codes, self.classes.items()):
            # A class that is not in any set has the last position.
            near = np.minimum(np.searchsorted(values, x[v]), values.size - 1)
            row[:] = np.where(values[near] == x[v], near, values.size)
        _add_trees(x, codes, *self.tree, theta)
        for var, weight in self.monomials:
            share = (x[var] - self.lo[var, None]) / (self.hi[var, None] - self.lo[var, None])
            theta += weight * np.prod(np.clip(share, 0.0, 1.0) if clamp else share, axis=0)
        if self.ridges is not None:
            self.ridges.add_scores(x, clamp, theta)


def _classes_by_variable(trees: Sequence[Tree]) -> dict[int, Array]:
    """Return the classes in any set of each categorical variable, in ascending order."""
    by_variable: dict[int, set[float]] = {}
    for tree in trees:
        for v, group in zip(tree.var.tolist(), tree.classes):
            if group:
                by_variable.setdefault(v, set()).update(group)
    return {v: np.array(sorted(classes)) for v, classes in by_variable.items()}


def _bits(leaves: NDArray[np.int64] | list[int]) -> int:
    """Return a set of leaves as bits."""
    return sum(1 << int(leaf) for leaf in leaves)


def _excluded_leaves(leaf: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return for each split, as bits, the leaves that cells going left, and cells going right, cannot reach."""
    below = [{k} for k in range(leaf.size + 1)]  # the descendants of each leaf, from the last split back
    out = np.zeros((leaf.size, 2), dtype=np.uint64)
    for s in range(leaf.size - 1, -1, -1):
        out[s] = _bits(sorted(below[s + 1])), _bits(sorted(below[leaf[s]]))
        below[leaf[s]] |= below[s + 1]
    return out


def _join(parts: list[AnyArray], dtype: type) -> AnyArray:
    return np.concatenate([*parts, np.empty(0)]).astype(dtype)


def _starts(sizes: AnyArray) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _cut(values: AnyArray, sizes: AnyArray) -> list[AnyArray]:
    """Return consecutive parts of an array with the given sizes."""
    starts = _starts(sizes)
    if np.any(sizes < 0) or starts[-1] != len(values):
        raise ValueError("the sizes of the parts do not add up")
    return [values[a:b] for a, b in itertools.pairwise(starts)]


@jit
def _add_trees(x, codes, start, var, threshold, which, member, excluded, ones, weight, theta):  # type: ignore[no-untyped-def]
    """theta[i] += Σ weight_t · label of the leaf of tree t that cell i reaches; unknown classes go left.

    Each split excludes the leaves on the other side; the remaining leaf is the cell's. So inner loops run over
    neighbouring cells, without a walk per cell.
    """
    block = 1024
    out = np.empty(block, np.uint64)
    for a in range(0, theta.size, block):
        b = min(a + block, theta.size)
        for t in range(weight.size):
            out[:] = 0
            for s in range(start[t], start[t + 1]):
                excluded_left, excluded_right = excluded[s, 0], excluded[s, 1]
                if which[s] < 0:
                    row, limit = x[var[s], a:b], threshold[s]
                    for i in range(b - a):
                        out[i] |= excluded_right if row[i] >= limit else excluded_left
                else:
                    places, group = codes[which[s], a:b], member[s]
                    for i in range(b - a):
                        out[i] |= excluded_right if group[places[i]] else excluded_left
            one, w, block_theta = ones[t], weight[t], theta[a:b]
            for i in range(b - a):
                block_theta[i] += w if (~out[i] & one) != 0 else 0.0
