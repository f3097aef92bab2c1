"""Samples with data: tables in the place of layers."""

from pathlib import Path

import numpy as np
import pytest
from inputs.reading import refusal
from terminal import PLAIN, as_json, fail, files, model_answer, rows, sdm, succeed, write_table

from sdm.errors import DataError, OptionError
from sdm.models.file import load_model

HEAD = ["species", "x", "y", "warmth", "rain", "soil"]


def sample(seed: int, n: int, species: str, centre: float) -> list[list]:
    """Rows of a table: two variables, and a class as text."""
    rng = np.random.default_rng(seed)
    return [
        [species, round(k * 0.1, 1), 5.0, round(w, 4), round(r, 4), "loam" if w > centre else "sand"]
        for k, (w, r) in enumerate(zip(rng.normal(centre, 1, n), rng.uniform(0, 1, n)))
    ]


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    presences = write_table(tmp_path / "presences.csv", HEAD, sample(1, 40, "fern", 1.0) + sample(2, 30, "moss", -1.0))
    background = write_table(tmp_path / "background.csv", HEAD, sample(3, 300, "background", 0.0))
    return presences, background


def test_two_tables(tables, tmp_path: Path) -> None:
    result = as_json("fit", *tables, "--categorical", "soil", "-o", tmp_path / "out", "--fc", "lq")
    assert [row["name"] for row in result["models"]] == ["fern", "moss"]
    assert any("no map" in notice for notice in result["notices"])
    folder = tmp_path / "out" / "fern"
    assert not list(folder.glob("*.tif"))
    assert (folder / "plots" / "soil.svg").exists()
    assert {row["class"] for row in rows(folder / "fern_curves.csv") if row["variable"] == "soil"} == {"loam", "sand"}
    assert load_model(folder / "fern.npz").names == ("warmth", "rain", "soil")


def test_one_table_with_background_in_it(tables, tmp_path: Path) -> None:
    lines = [path.read_text().splitlines() for path in tables]
    (tmp_path / "all.csv").write_text("\n".join([*lines[0], *lines[1][1:]]) + "\n")
    succeed("fit", *tables, "--categorical", "soil", "-o", tmp_path / "two", "--fc", "lq", "--no-curves", *PLAIN)
    succeed(
        "fit",
        tmp_path / "all.csv",
        "--categorical",
        "soil",
        "-o",
        tmp_path / "one",
        "--fc",
        "lq",
        "--no-curves",
        *PLAIN,
    )
    for name in ("fern/fern.npz", "moss/moss.npz"):
        one, two = (load_model(tmp_path / where / name) for where in ("one", "two"))
        assert one.weights.tobytes() == two.weights.tobytes()
        assert one.meta.pop("sampling") == {"background": "all.csv"}
        assert two.meta.pop("sampling") == {"background": "background.csv"}
        assert one.meta == two.meta


def test_background_table_by_its_option(tables, tmp_path: Path) -> None:
    words = ("--categorical", "soil", "-o", tmp_path / "out", "--fc", "lq", "--no-curves", *PLAIN, "--species", "fern")
    succeed("fit", tables[0], "--background-file", tables[1], *words)
    assert (tmp_path / "out" / "fern.npz").exists()


def test_only_the_species_asked_for(tables, tmp_path: Path) -> None:
    words = ("fit", *tables, "--categorical", "soil", "--fc", "lq", "--no-curves", *PLAIN)
    succeed(*words, "--species", "moss", "-o", tmp_path / "out")
    assert (tmp_path / "out" / "moss.npz").exists()
    message = fail(*words, "--species", "mos", "-o", tmp_path / "no", code=2)
    assert "species 'mos' is not in" in message
    assert "fern, moss" in message


def test_what_needs_layers_says_so(tables, tmp_path: Path) -> None:
    words = (*tables, "--categorical", "soil")
    for option in (("--test-samples", tables[0]), ("--projections", tmp_path), ("--study-area", "area.gpkg")):
        assert "needs layers" in refusal(OptionError, *words, *option)


