"""Stacks of maps: what a cell holds, whatever its neighbours, the threads and the number of maps."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from affine import Affine

from sdm.errors import DataError
from sdm.maps import stacking
from sdm.maps.stacking import SpeciesMap, write_stack

SHAPE = (300, 520)
PLACE = {"crs": "EPSG:4326", "transform": Affine(0.1, 0, -20, 0, -0.1, 40)}


def put(path: Path, values: Any, **other: Any) -> Path:
    """A map as a run writes it: tiles, deflated, -9999 where there is no value."""
    stack = values if values.ndim == 3 else values[None]
    profile = {"driver": "GTiff", "dtype": stack.dtype, "count": len(stack), "nodata": -9999, **PLACE}
    profile |= {"height": stack.shape[1], "width": stack.shape[2], "tiled": True, "blockxsize": 256, "blockysize": 256}
    with rasterio.open(path, "w", **(profile | {"compress": "deflate", "predictor": 3} | other)) as out:
        out.write(np.where(np.isnan(stack), -9999, stack).astype(stack.dtype))
    return path


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[SpeciesMap, np.ndarray]]:
    """Twelve maps with holes of their own: study areas differ, and a corner is in none of them."""
    folder = tmp_path_factory.mktemp("maps")
    rng = np.random.default_rng(5)
    made = []
    for k in range(12):
        values = rng.random(SHAPE).astype(np.float32)
        values[: 20 * k, 40 * k :] = np.nan
        values[:, :10][rng.random((SHAPE[0], 10)) < 0.5] = np.nan
        values[-30:, -50:] = np.nan
        cutoff = float(values[40 * k % 250 + 45, 3 * k + 20]) if k else 0.5
        made.append((SpeciesMap(put(folder / f"{k}.tif", values), 1, cutoff if np.isfinite(cutoff) else 0.4), values))
    return made


def read(path: Path) -> np.ma.MaskedArray:
    with rasterio.open(path) as source:
        return source.read(1, masked=True)


def naive(maps: list[tuple[SpeciesMap, np.ndarray]]) -> tuple[np.ma.MaskedArray, np.ma.MaskedArray]:
    """The sum and the count of every cell, one map after the other."""
    total, count, missing = np.zeros(SHAPE), np.zeros(SHAPE, np.int64), np.ones(SHAPE, bool)
    for one, values in maps:
        known = ~np.isnan(values)
        missing &= ~known
        total[known] += values[known].astype(np.float64)
        count[known] += values[known] >= np.float32(one.cutoff)
    return np.ma.array(total, mask=missing), np.ma.array(count, mask=missing)


def test_every_cell_is_the_sum_over_the_maps_that_have_it(maps: Any, tmp_path: Path) -> None:
    places = {"sum": tmp_path / "sum.tif", "threshold": tmp_path / "count.tif"}
    found = write_stack([one for one, _ in maps], places, tags={"scale": "cloglog"})
    total, count = naive(maps)
    assert total.mask.sum() >= 1500, "a corner is in no map"
    for how, expected in (("sum", total.astype(np.float32)), ("threshold", count)):
        shown = read(places[how])
        np.testing.assert_array_equal(shown.mask, expected.mask)
        np.testing.assert_array_equal(shown.compressed(), expected.compressed())
        assert found[how].cells == expected.count()
        assert found[how].maximum == shown.max()
    with rasterio.open(places["threshold"]) as source:
        assert (source.dtypes, source.nodata) == (("uint16",), 65535)
        assert source.tags()["species"] == "12"
        assert source.tags()["what"] == "number of species above their threshold"
        assert source.tags(1)["STATISTICS_MAXIMUM"] == str(count.max())
        assert source.profile["blockxsize"] == 256
        assert source.overviews(1), "as a Cloud-Optimized GeoTIFF has"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["count.tif", "sum.tif"]


def test_bytes_do_not_depend_on_threads(maps: Any, tmp_path: Path) -> None:
    for threads in (1, 4):
        write_stack([one for one, _ in maps], {"sum": tmp_path / f"{threads}.tif"}, threads=threads)
    assert (tmp_path / "1.tif").read_bytes() == (tmp_path / "4.tif").read_bytes()


def test_strips_and_the_whole_grid_are_the_same(maps: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid that is too large for memory is stacked in parts."""
    chosen, said = [one for one, _ in maps], []
    for name, cells in (("whole", 1 << 23), ("strips", 256 * 520), ("tiles", 256 * 256)):
        monkeypatch.setattr(stacking, "CELLS", cells)
        places = {"sum": tmp_path / f"{name}_sum.tif", "threshold": tmp_path / f"{name}_threshold.tif"}
        write_stack(chosen, places, progress=lambda done, of, what, name=name: said.append((name, done, of, what)))
    for how in ("sum", "threshold"):
        whole = read(tmp_path / f"whole_{how}.tif")
        for name in ("strips", "tiles"):
            np.testing.assert_array_equal(read(tmp_path / f"{name}_{how}.tif"), whole)
    steps = {name: [done for other, done, *_ in said if other == name] for name in ("whole", "strips", "tiles")}
    assert steps == {"whole": [*range(13)], "strips": [*range(25)], "tiles": [*range(73)]}
    assert said[-1] == ("tiles", 72, 72, "stacking maps")


