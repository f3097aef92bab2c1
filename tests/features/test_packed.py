"""Columns of zeros and ones in bytes against the columns themselves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdm.features.growing.grown import PackedColumns


@given(st.integers(1, 40), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_packed_columns_answer_like_plain_ones(n, size, seed):
    rng = np.random.default_rng(seed)
    plain = rng.integers(0, 2, size=(size, n)).astype(np.uint8)
    mass, weights = rng.normal(size=n), rng.normal(size=size) * (rng.random(size) < 0.5)
    packed = PackedColumns(n)
    for column in plain:
        packed.add(column)
    theta = np.ones(n)
    packed.add_scores(weights, theta)
    np.testing.assert_allclose(theta, 1 + weights @ plain, atol=1e-12)
    for first in range(size + 1):
        np.testing.assert_allclose(packed.sums(mass, first), plain[first:] @ mass, atol=1e-12)
    keep = np.flatnonzero(rng.random(size) < 0.6)
    fewer = packed.subset(keep)
    assert fewer.size == keep.size
    for j, k in enumerate(keep):
        np.testing.assert_array_equal(fewer.column(j), plain[k])
