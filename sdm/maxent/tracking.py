"""Kernels that follow μ(ν) from one breakpoint to the next (relaxation-path.txt §6 and §7).

Each atom `j` has the value `z_j = μ u_j − ν q_j`; it is in I₊, I₀ or I₋ as `z_j` is above 1, between, or below −1. On
a segment `μ U − ν Q + M = 0`, so the atom crosses `s = ±1` at `ν_j = (M u_j + s U) / (Q u_j − U q_j)`, upwards where
the denominator is positive. The smallest such `ν_j` ends the segment.

Any prior: the paper looks at every atom for every segment. Here atoms that are near each other in (u, q) share a box,
boxes form a tree, and a box whose corner has not crossed at the best `ν_j` so far holds no atom that has: most of
the tree is never entered. Uniform prior: atoms leave I₀ in the order of q, from both ends.

The sums M, U, Q are kept in twice the working precision, so that what is left of them after a million changes is
that of the atoms left.
"""

import numpy as np

from sdm._jit import jit

LEAF = 8  # atoms in a leaf of the tree

# A denominator below this part of its two terms is rounding: the atom runs along with μ(ν) and crosses nothing.
PARALLEL = 1e-15

# What a chunk of tracking returns: ended, or out of room.
DONE, FULL = 0, 1


@jit
def _add(sums, k, x):  # type: ignore[no-untyped-def]
    """Add x to the sum kept in sums[k] and, what rounding took from it, in sums[k + 1]."""
    old = sums[k]
    new = old + x
    part = new - old
    sums[k] = new
    sums[k + 1] += (old - (new - part)) + (x - part)


@jit
def total_sums(u, q, m, sign, sums):  # type: ignore[no-untyped-def]
    """Set `sums` to M, U, Q (with remainders) of the sets in `sign`; return |I₀|, and how many of it have q > 0."""
    sums[:] = 0.0
    inside, positive = 0, 0
    for j in range(u.size):
        if sign[j] == 0:
            _add(sums, 2, m[j] * u[j])
            _add(sums, 4, m[j] * q[j])
            inside += 1
            positive += q[j] > 0.0
        else:
            _add(sums, 0, sign[j] * m[j])
    return inside, positive


@jit
def move(u, q, m, sign, j, step, sums, counts):  # type: ignore[no-untyped-def]
    """Move atom j by one set up or down; keep the sums and counts of I₀ (all, and those with q > 0) up to date."""
    side = 1.0 if sign[j] != 0 else -1.0  # into I₀ or out of it
    sign[j] += step
    _add(sums, 0, step * m[j])
    _add(sums, 2, side * m[j] * u[j])
    _add(sums, 4, side * m[j] * q[j])
    counts[0] += 1 if side > 0 else -1
    if q[j] > 0.0:
        counts[1] += 1 if side > 0 else -1
        if counts[1] == 0:
            sums[4] = 0.0
            sums[5] = 0.0


@jit
def _crossing(u, q, sign, big_m, big_u, big_q):  # type: ignore[no-untyped-def]
    """Return the ν at which an atom next leaves its set, and its step up or down; step 0 if it never does."""
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
    """Return μ where the segment meets an atom's border at ν, from the atom's line or its own: what loses less."""
    if (q * nu + 1.0) * big_u < (big_q * nu + abs(big_m)) * u:
        return (q * nu + border) / u
    return (big_q * nu - big_m) / big_u


@jit
def _excess(box, a, b, c):  # type: ignore[no-untyped-def]
    """How far the best corner of a box is past its border at (μ, ν) = (a, b) with borders ±c; negative if it is not.

    For I₀ the box's largest and smallest μu − νq, for I₊ the smallest, for I₋ the largest. Empty sets have infinite
    corners on the far side.
    """
    out = -np.inf
    other = box[0] * a - box[1] * b - c
    if other > out:
        out = other
    other = -c - (box[2] * a - box[3] * b)
    if other > out:
        out = other
    other = c - (box[4] * a - box[5] * b)
    if other > out:
        out = other
    other = box[6] * a - box[7] * b + c
    if other > out:
        out = other
    return out


