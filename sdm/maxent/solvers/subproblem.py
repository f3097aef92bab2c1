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


def solve_l1_quadratic(h: Array, c: Array, beta: Array, start: Array, tolerance: float = 1e-10) -> tuple[Array, bool]:
    """Minimise `½ zᵀHz + c·z + Σ β|z|` from `start`; `h` is symmetric and positive semi-definite up to rounding. Return
    `z`, and whether its optimality violation is at most `tolerance·max β` or rounding, whichever is larger."""
    z, enough = start.copy(), tolerance * float(beta.max())
    # Where features depend on each other, rounding alone decides the curvature, and its sign: lift it by as much.
    h = h.copy()
    h[np.diag_indices(z.size)] *= 1.0 + ROUNDING * np.sqrt(z.size)
    for _ in range(TURNS):
        if _descend(h, c, beta, z, SWEEPS, enough):
            return z, True
        for _ in range(z.size):
            if not _settle(h, c, beta, z):
                break
    return z, _descend(h, c, beta, z, 0, enough)


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
def _settle(h, c, beta, z):  # type: ignore[no-untyped-def]
    """Go to the minimiser for the present support and signs, or towards it, with weights that change sign left at zero;
    then to that of the smaller support, and so on. Return whether the support is still too large.

    One factorisation serves them all: where weights D leave a support whose inverse is G and whose minimiser is x, the
    new minimiser is `x − G_·D (G_DD)⁻¹ x_D`. The change of the objective is computed from its slope: a difference of
    its values is lost in their rounding long before it stops to matter."""
    support, k = np.empty(z.size, np.int64), 0
    for j in range(z.size):
        support[k] = j
        k += z[j] != 0.0
    if k == 0:
        return False
    most = 1 + k // LEAVE
    a, rows = np.empty((k, k)), np.empty((1 + most, k))  # rows: the step to x, then those of G
    start, slope = np.empty(k), np.empty(k)
    for s in range(k):
        j = support[s]
        start[s], slope[s] = z[j], c[j] + beta[j] * np.sign(z[j])
        for t in range(k):
            a[s, t] = h[j, support[t]]
            slope[s] += a[s, t] * z[support[t]]
        rows[0, s] = -slope[s]
    if not _factor(a):
        most = 0  # G would be rounding
    gone = np.int64(0)  # a plain 0 would be compiled a second time, as a constant
    _solve_factored(a, rows, gone, gone)
    target, step, bend, left = np.empty(k), np.empty(k), np.empty(k), np.empty(1 + most, np.int64)
    while True:
        for s in range(k):
            target[s] = start[s] + rows[0, s]
        if gone > 0 and not _without(rows, left, gone, target):
            return True
        crossing, fraction = 0, 1.0
        for s in range(k):
            old = z[support[s]]
            step[s] = target[s] - old if old != 0.0 else 0.0
            if old != 0.0 and old * target[s] <= 0.0:
                step[s] = -old
                crossing += 1
                fraction = min(fraction, old / (old - target[s]))
        # Weights that would change sign go to zero all at once, if that is better than where they are.
        if not _change(h, support, slope, step, bend) < 0.0 and crossing > 0:
            for s in range(k):
                old = z[support[s]]
                step[s] = fraction * (target[s] - old) if old != 0.0 else 0.0
                if abs(old + step[s]) <= ROUNDING * abs(old):
                    step[s] = -old
            _change(h, support, slope, step, bend)
        full = gone + crossing > most
        for s in range(k):
            old = z[support[s]]
            z[support[s]] = old + step[s]
            slope[s] += bend[s]
            if old != 0.0 and old + step[s] == 0.0 and not full:
                left[gone] = s
                gone += 1
                for t in range(k):
                    rows[gone, t] = 0.0
                rows[gone, s] = 1.0
                _solve_factored(a, rows, gone, s)
        if crossing == 0 or full:
            return full


@jit_sum
def _change(h, support, slope, step, bend):  # type: ignore[no-untyped-def]
    """Return `slope·step + ½ stepᵀH step`, the change of the objective by a step that changes no sign; fill
    `bend = H step`."""
    total = 0.0
    for s in range(step.size):
        row = 0.0
        for t in range(step.size):
            row += h[support[s], support[t]] * step[t]
        bend[s] = row
        total += step[s] * (slope[s] + 0.5 * row)
    return total


@jit
def _without(rows, left, gone, target):  # type: ignore[no-untyped-def]
    """Take the effect of the weights that left out of `target`; return False if it cannot be told."""
    a, y = np.empty((gone, gone)), np.empty((1, gone))
    for s in range(gone):
        y[0, s] = target[left[s]]
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
    whether it is clearly positive definite. Rounding takes no pivot below its own size, and a row without curvature
    is fixed."""
    k, clear = a.shape[0], True
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
        clear = clear and pivot > 1e-9 * a[i, i]
        a[i, i] = np.sqrt(max(pivot, ROUNDING * a[i, i])) if a[i, i] > 0.0 else np.inf
    return clear


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
