"""Layers over a network: only what is needed is fetched, trouble is overcome or told, and secrets stay secret."""

import logging

import numpy as np
import pytest
import rasterio
from affine import Affine
from climate import netcdf
from ranges import serve
from rasterio.shutil import copy
from rasterio.windows import Window
from shapely.geometry import box

from sdm.data.background import sample_background
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.layers import open_stack
from sdm.errors import DataError, OptionError

USER, TOKEN = "bob:pass-word", "hush-hush"
SECRETS = ("pass-word", "hush-hush")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with `big.tif`, a Cloud-Optimized GeoTIFF of 2,048 × 2,048 random numbers in blocks of 256."""
    place = tmp_path_factory.mktemp("site")
    profile = {"driver": "GTiff", "width": 2048, "height": 2048, "count": 1, "dtype": "float32", "crs": "EPSG:4326"}
    with rasterio.open(place / "plain.tif", "w", **profile, transform=Affine(0.01, 0, 0, 0, -0.01, 20)) as data:
        data.write(np.random.default_rng(3).normal(size=(2048, 2048)).astype("float32"), 1)
    copy(place / "plain.tif", place / "big.tif", driver="COG", blocksize=256, overviews="NONE")
    return place


@pytest.fixture
def site(folder, monkeypatch):
    """The folder on a server; GDAL waits as long as a busy machine needs, and asks twice more."""
    for name, value in (("TIMEOUT", "30"), ("MAX_RETRY", "2"), ("RETRY_DELAY", "0.1")):
        monkeypatch.setenv(f"GDAL_HTTP_{name}", value)
    with serve(folder) as served:
        yield served


@pytest.fixture
def trouble(request, site, monkeypatch):
    """The server is in trouble; for answers that never come, GDAL waits for a second."""
    site.trouble = request.param
    if request.param.what == "hang":
        monkeypatch.setenv("GDAL_HTTP_TIMEOUT", "1")


def secret(site, name="big.tif"):
    return site.url(name, user=USER, query=f"?token={TOKEN}")


def corner(stack):
    with stack.reader() as reader:
        return reader.read(Window(0, 0, 256, 256))


def times(what, *which, method="GET"):
    """Trouble with some of the requests, by their number from 1."""
    count = 0

    def trouble(asked):
        nonlocal count
        count += asked.method == method
        return what if asked.method == method and (count in which or not which) else None

    trouble.what = what
    return trouble


def test_layers_are_called_after_their_files_and_only_windows_are_fetched(site, folder):
    stack = open_stack([secret(site), "/vsicurl/" + site.url("plain.tif")])
    assert stack.names == ("big", "plain")
    np.testing.assert_array_equal(*corner(stack))
    size = (folder / "big.tif").stat().st_size + (folder / "plain.tif").stat().st_size
    assert 0 < site.sent < size / 10
    assert {one.path for one in site.asked} == {f"/big.tif?token={TOKEN}", "/plain.tif"}, (
        "no files beside are asked for"
    )
    assert all(one.who for one in site.asked if "token" in one.path)


def test_a_background_in_a_small_area_fetches_that_area(site, folder):
    area = StudyArea((box(2, 17, 3, 18),), "area")
    near = sample_background(open_stack(secret(site)), n=500, seed=4, study_area=area)
    assert 0 < site.sent < (folder / "big.tif").stat().st_size / 5
    here = sample_background(open_stack(folder / "big.tif"), n=500, seed=4, study_area=area)
    np.testing.assert_array_equal(near.values, here.values)
    assert near.n_valid == here.n_valid == 10_000


@pytest.mark.parametrize(
    "trouble",
    [
        times(500, 1, method="HEAD"),
        times(503, 2),
        times("cut", 1),
        times("cut", 2),
        times("cut", 2, 3),
        times("hang", 2),
    ],
    indirect=True,
)
@pytest.mark.usefixtures("trouble")
def test_passing_trouble_is_overcome(site, folder):
    np.testing.assert_array_equal(corner(open_stack(secret(site))), corner(open_stack(folder / "big.tif")))


def test_a_server_that_drips_is_not_waited_for(site, monkeypatch):
    """Twenty bytes per second keep a connection alive; the time-out of 30 s would let 600 of them come."""
    for name, value in (("LOW_SPEED_TIME", "1"), ("MAX_RETRY", "0")):
        monkeypatch.setenv(f"GDAL_HTTP_{name}", value)
    site.trouble = times("drip")
    with pytest.raises(DataError, match="did not answer in time"):
        open_stack(secret(site))
    assert 0 < max(one.sent for one in site.asked) < 300


@pytest.mark.parametrize(
    ("trouble", "text"),
    [
        (times(404, method="HEAD"), "the file does not exist on the server .HTTP 404.: check the address"),
        (times(403, method="HEAD"), "the server refuses it .HTTP 403.: check the user, password, token or signature"),
        (times(500, method="HEAD"), "the server failed several times .HTTP 500.: try again later"),
        (times("hang", method="HEAD"), "did not answer in time .timed out: no data for . s.: try again later"),
        (times("hang"), "did not answer in time"),
        (times("cut"), "the connection was lost.*3 attempts"),
    ],
    indirect=["trouble"],
)
@pytest.mark.usefixtures("trouble")
def test_lasting_trouble_is_told_in_one_sentence_without_secrets(site, text, caplog):
    with caplog.at_level(logging.DEBUG), pytest.raises(DataError, match=text) as caught:
        corner(open_stack(secret(site)))
    said = str(caught.value)
    assert said.startswith(f"layer 'big.tif' at '{site.url('big.tif', '***', '?token=***')}' cannot be")
    assert not [word for word in SECRETS if word in said + caplog.text]
    assert "\n" not in said
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("variables", [("tas",), ("tas", "pr")])
def test_netcdf_from_a_server(site, folder, variables, monkeypatch):
    monkeypatch.setenv("SITE_TOKEN", TOKEN)
    values = np.arange(12, dtype="float32").reshape(3, 4)
    netcdf(folder / "x.nc", {name: values + k for k, name in enumerate(variables)})
    try:
        stack = open_stack(site.url("x.nc", user=USER, query="?token=${SITE_TOKEN}"))
    except DataError as error:
        pytest.skip(f"NetCDF is read over a network only where the system lets GDAL handle page faults: {error}")
    assert stack.names == tuple(sorted(variables))
    assert TOKEN not in str(stack.paths)
    with stack.reader() as reader:
        np.testing.assert_array_equal(reader.read(Window(0, 0, 4, 3))[-1], values)


def test_a_store_that_wants_keys(tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_NO_SIGN_REQUEST", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("CPL_AWS_AUTODETECT_EC2", "NO")
    monkeypatch.setenv("CPL_AWS_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(DataError, match=r"layer 'x.tif' at 's3://bucket/x.tif' cannot .* needs credentials .*AWS_"):
        open_stack("s3://bucket/x.tif")


def test_a_server_that_is_not_there(folder):
    with serve(folder) as gone:
        pass
    with pytest.raises(DataError, match="the server cannot be reached"):
        open_stack(secret(gone))


def test_a_page_in_place_of_a_raster(site, folder):
    (folder / "login.tif").write_text("<html>please log in</html>" * 100)
    with pytest.raises(DataError, match=r"layer 'login.tif' at .* is not a raster that GDAL reads"):
        open_stack(site.url("login.tif"))


def test_secrets_may_be_left_to_the_environment(site, monkeypatch):
    place = site.url("big.tif", user="${SITE_USER}", query="?token=${SITE_TOKEN}")
    with pytest.raises(OptionError, match="needs the environment variable SITE_USER"):
        open_stack(place)
    monkeypatch.setenv("SITE_USER", USER)
    monkeypatch.setenv("SITE_TOKEN", TOKEN)
    stack = open_stack(place)
    corner(stack)
    assert stack.paths == (place,)
    assert site.asked[-1].path == f"/big.tif?token={TOKEN}"
    site.trouble = times("cut")
    with pytest.raises(DataError) as caught, stack.reader() as reader:
        reader.read(Window(1024, 1024, 256, 256))
    assert not [word for word in SECRETS if word in str(caught.value)]


def test_a_secret_that_was_not_stored_is_asked_for(site):
    with pytest.raises(OptionError, match=r"secret of .*token=\*\*\*' was not stored.*give the layers again"):
        open_stack(site.url("big.tif", query="?token=***"))


def test_the_users_own_settings_of_gdal_count(site, monkeypatch):
    monkeypatch.setenv("GDAL_HTTP_MAX_RETRY", "0")
    site.trouble = times(500, 1, method="HEAD")
    with pytest.raises(DataError, match="the server failed"):
        open_stack(secret(site))
