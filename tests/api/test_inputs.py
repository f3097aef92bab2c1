"""Records and layers in every shape that Python users have them in."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio
import xarray as xr
from rasterio.io import MemoryFile
from rasterio.vrt import WarpedVRT

import sdm
from sdm.api.grids import _nodata, write_xarray
from sdm.api.inputs import ObjectFiles
from sdm.api.saving import PrivateFolder


@pytest.fixture
def files() -> ObjectFiles:
    return ObjectFiles(PrivateFolder())


def small(**attrs: object) -> xr.DataArray:
    """A layer of 3 × 4 cells of half a degree."""
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    return xr.DataArray(values, {"y": [51.25, 50.75, 50.25], "x": [7.25, 7.75, 8.25, 8.75]}, ("y", "x"), "bio1", attrs)


def test_paths_stay_as_they_are(files: ObjectFiles, tmp_path: Path) -> None:
    assert files.rasters([tmp_path, "bio*.tif"], "layers") == [str(tmp_path), "bio*.tif"]
    assert files.table(tmp_path / "a.csv", "records") == str(tmp_path / "a.csv")
    assert not files.private.has_inputs, "nothing is copied"


def test_a_table_keeps_every_digit_and_a_named_index(files: ObjectFiles) -> None:
    table = pd.DataFrame({"lon": [0.1 + 0.2, 7.0], "lat": [1 / 3, -5.0]}, index=pd.Index(["a, b", "c"], name="species"))
    found = pd.read_csv(files.table(table, "records"))
    assert found["lon"][0] == 0.1 + 0.2
    assert found["species"].tolist() == ["a, b", "c"]


def test_points_keep_their_coordinate_system(files: ObjectFiles, world) -> None:
    import geopandas

    own = "+proj=laea +lat_0=40 +lon_0=-15 +units=m"
    points = world.points(own).assign(mixed=[1, "two"] * 30)
    found = geopandas.read_parquet(files.table(points, "records"))
    assert found.crs == points.crs
    assert found.geometry.geom_equals(points.geometry).all()


@pytest.mark.parametrize("make", [lambda a: a, lambda a: a[::-1], lambda a: a.rename(y="latitude", x="lon")])
def test_a_layer_lies_where_its_coordinates_say(make, tmp_path: Path) -> None:
    assert write_xarray(make(small()), tmp_path, "EPSG:4326") == ["bio1"]
    with rasterio.open(tmp_path / "bio1.tif") as found:
        assert found.crs.to_epsg() == 4326
        assert [v for (v,) in found.sample([(7.25, 51.25), (8.75, 50.25)])] == [0, 11]


def test_bands_and_months_are_layers(tmp_path: Path) -> None:
    months = xr.concat([small(), small() + 100], pd.Index([1, 2], name="month"))
    assert write_xarray(months, tmp_path / ".", None) == ["bio1_1", "bio1_2"]
    named = xr.concat([small(), small()], pd.Index(["rain", "heat"], name="variable"))
    (tmp_path / "named").mkdir()
    assert write_xarray(named, tmp_path / "named", None) == ["rain", "heat"]


def test_nodata_and_scale_are_kept(tmp_path: Path) -> None:
    coded = small(_FillValue=-1, scale_factor=0.1).astype("int16")
    coded.attrs = {"_FillValue": -1, "scale_factor": 0.1}
    write_xarray(coded, tmp_path)
    with rasterio.open(tmp_path / "bio1.tif") as found:
        assert (found.nodata, found.scales[0], found.dtypes[0]) == (-1, 0.1, "int16")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (small().rename(x="columns"), "expected y, x"),
        (small().rename(None), "no name"),
        (small().assign_coords(x=[1.0, 2.0, 4.0, 8.0]), "uneven steps along 'x'"),
        (small().astype(str), "expected numbers"),
        (xr.Dataset({"n": ((), 1)}), "no variable"),
    ],
)
def test_what_is_no_layer_is_said(data, text, tmp_path: Path) -> None:
    with pytest.raises(sdm.SdmError, match=text):
        write_xarray(data, tmp_path)


def test_open_datasets(files: ObjectFiles, world) -> None:
    """A file is used as it is; what is in memory, or warped on the way, is written down."""
    path = next(world.layers.glob("*.tif"))
    with rasterio.open(path) as source:
        assert files.rasters(source, "layers") == [str(path)]
        with WarpedVRT(source, crs="EPSG:3035") as warped:
            (folder,) = files.rasters([warped], "warped")
            assert len(list(Path(folder).glob("*.tif"))) == 1
        with MemoryFile(path.read_bytes()) as memory, memory.open() as inside:
            (folder,) = files.rasters([inside], "inside")
            (made,) = Path(folder).glob("*.tif")
            with rasterio.open(made) as found:
                np.testing.assert_array_equal(found.read(), source.read())
    with pytest.raises(sdm.SdmError, match="closed"):
        files.rasters(source, "layers")


@pytest.mark.parametrize(
    "wrong",
    [
        {"multiplierr": 2},
        {"multiplier": "many"},
        {"features": "xyz"},
        {"multipliers": [1]},
        {"tune": {"multipliers": [1]}},
    ],
)
def test_a_wrong_option_is_one_sentence(wrong, world) -> None:
    with pytest.raises(sdm.SdmError, match=next(iter(wrong))) as caught:
        sdm.fit(world.records, world.layers, **wrong)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("records", [3, [1, 2], np.zeros((3, 2))])
def test_records_of_no_use_are_said(records, world) -> None:
    with pytest.raises(sdm.SdmError, match="expected a path, a DataFrame or a GeoDataFrame"):
        sdm.fit(records, world.layers)


def test_a_table_without_rows_is_said(world) -> None:
    with pytest.raises(sdm.SdmError, match="no rows"):
        sdm.fit(world.first().iloc[:0], world.layers)


def test_check_finds_everything_at_once_without_fitting(world) -> None:
    found = sdm.check(world.first(), world.dataset(), categorical="landcover", folds=2)
    assert any(fact.startswith("records.csv: ") for fact in found.facts), "an object has no path"
    assert (found.problems, found.warnings) == ([], [])
    wrong = sdm.check(world.first().assign(longitude=500), world.dataset(), categorical="landcover")
    assert wrong.problems


@pytest.mark.thorough
def test_objects_for_every_option_that_takes_a_file(world) -> None:
    """Study area, sampling effort and test records as objects: what files of them would give."""
    import geopandas
    import shapely

    points, layers = world.points("EPSG:3035"), world.dataset()
    west = layers["x"].values.mean()
    area = geopandas.GeoSeries([shapely.box(-20, 30, west, 50)], crs=4326).to_crs(3035)
    effort = xr.ones_like(layers["temperature"], dtype="float32").rename("effort")
    options = {"study_area": area, "bias": effort, "bias_treatment": "prior", "test": points.iloc[:20]}
    few = {"features": "l", "exclude": "landcover", "background_points": 200, "curves": False, "report": False}
    run = sdm.fit(points.iloc[20:], layers, **options, **few, importance=False)
    assert run.numbers["test_presences"] > 0
    known = run.map.notnull().any("y")
    assert bool(known[run.map["x"] < west - 0.2].any())
    assert not bool(known[run.map["x"] > west + 0.2].any())


def test_only_a_declared_code_of_whole_numbers_means_no_data() -> None:
    """0 is a class of many land-cover maps."""
    whole, real = xr.DataArray(np.zeros((2, 2), dtype=np.int16)), xr.DataArray(np.zeros((2, 2)))
    assert _nodata(whole, np.dtype(np.int16)) is None
    assert np.isnan(_nodata(real, np.dtype(np.float64)))
    assert _nodata(whole.assign_attrs(_FillValue=-9999), np.dtype(np.int16)) == -9999
    whole.encoding["missing_value"] = 255
    assert _nodata(whole, np.dtype(np.int16)) == 255
    real.encoding["_FillValue"] = -1.0
    assert np.isnan(_nodata(real, np.dtype(np.float64))), "xarray has replaced it when it read the file"
