"""Thresholds that turn a prediction into presence and absence, by the definitions of Java Maxent.

With raw values at the presences and over the domain, a threshold has an *omission* (share of presences below it) and a
predicted *area* (share of the domain at or above it). For a model of presence and absence, the values are probabilities
and the domain is the absences. The area is then the false positive rate.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sdm.assess.measures.basic import binomial_tail, column_rows
from sdm.errors import OptionError
from sdm.types import Array

FIXED = (1.0, 5.0, 10.0)
# Names on the command line, and names in maxentResults.csv.
NAMES = {
    **{f"fixed{value:g}": f"Fixed cumulative value {value:g}" for value in FIXED},
    "mtp": "Minimum training presence",
    "10p": "10 percentile training presence",
    "equal": "Equal training sensitivity and specificity",
    "maxsss": "Maximum training sensitivity plus specificity",
    "balance": "Balance training omission, predicted area and threshold value",
    "entropy": "Equate entropy of thresholded and original distributions",
}
# Thresholds that need test records.
TEST_NAMES = {
    "equal_test": "Equal test sensitivity and specificity",
    "maxsss_test": "Maximum test sensitivity plus specificity",
}
TOPS = {"cloglog": 1.0, "logistic": 1.0, "cumulative": 100.0, "probability": 1.0}
"""The largest value of a scale that has one."""
_JAVAS_ORDER = [
    *(f"fixed{value:g}" for value in FIXED), "mtp", "10p", "equal", "maxsss", "equal_test", "maxsss_test", "balance",
    "entropy",
]  # fmt: skip


@dataclass(frozen=True)
class Threshold:
    """One threshold on the raw scale with its omission and area; values that need test records are NaN without them.

    `binomial` is the probability that a random prediction of the same area includes at least as many test records. It
    is one-sided as in Java Maxent, but exact (Java uses the normal approximation above 25 records). For probabilities
    of presence, `raw` and `cloglog` are the probability, and `cumulative` is NaN.
    """

    key: str
    name: str
    raw: float
    cumulative: float
    area: float
    training_omission: float
    test_omission: float
    cloglog: float
    binomial: float


class Curve:
    """Omission and area as functions of the threshold.

    Arguments are raw values at the training presences, over the domain that includes them, and at test presences. For a
    model of presence and absence they are probabilities at presences and absences. `cumulative` turns raw values into
    percent; None for probabilities.
    """

    def __init__(
        self, presence: Array, domain: Array, cumulative: Callable[[Array], Array] | None, test: Array | None = None
    ) -> None:
        self.presence, self.domain = np.sort(presence), np.sort(domain)
        self.test = None if test is None else np.sort(test)
        self.cumulative = cumulative
        self.raw = np.unique(np.concatenate([presence, domain]))
        self.omission, self.area = self.at(self.raw)

    def at(self, raw: Array) -> tuple[Array, Array]:
        """Return the omission and the area at thresholds."""
        return _below(self.presence, raw), 1.0 - _below(self.domain, raw)

    def table(self, steps: int = 101) -> list[dict[str, float]]:
        """Return omission and area against the cumulative threshold, from 0 to 100 percent."""
        if self.cumulative is None:
            raise OptionError("probabilities of presence have no cumulative values: use their sweep")
        levels = np.linspace(0.0, 100.0, steps)
        raw = np.interp(levels, self.cumulative(self.raw), self.raw)
        return self._rows({"Cumulative threshold": levels, "Raw threshold": raw}, raw, lambda values: values)

    def sweep(
        self, scale: Callable[[Array], Array], top: float | None = None, steps: int = 201
    ) -> list[dict[str, float]]:
        """Return area and omission at enough thresholds to draw the ROC curve and to look up a threshold of the map.

        Thresholds are on `scale`, an increasing function of raw values. They have equal steps from 0 to `top` (default:
        the largest value of the domain), and equal steps in area.
        """
        domain = scale(self.domain)
        places = np.linspace(0, domain.size - 1, steps).round().astype(np.intp)
        levels = np.union1d(np.linspace(0.0, float(domain[-1]) if top is None else top, steps), domain[places])
        return self._rows({"Threshold": levels}, levels, scale)

    def _rows(self, head: dict[str, Array], levels: Array, scale: Callable[[Array], Array]) -> list[dict[str, float]]:
        """Return area and omission at levels of a scale, after some columns."""
        columns = head | {"Fractional area": 1.0 - _below(scale(self.domain), levels)}
        columns["Training omission"] = _below(scale(self.presence), levels)
        if self.test is not None:
            columns["Test omission"] = _below(scale(self.test), levels)
        return column_rows(columns)

    def thresholds(self, entropy: float | None = None) -> list[Threshold]:
        """Return Java Maxent's thresholds, in its order; `entropy` is the entropy of the fitted distribution, in nats.

        Thresholds that need test records are included if there are any. Probabilities have only the thresholds that
        depend on presences and absences alone: mtp, 10p, equal and maxsss.
        """
        raws = {"mtp": float(self.presence[0]), "10p": float(self.presence[int(0.1 * self.presence.size)])}
        raws["equal"] = self._best(-np.abs(self.omission - self.area))
        raws["maxsss"] = self._best(-self.omission - self.area)
        if self.cumulative is not None and entropy is not None:
            cumulative = self.cumulative(self.raw)
            raws |= {f"fixed{c:g}": float(np.interp(c, cumulative, self.raw)) for c in FIXED}
            raws["balance"] = self._best(-(6 * self.omission + 0.04 * cumulative + 1.6 * self.area))
            share = np.exp(entropy) / self.domain.size
            raws["entropy"] = self._best(np.where(self.area <= share * (1 + 1e-9), self.area, -1.0))
            if self.test is not None:
                raws |= self._by_test(self.test)
        return [self._threshold(key, raws[key], entropy) for key in _JAVAS_ORDER if key in raws]

    def _by_test(self, test: Array) -> dict[str, float]:
        """Return the thresholds that test records set, among the values of training and test."""
        levels = np.union1d(self.raw, test)
        missed = _below(test, levels)
        area = self.at(levels)[1]
        equal, most = np.argmin(np.abs(missed - area)), np.argmin(missed + area)
        return {"equal_test": float(levels[equal]), "maxsss_test": float(levels[most])}

    def _best(self, score: Array) -> float:
        return float(self.raw[int(np.argmax(score))])

    def _threshold(self, key: str, raw: float, entropy: float | None) -> Threshold:
        omission, area = self.at(np.array([raw]))
        test = binomial = float("nan")
        if self.test is not None:
            missed = int(np.searchsorted(self.test, raw, side="left"))
            test = missed / self.test.size
            binomial = binomial_tail(self.test.size - missed, self.test.size, float(area[0]))
        percent = float("nan") if self.cumulative is None else float(self.cumulative(np.array([raw]))[0])
        cloglog = raw if entropy is None else float(-np.expm1(-raw * np.exp(entropy)))
        name = (NAMES | TEST_NAMES)[key]
        return Threshold(key, name, raw, percent, float(area[0]), float(omission[0]), test, cloglog, binomial)


def _below(ordered: Array, values: Array) -> Array:
    """Return the share of sorted numbers below each value."""
    return np.searchsorted(ordered, values, side="left") / ordered.size
