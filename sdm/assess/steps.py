"""Percent contribution as in Java Maxent: every step of its algorithm is credited to the feature that it changed.

The algorithm changes one weight at a time, with the largest expected decrease of the loss (Dudík, Phillips & Schapire
2007, Fig. 3). Early steps are small: a fiftieth in the first ten rounds, a tenth up to round 20, a third up to round
50. Every 30th round changes all weights in their direction since the last such round. The fit itself does not use this
algorithm. Its steps are only followed to divide the gain as Java Maxent does.
"""

import numpy as np
from numpy.typing import NDArray

from sdm.assess.importance import Contribution, used_variables
from sdm.data.place import variable_groups
from sdm.errors import ConflictError
from sdm.maxent.penalty import CODE_L1
from sdm.maxent.problem import Problem
from sdm.maxent.solvers.coordinate import SELECTIVE, best_changes
from sdm.types import Array

ROUNDS = 500
_TOGETHER = 30  # rounds from one step of all weights to the next
_LOOK = 20  # rounds after which the gain is compared
_SMALL = ((10, 50.0), (20, 10.0), (50, 3.0))  # last round, and the divisor of its steps
_NOTHING = 1e-6


def contribution_by_steps(problem: Problem, rounds: int = ROUNDS, tolerance: float = 1e-5) -> list[Contribution]:
    """Divide the training gain among the variables by the steps of Java Maxent's algorithm.

    Parameters
    ----------
    problem : Problem
        A problem with Shannon's entropy and an l1 penalty.
    rounds : int
        Maximum number of steps, as Java Maxent's `maximumiterations`.
    tolerance : float
        Stop when 20 rounds gain less than this, in nats.

    Raises
    ------
    OptionError
        If the entropy or the penalty is another one.
    """
    if problem.entropy.alpha != 1.0 or problem.penalty.code != CODE_L1:
        raise ConflictError("test.contribution=steps needs Shannon's entropy and an l1 penalty: use shares")
    walk, before = Walk(problem), np.inf
    for k in range(rounds):
        if k and k % _TOGETHER == 0:
            walk.step_together()
        elif not walk.step_alone(next((part for last, part in _SMALL if k < last), 1.0)):
            break
        if k % _LOOK == 0:
            if before - walk.loss < tolerance:
                break
            before = walk.loss
    groups = variable_groups([variable.name for variable in problem.domain.variables])
    each = _by_variable(problem, walk.credit)
    gains = [float(each[columns].sum()) for columns in groups.values()]
    scale = 100.0 / sum(gains) if sum(gains) > 0 else 0.0
    return [Contribution(name, gain * scale, gain) for name, gain in zip(groups, gains)]


