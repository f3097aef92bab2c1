"""Variables are chosen by name or pattern, in layers and tables, for every kind of model, and always printed."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from inputs.reading import inputs_of, refusal
from terminal import BARE, PLAIN, as_json, model_answer, sdm, succeed

from sdm import load_model
from sdm.data.variables import hint_columns, numbers_rows, select_variables
from sdm.errors import DataError, OptionError


def used(answer) -> str:
    """Return the line about the variables that were used, from an answer or from the inputs of a run."""
    notices = answer["notices"] if isinstance(answer, dict) else answer.notices
    (line,) = [text for text in notices if " variables: " in text or " variable: " in text]
    return line


def test_layers_are_chosen_and_left_out(world, tmp_path: Path) -> None:
    words = (*BARE, *PLAIN)
    assert (
        used(inputs_of(world.records, world.layers, *BARE))
        == "5 variables: elevation, landcover (categorical), precipitation, slope, temperature"
    )
    answer = model_answer(
        *("fit", world.records, world.layers, *words, "-o", tmp_path / "b", "--variables", "t*,slope,elevation"),
        *("--exclude", "elev*"),
    )
    assert used(answer) == "2 variables: temperature, slope"
    assert load_model(tmp_path / "b" / answer["files"]["model"]).names == ("temperature", "slope")
    assert used(inputs_of(tmp_path / "b" / "run.yaml")) == used(answer)
    printed = succeed("fit", world.records, world.layers, *words, "--exclude", "landcover", "-o", tmp_path / "d")
    assert "4 variables: elevation, precipitation, slope, temperature" in printed.output
    assert (
        used(as_json("check", world.records, world.layers, "--exclude", "t*,p*,l*")) == "2 variables: elevation, slope"
    )


def test_a_layer_of_another_grid_can_be_left_out(own) -> None:
    """What is not used must not stop a run."""
    import rasterio

    with rasterio.open(own.layers / "slope.tif") as data:
        profile, values = data.profile, data.read(1)
    profile |= {"width": 20, "height": 20}
    with rasterio.open(own.layers / "soil.tif", "w", **profile) as out:
        out.write(values[:20, :20], 1)
    words = (own.records, own.layers, *BARE)
    assert "layer 'soil' has 20×20 cells" in refusal(DataError, *words)
    assert "soil" not in used(inputs_of(*words, "--exclude", "soil"))


@pytest.mark.parametrize(
    ("option", "word", "said"),
    [
        ("variables", "temprature", "'temprature' matches no layer: did you mean 'temperature'?"),
        ("exclude", "Slope", "'Slope' matches no layer: did you mean 'slope'?"),
        ("variables", "bio*", "'bio*' matches no layer: the layers are elevation, landcover,"),
        ("exclude", "*", "leaves no layer of"),
    ],
)
def test_what_matches_nothing_is_refused(option: str, word: str, said: str, world) -> None:
    words = (world.records, world.layers, f"--{option}", word)
    assert said in refusal(OptionError, *words)
    checked = sdm("check", *words)
    assert checked.exit_code == 1
    assert said in checked.stdout


@pytest.mark.thorough
def test_every_kind_of_model_and_study(world, tmp_path: Path) -> None:
    chosen = ("--variables", "slope,temp*")
    runs = {
        "classify": (
            "fit",
            world.survey,
            world.layers,
            "--response",
            "presence",
            "--features",
            "l",
            "--multiplier",
            "1",
        ),
        "joint": ("joint", world.survey, world.layers, "--cost", "1"),
        "tune": ("tune", world.records, world.layers, "--feature-sets", "l", "--multipliers", "1", "--folds", "2"),
        "path": ("path", world.records, world.layers, "--features", "l", "--folds", "2"),
        "curve": (
            "curve",
            "learning",
            world.records,
            world.layers,
            "--sets",
            "l",
            "--partitions",
            "2",
            "--sizes",
            "20",
        ),
    }
    for name, words in runs.items():
        lean = (
            ("--dpi", 72)
            if name == "curve"
            else ("--no-map", "--no-report")
            if name == "joint"
            else ("--no-map", "--no-curves", "--no-importance", "--no-report")
        )
        answer = as_json(*words, *chosen, *lean, "-o", tmp_path / name)
        assert used(answer) == "2 variables: slope, temperature", name


def test_predict_and_evaluate_say_which_variables(fit, world, tmp_path: Path) -> None:
    answer = as_json("predict", fit.model, world.layers, "-o", tmp_path / "map.tif")
    assert used(answer).startswith("5 variables: ")
    assert used(as_json("evaluate", fit.model, "--presences", world.records, "--layers", world.layers)) == used(answer)


def write(path: Path, **columns) -> Path:
    pd.DataFrame(columns).to_csv(path, index=False, quoting=csv.QUOTE_MINIMAL)
    return path


@pytest.fixture
def swd(tmp_path: Path) -> Path:
    g, n = np.random.default_rng(5), 300
    return write(
        tmp_path / "swd.csv",
        **{"": range(1, n + 1), "species": ["owl"] * 100 + ["background"] * 200, "siteid": g.permutation(n) + 1000},
        rain=g.normal(900, 80, n).round(),
        heat=np.r_[g.normal(15, 2, 100), g.normal(10, 3, 200)].round(2),
        soil=g.integers(1, 6, n),
        depth=g.choice(np.arange(10, 4000), n, replace=False),
    )


def test_a_column_that_numbers_the_rows_is_no_variable(swd: Path) -> None:
    answer = inputs_of(swd)
    assert used(answer) == "4 variables: rain, heat, soil, depth"
    left = [text for text in answer.notices if "only numbers the rows" in text]
    assert [text.split("'")[1] for text in left] == ["column_1", "siteid"]
    assert "use --variables to keep it" in left[0]
    assert used(inputs_of(swd, "--variables", "siteid,heat")) == "2 variables: siteid, heat"
    assert used(inputs_of(swd, "--exclude", "s*,depth")) == "2 variables: rain, heat"
    said = refusal(OptionError, swd, "--variables", "haet")
    assert "'haet' matches no column of 'swd.csv': did you mean 'heat'?" in said
    checked = as_json("check", swd)
    assert used(checked) == used(answer)
    assert [text for text in checked["warnings"] if "column" in text] == [
        "column 'soil' holds 5 different whole numbers (1 to 5): if they are classes, use --categorical soil"
    ]


def test_two_tables_of_samples(swd: Path, tmp_path: Path) -> None:
    """What numbers the rows of one table may not do so in the other."""
    table = pd.read_csv(swd)
    table.iloc[:100].to_csv(tmp_path / "found.csv", index=False)
    table.iloc[100:].assign(siteid=7).to_csv(tmp_path / "rest.csv", index=False)
    words = (tmp_path / "found.csv", tmp_path / "rest.csv", "--exclude", "soil,depth")
    assert used(inputs_of(*words)) == "2 variables: rain, heat"
    table.iloc[:100].assign(siteid=table["siteid"].iloc[:100] // 2).to_csv(tmp_path / "found.csv", index=False)
    table.iloc[100:].to_csv(tmp_path / "rest.csv", index=False)
    assert used(inputs_of(*words)) == "3 variables: siteid, rain, heat"


def test_tables_of_classes_and_communities(swd: Path, tmp_path: Path) -> None:
    table, g = pd.read_csv(swd), np.random.default_rng(2)
    table = table.drop(columns="species").rename(columns={"siteid": "fid"})
    table.assign(habitat=g.choice(["bog", "fen"], 300)).to_csv(tmp_path / "plots.csv", index=False)
    words = (tmp_path / "plots.csv", "--class-column", "habitat")
    assert used(inputs_of(*words)) == "4 variables: rain, heat, soil, depth"
    assert used(inputs_of(*words, "--variables", "*a*", "--exclude", "rain")) == "1 variable: heat"
    sites = table.drop(columns=table.columns[0]).assign(owl=g.integers(0, 2, 300), hawk=g.integers(0, 2, 300))
    sites.to_csv(tmp_path / "sites.csv", index=False)
    words = (tmp_path / "sites.csv", "--kind", "community")
    answer = inputs_of(*words)
    assert used(answer) == "4 variables: rain, heat, soil, depth"
    assert any("column 'fid' only numbers the rows" in text for text in answer.notices)
    assert used(inputs_of(*words, "--environment", "he*,fid")) == "2 variables: heat, fid"
    assert used(inputs_of(*words, "--exclude", "s*")) == "3 variables: rain, heat, depth"
    said = refusal(OptionError, *words, "--variables", "haet")
    assert "'haet' matches no column of 'sites.csv': did you mean 'heat'?" in said
    old = tmp_path / "old.yaml"  # as a run file of an earlier version has it
    old.write_text(
        f"occurrences: {{file: {tmp_path / 'sites.csv'}}}\njoint: {{environment: [heat, rain], cost: 1.0}}\n"
    )
    assert used(inputs_of(old)) == "2 variables: heat, rain"


WHOLE = np.arange(40) * 3 + 5


@pytest.mark.parametrize(
    ("name", "values", "numbered"),
    [
        ("siteid", WHOLE, True),
        ("SiteID", WHOLE, True),
        ("plot_id", WHOLE, True),
        ("fid", WHOLE, True),
        ("", WHOLE, True),
        ("Unnamed: 0", WHOLE, True),
        ("X", WHOLE, True),
        ("anything", np.arange(40), True),
        ("anything", np.arange(1, 41), True),
        ("anything", WHOLE, False),  # different whole numbers, as rain in mm at forty sites is
        ("humid", WHOLE, False),
        ("soil_id", WHOLE // 30, False),  # codes of classes
        ("siteid", WHOLE + 0.5, False),
        ("siteid", WHOLE[:3], False),
        ("siteid", np.array(["a"] * 40), False),
    ],
)
def test_which_columns_number_the_rows(name: str, values, numbered: bool) -> None:
    assert numbers_rows(name, values) is numbered


def test_a_site_may_have_several_rows() -> None:
    assert numbers_rows("siteid", np.repeat(WHOLE, 3), places=40)
    assert not numbers_rows("siteid", np.repeat(WHOLE, 3))


def test_choosing_keeps_the_order_of_the_user() -> None:
    known = ["bio1", "bio12", "bio2", "x[1]", "slope"]
    assert select_variables(known, [], [], "layer") == known
    assert select_variables(known, ["slope", "bio1*"], [], "layer") == ["slope", "bio1", "bio12"]
    assert select_variables(known, ["x[1]"], [], "layer") == ["x[1]"]
    assert select_variables(known, [], ["bio?"], "layer") == ["bio12", "x[1]", "slope"]
    with pytest.raises(OptionError, match="leaves no layer"):
        select_variables(known, ["slope"], ["slope"], "layer")


def test_columns_with_few_numbers_are_hinted_at() -> None:
    n = 400
    table = pd.DataFrame(
        {"soil": np.arange(n) % 5, "share": np.arange(n) / n, "rain": np.arange(n), "old": np.arange(n) % 2}
    )
    table["word"] = "a"
    assert [text.split("'")[1] for text in hint_columns(table, ())] == ["soil"]
    assert hint_columns(table, ("soil",)) == []
    assert hint_columns(table.head(40), ()) == []  # too few rows to tell
