"""Layers in files: what is read must be what is in them, in any format, or be refused in one sentence."""

import sys
import warnings

import numpy as np
import pytest
import rasterio
from climate import netcdf

from sdm.data.rasters.layers import open_stack
from sdm.errors import DataError, OptionError


def ascii_grid(path, array, *, x0=10, y0=20, cell=0.5, nodata=-9999):
    head = f"ncols {array.shape[1]}\nnrows {array.shape[0]}\nxllcorner {x0}\nyllcorner {y0}\ncellsize {cell}\n"
    rows = "\n".join(" ".join(str(v) for v in row) for row in array)
    path.write_text(f"{head}NODATA_value {nodata}\n{rows}\n")
    return path


def test_folder_gives_sorted_layers_and_nan_for_nodata(stack, landscape, whole, naive):
    assert stack.names == ("cover", "heat", "rain")
    assert stack.categorical == ("cover",)
    assert stack.dtype == np.float32
    assert any("categorical layers: cover" in notice for notice in stack.notices)
    np.testing.assert_array_equal(whole(stack), naive(landscape, stack.names))


def test_glob_list_and_single_files_are_the_same(stack, landscape):
    for layers in (
        str(landscape / "*.tif"),
        str(landscape / "*"),
        [landscape / "rain.tif", str(landscape / "heat.tif"), landscape / "cover.tif"],
        [str(landscape / "[hr]*.tif"), landscape / "cover.tif"],
    ):
        assert open_stack(layers).names == stack.names
    assert open_stack(landscape / "heat.tif").names == ("heat",)


def test_names_choose_and_order(landscape, whole, naive):
    stack = open_stack(landscape, names=["rain", "cover"])
    assert stack.names == ("rain", "cover")
    np.testing.assert_array_equal(whole(stack), naive(landscape, stack.names))
    with pytest.raises(DataError, match=r"layer 'rein' does not exist: did you mean 'rain'\?.*cover, heat, rain"):
        open_stack(landscape, names=["rein"])


def test_damaged_file_matters_only_if_its_layer_is_wanted(landscape, tmp_path):
    for name in ("heat", "rain"):
        (tmp_path / f"{name}.tif").write_bytes((landscape / f"{name}.tif").read_bytes())
    (tmp_path / "other.tif").write_bytes(b"II*\0nonsense")
    assert open_stack(tmp_path, names=["heat", "rain"]).names == ("heat", "rain")
    with pytest.raises(DataError, match=r"layer 'other.tif' cannot be opened"):
        open_stack(tmp_path)


def test_multiband_names(write_raster, tmp_path, whole):
    path = write_raster(tmp_path / "climate.tif", np.arange(24, dtype="int16").reshape(2, 3, 4))
    assert open_stack(path).names == ("climate_1", "climate_2")
    with rasterio.open(path, "r+") as data:
        data.set_band_description(2, "bio12")
    stack = open_stack(path)
    assert stack.names == ("bio12", "climate_1")
    np.testing.assert_array_equal(whole(stack)[:, 0, 0], [12, 0])


def test_doubtful_suffix_is_left_out_with_a_notice(landscape, tmp_path, write_raster):
    write_raster(tmp_path / "a.tif", np.ones((3, 4), "uint8"))
    (tmp_path / "b.grd").write_text("something else")
    stack = open_stack(tmp_path)
    assert stack.names == ("a",)
    assert "file 'b.grd' was dropped: GDAL does not read it as a raster" in stack.notices


