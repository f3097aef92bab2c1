"""All families of a fit, as one oracle with one numbering of the features."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdm.errors import NoFeatureError
from sdm.features.classes import FeatureChoice
from sdm.features.diameter import Diameter, l2_diameter
from sdm.features.domain import Domain, Measure
from sdm.features.family import Family
from sdm.features.finite.knotted import HingeFamily, ThresholdFamily
from sdm.features.finite.product import ProductFamily
from sdm.features.finite.ridge import RidgeFamily
from sdm.features.finite.single import CategoryFamily, LinearFamily, QuadraticFamily
from sdm.features.knots import Knots, hinge_knots, threshold_knots
from sdm.features.terms import Terms
from sdm.types import Array


class FeatureSet:
    """Families in order; feature `j` of the set is feature `j − offsets[k]` of family `k`."""

    def __init__(self, domain: Domain, families: Sequence[Family]) -> None:
        self.domain = domain
        self.families = tuple(family for family in families if family.size)
        self.offsets = np.concatenate([[0], np.cumsum([f.size for f in self.families])]).astype(np.int64)

    @property
    def size(self) -> int:
        """Return the total number of features."""
        return int(self.offsets[-1])

    def split(self, vector: Array) -> list[Array]:
        """Return a vector over all features as one part per family."""
        return [vector[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:])]

    def letters(self) -> NDArray[np.str_]:
        """Return each feature's class letter."""
        return np.repeat([family.letter for family in self.families], np.diff(self.offsets))

    def groups(self) -> NDArray[np.int64]:
        """Return group numbers of near duplicates across families."""
        out, base = [], 0
        for family in self.families:
            out.append(base + family.groups)
            base = int(out[-1].max()) + 1
        return np.concatenate(out)

    def expectations(self, measure: Measure) -> Array:
        """Return `mass[f_j]` for every feature."""
        return _joined([family.expectations(measure) for family in self.families])

    def variances(self, measure: Measure) -> Array:
        """Return the variance of every feature under the measure scaled to a probability."""
        parts = [family.moments(measure) for family in self.families]
        mean = _joined([first for first, _ in parts]) / measure.total
        square = _joined([second for _, second in parts]) / measure.total
        return np.maximum(square - mean * mean, 0.0)

    @cached_property
    def diameter(self) -> Diameter:
        """Return the largest l2 distance between the features of two cells."""
        measure = self.domain.measure(self.domain.q0)
        return l2_diameter(self.column, self.size, self.expectations(measure), self.variances(measure))

    def scores(self, weights: Array) -> Array:
        """Return `(F weights)_i = Σ_j weights_j f_j(x_i)` at every cell, without columns of features."""
        table = np.zeros(self.domain.values.size)
        theta = np.zeros(self.domain.n)
        for family, part in zip(self.families, self.split(weights)):
            if np.any(part):
                family.add_scores(part, table, theta)
        return theta + self.domain.lookup(table)

    def column(self, j: int) -> Array:
        """Return feature `j` at every cell."""
        k = int(np.searchsorted(self.offsets, j, side="right")) - 1
        return self.families[k].column(int(j - self.offsets[k]))

    def terms(self) -> Terms:
        """Return all features in closed form, as in a model."""
        return Terms.concatenate([family.terms() for family in self.families])

    def subset(self, keep: NDArray[np.bool_]) -> "FeatureSet":
        """Return the set with only the features marked in `keep`."""
        parts = [keep[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:])]
        return FeatureSet(
            self.domain, [f if part.all() else f.subset(part) for f, part in zip(self.families, parts) if part.any()]
        )


def build_features(
    domain: Domain,
    classes: str,
    *,
    knots: Knots = "maxent",
    sample: Array,
    empty_categories: bool = False,
    ridges: Sequence[RidgeFamily] = (),
) -> FeatureSet:
    """Return the families of the given classes (as from `parse_classes`, possibly by variable) over a domain.

    Categorical variables get their categories with or without c. `sample` is the presences' mass on cells. Categories
    without presences are included with `empty_categories` (as in maxnet), or not (as in Java Maxent). Random features,
    `ridges`, come last.
    """
    choice = FeatureChoice.read(classes)
    choice.check(domain.names)
    classes = choice.classes
    plain = {"l": LinearFamily, "q": QuadraticFamily, "p": ProductFamily}
    families: list[Family] = [family(domain) for letter, family in plain.items() if letter in classes]
    if "h" in classes:
        places = hinge_knots(domain, knots)
        families += [HingeFamily(domain, places, "forward"), HingeFamily(domain, places, "reverse")]
    if "t" in classes:
        families.append(ThresholdFamily(domain, threshold_knots(domain, knots, sample)))
    category = CategoryFamily(domain)
    if not empty_categories:
        category = category.subset(category.expectations(domain.measure(sample)) > 0)
    families += [category, *ridges]
    features = FeatureSet(domain, families)
    if choice.names and features.size:
        features = features.subset(np.concatenate([_chosen(family, choice) for family in features.families]))
    if not features.size:
        raise NoFeatureError(f"there is no feature to fit: {_why_none(domain, classes + 'r' * bool(ridges))}")
    return features


def _chosen(family: Family, choice: FeatureChoice) -> NDArray[np.bool_]:
    """Return a mask of the features of a family that the choice includes; random features are for all variables."""
    if isinstance(family, RidgeFamily):
        return np.ones(family.size, dtype=bool)
    variables = family.domain.variables
    if isinstance(family, ProductFamily):
        pairs = zip(family.var, family.other)
        return np.array([choice.multiplies(variables[a], variables[b]) for a, b in pairs], dtype=bool)
    has = np.array([choice.has(family.letter, variable) for variable in variables], dtype=bool)
    return has[family.var]


def _why_none(domain: Domain, classes: str) -> str:
    """Return the reason why these classes have no feature."""
    if all(variable.values.size < 2 for variable in domain.variables):
        return "every variable is constant"
    reasons = {
        "t": "thresholds ('t') lie between the values at the presences, and every variable has a single value there",
        "p": "products ('p') need two variables that vary",
        "q": "squares ('q') are constant where a variable only changes its sign",
        "c": "categories ('c') need a categorical variable",
        "r": "random features ('relu') need a continuous variable that varies",
    }
    return f"{'; '.join(reasons[letter] for letter in classes if letter in reasons)}; add 'l' to the feature classes"


def _joined(parts: Sequence[Array]) -> Array:
    """Return one array from one per family, possibly empty."""
    return np.concatenate([np.empty(0), *parts])
