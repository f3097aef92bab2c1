"""Intercepts of the classes: the weights of the constant feature, without a penalty (`ClassProblem`).

At the optimal intercepts every class has the total probability of its targets.
"""

from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sdm.errors import DataError
from sdm.features.domain import Domain, Measure
from sdm.features.family import Family
from sdm.features.terms import Terms
from sdm.maxent.entropy import ClassEntropy
from sdm.types import Array

FREE_PENALTY = 1e-15  # for solvers that need a positive penalty; below rounding, and not counted
STEPS = 500  # limit; a few steps are enough from the intercepts of similar weights
SHARES = (1.0, 0.5, 0.1, 0.0)  # shares of Newton's step; 0 stands for bisection
NEAR = 1e-11  # totals within this are correct up to rounding, or after one more Newton step
HALVINGS = 40  # halvings of a bracket around one intercept, before Newton's method continues


class ConstantFamily(Family):
    """One feature with the value one everywhere."""

    letter = "1"

    def __init__(self, domain: Domain, size: int = 1) -> None:
        self.domain = domain
        self.var = np.full(size, -1, dtype=np.int64)

    @property
    def groups(self) -> NDArray[np.int64]:
        """Return the index of the feature as its group."""
        return np.arange(self.size)

    def moments(self, measure: Measure) -> tuple[Array, Array]:
        """Return the total mass."""
        mass = np.full(self.size, measure.total)
        return mass, mass.copy()

    def column(self, j: int) -> Array:
        """Return ones."""
        return np.ones(self.domain.n)

    def add_scores(self, weights: Array, table: Array, theta: Array) -> None:
        """Add the weight to all scores."""
        theta += weights.sum()

    def terms(self) -> Terms:
        """Refuse: the model has intercepts instead."""
        raise DataError("the constant feature is kept as intercepts, not as terms")

    def subset(self, keep: NDArray[np.bool_]) -> Self:
        """Return the family, with or without its feature."""
        return type(self)(self.domain, int(keep.sum()))


def best_intercepts(theta: Array, q: Array, totals: Array, entropy: ClassEntropy) -> tuple[Array, Array, Array]:
    """Minimise `Σ_i q_i Ω*(θ_i + b) − ⟨b, totals⟩`; the gradient is the classes' totals minus `totals`.

    The method is Newton's. With almost no curvature (all sites are certain, or an entropy above 1 gives a class zero
    probability) the value may not decrease along its step. Then the intercept with the largest error in its total is
    set by bisection. Only differences of intercepts matter.

    `theta` is `(C, n)`, and the positive `totals` have the sum of `q`. Return the intercepts (exact to rounding), the
    distributions `(C, n)` and `Ω*(θ_i + b)`.
    """

    def evaluate(b: Array) -> tuple[float, Array, Array, Array, Array]:
        p, conjugate = entropy.distributions(theta + b[:, None])
        return float(q @ conjugate) - float(b @ totals), p @ q - totals, b, p, conjugate

    point = evaluate(np.zeros(totals.size))
    for _ in range(STEPS):
        value, error, b, p, _ = point
        worst, rounding = np.abs(error).max(), 1e-14 * (1.0 + abs(value))
        if worst <= 1e-15:
            break
        newton = _newton_step(entropy.bends(p), q, error)
        for share in SHARES if worst > NEAR else SHARES[:1]:
            trial = evaluate(b + share * newton if share else _bisected(lambda b: evaluate(b)[1], b, error))
            if trial[0] < value - rounding or (trial[0] <= value + rounding and np.abs(trial[1]).max() < worst):
                point = trial
                break
        else:
            break
    return point[2:]


def _newton_step(w: Array, q: Array, error: Array) -> Array:
    """Return the shortest Newton step towards the totals, for curvatures `w` of classes at sites."""
    total = w.sum(axis=0)
    if len(w) == 2:  # the matrix is [1, −1; −1, 1] times a number: faster than a solver
        bend = float(q @ (w[0] * w[1] / total))
        # otherwise the step is unbounded
        step = 0.25 * (error[1] - error[0]) / bend if bend > np.finfo(np.float64).tiny else 0.0
        return np.array([step, -step])
    bend_matrix = np.diag(w @ q) - (w * (q / total)) @ w.T
    return np.asarray(np.linalg.lstsq(bend_matrix, -error, rcond=1e-13)[0])


def _bisected(error: Callable[[Array], Array], b: Array, excess: Array) -> Array:
    """Return intercepts with one of them moved to the zero of its error."""
    c = int(np.argmax(np.abs(excess)))
    unit = -np.sign(excess[c]) * np.eye(b.size)[c]
    low, high = 0.0, 1.0
    while np.sign(error(b + high * unit)[c]) == np.sign(excess[c]):
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if np.sign(error(b + middle * unit)[c]) == np.sign(excess[c]):
            low = middle
        else:
            high = middle
    return np.asarray(b + high * unit)
