"""Convert a fit to the parts of its model (variables, features with weights), and a model to a start."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from sdm.data.encode import Encoder
from sdm.features.domain import Domain
from sdm.features.family import Family
from sdm.features.feature_set import FeatureSet
from sdm.features.finite.ridge import RidgeFamily
from sdm.features.growing.grown import GrownFamily
from sdm.features.growing.monomial import Monomial
from sdm.features.growing.tree import Tree
from sdm.features.ridges import Ridges
from sdm.features.shapes import Shapes
from sdm.features.terms import Terms
from sdm.models.interface import ModelVariable
from sdm.models.species import Model
from sdm.novelty.reference import VARIABLES, Reference, reference_rows
from sdm.types import Array


def model_variables(domain: Domain, encoder: Encoder) -> tuple[ModelVariable, ...]:
    """Return the variables of a domain, with their ranges and the names of their categories."""
    classes = [tuple(a.values.tolist()) if a.categorical else () for a in domain.variables]
    return tuple(
        ModelVariable(a.name, a.categorical, a.lo, a.hi, values, encoder.labels.get(a.name))
        for a, values in zip(domain.variables, classes)
    )


def constant_variables(domain: Domain, where: str) -> list[str]:
    """Return a note for every variable with a single value, which has no feature."""
    constant = [a for a in domain.variables if a.values.size < 2]
    return [f"variable '{a.name}' has one value ({a.lo:g}) {where}: dropped" for a in constant]


def training_reference(domain: Domain, masses: Sequence[Array]) -> Reference | None:
    """Return the environment of a domain with typical values for each of the `masses` on its cells (species or
    classes).

    The result is None if there are more variables than novelty maps support.
    """
    if len(domain.variables) > VARIABLES:
        return None
    categorical = tuple(a.categorical for a in domain.variables)
    rows = reference_rows(domain.codes, categorical)
    values = np.empty((len(rows), len(domain.variables)))
    for v, variable in enumerate(domain.variables):
        cells = domain.spread(v, variable.values)
        values[:, v] = cells if len(rows) == domain.n else cells[rows]
    return Reference(values, categorical, np.array([_typical(domain, mass) for mass in masses]))


def _typical(domain: Domain, mass: Array) -> list[float]:
    """Return the mean of every variable over a mass on the cells, or the category with most of it."""
    marginals = np.split(domain.measure(mass / mass.sum()).marginals, domain.start[1:-1])
    return [
        float(a.values[part.argmax()] if a.categorical else a.values @ part)
        for a, part in zip(domain.variables, marginals)
    ]


def feature_names(families: Sequence[Family], variables: Sequence[ModelVariable]) -> list[str]:
    """Return the name of every feature of the families, including features of weight zero."""
    names = [variable.name for variable in variables]
    labels = {v: named for v, a in enumerate(variables) if (named := a.names_by_code) is not None}
    out: list[str] = []
    for family in families:
        if isinstance(family, GrownFamily):
            for shape in family.shapes:
                one = Shapes((shape,)) if isinstance(shape, Tree) else Shapes(monomials=(cast(Monomial, shape),))
                out += one.names(names, labels)
        elif isinstance(family, RidgeFamily):
            out += family.ridges.names(names)
        else:
            out += family.terms().names(names, labels)
    return out


def used_features(families: Sequence[Family], coef: Array) -> tuple[Terms, Shapes, Array]:
    """Return the features with a weight in any row of `coef`, and their weights.

    Terms come first, then trees, monomials and ridges.
    """
    terms = [Terms.build(0, np.empty(0, dtype=np.int32))]
    ordinary: list[int] = []
    trees: list[int] = []
    monomials: list[int] = []
    drawn: list[int] = []
    ridges: list[Ridges] = []
    shapes: list[Any] = []
    used = np.any(coef != 0, axis=0)
    first = start = 0
    for family in families:
        members = np.flatnonzero(used[first : first + family.size])
        if isinstance(family, GrownFamily):
            shapes, start = family.shapes, first
            for j in members:
                (trees if isinstance(shapes[j], Tree) else monomials).append(first + int(j))
        elif isinstance(family, RidgeFamily):
            ridges.append(family.ridges.take(members))
            drawn += (first + members).tolist()
        elif members.size:
            terms.append(family.terms().take(members, np.zeros(members.size)))
            ordinary += (first + members).tolist()
        first += family.size
    grown, powers = (tuple(shapes[j - start] for j in kind) for kind in (trees, monomials))
    joint_shapes = Shapes(grown, np.zeros(len(grown)), powers, np.zeros(len(powers)), Ridges.concatenate(ridges))
    order = np.array([*ordinary, *trees, *monomials, *drawn], dtype=np.int64)
    return Terms.concatenate(terms), joint_shapes, coef[:, order]


def weighted_features(families: Sequence[Family], weights: Array) -> tuple[Terms, Shapes]:
    """Return the features with a nonzero weight, and their weights."""
    terms, shapes, (used,) = used_features(families, weights[None, :])
    ordinary, rest = np.split(used, [len(terms)])
    return replace(terms, weight=ordinary), shapes.with_weight(rest)


def carried_weights(earlier: Model, features: FeatureSet) -> Array:
    """Return start weights from an earlier model for the features that both share, rescaled to the new domain."""
    position = {a.name: v for v, a in enumerate(features.domain.variables)} | {None: -1}
    drawn = np.repeat([isinstance(f, RidgeFamily) for f in features.families], np.diff(features.offsets)).astype(bool)
    listed = [family.terms() for family in features.families if not isinstance(family, RidgeFamily)]
    terms = Terms.concatenate([Terms.build(0, np.empty(0, dtype=np.int64)), *listed])
    slopes = terms.slopes()
    start, plain = np.zeros(features.size), np.zeros(len(terms))
    old = earlier.terms
    for kind, v, other, knot, raw in zip(old.kind, old.var, old.other, old.knot, old.weight * old.slopes()):
        first, second = position.get(earlier.names[v]), position.get(earlier.names[other] if other >= 0 else None)
        same = (terms.kind == kind) & (terms.var == first) & (terms.other == second) & (terms.knot == knot)
        plain[same] = raw / slopes[same]
    start[~drawn] = plain
    ridges = Ridges.concatenate([family.ridges for family in features.families if isinstance(family, RidgeFamily)])
    if earlier.names == tuple(a.name for a in features.domain.variables):
        start[drawn] = _carried_ridges(earlier.shapes.ridges, ridges)
    return start


def _carried_ridges(old: Ridges, ridges: Ridges) -> Array:
    """Return the weights of ridges with the same direction, rescaled from one range to the other."""
    slope_of = {(a.tobytes(), b): raw for a, b, raw in zip(old.directions, old.bend, old.weight * old.slopes)}
    raw = [slope_of.get((a.tobytes(), b), 0.0) for a, b in zip(ridges.directions, ridges.bend)]
    return np.array(raw) / ridges.slopes
