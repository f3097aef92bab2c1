"""The solver of the conditional problem: proximal Newton on a working set; where prices are smooth, `newton_cg`.

As in `sdm.maxent.newton`, every round evaluates all features of all classes through the families' oracles, so the gap
covers them all; only the curvature of the working set takes more. A site's curvature is `diag(w) − w wᵀ/Σw` over its
classes, so the Hessian is one Gram matrix a class less one of them all.
"""

import numpy as np
from numpy.typing import NDArray

from sdm.conditional.problem import ClassProblem
from sdm.features.domain import Array
from sdm.maxent.columns import ColumnPool, rough_stride
from sdm.maxent.newton import GROWTH, ROUGH
from sdm.maxent.newton_cg import Hessian, solve_newton_cg
from sdm.maxent.penalty import Penalty
from sdm.maxent.problem import State
from sdm.maxent.search import ROUNDING, Run, line_search
from sdm.maxent.solution import CONVERGED, MAX_ITERATIONS, STALLED, Solution
from sdm.maxent.subproblem import solve_l1_quadratic

BLOCK = 2048

# Up to so many weights (and numbers in the features' columns) a direct solve beats conjugate gradients.
DENSE_WEIGHTS = 2000
DENSE_NUMBERS = 25_000_000


def solve_classes(
    problem: ClassProblem, *, start: Array | None = None, tolerance: float = 1e-6, max_iterations: int = 500
) -> Solution:
    """Minimise the objective to a certified gap.

    Parameters
    ----------
    problem : ClassProblem
    start : (C·J,) array, optional
        Weights to start from; zero by default.
    tolerance : float
        Largest gap to accept, in nats.
    max_iterations : int
        When reached, the best state so far is returned, with its gap and a status that says so.
    """
    if not problem.penalty.sparse:
        hessian = _all_hessian(problem)
        return solve_newton_cg(problem, hessian, start=start, tolerance=tolerance, max_iterations=max_iterations)
    run = Run(problem, tolerance)
    pool = ColumnPool(problem.features, rough_stride(problem.domain.n) if start is None else 1)
    stretches = problem.stretches()
    state = problem.state(np.zeros(problem.mu.size) if start is None else start)
    size = int(np.count_nonzero(state.lam))
    for _ in range(max_iterations):
        if run.record(state, problem.gap(state), size):
            return run.finish(CONVERGED)
        members = choose_members(state, problem.penalty, stretches)
        size = members.size
        new = line_search(problem, state, working_set_step(problem, state, pool, members))
        if pool.stride == 1 and (new is None or run.stuck()):
            if problem.entropy.alpha > 1.0:  # classes without probability show no curvature: count some
                new = line_search(problem, state, working_set_step(problem, state, pool, members, floor=1.0))
            if new is None or new.objective >= state.objective - ROUNDING:
                return run.finish(STALLED)
        if new is None or state.objective - new.objective < ROUGH:
            pool.refine()
        state = new or state
    return run.finish(MAX_ITERATIONS)


def choose_members(state: State, penalty: Penalty, stretches: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, in ascending order, the weights in use and the worst violator of each of the worst stretches.

    A quadratic price spreads weight over neighbours, so there the worst of all join as well.
    """
    used = np.flatnonzero(state.lam)
    violation = np.abs(state.eps)
    violation /= penalty.beta
    violation[used] = 0.0
    worst = np.maximum.reduceat(violation, stretches)
    chosen = np.argsort(-worst, kind="stable")[: max(GROWTH, worst.size // 10)]
    ends = np.append(stretches, violation.size)
    best = [ends[k] + int(np.argmax(violation[ends[k] : ends[k + 1]])) for k in chosen if worst[k] > 1.0]
    if np.any(penalty.ridge):
        most = min(max(GROWTH, used.size), violation.size)
        top = np.argpartition(-violation, most - 1)[:most]
        best += top[violation[top] > 1.0].tolist()
    return np.union1d(used, np.array(best, dtype=np.int64))


def working_set_step(
    problem: ClassProblem, state: State, pool: ColumnPool, members: NDArray[np.int64], floor: float = 0.0
) -> Array:
    """Return the step to the minimiser of the quadratic model plus the price, on the members (ascending).

    `floor` is the least curvature of a class at a site.
    """
    penalty = problem.penalty
    hessian = class_hessian(problem, pool, members, problem.curvature(state, floor))
    old = state.lam[members]
    c = state.eps[members] - hessian @ old
    hessian[np.diag_indices(members.size)] += penalty.ridge[members]
    step = np.zeros_like(state.lam)
    step[members] = solve_l1_quadratic(hessian, c, penalty.beta[members], old) - old
    return step


def _all_hessian(problem: ClassProblem) -> Hessian | None:
    """Return the Hessian of all weights, if they are few."""
    if problem.mu.size > DENSE_WEIGHTS or problem.features.size * problem.domain.n > DENSE_NUMBERS:
        return None
    pool, everything = ColumnPool(problem.features, capacity=problem.features.size), np.arange(problem.mu.size)
    return lambda w: class_hessian(problem, pool, everything, w)


def class_hessian(problem: ClassProblem, pool: ColumnPool, members: NDArray[np.int64], bends: Array) -> Array:
    """Return the Hessian of the loss on the members (ascending), block by block of the sites looked at."""
    of_class, feature = np.divmod(members, problem.features.size)
    distinct, place = np.unique(feature, return_inverse=True)
    columns = pool.columns(distinct)
    q, w = problem.q0[:: pool.stride], bends[:, :: pool.stride]
    q = q / q.sum()
    total = np.maximum(w.sum(axis=0), np.finfo(np.float64).tiny)
    spans = np.searchsorted(of_class, np.arange(problem.classes + 1))
    out = np.zeros((members.size, members.size))
    for a in range(0, q.size, BLOCK):
        b = min(a + BLOCK, q.size)
        x = np.array([column[a:b] for column in columns], dtype=np.float64)[place]
        for c in range(problem.classes):
            own = slice(spans[c], spans[c + 1])
            part = x[own] * np.sqrt(q[a:b] * w[c, a:b])
            out[own, own] += part @ part.T
            x[own] *= w[c, a:b] * np.sqrt(q[a:b] / total[a:b])
        out -= x @ x.T
    out[np.diag_indices(members.size)] *= 1.0 + 1e-8
    return out
