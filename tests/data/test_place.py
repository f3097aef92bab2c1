"""Variables of place: where cells and records lie, and the region that a model with them is for."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import rasterio
from affine import Affine
from rasterio.windows import Window

from sdm.data.place import Region, variable_groups
from sdm.data.rasters.examine import examine
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.data.records.samples import read_swd
from sdm.errors import DataError

GRIDS = {
    "degrees": ("EPSG:4326", Affine(0.1, 0, -3.3, 0, -0.1, 47.7)),
    "metres": ("EPSG:32632", Affine(1000.1, 0, 412345.6, 0, -999.7, 5312345.6)),
    "south up": ("EPSG:4326", Affine(0.1, 0, -3.3, 0, 0.1, 44.1)),
}


def write_layer(path: Path, crs: str, transform: Affine, shape: tuple[int, int] = (37, 53)) -> Path:
    values = np.random.default_rng(3).normal(size=shape).astype("float32")
    values[5:9, 7:20] = -9999
    profile = {"driver": "GTiff", "count": 1, "dtype": "float32", "nodata": -9999, "crs": crs, "transform": transform}
    path.parent.mkdir(exist_ok=True, parents=True)
    with rasterio.open(path, "w", height=shape[0], width=shape[1], **profile) as out:
        out.write(values, 1)
    return path


@pytest.fixture(params=GRIDS)
def stack(request, tmp_path: Path) -> Stack:
    return open_stack(write_layer(tmp_path / "heat.tif", *GRIDS[request.param]))


def test_every_window_has_the_centres_of_its_cells(stack: Stack) -> None:
    placed = stack.with_place()
    assert placed.names == ("heat", "place_x", "place_y")
    with placed.reader() as reader:
        for window in (Window(0, 0, 53, 37), Window(11, 4, 7, 9), Window(50, 36, 3, 1)):
            heat, x, y = reader.read(window)
            for row in range(int(window.height)):
                for col in range(int(window.width)):
                    expected = stack.transform @ (window.col_off + col + 0.5, window.row_off + row + 0.5)
                    np.testing.assert_allclose((x[row, col], y[row, col]), expected, rtol=1e-15)
            with stack.reader() as plain:
                np.testing.assert_array_equal(heat, plain.read(window)[0])


def test_samples_summaries_and_boxes_have_place_too(stack: Stack) -> None:
    placed = examine(stack.with_place())
    rows, cols = np.array([3, 36, 0, 6]), np.array([50, 0, 0, 8])
    values = placed.sample(rows, cols)
    np.testing.assert_array_equal(values[:, 1:].T, stack.xy(rows, cols))
    assert np.isnan(values[3, 0])
    summary = placed.summary()
    summary.check(placed)
    assert summary.n_valid == stack.n_cells - 4 * 13
    left, bottom, right, top = stack.bounds
    assert left < summary.minimum[1] < summary.maximum[1] < right
    assert bottom < summary.minimum[2] < summary.maximum[2] < top
    part = placed.within((left, bottom, (left + right) / 2, top))
    with part.reader() as reader:
        everywhere = reader.read(Window(0, 0, 53, 37))
    assert np.isnan(everywhere[:, :, -10:]).all()
    assert not np.isnan(everywhere[1, :, :20]).any()


def test_layers_are_opened_for_a_model_in_its_order(tmp_path: Path) -> None:
    for name in ("heat", "rain"):
        write_layer(tmp_path / "layers" / f"{name}.tif", *GRIDS["degrees"])
    names = ("place_y", "rain", "place_x", "heat")
    stack = open_stack(tmp_path / "layers", names=names)
    assert stack.names == names
    x, y = stack.xy(2, 3)
    found = stack.sample(np.array([2]), np.array([3]))[0]
    assert (found[0], found[2]) == (y, x)
    with pytest.raises(DataError, match="there are spatial variables only"):
        open_stack(tmp_path / "layers", names=("place_x", "place_y"))


def test_layers_may_not_have_the_names_of_place(tmp_path: Path) -> None:
    file = write_layer(tmp_path / "layers" / "place_y.tif", *GRIDS["degrees"])
    write_layer(tmp_path / "layers" / "heat.tif", *GRIDS["degrees"])
    with pytest.raises(DataError, match="layer 'place_y' has a name that is reserved for spatial features"):
        open_stack(tmp_path / "layers")
    assert open_stack(tmp_path / "layers", rename={"place_y": "north"}).names == ("heat", "north")
    file.rename(file.with_name("place.tif"))
    with pytest.raises(DataError, match="layer 'place' has a name"):
        open_stack(tmp_path / "layers").with_place()


def test_place_is_one_thing_among_the_variables() -> None:
    assert variable_groups(("a", "b")) == {"a": [0], "b": [1]}
    assert variable_groups(("place_x", "a", "place_y")) == {"a": [1], "place": [0, 2]}


def model_of(region: object, names: tuple[str, ...] = ("heat", "place_x", "place_y")) -> SimpleNamespace:
    return SimpleNamespace(names=names, meta={} if region is None else {"region": region}, variables=())


def moved(stack: Stack, x: float = 0, y: float = 0, **more) -> Stack:
    """Return the stack some cells further east and north."""
    t = stack.transform
    place = Affine(t.a, 0, t.c + x * abs(t.a), 0, t.e, t.f + y * abs(t.e))
    return Stack(**{**{name: getattr(stack, name) for name in stack.__dataclass_fields__}, "transform": place, **more})


def test_a_region_holds_its_own_layers_and_one_cell_more(stack: Stack) -> None:
    region = Region.of_model(model_of(Region.of_layers(stack).as_dict()))
    region.check(stack)
    for step in ({"x": 1}, {"x": -1}, {"y": 1}, {"y": -1}):
        region.check(moved(stack, **step))
        far = {name: 1.1 * by for name, by in step.items()}
        with pytest.raises(
            DataError, match=r"^the model has spatial features, which are valid in the training region only;"
        ):
            region.check(moved(stack, **far))
    # A study area within the region makes larger layers usable.
    region.check(moved(stack, x=5), stack.bounds)
    left, bottom, right, top = stack.bounds
    small = Region.of_layers(stack, (left - 9, (bottom + top) / 2, right, top))
    assert small.box == (left, (bottom + top) / 2, right, top)
    with pytest.raises(DataError, match="a --study-area within it"):
        small.check(stack)


def test_a_region_is_in_its_own_coordinates(stack: Stack) -> None:
    region = Region.of_layers(stack)
    other = "EPSG:3035"
    with pytest.raises(DataError, match="the layers are in EPSG:3035"):
        region.check(moved(stack, crs=rasterio.crs.CRS.from_string(other)))
    Region(region.box).check(moved(stack, crs=rasterio.crs.CRS.from_string(other)))  # of a table nobody knows


def test_the_region_of_a_table_is_a_little_more_than_its_points() -> None:
    region = Region.of_points(np.array([0.0, 10.0]), np.array([5.0, 25.0]))
    assert region.box == pytest.approx((-0.5, 4.0, 10.5, 26.0))
    away = region.beyond(np.array([-0.4, -0.6, 3.0, np.nan]), np.array([5.0, 5.0, 27.0, 1.0]))
    np.testing.assert_array_equal(away, [False, True, True, True])
    assert not region.beyond(np.array([np.nan]), np.array([np.nan])).any()


@pytest.mark.parametrize(
    "damaged",
    [{}, [1], "x", *({"box": box, "crs": ""} for box in ([1, 2, 3], ["a"] * 4, [2, 0, 1, 1], [0, 0, 1, float("nan")]))],
)
def test_a_damaged_region_is_refused(damaged: object) -> None:
    with pytest.raises(DataError, match="lacks the region of the fit"):
        Region.of_model(model_of(damaged))


def test_a_region_around_several() -> None:
    one, two = Region((0, 0, 5, 5), "a"), Region((3, -1, 4, 9), "a")
    assert Region.around([one, two]) == Region((0, -1, 5, 9), "a")
    assert Region.around([one, None]) is None
    assert Region.around([]) is None


def test_a_model_without_place_has_no_region() -> None:
    assert Region.of_model(model_of(None, ("heat",))) is None


def test_tables_have_place_from_their_coordinates(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("species,x,y,heat\na,1.5,7,3\na,2.5,,4\nbackground,3.5,9,5\nbackground,4.5,8,6\n")
    table = read_swd(path, variables=("place_x", "heat", "place_y")).table
    np.testing.assert_array_equal(table["place_x"], [1.5, 2.5, 3.5, 4.5])
    np.testing.assert_array_equal(table["place_y"], [7, np.nan, 9, 8])
    path.write_text("species,x,y,heat,place_x,place_y\na,1,7,3,10,70\nbackground,3,9,5,30,90\n")
    table = read_swd(path, variables=("place_x", "heat", "place_y")).table
    np.testing.assert_array_equal(table["place_x"], [10, 30])
    path.write_text("species,heat\na,1\nbackground,3\n")
    with pytest.raises(DataError, match="has no coordinates, which spatial features"):
        read_swd(path, variables=("place_x", "heat", "place_y"))
