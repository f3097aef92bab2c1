"""The default solver: a working set grown by violation, proximal Newton on it, and the gap over all features.

Each round evaluates *every* feature through the families' oracles (cheap), so the certificate and the choice of new
features are always up to date; only the curvature of the few features in the working set costs more. Penalties
whose optimal weights are all non-zero have no small working set: they go to `newton_cg`.
"""

import numpy as np
from numpy.typing import NDArray

from sdm.features.domain import Array
from sdm.maxent.columns import ColumnPool, rough_stride
from sdm.maxent.newton_cg import cells_hessian, solve_newton_cg
from sdm.maxent.penalty import Penalty
from sdm.maxent.problem import Problem, State
from sdm.maxent.search import ROUNDING, Run, line_search
from sdm.maxent.solution import CONVERGED, MAX_ITERATIONS, STALLED, Solution
from sdm.maxent.subproblem import solve_l1_quadratic

# New features a round: more save rounds, fewer make each round cheaper; the time is flat from 24 to 80.
GROWTH = 40

# While a round still gains this much (in nats), its Hessian may come from a part of the cells: the step needs no more.
ROUGH = 0.01


def solve_newton(
    problem: Problem, *, start: Array | None = None, tolerance: float = 1e-6, max_iterations: int = 500
) -> Solution:
    """Minimise the objective to a certified gap.

    Parameters
    ----------
    problem : Problem
    start : (J,) array, optional
        Weights to start from; zero by default.
    tolerance : float
        Largest gap to accept, in nats.
    max_iterations : int
        When reached, the best state so far is returned, with its gap and a status that says so.
    """
    if not problem.penalty.sparse:
        hessian = cells_hessian(problem)
        return solve_newton_cg(problem, hessian, start=start, tolerance=tolerance, max_iterations=max_iterations)
    run = Run(problem, tolerance)
    pool = ColumnPool(problem.features, rough_stride(problem.domain.n) if start is None else 1)
    groups = problem.features.groups()
    state = problem.state(np.zeros(problem.features.size) if start is None else start)
    size = int(np.count_nonzero(state.lam))
    for _ in range(max_iterations):
        if run.record(state, problem.gap(state), size):
            return run.finish(CONVERGED)
        members = choose_members(state, problem.penalty, groups)
        size = members.size
        new = line_search(problem, state, newton_step(problem, state, pool, members))
        if pool.stride == 1 and (new is None or run.stuck()):
            new = None
            if problem.entropy.alpha > 1.0:  # cells without density show no curvature: count them as if they had some
                new = line_search(problem, state, newton_step(problem, state, pool, members, floor=1.0))
            if new is None or new.objective >= state.objective - ROUNDING:
                return run.finish(STALLED)
        if new is None or state.objective - new.objective < ROUGH:
            pool.refine()
        state = new or state
    return run.finish(MAX_ITERATIONS)


def newton_step(
    problem: Problem, state: State, pool: ColumnPool, members: NDArray[np.int64], floor: float = 0.0
) -> Array:
    """Return the step to the minimiser of the quadratic model plus the price, on the members.

    `floor` is the least curvature of a cell, in units of its base measure.
    """
    penalty = problem.penalty
    hessian = pool.hessian(members, problem.curvature(state, floor))
    old = state.lam[members]
    c = state.eps[members] - hessian @ old
    hessian[np.diag_indices(members.size)] += penalty.ridge[members]
    step = np.zeros_like(state.lam)
    step[members] = solve_l1_quadratic(hessian, c, penalty.beta[members], old) - old
    return step


def choose_members(state: State, penalty: Penalty, groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the features with a weight, and the worst violator of each of the worst groups.

    A quadratic price spreads weight over neighbours, so there the worst of all groups join as well.
    """
    used = np.flatnonzero(state.lam)
    violation = np.where(state.lam == 0, np.abs(state.eps) / penalty.beta - 1.0, 0.0)
    candidates = np.flatnonzero(violation > 0)
    order = candidates[np.lexsort((-violation[candidates], groups[candidates]))]
    first = np.ones(order.size, dtype=bool)
    first[1:] = groups[order[1:]] != groups[order[:-1]]
    best = order[first]
    best = best[np.argsort(-violation[best], kind="stable")][:GROWTH]
    if np.any(penalty.ridge):
        worst = candidates[np.argsort(-violation[candidates], kind="stable")][: max(GROWTH, used.size)]
        best = np.union1d(best, worst)
    return np.concatenate([used, best])