def test_nothing_found_is_an_error(tmp_path):
    with pytest.raises(DataError, match="no raster layer found"):
        open_stack(tmp_path)
    with pytest.raises(DataError, match="does not exist: expected a folder"):
        open_stack(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no file matches"):
        open_stack(str(tmp_path / "*.tif"))


def test_two_layers_of_one_name_are_an_error(tmp_path, write_raster):
    write_raster(tmp_path / "a" / "bio1.tif", np.ones((3, 4), "uint8"))
    write_raster(tmp_path / "b" / "bio1.tif", np.ones((3, 4), "uint8"))
    with pytest.raises(DataError, match="two layers have the name 'bio1'"):
        open_stack([tmp_path / "a", tmp_path / "b"])


def test_unknown_categorical_layer_suggests_the_nearest(landscape):
    with pytest.raises(OptionError, match=r"'covr' does not exist: did you mean 'cover'\? .*cover, heat, rain"):
        open_stack(landscape, categorical=["covr"])
    assert open_stack(landscape, categorical="cover").categorical == ("cover",)


def test_ascii_grid_without_crs(tmp_path, whole):
    ascii_grid(tmp_path / "a.asc", np.array([[1, 2], [3, -9999]]))
    stack = open_stack(tmp_path)
    assert stack.crs.to_epsg() == 4326
    assert any("assumed to be in WGS 84" in notice for notice in stack.notices)
    np.testing.assert_array_equal(whole(stack)[0], [[1, 2], [3, np.nan]])


def test_ascii_grid_keeps_decimals_after_100_kb_of_integers(tmp_path, whole):
    """GDAL guesses the type from the first 100 kB: such a layer would lose all its decimals."""
    array = np.full((300, 200), -9999.0).astype(object)
    array[:, :] = -9999
    array[-1, :] = 0.25
    ascii_grid(tmp_path / "a.asc", array)
    stack = open_stack(tmp_path)
    assert stack.dtype == np.float32
    assert (whole(stack)[0, -1] == 0.25).all()


def test_ascii_grid_takes_the_crs_of_the_others(tmp_path, write_raster):
    ascii_grid(tmp_path / "a.asc", np.ones((3, 4)), x0=249000, y0=6630500, cell=500)
    write_raster(tmp_path / "b.tif", np.ones((3, 4), "uint8"), origin=(249000, 6632000), cell=500, crs="EPSG:25833")
    stack = open_stack(tmp_path)
    assert stack.crs.to_epsg() == 25833
    assert any("(a): assumed to be in the system of the other layers" in notice for notice in stack.notices)


def test_no_crs_and_not_degrees(tmp_path):
    ascii_grid(tmp_path / "a.asc", np.ones((3, 4)), x0=249000, y0=6630500, cell=500)
    stack = open_stack(tmp_path)
    assert stack.crs is None
    assert any("no layer has a coordinate reference system" in notice for notice in stack.notices)


def test_raster_without_georeference_gives_a_notice_not_a_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with rasterio.open(tmp_path / "a.tif", "w", driver="GTiff", width=4, height=3, count=1, dtype="uint8") as data:
            data.write(np.ones((1, 3, 4), "uint8"))
    stack = open_stack(tmp_path)
    assert any("no layer has a coordinate reference system" in notice for notice in stack.notices)
    assert [array.shape for _, array in stack.scan(stack.windows(rows=1))] == [(1, 1, 4)] * 3


def test_south_up_raster_is_read_as_it_lies(tmp_path, write_raster):
    """Some programs write the southernmost row first: a point must find the value of its place all the same."""
    array = np.arange(12, dtype="float32").reshape(3, 4)
    north = open_stack(write_raster(tmp_path / "north.tif", array, origin=(0.0, 13.0), cell=1.0))
    south_up = rasterio.Affine(1, 0, 0, 0, 1, 10)
    south = open_stack(write_raster(tmp_path / "south.tif", array[::-1], transform=south_up))
    assert south.bounds == north.bounds
    x, y = np.array([0.5, 3.5, 2.0, 4.0]), np.array([10.5, 12.5, 11.0, 13.0])
    np.testing.assert_array_equal(south.sample(*south.rowcol(x, y)), north.sample(*north.rowcol(x, y)))
    with pytest.raises(DataError, match=r"layer 'south' starts at \(0, 10\).*: use --align first to resample"):
        open_stack(tmp_path)
    both = open_stack(tmp_path, align="north")
    np.testing.assert_array_equal(both.sample(*both.rowcol(x, y)), np.repeat(north.sample(*north.rowcol(x, y)), 2, 1))


def test_netcdf_variables_are_layers(tmp_path, write_raster, whole):
    from rasterio.shutil import copy

    tif = write_raster(tmp_path / "x.tif", np.arange(24, dtype="float32").reshape(2, 3, 4), nodata=5)
    copy(tif, tmp_path / "x.nc", driver="netCDF")
    stack = open_stack(tmp_path / "x.nc")
    assert stack.names == ("Band1", "Band2")
    assert stack.crs.to_epsg() == 4326
    expected = np.arange(24.0).reshape(2, 3, 4)
    expected[0, 1, 1] = np.nan
    np.testing.assert_array_equal(whole(stack), expected)


def test_mismatched_grids_are_refused(tmp_path, write_raster):
    write_raster(tmp_path / "bio1.tif", np.ones((30, 40), "uint8"))
    write_raster(tmp_path / "bio12.tif", np.ones((31, 40), "uint8"))
    with pytest.raises(DataError, match="layer 'bio12' has 40×31 cells, the stack has 40×30: use --align first to"):
        open_stack(tmp_path)


def test_grids_within_a_hair_are_accepted_with_a_notice(tmp_path, write_raster):
    write_raster(tmp_path / "a.tif", np.ones((3, 4), "uint8"))
    write_raster(tmp_path / "b.tif", np.ones((3, 4), "uint8"), origin=(10 + 1e-8, 50))
    write_raster(tmp_path / "c.tif", np.ones((3, 4), "uint8"), origin=(10 + 1e-5, 50))
    stack = open_stack([tmp_path / "a.tif", tmp_path / "b.tif"])
    assert any("less than 1e-6 of a cell are treated as one: b" in notice for notice in stack.notices)
    with pytest.raises(DataError, match="layer 'c' starts at"):
        open_stack(tmp_path)


def test_align_resamples_by_kind_and_says_so(tmp_path, write_raster, whole):
    fine = np.arange(48, dtype="float32").reshape(6, 8)
    coarse = np.array([[1, 5], [9, 13]], dtype="int16")
    write_raster(tmp_path / "fine.tif", fine, cell=0.5)
    write_raster(tmp_path / "class.tif", coarse, cell=2.0, nodata=13)
    write_raster(tmp_path / "slope.tif", coarse, cell=2.0, nodata=13)
    with pytest.raises(DataError, match="use --align"):
        open_stack(tmp_path)
    stack = open_stack(tmp_path, align="fine", categorical=["class"])
    assert (stack.height, stack.width) == (6, 8)
    assert any("'class' has 2×2 cells, the stack has 8×6: resampled (nearest cell)" in n for n in stack.notices)
    assert any("'slope' has 2×2 cells, the stack has 8×6: resampled (bilinear)" in n for n in stack.notices)
    values = dict(zip(stack.names, whole(stack)))
    np.testing.assert_array_equal(values["fine"], fine)
    np.testing.assert_array_equal(values["class"][:4, :4], np.ones((4, 4)))
    assert np.isnan(values["class"][4:, 4:]).all()
    slope = values["slope"]
    assert 1 <= np.nanmin(slope) < np.nanmax(slope) <= 9  # no trace of the nodata code
    assert len(np.unique(slope[np.isfinite(slope)])) > 3
    with pytest.raises(OptionError, match="layer to align to 'fin' does not exist: did you mean 'fine'"):
        open_stack(tmp_path, align="fin")


def test_align_first_is_the_first_that_was_named(tmp_path, write_raster, whole):
    write_raster(tmp_path / "a.tif", np.ones((2, 2), "uint8"), cell=1.0)
    write_raster(tmp_path / "b.tif", np.full((4, 4), 3, "uint8"), cell=0.5)
    assert open_stack(tmp_path, align="first").width == 2
    stack = open_stack([tmp_path / "b.tif", tmp_path / "a.tif"], align="first")
    assert stack.width == 4
    assert stack.names == ("a", "b")
    np.testing.assert_array_equal(whole(stack), np.array([np.ones((4, 4)), np.full((4, 4), 3)]))


def test_align_reprojects(tmp_path, write_raster, whole):
    write_raster(tmp_path / "a.tif", np.ones((20, 20), "float32"), origin=(14.9, 50.1), cell=0.01)
    write_raster(
        tmp_path / "b.tif", np.full((60, 60), 7, "float32"), origin=(470e3, 5560e3), cell=1e3, crs="EPSG:32633"
    )
    stack = open_stack(tmp_path, align="a")
    np.testing.assert_allclose(whole(stack)[1], 7)


def test_align_refuses_two_nodata_codes(tmp_path, write_raster):
    write_raster(tmp_path / "a.tif", np.ones((2, 2), "float32"), cell=1.0)
    write_raster(tmp_path / "b.tif", np.ones((4, 4), "float32"), cell=0.5, nodata=-1)
    with pytest.raises(OptionError, match="two nodata values"):
        open_stack(tmp_path, align="a", nodata=-2)


def test_nodata_by_tag_nan_infinity_and_option(tmp_path, write_raster, whole):
    array = np.array([[-128, -9999, 5], [np.nan, np.inf, 6]], dtype="float32")
    write_raster(tmp_path / "a.tif", array, nodata=-9999)
    np.testing.assert_array_equal(np.isnan(whole(open_stack(tmp_path))[0]), [[0, 1, 0], [1, 1, 0]])
    np.testing.assert_array_equal(np.isnan(whole(open_stack(tmp_path, nodata=-128))[0]), [[1, 1, 0], [1, 1, 0]])


def test_nodata_tag_that_float32_cannot_hold(tmp_path, write_raster, whole):
    """WorldClim 1.4 says -1.7e308 and stores the smallest float32; -3.4e38 is rounded in many tags."""
    lowest = np.finfo("float32").min
    write_raster(tmp_path / "a.tif", np.array([[lowest, 1]], dtype="float32"), nodata=float(lowest))
    write_raster(tmp_path / "b.tif", np.array([[1e300, 1]], dtype="float64"), nodata=1e300)
    stack = open_stack(tmp_path)
    np.testing.assert_array_equal(whole(stack)[:, 0], [[np.nan, 1], [np.nan, 1]])


def test_dtype_holds_every_value_exactly(tmp_path, write_raster, whole):
    write_raster(tmp_path / "a.tif", np.array([[2**24 + 1, 3]], dtype="int32"))
    write_raster(tmp_path / "b.tif", np.array([[0.1, 3]], dtype="float32"), nodata=float(np.float32(0.1)))
    stack = open_stack(tmp_path)
    assert stack.dtype == np.float64
    np.testing.assert_array_equal(whole(stack), [[[2**24 + 1, 3]], [[np.nan, 3]]])


def test_scale_and_offset_of_the_file_are_applied(tmp_path, write_raster, whole):
    """CHELSA stores tenths of kelvin, differently for the future: unscaled values would project nonsense."""
    path = write_raster(tmp_path / "bio1.tif", np.array([[2981, 0]], dtype="uint16"), nodata=0)
    with rasterio.open(path, "r+") as data:
        data.scales, data.offsets = [0.1], [-273.15]
    stack = open_stack(path)
    np.testing.assert_allclose(whole(stack)[0, 0], [24.95, np.nan], rtol=1e-6)
    assert any("× 0.1 + -273.15" in notice for notice in stack.notices)


def test_rotated_grid_is_refused(tmp_path):
    transform = rasterio.Affine(1, 0.2, 0, 0.2, -1, 0)
    with rasterio.open(
        tmp_path / "a.tif", "w", driver="GTiff", width=4, height=3, count=1, dtype="uint8", transform=transform
    ) as data:
        data.write(np.ones((1, 3, 4), "uint8"))
    with pytest.raises(DataError, match="rotated grid"):
        open_stack(tmp_path)


def test_csv_and_geotiff_need_no_vector_library(landscape):
    """Importing geopandas costs 0.7 s that most runs need not pay."""
    import subprocess

    code = (
        "import sys; from sdm.data.background import sample_background; from sdm.data.rasters.layers import open_stack;"
        "import sdm.data.records.clean, sdm.data.table;"
        f"sample_background(open_stack({str(landscape)!r}), n=10);"
        "print([m for m in ('geopandas', 'pyogrio', 'shapely', 'scipy', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_bradypus_layers(shared):
    stack = open_stack(shared / "phillips2006" / "layers", categorical=["ecoreg"])
    assert (stack.width, stack.height, len(stack.names)) == (1212, 1592, 14)
    assert stack.summary().n_valid == 648_658


def test_grassland_layers(shared):
    folder = shared / "grassland"
    classes = sorted(path.stem for path in (folder / "categorical").glob("*.tif"))
    stack = open_stack([folder / "continuous", folder / "categorical"], categorical=classes)
    assert len(stack.names) == 13
    assert stack.crs.to_epsg() == 25833
    assert stack.summary().n_valid == 17_479


def test_netcdf_layers_are_called_after_variable_and_time(tmp_path, whole):
    values = np.arange(24, dtype="float32").reshape(2, 3, 4)
    path = netcdf(tmp_path / "x.nc", {"tas": values, "pr": values * 2}, times=[15, 45], units="days since 2041-1-1")
    stack = open_stack(path)
    assert stack.names == ("pr_2041-01", "pr_2041-02", "tas_2041-01", "tas_2041-02")
    np.testing.assert_array_equal(whole(stack), np.concatenate([values * 2, values]))
    assert (
        "variable 'tas' has 2 times from 2041-01 to 2041-02: 2 layers are named tas_2041-01 to tas_2041-02"
        in stack.notices
    )
    one = netcdf(tmp_path / "present.nc", {"tas": values[:1]}, times=[15])
    assert open_stack(one).names == ("tas",)
    assert open_stack(one, names=["TAS"]).names == ("TAS",)


def test_netcdf_variables_without_a_name_of_their_own_and_models_of_earlier_versions(tmp_path):
    values = np.arange(12, dtype="float32").reshape(3, 4)
    for name in ("bio1", "bio12"):
        netcdf(tmp_path / f"{name}.nc", {"Band1": values})
    assert open_stack(tmp_path).names == ("bio1", "bio12")
    for folder, variables in (("same", ("index", "index")), ("own", ("tas", "pr"))):
        (tmp_path / folder).mkdir()
        for name, variable in zip(("bio1", "bio12"), variables):
            netcdf(tmp_path / folder / f"{name}.nc", {variable: values})
    stack = open_stack(tmp_path / "same")
    assert stack.names == ("bio1", "bio12")
    assert any("2 files have a variable of the same name" in text for text in stack.notices)
    assert open_stack(tmp_path / "own").names == ("pr", "tas")
    old = open_stack(tmp_path / "own", names=["bio1", "bio12"], categorical=["bio12"])
    assert [(layer.name, layer.path[-8:]) for layer in old.layers] == [("bio1", "/bio1.nc"), ("bio12", "bio12.nc")]
    assert old.categorical == ("bio12",)
    assert any("tas as bio1, pr as bio12" in text for text in old.notices)


def test_rename_must_leave_names_apart(landscape):
    with pytest.raises(DataError, match="two layers have the name 'x'"):
        open_stack(landscape, rename={"{n}ain": "x", "{n}eat": "x"})
    stack = open_stack(landscape, rename={"h{n}": "warm{n}"}, categorical=["cover"])
    assert stack.names == ("cover", "rain", "warmeat")
    assert "1 layer is renamed by --rename 'h{n}=warm{n}': heat to warmeat" in stack.notices


def test_addresses_of_files_are_read_as_before(landscape):
    assert open_stack(f"file://{landscape / 'heat.tif'}").names == ("heat",)
