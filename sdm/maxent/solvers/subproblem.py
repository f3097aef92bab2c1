"""The inner problem of proximal Newton: a small quadratic with an l1 penalty.

`min_z ½ zᵀHz + c·z + Σ β_j |z_j|`. Coordinate descent finds the support and signs. For a fixed support with fixed signs
the solution is one linear solve. Weights that would change sign are set to zero if that is better; otherwise the step
ends at the first sign change. Both methods alternate until the optimum.
"""

import numpy as np

from sdm._jit import jit
from sdm.types import Array

ROUNDING = 2.0 * float(np.finfo(np.float64).eps)  # rounding error of a sum, relative to its terms
TURNS = 200  # largest number of alternations; a few are enough unless features are linearly dependent
SWEEPS = 40  # sweeps before each solve: cheap in comparison, and they remove most superfluous weights


def solve_l1_quadratic(h: Array, c: Array, beta: Array, start: Array, tolerance: float = 1e-10) -> tuple[Array, bool]:
    """Minimise `½ zᵀHz + c·z + Σ β|z|` from `start`; `h` is symmetric and positive semi-definite up to rounding.

    Return `z`, and whether its optimality violation is at most `tolerance·max β`, or within rounding.
    """
    z, enough = start.copy(), tolerance * float(beta.max())
    # For linearly dependent features, the sign of the curvature depends on rounding: increase it by as much.
    h = h.copy()
    h[np.diag_indices(z.size)] *= 1.0 + ROUNDING * np.sqrt(z.size)
    for _ in range(TURNS):
        if _optimal(h, c, beta, z, h @ z + c, enough):
            return z, True
        _sweep(h, beta, z, h @ z + c, SWEEPS)
        for _ in range(z.size):
            if not _settle(h, c, beta, z):
                break
    return z, bool(_optimal(h, c, beta, z, h @ z + c, enough))


@jit
def _optimal(h, c, beta, z, r, tolerance):  # type: ignore[no-untyped-def]
    """Return whether `−r`, with `r = Hz + c`, is within `tolerance`, or rounding, of the subdifferential of the
    penalty.

    NaN weights are not optimal.
    """
    for j in range(z.size):
        violation = abs(r[j] + beta[j] * np.sign(z[j])) if z[j] != 0.0 else abs(r[j]) - beta[j]
        if not violation <= tolerance:
            size = abs(c[j])
            for i in range(z.size):
                size += abs(h[j, i] * z[i])
            if not violation <= ROUNDING * size:
                return False
    return True


@jit
def _sweep(h, beta, z, r, sweeps):  # type: ignore[no-untyped-def]
    """Minimise over each coordinate in turn, `sweeps` times; update `r = Hz + c`."""
    for _ in range(sweeps):
        for j in range(z.size):
            hjj = h[j, j]
            if hjj <= 0.0 and abs(r[j]) > beta[j]:
                continue
            u = hjj * z[j] - r[j]
            new = 0.0
            if u > beta[j]:
                new = (u - beta[j]) / hjj
            elif u < -beta[j]:
                new = (u + beta[j]) / hjj
            step = new - z[j]
            if step != 0.0:
                for i in range(z.size):
                    r[i] += step * h[j, i]
                z[j] = new


def _settle(h: Array, c: Array, beta: Array, z: Array) -> bool:
    """Move to the minimiser for the current support and signs, or towards it; return whether weights left the
    support."""
    (support,) = z.nonzero()
    if not support.size:
        return False
    a, old = h[support][:, support], z[support]
    slope = a @ old + c[support] + beta[support] * np.sign(old)
    step = -_solve(a, slope)
    crossed = np.sign(old + step) != np.sign(old)
    if crossed.any():
        # Set all weights that would change sign to zero, if that is better than the current point. The change of the
        # objective is computed from its slope, because a difference of values would be lost in rounding.
        both = np.where(crossed, -old, step)
        if slope @ both + 0.5 * (both @ a @ both) < 0.0:
            step = both
        else:
            step = step * float(np.min(-old[crossed] / step[crossed]))
            step = np.where(np.abs(old + step) <= ROUNDING * np.abs(old), -old, step)
    z[support] = old + step
    return bool(crossed.any())


def _solve(a: Array, b: Array) -> Array:
    """Solve `A x = b` for a curvature; directions with a curvature below rounding get a small one."""
    from scipy.linalg.lapack import dposv

    _, x, failed = dposv(a, b, lower=1)
    if not failed:
        return np.asarray(x)
    diagonal = np.diagonal(a)
    scale = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 0.0)
    values, vectors = np.linalg.eigh(a * np.outer(scale, scale))
    return np.asarray(scale * (vectors @ ((vectors.T @ (scale * b)) / np.maximum(values, ROUNDING))))
