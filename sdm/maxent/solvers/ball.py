"""The l2 ball by way of l2²: for solvers that need one penalty per feature (Dudík et al. 2007, Theorem 14).

For any `s > 0`, `√Σβ²λ² ≤ (Σβ²λ²/s + s)/2`, with equality at `s = √Σβ²λ²`. So each l2² problem with penalties `β²/s` at
the present `s` lies above the ball's problem and touches it at the present weights: every step down in the one is a
step down in the other.
"""

from collections.abc import Callable

import numpy as np

from sdm.maxent.penalty import L2Squared
from sdm.maxent.problem import Problem
from sdm.maxent.solution import CONVERGED, MAX_ITERATIONS, Solution
from sdm.maxent.solvers.search import Run
from sdm.types import Array

Solver = Callable[[Problem, Array, float, int], Solution]

# Iterations on one l2² problem before it is drawn anew around the weights found.
STRIDE = 10


def solve_ball(problem: Problem, solve: Solver, start: Array | None, tolerance: float, max_iterations: int) -> Solution:
    """Solve an l2 problem by a sequence of l2² problems; `max_iterations` counts the iterations of them all."""
    run = Run(problem, tolerance)
    beta = problem.penalty.beta
    lam = np.zeros(problem.features.size) if start is None else start
    for _ in range(-(-max_iterations // STRIDE)):
        state = problem.state(lam)
        if run.record(state, problem.gap(state), beta.size):
            return run.finish(CONVERGED)
        size = float(np.linalg.norm(beta * lam)) or 1.0
        easier = Problem(problem.features, problem.sample, problem.entropy, L2Squared(beta**2 / size))
        lam = solve(easier, lam, 0.0, STRIDE).weights
    return run.finish(MAX_ITERATIONS)