def test_forgotten_layers_are_missed_in_plain_words(world, tables) -> None:
    assert "no layers were given" in refusal(DataError, world.records)
    assert "no layers were given" in refusal(OptionError, tables[0], "--categorical", "soil")


def test_words_in_a_column_of_numbers_are_shown_with_their_row(tables, tmp_path: Path) -> None:
    text = tables[0].read_text().splitlines()
    text[7] = text[7].replace(text[7].split(",")[3], "warm", 1)
    tables[0].write_text("\n".join(text) + "\n")
    message = refusal(DataError, *tables, "--categorical", "soil", "--max-bad-rows", 0)
    assert "row 8, column 'warmth': 'warm' is not a number" in message
    succeed("fit", *tables, "--categorical", "soil", "-o", tmp_path / "out", "--no-curves", *PLAIN)
    fate = {row["row"]: row for row in rows(tmp_path / "out" / "records_fate.csv")}
    assert fate["8"]["fate"] == "dropped"
    assert fate["8"]["reason"] == "column 'warmth': 'warm' is not a number"
    assert fate["7"]["fate"] == "kept"


def test_a_column_that_the_background_lacks(tables) -> None:
    lines = [",".join(line.split(",")[:-1]) for line in tables[1].read_text().splitlines()]
    tables[1].write_text("\n".join(lines) + "\n")
    message = refusal(DataError, *tables, "--categorical", "soil")
    assert "background.csv" in message
    assert "'soil'" in message


def test_evaluation_on_tables(tables, tmp_path: Path) -> None:
    succeed("fit", *tables, "--categorical", "soil", "-o", tmp_path / "out", "--fc", "lq", "--no-curves", *PLAIN)
    model = tmp_path / "out" / "fern" / "fern.npz"
    found = model_answer("evaluate", model, "--presences", tables[0], "--species", "fern", "--background", tables[1])
    assert (found["presences"], found["others"], found["against"]) == (40, 300, "background")
    assert 0.6 < found["auc"] < 1
    absent = model_answer("evaluate", model, "--presences", tables[0], "--species", "fern", "--absences", tables[1])
    assert absent["auc"] == found["auc"]
    assert -1 <= absent["tss"] <= 1
    assert 0 < absent["correlation"] < 1
    words = ("evaluate", model, "--presences", tables[0])
    assert "needs --layers" in fail(*words, "--background", 100, code=2)
    assert "no absences or background" in fail(*words, code=2)
    assert "is not in" in fail(*words, "--species", "tree", "--background", tables[1], code=2)
    assert "exclude" in fail(*words, "--absences", tables[1], "--background", tables[1], code=2)


def test_bradypus_as_it_comes(shared: Path, tmp_path: Path) -> None:
    path = shared / "data" / "bradypus_swd" / "bradypus.csv"
    result = sdm("fit", path, "--categorical", "ecoreg", "-o", tmp_path / "out", "--no-curves")
    assert result.exit_code == 0, result.output
    assert "116 presences, 1,116 background points" in result.stdout
    (row,) = rows(tmp_path / "out" / "maxentResults.csv")
    (java,) = rows(shared / "reference" / "java_auto_maxentResults.csv")
    assert row["#Training samples"] == java["#Training samples"]
    assert row["#Background points"] == java["#Background points"]
    # Java stops before its optimum: ours is a little better, never worse.
    assert 0 <= float(row["Regularized training gain"]) - float(java["Regularized training gain"]) < 0.06
    assert float(row["Training AUC"]) == pytest.approx(float(java["Training AUC"]), abs=0.01)
    assert "plots" not in files(tmp_path / "out")
    shown = [name for name in row if name in java]
    assert shown == list(java), "every column of Java Maxent is there, in its order"
    assert sum(float(row[name]) for name in row if name.endswith(" contribution")) == pytest.approx(100)
