"""How a run divides its records: by chance, by true distances, by the cells of the layers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import rasterio
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Transformer

from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.data.table import SampleTable
from sdm.errors import DataError, OptionError
from sdm.kinds.species.inputs import prepare_species
from sdm.kinds.splitting import make_split, set_aside
from sdm.options.reading import make_options
from sdm.options.rules import TESTING, refuse_broken
from sdm.simulate.world import simulate

EARTH = 6371.0088


@pytest.fixture(scope="module", params=["EPSG:4326", "EPSG:25833"])
def world(request, tmp_path_factory: pytest.TempPathFactory) -> tuple[SampleTable, Stack]:
    folder: Path = tmp_path_factory.mktemp("world")
    made = simulate(folder, size=40, layers=3, records=50, seed=6, crs=request.param)
    options = make_options({"occurrences": str(made.occurrences), "layers": str(folder / "layers"), "points": 300})
    prepared = prepare_species(options)
    assert prepared.stack is not None
    return next(iter(prepared.tables.values())), prepared.stack


def lonlat(table: SampleTable, stack: Stack) -> np.ndarray:
    to = Transformer.from_crs(stack.crs.to_wkt(), "EPSG:4326", always_xy=True)
    return np.radians(np.column_stack(to.transform(table.presence_x, table.presence_y)))


def kilometres(table: SampleTable, stack: Stack) -> np.ndarray:
    """Distances between all presences, from unit vectors."""
    lon, lat = lonlat(table, stack).T
    unit = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    return EARTH * np.arccos(np.clip(unit @ unit.T, -1, 1))


def test_a_buffer_is_in_kilometres_whatever_the_layers_are_in(world) -> None:
    table, stack = world
    split = make_split(table, make_options({"split": "buffer", "radius": 60}), stack)
    assert split is not None
    distance = kilometres(table, stack)
    for k, fold in enumerate(split.folds):
        near = np.setdiff1d(np.arange(50), [k, *fold.train])
        assert np.all(distance[k, fold.train] > 59.9)
        assert np.all(distance[k, near] < 60.1)


def test_blocks_are_squares_of_so_many_kilometres(world) -> None:
    """Within a block nothing is farther than its diagonal; fine blocks make the folds' areas alike."""
    table, stack = world
    split = make_split(table, make_options({"split": "block", "block_size": 20, "folds": 3, "seed": 5}), stack)
    assert split is not None
    distance = kilometres(table, stack)
    for k in range(3):
        mine = np.flatnonzero(split.group == k)
        # Members of a fold lie in blocks; neighbours across folds are in different blocks, so never coincide.
        others = np.flatnonzero(split.group != k)
        assert distance[np.ix_(mine, others)].min() > 0
    one = make_options({"split": "block", "block_size": 5000, "folds": 2})
    with pytest.raises(DataError, match="use a smaller size"):
        make_split(table, one, stack)
    sizes = np.bincount(split.group)
    assert sizes.max() - sizes.min() <= 8


def test_a_checkerboard_is_made_of_the_layers_cells(world) -> None:
    table, stack = world
    split = make_split(table, make_options({"split": "checkerboard", "aggregation": 5}), stack)
    assert split is not None
    rows, cols = stack.rowcol(table.presence_x, table.presence_y)
    colour = (rows // 5 + cols // 5) % 2
    assert set(map(tuple, np.column_stack([colour, split.group]))) == {(0, 0), (1, 1)}
    rows, cols = stack.rowcol(table.background_x, table.background_y)
    np.testing.assert_array_equal((rows // 5 + cols // 5) % 2, split.background_group)


def test_tables_without_layers_are_in_degrees(world) -> None:
    table, stack = world
    options = make_options({"split": "buffer", "radius": 60})
    if stack.crs.is_geographic:
        with_layers, without = make_split(table, options, stack), make_split(table, options)
        assert with_layers is not None
        assert without is not None
        assert [fold.train.tolist() for fold in with_layers.folds] == [fold.train.tolist() for fold in without.folds]
        with pytest.raises(DataError, match="have no coordinates"):
            make_split(replace(table, presence_x=np.full(50, np.nan)), options)
    else:
        with pytest.raises(DataError, match="the coordinates of the table are not degrees"):
            make_split(table, options)
    with pytest.raises(OptionError, match="needs layers"):
        make_split(table, make_options({"split": "checkerboard"}))


@given(st.floats(1, 90), st.integers(0, 1000))
def test_what_is_set_aside_and_what_stays_make_the_whole(percent: float, seed: int) -> None:
    xy = np.arange(30.0)
    table = SampleTable("s", ("a",), (), xy[:, None], xy[:, None], xy, xy, xy, xy, folds=xy.astype(str))
    kept, test = set_aside(table, make_options({"test_percent": percent, "seed": seed}))
    assert test is not None
    assert len(test[1]) == min(max(1, round(0.3 * percent)), 28)
    assert sorted([*kept.presence_x, *test[1]]) == xy.tolist()
    assert kept.folds is not None
    np.testing.assert_array_equal(kept.folds.astype(float), kept.presence_x)
    assert set_aside(table, make_options({"seed": seed})) == (table, None)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({}, None),
        ({"folds": 5}, "random"),
        ({"replicates": 1}, None),
        ({"replicates": 4}, "random"),
        ({"replicates": 4, "replicatetype": "bootstrap"}, "bootstrap"),
        ({"split": "environment"}, "environment"),
    ],
)
def test_what_is_asked_for(source, expected) -> None:
    options = make_options(source)
    refuse_broken(TESTING, options, "species")
    assert options.test.division == expected


def test_layers_without_a_reference_system_have_no_kilometres(world, tmp_path: Path) -> None:
    table, stack = world
    if stack.crs.is_geographic:
        pytest.skip("what looks like degrees is taken for degrees")
    with rasterio.open(stack.layers[0].path) as source:
        profile, band = source.profile, source.read(1)
    with rasterio.open(tmp_path / "x.tif", "w", **{**profile, "crs": None}) as out:
        out.write(band, 1)
    bare = open_stack(tmp_path / "x.tif")
    with pytest.raises(DataError, match="no coordinate reference system"):
        make_split(table, make_options({"split": "buffer", "radius": 60}), bare)