class Walk:
    """State of the algorithm: weights, scores, distribution and the credit of each feature."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.columns = problem, dict[int, Array]()
        size = problem.features.size
        self.beta = np.broadcast_to(problem.penalty.beta, (size,))
        self.lam, self.credit = np.zeros(size), np.zeros(size)
        self.lam_then, self.credit_then = np.zeros(size), np.zeros(size)
        self.theta = np.zeros(self.problem.domain.n)
        self.best, self.promise = np.empty(size), np.empty(size)
        letters = self.problem.features.letters()
        self.binary: NDArray[np.bool_] = (letters == "c") | (letters == "t")
        self._move(self.lam, self.theta)

    def step_alone(self, part: float) -> bool:
        """Change the weight with the largest expected decrease by a part of its best change; return False if there is
        none."""
        penalty = self.problem.penalty
        cost = penalty.code, self.beta, penalty.ridge, penalty.smoothing
        best_changes(SELECTIVE, self.q, self.problem.mu, self.lam, *cost, self.best, self.promise)
        j = int(np.argmax(self.promise))
        if self.promise[j] <= 0:
            return False
        f, change = self._column(j), float(self.best[j])
        if not self.binary[j]:
            newton = self._newton(j, f) / part
            change = newton if self._change(j, f, newton) <= -self.promise[j] else self._search(j, f, change) / part
        else:
            change /= part
        before, undone = self.loss, change * self.lam[j] < 0
        lam = self.lam.copy()
        lam[j] += change
        self._move(lam, self.theta + change * f)
        gained = before - self.loss
        self.credit[j] = max(self.credit[j] - gained, 0.0) if undone else self.credit[j] + gained
        return True

    def step_together(self) -> None:
        """Continue in the direction of the rounds since the last such step; divide the gain in proportion to theirs."""
        moved = np.where(self.binary | (self.lam == 0), 0.0, self.lam - self.lam_then)
        part = np.maximum(self.credit - self.credit_then, 0.0)
        self.lam_then, self.credit_then = self.lam.copy(), self.credit.copy()
        used = np.flatnonzero(moved)
        scores = sum((moved[j] * self._column(int(j)) for j in used), np.zeros_like(self.theta))
        bend = float(self.p @ scores**2 - (self.p @ scores) ** 2)
        if bend < _NOTHING**2:
            return
        slope = self.q - self.problem.mu + np.sign(self.lam) * self.beta
        step = -float(slope @ moved) / bend
        for j in used:
            if (step * moved[j] + self.lam[j]) * self.lam[j] < 0:
                step = -self.lam[j] / moved[j]
        previous = self.lam, self.theta, self.loss
        lam = self.lam + step * moved
        lam[(np.abs(lam) < _NOTHING) & (moved != 0)] = 0.0
        changes = lam - self.lam
        self._move(lam, self.theta + sum((changes[j] * self._column(int(j)) for j in used), np.zeros_like(self.theta)))
        if self.loss > previous[2]:
            self._move(*previous[:2])
        elif part[used].sum() > 0:
            self.credit[used] += (previous[2] - self.loss) * part[used] / part[used].sum()

    def _move(self, lam: Array, theta: Array) -> None:
        """Set the weights and their scores, and update the derived values."""
        top = float(theta.max())
        weight = self.problem.q0 * np.exp(theta - top)
        total = float(weight.sum())
        self.lam, self.theta, self.p = lam, theta, weight / total
        self.loss = np.log(total) + top - float(lam @ self.problem.mu) + float(self.beta @ np.abs(lam))
        self.q = self.problem.expectations(self.p)

    def _column(self, j: int) -> Array:
        if j not in self.columns:
            self.columns[j] = self.problem.features.column(j)
        return self.columns[j]

    def _change(self, j: int, f: Array, change: float) -> float:
        """Return the change of the loss for a change of one weight."""
        with np.errstate(over="ignore"):
            normaliser = np.log(self.p @ np.exp(change * f))
        penalty = self.beta[j] * (abs(self.lam[j] + change) - abs(self.lam[j]))
        return float(normaliser - change * self.problem.mu[j] + penalty)

    def _newton(self, j: int, f: Array) -> float:
        """Return the Newton step of one weight, limited so that the weight does not change sign."""
        slope = self.q[j] - self.problem.mu[j]
        slope += self.beta[j] * (np.sign(self.lam[j]) or -np.sign(slope))
        bend = float(self.p @ f**2) - float(self.q[j]) ** 2
        step = -slope / bend if bend >= _NOTHING**2 else 0.0
        return float(-self.lam[j] if (step + self.lam[j]) * self.lam[j] < 0 else step)

    def _search(self, j: int, f: Array, change: float) -> float:
        """Return a longer change while the loss decreases: by factors of four, then once by two."""
        loss = self._change(j, f, change)
        for factor in (4.0, 2.0):
            while (tried := self._change(j, f, factor * change)) < loss:
                loss, change = tried, factor * change
                if factor == 2.0:
                    break
        return change


def _by_variable(problem: Problem, credit: Array) -> Array:
    """Return the credit of every variable; a product is divided between its two variables."""
    out = np.zeros(len(problem.domain.variables))
    for family, first in zip(problem.features.families, problem.features.offsets):
        for j in np.flatnonzero(credit[first : first + family.size]):
            used = used_variables(family, int(j))
            out[used] += credit[first + j] / len(used)
    return out
