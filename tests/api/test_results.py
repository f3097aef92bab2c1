"""What a run gives in Python: tables, maps, polygons, predictions, and folders that repeat it."""

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio
import rioxarray  # noqa: F401 - `.rio` of maps
import xarray as xr
from api.conftest import QUICK

import sdm
from sdm.api import rasters

NAME = "Virtualis montanus"


def test_tables_are_data_frames(run: sdm.Run) -> None:
    one = run[NAME]
    assert {"variable", "value", "response"} <= set(one.curves.columns)
    assert set(one.importance["variable"]) == set(one.model.names)
    assert one.thresholds.loc["mtp", "training_omission"] == 0
    assert len(one.cross_validation) == 2
    assert set(one.folds["fold"]) == {1, 2}
    assert (one.records["fate"] == "kept").sum() == one.numbers["training_presences"] + one.numbers["test_presences"]
    assert one.omission["Fractional area"].between(0, 1).all()
    assert one.jackknife.shape[0] == 2 * 5 + 1
    assert one.tuning.empty, "nothing was tuned"
    assert {"curves", "roc", "records"} <= set(one.tables)
    pd.testing.assert_frame_equal(run.importance, one.importance)


def test_several_species_are_one_table(both: sdm.Run) -> None:
    names = list(both)
    assert len(names) == 2
    assert both.importance["species"].unique().tolist() == names
    assert set(both.thresholds["species"]) == set(names)
    assert both.thresholds["rule"].tolist() == [rule for name in names for rule in both[name].thresholds.index]
    assert both.map.sizes["band"] == 2
    assert both.summary["species"].tolist() == names
    with pytest.raises(sdm.SdmError, match="choose one, as in run"):
        _ = both.model
    with pytest.raises(sdm.SdmError, match="no model 'Puma'"):
        _ = both["Puma"]


