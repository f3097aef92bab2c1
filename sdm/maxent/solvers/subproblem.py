"""The inner problem of proximal Newton: a small quadratic with an l1 penalty.

`min_z ½ zᵀHz + c·z + Σ β_j |z_j|`. Coordinate descent finds the support and signs; on a fixed support with fixed
signs the answer is one linear solve; weights that would change sign go to zero if that is better, else it is cut short
where the first of them does. Both alternate until optimal.
"""

import numpy as np

from sdm._jit import jit, jit_sum
from sdm.types import Array

LEAVE = 4  # one of so many weights may leave a support before it is factorised anew
ROUNDING = 2.0 * float(np.finfo(np.float64).eps)  # of a sum, in units of its terms
TURNS = 200  # at most; a few are enough unless features depend on each other
SWEEPS = 10  # sweeps before each solve: cheap beside it, and they drop most weights that have to go
MORE_SWEEPS = 30  # after a solve that did not help


def solve_l1_quadratic(h: Array, c: Array, beta: Array, start: Array, tolerance: float = 1e-10) -> Array:
    """Minimise `½ zᵀHz + c·z + Σ β|z|` from `start`, to an optimality violation of `tolerance·max β` or of rounding,
    whichever is larger; `h` is symmetric and positive semi-definite."""
    z, sweeps, enough = start.copy(), SWEEPS, tolerance * float(beta.max())
    for _ in range(TURNS):
        if _descend(h, c, beta, z, sweeps, enough):
            break
        before, value, sweeps = z.copy(), _value(h, c, beta, z), SWEEPS
        for _ in range(z.size):
            if not _settle(h, c, beta, z):
                break
        if not _value(h, c, beta, z) <= value:
            z, sweeps = before, MORE_SWEEPS
    return z


@jit
def _descend(h, c, beta, z, sweeps, tolerance):  # type: ignore[no-untyped-def]
    """Minimise over each coordinate in turn, so many times; return True if `z` is optimal as it is."""
    r = c.copy()  # Hz + c, by loops: the compiler's own matrix product would need scipy
    for j in range(z.size):
        if z[j] != 0.0:
            for i in range(z.size):
                r[i] += z[j] * h[j, i]
    if _optimal(h, c, beta, z, r, tolerance):
        return True
    for _ in range(sweeps):
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
    return False


@jit
def _optimal(h, c, beta, z, r, tolerance):  # type: ignore[no-untyped-def]
    """Return whether `−r` is nowhere farther from the subdifferential of the penalty than `tolerance`, or than the
    rounding of `r = Hz + c`."""
    for j in range(z.size):
        away = abs(r[j] + beta[j] * np.sign(z[j])) if z[j] != 0.0 else abs(r[j]) - beta[j]
        if away > tolerance:
            size = abs(c[j])
            for i in range(z.size):
                size += abs(h[j, i] * z[i])
            if away > ROUNDING * size:
                return False
    return True


@jit
def _copy(values, out):  # type: ignore[no-untyped-def]
    """Fill an array by a loop: an assignment of arrays takes three seconds to compile, most of them for its message."""
    for i in range(out.size):
        out[i] = values[i]


@jit_sum
def _value(h, c, beta, z):  # type: ignore[no-untyped-def]
    """½ zᵀHz + c·z + Σ β|z|."""
    total = 0.0
    for j in range(z.size):
        if z[j] != 0.0:
            row = 0.0
            for i in range(z.size):
                row += h[j, i] * z[i]
            total += z[j] * (0.5 * row + c[j]) + beta[j] * abs(z[j])
    return total


