"""Cleaning: every record must be accounted for, and no good record lost without a word."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.layers import open_stack
from sdm.data.records.clean import REASONS, clean, finish_cleaning, locate
from sdm.data.records.occurrences import Occurrences, read_occurrences
from sdm.data.records.samples import read_swd
from sdm.errors import DataError, OptionError

SETTINGS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def records(x, y, species="a", crs="EPSG:4326") -> Occurrences:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    names = [species] * len(x) if isinstance(species, str) else species
    return Occurrences(np.array(names, dtype=object), x, y, crs, np.arange(len(x)) + 2)


numbers = st.one_of(st.floats(-200, 200), st.sampled_from([0.0, np.nan, np.inf, 10.0, 10.5, 50.0, 49.5, 12.25, 40.0]))


@SETTINGS
@given(
    st.lists(st.tuples(st.sampled_from("abc"), numbers, numbers), min_size=1, max_size=40),
    st.sampled_from([0, 1, 2.5, 20]),
    st.booleans(),
)
def test_ledger_adds_up(stack, rows, snap, remove_duplicates):
    species, x, y = zip(*rows)
    located = locate(records(x, y, list(species)), stack)
    values = stack.sample(*located.cells)
    points, ledger = finish_cleaning(located, values, snap=snap, remove_duplicates=remove_duplicates)
    assert sum(count["read"] for count in ledger.counts.values()) == len(rows)
    for name, count in ledger.counts.items():
        assert count["read"] == species.count(name) == sum(count[reason] for reason in REASONS)
        assert count["kept"] == len(points.get(name, ()))
        assert count["snapped"] <= count["kept"] + count["duplicates"]
    for name, kept in points.items():
        assert set(np.array(species)[kept.index]) == {name}
        assert not np.isnan(kept.values).any()
        np.testing.assert_array_equal(kept.values, stack.sample(kept.rows, kept.cols))
        np.testing.assert_array_equal(stack.rowcol(kept.x, kept.y), [kept.rows, kept.cols])
        if remove_duplicates:
            assert len(set(zip(kept.rows, kept.cols))) == len(kept)


def test_each_reason(stack):
    """The landscape is x 10..55, y 20..50, with nodata in x 10..15, y 45..50 and x 50..55, y 20..25."""
    x = [20, 20.1, np.nan, 0, 30, 40, 100, 12, 20]
    y = [30, 30.1, 30, 0, 15, 130, 40, 48, 30.6]
    # swapped: (30, 15) is south of the extent, but (15, 30) is in it; (40, 130) is nowhere
    points, ledger = clean(records(x, y), stack)
    assert ledger.counts["a"] == {
        "read": 9,
        "unreadable": 0,
        "filtered": 0,
        "no_coordinates": 1,
        "zero_coordinates": 1,
        "impossible": 1,
        "swapped": 1,
        "outside_extent": 1,
        "equal_coordinates": 0,
        "whole_degrees": 0,
        "repeated_point": 0,
        "outside_area": 0,
        "in_the_sea": 0,
        "nodata": 1,
        "no_effort": 0,
        "duplicates": 1,
        "thinned": 0,
        "snapped": 0,
        "kept": 2,
    }
    assert points["a"].index.tolist() == [0, 8]
    assert ledger.fate["row"].tolist() == list(range(2, 11))
    assert ledger.fate["fate"].tolist() == ["kept", *["dropped"] * 7, "kept"]
    why = ["", "in a cell that had one already", "without coordinates", "at (0, 0)"]
    assert ledger.fate["reason"].tolist()[:4] == why
    assert "1 with longitude and latitude probably swapped" in ledger.describe("a")
    assert ledger.rows()[0]["species"] == "a"
    assert json.loads(json.dumps(ledger.counts)) == ledger.counts
    assert ledger.total()["read"] == 9


def test_duplicates_are_by_species(stack):
    points, _ = clean(records([20, 20, 20.1], [30, 30, 30.1], ["b", "a", "b"]), stack)
    assert list(points) == ["b", "a"]
    assert [len(p) for p in points.values()] == [1, 1]
    points, _ = clean(records([20, 20, 20.1], [30, 30, 30.1], ["b", "a", "b"]), stack, remove_duplicates=False)
    assert [len(p) for p in points.values()] == [2, 1]


@pytest.mark.parametrize("shape", [(7, 40), (40, 7)])
def test_records_in_different_cells_are_not_duplicates(tmp_path, write_raster, shape):
    stack = open_stack(write_raster(tmp_path / "a.tif", np.ones(shape, dtype="int16")))
    x, y = stack.xy(*np.indices(shape).reshape(2, -1))
    points, _ = clean(records(np.repeat(x, 2), np.repeat(y, 2)), stack)
    assert points["a"].index.tolist() == list(range(0, 2 * x.size, 2))


def naive_snap(valid, row, col, reach):
    """Look at every cell of the raster."""
    best = None
    for r in range(valid.shape[0]):
        for c in range(valid.shape[1]):
            distance = (r - row) ** 2 + (c - col) ** 2
            if valid[r, c] and distance <= reach**2 and (best is None or (distance, r, c) < best):
                best = (distance, r, c)
    return best and best[1:]


@pytest.mark.parametrize("reach", [1, 2, 2.3, 7])
def test_snap_finds_the_nearest_valid_cell(tmp_path, write_raster, reach):
    rng = np.random.default_rng(3)
    array = np.where(rng.random((14, 17)) < 0.06, 1, -1).astype("int16")
    stack = open_stack(write_raster(tmp_path / "a.tif", array, nodata=-1))
    rows, cols = np.indices(array.shape).reshape(2, -1)
    points, ledger = clean(records(*stack.xy(rows, cols)), stack, snap=reach, remove_duplicates=False)
    expected = {i: naive_snap(array == 1, rows[i], cols[i], reach) for i in range(len(rows))}
    found = dict(zip(points["a"].index, zip(points["a"].rows, points["a"].cols)))
    assert found == {i: cell for i, cell in expected.items() if cell}
    moved = sum(1 for i, cell in found.items() if cell != (rows[i], cols[i]))
    assert ledger.counts["a"]["snapped"] == moved > 0
    np.testing.assert_array_equal(stack.xy(points["a"].rows, points["a"].cols), [points["a"].x, points["a"].y])


def test_snap_must_be_a_number_of_cells(stack):
    with pytest.raises(OptionError, match="snap=-1"):
        clean(records([20], [30]), stack, snap=-1)


def test_records_in_another_crs(stack):
    """A place in Web Mercator must be in the same cell as in degrees."""
    points, _ = clean(records([2250000], [3520000], crs="EPSG:3857"), stack)
    there, _ = clean(records([20.2], [30.1]), stack)
    assert (points["a"].rows, points["a"].cols) == (there["a"].rows, there["a"].cols)
    assert points["a"].x[0] == pytest.approx(20.2121, abs=1e-4)


def test_no_record_left_says_where_they_went(stack):
    with pytest.raises(DataError) as caught:
        clean(records([12, 12, np.nan], [48, 48.6, 1]), stack)
    assert str(caught.value) == (
        "a: none of 3 records can be used (1 without coordinates, 2 on nodata): "
        "check --crs and the layers, or try --snap 1"
    )


def test_forgotten_crs_is_guessed_in_the_message(stack):
    with pytest.raises(DataError, match=r"2 with a latitude beyond ±90.*not degrees, so name their system with --crs"):
        clean(records([262750, 263250], [6557250, 6558750]), stack)


def test_one_species_without_record_does_not_stop_the_others(stack):
    points, ledger = clean(records([12, 20], [48, 30], ["bad", "good"]), stack)
    assert list(points) == ["good"]
    ledger.check("good")
    with pytest.raises(DataError, match="bad: none of 1 records"):
        ledger.check("bad")


def test_study_area_drops_records(tmp_path, stack):
    ring = [[15, 20], [25, 20], [25, 45], [15, 45], [15, 20]]
    path = tmp_path / "a.geojson"
    path.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    area = StudyArea.read(path, stack.crs)
    points, ledger = clean(records([20, 30], [30, 30]), stack, study_area=area)
    assert ledger.counts["a"]["outside_area"] == 1
    assert points["a"].index.tolist() == [0]


def test_cells_to_look_up_are_distinct(stack):
    """A million records in one town need one look at the raster."""
    located = locate(records(np.full(1000, 20.1), np.full(1000, 30.1)), stack)
    assert len(located.rows) == 1
    assert located.cell.tolist() == [0] * 1000


def test_stack_without_crs_takes_points_as_they_are(tmp_path):
    (tmp_path / "a.asc").write_text("ncols 2\nnrows 1\nxllcorner 5000\nyllcorner 5000\ncellsize 10\n1 2\n")
    stack = open_stack(tmp_path)
    points, _ = clean(records([5015], [5005]), stack)
    assert points["a"].values.tolist() == [[2]]


def global_stack(tmp_path, write_raster, left, width=36):
    array = np.ones((18, width), dtype="uint8")
    return open_stack(write_raster(tmp_path / "a.tif", array, origin=(left, 90.0), cell=10.0))


@SETTINGS
@given(
    st.lists(st.tuples(st.integers(-3599, 3599), st.integers(-899, 899)), min_size=1, max_size=30),
    st.sampled_from([(-180.0, 36), (0.0, 36), (-20.0, 36), (160.0, 6), (-200.0, 5), (20.0, 10)]),
)
def test_longitudes_come_to_the_layers_convention(tmp_path, write_raster, places, layers):
    """Many climate models count longitude from 0 to 360: all of America would be 'outside', or 'swapped'."""
    stack = global_stack(tmp_path, write_raster, *layers)
    x, y = np.array(places).T / 10 + 0.03
    located = locate(records(x, y), stack)
    left, _, right, _ = stack.bounds
    for k in range(len(x)):
        turns = [x[k], *(x[k] + turn for turn in (-360, 360, -720, 720))]
        there = [at for at in turns if left <= at <= right]
        if not there:
            assert located.reason[k] in (REASONS.index("outside_extent"), REASONS.index("swapped"))
        else:
            assert located.reason[k] == 0
            assert located.x[k] in [pytest.approx(at, abs=1e-9) for at in there]
            assert located.turned[k] == (located.x[k] != x[k])
            assert located.x[k] == x[k] or not left <= x[k] <= right


@pytest.mark.parametrize("left, x", [(0.0, -75.0), (-180.0, 285.0)])
def test_turned_longitudes_are_told_and_found_in_the_same_cell(tmp_path, write_raster, left, x):
    stack = global_stack(tmp_path, write_raster, left)
    points, ledger = clean(records([x, x - 10, 20, np.nan], [5, 5, 5, 5]), stack)
    assert len(points["a"]) == 3
    assert ledger.describe("a") == "1 without coordinates"
    own = f"({left:g} … {left + 360:g}°)"
    assert ledger.notices() == [
        f"the longitudes of 2 records were shifted by 360° to the longitudes of the layers {own}"
    ]
    east = points["a"].x[:2]
    np.testing.assert_allclose(np.mod(east, 360), [285, 275])
    assert ((east >= left) & (east <= left + 360)).all()


def test_snapping_crosses_the_date_line(tmp_path, write_raster):
    """The nearest cell with data may be the first column, seen from the last."""
    array = np.full((18, 36), 255, dtype="uint8")
    array[9, 0] = 1
    stack = open_stack(write_raster(tmp_path / "a.tif", array, origin=(-180.0, 90.0), cell=10.0, nodata=255))
    points, ledger = clean(records([175.0], [-5.0]), stack, snap=1)
    assert (points["a"].rows.tolist(), points["a"].cols.tolist()) == ([9], [0])
    assert ledger.counts["a"]["snapped"] == 1


def test_bradypus(shared):
    """79 of the 116 points lie on an edge: the stated rule decides, so these numbers may not change."""
    stack = open_stack(shared / "phillips2006" / "layers", categorical=["ecoreg"])
    found = read_occurrences(shared / "phillips2006" / "bradypus.csv")
    points, ledger = clean(found, stack)
    count = ledger.counts["bradypus_variegatus"]
    assert {key: n for key, n in count.items() if n} == {"read": 116, "duplicates": 2, "kept": 114}
    assert len(points["bradypus_variegatus"]) == 114


def test_bradypus_records_carry_the_published_values(shared):
    """Record by record the 14 values of maxnet's table: else no result could be compared with published ones."""
    stack = open_stack(shared / "phillips2006" / "layers", categorical=["ecoreg"])
    points, _ = clean(read_occurrences(shared / "phillips2006" / "bradypus.csv"), stack, remove_duplicates=False)
    published = read_swd(shared / "bradypus_swd" / "bradypus.csv", categorical=["ecoreg"])
    expected = published.table.loc[~published.is_background, list(stack.names)]
    assert expected.shape == (116, 14)
    np.testing.assert_array_equal(points["bradypus_variegatus"].values, expected)


def test_grassland_records(shared):
    stack = open_stack(shared / "grassland" / "continuous")
    found = read_occurrences(shared / "grassland" / "occurrence_PO.csv", crs="EPSG:25833")
    _, ledger = clean(found, stack, remove_duplicates=False)
    assert pd.DataFrame(ledger.rows())["read"].tolist() == [1059]
    assert ledger.counts["presence"]["kept"] == 1059
    with pytest.raises(DataError, match="name their system with --crs"):
        clean(read_occurrences(shared / "grassland" / "occurrence_PO.csv"), stack)
