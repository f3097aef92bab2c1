"""The inner problem of proximal Newton: a small quadratic with an l1 penalty.

`min_z ½ zᵀHz + c·z + Σ β_j |z_j|`. Coordinate descent finds the support and signs; on a fixed support with fixed
signs the answer is one linear solve; weights that would change sign go to zero if that is better, else it is cut short
where the first of them does. Both alternate until optimal.
"""

import numpy as np

from sdm._jit import jit, jit_sum
from sdm.types import Array

SWEEPS = 10  # sweeps before each solve: cheap beside it, and they drop most weights that have to go


def solve_l1_quadratic(h: Array, c: Array, beta: Array, start: Array, tolerance: float = 1e-10) -> Array:
    """Minimise `½ zᵀHz + c·z + Σ β|z|` from `start`, to an optimality violation of `tolerance·max β`; `h` is symmetric
    and positive semi-definite."""
    z = start.copy()
    _solve(h, c, beta, z, tolerance * float(beta.max()), 200)
    return z


@jit
def _solve(h, c, beta, z, tolerance, turns):  # type: ignore[no-untyped-def]
    """Alternate sweeps of coordinate descent with solves on the support, which are undone where they do not help."""
    r = _residual(h, c, z)
    for _ in range(turns):
        for _ in range(SWEEPS):
            _sweep(h, beta, z, r)
        before, value = z.copy(), _value(r, c, beta, z)
        for _ in range(z.size):
            if not _solve_on_support(h, c, beta, z):
                break
        r = _residual(h, c, z)
        if _value(r, c, beta, z) > value:
            _copy(before, z)
            r = _residual(h, c, z)
            for _ in range(20):
                _sweep(h, beta, z, r)
        if _violation(r, beta, z) <= tolerance:
            break


@jit
def _copy(values, out):  # type: ignore[no-untyped-def]
    """Fill an array by a loop: an assignment of arrays takes three seconds to compile, most of them for its message."""
    for i in range(out.size):
        out[i] = values[i]


@jit
def _residual(h, c, z):  # type: ignore[no-untyped-def]
    """Hz + c, by loops: the compiler's own matrix product would need scipy."""
    r = c.copy()
    for j in range(z.size):
        if z[j] != 0.0:
            for i in range(z.size):
                r[i] += z[j] * h[j, i]
    return r


@jit
def _value(r, c, beta, z):  # type: ignore[no-untyped-def]
    """½ zᵀHz + c·z + Σ β|z|, from `r = Hz + c`."""
    total = 0.0
    for j in range(z.size):
        total += 0.5 * z[j] * (r[j] + c[j]) + beta[j] * abs(z[j])
    return total


@jit
def _sweep(h, beta, z, r):  # type: ignore[no-untyped-def]
    """Minimise over each coordinate in turn; `r = Hz + c` is kept up to date."""
    for j in range(z.size):
        hjj = h[j, j]
        if hjj <= 0.0:
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


@jit
def _solve_on_support(h, c, beta, z):  # type: ignore[no-untyped-def]
    """Go to the minimiser for the present support and signs, or towards it, with weights that change sign left at zero.
    Return whether a weight reached zero, so that the smaller support needs another solve."""
    support, k = np.empty(z.size, np.int64), 0
    for j in range(z.size):
        support[k] = j
        k += z[j] != 0.0
    if k == 0:
        return False
    a = np.empty((k, k))
    target = np.empty(k)
    # Features that depend on each other make the system singular: then the step is kept short along what it cannot
    # tell.
    damp, solved = 0.0, False
    while not solved and damp <= 1.0:
        for s in range(k):
            j = support[s]
            target[s] = damp * h[j, j] * z[j] - c[j] - beta[j] * np.sign(z[j])
            for t in range(k):
                a[s, t] = h[j, support[t]]
            a[s, s] *= 1.0 + damp
        solved = _cholesky_solve(a, target)
        damp = 1e-6 if damp == 0.0 else 100.0 * damp
    if not solved:
        return False
    # Weights that would change sign go to zero all at once, if that is better than where they are.
    trial = z.copy()
    crossing = False
    for s in range(k):
        kept = z[support[s]] * target[s] > 0.0
        crossing = crossing or not kept
        trial[support[s]] = target[s] if kept else 0.0
    if not crossing:
        _copy(trial, z)
        return False
    if _value(_residual(h, c, trial), c, beta, trial) < _value(_residual(h, c, z), c, beta, z):
        _copy(trial, z)
        return True
    fraction, first = 1.0, -1
    for s in range(k):
        old = z[support[s]]
        if old * target[s] <= 0.0:
            f = old / (old - target[s])
            if f < fraction:
                fraction, first = f, s
    for s in range(k):
        z[support[s]] += fraction * (target[s] - z[support[s]])
    if first < 0:
        return False
    z[support[first]] = 0.0
    return True


@jit_sum
def _cholesky_solve(a, b):  # type: ignore[no-untyped-def]
    """Solve `a x = b` in place for symmetric `a`; return False if it is not clearly positive definite."""
    k = b.size
    for j in range(k):
        floor = 1e-9 * a[j, j]
        pivot = a[j, j]
        for t in range(j):
            pivot -= a[j, t] * a[j, t]
        if not pivot > floor:
            return False
        pivot = np.sqrt(pivot)
        a[j, j] = pivot
        for i in range(j + 1, k):
            total = a[i, j]
            for t in range(j):
                total -= a[i, t] * a[j, t]
            a[i, j] = total / pivot
    for i in range(k):
        for t in range(i):
            b[i] -= a[i, t] * b[t]
        b[i] /= a[i, i]
    for i in range(k - 1, -1, -1):
        for t in range(i + 1, k):
            b[i] -= a[t, i] * b[t]
        b[i] /= a[i, i]
    return True


@jit
def _violation(r, beta, z):  # type: ignore[no-untyped-def]
    """Return the largest distance of `−r` from the subdifferential of the penalty."""
    worst = 0.0
    for j in range(z.size):
        if z[j] == 0.0:
            worst = max(worst, abs(r[j]) - beta[j])
        else:
            worst = max(worst, abs(r[j] + beta[j] * np.sign(z[j])))
    return worst
