"""`sdm classify`: from points with a class, proportions, or a raster of classes, to maps and figures."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import rasterio
import yaml
from rio_cogeo.cogeo import cog_validate
from simulated.habitats import draw_levels
from terminal import PLAIN, fail, files, model_answer, picture, read, rows, succeed, write_table

from sdm.data.rasters.layers import open_stack
from sdm.errors import OptionError
from sdm.models.classes import ClassModel
from sdm.options.applies import applies
from sdm.options.reading import leaves, make_options
from sdm.run.run import run as run_models

# The penalty is given where a test is not about its choice: trying penalties is most of a run.
FIXED = ("--rm", "0.2")


@pytest.fixture(scope="module")
def run(classified: Path) -> tuple[Path, str]:
    """The folder of the results, and what the command printed."""
    return classified / "results", (classified / "output.txt").read_text(encoding="utf-8")


def test_everything_is_written(run):
    folder, said = run
    wanted = ["habitat.tif", "habitat_probability.tif", "habitat_entropy.tif", "habitat.png", "habitat_entropy.png"]
    wanted += ["habitat.npz", "habitat.json", "habitat_classes.csv", "habitat_confusion.csv", "habitat_confusion.png"]
    wanted += [
        "habitat_curves.csv",
        "habitat_importance.csv",
        "habitat_weights.csv",
        "habitat_sites.csv",
        "records.csv",
    ]
    wanted += ["run.yaml", "command.txt", "plots/temperature.svg", "plots/landcover.svg", "plots/importance.svg"]
    assert not set(wanted) - set(files(folder))
    assert "converged; certified, duality gap" in said
    assert "cross-validation" in said
    numbers = json.loads((folder / "habitat.json").read_text())
    assert set(numbers["files"].values()) <= set(files(folder))
    assert numbers["classes"] == ["bare", "forest", "meadow"]
    assert numbers["gap"] <= 1e-6
    assert numbers["measures"]["test"]["accuracy"] > 0.6
    assert numbers["measures"]["cross-validation"]["mean_auc"] > 0.8
    assert picture(folder / "habitat.png").std() > 10


def test_the_maps_are_the_model(run, world):
    folder, _ = run
    model = ClassModel.load(folder / "habitat.npz")
    stack = open_stack(world.layers, categorical=["landcover"], names=model.names)
    with stack.reader() as reader, rasterio.open(folder / "habitat_probability.tif") as source:
        values = reader.read(stack.windows(rows=stack.height)[0])
        probability = source.read(masked=True)
        assert source.descriptions == ("bare", "forest", "meadow")
    p = model.column_distributions(list(values.reshape(len(model.names), -1))).reshape(probability.shape)
    missing = np.isnan(p[0])
    assert missing.any()
    assert (np.ma.getmaskarray(probability)[0] == missing).all()
    np.testing.assert_allclose(probability.filled(np.nan)[:, ~missing], p[:, ~missing], atol=1e-6)
    best = read(folder / "habitat.tif")
    assert (np.ma.getmaskarray(best) == missing).all()
    np.testing.assert_array_equal(best.data[~missing], 1 + np.argmax(p, axis=0)[~missing])
    undecided = read(folder / "habitat_entropy.tif")
    np.testing.assert_allclose(undecided.data[~missing], -np.sum(p * np.log(p), axis=0)[~missing], atol=1e-5)


def test_maps_are_cogs_with_a_colour_table(run):
    folder, _ = run
    for name in ("habitat", "habitat_probability", "habitat_entropy"):
        assert cog_validate(folder / f"{name}.tif", quiet=True)[0]
    legend = rows(folder / "habitat_classes.csv")
    with rasterio.open(folder / "habitat.tif") as source:
        table = source.colormap(1)
        assert source.tags()["class_2"] == "forest"
    for row in legend:
        red, green, blue, _ = table[int(row["code"])]
        assert row["colour"] == f"#{red:02x}{green:02x}{blue:02x}"


def test_the_confusion_counts_the_sites(run):
    folder, _ = run
    numbers = json.loads((folder / "habitat.json").read_text())
    table = rows(folder / "habitat_confusion.csv")
    for kind, measures in numbers["measures"].items():
        own = [row for row in table if row["data"] == kind]
        total = sum(float(row[f"predicted {name}"]) for row in own for name in numbers["classes"])
        right = sum(float(row[f"predicted {row['class on record']}"]) for row in own)
        assert total == measures["sites"]
        assert right / total == pytest.approx(measures["accuracy"])


def test_the_page_stands_alone(run):
    folder, _ = run
    page = (folder / "habitat.html").read_text()
    for word in ("Confusion matrix", "forest", "duality gap", "cross-validation", "landcover"):
        assert word in page
    assert "http://" not in page
    assert "https://" not in page
    assert page.count("data:image/png;base64,") == 2  # the map for print, and the confusion matrix
    names = json.loads((folder / "habitat.json").read_text())["variables"]
    assert len(names) == 5
    assert not [name for name in names if page.count(f'aria-label="Probabilities along {name}"') != 1]
    assert 'aria-label="Importance of the variables"' in page
    assert "measured on the" not in page, "sites have no background"


def test_names_do_not_get_out_of_their_place(world, plots, tmp_path):
    table = spoilt(tmp_path, plots, lambda body: [[*row[:2], f'<b>{row[2]}</b>, "$x_'] for row in body])
    words = ("classify", table, world.layers, "--class-column", "habitat", "--fc", "l", "--categorical", "landcover")
    succeed(*words, *FIXED, "--dpi", 50, "-o", tmp_path / "out")
    assert "<b>forest" not in (tmp_path / "out" / "habitat.html").read_text()
    assert '<b>forest</b>, "$x_' in [row["class"] for row in rows(tmp_path / "out" / "habitat_classes.csv")]


def test_a_scenario_is_mapped(run):
    folder, _ = run
    warm, now = read(folder / "scenarios" / "warmer" / "class.tif"), read(folder / "habitat.tif")
    assert warm.shape == now.shape
    assert (warm != now).any()
    known = json.loads((folder / "scenarios" / "warmer" / "scenario.json").read_text())["targets"]
    assert sum(one["rules"]["most_probable"]["cells"] for one in known.values()) == warm.count()
    (reference,) = (folder / "scenarios").glob("reference/class.tif")
    np.testing.assert_array_equal(read(reference), now)


@pytest.mark.thorough
def test_a_run_file_repeats_a_run(run, tmp_path):
    folder, _ = run
    succeed("classify", folder / "run.yaml", "--no-curves", "--no-map-picture", *PLAIN, "-o", tmp_path / "again")
    for name in ("habitat.npz", "habitat.tif", "habitat_probability.tif", "habitat_sites.csv"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_a_raster_of_classes_is_sampled_by_seed(world, tmp_path):
    words = ("classify", world.layers, "--classes", world.layers / "landcover.tif", "--points", 300, "--fc", "l")
    words = (*words, *FIXED, "--least", 5, "--no-curves", "--no-map", "--no-report", "--no-importance")
    first, again, other = (
        model_answer(*words, "--seed", seed, "-o", tmp_path / str(k)) for k, seed in enumerate((1, 1, 2))
    )
    assert "landcover" not in first["variables"]
    assert any("contains the classes" in note for note in first["notices"])
    assert first["measures"] == again["measures"]
    assert first["measures"] != other["measures"]
    assert all(name.isdigit() for name in first["classes"])


def test_proportions_as_targets(world, tmp_path):
    x, y, level = draw_levels(world, 120)
    rng = np.random.default_rng(0)
    shares = np.round(100 * (0.7 * np.eye(3)[level] + 0.3 * rng.dirichlet(np.ones(3), size=120)), 1)
    table = write_table(
        tmp_path / "cover.csv", ["x", "y", "bare", "forest", "meadow"], np.column_stack([x, y, shares]).tolist()
    )
    found = model_answer(
        *("classify", table, world.layers, "--proportions", "bare,forest,meadow", "--fc", "l", "--entropy", 2),
        *(
            "--categorical",
            "landcover",
            "--no-curves",
            "--no-report",
            "--no-map-picture",
            *FIXED,
            "-o",
            tmp_path / "out",
        ),
    )
    assert found["classes"] == ["bare", "forest", "meadow"]
    assert found["order"] == 2
    with rasterio.open(tmp_path / "out" / "cover_probability.tif") as source:
        p = source.read(masked=True)
    assert (p == 0).any()
    np.testing.assert_allclose(p.sum(axis=0).compressed(), 1.0, atol=1e-5)


def cover(world, path, change=lambda k, row: row, count=60):
    """A table of cover fractions beside the name of whoever was there."""
    x, y, level = draw_levels(world, count)
    shares = 0.8 * np.eye(3)[level] + 0.1
    body = [["", *map(float, (a, b, *share))] for a, b, share in zip(x, y, shares)]
    head = ["species", "lon", "lat", "bare", "forest", "meadow"]
    return write_table(path, head, [change(k, row) for k, row in enumerate(body)])


PROPORTIONS = ("--proportions", "bare,forest,meadow", *FIXED, "--fc", "l", "--no-curves", "--no-map", *PLAIN)


def test_proportions_need_no_other_column(world, tmp_path):
    """A plot that is blank in a column that nobody asked for is a plot."""
    table = cover(world, tmp_path / "cover.csv", lambda k, row: ["Ursus" if k < 5 else "", *row[1:]])
    found = model_answer("classify", table, world.layers, *PROPORTIONS, "-o", tmp_path / "out")
    assert found["sites"] == 60
    assert not any("class" in note for note in found["notices"])


def test_plots_in_one_cell_all_count(world, tmp_path):
    table = cover(world, tmp_path / "cover.csv")
    body = [list(row.values()) for row in rows(table)]
    write_table(table, list(rows(table)[0]), [*body, *([*row[:3], row[4], row[5], row[3]] for row in body)])
    words = ("classify", table, world.layers, *PROPORTIONS)
    found = model_answer(*words, "-o", tmp_path / "all")
    assert found["sites"] == 120
    assert any("120 points, 120 used in 60 cells: every visit counts" in note for note in found["notices"])
    found = model_answer(*words, "--no-keep-duplicates", "-o", tmp_path / "one")
    assert found["sites"] == 60
    assert any("dropped: 60 in a cell that had one already" in note for note in found["notices"])


@pytest.mark.parametrize(
    ("shares", "message"),
    [((0, 0, 0), "no class, the first is row 22:"), ((1, -1, 0), "missing or negative, the first is row 22:")],
)
def test_rows_are_those_of_the_file(world, tmp_path, shares, message):
    """Rows that were left out before, here for want of a place, count."""

    def change(k, row):
        return ["", "", "", *row[3:]] if k in (2, 5) else [*row[:3], *shares] if k == 20 else row

    table = cover(world, tmp_path / "cover.csv", change)
    assert message in fail("classify", table, world.layers, *PROPORTIONS, "-o", tmp_path / "out")


def test_an_earlier_model_leaves_nothing_behind(run, world, plots, tmp_path):
    folder = shutil.copytree(run[0], tmp_path / "out")
    words = ("classify", plots, world.layers, "--fc", "l", *FIXED, "--categorical", "landcover", "-o", folder)
    words = (*words, "--dpi", 50)
    (folder / "mine.txt").write_text("keep me")
    succeed(*words, "--class-column", "habitat", "--no-map", "--no-curves", "--no-report", "--overwrite")
    left = files(folder)
    assert "mine.txt" in left
    assert not [name for name in left if name.endswith((".tif", ".html", "_curves.csv"))]
    assert not [name for name in left if name.startswith("plots")]
    assert "habitat_importance.csv" in left
    succeed(*words, "--class-column", "habitat", "--title", "other", "--no-map", "--no-curves", *PLAIN, "--overwrite")
    assert not [name for name in files(folder) if name.startswith("habitat")]
    assert "mine.txt" in files(folder)


def test_labels_that_are_numbers_are_in_their_order(world, plots, tmp_path):
    for codes in ({"bare": "-10", "forest": "-9", "meadow": "2"}, {"bare": "-1.5", "forest": "2", "meadow": "10.25"}):
        table = spoilt(tmp_path, plots, lambda body, codes=codes: [[*row[:2], codes[row[2]]] for row in body])
        words = ("classify", table, world.layers, "--class-column", "habitat", "--fc", "l", "--no-map", "--no-curves")
        folder = tmp_path / codes["bare"]
        assert model_answer(*words, *FIXED, *PLAIN, "-o", folder)["classes"] == list(codes.values())
        assert (
            model_answer("evaluate", folder / "habitat.npz", "--layers", world.layers, "--sites", table)["accuracy"]
            > 0.5
        )


def test_more_folds_than_sites_are_refused(world, plots, tmp_path):
    table = spoilt(tmp_path, plots, lambda body: body[:24])
    words = ("classify", table, world.layers, "--class-column", "habitat", "--fc", "l", "--no-map", "--no-curves")
    said = fail(*words, "--folds", 500, "-o", tmp_path / "out")
    assert "there are 24 sites for 500 folds: use --folds 24 at most" in said


def test_how_far_it_is(world, plots, tmp_path):
    """Fits and folds of many classes take minutes: whoever waits sees where it is."""
    few = spoilt(tmp_path, plots, lambda body: body[:120])
    words = {"records": str(few), "layers": [str(world.layers)], "class_column": "habitat", "features": "l"}
    bare = {"map": False, "curves": False, "importance": False, "report": False}
    chosen = make_options(words, {"folds": 3, "penalty_folds": 2, "output": str(tmp_path / "out"), **bare})
    seen = []
    run_models(chosen, progress=lambda *step: seen.append(step))
    stages = list(dict.fromkeys(text for _, _, text in seen))
    assert stages[:2] == ["reading records and layers", "dividing the sites"]
    assert stages[2:5] == ["fitting 3 classes", "penalties, l1", "penalties, elastic"]
    assert [step for step in seen if step[2] == "cross-validation"] == [(k, 3, "cross-validation") for k in range(4)]
    for text in stages:
        done, total, _ = [step for step in seen if step[2] == text][-1]
        assert done == total, f"{text} ends"
    spoken = ("classify", plots, world.layers, "--class-column", "habitat", "--fc", "l", *FIXED, "--folds", 2, "-v")
    said = succeed(*spoken, "--no-map", "--no-curves", *PLAIN, "-o", tmp_path / "again").stderr
    assert "fitting 3 classes to 240 sites" in said
    assert "cross-validation: 2 of 2 in " in said


def test_what_is_no_number_is_a_dash(world, tmp_path):
    """Of classes that are nowhere in the majority there is no AUC."""
    table = cover(world, tmp_path / "cover.csv", lambda k, row: [*row[:3], 40 + k % 3, 30, 30])
    said = succeed("classify", table, world.layers, *PROPORTIONS, "-o", tmp_path / "out").stdout
    assert "mean AUC –" in said
    assert "nan" not in said


def test_columns_to_select_by_are_listed(world, plots, tmp_path):
    words = ("classify", world.survey, world.layers, "--class-column", "presence", "--select", "taxon=a")
    message = fail(*words, "-o", tmp_path / "out", code=2)
    assert message.endswith("no column 'taxon', only species")


def test_presence_and_absence_of_one_species(world, tmp_path):
    """A survey of several species: two classes, 0 and 1, at the sites of one of them."""
    survey = rows(world.survey)
    species = survey[0]["species"]
    words = ("classify", world.survey, world.layers, "--class-column", "presence", "--fc", "l", "--no-map")
    words = (*words, *FIXED, "--categorical", "landcover", "--no-curves", *PLAIN)
    found = model_answer(*words, "--select", f"species={species}", "-o", tmp_path / "one")
    assert found["classes"] == ["0", "1"]
    assert 0 < found["sites"] <= sum(row["species"] == species for row in survey)
    assert "has 'Nemo' in column 'species'" in fail(*words, "--select", "species=Nemo", "-o", tmp_path / "none", code=2)


def test_trees(world, plots, tmp_path):
    found = model_answer(
        *("classify", plots, world.layers, "--class-column", "habitat", "--features", "l,trees:3", "--lambda", 0.02),
        *("--categorical", "landcover", "--no-curves", "--no-map", *PLAIN, "-o", tmp_path / "out"),
    )
    assert found["status"] == "converged"
    weights = rows(tmp_path / "out" / "habitat_weights.csv")
    assert any(row["feature"].startswith("tree[") for row in weights)


def test_info_says_what_the_file_is(run):
    folder, _ = run
    said = succeed("info", folder / "habitat.npz", "--features", 2).stdout
    assert "bare, forest, meadow" in said
    assert "converged; certified, duality gap" in said
    found = model_answer("info", folder / "habitat.npz")
    weights = rows(folder / "habitat_weights.csv")
    assert [feature["name"] for feature in found["features"]] == [row["feature"] for row in weights[1:]]
    assert found["classes"] == ["bare", "forest", "meadow"]


def spoilt(tmp_path, plots, change):
    body = [list(row.values()) for row in rows(plots)]
    return write_table(tmp_path / "spoilt.csv", ["longitude", "latitude", "habitat"], change(body))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda body: [[*row[:2], "forest"] for row in body], "there are 1 classes (only 'forest')"),
        (lambda body: [*body, [*body[0][:2], "swamp"]], "class 'swamp' has one record"),
        (lambda body: [[*row[:2], row[2] if k else row[2].upper()] for k, row in enumerate(body)], "differ in case"),
        (lambda body: [[*row[:2], ""] for row in body], "no usable record"),
        (lambda body: [*body, ["0.5", "89.0", "ice"], ["0.6", "89.0", "ice"]], "ice: none of 2 records can be used"),
    ],
)
def test_bad_points_are_one_sentence(world, plots, tmp_path, change, message):
    table = spoilt(tmp_path, plots, change)
    error = fail("classify", table, world.layers, "--class-column", "habitat", "-o", tmp_path / "out")
    assert message in error
    assert not (tmp_path / "out").exists()


def test_missing_labels_are_left_out_and_said(world, plots, tmp_path):
    table = spoilt(tmp_path, plots, lambda body: [[*row[:2], "" if k < 4 else row[2]] for k, row in enumerate(body)])
    words = ("classify", table, world.layers, "--class-column", "habitat", "--fc", "l", "--no-map", "--no-curves")
    found = model_answer(*words, *FIXED, *PLAIN, "-o", tmp_path / "out")
    assert any("4 rows without a class dropped" in note for note in found["notices"])


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "no classes: add --class-column, or --proportions"),
        (("--class-column", "nothing"), 2, "no column 'nothing'"),
        (("--class-column", "habitat", "--classes", "none.tif"), 2, "exclude"),
        (("--class-column", "habitat", "--entropy", 3), 2, "entropy"),
        (("--class-column", "habitat", "--features", "trees"), 2, "features"),
    ],
)
def test_bad_options_are_one_sentence(world, plots, tmp_path, words, code, message):
    assert message in fail("classify", plots, world.layers, *words, "-o", tmp_path / "out", code=code)


def test_a_class_too_rare_for_the_folds_is_said(world, plots, tmp_path):
    table = spoilt(tmp_path, plots, lambda body: [[*row[:2], "fen" if k < 2 else row[2]] for k, row in enumerate(body)])
    words = ("classify", table, world.layers, "--class-column", "habitat", "--fc", "l", "--folds", 2)
    said = fail(*words, "-o", tmp_path / "out")
    assert "1 of 2 records of class 'fen' remain for training" in said
    assert "remove --folds, or drop the class with --least 3" in said


def test_nothing_is_overwritten_unasked(run, world, plots):
    folder, _ = run
    assert "--overwrite" in fail("classify", plots, world.layers, "--class-column", "habitat", "-o", folder)


def test_without_words_it_says_what_is_missing(tmp_path):
    assert "no points" in fail("classify", "-o", tmp_path / "out", code=2)
    assert "no layers" in fail("classify", "--classes", "map.tif", "-o", tmp_path / "out", code=2)
    words = ("classify", "points.csv", "layers", "--class-column", "habitat")
    assert "no output folder: add one with -o" in fail(*words, code=2)


def test_points_alone_are_no_table_of_values(plots, tmp_path):
    said = fail("classify", plots, "--class-column", "habitat", "-o", tmp_path / "out")
    assert "no column of numbers other than species and coordinates" in said
    assert "give a folder of layers" in said


def test_options_have_one_definition(run):
    """The run file holds every option of classes, Python takes any spelling, and what is misspelt is said."""
    folder, _ = run
    tree = yaml.safe_load((folder / "run.yaml").read_text())
    written = {name for name, value in tree.items() if not isinstance(value, dict)}
    written |= {f"{section}.{name}" for section, part in tree.items() if isinstance(part, dict) for name in part}
    not_written = {"output.overwrite", "output.resume", "predict.clamp"}  # the last is the earlier name of another
    assert written == {leaf.dotted for leaf in leaves() if applies(leaf, "classes")} - not_written
    assert make_options({"fc": "lq", "lambda": 0.5}).fit.lam == 0.5
    with pytest.raises(OptionError, match=r"did you mean 'classes\.column'"):
        make_options({"class_colum": "habitat"})
