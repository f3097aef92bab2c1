"""A model of `sdm joint` afterwards: on other layers, and at other sites."""

import json
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
import rasterio
from community import SPECIES, draw_community, write_community
from shapely.geometry import box
from sklearn.metrics import roc_auc_score
from terminal import as_json, fail, files, model_answer, read, rows, succeed, write_table

from sdm.models.community import FittedJoint

OWN = ("--environment", "heat,rain", "--learner", "crf-l2", "--no-report", "--dpi", 50)


@pytest.fixture(scope="module")
def run(mapped: Path) -> Path:
    """A run on the survey of the virtual world, with maps and a projection."""
    return mapped


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a table of sites, which lies beside it."""
    folder = tmp_path_factory.mktemp("tables")
    succeed("joint", write_community(folder), *OWN, "-o", folder / "out")
    return folder


# ---------------------------------------------------------------------------------------------------- predict


def test_the_maps_are_those_of_the_run(run: Path, world, tmp_path: Path) -> None:
    out = tmp_path / "out"
    succeed("predict", run / "joint.npz", world.layers, "-o", out, "--threads", 1)
    names = [name for name in files(run / "maps") if name.endswith(".tif")]
    richness = ["labeled_richness", "richness"]
    assert [name for name in files(out) if not name.endswith((".qml", ".sld"))] == sorted(
        ["maps", *(f"maps/{name}" for name in names), *(f"{name}.tif" for name in richness)]
    )
    assert sum(name.endswith("_present.tif") for name in names) == 2
    for name in names:
        assert (out / "maps" / name).read_bytes() == (run / "maps" / name).read_bytes()
    for name in richness:
        assert (out / f"{name}.tif").read_bytes() == (run / f"{name}.tif").read_bytes()
    succeed("predict", run / "joint.npz", world.folder / "warmer", "-o", tmp_path / "then")
    for name in richness:
        there = read(run / "scenarios" / "warmer" / f"{name}.tif")
        np.testing.assert_allclose(read(tmp_path / "then" / f"{name}.tif"), there, rtol=1e-6)
    for name in names:
        there = read(run / "scenarios" / "warmer" / name.replace("_present", "_labeled"))
        np.testing.assert_array_equal(read(tmp_path / "then" / "maps" / name), there)


def test_the_result_says_what_was_written(run: Path, world, tmp_path: Path) -> None:
    found = model_answer("predict", run / "joint.npz", world.layers, "-o", tmp_path / "out")
    stored = json.loads((run / "joint.json").read_text())["maps"]["layers"]
    species = FittedJoint.load(run / "joint.npz").species
    kinds = {"probability": "species", "present": "present"}
    assert len(found["maps"]) == 2 * len(species) + 2
    for place, one in found["maps"].items():
        assert Path(found["files"][place]) == tmp_path / "out" / place
        assert (tmp_path / "out" / place).is_file()
        what, name = one.pop("what"), one.pop("species", None)
        assert one == pytest.approx(stored["richness"][what] if name is None else stored[kinds[what]][name])
    said = succeed("predict", run / "joint.npz", world.layers, "-o", tmp_path / "out", "--overwrite").stdout
    assert str(tmp_path / "out" / "richness.tif") in said
    assert said.count("written: ") == 2 * len(species) + 2


def test_a_study_area_and_no_clamping(run: Path, world, tmp_path: Path) -> None:
    with rasterio.open(run / "richness.tif") as data:
        left, bottom, right, top = data.bounds
    area = geopandas.GeoDataFrame(geometry=[box(left, (bottom + top) / 2, right, top)], crs="EPSG:4326")
    area.to_file(tmp_path / "north.geojson")
    words = ("predict", run / "joint.npz", world.folder / "warmer", "--study-area", tmp_path / "north.geojson")
    succeed(*words, "-o", tmp_path / "out")
    values = read(tmp_path / "out" / "richness.tif")
    assert values[24:].count() == 0
    np.testing.assert_array_equal(
        values[:24].filled(0), read(run / "scenarios" / "warmer" / "richness.tif")[:24].filled(0)
    )
    succeed(*words, "--no-clamp", "-o", tmp_path / "free")
    assert not np.array_equal(read(tmp_path / "free" / "richness.tif"), values)
    words = (*words, "--extrapolation", "none", "--novelty", "mess,clamping")
    found = model_answer(*words, "-o", tmp_path / "none")
    mess, none = read(tmp_path / "none" / "mess.tif"), read(tmp_path / "none" / "richness.tif")
    assert mess.count() == values.count(), "novelty is known where nothing is predicted"
    assert values.count() - none.count() == (mess < 0).sum() == found["outside"]["cells"] > 0
    assert found["files"]["mod"] == str(tmp_path / "none" / "mod.tif")
    with rasterio.open(tmp_path / "out" / "richness.tif") as data:
        row, col = np.argwhere(~data.read(1, masked=True).mask)[::113].T
        points = write_table(tmp_path / "p.csv", ("x", "y"), list(zip(*data.xy(row, col))))
    succeed("predict", run / "joint.npz", points, "--layers", world.folder / "warmer", "-o", tmp_path / "p_out.csv")
    names = FittedJoint.load(run / "joint.npz").species
    sums = [sum(float(line[f"probability {name}"]) for name in names) for line in rows(tmp_path / "p_out.csv")]
    np.testing.assert_allclose(sums, values[row, col], rtol=1e-5)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("-o", "map.tif"), "give a folder for them, as in -o map"),
        (("-o", "out", "--scale", "raw"), "--scale does not apply to a joint model: leave it out"),
        (("-o", "out", "--threshold", "0.5"), "--threshold does not apply to a joint model"),
    ],
)
def test_words_of_other_models(run: Path, world, tmp_path: Path, monkeypatch, words, part) -> None:
    monkeypatch.chdir(tmp_path)
    assert part in fail("predict", run / "joint.npz", world.layers, *words, code=2)
    assert files(tmp_path) == []


def test_nothing_is_overwritten_or_left_half_written(run: Path, own, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "precious.txt").write_text("x")
    assert "contains files already" in fail("predict", run / "joint.npz", own.layers, "-o", out)
    succeed("predict", run / "joint.npz", own.layers, "-o", out, "--overwrite")
    assert (out / "precious.txt").read_text() == "x"
    with rasterio.open(own.layers / "elevation.tif", "r+") as data:
        data.write(np.full((1, data.height, data.width), data.nodata, data.dtypes[0]))
    assert "would be empty" in fail("predict", run / "joint.npz", own.layers, "-o", tmp_path / "new")
    assert not (tmp_path / "new").exists()


# --------------------------------------------------------------------------------------------------- evaluate


def test_measures_are_those_of_the_run_at_its_own_sites(run: Path, tables: Path, world) -> None:
    """From layers and a table of one row a species and site, and from a table's own columns."""
    for model, words in (
        (run / "joint.npz", (world.survey, "--layers", world.layers)),
        (tables / "out" / "joint.npz", (tables / "sites.csv",)),
    ):
        stored = json.loads((model.parent / "joint.json").read_text())["training"]["joint"]
        found = model_answer("evaluate", model, "--sites", *words)
        assert {name: found[name] for name in stored} == stored


