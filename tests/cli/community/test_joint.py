"""`sdm joint` from the terminal: tables and layers in; model, associations, measures, maps and page out."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio
from community import SPECIES, draw_community, write_community
from terminal import fail, files, model_answer, picture, read, rows, sdm, styled, succeed, write_table

from sdm.data.rasters.layers import open_stack
from sdm.estimators.community import JointModel
from sdm.models.community import FittedJoint

LEAN = ("--no-report", "--dpi", 50)  # where nobody looks at pages and pictures
OWN = ("--environment", "heat,rain", "--learner", "crf-l2")


def test_everything_is_there(mapped: Path) -> None:
    species = {name.replace(" ", "_") for name in FittedJoint.load(mapped / "joint.npz").species}
    assert len(species) == 2
    kinds = {f"{name}{kind}" for name in species for kind in ("", "_present")}
    maps = set(styled(f"maps/{name}.tif" for name in kinds))
    richness = set(styled(RICHNESS))
    pictures = {"network.png", "richness.png", "variance.png", "joint_preview.png"}
    tables = {"records_fate.csv", "associations.csv", "effects.csv", "evaluation.csv", "tuning.csv", "variance.csv"}
    others = {"joint.npz", "joint.json", "joint.html", "run.yaml", "command.txt", "maps"}
    assert {
        name for name in files(mapped) if not name.startswith("scenarios")
    } == maps | richness | pictures | tables | others


def test_only_the_joint_model_reports_how_its_penalty_was_chosen(mapped: Path) -> None:
    """The models of the comparison, and the fits of each fold, choose their penalties without a line of output."""
    lines = [line for line in (mapped.parent / "output.txt").read_text().splitlines() if "held-out loss" in line]
    assert len(lines) >= 3
    assert all(line.startswith("joint model: C ") for line in lines)


RICHNESS = ("richness", "labeled_richness", "stacked_richness", "richness_difference")


def test_maps_are_what_the_model_predicts(mapped: Path, world) -> None:
    model = FittedJoint.load(mapped / "joint.npz")
    stack = open_stack(world.layers, categorical=["landcover"], names=model.encoder.names)
    with stack.reader() as reader:
        window = rasterio.windows.Window(0, 0, stack.width, stack.height)
        values = reader.read(window).reshape(len(stack.names), -1).T.astype(np.float64)
    expected = model.predict_proba(values)
    names = [name.replace(" ", "_") for name in model.species]
    found = np.column_stack([read(mapped / "maps" / f"{name}.tif").filled(np.nan).ravel() for name in names])
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    labels = model.predict(values)
    present = np.column_stack([read(mapped / "maps" / f"{name}_present.tif").filled(255).ravel() for name in names])
    np.testing.assert_array_equal(present, np.where(labels < 0, 255, labels.astype(int)))
    whole = (labels >= 0).all(axis=1)
    assert (labels[whole].sum(axis=1) == read(mapped / "labeled_richness.tif").filled().ravel()[whole]).all()
    total, stacked, difference = (
        read(mapped / f"{name}.tif").filled(np.nan).ravel() for name in RICHNESS if name != "labeled_richness"
    )
    np.testing.assert_allclose(total, expected.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(difference, total - stacked, atol=1e-5)
    with rasterio.open(mapped / "richness.tif") as data:
        assert data.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
    warmer = read(mapped / "scenarios" / "warmer" / "richness.tif")
    assert not np.allclose(warmer.compressed(), read(mapped / "richness.tif").compressed())


def test_numbers_and_tables_agree(mapped: Path) -> None:
    numbers = json.loads((mapped / "joint.json").read_text())
    edges = rows(mapped / "associations.csv")
    assert [(row["first"], row["second"]) for row in edges] == [
        (row["first"], row["second"]) for row in numbers["associations"]
    ]
    measured = {
        (row["sites"], row["fold"], row["measure"], row["species"]): row for row in rows(mapped / "evaluation.csv")
    }
    mean = numbers["test"]["mean"]
    for key in ("hamming", "auc", "log loss", "marginal log loss", "richness error"):
        row = measured["held out", "mean", key, ""]
        assert float(row["joint"]) == pytest.approx(mean["joint"][key], rel=1e-8)
        assert float(row["stacked"]) == pytest.approx(mean["stacked"][key], rel=1e-8)
        assert float(row["glm"]) == pytest.approx(mean["glm"][key], rel=1e-8)
    for name in numbers["species"]:
        assert float(measured["held out", "mean", "auc", name]["joint"]) > 0.5
    effects = rows(mapped / "effects.csv")
    assert {row["species"] for row in effects} == set(numbers["species"])
    assert any(row["kept"] == "True" for row in effects)
    assert all(float(row["sd"]) > 0 for row in edges), "standard errors"


def test_the_page_holds_its_pictures_and_asks_for_nothing(mapped: Path) -> None:
    page = (mapped / "joint.html").read_text()
    numbers = json.loads((mapped / "joint.json").read_text())
    assert page.count("data:image/png;base64,") == 3 + len(numbers["species"])
    assert "http://" not in page.replace("http://www.w3.org", "")
    for name in numbers["species"]:
        assert name in page
    assert '<th scope="col" class="n">GLM</th>' in page
    assert "AUC, GLM" in page
    assert "Standard error" in page
    assert "nats per site" in page
    assert " a label" not in page


def test_the_page_is_made_again_from_stored_results(mapped: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(mapped, tmp_path / "out")
    before = (folder / "joint.html").read_bytes()
    succeed("report", folder)
    assert (folder / "joint.html").read_bytes() == before


def test_info_says_what_it_is(mapped: Path) -> None:
    said = succeed("info", mapped / "joint.npz").output
    assert said.startswith("joint model  2 species: ")
    chosen = json.loads((mapped / "joint.json").read_text())["C"]
    assert f"crf-l2 (C {chosen:g}), graph tree" in said
    assert "nats per site, over all weights of all species and edges" in said
    assert " ± " in said
    found = model_answer("info", mapped / "joint.npz")
    assert found["kind"] == "community"
    assert len(found["associations"]) == 1


@pytest.mark.thorough
def test_a_run_is_repeated_from_its_run_file(mapped: Path, tmp_path: Path) -> None:
    succeed("joint", mapped / "run.yaml", "-o", tmp_path / "again", "--no-map", *LEAN)
    assert (tmp_path / "again" / "joint.npz").read_bytes() == (mapped / "joint.npz").read_bytes()
    assert (tmp_path / "again" / "evaluation.csv").read_text() == (mapped / "evaluation.csv").read_text()


def test_scenarios_have_the_maps_of_every_species_and_their_change(mapped: Path) -> None:
    folder = mapped / "scenarios"
    species = FittedJoint.load(mapped / "joint.npz").species
    for name in (one.replace(" ", "_") for one in species):
        np.testing.assert_array_equal(read(folder / "reference" / f"{name}.tif"), read(mapped / "maps" / f"{name}.tif"))
        now, then = (read(folder / title / f"{name}_labeled.tif") for title in ("reference", "warmer"))
        change = read(folder / "warmer" / f"{name}_change.tif")
        expected = np.select([(now == 1) & (then == 1), then == 1, now == 1], [1, 2, 3], 0)
        np.testing.assert_array_equal(change.compressed(), expected[~change.mask])
    numbers = json.loads((folder / "warmer" / "scenario.json").read_text())
    assert set(numbers["targets"]) == set(species)


def test_species_called_like_other_maps(world, tmp_path: Path) -> None:
    """A species may be called `richness`: it has its own files, numbers and lines in every listing."""
    survey = pd.read_csv(world.survey)
    column = next(name for name in survey.columns if name.lower() == "species")
    first, second = survey[column].unique()
    survey[column] = survey[column].map({first: "richness", second: "richness_present"})
    survey.to_csv(tmp_path / "survey.csv", index=False)
    out = tmp_path / "out"
    words = ("joint", tmp_path / "survey.csv", world.layers, "--categorical", "landcover", "--learner", "crf-l2")
    numbers = model_answer(*words, "--cost", 1, *LEAN, "-o", out)
    own = numbers["files"]["maps"]
    paths = [*own["species"].values(), *own["present"].values(), own["richness"], own["labeled richness"]]
    assert len({name.casefold() for name in paths}) == 6
    assert all((out / name).is_file() for name in paths)
    maps = numbers["maps"]["layers"]
    assert maps["species"]["richness"]["max"] < maps["richness"]["richness"]["max"], "one species is less than both"
    found = model_answer("predict", out / "joint.npz", world.layers, "-o", tmp_path / "again")["maps"]
    assert set(found) == set(paths)
    assert found["maps/richness.tif"]["species"] == "richness"
    assert found["richness.tif"]["max"] == pytest.approx(maps["richness"]["richness"]["max"])


def test_a_table_alone_gives_the_library_s_model(tmp_path: Path) -> None:
    path = write_community(tmp_path)
    result = model_answer("joint", path, *OWN, "--dpi", 50, "-o", tmp_path / "out")
    frame = draw_community()
    model = JointModel("crf-l2", seed=1).fit(frame[["heat", "rain"]], frame[list(SPECIES)])
    np.testing.assert_array_equal(FittedJoint.load(tmp_path / "out" / "joint.npz").weights, model.model_.weights)
    assert result["numbers"]["test"] is None
    assert "not tested" in (tmp_path / "out" / "joint.html").read_text()
    assert not (tmp_path / "out" / "maps").exists()
    assert picture(tmp_path / "out" / "network.png").std() > 0


def test_a_posterior_that_repeats_the_prior_is_no_uncertainty(tmp_path: Path) -> None:
    """Laplace MEDN has a spread for weights that the sites ask for; M³N's is the prior's, and is not printed."""
    words = ("joint", write_community(tmp_path), "--environment", "heat,rain", "--cost", 0.1, "--dpi", 50)
    succeed(*words, "--learner", "laplace", "--shrinkage", 20, "-o", tmp_path / "laplace")
    effects = rows(tmp_path / "laplace" / "effects.csv")
    assert any(row["sd"] and float(row["sd"]) > 0 for row in effects if abs(float(row["weight"])) > 0.3)
    assert all(not row["sd"] for row in effects if abs(float(row["weight"])) < 0.02 and row["feature"] != "bias")
    said = succeed("info", tmp_path / "laplace" / "joint.npz").output
    assert "laplace (C 0.1, lambda 20)" in said
    assert "wrong labels per site, over all weights of all species and edges" in said
    said = succeed(*words, "--learner", "m3n", "-o", tmp_path / "m3n").output
    assert "PAC-Bayes    " in said
    assert "uninformative for new sites" in said
    assert "sure" not in said
    assert "±" not in said
    assert all(not row["sd"] for row in rows(tmp_path / "m3n" / "associations.csv"))
    assert "is not shown" in (tmp_path / "m3n" / "joint.html").read_text()


def test_the_default_is_a_crf_with_its_c_chosen_beside_single_models_and_a_glm(tmp_path: Path) -> None:
    """The same in the terminal, in YAML and in Python; C of every fold from its training sites alone."""
    words = ("joint", write_community(tmp_path), "--environment", "heat,rain", "--folds", 2, *LEAN)
    said = succeed(*words, "-o", tmp_path / "out").output
    line = next(line for line in said.splitlines() if "held out, mean of 2 folds" in line)
    assert line.split()[-3:] == ["joint", "stacked", "GLM"]
    values = next(line for line in said.splitlines() if "joint log loss (nats per site)" in line).split()[-3:]
    mean = json.loads((tmp_path / "out" / "joint.json").read_text())["test"]["mean"]
    assert values == [f"{mean[name]['log loss']:.4f}" for name in ("joint", "stacked", "glm")]
    assert "nats per site, over all weights of all species and edges" in said
    tried = rows(tmp_path / "out" / "tuning.csv")
    assert {row["model"] for row in tried} == {"joint", "stacked"}
    assert {row["measure"] for row in tried} == {"log loss per site"}
    (tmp_path / "run.yaml").write_text(
        f"occurrences: {{file: {tmp_path / 'sites.csv'}}}\njoint: {{environment: [heat, rain]}}\n", encoding="utf-8"
    )
    succeed("joint", tmp_path / "run.yaml", *LEAN, "-o", tmp_path / "yaml")
    frame = draw_community()
    model = JointModel(seed=1).fit(frame[["heat", "rain"]], frame[list(SPECIES)])
    for folder in ("out", "yaml"):
        np.testing.assert_array_equal(FittedJoint.load(tmp_path / folder / "joint.npz").weights, model.model_.weights)


def test_constants_by_cross_validation_are_kept_as_a_table(tmp_path: Path) -> None:
    write_community(tmp_path, draw_community(60))
    numbers = model_answer("joint", tmp_path / "sites.csv", *OWN, *LEAN, "-o", tmp_path / "out")["numbers"]
    tried = [row for row in rows(tmp_path / "out" / "tuning.csv") if row["model"] == "joint"]
    best = min(tried, key=lambda row: float(row["loss"]))
    assert numbers["C"] == pytest.approx(float(best["C"]))


def test_two_tables_and_blocks(tmp_path: Path) -> None:
    frame = draw_community()
    frame[["site", *SPECIES]].to_csv(tmp_path / "species.csv", index=False)
    frame[["site", "longitude", "latitude", "heat", "rain"]][::-1].to_csv(tmp_path / "env.csv", index=False)
    words = ("joint", tmp_path / "species.csv", tmp_path / "env.csv", "--learner", "crf-l2", "--cost", 1, *LEAN)
    result = succeed(*words, "--split", "block", "--block-size", 60, "--folds", 3, "-o", tmp_path / "out")
    assert "joined by column 'site'" in result.output
    numbers = json.loads((tmp_path / "out" / "joint.json").read_text())
    assert (numbers["sites"], numbers["variables"]) == (160, ["heat", "rain"])
    assert numbers["test"]["method"] == "block"
    assert "joint.html" not in files(tmp_path / "out")


def test_missing_labels_are_used_for_what_is_known_and_said(tmp_path: Path) -> None:
    frame = draw_community().astype(dict.fromkeys(SPECIES, float))
    frame.loc[:9, "owl"] = np.nan
    frame.loc[5:6, list(SPECIES)] = np.nan
    result = succeed(
        "joint", write_community(tmp_path, frame), *OWN, "--cost", 1, *LEAN, "--folds", 2, "-o", tmp_path / "out"
    )
    assert result.output.count("16 of 640 labels are missing, at 10 of 160 sites") == 1
    assert json.loads((tmp_path / "out" / "joint.json").read_text())["missing"] == 16


def spoiled(tmp_path: Path, **columns) -> Path:
    return write_community(tmp_path, draw_community().assign(**columns))


def test_a_species_in_no_site_or_in_every_site(tmp_path: Path) -> None:
    out = ("-o", tmp_path / "out")
    said = fail("joint", spoiled(tmp_path, ghost=0), *OWN, *out)
    assert said == "species 'ghost' occurs in no site, expected presences and absences: remove such columns"
    assert "'weed' occurs in every site" in fail("joint", spoiled(tmp_path, weed=1), *OWN, *out)
    assert "'weed' has 2 in row" in fail("joint", spoiled(tmp_path, weed=2), *OWN, "--species", "owl,weed", *out)
    assert not (tmp_path / "out").exists()


def test_a_graph_with_a_cycle_or_strangers(tmp_path: Path) -> None:
    path, edges = write_community(tmp_path), tmp_path / "edges.csv"
    words = ("joint", path, *OWN, "--graph", edges, "-o", tmp_path / "out")
    write_table(edges, ("a", "b"), [("owl", "vole"), ("vole", "fox"), ("fox", "owl")])
    said = fail(*words, code=2)
    assert "the edge 'fox' – 'owl' closes a cycle" in said
    write_table(edges, ("a", "b"), [("owl", "bear")])
    assert "'bear' is not a species; the species are owl, vole, fox, hen" in fail(*words, code=2)
    assert "or a table of edges" in fail("joint", path, *OWN, "--graph", "ring", "-o", tmp_path / "out", code=2)


def test_names_that_clash_with_variables(world, tmp_path: Path) -> None:
    with world.survey.open() as source:
        body = list(csv.DictReader(source))
    layer = next(world.layers.glob("*.tif")).stem
    first = body[0]["species"]
    table = [(layer if r["species"] == first else r["species"], *list(r.values())[1:]) for r in body]
    path = write_table(tmp_path / "sites.csv", list(body[0]), table)
    said = fail("joint", path, world.layers, "--categorical", "landcover", "-o", tmp_path / "out")
    assert said.startswith(f"'{layer}' is both a species and a variable")
    both = fail(
        "joint",
        write_community(tmp_path, name="b.csv"),
        "--species",
        "owl,fox",
        "--environment",
        "fox,heat",
        "-o",
        tmp_path / "out",
    )
    assert both.startswith("'fox' is both a species and a variable")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rm", "2"), "--multiplier 2.0 does not apply to a joint model"),
        (("--learner", "svm"), "--learner svm"),
        (("--cost", "-1"), "--cost -1: expected"),
        (("--environment", "frost"), "'frost' matches no column of 'sites.csv'"),
        (("--species", "bear"), "has no species 'bear'"),
        (("--split", "block", "--folds", "3"), "--block-size"),
    ],
)
def test_options_that_make_no_sense(tmp_path: Path, words, said) -> None:
    assert said in fail("joint", write_community(tmp_path), "-o", tmp_path / "out", *words, code=2)


def test_more_folds_than_sites_are_refused_and_what_is_not_defined_is_a_dash(tmp_path: Path) -> None:
    """A fold of one site has no AUC of any species."""
    sites = write_community(tmp_path, draw_community(12))
    words = ("joint", sites, *OWN, "--cost", 1, *LEAN, "-o", tmp_path / "out")
    assert "there are 12 sites for 500 folds: use --folds 12 at most" in fail(*words, "--folds", 500)
    said = succeed(*words, "--folds", 12).output
    line = next(line for line in said.splitlines() if "mean AUC" in line)
    assert line.split()[-3:] == ["–", "–", "–"]
    assert "nan" not in said


def test_check_looks_at_joint_runs(world, tmp_path: Path) -> None:
    frame = draw_community()
    frame["ghost"], frame["rare"], frame["flat"] = 0, 0, 1.5
    frame.loc[3, "rare"] = 1
    sites = write_community(tmp_path, frame)
    words = ("check", sites, "--learner", "m3n", "--folds", 500)
    result = sdm(*words)
    assert result.exit_code == 1
    assert "'ghost' occurs in no site" in result.output
    assert "rare: only 1 presences and 159 absences" in result.output
    assert "'flat' has one value at all sites" in result.output
    assert "'sdm joint' needs one (-o)" in result.output
    assert "there are 160 sites for 500 folds: use --folds 160 at most" in result.output
    assert "2 problems" in result.output
    assert "7 folds, divided by: random" in sdm(*words[:-1], 7).output
    write_table(tmp_path / "edges.csv", ["a", "b"], [["owl", "fox"], ["owl", "bear"]])
    graph = sdm("check", sites, "--graph", tmp_path / "edges.csv").output
    assert "'bear' is not a species" in graph
    assert "does not apply to a joint model" in sdm("check", sites, "--joint", "--jackknife").output
    good = succeed("check", world.survey, world.layers, "--categorical", "landcover", "--joint", "-o", tmp_path / "o")
    assert "150 usable sites" in good.output
    assert "0 problems, 0 warnings" in good.output


def test_check_knows_the_run_file_of_a_joint_model(tmp_path: Path) -> None:
    """Also one of nothing but defaults; that of `sdm init` is one of a fit."""
    path, out = write_community(tmp_path), tmp_path / "out"
    succeed("joint", path, "-o", out)
    assert "\nbackground:" not in (out / "run.yaml").read_text(encoding="utf-8")
    assert "160 usable sites" in sdm("check", out / "run.yaml", "-o", tmp_path / "new").output
    succeed("init", tmp_path / "init.yaml")
    assert "usable sites" not in sdm("check", tmp_path / "init.yaml").output


def test_sites_off_the_layers(world, tmp_path: Path) -> None:
    frame = draw_community().assign(longitude=170.0)
    said = fail("joint", write_community(tmp_path, frame), world.layers, "-o", tmp_path / "out")
    assert "none of 160 records can be used" in said


def test_nothing_is_overwritten_unless_asked_and_old_maps_go(mapped: Path, tmp_path: Path) -> None:
    path, out = write_community(tmp_path), tmp_path / "out"
    out.mkdir()
    (out / "precious.txt").write_text("x")
    assert "contains files already" in fail("joint", path, *OWN, "-o", out)
    words = ("joint", path, *OWN, "--cost", 1, "--dpi", 50, "-o", out, "--overwrite")
    succeed(*words)
    assert "joint.html" in files(out)
    succeed(*words, "--no-report")
    assert "joint.html" not in files(out)
    assert (out / "precious.txt").read_text() == "x"


def test_help_shows_what_a_joint_model_understands() -> None:
    said = sdm("joint", "--help-all").output
    for word in ("--learner", "--graph", "--cost", "--shrinkage", "--environment", "--site-column", "--split"):
        assert word in said
    for word in ("--multiplier", "--background", "--jackknife", "--sets"):
        assert word not in said
    assert "shows associations" in " ".join(said.split())


@pytest.mark.thorough
def test_eucalypts(shared: Path, tmp_path: Path) -> None:
    """A real community in blocks: edges lower the error of richness, and no species is lost."""
    folder = shared / "data" / "joint" / "eucalypts_sjsdm"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    words = ("joint", folder / "presence_absence.csv", folder / "env.csv", "--learner", "crf-l2", "--cost", 1)
    words = (*words, "--split", "block", "--block-size", 10, "--folds", 4, *LEAN)
    numbers = model_answer(*words, "-o", tmp_path / "out")["numbers"]
    assert (len(numbers["species"]), numbers["sites"], numbers["edges"]) == (12, 458, 11)
    mean = numbers["test"]["mean"]
    assert mean["joint"]["auc"] > 0.7
    assert mean["joint"]["richness error"] < mean["stacked"]["richness error"]
    assert pd.DataFrame(numbers["associations"])["weight"].abs().max() > 0.3
