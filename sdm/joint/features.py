"""Site features `f(x)` of a joint model: standardised terms of standardised variables, and a bias.

Squares and products are computed from standardised variables. Squares of raw variables far from zero are almost copies
of the variables, and a penalty on squared weights would almost exclude curvature.
"""

from dataclasses import dataclass, replace

import numpy as np

from sdm.data.encode import Encoder
from sdm.errors import NoFeatureError
from sdm.features.classes import parse_classes
from sdm.features.domain import Domain
from sdm.features.feature_set import build_features
from sdm.features.knots import Knots
from sdm.features.terms import CATEGORY, LINEAR, QUADRATIC, Terms
from sdm.types import Array


@dataclass(frozen=True)
class SiteFeatures:
    """The transformation of raw values to `f(x)`: V variables are clamped and standardised, and J terms are
    standardised."""

    terms: Terms  # of standardised variables
    lo: Array  # (V,): range over the sites, for clamping (infinite for categorical variables)
    hi: Array  # (V,)
    centre: Array  # (V,): subtracted from every variable (0 for categorical ones)
    width: Array  # (V,): its divisor (1 for categorical ones)
    mean: Array  # (J,): mean of every term over the sites
    spread: Array  # (J,)

    @classmethod
    def learn(cls, x: Array, encoder: Encoder, features: str, knots: Knots) -> "SiteFeatures":
        """Build the families over the sites, without constant terms and without squares of variables with two
        values."""
        if (x == x[:1]).all():
            raise NoFeatureError(f"every variable is constant over the sites: {', '.join(encoder.names)}")
        letters = parse_classes(features, x.shape[0])
        coded = np.isin(encoder.names, encoder.categorical)
        lo, hi = np.where(coded, -np.inf, x.min(axis=0)), np.where(coded, np.inf, x.max(axis=0))
        centre, width = np.where(coded, 0.0, x.mean(axis=0)), np.where(coded, 1.0, x.std(axis=0))
        width = np.where(width > 0, width, 1.0)
        z = (x - centre) / width
        domain = Domain(z, encoder.names, encoder.categorical)
        terms = build_features(domain, letters, knots=knots, sample=domain.q0, empty_categories=True).terms()
        values = terms.evaluate(z)
        mean, spread = values.mean(axis=0), values.std(axis=0)
        two = np.array([variable.values.size == 2 for variable in domain.variables])
        copy = (terms.kind == QUADRATIC) & two[terms.var] & np.isin(terms.var, terms.var[terms.kind == LINEAR])
        used = np.flatnonzero((spread > 1e-9) & ~copy)
        return cls(terms.take(used, np.zeros(used.size)), lo, hi, centre, width, mean[used], spread[used])

    @property
    def size(self) -> int:
        """Return the length of `f(x)`, including the bias."""
        return len(self.terms) + 1

    def evaluate(self, x: Array, clamp: bool = True) -> Array:
        """Return `f(x)` as an `(n, K)` array: standardised terms, then the bias, which is one."""
        clamped = np.clip(x, self.lo, self.hi) if clamp else x
        out = np.ones((x.shape[0], self.size))
        out[:, :-1] = (self.terms.evaluate((clamped - self.centre) / self.width) - self.mean) / self.spread
        return out

    def raw_terms(self) -> Terms:
        """Return the terms with knots in the units of the variables, for readable names."""
        knot = self.centre[self.terms.var] + self.width[self.terms.var] * self.terms.knot
        return replace(self.terms, knot=np.where(self.terms.kind == CATEGORY, self.terms.knot, knot))