@pytest.mark.thorough
def test_a_thousand_maps_need_few_open_files(tmp_path: Path) -> None:
    values = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)
    put(tmp_path / "one.tif", values)
    for k in range(1000):
        (tmp_path / f"{k}.tif").hardlink_to(tmp_path / "one.tif")
    resource = pytest.importorskip("resource", reason="this system sets no limits to processes")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        in_use = max(int(name) for name in os.listdir("/dev/fd"))  # by other tests of this process too
        resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + 60, before[1]))
        made = [SpeciesMap(tmp_path / f"{k}.tif", cutoff=0.5) for k in range(1000)]
        write_stack(made, {"sum": tmp_path / "sum.tif", "threshold": tmp_path / "count.tif"})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    np.testing.assert_allclose(read(tmp_path / "sum.tif"), 1000 * values, rtol=1e-6)
    np.testing.assert_array_equal(read(tmp_path / "count.tif"), np.where(values >= 0.5, 1000, 0))


def test_bands_of_class_maps(tmp_path: Path) -> None:
    shares = np.array([[[0.1, 0.2]], [[0.9, 0.8]]], dtype=np.float32)
    put(tmp_path / "a.tif", shares)
    put(tmp_path / "b.tif", np.array([[0.5, np.nan]], dtype=np.float32))
    write_stack([SpeciesMap(tmp_path / "a.tif", 2), SpeciesMap(tmp_path / "b.tif")], {"sum": tmp_path / "sum.tif"})
    np.testing.assert_array_equal(read(tmp_path / "sum.tif"), np.array([[1.4, 0.8]], dtype=np.float32))


def test_sums_of_many_small_values_are_in_double_precision(tmp_path: Path) -> None:
    put(tmp_path / "large.tif", np.full((2, 2), 2.0**24, dtype=np.float32))
    put(tmp_path / "small.tif", np.full((2, 2), 0.5, dtype=np.float32))
    maps = [SpeciesMap(tmp_path / "large.tif"), *[SpeciesMap(tmp_path / "small.tif")] * 8]
    write_stack(maps, {"sum": tmp_path / "sum.tif"})
    assert read(tmp_path / "sum.tif")[0, 0] == 2.0**24 + 4


def test_what_cannot_be_stacked_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    values = np.ones((4, 4), dtype=np.float32)
    one = put(tmp_path / "one.tif", values)
    wide = put(tmp_path / "wide.tif", np.ones((4, 5), dtype=np.float32))
    moved = put(tmp_path / "moved.tif", values, transform=Affine(0.1, 0, 5, 0, -0.1, 40))
    empty = put(tmp_path / "empty.tif", np.full((4, 4), np.nan, dtype=np.float32))
    (tmp_path / "broken.tif").write_bytes(b"II*\0" + bytes(50))
    place = {"sum": tmp_path / "out.tif"}
    cases: list[tuple[list[SpeciesMap], str]] = [
        ([SpeciesMap(one), SpeciesMap(wide)], r"wide\.tif has 5×4 cells, the first map has 4×4.*on one grid"),
        ([SpeciesMap(one), SpeciesMap(moved)], r"moved\.tif starts at .* the first map at .*on one grid"),
        ([SpeciesMap(one), SpeciesMap(tmp_path / "broken.tif")], r"broken\.tif cannot be read as a map"),
        ([SpeciesMap(tmp_path / "gone.tif"), SpeciesMap(one)], r"gone\.tif cannot be read as a map"),
        ([SpeciesMap(one), SpeciesMap(one, 2)], r"one\.tif cannot be read as a map"),
        ([SpeciesMap(empty), SpeciesMap(empty)], "would be empty"),
    ]
    before = sorted(tmp_path.iterdir())
    for maps, says in cases:
        with pytest.raises(DataError, match=says):
            write_stack(maps, place)
        assert sorted(tmp_path.iterdir()) == before