@jit
def _settle(h, c, beta, z):  # type: ignore[no-untyped-def]
    """Go to the minimiser for the present support and signs, or towards it, with weights that change sign left at zero;
    then to that of the smaller support, and so on. Return whether the support is still too large.

    One factorisation serves them all: where weights D leave a support whose inverse is G and whose minimiser is x, the
    new minimiser is `x − G_·D (G_DD)⁻¹ x_D`."""
    support, k = np.empty(z.size, np.int64), 0
    for j in range(z.size):
        support[k] = j
        k += z[j] != 0.0
    if k == 0:
        return False
    most = 1 + k // LEAVE
    a, rows = np.empty((k, k)), np.empty((1 + most, k))  # rows: x, then those of G
    # Features that depend on each other make the system singular: then the step is kept short along what it cannot
    # tell.
    damp, solved = 0.0, False
    while not solved and damp <= 1.0:
        for s in range(k):
            j = support[s]
            rows[0, s] = damp * h[j, j] * z[j] - c[j] - beta[j] * np.sign(z[j])
            for t in range(k):
                a[s, t] = h[j, support[t]]
            a[s, s] *= 1.0 + damp
        solved = _factor(a)
        if damp > 0.0:
            most = 0
        damp = 1e-6 if damp == 0.0 else 100.0 * damp
    if not solved:
        return False
    gone = np.int64(0)  # a plain 0 would be compiled a second time, as a constant
    _solve_factored(a, rows, gone, gone)
    target, trial, left = np.empty(k), z.copy(), np.empty(1 + most, np.int64)
    value = _value(h, c, beta, z)
    while True:
        for s in range(k):
            target[s] = rows[0, s]
        if gone > 0 and not _without(rows, left, gone, target):
            return True
        crossing, fraction, first = 0, 1.0, -1
        for s in range(k):
            old, new = z[support[s]], target[s]
            trial[support[s]] = new
            if old * new <= 0.0:
                trial[support[s]] = 0.0
                if old != 0.0:
                    crossing += 1
                    if old / (old - new) < fraction:
                        fraction, first = old / (old - new), s
        # Weights that would change sign go to zero all at once, if that is better than where they are.
        better = value
        if crossing > 0:
            better = _value(h, c, beta, trial)
            if first >= 0 and not better < value:
                for s in range(k):
                    old = z[support[s]]
                    trial[support[s]] = old + fraction * (target[s] - old) if old != 0.0 else 0.0
                trial[support[first]] = 0.0
                better = _value(h, c, beta, trial)
        full = gone + crossing > most
        for s in range(k):
            if z[support[s]] != 0.0 and trial[support[s]] == 0.0 and not full:
                left[gone] = s
                gone += 1
                for t in range(k):
                    rows[gone, t] = 0.0
                rows[gone, s] = 1.0
                _solve_factored(a, rows, gone, s)
        _copy(trial, z)
        value = better
        if crossing == 0 or full:
            return full


@jit
def _without(rows, left, gone, target):  # type: ignore[no-untyped-def]
    """Take the effect of the weights that left out of `target`; return False if it cannot be told."""
    a, y = np.empty((gone, gone)), np.empty((1, gone))
    for s in range(gone):
        y[0, s] = rows[0, left[s]]
        for t in range(gone):
            a[s, t] = rows[1 + s, left[t]]
    if not _factor(a):
        return False
    _solve_factored(a, y, np.int64(0), np.int64(0))
    for s in range(gone):
        for t in range(target.size):
            target[t] -= y[0, s] * rows[1 + s, t]
    return True


@jit_sum
def _factor(a):  # type: ignore[no-untyped-def]
    """Put the Cholesky factor of symmetric `a` in its lower half, four rows at a time, so that less is read; return
    False if it is not clearly positive definite."""
    k = a.shape[0]
    for i in range(k):
        done = i - i % 4
        if i == done and i + 4 <= k:
            for j in range(i):
                w, x, y, z = a[i, j], a[i + 1, j], a[i + 2, j], a[i + 3, j]
                for t in range(j):
                    w -= a[i, t] * a[j, t]
                    x -= a[i + 1, t] * a[j, t]
                    y -= a[i + 2, t] * a[j, t]
                    z -= a[i + 3, t] * a[j, t]
                a[i, j], a[i + 1, j], a[i + 2, j], a[i + 3, j] = w / a[j, j], x / a[j, j], y / a[j, j], z / a[j, j]
        pivot = a[i, i]
        for j in range(done if done + 4 <= k else 0, i):
            w = a[i, j]
            for t in range(j):
                w -= a[i, t] * a[j, t]
            a[i, j] = w / a[j, j]
        for t in range(i):
            pivot -= a[i, t] * a[i, t]
        if not pivot > 1e-9 * a[i, i]:
            return False
        a[i, i] = np.sqrt(pivot)
    return True


@jit_sum
def _solve_factored(a, b, row, first):  # type: ignore[no-untyped-def]
    """Solve for a row of `b` in place, with the factor in `a`; before `first` the row is zero."""
    k = a.shape[0]
    for i in range(first, k):
        total = b[row, i]
        for t in range(first, i):
            total -= a[i, t] * b[row, t]
        b[row, i] = total / a[i, i]
    for i in range(k - 1, -1, -1):
        b[row, i] /= a[i, i]
        for t in range(i):
            b[row, t] -= a[i, t] * b[row, i]
