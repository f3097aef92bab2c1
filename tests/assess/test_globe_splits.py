"""Folds in space across the date line and round the poles: the same as where neither is."""

import numpy as np
import pytest
from pyproj import Geod

from sdm.assess.splits.spatial import blocks, buffered_leave_one_out, equal_blocks
from sdm.data.rasters.globe import in_one_piece


def scattered(n, west, east, south, north, seed=1):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.uniform(west, east, n), np.degrees(np.arcsin(rng.uniform(*np.sin(np.radians([south, north])), n)))]
    )


def turned(xy, degrees):
    return np.column_stack([(xy[:, 0] + degrees + 180) % 360 - 180, xy[:, 1]])


@pytest.mark.parametrize("by", [10, 120, 170, 180, -179.5])
@pytest.mark.parametrize("box", [(-20, 30, -40, 40), (-170, 175, -80, 85), (-80, 80, 60, 89)])
def test_blocks_do_not_know_where_the_date_line_is(by, box):
    xy, around = scattered(60, *box), scattered(500, *box, seed=2)
    here = blocks(xy, around, 400, 4, geographic=True)
    there = blocks(turned(xy, by), turned(around, by), 400, 4, geographic=True)
    np.testing.assert_array_equal(here.group, there.group)
    np.testing.assert_array_equal(here.background_group, there.background_group)


@pytest.mark.parametrize(
    "box", [(-180, 180, -90, 90), (-180, 180, 70, 90), (-180, 180, -90, -75), (150, 210, -30, 30), (0, 90, 75, 90)]
)
@pytest.mark.parametrize("size", [500, 1000])
def test_blocks_are_pieces_of_ground(box, size):
    """Two points of one block are at most a few sides apart, and blocks have about as much area as a square."""
    from sdm.assess.splits.spatial import _blocks_on_globe

    xy = turned(scattered(200_000, *box), 0)
    cells, lines = _blocks_on_globe(xy[:5], xy[5:], size)
    assert lines, "the lines between blocks can be drawn"
    _, block, count = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    steradians = np.radians(box[1] - box[0]) * np.ptp(np.sin(np.radians(box[2:])))
    area = count / len(xy) * steradians * 6371.0088**2
    assert 0.5 < np.quantile(area, 0.75) / size**2 < 1.3, "squeezed to nothing, or stretched"
    assert area.max() < 2 * size**2
    geod = Geod(ellps="sphere")
    rng = np.random.default_rng(1)
    for one in rng.choice(len(count), min(60, len(count)), replace=False):
        members = xy[block.ravel() == one]
        a, b = members[rng.integers(0, len(members), (2, 50))]
        apart = geod.inv(a[:, 0], a[:, 1], b[:, 0], b[:, 1])[2] / 1000
        assert apart.max() < 3.5 * size, "torn apart"


def test_neighbours_across_the_date_line_share_blocks():
    """Points at 179.9° and -179.9° lie 22 km apart; blocks of 1000 km rarely come between them."""
    lat = np.linspace(-60, 60, 200)
    east, west = np.column_stack([np.full(200, 179.9), lat]), np.column_stack([np.full(200, -179.9), lat])
    around = turned(scattered(400, 150, 210, -60, 60), 0)
    group = blocks(np.vstack([east, west]), around, 1000, 4, geographic=True).group
    assert np.mean(group[:200] == group[200:]) > 0.8


@pytest.mark.parametrize("orientation", ["lat_lon", "lon_lat", "lon_lon"])
@pytest.mark.parametrize("by", [50, 178, 180, -140])
def test_equal_blocks_halve_longitudes_in_one_piece(orientation, by):
    xy, around = scattered(41, -30, 30, -20, 20), scattered(300, -35, 35, -25, 25, seed=2)
    here = equal_blocks(xy, around, orientation)
    moved, others = turned(xy, by), turned(around, by)
    moved[:, 0], others[:, 0] = in_one_piece(moved[:, 0], others[:, 0])
    there = equal_blocks(moved, others, orientation)
    np.testing.assert_array_equal(here.group, there.group)
    np.testing.assert_array_equal(here.background_group, there.background_group)


def test_a_buffer_reaches_over_the_date_line_and_the_pole():
    xy = np.array([[179.5, 10], [-179.5, 10], [0, 89.5], [180, 89.5], [20, 20], [30, -40]], dtype=float)
    split = buffered_leave_one_out(xy, xy, 150, geographic=True)
    near = [set(range(6)) - set(fold.train) - set(fold.test) for fold in split.folds]
    assert near == [{1}, {0}, {3}, {2}, set(), set()]


def test_lines_between_parts_of_belts():
    """Two belts of 10° from the equator, of four parts and of two, on a globe that is cut at 20° west."""
    from sdm.assess.splits.spatial import belt_lines

    lines = [np.round(line, 9).tolist() for line in belt_lines(0.0, -20.0, 10.0, {0: 4, 1: 2})]
    parallels = [[[-20.0, lat], [340.0, lat]] for lat in (0.0, 10.0, 20.0)]
    meridians = [[[lon, 0.0], [lon, 10.0]] for lon in (-20.0, 70.0, 160.0, 250.0)]
    meridians += [[[lon, 10.0], [lon, 20.0]] for lon in (-20.0, 160.0)]
    assert sorted(lines) == sorted(parallels + meridians)
    assert belt_lines(0.0, -20.0, 0.01, {0: 30_000}) == (), "too many to draw"
