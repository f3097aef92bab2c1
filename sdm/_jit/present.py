"""Which points of a table have a value in every variable; for kernels that work on a few points at a time."""

import numpy as np

from sdm._jit import jit


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
