"""The line search and the record of a run, shared by all solvers."""

import time

import numpy as np

from sdm.maxent.problem import Problem, State
from sdm.maxent.solution import Round, Solution
from sdm.maxent.solvers.descent import backtrack
from sdm.types import Array

ROUNDING = 1e-14  # objectives are of about unit size: changes below this are rounding errors
SLACK = 1e-13  # largest rounding error of an objective over a million cells


class SolverRun:
    """The rounds of a solver, its best state, and the best lower bound on the optimum.

    Each round implies `min F ≥ F(λ) − gap`. The largest of these bounds holds for every state, so the certified gap of
    the best state is its objective minus that bound.
    """

    def __init__(self, problem: Problem, tolerance: float) -> None:
        self.problem = problem
        self.tolerance = tolerance
        self.history: list[Round] = []
        self.best: State | None = None
        self._bound = -np.inf
        self._moved = 0
        self._began = time.perf_counter()

    def record(self, state: State, gap: float, working_set: int) -> bool:
        """Store a round with its `gap`; return whether the run is within its tolerance."""
        if self.best is None or state.objective < self.best.objective - ROUNDING:
            self._moved = len(self.history)
        if self.best is None or state.objective <= self.best.objective:
            self.best = state
        if state.objective - gap > self._bound + ROUNDING:
            self._moved = len(self.history)
        self._bound = max(self._bound, state.objective - gap)
        self.history.append(Round(working_set, state.objective, self.gap))
        return self.gap <= self.tolerance

    def change(self, problem: Problem) -> None:
        """Continue with a problem of other features, for which earlier states and bounds are not valid."""
        self.problem, self.best, self._bound = problem, None, -np.inf

    @property
    def gap(self) -> float:
        """Return the certified gap of the best state; rounding errors below zero are removed."""
        return max(self.best.objective - self._bound, 0.0) if self.best else np.inf

    def stuck(self, patience: int = 8) -> bool:
        """Return whether neither the objective nor the bound has changed for some rounds."""
        return len(self.history) - self._moved > patience

    def finish(self, status: str) -> Solution:
        """Return the best state with a status."""
        best, seconds = self.best, time.perf_counter() - self._began
        if best is None:
            raise AssertionError("a run ends after at least one round")
        proof = best.objective, self.gap, len(self.history), seconds
        return Solution(status, best.lam, *proof, best.gibbs.tau, best.p, self.history)


def line_search(problem: Problem, state: State, step: Array) -> State | None:
    """Return the state after the longest of the steps 1, ½, ¼ … that decreases the objective enough, or None.

    The required decrease is a hundredth of the predicted one. Increases below rounding are accepted, so that a last
    step with a tiny predicted decrease is not shortened.
    """
    full = problem.state(state.lam + step, state.gibbs.tau)
    promise = float(state.eps @ step) + full.cost - state.cost
    slack = SLACK if -10.0 * SLACK <= promise <= 0.0 else ROUNDING
    result = backtrack(
        lambda share: full if share == 1.0 else problem.state(state.lam + share * step, state.gibbs.tau),
        lambda new, share: new.objective <= state.objective + 0.01 * share * min(promise, 0.0) + slack,
        tries=50,
    )
    return None if result is None else result[0]
