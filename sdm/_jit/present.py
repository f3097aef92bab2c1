"""A few points of a map at a time, without those that have a missing value: how kernels over maps begin."""

import numpy as np

from sdm._jit import jit, jit_finite


@jit
def present(x, begin, stop, at):  # type: ignore[no-untyped-def]
    """Note the points from `begin` to `stop` without a missing value in `at`; return how many there are."""
    gone = np.empty(stop - begin, np.uint8)
    for i in range(gone.size):
        gone[i] = 0
    for v in range(x.shape[0]):
        row = x[v, begin:stop]
        for i in range(row.size):
            gone[i] |= row[i] != row[i]
    m = 0
    for i in range(stop - begin):
        at[m] = begin + i
        m += gone[i] == 0
    return m


@jit
def gather(x, begin, stop, at, m, out):  # type: ignore[no-untyped-def]
    """Copy the values of one variable at the first `m` points of `at`: all from `begin` to `stop`, or some of them."""
    if m == stop - begin:
        for i in range(m):
            out[i] = x[begin + i]
    else:
        for i in range(m):
            out[i] = x[at[i]]


@jit_finite
def ends(x):  # type: ignore[no-untyped-def]
    """Return the least and the greatest value; four at a time, so that none waits for the one before."""
    a = b = c = d = x[0]
    e = f = g = h = x[0]
    whole = x.size // 4 * 4
    for i in range(0, whole, 4):
        a, b, c, d = min(a, x[i]), min(b, x[i + 1]), min(c, x[i + 2]), min(d, x[i + 3])
        e, f, g, h = max(e, x[i]), max(f, x[i + 1]), max(g, x[i + 2]), max(h, x[i + 3])
    for i in range(whole, x.size):
        a, e = min(a, x[i]), max(e, x[i])
    return min(min(a, b), min(c, d)), max(max(e, f), max(g, h))
