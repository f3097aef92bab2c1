"""`sdm predict` and `sdm evaluate`: a model file on other layers and other records."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import geopandas
import numpy as np
import pytest
import rasterio
from shapely.geometry import box
from sklearn.metrics import roc_auc_score
from terminal import change_raster, fail, files, model_answer, read, rows, succeed, write_table

from sdm.models.file import load_model


def test_predict_repeats_the_map_of_the_fit(fit, world, tmp_path: Path) -> None:
    result = succeed("predict", fit.model, world.layers, "-o", tmp_path / "map.tif")
    assert str(tmp_path / "map.tif") in result.stdout
    assert (tmp_path / "map.tif").read_bytes() == fit.map.read_bytes()
    succeed("predict", fit.model, world.layers, "--threshold", "10p", "-o", tmp_path / "range.tif")
    assert (tmp_path / "range.tif").read_bytes() == (fit.folder / f"{fit.name}_thresholded.tif").read_bytes()
    succeed("predict", fit.model, world.folder / "warmer", "-o", tmp_path / "warmer.tif")
    there = fit.folder / "scenarios" / "warmer" / f"{fit.name}.tif"  # it has the tags of the scenario too
    np.testing.assert_array_equal(read(tmp_path / "warmer.tif"), read(there))


@pytest.mark.parametrize("scale", ["raw", "cumulative", "logistic"])
def test_predict_on_other_scales(fit, world, tmp_path: Path, scale) -> None:
    found = model_answer("predict", fit.model, world.layers, "--outputformat", scale, "-o", tmp_path / "map.tif")
    values = read(tmp_path / "map.tif")
    assert found["cells"] == values.count()
    assert (found["min"], found["max"]) == pytest.approx((values.min(), values.max()))
    order = np.argsort(read(fit.map).compressed(), kind="stable")
    assert np.all(np.diff(values.compressed()[order]) >= -1e-5 * values.max()), "scales agree on the order"
    with rasterio.open(tmp_path / "map.tif") as data:
        assert data.tags()["scale"] == scale


def test_predict_in_a_study_area(fit, world, tmp_path: Path) -> None:
    with rasterio.open(fit.map) as data:
        left, bottom, right, top = data.bounds
    area = geopandas.GeoDataFrame(geometry=[box(left, (bottom + top) / 2, right, top)], crs="EPSG:4326")
    area.to_file(tmp_path / "north.geojson")
    succeed("predict", fit.model, world.layers, "--study-area", tmp_path / "north.geojson", "-o", tmp_path / "map.tif")
    values = read(tmp_path / "map.tif")
    assert values[24:].count() == 0
    np.testing.assert_array_equal(values[:24].compressed(), read(fit.map)[:24].compressed())


def test_predict_needs_all_layers_and_says_which_one_is_missing(fit, own, tmp_path: Path) -> None:
    (own.layers / "elevation.tif").rename(own.layers / "elevations.tif")
    message = fail("predict", fit.model, own.layers, "-o", tmp_path / "map.tif")
    assert "layer 'elevation' does not exist" in message
    assert "did you mean 'elevations'" in message
    assert files(tmp_path) == sorted(["own", *(f"own/{name}" for name in files(own.folder))])


def test_predict_ignores_layers_that_the_model_does_not_know(fit, own, tmp_path: Path) -> None:
    shutil.copy(own.layers / "elevation.tif", own.layers / "zzz.tif")
    succeed("predict", fit.model, own.layers, "-o", tmp_path / "map.tif")
    assert (tmp_path / "map.tif").read_bytes() == fit.map.read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("--scale", "clogog"), 2, "expected one of raw, cumulative, cloglog, logistic"),
        (("--threshold", "p10"), 2, "fixed1"),
        (("--study-area", "missing.gpkg"), 1, "does not exist"),
    ],
)
def test_predict_options_that_make_no_sense(fit, world, tmp_path: Path, words, code, part) -> None:
    assert part in fail("predict", fit.model, world.layers, *words, "-o", tmp_path / "map.tif", code=code)
    assert files(tmp_path) == []


def test_predict_does_not_overwrite_and_needs_a_place(fit, world, tmp_path: Path) -> None:
    (tmp_path / "map.tif").write_text("precious")
    assert "--overwrite" in fail("predict", fit.model, world.layers, "-o", tmp_path / "map.tif")
    assert (tmp_path / "map.tif").read_text() == "precious"
    succeed("predict", fit.model, world.layers, "-o", tmp_path / "map.tif", "--overwrite")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").touch()
    for folder in (tmp_path / "folder", ".", "/"):
        assert "is a folder: add the name" in fail("predict", fit.model, world.layers, "-o", folder)
    assert "does not exist" in fail("predict", fit.model, world.layers, "-o", tmp_path / "none" / "map.tif")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no", b"not a model"])
def test_what_is_not_a_model(world, tmp_path: Path, content) -> None:
    (tmp_path / "model.npz").write_bytes(content)
    for words in (("predict", tmp_path / "model.npz", world.layers, "-o", "x.tif"), ("info", tmp_path / "model.npz")):
        assert "model file" in fail(*words)
    np.savez(tmp_path / "arrays.npz", a=np.ones(3))
    assert "model file" in fail("info", tmp_path / "arrays.npz")
    assert "does not exist" in fail("info", tmp_path / "none.npz")


def predictions(fit, world, wanted: str) -> tuple[list[int], np.ndarray]:
    """Presence and prediction at the survey's sites, from the map."""
    sites = [row for row in rows(world.survey) if row["species"] == wanted]
    with rasterio.open(fit.map) as data:
        values = [v[0] for v in data.sample([(float(r["longitude"]), float(r["latitude"])) for r in sites])]
    return [int(row["presence"]) for row in sites], np.array(values)


