"""StructMaxent1 and StructMaxent2: coordinate descent with closed-form steps (Cortes et al. 2015, §2.4, App. C).

Each round selects the feature with the steepest directional derivative. Its step minimises an upper bound on the
objective: by convexity of the exponential (1), or by Hoeffding's lemma (2). Features f in [0, 1] are centred, Φ = f −
½, so Λ = ½ bounds them. Objective and weights are the same, and steps are longer than with Φ = f and Λ = 1.

Where Fig. 2 contradicts the derivation, the derivation is used. Line 9 of Fig. 2 should be, as in Appendix C,
`(Φ⁺_{t−1} Φ⁻ e^{−2wΛ} − Φ⁺ Φ⁻_{t−1}) / (Φ⁺_{t−1} e^{−2wΛ} − Φ⁻_{t−1})`. In line 13 numerator and denominator are
exchanged: they are `Φ⁻_{t−1}(β − Φ⁺)` and `Φ⁺_{t−1}(β − Φ⁻)`.
"""

from collections.abc import Callable
from functools import partial
from operator import sub

import numpy as np

from sdm.errors import ConflictError
from sdm.maxent.penalty import CODE_L1
from sdm.maxent.problem import Problem, State
from sdm.maxent.solution import CONVERGED, MAX_ITERATIONS, STALLED, Solution
from sdm.maxent.solvers.search import SolverRun
from sdm.maxent.structural import Growth
from sdm.types import Array


def direction(lam: Array, eps: Array, beta: Array) -> Array:
    """Return the smallest element of the subdifferential, for every feature (§2.4.1)."""
    return np.where(lam != 0, beta * np.sign(lam) + eps, np.where(np.abs(eps) <= beta, 0.0, eps - beta * np.sign(eps)))


def step1(w: float, q: float, mu: float, beta: float, bound: float = 0.5) -> float | None:
    """Return the step of StructMaxent1, or None if it is undefined.

    `w` is the weight, `q = p[f]`, `mu = E_S[f]`. With `bound` Λ and Φ centred, `Φ⁺ = E_S[Φ] + Λ`, `Φ⁻ = E_S[Φ] − Λ`,
    and likewise for `q`. Conditions (8) are sufficient; the derivation requires only `E_S[Φ] > −Λ + β` for a step up,
    and `E_S[Φ] < Λ − β` for a step down.
    """
    q, mu = q - (1.0 - bound), mu - (1.0 - bound)
    if abs(q) >= bound:
        return None
    now_plus, now_minus, plus, minus = q + bound, q - bound, mu + bound, mu - bound
    shrunk = now_plus * np.exp(-2.0 * bound * w)
    slope = (shrunk * minus - plus * now_minus) / (shrunk - now_minus)
    if abs(slope) <= beta:
        return -w
    edge = beta if slope > beta else -beta
    inside = now_minus * (edge - plus) / (now_plus * (edge - minus))
    return float(np.log(inside) / (2.0 * bound)) if inside > 0.0 else None


def step2(w: float, eps: float, beta: float, bound: float = 0.5) -> float:
    """Return the step of StructMaxent2 (Fig. 1); `bound` is Λ."""
    square = bound * bound
    if abs(square * w - eps) <= beta:
        return -w
    return (-beta - eps if square * w - eps > beta else beta - eps) / square


def solve_growing(growth: Growth, version: int, *, tolerance: float = 1e-4, max_iterations: int = 500) -> Solution:
    """Run StructMaxent1 or 2 over growing families: each round first adds the oracles' steepest feature (§4)."""
    return _descend(growth.problem, version, growth, tolerance=tolerance, max_iterations=max_iterations)


def _step(problem: Problem, state: State, version: int, bound: float) -> Array:
    """Return the weights after a step along the steepest feature."""
    beta = problem.penalty.beta
    j = int(np.argmax(np.abs(direction(state.lam, state.eps, beta))))
    w, eps, mu = float(state.lam[j]), float(state.eps[j]), float(problem.mu[j])
    step = step1(w, eps + mu, mu, float(beta[j]), bound) if version == 1 else None
    lam = state.lam.copy()
    lam[j] += step2(w, eps, float(beta[j]), bound) if step is None else step
    return lam


def _descend(
    problem: Problem,
    version: int,
    growth: Growth | None = None,
    *,
    start: Array | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 100_000,
    bound: float = 0.5,
) -> Solution:
    if problem.entropy.alpha != 1.0 or problem.penalty.code != CODE_L1:
        raise ConflictError(f"solver='structmaxent{version}' needs Shannon's entropy and the l1 penalty")
    run = SolverRun(problem, tolerance)
    state, worst = problem.state(np.zeros(problem.features.size) if start is None else start), 0.0
    for _ in range(max_iterations):
        if growth is not None:
            state, worst, remaining = growth.extend(state, 1, rank=sub)
            if remaining is not None:
                run.change(growth.problem)
        if run.record(state, run.problem.gap(state, worst), run.problem.features.size):
            return run.finish(CONVERGED)
        if run.stuck(patience=1000):
            return run.finish(STALLED)
        state = run.problem.state(_step(run.problem, state, version, bound))
    return run.finish(MAX_ITERATIONS)


solve_structmaxent1: Callable[..., Solution] = partial(_descend, version=1)
"""Take the step of the convexity bound; if its conditions (8) fail, the step of Hoeffding's bound."""
solve_structmaxent2: Callable[..., Solution] = partial(_descend, version=2)
"""Take the step of Hoeffding's bound, which needs no conditions."""
