"""Kernels that follow μ(ν) from one breakpoint to the next (Dubiner & Singer 2011, §6 and §7).

Each atom `j` has the value `z_j = μ u_j − ν q_j`; it is in I₊, I₀ or I₋ as `z_j` is above 1, between, or below −1. On
a segment `μ U − ν Q + M = 0`, so the atom crosses `s = ±1` at `ν_j = (M u_j + s U) / (Q u_j − U q_j)`, upwards where
the denominator is positive. The smallest such `ν_j` ends the segment.

Any prior: Dubiner & Singer look at every atom for every segment. Here a tree over the atoms holds, for each of the
sets, the largest or least `r u_j − q_j` at the two ends of a window of `r = μ/ν`. Between the ends these are bounded by
straight lines, near enough to find the next atom in O(log n); when the path leaves the window the tree is made anew
around it. Uniform prior: atoms leave I₀ in the order of q, from both ends.

The sums M, U, Q are kept in twice the working precision, so that what is left of them after a million changes is
that of the atoms left.
"""

import numpy as np

from sdm._jit import jit

LEAF = 4  # atoms in a leaf of the tree
SUMS = 8  # M, U, Q and the multiplicity of I₀, each followed by its remainder

# A denominator below this part of its two terms is rounding: the atom runs along with μ(ν) and crosses nothing.
PARALLEL = 1e-15
BORDER = 1e-12  # an atom this near to its border, running along with it, is on it

DONE, FULL = 0, 1  # what a chunk of tracking returns: ended, or out of room
NONE, OUTSIDE = -1, -2  # in place of an atom: there is none left to move, or none before the path leaves the window
FEW = 1 / 64  # a window of r that held fewer moves than this part of n is widened

# One that lets more nodes be looked at than this for each level of the tree is narrowed, once what was looked at is as
# much work as this many new trees.
LOOKS, TREES = 4, 2


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
    """Set `sums` to M, U, Q and the multiplicity of I₀ (with remainders) of the sets in `sign`; return |I₀|, and how
    many of it have q > 0."""
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
    """Move atom j by one set up or down; keep the sums and counts of I₀ (all, and those with q > 0) up to date."""
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
    """Tell whether the path is at ν∞: I₀ is empty, or all of it is on one border, for M = −Σ m z with |z| ≤ 1."""
    return counts[0] == 0 or abs(sums[0] + sums[1]) >= (1.0 - BORDER) * (sums[6] + sums[7])


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
def _excess(row, first, second, c):  # type: ignore[no-untyped-def]
    """How far an atom of a node can be past its border ±c; negative if none is. `first` and `second` are ν times the
    weights of the window's two ends. For I₀ the bounds of the largest and of the least z count, for I₊ of the least,
    for I₋ of the largest; those of empty sets are infinite on the far side."""
    out = -np.inf
    other = first * row[0] + second * row[1] - c
    if other > out:
        out = other
    other = -c - (first * row[2] + second * row[3])
    if other > out:
        out = other
    other = c - (first * row[4] + second * row[5])
    if other > out:
        out = other
    other = first * row[6] + second * row[7] + c
    if other > out:
        out = other
    return out


