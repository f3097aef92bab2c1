"""SUMMET and PLUMMET, the selective and the parallel update of Dudík, Phillips & Schapire 2007 (Fig. 2–5).

They are slower than `newton`, but simple and with a convergence proof, and serve as a reference.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from sdm.errors import ConflictError
from sdm.maxent.problem import Problem
from sdm.maxent.solution import CONVERGED, MAX_ITERATIONS, SEPARABLE, STALLED, Solution
from sdm.maxent.solvers.coordinate import PARALLEL, SELECTIVE, best_changes
from sdm.maxent.solvers.newton_cg import free_gap, separable
from sdm.maxent.solvers.search import SolverRun
from sdm.types import Array

STRIDE = 10  # iterations on one l2² problem before it is updated to the current weights


def _solve(
    problem: Problem, bound: int, *, start: Array | None = None, tolerance: float = 1e-6, max_iterations: int = 100_000
) -> Solution:
    name = "summet" if bound == SELECTIVE else "plummet"
    if problem.entropy.alpha != 1.0:
        raise ConflictError(f"solver='{name}' needs entropy=1, not {problem.entropy.alpha:g}: use solver='newton'")
    if problem.penalty.separable_above(problem.mu) is None:
        raise ConflictError(f"solver='{name}' needs a penalty that is a sum over weights: use solver='newton'")
    if not problem.penalty.by_weight:
        return _solve_ball(problem, bound, start, tolerance, max_iterations)
    # Features for SUMMET are in [0, 1] already. For PLUMMET they are divided by the largest row sum.
    scale = 1.0 if bound == SELECTIVE else float(problem.features.scores(np.ones(problem.features.size)).max())
    run = SolverRun(problem, tolerance)
    state = problem.state(np.zeros(problem.features.size) if start is None else start)
    size = problem.features.size
    delta, gain = np.empty(size), np.empty(size)
    penalty, free = problem.penalty, problem.penalty.free

    def finish(status: str) -> Solution:
        return run.finish(SEPARABLE if free and run.best and separable(problem, run.best) else status)

    for turn in range(max_iterations):
        # Without a penalty the certificate needs a linear solve, so it is computed only in some rounds.
        gap = problem.gap(state) if not free else free_gap(problem, state) if turn % 50 == 0 else np.inf
        if run.record(state, gap, size):
            return finish(CONVERGED)
        # Weights and penalties are scaled accordingly.
        point = (state.eps + problem.mu) / scale, problem.mu / scale, state.lam * scale
        cost = penalty.code, penalty.beta / scale, penalty.ridge / scale**2, penalty.smoothing * scale
        best_changes(bound, *point, *cost, delta, gain)
        delta /= scale
        lam = state.lam.copy()
        if bound == SELECTIVE:
            j = int(np.argmax(gain))
            lam[j] += delta[j]
        else:
            lam += delta
        if run.stuck(patience=1000):
            return finish(STALLED)
        state = problem.state(lam)
    return finish(MAX_ITERATIONS)


def _solve_ball(problem: Problem, bound: int, start: Array | None, tolerance: float, max_iterations: int) -> Solution:
    """Solve an l2 problem by a sequence of l2² problems; `max_iterations` is the total number of iterations.

    Each l2² problem is an upper bound of the l2 problem, tangent at the current weights (`Penalty.separable_above`). So
    every decrease of the bound is a decrease of the objective (Theorem 14).
    """
    run = SolverRun(problem, tolerance)
    lam = np.zeros(problem.features.size) if start is None else start
    for _ in range(-(-max_iterations // STRIDE)):
        state = problem.state(lam)
        if run.record(state, problem.gap(state), lam.size):
            return run.finish(CONVERGED)
        easier = problem.over(problem.features, problem.penalty.separable_above(lam) or problem.penalty, problem.mu)
        lam = _solve(easier, bound, start=lam, tolerance=0.0, max_iterations=STRIDE).weights
    return run.finish(MAX_ITERATIONS)


solve_summet: Callable[..., Solution] = partial(_solve, bound=SELECTIVE)
"""Change the weight with the largest predicted gain in each iteration (Fig. 2; Fig. 3 for l1)."""
solve_plummet: Callable[..., Solution] = partial(_solve, bound=PARALLEL)
"""Change all weights in each iteration, with features scaled to a sum of at most one (Fig. 4; Fig. 5 for l1)."""
