"""The default solver: proximal Newton on a working set of violated features, with a gap over all features.

Each round evaluates *every* feature through the families' oracles (cheap), so the certificate and the choice of new
features are always current. Only the curvature of the few features in the working set is more expensive. One loop is
for one species and for several classes, with fixed features and with features found during the fit
(`structural.Growth`). Penalties whose optimal weights are all nonzero have no small working set; they use `newton_cg`.
Norms without a curvature at zero use `newton_norm`.
"""

import numpy as np
from numpy.typing import NDArray

from sdm.maxent.columns import ColumnPool, rough_stride
from sdm.maxent.penalty import CODE_LP, Penalty
from sdm.maxent.problem import Problem, State
from sdm.maxent.solution import CONVERGED, MAX_ITERATIONS, STALLED, Solution
from sdm.maxent.solvers.newton_cg import solve_newton_cg
from sdm.maxent.solvers.newton_norm import solve_newton_norm
from sdm.maxent.solvers.search import ROUNDING, SolverRun, line_search
from sdm.maxent.solvers.subproblem import solve_l1_quadratic
from sdm.maxent.structural import Growth
from sdm.types import Array, Numbers

GROWTH = 40  # new features per round: more save rounds, fewer make rounds cheaper; the time is flat from 24 to 80

# While a round gains this much (in nats), its Hessian is from a sample of the cells. Rounds gain less if features are
# found a few at a time.
ROUGH, ROUGH_GROWING = 1e-2, 1e-4
# number of rounds with such a small gain (in nats, and relative to the gap) before double precision
SLOW, PATIENCE = 1e-3, 3
FINER, FINER_GAIN = 4, 100.0  # then this many times more cells, until a round gains this many times less


def solve_newton(
    problem: Problem,
    *,
    start: Array | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 500,
    pool: ColumnPool | None = None,
) -> Solution:
    """Minimise the objective, of one species or of classes, to a certified gap of `tolerance` nats.

    After `max_iterations` the best state is returned, with its gap and the corresponding status. `pool` has columns of
    the same features from an earlier run, over every cell, and receives the columns of this one.
    """
    limits: Numbers = {"start": start, "tolerance": tolerance, "max_iterations": max_iterations}
    if problem.penalty.sparse:
        return _solve_sparse(problem, pool=pool, **limits)
    solve = solve_newton_norm if problem.penalty.code == CODE_LP else solve_newton_cg
    return solve(problem, **limits)


def solve_structural(
    growth: Growth, *, start: Array | None = None, tolerance: float = 1e-4, max_iterations: int = 200
) -> Solution:
    """Minimise over growing families, by fully corrective column generation, to a gap of `tolerance` nats.

    The gap covers all features that the oracles find. Afterwards `growth.problem` is the problem of the solution's
    weights. At most four features are added per round, or two for each class.
    """
    return _solve_sparse(growth.problem, growth, start=start, tolerance=tolerance, max_iterations=max_iterations)


def _solve_sparse(
    problem: Problem,
    growth: Growth | None = None,
    *,
    start: Array | None,
    tolerance: float,
    max_iterations: int,
    pool: ColumnPool | None = None,
) -> Solution:
    """Run the working-set loop; `run.problem` is the problem of the current round."""
    run = SolverRun(problem, tolerance)
    if pool is None:
        pool = ColumnPool(problem.features, rough_stride(problem.domain.n) if start is None else 1)
    rough = ROUGH if growth is None else ROUGH_GROWING
    state = problem.state(np.zeros(problem.mu.size) if start is None else start)
    size, worst, remaining, slow = int(np.count_nonzero(state.lam)), 0.0, None, 0
    for _ in range(max_iterations):
        if growth is not None:
            state, worst, remaining = growth.extend(state, max(4, 2 * problem.classes))
            if remaining is not None:
                run.change(growth.problem)
                pool.renumber(growth.problem.features, remaining)
        problem = run.problem
        if run.record(state, problem.gap(state, worst), size):
            return run.finish(CONVERGED)
        members = choose_members(state, problem.penalty, problem.stretches)
        size = members.size
        new = line_search(problem, state, newton_step(problem, state, pool, members))
        if pool.stride == 1 and remaining is None and (new is None or run.stuck()):
            if problem.entropy.alpha > 1.0:  # cells without density have no curvature: use a floor
                new = line_search(problem, state, newton_step(problem, state, pool, members, floor=1.0)) or new
            if (new is None or new.objective >= state.objective - ROUNDING) and not pool.double():
                return run.finish(STALLED)
        if new is None:
            pool.refine()
        elif state.objective - new.objective < rough:
            pool.refine(FINER)
            rough /= FINER_GAIN
        slow += new is not None and remaining is None and state.objective - new.objective < SLOW * min(run.gap, 1.0)
        if slow == PATIENCE:
            pool.double()
        state = new or state
    return run.finish(MAX_ITERATIONS)


def newton_step(
    problem: Problem, state: State, pool: ColumnPool, members: NDArray[np.int64], floor: float = 0.0
) -> Array:
    """Return the step to the minimiser of the quadratic model plus the penalty, on the members (ascending).

    `floor` is the least curvature of a cell, in units of its base measure.
    """
    penalty, mirrored, size = problem.penalty, problem.mirrored(state), problem.features.size
    if mirrored:  # solve for half of the weights, which has a unique optimum; all of them may have many
        members = size + np.unique(members % size)
    hessian = problem.hessian(pool, members, problem.curvature(state, floor))
    hessian *= 2.0 if mirrored else 1.0
    old = state.lam[members]
    c = state.eps[members] - hessian @ old
    hessian[np.diag_indices(members.size)] += penalty.ridge[members]
    step = np.zeros_like(state.lam)
    step[members] = solve_l1_quadratic(hessian, c, penalty.beta[members], old)[0] - old
    if mirrored:
        step[:size] = -step[size:]
    return step


def choose_members(state: State, penalty: Penalty, stretches: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, in ascending order, the weights in use and the worst violator of each of the worst groups.

    A quadratic penalty spreads weight over neighbours, so the worst violators of all are included in that case.
    """
    used = np.flatnonzero(state.lam)
    violation = np.abs(state.eps) / penalty.beta
    violation[used] = 0.0
    worst = np.maximum.reduceat(violation, stretches)
    chosen = np.argsort(-worst, kind="stable")[: max(GROWTH, worst.size // 10)]
    starts, ends = stretches.tolist(), [*stretches[1:].tolist(), violation.size]
    best = [starts[k] + violation[starts[k] : ends[k]].argmax() for k in chosen[worst[chosen] > 1.0].tolist()]
    if np.any(penalty.ridge):
        most = min(max(GROWTH, used.size), violation.size)
        top = np.argpartition(-violation, most - 1)[:most]
        best += top[violation[top] > 1.0].tolist()
    return np.union1d(used, np.array(best, dtype=np.int64))