def test_evaluate_a_survey_of_presences_and_absences(fit, world) -> None:
    """The survey holds two species; the model's own is the one that is meant."""
    found = model_answer("evaluate", fit.model, "--presences", world.survey, "--layers", world.layers)
    species = load_model(fit.model).meta["species"]
    observed, values = predictions(fit, world, species)
    assert (found["presences"], found["others"], found["against"]) == (sum(observed), 150 - sum(observed), "absence")
    assert found["auc"] == pytest.approx(roc_auc_score(observed, values), abs=1e-6)
    assert found["correlation"] == pytest.approx(np.corrcoef(values, observed)[0, 1], abs=1e-5)
    level = json.loads((fit.folder / f"{fit.name}.json").read_text())["thresholds"]["maxsss"]["cloglog"]
    hit, miss = values >= level, values < level
    truth = np.array(observed, dtype=bool)
    assert found["tss"] == pytest.approx(hit[truth].mean() + miss[~truth].mean() - 1, abs=1e-6)
    assert found["omission"]["maxsss"] == pytest.approx(miss[truth].mean())


def test_evaluate_with_absences_in_a_file_of_their_own(fit, world, tmp_path: Path) -> None:
    species = load_model(fit.model).meta["species"]
    for name, presence in (("found", "1"), ("absent", "0")):
        body = [
            (r["longitude"], r["latitude"])
            for r in rows(world.survey)
            if (r["species"], r["presence"]) == (species, presence)
        ]
        write_table(tmp_path / f"{name}.csv", ["lon", "lat"], body)
    words = ("evaluate", fit.model, "--layers", world.layers)
    apart = model_answer(*words, "--presences", tmp_path / "found.csv", "--absences", tmp_path / "absent.csv")
    together = model_answer(*words, "--presences", world.survey)
    assert apart["auc"] == together["auc"]
    assert apart["tss"] == together["tss"]


def test_evaluate_against_background(fit, world, tmp_path: Path) -> None:
    words = ("evaluate", fit.model, "--presences", world.records, "--layers", world.layers)
    drawn = model_answer(*words, "--background", 500, "--seed", 5)
    assert (drawn["presences"], drawn["others"], drawn["against"]) == (60, 500, "background")
    assert drawn == model_answer(*words, "--background", 500, "--seed", 5)
    assert drawn["auc"] != model_answer(*words, "--background", 500, "--seed", 6)["auc"]
    body = [(r["longitude"], r["latitude"]) for r in rows(world.survey)[:100]]
    own = write_table(tmp_path / "background.csv", ["lon", "lat"], [*body, (100, 0)])
    given = model_answer(*words, "--background", own)
    assert (given["others"], given["against"]) == (100, "background")
    assert any("background points dropped: 1 outside the extent" in notice for notice in given["notices"])


def test_evaluate_says_it_in_words(fit, world) -> None:
    result = succeed("evaluate", fit.model, "--presences", world.survey, "--layers", world.layers)
    for word in ("AUC", "log loss", "correlation", "TSS", "omission"):
        assert word in result.stdout


def test_evaluate_knows_the_truth_of_a_virtual_species(fit, world) -> None:
    words = ("evaluate", fit.model, "--presences", world.records, "--layers", world.layers, "--truth")
    found = model_answer(*words, world.folder / "truth" / f"{fit.name}.tif")
    assert 0.5 < found["truth_correlation"] < 1


