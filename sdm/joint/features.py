"""Site features `f(x)` of a joint model: the ordinary families, each standardised over the sites, and a bias."""

from dataclasses import dataclass

import numpy as np

from sdm.encode import Encoder
from sdm.errors import DataError
from sdm.features.classes import parse_classes
from sdm.features.domain import Array, Domain
from sdm.features.feature_set import build_features
from sdm.features.knots import Knots
from sdm.features.terms import Terms


@dataclass(frozen=True)
class SiteFeatures:
    """How raw values become `f(x)`.

    Attributes
    ----------
    terms : Terms
    lo, hi : (V,) arrays
        Range of each variable over the sites, at which predictions are clamped (infinite for categorical ones).
    mean, spread : (J,) arrays
        Of every term over the sites.
    """

    terms: Terms
    lo: Array
    hi: Array
    mean: Array
    spread: Array

    @classmethod
    def learn(cls, x: Array, encoder: Encoder, features: str, knots: Knots) -> "SiteFeatures":
        """Make the families of the given classes over the sites; terms that are constant there are left out."""
        if (x == x[:1]).all():
            raise DataError(
                f"every variable is constant over the sites ({', '.join(encoder.names)}): add one that differs"
            )
        domain = Domain(x, encoder.names, encoder.categorical)
        classes = parse_classes(features, x.shape[0])
        built = build_features(domain, classes, knots=knots, sample=domain.q0, empty_categories=True)
        terms = built.terms()
        lo = np.array([-np.inf if a.categorical else a.lo for a in domain.variables])
        hi = np.array([np.inf if a.categorical else a.hi for a in domain.variables])
        values = terms.evaluate(x)
        mean, spread = values.mean(axis=0), values.std(axis=0)
        used = np.flatnonzero(spread > 1e-9)
        return cls(terms.take(used, np.zeros(used.size)), lo, hi, mean[used], spread[used])

    @property
    def size(self) -> int:
        """Length of `f(x)`, the bias included."""
        return len(self.terms) + 1

    def evaluate(self, x: Array, clamp: bool = True) -> Array:
        """Return `f(x)` as an `(n, 1, K)` array: standardised terms, then the bias, which is one."""
        held = np.clip(x, self.lo, self.hi) if clamp else x
        out = np.ones((x.shape[0], 1, self.size))
        out[:, 0, :-1] = (self.terms.evaluate(held) - self.mean) / self.spread
        return out
