"""Newton's method for the l_p norm, in the coordinates of its dual.

With `1 < p < 2` the norm of the weights has a gradient except at zero, and an infinite curvature where a single weight
is zero. So a weight that is zero once would remain zero. Its dual, the l_q norm with `1/p + 1/q = 1` and so `q > 2`, is
smooth. The solver therefore uses dual coordinates `w`, with `β_j λ_j = z_j = N sign(w_j) |w_j/N|^(q−1)` and `N = ‖w‖_q
= ‖z‖_p`. At an optimum `w_j/N = (π̃[f_j] − p[f_j])/β_j`. With `s = w/N` and `D = (q − 1) diag |s|^(q−2)`, the curvature
of the norm is `(D⁻¹ − (p − 1) s sᵀ)/N`, and Newton's step `dz = D^½ y` solves

`(D^½ M D^½ + (I − (p − 1) D^½ s sᵀ D^½)/N) y = −D^½ g`,

where `g` and `M` are the gradient of the objective and the Hessian of the loss in `z`. All terms are finite. In the
dual coordinates the step is `dw = −N (g + M dz) + s (s·dz)`, which also moves weights away from zero.
"""

from collections.abc import Callable

import numpy as np

from sdm.maxent.penalty import LpNorm, norm
from sdm.maxent.problem import Hessian, Problem, State
from sdm.maxent.solution import CONVERGED, MAX_ITERATIONS, STALLED, Solution
from sdm.maxent.solvers.descent import backtrack
from sdm.maxent.solvers.newton_cg import LIFT, conjugate_gradients
from sdm.maxent.solvers.search import ROUNDING, SolverRun
from sdm.types import Array

Product = Callable[[Array], Array]


def solve_newton_norm(problem: Problem, *, start: Array | None, tolerance: float, max_iterations: int) -> Solution:
    """Minimise an objective with an l_p norm to a certified gap of `tolerance` nats."""
    penalty = problem.penalty
    if not isinstance(penalty, LpNorm):
        raise TypeError(f"{type(penalty).__name__} is not an l_p norm")
    hessian, run = problem.dense_hessian(), SolverRun(problem, tolerance)
    state = problem.state(np.zeros(problem.mu.size) if start is None else start)
    w = _dual_point(penalty, state.lam)
    for _ in range(max_iterations):
        if run.record(state, problem.gap(state), problem.mu.size):
            return run.finish(CONVERGED)
        advanced = _advance(problem, penalty, state, w, hessian, 0.0)
        if problem.entropy.alpha > 1.0 and (advanced is None or run.stuck()):
            # Cells without density have no curvature: use a floor.
            advanced = _advance(problem, penalty, state, w, hessian, 1.0)
        if advanced is None or (run.stuck() and advanced[0].objective >= state.objective - ROUNDING):
            return run.finish(STALLED)
        state, w = advanced
    return run.finish(MAX_ITERATIONS)


def _advance(
    problem: Problem, penalty: LpNorm, state: State, w: Array, hessian: Hessian | None, floor: float
) -> tuple[State, Array] | None:
    """Return the state after the longest of the steps 1, ½, ¼ … that decreases the objective enough, else None.

    The second value is its dual point.
    """
    curvature = problem.curvature(state, floor)
    if np.any(w):
        step, promise = _step(problem, penalty, state, w, curvature, hessian)
    else:  # the norm has no gradient at zero: take the steepest descent
        size = penalty.dual(state.eps)
        w_unit = -state.eps / penalty.beta / size
        along = _scaled_weights(penalty, w_unit)
        bend = float(along @ _loss_product(problem, penalty, curvature)(along))
        length = (size - 1.0) / bend if bend > 1e-12 else 1.0
        step, promise = length * w_unit, length * (1.0 - size)
    result = backtrack(
        lambda share: problem.state(_scaled_weights(penalty, w + share * step) / penalty.beta, state.gibbs.tau),
        lambda new, share: new.objective <= state.objective + 0.01 * share * min(promise, 0.0) + ROUNDING,
        tries=60,
    )
    return None if result is None else (result[0], w + result[1] * step)


def _step(
    problem: Problem, penalty: LpNorm, state: State, w: Array, curvature: Array, hessian: Hessian | None
) -> tuple[Array, float]:
    """Return Newton's step in the dual, and the slope of the objective along it."""
    times = _loss_product(problem, penalty, curvature)
    size = norm(w, penalty.dual_power)
    s = w / size
    root = np.sqrt((penalty.dual_power - 1.0) * np.abs(s) ** (penalty.dual_power - 2.0))
    radial = np.sqrt(penalty.power - 1.0) * root * s  # of length one: the norm has no curvature along it
    gradient = state.eps / penalty.beta + s
    if hessian is not None:
        scale = root / penalty.beta
        matrix = hessian(curvature) * np.outer(scale, scale) - np.outer(radial, radial) / size
        matrix[np.diag_indices(w.size)] += 1.0 / size
        matrix[np.diag_indices(w.size)] += LIFT * float(np.diagonal(matrix).max())
        y = np.linalg.solve(matrix, -root * gradient)
    else:

        def product(v: Array) -> Array:
            return np.asarray(root * times(root * v) + (v - radial * (radial @ v)) / size)

        bends = problem.bends(curvature) * (root / penalty.beta) ** 2
        y = conjugate_gradients(product, -root * gradient, lambda v: v / (bends + 1.0 / size), exact=False)
    dz = root * y
    return -size * (gradient + times(dz)) + s * float(s @ dz), float(gradient @ dz)


def _loss_product(problem: Problem, penalty: LpNorm, curvature: Array) -> Product:
    """Return the product with the Hessian of the loss, in the scaled weights `z = βλ`."""
    return lambda v: problem.expectations(problem.tilt(curvature, problem.scores(v / penalty.beta))) / penalty.beta


def _scaled_weights(penalty: LpNorm, w: Array) -> Array:
    """Return `z = βλ` of a dual point."""
    size = norm(w, penalty.dual_power)
    return size * np.sign(w) * np.abs(w / size) ** (penalty.dual_power - 1.0) if size > 0 else np.zeros_like(w)


def _dual_point(penalty: LpNorm, lam: Array) -> Array:
    """Return the dual point of weights."""
    size = penalty.value(lam)
    return size * penalty.gradient(lam) / penalty.beta if size > 0 else np.zeros_like(lam)
