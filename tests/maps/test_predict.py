"""Maps: the same whatever the windows and threads, in bounded memory, complete or not at all."""

import os
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio
from affine import Affine
from rasterio.windows import Window

import sdm.data.rasters.stack
import sdm.maps.single
from sdm import Maxent
from sdm.data.rasters.layers import open_stack
from sdm.errors import DataError, OutputError
from sdm.maps import rasters as predict
from sdm.maps.passes import MapPass
from sdm.maps.single import predict_raster, write_spread_maps
from sdm.models.species import Model


def write_layers(folder: Path, height: int, width: int) -> Path:
    """Two smooth layers, one class layer and a corner without data, in tiles of 64 × 64."""
    folder.mkdir(parents=True, exist_ok=True)
    row, col = np.mgrid[:height, :width]
    bands = {
        "heat": np.sin(col / width * 6) + row / height,
        "rain": np.cos(row / height * 9) * col / width,
        "soil": (row // 7 + col // 5) % 4 + 1.0,
    }
    for name, band in bands.items():
        band[: height // 4, : width // 4] = -9999
        profile = {"driver": "GTiff", "count": 1, "height": height, "width": width, "dtype": "float32", "nodata": -9999}
        profile |= {"crs": "EPSG:4326", "transform": Affine(0.01, 0, 5, 0, -0.01, 50), "tiled": True}
        with rasterio.open(folder / f"{name}.tif", "w", **profile, blockxsize=64, blockysize=64) as out:
            out.write(band.astype("float32"), 1)
    return folder


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_layers(tmp_path_factory.mktemp("layers"), 300, 420)


@pytest.fixture(scope="module")
def model() -> Model:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {"heat": rng.uniform(-1, 2, 400), "rain": rng.uniform(-1, 1, 400), "soil": rng.integers(1, 5, 400)}
    )
    labels = (table["heat"] + rng.normal(0, 0.5, 400) > 1.2).to_numpy().astype(int)
    return Maxent(features="lqp", categorical=["soil"]).fit(table, labels).model_


def stack_of(layers: Path, model: Model):
    return open_stack(layers, categorical=["soil"], names=model.names)


def test_the_map_does_not_depend_on_windows_or_threads(layers: Path, model: Model, tmp_path: Path, monkeypatch) -> None:
    stack = stack_of(layers, model)
    content = set()
    for k, (threads, budget) in enumerate([(1, 32 << 20), (2, 200_000), (3, 60_000)]):
        monkeypatch.setattr(sdm.data.rasters.stack.Stack.windows, "__kwdefaults__", {"budget": budget})
        summary = predict_raster(model, stack, tmp_path / f"{k}.tif", MapPass(threads=threads))
        content.add((tmp_path / f"{k}.tif").read_bytes())
        assert (len(stack.windows()) > 1) == (budget < 1 << 20)
    assert len(content) == 1
    assert summary.cells == 300 * 420 - 75 * 105


def test_every_cell_is_predicted(layers: Path, model: Model, tmp_path: Path) -> None:
    stack = stack_of(layers, model)
    predict_raster(model, stack, tmp_path / "map.tif", MapPass("free"), scale="logistic")
    with stack.reader() as reader:
        values = reader.read(Window(0, 0, 420, 300)).reshape(3, -1).astype(np.float64)
    expected = model.predict(values.T, "logistic", clamp=False)
    with rasterio.open(tmp_path / "map.tif") as data:
        found = data.read(1, masked=True).astype(np.float64).filled(np.nan).ravel()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_memory_is_a_few_windows_whatever_the_raster(model: Model, tmp_path: Path, monkeypatch) -> None:
    """Each of the layers of this raster alone has more bytes than the whole prediction may take."""
    budget, size = 400_000, 1600
    monkeypatch.setattr(sdm.data.rasters.stack.Stack.windows, "__kwdefaults__", {"budget": budget})
    stack = stack_of(write_layers(tmp_path / "layers", size, size), model)
    tracemalloc.start()
    try:
        predict_raster(model, stack, tmp_path / "map.tif", MapPass(threads=2))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * budget < size * size * 4, f"{peak:,} bytes for windows of {budget:,}"


def test_progress_is_told(layers: Path, model: Model, tmp_path: Path) -> None:
    steps: list[tuple[int, int, str]] = []
    predict_raster(
        model, stack_of(layers, model), tmp_path / "a.tif", MapPass(progress=lambda *step: steps.append(step))
    )
    windows = [(done, total) for done, total, text in steps if text == "map"]
    assert windows == [(done, len(windows) - 1) for done in range(len(windows))]
    assert steps[-2:] == [(0, 1, "map, files"), (1, 1, "map, files")]


def test_layers_in_another_order_are_refused(layers: Path, model: Model, tmp_path: Path) -> None:
    stack = open_stack(layers, names=["soil", "rain", "heat"])
    with pytest.raises(DataError, match="the model needs heat, rain, soil"):
        predict_raster(model, stack, tmp_path / "map.tif")


def test_tags_of_the_caller_are_kept(layers: Path, model: Model, tmp_path: Path) -> None:
    predict_raster(model, stack_of(layers, model), tmp_path / "map.tif", tags={"species": "Ursus 🐻"})
    with rasterio.open(tmp_path / "map.tif") as data:
        assert data.tags()["species"] == "Ursus 🐻"


def test_a_disk_without_room_is_noticed_before_the_work(
    layers: Path, model: Model, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**6, 999_000, 1000))
    with pytest.raises(OutputError, match=r"needs 1\.0 MB temporarily, and the disk has 0\.0 MB left"):
        predict_raster(model, stack_of(layers, model), tmp_path / "map.tif")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="this system does not limit the memory of a process")