@jit
def _fill_leaf(u, q, sign, box, leaf):  # type: ignore[no-untyped-def]
    """Set the corners of a leaf from its atoms."""
    row = box[leaf]
    row[0], row[1], row[2], row[3] = -np.inf, np.inf, np.inf, -np.inf
    row[4], row[5], row[6], row[7] = np.inf, -np.inf, -np.inf, np.inf
    first = (leaf - box.shape[0] // 2) * LEAF
    for j in range(first, min(first + LEAF, u.size)):
        if sign[j] == 0:
            row[0], row[1] = max(row[0], u[j]), min(row[1], q[j])
            row[2], row[3] = min(row[2], u[j]), max(row[3], q[j])
        elif sign[j] > 0:
            row[4], row[5] = min(row[4], u[j]), max(row[5], q[j])
        else:
            row[6], row[7] = max(row[6], u[j]), min(row[7], q[j])


@jit
def _join(box, node):  # type: ignore[no-untyped-def]
    """Set a node's corners from its two children; return whether they changed."""
    a, b, row = box[2 * node], box[2 * node + 1], box[node]
    changed = False
    for k in range(8):
        largest = k == 0 or k == 3 or k == 5 or k == 6
        value = max(a[k], b[k]) if largest else min(a[k], b[k])
        if value != row[k]:
            row[k] = value
            changed = True
    return changed


@jit
def build_tree(u, q, sign, box):  # type: ignore[no-untyped-def]
    """Fill the tree over atoms in their order: node i has children 2i and 2i + 1, the last half are leaves."""
    half = box.shape[0] // 2
    for leaf in range(half, 2 * half):
        _fill_leaf(u, q, sign, box, leaf)
    for node in range(half - 1, 0, -1):
        _join(box, node)


@jit
def _next(u, q, sign, box, sums, nu, mu, stack):  # type: ignore[no-untyped-def]
    """Return the atom that leaves its set first, its step, and the ν and μ of it; atom −1 if there is none.

    Of atoms that leave at the same point those on the border +1 go first: the slope then settles (each of them
    raises it, each on the border −1 lowers it, and no choice comes twice).
    """
    big_m, big_u, big_q = sums[0] + sums[1], sums[2] + sums[3], sums[4] + sums[5]
    half = box.shape[0] // 2
    a, b, c = big_q / big_u, 1.0, 0.0  # far out along the segment
    best, best_step, best_upper, best_nu, best_mu = -1, 0, False, np.inf, np.inf
    stack[0] = 1
    depth = 1
    while depth:
        depth -= 1
        node = stack[depth]
        if _excess(box[node], a, b, c) < 0.0:
            continue
        if node < half:
            left, right = _excess(box[2 * node], a, b, c), _excess(box[2 * node + 1], a, b, c)
            near = 2 * node if left >= right else 2 * node + 1
            if min(left, right) >= 0.0:
                stack[depth] = near ^ 1
                depth += 1
            if max(left, right) >= 0.0:
                stack[depth] = near
                depth += 1
            continue
        first = (node - half) * LEAF
        for j in range(first, min(first + LEAF, u.size)):
            z, s = u[j] * a - q[j] * b, sign[j]
            if (s == 0 and abs(z) < c) or (s > 0 and z > c) or (s < 0 and z < -c):
                continue
            at, step = _crossing(u[j], q[j], s, big_m, big_u, big_q)
            if step == 0:
                continue
            upper = s > 0 or (s == 0 and step > 0)
            late = at <= nu
            at = nu if late else at
            if at < best_nu or (at == best_nu and upper and not best_upper):
                best, best_step, best_upper, best_nu = j, step, upper, at
                border = 1.0 if upper else -1.0
                best_mu = mu if late else max(mu, _height(u[j], q[j], border, at, big_m, big_u, big_q))
                a, b, c = best_mu, best_nu, 1.0
    return best, best_step, best_nu, best_mu


@jit
def track(u, q, m, sign, box, sums, counts, point, nu_out, mu_out, atom_out, step_out):  # type: ignore[no-untyped-def]
    """Write moves until the path ends or the arrays are full; `point` (ν, μ) and the state go on from there."""
    stack = np.empty(128, dtype=np.int64)
    half = box.shape[0] // 2
    for k in range(nu_out.size):
        if counts[0] == 0:
            return DONE, k
        j, step, point[0], mu = _next(u, q, sign, box, sums, point[0], point[1], stack)
        if j < 0:
            return DONE, k
        point[1] = mu
        move(u, q, m, sign, j, step, sums, counts)
        nu_out[k], mu_out[k], atom_out[k], step_out[k] = point[0], point[1], j, step
        node = half + j // LEAF
        _fill_leaf(u, q, sign, box, node)
        node //= 2
        while node and _join(box, node):
            node //= 2
    return FULL, nu_out.size


@jit
def track_uniform(u, q, m, sign, sums, counts, nu_out, mu_out, atom_out, step_out):  # type: ignore[no-untyped-def]
    """Write the moves of a uniform prior, atoms in falling order of q: the ends of what is left leave I₀ (§7)."""
    top, bottom = 0, q.size - 1
    nu, mu = 0.0, 0.0
    k = 0
    while top <= bottom:
        big_m, big_u, big_q = sums[0] + sums[1], sums[2] + sums[3], sums[4] + sums[5]
        at_top, step_top = _crossing(u[top], q[top], 0, big_m, big_u, big_q)
        at_bottom, step_bottom = _crossing(u[bottom], q[bottom], 0, big_m, big_u, big_q)
        if step_top >= 0 and step_bottom <= 0:
            break
        if step_top < 0 and (step_bottom <= 0 or at_top <= at_bottom):
            j, at, step = top, at_top, -1
            top += 1
        else:
            j, at, step = bottom, at_bottom, 1
            bottom -= 1
        if at > nu:
            nu, mu = at, max(mu, _height(u[j], q[j], step, at, big_m, big_u, big_q))
        move(u, q, m, sign, j, step, sums, counts)
        nu_out[k], mu_out[k], atom_out[k], step_out[k] = nu, mu, j, step
        k += 1
    return k
