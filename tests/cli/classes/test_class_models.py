"""A model of `sdm classify` afterwards: on other layers, at other points, and its page made again."""

import json
import shutil
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
import rasterio
from rio_cogeo.cogeo import cog_validate
from shapely.geometry import box
from simulated.habitats import NAMES, draw_plots
from sklearn.metrics import accuracy_score, cohen_kappa_score, confusion_matrix, log_loss, roc_auc_score
from terminal import PLAIN, as_json, change_raster, fail, files, model_answer, read, rows, sdm, succeed, write_table

from sdm import ConditionalMaxent
from sdm.models.classes import ClassModel

MAPS = {"": "_probability", "_class": "", "_entropy": "_entropy"}  # of `sdm predict`, and of `sdm classify`


def write_points(path: Path, body, column: str = "habitat") -> Path:
    return write_table(path, ["longitude", "latitude", column], body)


@pytest.fixture(scope="module")
def run(classified: Path) -> Path:
    """A run with a projection; tests change copies of it."""
    return classified / "results"


@pytest.fixture(scope="module")
def fresh(world, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Points that the model has not seen."""
    return write_points(tmp_path_factory.mktemp("fresh") / "fresh.csv", draw_plots(world, 80, 11))


# ---------------------------------------------------------------------------------------------------- predict


def test_the_maps_are_those_of_the_run(run: Path, world, tmp_path: Path) -> None:
    model = run / "habitat.npz"
    succeed("predict", model, world.layers, "-o", tmp_path / "map.tif", "--threads", 1)
    for here, there in MAPS.items():
        found, expected = tmp_path / f"map{here}.tif", run / f"habitat{there}.tif"
        assert found.read_bytes() == expected.read_bytes(), found.name
        assert cog_validate(found, quiet=True)[0]
    assert len(files(tmp_path)) == 9, "each with two styles, and nothing else"
    succeed("predict", model, world.folder / "warmer", "-o", tmp_path / "then.tif")
    for name in ("class", "entropy"):
        there = read(run / "scenarios" / "warmer" / f"{name}.tif")
        np.testing.assert_array_equal(read(tmp_path / f"then_{name}.tif"), there)
    with rasterio.open(tmp_path / "then.tif") as data:
        for band, label in enumerate(data.descriptions, start=1):
            there = read(run / "scenarios" / "warmer" / f"{label}.tif")
            np.testing.assert_array_equal(data.read(band), there.filled(-9999))


def test_bands_are_called_by_the_classes_and_colours_are_kept(world, tmp_path: Path) -> None:
    """A model of a raster with a colour table draws its maps in those colours, wherever it is mapped."""
    classes = shutil.copy(world.layers / "landcover.tif", tmp_path / "cover.tif")
    with rasterio.open(classes) as source:
        band, profile = source.read(1), source.profile
    known = [int(k) for k in np.unique(band) if k != profile["nodata"] and k > 0]
    with rasterio.open(classes, "w", **{**profile, "dtype": "uint8", "nodata": 0}) as out:
        out.write(np.where(np.isin(band, known), band, 0).astype("uint8"), 1)
        out.write_colormap(1, {k: (10 * k, 200 - 10 * k, 3, 255) for k in known})
    words = ("classify", world.layers / "temperature.tif", world.layers / "elevation.tif", "--classes", classes)
    words = (*words, "--no-map-picture", "--no-importance", "--no-report")
    succeed(*words, "--points", 400, "--fc", "l", "--rm", 1, "--least", 2, "--no-curves", "-o", tmp_path / "out")
    model = tmp_path / "out" / "cover.npz"
    succeed("predict", model, world.layers, "-o", tmp_path / "map.tif")
    assert (tmp_path / "map_class.tif").read_bytes() == (tmp_path / "out" / "cover.tif").read_bytes()
    labels = ClassModel.load(model).labels
    with rasterio.open(tmp_path / "map_class.tif") as source:
        table = source.colormap(1)
    for label in labels:
        assert table[int(label)] == (10 * int(label), 200 - 10 * int(label), 3, 255)
    with rasterio.open(tmp_path / "map.tif") as source:
        assert source.descriptions == labels


def test_the_result_says_what_is_on_the_map(run: Path, world, tmp_path: Path) -> None:
    found = model_answer("predict", run / "habitat.npz", world.layers, "-o", tmp_path / "map.tif")
    stored = json.loads((run / "habitat.json").read_text())["map"]
    assert {name: found[name] for name in stored} == stored
    assert found["files"]["class"] == str(tmp_path / "map_class.tif")
    said = succeed("predict", run / "habitat.npz", world.layers, "-o", tmp_path / "map.tif", "--overwrite").stdout
    assert str(tmp_path / "map_entropy.tif") in said
    assert f"{found['shares']['forest']:.1%}" in said


def test_a_study_area_and_no_clamping(run: Path, world, tmp_path: Path) -> None:
    with rasterio.open(run / "habitat.tif") as data:
        left, bottom, right, top = data.bounds
    area = geopandas.GeoDataFrame(geometry=[box(left, (bottom + top) / 2, right, top)], crs="EPSG:4326")
    area.to_file(tmp_path / "north.geojson")
    words = ("predict", run / "habitat.npz", world.folder / "warmer", "--study-area", tmp_path / "north.geojson")
    succeed(*words, "-o", tmp_path / "map.tif")
    succeed(*words[:-2], "-o", tmp_path / "whole.tif")
    for here in MAPS:
        values, whole = read(tmp_path / f"map{here}.tif"), read(tmp_path / f"whole{here}.tif")
        assert values[24:].count() == 0
        np.testing.assert_array_equal(values[:24].filled(0), whole[:24].filled(0))
    succeed(*words, "--no-clamp", "-o", tmp_path / "free.tif")
    assert not np.array_equal(read(tmp_path / "free.tif"), read(tmp_path / "map.tif"))


def test_novelty_and_extrapolation(run: Path, world, tmp_path: Path) -> None:
    words = ("predict", run / "habitat.npz", world.folder / "warmer")
    found = model_answer(*words, "--novelty", "mess,clamping", "-o", tmp_path / "map.tif")
    outside = read(tmp_path / "map_mess.tif") < 0
    assert found["outside"]["cells"] == outside.sum() > 0
    succeed(*words, "--extrapolation", "free", "-o", tmp_path / "free.tif")
    bands = range(1, len(found["shares"]) + 1)
    differences = [abs(read(tmp_path / "map.tif", k) - read(tmp_path / "free.tif", k)) for k in bands]
    np.testing.assert_allclose(read(tmp_path / "map_clamping.tif"), np.ma.max(differences, axis=0), atol=1e-6)
    none = model_answer(*words, "--extrapolation", "none", "-o", tmp_path / "none.tif")
    assert found["cells"] - none["cells"] == outside.sum()
    assert not read(tmp_path / "none_class.tif")[outside.filled(False)].count()
    with rasterio.open(tmp_path / "map.tif") as data:
        row, col = np.argwhere(~data.read(1, masked=True).mask)[::113].T
        points = write_table(tmp_path / "p.csv", ("x", "y"), list(zip(*data.xy(row, col))))
    succeed("predict", run / "habitat.npz", points, "--layers", world.folder / "warmer", "-o", tmp_path / "out.csv")
    for k, label in enumerate(ClassModel.load(run / "habitat.npz").labels, start=1):
        column = [float(line[f"probability {label}"]) for line in rows(tmp_path / "out.csv")]
        np.testing.assert_allclose(column, read(tmp_path / "map.tif", k)[row, col], rtol=1e-5)
        chosen = [line["class"] == label for line in rows(tmp_path / "out.csv")]
        assert all(one >= 1 / len(found["shares"]) for one, best in zip(column, chosen) if best)
    for word, says in ((("--extrapolation", "fade"), "appl"), (("--novelty", "limiting"), "needs one output")):
        assert says in fail(*words, *word, "-o", tmp_path / "no.tif", code=2)


def test_layers_are_aligned_and_nodata_is_heard(run: Path, own, tmp_path: Path) -> None:
    shifted = own.layers / "elevation.tif"
    with rasterio.open(shifted) as data:
        t = data.transform
    change_raster(shifted, shifted, transform=rasterio.Affine(t.a, 0, t.c + t.a / 4, 0, t.e, t.f + t.e / 4))
    words = ("predict", run / "habitat.npz", own.layers, "-o", tmp_path / "map.tif")
    assert "--align" in fail(*words)
    assert any("resampled" in notice for notice in model_answer(*words, "--align", "landcover")["notices"])


def test_nothing_is_overwritten_unasked(run: Path, world, tmp_path: Path) -> None:
    (tmp_path / "map_entropy.tif").write_text("precious")
    words = ("predict", run / "habitat.npz", world.layers, "-o", tmp_path / "map.tif")
    assert "--overwrite" in fail(*words)
    assert files(tmp_path) == ["map_entropy.tif"]
    succeed(*words, "--overwrite")
    assert len(files(tmp_path)) == 9


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("--scale", "cloglog"), 2, "--scale does not apply to a class model: remove it"),
        (
            ("--threshold", "10p"),
            2,
            "--threshold needs presence and absence, and the classes are bare, forest, meadow",
        ),
        (("--study-area", "missing.gpkg"), 1, "does not exist"),
    ],
)
def test_options_of_other_models(run: Path, world, tmp_path: Path, words, code, part) -> None:
    assert part in fail("predict", run / "habitat.npz", world.layers, *words, "-o", tmp_path / "map.tif", code=code)
    assert files(tmp_path) == []


def test_a_layer_is_missing(run: Path, own, tmp_path: Path) -> None:
    (own.layers / "elevation.tif").unlink()
    before = files(tmp_path)
    assert "'elevation' does not exist" in fail("predict", run / "habitat.npz", own.layers, "-o", tmp_path / "map.tif")
    assert "is a folder" in fail("predict", run / "habitat.npz", own.layers, "-o", own.folder, "--overwrite")
    assert files(tmp_path) == before


# --------------------------------------------------------------------------------------------------- evaluate


@pytest.mark.parametrize(("data", "value"), [("training", "train"), ("test", "test")])
def test_measures_are_those_of_the_run_at_its_own_sites(
    run: Path, world, tmp_path: Path, data: str, value: str
) -> None:
    stored = json.loads((run / "habitat.json").read_text())["measures"][data]
    body = [row for row in rows(run / "habitat_sites.csv") if row["test or train"] == value]
    sites = write_table(tmp_path / "sites.csv", list(body[0]), [list(row.values()) for row in body])
    found = model_answer(
        "evaluate", run / "habitat.npz", "--sites", sites, "--class-column", "class", "--layers", world.layers
    )
    assert {name: found[name] for name in stored} == stored


def test_measures_are_those_of_scikit_learn(run: Path, world, fresh: Path) -> None:
    """The column that the model was fitted with is the one that is meant."""
    found = model_answer("evaluate", run / "habitat.npz", "--sites", fresh, "--layers", world.layers)
    place = [(float(row["longitude"]), float(row["latitude"])) for row in rows(fresh)]
    truth = [row["habitat"] for row in rows(fresh)]
    with rasterio.open(run / "habitat_probability.tif") as data:
        p = np.array(list(data.sample(place)), dtype=np.float64)
    best = np.array(NAMES)[p.argmax(axis=1)]
    assert found["sites"] == len(truth)
    assert found["log_loss"] == pytest.approx(log_loss(truth, p / p.sum(axis=1, keepdims=True)), abs=1e-5)
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, best))
    assert found["kappa"] == pytest.approx(cohen_kappa_score(truth, best))
    assert found["confusion"] == confusion_matrix(truth, best).tolist()
    for c, name in enumerate(NAMES):
        assert found["auc"][name] == pytest.approx(roc_auc_score(np.array(truth) == name, p[:, c]), abs=1e-6)


def with_values(run: Path, world, fresh: Path, path: Path) -> Path:
    """The points with a column a variable, and no coordinates."""
    frame = pd.read_csv(fresh)
    for name in ClassModel.load(run / "habitat.npz").names:
        with rasterio.open(world.layers / f"{name}.tif") as data:
            frame[name] = [v[0] for v in data.sample(frame[["longitude", "latitude"]].to_numpy().tolist())]
    frame.drop(columns=["longitude", "latitude"]).to_csv(path, index=False)
    return path


def test_variables_can_be_columns(run: Path, world, fresh: Path, tmp_path: Path) -> None:
    words = ("evaluate", run / "habitat.npz", "--presences")
    table = with_values(run, world, fresh, tmp_path / "values.csv")
    apart, together = model_answer(*words, fresh, "--layers", world.layers), model_answer(*words, table)
    assert together["log_loss"] == pytest.approx(apart["log_loss"], abs=1e-6)
    assert together["confusion"] == apart["confusion"]
    body = [[row["habitat"] if k else "", *list(row.values())[1:]] for k, row in enumerate(rows(table))]
    body[1][1] = ""
    found = model_answer(*words, write_table(tmp_path / "holes.csv", list(rows(table)[0]), body))
    assert found["sites"] == 78
    assert "2 rows without a class, or a value of every variable, dropped" in found["notices"]


def test_it_is_said_in_words(run: Path, world, fresh: Path) -> None:
    words = ("evaluate", run / "habitat.npz", "--sites", fresh, "--layers", world.layers)
    said, found = succeed(*words).stdout, model_answer(*words)
    for key, text in (("log_loss", "log loss"), ("accuracy", "accuracy"), ("kappa", "kappa"), ("mean_auc", "AUC")):
        assert f"{text:<12} {found[key]:.4f}" in said
    table = [line.split() for line in said.splitlines() if line.startswith("meadow")]
    assert table[1][1:] == [f"{value:g}" for value in found["confusion"][2]]


def test_proportions(world, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    some = draw_plots(world, 120, 4)
    shares = [
        np.round(100 * (0.7 * (np.array(NAMES) == name) + 0.3 * rng.dirichlet(np.ones(3))), 1) for *_, name in some
    ]
    body = [(x, y, *share) for (x, y, _), share in zip(some, shares)]
    head = ["x", "y", *NAMES]
    table = write_table(tmp_path / "cover.csv", head, body)
    words = ("classify", table, world.layers, "--proportions", ",".join(NAMES), "--fc", "l", "--no-curves", "--no-map")
    stored = model_answer(*words, "--rm", 1, "--categorical", "landcover", *PLAIN, "-o", tmp_path / "out")["measures"]
    model = tmp_path / "out" / "cover.npz"
    words = ("evaluate", model, "--layers", world.layers, "--sites")
    found = model_answer(*words, table)
    assert found["log_loss"] == pytest.approx(stored["training"]["log_loss"], rel=1e-12)
    assert found == model_answer(*words, table, "--proportions", "meadow,bare,forest")
    holes = write_table(tmp_path / "holes.csv", head, [(*body[0][:2], "", 1, 2), *body[1:]])
    assert "1 sites with a missing proportion dropped" in model_answer(*words, holes)["notices"]
    wrong = write_table(tmp_path / "wrong.csv", head, [(*body[0][:2], "", 1, 2), *body[1:5], (*body[5][:2], -1, 1, 2)])
    assert "the first is row 7: expected numbers of at least 0" in fail(*words, wrong)
    said = fail(*words, table, "--proportions", "bare,forest", code=2)
    assert "expected the classes of the model" in said
    assert "--class-column and --proportions exclude each other" in fail(
        *words, table, "--proportions", "bare", "--class-column", "bare", code=2
    )


def test_one_species_of_a_survey(world, tmp_path: Path) -> None:
    """What was chosen for the fit is chosen again, where the file has the column; the user can say otherwise."""
    survey = rows(world.survey)
    first, second = dict.fromkeys(row["species"] for row in survey)
    words = ("fit", world.survey, world.layers, "--response", "presence", "--species", first, "--fc", "l")
    succeed(*words, "--rm", 1, "--categorical", "landcover", "--no-map", "--no-curves", *PLAIN, "-o", tmp_path / "out")
    words = ("evaluate", tmp_path / "out" / f"{first.replace(' ', '_')}.npz", "--layers", world.layers, "--sites")
    found = model_answer(*words, world.survey)
    assert found["sites"] == 150
    assert f"only records with species={first}, as the model was fitted" in found["notices"]
    other = model_answer(*words, world.survey, "--select", f"species={second}")
    assert other["confusion"] != found["confusion"]
    alone = [(row["longitude"], row["latitude"], row["presence"]) for row in survey if row["species"] == first]
    without = model_answer(*words, write_points(tmp_path / "alone.csv", alone, "presence"))
    assert without["confusion"] == found["confusion"]
    assert "has 'Nemo' in column 'species'" in fail(*words, world.survey, "--select", "species=Nemo", code=2)


def test_points_of_use_and_others(run: Path, world, fresh: Path, tmp_path: Path) -> None:
    body = [tuple(row.values()) for row in rows(fresh)]
    words = ("evaluate", run / "habitat.npz", "--layers", world.layers, "--sites")
    strange = write_points(tmp_path / "a.csv", [*body, (*body[0][:2], "swamp"), (*body[1][:2], "fen")])
    said = fail(*words, strange)
    assert (
        "2 points of 'a.csv' have the class 'fen' (and 'swamp'), and the classes of the model are bare, forest" in said
    )
    some = [row for row in body if row[2] != "bare"]
    found = model_answer(*words, write_points(tmp_path / "b.csv", [*some, (170.0, 0.0, "forest"), (*body[0][:2], "")]))
    assert found["sites"] == len(some)
    assert found["auc"]["bare"] is None
    assert any("no point of class 'bare'" in note for note in found["notices"])
    assert any("points dropped: 1 outside the extent" in note for note in found["notices"])
    assert any("1 row without a class dropped" in note for note in found["notices"])
    far = write_points(tmp_path / "c.csv", [(170.0, 0.0, "forest")])
    assert "none of 1 records can be used" in fail(*words, far)


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("--class-column", "biome"), 2, "no column 'biome'"),
        (("--absences", "x.csv"), 2, "--absences does not apply to a class model"),
        (("--background", "100"), 2, "--background does not apply to a class model"),
        (("--species", "Quercus"), 2, "--species does not apply to a class model"),
        (("--seed", "0"), 2, "--seed does not apply to a class model"),
        (("--site-column", "plot"), 2, "--site-column does not apply to a class model"),
    ],
)
def test_options_that_make_no_sense(run: Path, world, fresh: Path, words, code, part) -> None:
    given = ("evaluate", run / "habitat.npz", "--sites", fresh, "--layers", world.layers)
    assert part in fail(*given, *words, code=code)


def test_columns_that_are_not_there(run: Path, fit, world, fresh: Path, tmp_path: Path) -> None:
    words = ("evaluate", run / "habitat.npz", "--sites")
    said = fail(*words, fresh)
    assert "has no column" in said
    assert "'temperature'" in said
    assert "--layers" in said
    body = [tuple(row.values()) for row in rows(fresh)]
    other = write_points(tmp_path / "other.csv", body, "biome")
    said = fail(*words, other, "--layers", world.layers, code=2)
    assert "has no column 'habitat'" in said
    assert "name another one with --class-column" in said
    assert "does not exist" in fail(*words, tmp_path / "none.csv")
    assert "--class-column does not apply to a model of one species" in fail(
        *("evaluate", fit.model, "--presences", fresh, "--layers", world.layers, "--class-column", "habitat"), code=2
    )


def test_a_model_of_python_says_that_it_knows_no_column(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"heat": rng.normal(size=90), "soil": rng.choice(["clay", "sand"], 90)})
    frame["kind"] = np.where(frame["heat"] + rng.normal(size=90) > 0, "warm", "cold")
    fitted = ConditionalMaxent("l", categorical=["soil"]).fit(frame[["heat", "soil"]], frame["kind"])
    fitted.save(tmp_path / "kind.npz")
    frame.to_csv(tmp_path / "kind.csv", index=False)
    words = ("evaluate", tmp_path / "kind.npz", "--sites", tmp_path / "kind.csv")
    assert "lacks the column of its classes" in fail(*words, code=2)
    found = model_answer(*words, "--class-column", "kind")
    assert found["accuracy"] == pytest.approx(fitted.score(frame[["heat", "soil"]], frame["kind"]))
    assert "categories of text: use a table" in fail(
        "predict", tmp_path / "kind.npz", tmp_path, "-o", tmp_path / "map.tif"
    )


# ----------------------------------------------------------------------------------------------------- report


@pytest.mark.parametrize("given", ["", "habitat.npz", "habitat.json"])
def test_the_page_is_made_again(run: Path, tmp_path: Path, given: str) -> None:
    shutil.copytree(run, tmp_path / "moved")
    page = tmp_path / "moved" / "habitat.html"
    before = page.read_bytes()
    page.unlink()
    left = files(tmp_path / "moved")
    first, *others = as_json("report", tmp_path / "moved" / given)["files"]
    assert first == str(page)
    assert len(others) == (0 if given else 4), "pages of scenarios are made with those of the folder"
    assert page.read_bytes() == before == (run / "habitat.html").read_bytes()
    assert files(tmp_path / "moved") == sorted([*left, page.name])


def test_a_page_is_made_of_what_is_there(run: Path, tmp_path: Path) -> None:
    """Results that someone edited: what is missing is left out; what lies elsewhere is never read."""
    shutil.copytree(run, tmp_path / "moved")
    numbers = tmp_path / "moved" / "habitat.json"
    tree = json.loads(numbers.read_text())
    numbers.write_text(json.dumps({**tree, "files": {**tree["files"], "page": "../../evil.html"}}))
    assert "lists '../../evil.html', which is not a file of the results" in fail("report", tmp_path / "moved")
    numbers.write_text(json.dumps({**tree, "kind": "axes"}))
    assert "has the unknown kind 'axes': expected one of species, classes" in fail("report", tmp_path / "moved")
    numbers.write_text(json.dumps({**tree, "classes": [1, 2], "files": {**tree["files"], "map": "habitat.tif"}}))
    (tmp_path / "moved" / "habitat.tif").write_bytes(b"no raster")
    assert "cannot be read as a raster" in fail("report", tmp_path / "moved")


def test_a_page_leaves_out_what_is_not_there(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "moved")
    numbers = tmp_path / "moved" / "habitat.json"
    tree = json.loads(numbers.read_text())
    numbers.write_text(json.dumps({key: value for key, value in tree.items() if key not in ("gap", "certificate")}))
    (tmp_path / "moved" / "habitat_confusion.png").unlink()
    succeed("report", tmp_path / "moved")
    page = (tmp_path / "moved" / "habitat.html").read_text()
    assert "The results do not contain a certificate." in page
    assert "Confusion matrix" not in page
    assert "Confusion matrix" in (run / "habitat.html").read_text()


def test_help_teaches_it() -> None:
    for command, example in (
        ("predict", "sdm predict habitats/landcover.npz"),
        ("evaluate", "sdm evaluate classes/presence.npz --sites"),
        ("report", "sdm report habitats community"),
    ):
        assert example in " ".join(sdm(command, "--help").output.split())
