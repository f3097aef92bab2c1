"""Ranks of cells that species share: the same as of all cells sorted together, whatever the presences bring."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.features.domain import Domain
from sdm.features.finite.product import ProductFamily
from sdm.features.ranks import CellRanks, rank_cells


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(0, 9))
def test_presences_take_their_places_among_the_cells(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    cells, rows = (np.round(rng.normal(size=(size, 3)), 1) for size in (n, m))
    values, codes = CellRanks(cells).with_rows(rows)
    for v, column in enumerate(np.vstack([cells, rows]).T):
        expected, ranks = np.unique(column, return_inverse=True)
        np.testing.assert_array_equal(values[v], expected)
        np.testing.assert_array_equal(codes[v], ranks)


def test_the_same_cells_are_ranked_once_and_others_anew() -> None:
    cells = np.random.default_rng(1).normal(size=(20, 2))
    first = rank_cells(cells)
    assert rank_cells(cells.copy()) is first
    assert rank_cells(cells + 1.0) is not first
    assert rank_cells(cells[:10]) is not first
    assert rank_cells(cells[:10]).cells.shape == (10, 2)


@pytest.mark.parametrize("shift", [0.0, 500.0])  # far from zero, what products are counted from is the least value
def test_products_of_shared_cells_have_the_ranges_of_all(shift: float) -> None:
    rng = np.random.default_rng(2)
    cells = rng.normal(size=(50, 3)) + shift
    for _ in range(3):  # with presences inside and outside the range of the cells
        x = np.vstack([cells, 3.0 * rng.normal(size=(4, 3)) + shift])
        alone, shared = (ProductFamily(Domain(x, list("abc"), shared=count)) for count in (None, len(cells)))
        np.testing.assert_array_equal(shared.lo, alone.lo)
        np.testing.assert_array_equal(shared.hi, alone.hi)
        np.testing.assert_array_equal(shared.column(1), alone.column(1))
