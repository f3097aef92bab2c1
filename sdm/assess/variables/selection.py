"""Drop variables: the less important ones of correlated pairs, and linear combinations of others."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from sdm.assess.assessor import Assessor
from sdm.assess.fits import run_all
from sdm.assess.splits.folds import Divisible
from sdm.assess.variables.correlation import Collinearity, inflation_factors
from sdm.errors import TooFewError
from sdm.estimators.params import Parameters
from sdm.types import Progress

EQUAL = 1e-9  # relative difference below which two numbers are ties, which the order of the variables breaks


@dataclass(frozen=True)
class Dropped:
    """A dropped variable and the reason."""

    variable: str
    by: str  # "correlation", "vif" or "reduction"
    value: float  # the correlation, the variance inflation factor, or the importance
    other: str = ""  # the correlated variable that is kept

    @property
    def reason(self) -> str:
        """Return the reason in a few words."""
        if self.by == "correlation":
            return f"r = {self.value:.2f} with {self.other}"
        if self.by == "vif":
            return "VIF infinite: a sum of others" if np.isinf(self.value) else f"VIF {self.value:.3g}"
        return f"importance {self.value:.3g} nats"


def drop_correlated(
    measured: Collinearity, limit: float, gains: Callable[[Sequence[str]], Mapping[str, float]]
) -> tuple[list[Dropped], dict[str, float]]:
    """Keep the most important variable, drop all variables correlated with it above `limit`, and repeat.

    In the result no two kept variables have |r| above the limit. Every dropped variable is correlated with a more
    important kept one. `gains` returns the importance of variables (larger is more important). It is called once, for
    the variables that are correlated with another. For ties, the first variable is kept.

    Returns
    -------
    The dropped variables, in the order of the variables, and the gains that were computed.
    """
    r = np.abs(measured.pearson)
    related = [k for k in range(len(r)) if np.count_nonzero(r[k] > limit) > 1]  # the diagonal counts as one
    if not related:
        return [], {}
    values = dict(gains([measured.names[k] for k in related]))
    order = _ranked([values[measured.names[k]] for k in related])
    chosen: list[int] = []
    out: dict[int, Dropped] = {}
    for k in (related[place] for place in order):
        rivals = [u for u in chosen if r[k, u] > limit]
        if rivals:
            best = max(rivals, key=lambda u: (r[k, u], -u))
            out[k] = Dropped(measured.names[k], "correlation", float(measured.pearson[k, best]), measured.names[best])
        else:
            chosen.append(k)
    return [out[k] for k in sorted(out)], values


def _ranked(values: Sequence[float]) -> list[int]:
    """Return positions by falling value; ties up to rounding keep their order."""
    return sorted(range(len(values)), key=lambda k: -round(values[k], ndigits=9))


def drop_inflated(measured: Collinearity, limit: float, names: Sequence[str] | None = None) -> list[Dropped]:
    """Repeatedly drop the variable with the largest variance inflation factor, until none exceeds `limit`.

    `names` are the candidate variables, all by default. For ties, the last variable is dropped.
    """
    rest = [k for k, name in enumerate(measured.names) if names is None or name in names]
    if rest and measured.n <= len(rest):
        raise TooFewError(f"{measured.n:,} points are too few for the VIF of {len(rest)} variables: expected more")
    out = []
    while len(rest) > 1:
        factors = inflation_factors(measured.pearson[np.ix_(rest, rest)])
        largest = float(factors.max())
        if not largest > limit:
            break
        equal = [k for k, value in enumerate(factors) if value == largest or value >= largest * (1 - EQUAL)]
        gone = rest.pop(equal[-1])
        out.append(Dropped(measured.names[gone], "vif", largest))
    return out


def single_gains(
    table: Divisible,
    estimator: Parameters,
    names: Sequence[str],
    assessor: Assessor,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> dict[str, float]:
    """Return the training gain, in nats, of a model with each of the named (non-constant) variables alone."""
    jobs = [(table, estimator, assessor, table.names.index(name)) for name in names]
    return dict(zip(names, run_all(_single_gain, jobs, executor, progress, "single variables")))


def _single_gain(table: Divisible, estimator: Parameters, assessor: Assessor, column: int) -> float:
    return assessor.gains(assessor.fit(table, estimator, [column]), table, None, [column])[0][0]