def test_the_environment_in_a_table_of_its_own(tables: Path, tmp_path: Path) -> None:
    frame = draw_community()
    frame[["site", *SPECIES]].to_csv(tmp_path / "species.csv", index=False)
    frame[["site", "heat", "rain"]][::-1].to_csv(tmp_path / "env.csv", index=False)
    words = ("evaluate", tables / "out" / "joint.npz", "--sites")
    apart = model_answer(*words, tmp_path / "species.csv", "--layers", tmp_path / "env.csv", "--site-column", "site")
    together = model_answer(*words, tables / "sites.csv")
    assert apart["log loss"] == pytest.approx(together["log loss"], rel=1e-12)


def test_measures_of_new_sites(tables: Path, tmp_path: Path) -> None:
    frame = draw_community(90, seed=8)
    path = write_community(tmp_path, frame)
    model = FittedJoint.load(tables / "out" / "joint.npz")
    found = model_answer("evaluate", tables / "out" / "joint.npz", "--sites", path)
    p = model.predict_proba(model.encode(pd.read_csv(path)))
    best = model.predict(model.encode(pd.read_csv(path)))
    truth = frame[list(model.species)].to_numpy()
    assert (found["sites"], found["labels"]) == (90, 360)
    assert found["hamming"] == pytest.approx(np.mean(best != truth))
    assert found["hamming of marginals"] == pytest.approx(np.mean((p > 0.5) != truth))
    for s, name in enumerate(model.species):
        assert found["species"][name] == pytest.approx(roc_auc_score(truth[:, s], p[:, s]))
    said = succeed("evaluate", tables / "out" / "joint.npz", "--presences", path).stdout
    assert f"{'joint log loss (nats per site)':<42}{found['log loss']:9.4f}" in said
    assert f"  {'owl':<40}{found['species']['owl']:9.4f}" in said


