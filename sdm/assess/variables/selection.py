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

EQUAL = 1e-9  # relative difference below which two numbers are equal, and the order of the variables decides


@dataclass(frozen=True)
class Dropped:
    """A dropped variable and the reason."""

    variable: str
    by: str  # "correlation", "vif" or "reduction"
    value: float  # the correlation, the variance inflation factor, or the importance
    other: str = ""  # the variable that is kept in its place

    @property
    def reason(self) -> str:
        """Return the reason in a few words."""
        if self.by == "correlation":
            return f"r = {self.value:.2f} with {self.other}"
        if self.by == "vif":
            return "VIF infinite: a sum of others" if np.isinf(self.value) else f"VIF {self.value:.3g}"
        return f"importance {self.value:.3g} nats"


def drop_correlated(
    found: Collinearity, limit: float, gains: Callable[[Sequence[str]], Mapping[str, float]]
) -> tuple[list[Dropped], dict[str, float]]:
    """Keep the most important variable, leave out all that are correlated with it above a limit, and so on.

    In the end no two variables that are kept have |r| above the limit, and each that is left out has, with a more
    important one that is kept. `gains` tells how important some variables are (larger is more); it is asked once, for
    variables that are correlated with any other. Of equals the first in the order of the variables is kept.

    Returns
    -------
    What is left out, in the order of the variables, and the gains that were needed.
    """
    r = np.abs(found.pearson)
    related = [k for k in range(len(r)) if np.count_nonzero(r[k] > limit) > 1]  # beside itself
    if not related:
        return [], {}
    known = dict(gains([found.names[k] for k in related]))
    order = _ranked([known[found.names[k]] for k in related])
    kept: list[int] = []
    out: dict[int, Dropped] = {}
    for k in (related[place] for place in order):
        rivals = [u for u in kept if r[k, u] > limit]
        if rivals:
            best = max(rivals, key=lambda u: (r[k, u], -u))
            out[k] = Dropped(found.names[k], "correlation", float(found.pearson[k, best]), found.names[best])
        else:
            kept.append(k)
    return [out[k] for k in sorted(out)], known


def _ranked(values: Sequence[float]) -> list[int]:
    """Return positions by falling value; ties up to rounding keep their order."""
    return sorted(range(len(values)), key=lambda k: -round(values[k], ndigits=9))


def drop_inflated(found: Collinearity, limit: float, names: Sequence[str] | None = None) -> list[Dropped]:
    """Leave out the variable with the largest variance inflation factor, again and again, until none exceeds a limit.

    `names` are the variables to look at, all by default. Of equals the last in the order of the variables is left out.
    """
    left = [k for k, name in enumerate(found.names) if names is None or name in names]
    if left and found.n <= len(left):
        raise TooFewError(f"{found.n:,} points are too few for the VIF of {len(left)} variables: expected more")
    out = []
    while len(left) > 1:
        factors = inflation_factors(found.pearson[np.ix_(left, left)])
        largest = float(factors.max())
        if not largest > limit:
            break
        equal = [k for k, value in enumerate(factors) if value == largest or value >= largest * (1 - EQUAL)]
        gone = left.pop(equal[-1])
        out.append(Dropped(found.names[gone], "vif", largest))
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