def test_the_map_knows_where_it_is(run: sdm.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found, plain = run.map, run.raster()
    with rasterio.open(run.files["map"]) as source:
        np.testing.assert_array_equal(found.values, source.read(1, masked=True).filled(np.nan))
        assert found.rio.crs == source.crs
        assert found.rio.transform() == source.transform
        assert plain.profile["transform"] == source.transform
    assert float(found.sel(x=found.x[20], y=found.y[10])) == plain.values[10, 20] or np.isnan(plain.values[10, 20])
    monkeypatch.setattr(rasters, "find_spec", lambda name: None)
    assert isinstance(run.map, sdm.RasterMap), "without xarray it is the array with its profile"


def test_predictions_are_those_of_the_map(run: sdm.Run, world) -> None:
    """A table at some cells, the layers again as files, and as objects: always the same numbers."""
    data = world.dataset()
    shown = run.map.to_series().dropna().iloc[100:120]
    cells = data.to_dataframe(dim_order=["y", "x"]).loc[shown.index]
    at = run.predict(cells)
    assert at.index.equals(cells.index)
    np.testing.assert_allclose(at, shown, rtol=1e-5)
    for layers in (world.layers, data):
        np.testing.assert_array_equal(run.predict(layers).values, run.map.values)
    assert float(run.predict(cells, "raw").max()) < 0.1
    with pytest.raises(sdm.SdmError, match="scale='nice'"):
        run.predict(cells, "nice")


def test_the_map_lies_on_the_layers(run: sdm.Run, world) -> None:
    """xarray takes only cells together whose coordinates are equal: the map has those of the layers, as they come."""
    data = world.dataset()
    assert run.map.where(data["temperature"] > -900).notnull().sum() == run.map.notnull().sum()
    own = data.drop_vars("spatial_ref").rename(y="lat", x="lon").sortby("lat")
    own = own.assign_coords(lat=own["lat"] + 1e-9, lon=own["lon"] * (1 + 1e-12))
    found = run.predict(own, layers_crs="EPSG:4326")
    assert found.dims == ("lat", "lon")
    xr.testing.assert_equal(found["lat"].drop_vars("spatial_ref"), own["lat"])
    assert (found * own["temperature"]).sizes == own.sizes
    np.testing.assert_array_equal(found.values, run.map.values[::-1])


def test_the_range_is_the_cells_above_a_cutoff(run: sdm.Run) -> None:
    patches = run.range()
    inside = run.get_map("thresholded map").values == 1
    assert patches.crs.to_epsg() == 4326
    total = patches.geometry.set_crs(None, allow_override=True).area.sum()
    cell = abs(run.raster().profile["transform"].a ** 2)
    assert total == pytest.approx(inside.sum() * cell)
    assert (patches["area_km2"].diff().dropna() <= 0).all()
    assert run.range(0.0)["area_km2"].sum() > run.range("mtp")["area_km2"].sum() >= patches["area_km2"].sum()
    with pytest.raises(sdm.SdmError, match="threshold='best'"):
        run.range("best")


def test_nothing_stays_when_a_run_is_gone(world) -> None:
    made = sdm.fit(world.first(), world.layers, **QUICK, curves=False, report=False, map=False, importance=False)
    folder, one = made.folder, made[NAME]
    del made
    gc.collect()
    assert one.model.names, "a model keeps the folder of its run"
    del one
    gc.collect()
    assert not folder.parent.exists()


@pytest.mark.thorough
def test_a_saved_run_repeats_itself(run: sdm.Run, tmp_path: Path) -> None:
    """The folder says nothing of where it came from, keeps the objects, and gives the same map in the terminal."""
    saved = run.to_folder(tmp_path / "sa, ved: #1")
    for file in saved.rglob("*"):
        if file.is_file() and file.suffix not in (".tif", ".png", ".npz", ".parquet"):
            assert str(run.folder.parent).encode() not in file.read_bytes(), file.name
    with pytest.raises(sdm.SdmError, match="contains files already"):
        run.to_folder(saved)
    again = tmp_path / "again"
    code = (
        f"import sdm_cli.main, sys; sys.argv = ['sdm', 'fit', {str(saved / 'run.yaml')!r}, '-o', {str(again)!r}, '-q']"
    )
    done = subprocess.run([sys.executable, "-c", f"{code}; sdm_cli.main.main()"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in (run.files["map"].name, run.files["model"].name):
        assert (again / name).read_bytes() == run.files["map"].with_name(name).read_bytes()
    loaded = sdm.load(saved)
    assert loaded.numbers == run.numbers
    pd.testing.assert_frame_equal(loaded.curves, run.curves)


def test_objects_are_saved_with_the_output(world, tmp_path: Path) -> None:
    out = tmp_path / "out"
    few = {**QUICK, "curves": False, "report": False, "map": False, "importance": False}
    made = sdm.fit(world.first(), world.layers, output=out, **few)
    assert made.folder == out
    assert (out / "inputs" / "records.csv").is_file()
    with pytest.raises(sdm.SdmError, match="contains files already"):
        sdm.fit(world.first(), world.layers, output=out, **few)
    sdm.fit(world.first(), world.layers, output=out, overwrite=True, **few)
    with pytest.raises(sdm.SdmError, match="resume=True needs"):
        sdm.fit(world.first(), world.layers, output=out, resume=True, **few)


def test_a_model_file_alone_predicts(run: sdm.Run, tmp_path: Path) -> None:
    sdm.save_model(run.model, tmp_path / "alone.npz")
    alone = sdm.load(tmp_path / "alone.npz")
    assert alone.curves.empty
    row = pd.DataFrame([dict.fromkeys(run.model.names, 1.0)])
    assert alone.predict(row)[0] == run.predict(row)[0]
    with pytest.raises(sdm.SdmError, match="no results"):
        sdm.load(tmp_path)


def test_scenarios(run: sdm.Run, world, tmp_path: Path) -> None:
    """From a run and layers in memory to change, and to a folder."""
    future = sdm.project(run, {"warmer": world.dataset("warmer")}, world.layers, novelty="mess")
    assert list(future) == [NAME]
    table = future.summary.set_index("scenario")
    row = table.loc["warmer"]
    assert row["stable_km2"] + row["gain_km2"] == pytest.approx(row["suitable_km2"])
    assert row["stable_km2"] + row["loss_km2"] == pytest.approx(table.loc["reference", "suitable_km2"])
    one = future.only
    assert {"suitability", "change", "mess"} <= set(one.maps_of("warmer"))
    np.testing.assert_array_equal(one.get_map("reference").values, run.map.values)
    np.testing.assert_array_equal(one.get_map("warmer").values, run.predict(world.folder / "warmer").values)
    assert one.maps.sizes["band"] == 2
    saved = future.to_folder(tmp_path / "future")
    assert str(future.folder.parent) not in (saved / "mapping.csv").read_text()
    assert sdm.load_projection(saved).summary.equals(future.summary)
    with pytest.raises(sdm.SdmError, match="load_projection"):
        sdm.load(saved)


def test_evaluation(run: sdm.Run, world) -> None:
    survey = pd.read_csv(world.folder / "presence_absence.csv")
    by_path = sdm.evaluate(run.files["model"], world.folder / "presence_absence.csv", world.layers, species=NAME)
    found = sdm.evaluate(run, survey, world.dataset(), species=NAME)
    assert found.numbers == by_path.numbers
    assert 0.5 < found.numbers["auc"] <= 1


def test_tuning(world) -> None:
    made = sdm.tune(
        world.first(), world.layers, **QUICK | {"features": "auto"}, feature_sets=["l", "lq"], multipliers=[1, 4],
        folds=2, curves=False, report=False, map=False, importance=False,
    )  # fmt: skip
    assert len(made.tuning) == 4
    assert made.tuning["chosen"].sum() == 1
    from matplotlib import pyplot

    assert made.plot.tuning().get_ylabel()
    pyplot.close("all")


def test_plots_are_axes(run: sdm.Run) -> None:
    """Every plot makes a figure, or goes onto axes that are there; it shows what the tables say."""
    from matplotlib import pyplot

    _, (left, right) = pyplot.subplots(1, 2)
    assert run.plot.roc(ax=left) is left
    np.testing.assert_allclose(left.lines[0].get_xdata(), run.roc["Fractional area"])
    assert run.plot.importance(right).get_yticklabels()[0].get_text() == run.importance["variable"][0]
    on_map = run.plot.map()
    assert on_map.get_title() == NAME
    shown = on_map.images[0].get_array()
    assert float(np.nanmax(shown)) == pytest.approx(float(run.map.max()))
    assert len(on_map.lines[0].get_xdata()) == run.numbers["training_presences"]
    ranked = [label.get_text() for label in right.get_yticklabels()]
    assert [one.get_xlabel() for one in run.plot.curves()] == ranked, "the most important variable comes first"
    assert sorted(ranked) == sorted(run.curves["variable"].unique())
    elevation = run.curves.query("variable == 'elevation' and kind == 'marginal'")
    np.testing.assert_allclose(run.plot.curve("elevation").lines[0].get_ydata(), elevation["response"])
    for name in ("omission", "jackknife", "folds"):
        assert getattr(run.plot, name)().has_data()
        own = pyplot.figure().add_subplot()
        assert getattr(run.plot, name)(ax=own) is own
    own = pyplot.figure().add_subplot()
    assert run.plot.map(ax=own) is own
    own = pyplot.figure().add_subplot()
    assert run.plot.curve("elevation", own) is own
    assert run.plot.map("thresholded map", records=False).has_data()
    with pytest.raises(sdm.SdmError, match="no response curve of 'rain'"):
        run.plot.curve("rain")
    with pytest.raises(sdm.SdmError, match="no table 'tune'"):
        run.plot.tuning()
    pyplot.close("all")


def test_notebooks_show_runs_models_and_solutions(run: sdm.Run, both: sdm.Run) -> None:
    text = run._repr_html_()
    assert NAME in text
    assert "data:image/png" in text, "a small map"
    assert all(name in both._repr_html_() for name in both)
    assert "weight" in run.model._repr_html_()
    odd = sdm.Maxent("l").fit(pd.DataFrame({"<b>x</b>": np.arange(40.0)}), np.repeat([1, 0], [10, 30]))
    assert "&lt;b&gt;" in odd.model_._repr_html_()
    assert "duality gap" in odd.solution_._repr_html_()