@pytest.mark.parametrize(("limit", "threads"), [(2**40, 1), (-1, 4)])
def test_gdal_has_one_thread_where_another_may_not_start(
    layers: Path, model: Model, tmp_path: Path, monkeypatch, limit: int, threads: int
) -> None:
    """GDAL waits forever for a thread that it could not start, and holds Python's lock: no signal ends the run."""
    import resource

    real, used = rasterio.shutil.copy, []

    def copy(*places, **options) -> None:
        used.append(options["NUM_THREADS"])
        real(*places, **options)

    monkeypatch.setattr(rasterio.shutil, "copy", copy)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, resource.RLIM_INFINITY))
    predict_raster(model, stack_of(layers, model), tmp_path / "map.tif", MapPass(threads=4))
    assert used == [threads]


def test_a_map_cut_short_by_a_full_disk_is_not_kept(layers: Path, model: Model, tmp_path: Path, monkeypatch) -> None:
    """GDAL may close a file without saying that its last tiles were not written."""
    real = predict._to_cog

    def cut(source: Path, target: Path, *rest) -> None:
        real(source, target, *rest)
        with target.open("r+b") as file:
            file.truncate(target.stat().st_size - 500)

    monkeypatch.setattr(predict, "_to_cog", cut)
    with pytest.raises(OutputError, match="No space left on device"):
        predict_raster(model, stack_of(layers, model), tmp_path / "map.tif")
    assert list(tmp_path.iterdir()) == []


def test_an_older_map_survives_a_failure(layers: Path, model: Model, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "map.tif").write_bytes(b"old")

    def broken(*_) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(predict, "_to_cog", broken)
    with pytest.raises(OutputError, match=r"map\.tif cannot be written \(Input/output error\)"):
        predict_raster(model, stack_of(layers, model), tmp_path / "map.tif")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_a_map_without_any_cell_is_refused(model: Model, tmp_path: Path) -> None:
    folder = write_layers(tmp_path / "layers", 64, 64)
    with rasterio.open(folder / "rain.tif", "r+") as data:
        data.write(np.full((64, 64), -9999, "float32"), 1)
    with pytest.raises(DataError, match="no cell of the layers has a value in every layer"):
        predict_raster(model, stack_of(folder, model), tmp_path / "map.tif")
    assert not (tmp_path / "map.tif").exists()


# ------------------------------------------------------------------------------------------- over replicates


@pytest.fixture(scope="module")
def replicates() -> list[Model]:
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {"heat": rng.uniform(-1, 2, 400), "rain": rng.uniform(-1, 1, 400), "soil": rng.integers(1, 5, 400)}
    )
    labels = (table["heat"] + rng.normal(0, 0.5, 400) > 1.2).to_numpy().astype(int)
    draws = [rng.integers(0, 400, 400) for _ in range(5)]
    return [Maxent("lq", categorical=["soil"]).fit(table.iloc[some], labels[some]).model_ for some in draws]


def spread_paths(folder: Path) -> dict[str, Path]:
    return {name: folder / f"x_{name}.tif" for name in ("mean", "sd", "lower", "upper")}


def test_maps_over_replicates_are_numpys_over_their_maps(layers: Path, replicates, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("sdm.maps.single.SPREAD", 1000)  # 200 cells at a time
    stack = stack_of(layers, replicates[0])
    summaries = write_spread_maps(replicates, stack, spread_paths(tmp_path), MapPass(threads=2))
    maps = []
    for k, model in enumerate(replicates):
        predict_raster(model, stack, tmp_path / f"{k}.tif")
        with rasterio.open(tmp_path / f"{k}.tif") as source:
            maps.append(source.read(1, masked=True).filled(np.nan).astype(float))
    expected = {
        "mean": np.mean(maps, axis=0),
        "sd": np.std(maps, axis=0, ddof=1),
        "lower": np.quantile(maps, 0.05, axis=0),
        "upper": np.quantile(maps, 0.95, axis=0),
    }
    for name, path in spread_paths(tmp_path).items():
        with rasterio.open(path) as source:
            band = source.read(1, masked=True)
            assert source.tags()["replicates"] == "5"
        np.testing.assert_array_equal(band.mask, np.isnan(expected[name]))
        np.testing.assert_allclose(band.filled(np.nan), expected[name], atol=2e-6)
        assert summaries[name].mean == pytest.approx(np.nanmean(expected[name]), abs=1e-5)


def test_maps_over_replicates_are_complete_or_not_at_all(layers: Path, replicates, tmp_path: Path, monkeypatch) -> None:
    stack = stack_of(layers, replicates[0])
    with pytest.raises(DataError, match="the model needs"):
        write_spread_maps(replicates, open_stack(layers, names=["heat", "rain"]), spread_paths(tmp_path))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(predict, "_to_cog", full)
    with pytest.raises(OutputError, match="nothing was kept"):
        write_spread_maps(replicates, stack, spread_paths(tmp_path))
    assert list(tmp_path.iterdir()) == []