@jit
def _fill_leaf(u, q, sign, tree, leaf, window):  # type: ignore[no-untyped-def]
    """Set a leaf from its atoms: max r u − q of I₀ at both ends of the window, min of I₀, min of I₊, max of I₋."""
    row = tree[leaf]
    row[:2], row[2:6], row[6:] = -np.inf, np.inf, -np.inf
    start = (leaf - tree.shape[0] // 2) * LEAF
    for j in range(start, min(start + LEAF, u.size)):
        for end in range(2):
            value = window[end] * u[j] - q[j]
            if sign[j] == 0:
                row[end] = max(row[end], value)
                row[2 + end] = min(row[2 + end], value)
            elif sign[j] > 0:
                row[4 + end] = min(row[4 + end], value)
            else:
                row[6 + end] = max(row[6 + end], value)


@jit
def _join(tree, node):  # type: ignore[no-untyped-def]
    """Set a node from its two children; return whether it changed."""
    a, b, row = tree[2 * node], tree[2 * node + 1], tree[node]
    changed = False
    for k in range(8):
        value = min(a[k], b[k]) if 2 <= k < 6 else max(a[k], b[k])
        if value != row[k]:
            row[k] = value
            changed = True
    return changed


@jit
def _renew(u, q, sign, tree, window, r, factor):  # type: ignore[no-untyped-def]
    """Make the tree anew for a window around r: node i has children 2i and 2i + 1, the last half are leaves."""
    window[2] *= factor
    window[0], window[1], window[3], window[4] = r - window[2], r + window[2], 0.0, 0.0
    half = tree.shape[0] // 2
    for leaf in range(half, 2 * half):
        _fill_leaf(u, q, sign, tree, leaf, window)
    for node in range(half - 1, 0, -1):
        _join(tree, node)


@jit
def _next(u, q, sign, tree, window, sums, nu, mu, stack):  # type: ignore[no-untyped-def]
    """Return the atom that leaves its set first, its step, and the ν and μ of it; or NONE, or OUTSIDE of the window. Of
    atoms that leave at the same point those on the border +1 go first: the slope then settles (each of them raises it,
    each on the border −1 lowers it, and no choice comes twice)."""
    big_m, big_u, big_q = sums[0] + sums[1], sums[2] + sums[3], sums[4] + sums[5]
    half = tree.shape[0] // 2
    low, high = window[0], window[1]
    slope = big_q / big_u
    best, best_step, best_upper, best_nu, best_mu = NONE, 0, False, np.inf, np.inf
    share, b, c = (slope - low) / (high - low), 1.0, 0.0  # far out along the segment
    if not low <= slope <= high:
        best, share = OUTSIDE, (1.0 if slope > high else 0.0)
        best_nu = big_m / (big_u * (slope - (high if slope > high else low)))
        if best_nu <= nu:
            return OUTSIDE, 0, nu, mu
        b, c = best_nu, 1.0
    first, second = b * (1.0 - share), b * share
    stack[0] = 1
    depth = 1
    while depth:
        depth -= 1
        node = stack[depth]
        window[4] += 1.0
        if _excess(tree[node], first, second, c) < 0.0:
            continue
        if node < half:
            left, right = _excess(tree[2 * node], first, second, c), _excess(tree[2 * node + 1], first, second, c)
            near = 2 * node if left >= right else 2 * node + 1
            if min(left, right) >= 0.0:
                stack[depth] = near ^ 1
                depth += 1
            if max(left, right) >= 0.0:
                stack[depth] = near
                depth += 1
            continue
        start = (node - half) * LEAF
        for j in range(start, min(start + LEAF, u.size)):
            at, step = _crossing(u[j], q[j], sign[j], big_m, big_u, big_q)
            if step == 0:
                continue
            upper = sign[j] > 0 or (sign[j] == 0 and step > 0)
            late = at <= nu
            at = nu if late else at
            if at < best_nu or (at == best_nu and upper and not best_upper):
                best, best_step, best_upper, best_nu = j, step, upper, at
                border = 1.0 if upper else -1.0
                best_mu = mu if late else max(mu, _height(u[j], q[j], border, at, big_m, big_u, big_q))
                share = min(1.0, max(0.0, (best_mu / best_nu - low) / (high - low)))
                first, second, c = best_nu * (1.0 - share), best_nu * share, 1.0
    return best, best_step, best_nu, best_mu


@jit
def track(u, q, m, sign, tree, window, sums, counts, point, nu_out, mu_out, atom_out, step_out):  # type: ignore[no-untyped-def]
    """Write moves until the path ends or the arrays are full; `point` (ν, μ) and the state go on from there. `window`
    has the ends of r, half its width, how many moves it held, and how many nodes were looked at for them."""
    stack = np.empty(128, dtype=np.int64)
    half = tree.shape[0] // 2
    levels = np.log2(half) + 1.0
    k = 0
    while k < nu_out.size:
        if ended(sums, counts):
            return DONE, k
        j, step, nu, mu = _next(u, q, sign, tree, window, sums, point[0], point[1], stack)
        if j == NONE:
            return DONE, k
        r = point[1] / point[0] if point[0] > 0.0 else (sums[4] + sums[5]) / (sums[2] + sums[3])
        if j == OUTSIDE or not window[0] <= r <= window[1]:
            _renew(u, q, sign, tree, window, r, 2.0 if window[3] < FEW * u.size else 1.0)
            continue
        point[0], point[1] = nu, mu
        move(u, q, m, sign, j, step, sums, counts)
        nu_out[k], mu_out[k], atom_out[k], step_out[k] = nu, mu, j, step
        k += 1
        window[3] += 1.0
        if window[4] > max(TREES * 2.0 * half, LOOKS * levels * window[3]):
            _renew(u, q, sign, tree, window, mu / nu, 0.25)
            continue
        node = half + j // LEAF
        _fill_leaf(u, q, sign, tree, node, window)
        node //= 2
        while node and _join(tree, node):
            node //= 2
    return FULL, k


@jit
def track_uniform(u, q, m, sign, sums, counts, nu_out, mu_out, atom_out, step_out):  # type: ignore[no-untyped-def]
    """Write the moves of a uniform prior, atoms in falling order of q: the ends of what is left leave I₀ (§7)."""
    top, bottom = 0, q.size - 1
    nu, mu = 0.0, 0.0
    k = 0
    while not ended(sums, counts):
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
