"""The map: a GeoTIFF that every program reads, with what the model says in every cell; and the same every time."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import rasterio
import yaml
from rasterio.windows import Window
from rio_cogeo import cog_validate
from terminal import PLAIN, QUICK, change_raster, picture, read, succeed

from sdm._version import __version__
from sdm.data.rasters.layers import open_stack
from sdm.models.file import load_model
from sdm.simulate.world import simulate


def layer_values(model, folder: Path) -> np.ndarray:
    stack = open_stack(folder, categorical=["landcover"], names=model.names)
    with stack.reader() as reader:
        return reader.read(Window(0, 0, stack.width, stack.height))


def test_every_raster_is_a_valid_cog(fit) -> None:
    for path in fit.folder.glob("*.tif"):
        valid, errors, warnings = cog_validate(path, strict=True)
        assert valid, (path, errors, warnings)


def test_the_map_says_where_it_lies_and_what_it_is(fit, world) -> None:
    with rasterio.open(fit.map) as data, rasterio.open(world.layers / "elevation.tif") as layer:
        assert (data.crs, data.transform, data.shape) == (layer.crs, layer.transform, layer.shape)
        assert data.dtypes == ("float32",)
        assert data.nodata == -9999
        tags = data.tags()
    assert tags["model_id"] == load_model(fit.model).identity
    assert tags["scale"] == "cloglog"
    assert tags["software"] == f"sdm {__version__}"
    assert tags["species"].replace(" ", "_") == fit.name


def test_statistics_are_those_of_the_data(fit) -> None:
    values = read(fit.map).astype(np.float64)
    with rasterio.open(fit.map) as data:
        tags = {key: float(text) for key, text in data.tags(1).items() if key.startswith("STATISTICS")}
    expected = [values.min(), values.max(), values.mean(), values.std()]
    found = [tags[f"STATISTICS_{name}"] for name in ("MINIMUM", "MAXIMUM", "MEAN", "STDDEV")]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_every_cell_is_what_the_model_predicts(fit, world) -> None:
    model = load_model(fit.model)
    for path, folder in (
        (fit.map, world.layers),
        (fit.folder / "scenarios/warmer" / f"{fit.name}.tif", world.folder / "warmer"),
    ):
        values = layer_values(model, folder)
        expected = model.predict(values.reshape(len(values), -1).T.astype(np.float64)).reshape(values.shape[1:])
        on_map = read(path)
        np.testing.assert_array_equal(on_map.mask, np.isnan(expected))
        np.testing.assert_allclose(on_map.compressed(), expected[~np.isnan(expected)], rtol=1e-6, atol=1e-30)


def test_a_warmer_world_is_another_map(fit) -> None:
    assert not np.array_equal(read(fit.map), read(fit.folder / "scenarios/warmer" / f"{fit.name}.tif"))


def test_exact_zeros_stay_zero(world, tmp_path: Path) -> None:
    succeed("fit", world.records, world.layers, *QUICK, *PLAIN, "-o", tmp_path / "out", "--entropy", 2)
    model = load_model(next((tmp_path / "out").glob("*.npz")))
    values = layer_values(model, world.layers)
    expected = model.predict(values.reshape(len(values), -1).T.astype(np.float64))
    zero = np.nan_to_num(expected, nan=1.0) == 0
    assert zero.any(), "a model of order 2 has zeros in this landscape"
    assert np.all(read(next((tmp_path / "out").glob("*.tif"))).data.ravel()[zero] == 0.0)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Layers of 700 × 640 cells: several tiles, windows and overviews."""
    folder = tmp_path_factory.mktemp("large")
    simulate(folder, size=(640, 700), layers=3, records=80, seed=2)
    return folder


@pytest.mark.thorough
def test_a_large_map_has_overviews_and_does_not_depend_on_threads(large: Path, tmp_path: Path) -> None:
    words = ("fit", large / "occurrences.csv", large / "layers", *QUICK, *PLAIN, "--no-map-picture")
    for threads in (1, 3):
        succeed(*words, "-o", tmp_path / str(threads), "--threads", threads)
    one, three = (next((tmp_path / name).glob("*.tif")) for name in "13")
    assert one.read_bytes() == three.read_bytes()
    with rasterio.open(one) as data:
        assert data.overviews(1) == [2, 4]
        assert data.block_shapes == [(256, 256)]
    assert cog_validate(one, strict=True)[0]


def test_one_seed_one_result_to_the_byte(large: Path, tmp_path: Path) -> None:
    words = ("fit", large / "occurrences.csv", large / "layers", *QUICK, *PLAIN, "--no-map-picture")
    words = (*words, "--background-points", 2000, "--test-percent", 30)
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        succeed(*words, "-o", tmp_path / name, "--seed", seed)
    for suffix in ("npz", "tif"):
        a, b, c = (next((tmp_path / name).glob(f"*.{suffix}")).read_bytes() for name in "abc")
        assert a == b
        assert a != c


def test_the_run_file_repeats_the_run(fit, world, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    succeed("fit", fit.folder / "run.yaml", "--no-curves", *PLAIN, "-o", "again")
    for path in (*fit.folder.glob("*.tif"), fit.model):
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes(), path.name
    run = yaml.safe_load((fit.folder / "run.yaml").read_text())
    assert run["layers"]["files"] == [str(world.layers)]
    assert Path(run["project"]["scenarios"]["warmer"]).is_absolute()


def test_a_run_file_made_from_relative_words_works_from_anywhere(own, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(own.folder)
    succeed("fit", "one.csv", "layers", *QUICK, *PLAIN, "-o", "here/results", "--projections", "warmer")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    shutil.copy(own.folder / "here" / "results" / "run.yaml", "moved.yaml")
    succeed("fit", "moved.yaml", "-o", "again")
    for path in (own.folder / "here" / "results").glob("*.tif"):
        assert (tmp_path / "elsewhere" / "again" / path.name).read_bytes() == path.read_bytes()


def test_layers_that_run_from_south_to_north(own, world, tmp_path: Path) -> None:
    for path in sorted(own.layers.glob("*.tif")):
        with rasterio.open(path) as data:
            t = data.transform
            flipped = rasterio.Affine(t.a, 0, t.c, 0, -t.e, t.f + data.height * t.e)
        change_raster(path, path, np.flipud, transform=flipped)
    succeed("fit", own.records, own.layers, *QUICK, *PLAIN, "-o", tmp_path / "flipped")
    succeed("fit", own.records, world.layers, *QUICK, *PLAIN, "-o", tmp_path / "usual")
    flipped_map, usual_map = (next((tmp_path / name).glob("*.tif")) for name in ("flipped", "usual"))
    np.testing.assert_allclose(np.flipud(read(flipped_map).filled(-1)), read(usual_map).filled(-1), atol=1e-3)
    pictures = [picture(path.with_suffix(".png")) for path in (flipped_map, usual_map)]
    assert pictures[0].shape == pictures[1].shape
    assert np.mean(pictures[0] != pictures[1]) < 0.02, "north is up in both pictures"