def test_a_measure_that_is_not_defined_is_a_dash(tables: Path, tmp_path: Path) -> None:
    """One site has no AUC, and no TSS."""
    one = write_community(tmp_path, draw_community().iloc[:1])
    said = succeed("evaluate", tables / "out" / "joint.npz", "--sites", one).stdout
    assert "nan" not in said
    assert said.count("–") == 2 + len(SPECIES), "mean AUC and TSS, and every AUC"


def test_labels_and_columns_that_are_missing(tables: Path, tmp_path: Path) -> None:
    words = ("evaluate", tables / "out" / "joint.npz", "--sites")
    frame = draw_community(60, seed=8).astype(dict.fromkeys(SPECIES, float))
    fewer = model_answer(*words, write_community(tmp_path, frame.drop(columns=["hen", "fox"])))
    assert fewer["species"]["hen"] is None
    assert fewer["species"]["owl"] > 0.5
    assert "species of the model that are not in the table, and not measured: fox, hen" in fewer["notices"]
    holes = frame.copy()
    holes.loc[:4, list(SPECIES)] = np.nan
    holes.loc[5, "heat"] = np.nan
    found = model_answer(*words, write_community(tmp_path, holes))
    assert found["sites"] == 54
    assert any("5 sites without a known label dropped" in note for note in found["notices"])
    assert any("1 sites without a value of every variable dropped" in note for note in found["notices"])
    strangers = frame.rename(columns={name: f"{name}let" for name in SPECIES})
    said = fail(*words, write_community(tmp_path, strangers))
    assert "none of the species of the model (owl, vole, fox, hen)" in said
    said = fail(*words, write_community(tmp_path, frame.drop(columns="rain")))
    assert "has no column 'rain', a variable of the model: add it, or give layers with --layers" in said
    assert "'fox' has 3 in row" in fail(*words, write_community(tmp_path, frame.assign(fox=3)))
    empty = frame.assign(**dict.fromkeys(SPECIES, np.nan))
    assert "has a known label" in fail(*words, write_community(tmp_path, empty))
    assert "does not exist" in fail(*words, tmp_path / "none.csv")


@pytest.mark.parametrize("option", ["--class-column", "--absences", "--species", "--seed", "--proportions", "--select"])
def test_options_of_other_models(tables: Path, option) -> None:
    words = ("evaluate", tables / "out" / "joint.npz", "--sites", tables / "sites.csv")
    assert f"{option} does not apply to a joint model: leave it out" in fail(*words, option, "1", code=2)


def test_sites_off_the_layers(run: Path, world, tmp_path: Path) -> None:
    far = [{**row, "longitude": 170.0} for row in rows(world.survey)]
    pd.DataFrame(far).to_csv(tmp_path / "far.csv", index=False)
    words = ("evaluate", run / "joint.npz", "--sites", tmp_path / "far.csv", "--layers", world.layers)
    assert "none of 150 records can be used" in fail(*words)


@pytest.mark.parametrize("given", ["joint.npz", "joint.json"])
def test_the_page_is_made_again_from_the_model_s_place(run: Path, given: str) -> None:
    before = (run / "joint.html").read_bytes()
    first, *others = as_json("report", run / given)["files"]
    assert first == str(run / "joint.html")
    assert len(others) == (0 if given else 3), "pages of scenarios are made with those of the folder"
    assert (run / "joint.html").read_bytes() == before
