"""Weights of ordinary and grown features over classes: penalties before a fit, and the features kept after it."""

from dataclasses import replace
from typing import Any

import numpy as np

from sdm.features.feature_set import FeatureSet
from sdm.features.growing.grown import GrownFamily
from sdm.features.growing.tree import Tree
from sdm.features.shapes import Shapes
from sdm.features.terms import Terms
from sdm.maxent.solution import Solution
from sdm.types import Array


def multiplied(finite: FeatureSet, beta: Array, multiplier: float) -> tuple[FeatureSet, Array]:
    """Return the features and their penalties at a multiplier; at infinity the constant is left."""
    if np.isinf(multiplier):
        return FeatureSet(finite.domain, finite.families[:1]), beta[:, :1]
    return finite, np.hstack([beta[:, :1], multiplier * beta[:, 1:]])


def halved(solution: Solution, classes: int) -> Solution:
    """With two classes, give each half of their difference: the same predictions, at no higher penalty."""
    if classes != 2:
        return solution
    first, second = solution.weights.reshape(2, -1)
    half = 0.5 * (second - first)
    return replace(solution, weights=np.concatenate([-half, half]))


def used_features(features: FeatureSet, coef: Array) -> tuple[Terms, Shapes, Array]:
    """Return the features with a weight in any class, and the weights in the order of terms, trees and monomials."""
    terms = [Terms.build(0, np.empty(0, dtype=np.int32))]
    ordinary: list[int] = []
    trees: list[int] = []
    monomials: list[int] = []
    shapes: list[Any] = []
    used = np.any(coef != 0, axis=0)
    first = start = 0
    for family in features.families[1:]:
        members = np.flatnonzero(used[first : first + family.size])
        if isinstance(family, GrownFamily):
            shapes = family.shapes
            for j in members:
                (trees if isinstance(shapes[j], Tree) else monomials).append(first + int(j))
            start = first
        elif members.size:
            terms.append(family.terms().take(members, np.zeros(members.size)))
            ordinary += (first + members).tolist()
        first += family.size
    kept = Shapes(
        tuple(shapes[j - start] for j in trees),
        np.zeros(len(trees)),
        tuple(shapes[j - start] for j in monomials),
        np.zeros(len(monomials)),
    )
    return Terms.concatenate(terms), kept, coef[:, np.array([*ordinary, *trees, *monomials], dtype=np.int64)]
