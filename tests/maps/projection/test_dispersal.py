"""Which cells are in reach, against the distances between all pairs of cells."""

from pathlib import Path

import numpy as np
import pytest
from projection.cells import GRIDS, Place, apart_km, count_codes, flat, limited, middle, write_codes
from rasterio import Affine
from rasterio.crs import CRS

from sdm.data.rasters.grid import Grid
from sdm.errors import DataError
from sdm.maps.projection.change import Ground, change_numbers, limit_change

PLACES = {
    **{name: GRIDS[name] for name in GRIDS if name not in ("wide", "degrees without a system")},
    "pole": Place("EPSG:4326", Affine(10, 0, -180, 0, -1, 90), 12, 36),
    "south pole": Place("EPSG:4326", Affine(10, 0, 0, 0, 1, -90), 12, 36),
    "cells on the pole": Place("EPSG:4326", Affine(4, 0, -180, 0, -0.5, 90.25), 10, 90),
    "a gap at the date line": Place("EPSG:4326", Affine(7, 0, -170, 0, -6, 84), 28, 48),
}


def grid_of(place: Place) -> Grid:
    crs = None if place.crs is None else CRS.from_string(place.crs)
    return Grid(width=place.width, height=place.height, transform=place.transform, crs=crs)


def reaches(place: Place) -> list[float]:
    """Distances from less than a cell to half the grid."""
    unit = 111.0 if place.degrees else 0.001 if place.crs == "EPSG:3035" else 0.0003048
    cell = abs(place.transform.e) * unit
    return [0.37 * cell, 1.21 * cell, 3.333 * cell, 0.51 * place.height * cell]


@pytest.mark.parametrize("name", PLACES)
def test_what_is_in_reach_is_so_by_all_pairs_of_cells(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, rng = PLACES[name], np.random.default_rng(list(PLACES).index(name))
    apart, n = apart_km(place), place.height * place.width
    for k, km in enumerate(reaches(place)):
        monkeypatch.setattr(
            "sdm.maps.projection.change.CELLS", [place.width * 3, place.width * 11, 8 << 20, place.width * 5][k]
        )
        codes = rng.choice([0, 1, 2, 3, 255], n, p=[0.2, 0.2, 0.4, 0.1, 0.1])
        before = rng.choice([0, 1, 255], n, p=[0.97, 0.02, 0.01])
        change = write_codes(tmp_path / f"{k}.tif", place, codes)
        past = write_codes(tmp_path / f"past {k}.tif", place, before)
        total = limit_change(change, past, (1,), km, grid_of(place))
        truth = limited(codes, before == 1, apart, km)
        np.testing.assert_array_equal(flat(change), truth, err_msg=f"{km} km")
        numbers = change_numbers(total)
        for code, part in count_codes(truth, place.areas()).items():
            assert numbers[code]["cells"] == part["cells"]
            assert numbers[code]["km2"] == pytest.approx(part["km2"], rel=1e-5)
        assert k == 0 or (truth == 2).any()
        assert k == 3 or (truth == 4).any()
        found, here = Ground(grid_of(place)).centroid(total), middle(place, np.isin(truth, (1, 2)))
        assert (found is None) == (here is None)
        if found is not None and here is not None:
            assert found["lat"] == pytest.approx(here["lat"], abs=1e-4)


def test_a_cell_at_exactly_that_distance_is_in_reach(tmp_path: Path) -> None:
    place = GRIDS["metres"]
    codes = np.full((place.height, place.width), 2)
    before = np.zeros_like(codes)
    before[10, 10] = 1
    past = write_codes(tmp_path / "past.tif", place, before.ravel())
    for km, cells in ((9.99, 1), (10.0, 5), (14.1, 5), (14.1422, 9), (20.0, 13), (50.0, 81)):
        change = write_codes(tmp_path / "change.tif", place, codes.ravel())
        limit_change(change, past, (1,), km, grid_of(place))
        assert (flat(change) == 2).sum() == cells, km


def test_nothing_is_reached_from_nowhere(tmp_path: Path) -> None:
    place = GRIDS["globe"]
    codes = np.random.default_rng(2).choice([0, 1, 2, 3], place.height * place.width)
    change = write_codes(tmp_path / "change.tif", place, codes)
    past = write_codes(tmp_path / "past.tif", place, np.zeros_like(codes))
    limit_change(change, past, (1,), 30_000.0, grid_of(place))
    np.testing.assert_array_equal(flat(change), np.array([0, 3, 4, 3])[codes])


def test_distances_need_a_reference_system(tmp_path: Path) -> None:
    place = Place(None, Affine(1000, 0, 4e5, 0, -1000, 3e5), 5, 5)
    change = write_codes(tmp_path / "change.tif", place, np.ones(25))
    with pytest.raises(DataError, match="dispersal needs a coordinate reference system"):
        limit_change(change, change, (1,), 5.0, grid_of(place))
    same = Place(None, Affine(0.5, 0, 3, 0, -0.5, 60), 5, 5)  # numbers that can be degrees are
    change = write_codes(tmp_path / "degrees.tif", same, np.full(25, 2))
    past = write_codes(tmp_path / "past.tif", same, np.array([1] + [0] * 24))
    limit_change(change, past, (1,), 60.0, grid_of(same))
    assert (flat(change) == 2).sum() == 4, "two to the east, one to the south"
