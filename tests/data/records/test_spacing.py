"""Thinning by distance: every pair far enough apart, nothing left out for no reason, everywhere on the globe."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.data.crs import EARTH_KM
from sdm.data.records.thinning import LEAST_KM, thin_by_distance
from sdm.errors import OptionError

WHERE = {
    "a country": (5, 12, 45, 52),
    "the globe": (-180, 180, -90, 90),
    "the pole": (-180, 180, 87, 90),
    "the date line": (178, 182, -2, 2),
    "one parallel": (-180, 180, 60, 60),
}


def distances(lon, lat):
    """All great-circle distances, by the haversine formula."""
    phi, turn = np.deg2rad(lat), np.deg2rad(lon)
    half = np.sin((phi[:, None] - phi) / 2) ** 2
    half += np.cos(phi[:, None]) * np.cos(phi) * np.sin((turn[:, None] - turn) / 2) ** 2
    return 2 * EARTH_KM * np.arcsin(np.sqrt(np.minimum(half, 1)))


def naive(lon, lat, km, order):
    """Take points in an order, each that is far enough from all taken before."""
    apart, kept = distances(lon, lat), []
    for i in order:
        if all(apart[i, j] >= km for j in kept):
            kept.append(i)
    return kept


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(WHERE)),
    st.floats(0.5, 12_000),
    st.integers(1, 120),
    st.booleans(),
)
def test_far_enough_apart_and_no_room_for_more(seed, where, km, n, uncertain):
    rng = np.random.default_rng(seed)
    left, right, bottom, top = WHERE[where]
    lon, lat = rng.uniform(left, right, n), rng.uniform(bottom, top, n)
    doubt = np.where(rng.random(n) < 0.2, np.nan, rng.integers(1, 5, n)) if uncertain else None
    keep = thin_by_distance(lon, lat, km, tries=3, seed=seed, uncertainty=doubt)
    apart = distances(lon, lat)
    among = apart[np.ix_(keep, keep)] + np.diag(np.full(keep.sum(), np.inf))
    assert among.min(initial=np.inf) >= km * (1 - 1e-9)
    for i in np.flatnonzero(~keep):
        assert apart[i, keep].min() < km * (1 + 1e-9), "a record was left out that had no neighbour"


@pytest.mark.parametrize("where", sorted(WHERE))
def test_more_tries_keep_the_largest_set(where):
    """Every try is what taking points in that order gives, and the best of them is kept."""
    rng = np.random.default_rng(3)
    left, right, bottom, top = WHERE[where]
    lon, lat = rng.uniform(left, right, 150), rng.uniform(bottom, top, 150)
    km = float(np.quantile(distances(lon, lat), 0.05))
    sizes = [thin_by_distance(lon, lat, km, tries=tries, seed=8).sum() for tries in (1, 2, 5, 40)]
    assert sizes == sorted(sizes)
    random = [len(naive(lon, lat, km, rng.permutation(150))) for _ in range(10)]
    assert sizes[-1] >= np.median(random)


def test_one_try_is_the_greedy_set_of_its_order():
    """The sets that are tried are those of a slow re-implementation, for the same order of points."""
    from sdm.data.records import thinning as spacing

    rng = np.random.default_rng(5)
    lon, lat = rng.uniform(0, 3, 300), rng.uniform(0, 3, 300)
    boxes = spacing._Boxes(lon, lat, 20 / EARTH_KM)
    order = rng.permutation(300)
    kept = np.full(boxes.n, -1)
    boxes.add(order, kept)
    expected = naive(lon, lat, 20, boxes.order[order])
    assert sorted(boxes.order[kept[kept >= 0]]) == sorted(expected)


def test_the_more_certain_record_stays():
    lon, lat = np.array([0, 0.01, 5, 5.01, 5.02]), np.zeros(5)
    doubt = np.array([100.0, 10, np.nan, 50, 20])
    keep = thin_by_distance(lon, lat, 5, uncertainty=doubt)
    assert keep.tolist() == [False, True, False, False, True]
    assert thin_by_distance(lon, lat, 5).sum() == 2


def test_certainty_never_costs_records():
    """Swapping a doubtful record for a better one keeps the number of records, or raises it, and lowers the doubt."""
    rng = np.random.default_rng(11)
    lon, lat, doubt = rng.uniform(0, 2, 400), rng.uniform(0, 2, 400), rng.uniform(1, 1000, 400)
    plain, better = thin_by_distance(lon, lat, 15), thin_by_distance(lon, lat, 15, uncertainty=doubt)
    assert better.sum() >= plain.sum()
    assert doubt[better].mean() < 0.8 * doubt[plain].mean()


def test_the_seed_decides():
    rng = np.random.default_rng(2)
    lon, lat = rng.uniform(0, 2, 500), rng.uniform(0, 2, 500)
    one, same, other = (thin_by_distance(lon, lat, 20, tries=1, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_a_short_distance_takes_no_more_room_than_a_long_one():
    """Of the boxes of a millimetre, of which the globe has 10²¹, only those that hold points are made."""
    rng = np.random.default_rng(4)
    lon, lat = rng.uniform(-180, 180, 500), rng.uniform(-90, 90, 500)
    tracemalloc.start()
    assert thin_by_distance(np.append(lon, lon[:9]), np.append(lat, lat[:9]), LEAST_KM).sum() == 500
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 10_000_000


def test_records_at_one_place_are_one():
    assert thin_by_distance(np.full(50, 7.0), np.full(50, 46.0), 0.001).sum() == 1
    for nothing in (0, 1e-9, -1, float("nan")):
        with pytest.raises(OptionError, match=r"thin_distance=.*: expected at least 0\.000001 "):
            thin_by_distance(np.zeros(2), np.zeros(2), nothing)