def test_evaluate_asks_which_species_is_meant(fit, world, tmp_path: Path) -> None:
    body = [(f"other {k % 2}", r["longitude"], r["latitude"]) for k, r in enumerate(rows(world.records))]
    path = write_table(tmp_path / "others.csv", ["species", "lon", "lat"], body)
    words = ("evaluate", fit.model, "--presences", path, "--layers", world.layers)
    assert "--species (other 0, other 1)" in fail(*words, code=2)
    assert model_answer(*words, "--species", "other 1")["presences"] == 30
    assert "is not in" in fail(*words, "--species", "other 2", code=2)


def test_evaluate_aligns_layers_as_fit_does(fit, own) -> None:
    shifted = own.layers / "elevation.tif"
    with rasterio.open(shifted) as data:
        t = data.transform
    change_raster(shifted, shifted, transform=rasterio.Affine(t.a, 0, t.c + t.a / 4, 0, t.e, t.f + t.e / 4))
    words = ("evaluate", fit.model, "--presences", own.records, "--layers", own.layers)
    assert "--align" in fail(*words)
    found = model_answer(*words, "--align", "landcover")
    assert found["auc"] > 0.6
    assert any("resampled" in notice for notice in found["notices"])


def test_evaluate_one_presence_has_no_deviation_and_still_valid_json(fit, world, tmp_path: Path) -> None:
    first = rows(world.records)[0]
    path = write_table(tmp_path / "one.csv", ["lon", "lat"], [(first["longitude"], first["latitude"])])
    found = model_answer("evaluate", fit.model, "--presences", path, "--layers", world.layers)
    assert found["auc_deviation"] is None


def test_evaluate_nothing_usable(fit, world, tmp_path: Path) -> None:
    path = write_table(tmp_path / "far.csv", ["lon", "lat"], [(100, 0), (101, 0)])
    message = fail("evaluate", fit.model, "--presences", path, "--layers", world.layers)
    assert "none of 2 records can be used" in message


def test_predict_keeps_results_and_messages_apart(fit, world, commands, tmp_path: Path) -> None:
    out, err = tmp_path / "out.json", tmp_path / "err.txt"
    words = ("predict", fit.model, world.layers, "-o", tmp_path / "map.tif", "--json")
    assert commands.tell(words, out, str(err), {}) == 0
    (model,) = json.loads(out.read_text())["models"]
    assert model["files"]["map"] == str(tmp_path / "map.tif")
    assert "categorical layers" in err.read_text()


def test_every_raster_of_a_run_describes_itself(fit) -> None:
    """What a GIS shows of a map: description, tags, unit or classes, statistics, colours, and a style beside it."""
    rasters = sorted(fit.folder.rglob("*.tif"))
    assert len(rasters) >= 5
    for path in rasters:
        with rasterio.open(path) as data:
            assert all(data.descriptions), path
            assert {"software", "model_id"} <= set(data.tags()), path
            known = data.read(1, masked=True)
            if known.count():
                found = [float(data.tags(1)[f"STATISTICS_{name}"]) for name in ("MINIMUM", "MAXIMUM", "MEAN")]
                assert found == pytest.approx([known.min(), known.max(), known.mean(dtype=float)], rel=1e-4), path
            if data.dtypes[0] == "uint8":
                assert data.colorinterp[0].name == "palette", path
                assert any(key.startswith(("class_", "variable_", "value_")) for key in data.tags()), path
            else:
                assert data.units[0] or data.tags()["what"], path
            presence = data.tags().get("what") == "presence"
            assert not presence or {"threshold_rule", "threshold", "species"} <= set(data.tags()), path
            inside = "scenarios" in path.parts and "across" not in path.parts
            assert not inside or data.tags()["scenario"] in ("reference", "warmer"), path
        for ending in (".qml", ".sld"):
            ElementTree.parse(path.with_suffix(ending))  # noqa: S314


def test_predict_writes_the_format_of_the_ending(fit, world, tmp_path: Path) -> None:
    succeed("predict", fit.model, world.layers, "-o", tmp_path / "map.asc")
    assert (tmp_path / "map.asc").read_text().startswith("ncols")
    np.testing.assert_allclose(read(tmp_path / "map.asc").filled(-1), read(fit.map).filled(-1), atol=1e-5)
    refused = fail("predict", fit.model, world.layers, "-o", tmp_path / "map.png", code=2)
    assert "expected the ending .tif, .asc" in refused


def test_predict_does_not_overwrite_a_style_of_the_user(fit, world, tmp_path: Path) -> None:
    (tmp_path / "map.qml").write_text("mine")
    assert "map.qml" in fail("predict", fit.model, world.layers, "-o", tmp_path / "map.tif")
    assert (tmp_path / "map.qml").read_text() == "mine"
    assert not (tmp_path / "map.tif").exists()
