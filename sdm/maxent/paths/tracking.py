"""Kernels that follow μ(ν) from one breakpoint to the next (Dubiner & Singer 2011, §6 and §7).

Each atom `j` has the value `z_j = μ u_j − ν q_j`. It is in I₊, I₀ or I₋ if `z_j` is above 1, between −1 and 1, or below
−1. On a segment `μ U − ν Q + M = 0`, so the atom crosses `s = ±1` at `ν_j = (M u_j + s U) / (Q u_j − U q_j)`, upwards
if the denominator is positive. The smallest such `ν_j` ends the segment.

For a general prior, every segment checks all atoms. For a uniform prior, atoms leave I₀ in the order of q, from both
ends.

The sums M, U, Q are stored in twice the working precision, so that they remain accurate after a million changes.
"""

import numpy as np

from sdm._jit import jit

SUMS = 8  # M, U, Q and the multiplicity of I₀, each followed by its remainder

# A denominator below this share of its two terms is a rounding error: the atom is parallel to μ(ν) and never crosses.
PARALLEL = 1e-15
BORDER = 1e-12  # largest distance of parallel atoms on a border

DONE, FULL = 0, 1  # status of a chunk: finished, or arrays full
NONE = -1  # no atom is left to move


@jit
def _add(sums, k, x):  # type: ignore[no-untyped-def]
    """Add x to the sum in sums[k], and its rounding error to sums[k + 1]."""
    old = sums[k]
    new = old + x
    part = new - old
    sums[k] = new
    sums[k + 1] += (old - (new - part)) + (x - part)


@jit
def total_sums(u, q, m, sign, sums):  # type: ignore[no-untyped-def]
    """Set `sums` to M, U, Q and the multiplicity of I₀ (with remainders) for the sets in `sign`.

    Return |I₀| and the number of its atoms with q > 0.
    """
    sums[:] = 0.0
    inside, positive = 0, 0
    for j in range(u.size):
        if sign[j] == 0:
            _add(sums, 2, m[j] * u[j])
            _add(sums, 4, m[j] * q[j])
            _add(sums, 6, m[j])
            inside += 1
            positive += q[j] > 0.0
        else:
            _add(sums, 0, sign[j] * m[j])
    return inside, positive


@jit
def move(u, q, m, sign, j, step, sums, counts):  # type: ignore[no-untyped-def]
    """Move atom j by one set up or down, and update the sums and counts of I₀ (all atoms, and atoms with q > 0)."""
    side = 1.0 if sign[j] != 0 else -1.0  # into I₀ or out of it
    sign[j] += step
    _add(sums, 0, step * m[j])
    _add(sums, 2, side * m[j] * u[j])
    _add(sums, 4, side * m[j] * q[j])
    _add(sums, 6, side * m[j])
    counts[0] += 1 if side > 0 else -1
    if q[j] > 0.0:
        counts[1] += 1 if side > 0 else -1
        if counts[1] == 0:
            sums[4] = 0.0
            sums[5] = 0.0


@jit
def ended(sums, counts):  # type: ignore[no-untyped-def]
    """Return whether the path is at ν∞: I₀ is empty, or all of it is on one border, for M = −Σ m z with |z| ≤ 1."""
    return counts[0] == 0 or abs(sums[0] + sums[1]) >= (1.0 - BORDER) * (sums[6] + sums[7])


@jit
def _crossing(u, q, sign, big_m, big_u, big_q):  # type: ignore[no-untyped-def]
    """Return the ν at which an atom next leaves its set, and its step up or down; step 0 if it never leaves."""
    up, down = big_q * u, big_u * q
    slope = up - down
    if abs(slope) <= PARALLEL * (up + down):
        return np.inf, 0
    step = 1 if slope > 0.0 else -1
    if sign == step:
        return np.inf, 0
    border = step if sign == 0 else sign
    return (big_m * u + border * big_u) / slope, step


@jit
def _height(u, q, border, nu, big_m, big_u, big_q):  # type: ignore[no-untyped-def]
    """Return μ at the intersection of the segment with an atom's border at ν, by the more accurate of two formulas."""
    if (q * nu + 1.0) * big_u < (big_q * nu + abs(big_m)) * u:
        return (q * nu + border) / u
    return (big_q * nu - big_m) / big_u


@jit
def _next(u, q, sign, sums, nu, mu):  # type: ignore[no-untyped-def]
    """Return the first atom to leave its set (or NONE), its step, and the ν and μ of the move.

    For ties, atoms on the border +1 move first. Then the slope settles: each of them increases it, each on the border
    −1 decreases it, and no state repeats.
    """
    big_m, big_u, big_q = sums[0] + sums[1], sums[2] + sums[3], sums[4] + sums[5]
    best, best_step, best_upper, best_nu = NONE, 0, False, np.inf
    for j in range(u.size):
        crossing, step = _crossing(u[j], q[j], sign[j], big_m, big_u, big_q)
        if step != 0:
            crossing, upper = max(crossing, nu), sign[j] > 0 or (sign[j] == 0 and step > 0)
            if crossing < best_nu or (crossing == best_nu and upper and not best_upper):
                best, best_step, best_upper, best_nu = j, step, upper, crossing
    if best != NONE and best_nu > nu:
        mu = max(mu, _height(u[best], q[best], 1.0 if best_upper else -1.0, best_nu, big_m, big_u, big_q))
    return best, best_step, best_nu, mu


@jit
def track(u, q, m, sign, sums, counts, point, nu_out, mu_out, atom_out, step_out):  # type: ignore[no-untyped-def]
    """Write moves until the path ends or the arrays are full; `point` (ν, μ) and the state continue from there."""
    for k in range(nu_out.size):
        if ended(sums, counts):
            return DONE, k
        j, step, nu, mu = _next(u, q, sign, sums, point[0], point[1])
        if j == NONE:
            return DONE, k
        point[0], point[1] = nu, mu
        move(u, q, m, sign, j, step, sums, counts)
        nu_out[k], mu_out[k], atom_out[k], step_out[k] = nu, mu, j, step
    return FULL, nu_out.size


@jit
def track_uniform(u, q, m, sign, sums, counts, nu_out, mu_out, atom_out, step_out):  # type: ignore[no-untyped-def]
    """Write the moves of a uniform prior, for atoms in falling order of q: both ends of I₀ leave it (§7)."""
    top, bottom = 0, q.size - 1
    nu, mu = 0.0, 0.0
    k = 0
    while not ended(sums, counts):
        big_m, big_u, big_q = sums[0] + sums[1], sums[2] + sums[3], sums[4] + sums[5]
        nu_top, step_top = _crossing(u[top], q[top], 0, big_m, big_u, big_q)
        nu_bottom, step_bottom = _crossing(u[bottom], q[bottom], 0, big_m, big_u, big_q)
        if step_top >= 0 and step_bottom <= 0:
            break
        if step_top < 0 and (step_bottom <= 0 or nu_top <= nu_bottom):
            j, nu_next, step = top, nu_top, -1
            top += 1
        else:
            j, nu_next, step = bottom, nu_bottom, 1
            bottom -= 1
        if nu_next > nu:
            nu, mu = nu_next, max(mu, _height(u[j], q[j], step, nu_next, big_m, big_u, big_q))
        move(u, q, m, sign, j, step, sums, counts)
        nu_out[k], mu_out[k], atom_out[k], step_out[k] = nu, mu, j, step
        k += 1
    return k
