"""Records as they come: filters, rows that cannot be read, and the fate of each, for every kind of model."""

import json
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
import rasterio
from community import write_community
from inputs.reading import inputs_of, options_of, refusal, table_of
from terminal import BARE, PLAIN, as_json, fail, model_answer, rows, sdm

from sdm.errors import DataError, OptionError
from sdm.options.reading import dump_yaml
from sdm.run.checking import check_run

LEAN = (*BARE, *PLAIN)


@pytest.fixture
def messy(world, tmp_path: Path) -> Path:
    """Sixty records with columns as GBIF has them, two of them spoiled."""
    table = pd.read_csv(world.records).rename(columns={"longitude": "decimalLongitude", "latitude": "decimalLatitude"})
    table.insert(0, "gbifID", range(1000, 1060))
    table["coordinateUncertaintyInMeters"] = [50.0] * 30 + [20_000.0] * 10 + [None] * 20
    table["year"] = [1950] * 5 + [1990] * 55
    table = table.astype(object)
    table.loc[7, "decimalLatitude"] = "forty"
    table.loc[20, ["decimalLongitude", "decimalLatitude"]] = [0, 0]
    table.to_csv(tmp_path / "messy.csv", index=False, sep="\t")
    return tmp_path / "messy.csv"


def test_every_record_has_a_fate(world, messy: Path, tmp_path: Path) -> None:
    words = ("--years", "1970-", "--where", "gbifID != 1030", "--gpkg", "--keep-duplicates")
    answer = model_answer("fit", messy, world.layers, *LEAN, *words, "-o", tmp_path / "out")
    fate = {row["id"]: row for row in rows(tmp_path / "out" / "records_fate.csv")}
    assert list(fate) == [str(name) for name in range(1000, 1060)]
    assert [row["row"] for row in fate.values()] == [str(k) for k in range(2, 62)]
    expected = {f"{k}": "not from 1970–" for k in range(1000, 1005)}
    expected |= {"1007": "column 'decimalLatitude': 'forty' is not a number", "1020": "at (0, 0)"}
    expected |= {"1030": 'not satisfying "gbifID != 1030"'}
    assert {name: row["reason"] for name, row in fate.items() if row["fate"] == "dropped"} == expected
    (summary,) = rows(tmp_path / "out" / "records.csv")
    counts = {"read": "60", "unreadable": "1", "filtered": "6", "zero_coordinates": "1", "kept": "52"}
    assert summary | counts == summary
    assert answer["training_presences"] == 52
    unread = "1 row that cannot be read dropped: row 9,"
    for said in (unread, "5 rows not from 1970– dropped", "1 row not satisfying"):
        assert any(said in notice for notice in answer["notices"]), said
    points = geopandas.read_file(tmp_path / "out" / "results.gpkg", layer="records")
    assert points["fate"].value_counts().to_dict() == {"kept": 52, "dropped": 8}
    assert points.geometry.isna().sum() == 1
    drawn = pd.read_csv(tmp_path / "out" / "background.csv")
    assert len(drawn) == answer["background_points"] - 52
    assert len(geopandas.read_file(tmp_path / "out" / "results.gpkg", layer="background")) == len(drawn)


def test_records_less_certain_than_a_cell_are_warned_about(world, messy: Path, tmp_path: Path) -> None:
    answer = model_answer("fit", messy, world.layers, *BARE, "--no-importance", "-o", tmp_path / "out")
    (warning,) = answer["warnings"]
    assert "10 of 58 records (38 of known uncertainty) are less certain than a cell is wide" in warning
    assert "--max-uncertainty" in warning
    page = (tmp_path / "out" / f"{answer['files']['page']}").read_text()
    assert "are less certain than a cell is wide" in page
    assert warning in check_run(options_of(messy, world.layers, "--categorical", "landcover")).warnings
    less = inputs_of(messy, world.layers, *BARE, "--max-uncertainty", "1km")
    (table,) = less.tables.values()
    assert (*less.warnings, *table.warnings) == ()
    assert table.n_presences == answer["training_presences"] - 10
    assert any("10 rows less certain than 1 km dropped (20 of unknown" in notice for notice in less.notices)


def test_the_same_in_a_run_file(world, messy: Path, tmp_path: Path) -> None:
    words = ("--years", "1970-2000", "--where", "gbifID > 1010", "--max-uncertainty", "5km", "--max-bad-rows", "10")
    (tmp_path / "run.yaml").write_text(dump_yaml(options_of(messy, world.layers, *BARE, *words)))
    first, again = inputs_of(messy, world.layers, *BARE, *words), inputs_of(tmp_path / "run.yaml")
    assert first.ledger.counts == again.ledger.counts
    assert 0 < first.ledger.total()["filtered"] < 60
    pd.testing.assert_frame_equal(first.fate, again.fate)


def test_what_is_no_filter(world, messy: Path) -> None:
    for words, said in {
        ("--years", "last"): "years such as 1970-2010",
        ("--max-uncertainty", "5"): "a length with its unit, such as 5km",
        ("--where", "import os"): "cannot be read",
        ("--where", "depth > 3"): "has no column 'depth'",
        ("--max-bad-rows", "101"): "max_bad_rows",
    }.items():
        with pytest.raises(OptionError, match=said):
            inputs_of(messy, world.layers, *BARE, *words)
    with pytest.raises(DataError, match=r"1 of 60 rows cannot be read \(row 9, "):
        inputs_of(messy, world.layers, *BARE, "--max-bad-rows", 0)


def test_check_tells_of_bad_rows_and_everything_else_at_once(world, messy: Path) -> None:
    table = pd.read_csv(messy, sep="\t", dtype=object)
    table.loc[30:40, "decimalLatitude"] = "?"
    table.to_csv(messy, index=False, sep="\t")
    result = sdm("check", messy, world.layers, "--categorical", "landcover", "--projections", "no_folder", "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert len(answer["problems"]) == 2
    assert any("12 of 60 rows cannot be read" in text for text in answer["problems"])
    assert any("no_folder" in text for text in answer["problems"])
    assert any("1 at (0, 0)" in text for text in answer["warnings"])


def test_rows_left_out_of_other_files_are_told(world, messy: Path, tmp_path: Path) -> None:
    points = pd.read_csv(world.records)[["longitude", "latitude"]].astype(object)
    points.loc[3, "latitude"] = "n/k"
    points.to_csv(tmp_path / "visits.csv", index=False)
    words = ("--background-file", tmp_path / "visits.csv", "--test", messy)
    said = "1 row that cannot be read dropped: row"
    words = (world.records, world.layers, *words)
    for notices in (inputs_of(*words).notices, check_run(options_of(*words)).facts):
        assert [text.split(": ")[0] for text in notices if said in text] == ["visits.csv", "messy.csv"]


def test_classes(world, tmp_path: Path) -> None:
    table = pd.read_csv(world.survey).astype(object)
    table["effort_class"] = ["low", "high"] * (len(table) // 2)
    table.loc[3, "latitude"] = "n/k"
    table.loc[8, "species"] = ""
    table.to_csv(tmp_path / "survey.csv", index=False)
    words = ("--response", "presence", "--where", "effort_class == 'low'", "--no-map", "--fc", "l", "--multiplier", 1)
    words += ("--no-curves", *PLAIN)
    answer = as_json("fit", tmp_path / "survey.csv", world.layers, *words, "-o", tmp_path / "out")
    assert any("rows not satisfying \"effort_class == 'low'\" dropped" in text for text in answer["notices"])
    fate = rows(tmp_path / "out" / "records_fate.csv")
    assert [int(row["row"]) for row in fate] == list(range(2, len(table) + 2))
    assert fate[3]["reason"] == "column 'latitude': 'n/k' is not a number"
    assert fate[8]["reason"] == "without a species in column 'species'"
    kept = {row["species"] for row in fate if row["fate"] == "kept"}
    assert kept == {model["name"] for model in answer["models"]}
    for model in answer["models"]:
        own = rows(Path(model["folder"]) / "records_fate.csv")
        assert {row["species"] for row in own} == {model["name"]}
        assert {row["class"] for row in own if row["fate"] == "kept"} == {"0", "1"}


def test_communities(tmp_path: Path) -> None:
    path = write_community(tmp_path)
    table = pd.read_csv(path, dtype=object)
    table.loc[5, "owl"] = "yes!"
    table.loc[6, "heat"] = "hot"
    table.loc[9, "rain"] = None
    table.to_csv(path, index=False)
    words = ("--categorical", "soil", "--cost", 1, "--no-report", "--dpi", 50, "-o", tmp_path / "out")
    answer = model_answer("joint", path, "--where", "longitude > 1", *words)
    fate = {int(row["row"]): row for row in rows(tmp_path / "out" / "records_fate.csv")}
    assert list(fate) == list(range(2, len(table) + 2))
    east = table["longitude"].astype(float) > 1
    bad = {7: "column 'owl': 'yes!' is not a number", 8: "column 'heat': 'hot' is not a number"}
    bad[11] = "without a value of every variable"
    for row, one in fate.items():
        reason = bad.get(row, "") if east[row - 2] else 'not satisfying "longitude > 1"'
        assert one["reason"] == reason
        assert one["fate"] == ("dropped" if reason else "kept")
    assert sorted(answer["species"]) == ["fox", "hen", "owl", "vole"]


def test_evaluate_takes_the_same_filters(world, messy: Path, tmp_path: Path) -> None:
    fitted = model_answer("fit", world.records, world.layers, *LEAN, "-o", tmp_path / "out")
    model = tmp_path / "out" / fitted["files"]["model"]
    words = ("evaluate", model, "--presences", messy, "--layers", world.layers)
    answer = model_answer(*words, "--years", "1970-", "--where", "gbifID > 1029", "--max-uncertainty", "1km")
    assert answer["presences"] == 20
    said = '24 rows not satisfying "gbifID > 1029" dropped'  # of thirty, five are too old and one cannot be read
    assert said in answer["notices"]
    assert "rows cannot be read" in fail(*words, "--max-bad-rows", 0)
    table = pd.read_csv(world.survey).assign(heat=range(300), odd=[k % 2 for k in range(300)])
    table.to_csv(tmp_path / "survey.csv", index=False)
    classes = ("--class-column", "presence", "--variables", "heat", "--multiplier", 1, "--no-curves", *PLAIN)
    fitted = model_answer("classify", tmp_path / "survey.csv", *classes, "--fc", "l", "-o", tmp_path / "classes")
    model = tmp_path / "classes" / fitted["files"]["model"]
    answer = model_answer("evaluate", model, "--sites", tmp_path / "survey.csv", "--where", "odd == 1")
    assert answer["sites"] == 150


def test_species_that_filters_leave_nothing_of_are_named(world, tmp_path: Path) -> None:
    table = pd.read_csv(world.both)
    first, second = table["species"].unique()
    table["year"] = [1950 if name == first else 1990 for name in table["species"]]
    table.to_csv(tmp_path / "both.csv", index=False)
    words = (tmp_path / "both.csv", world.layers, *BARE, "--years", "1970-")
    prepared = inputs_of(*words)
    assert list(prepared.tables) == [second]
    assert [text for text in prepared.notices if first in text] == [f"1 species without any remaining row: {first}"]
    said = refusal(DataError, *words, "--species", first)
    assert f"{first}: none of 60 records can be used (60 not from 1970–): change the filters" in said


def test_uncertain_points_of_classes(world, tmp_path: Path) -> None:
    table = pd.read_csv(world.survey)
    table["coordinateUncertaintyInMeters"] = 50_000
    table.to_csv(tmp_path / "survey.csv", index=False)
    words = ("--class-column", "presence", "--fc", "l", "--multiplier", 1, "--no-map", *PLAIN, "--no-curves")
    answer = as_json("classify", tmp_path / "survey.csv", world.layers, *words, "-o", tmp_path / "out")
    assert sum("less certain than a cell is wide" in text for text in answer["warnings"]) == 2


def test_check_names_all_layers_of_another_grid(own) -> None:
    for name in ("slope", "temperature"):
        with rasterio.open(own.layers / f"{name}.tif") as source:
            profile = {**source.profile, "height": 40}
            values = source.read()[:, :40]
        with rasterio.open(own.layers / f"{name}.tif", "w", **profile) as out:
            out.write(values)
    result = sdm("check", own.records, own.layers, "--categorical", "landcover", "--json")
    (problem,) = [text for text in json.loads(result.stdout)["problems"] if "cells" in text]
    assert "'slope' has 48×40 cells" in problem
    assert "'temperature' has 48×40 cells" in problem


def test_filters_are_of_records_and_not_of_a_background_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    found = pd.DataFrame(
        {"species": "fern", "x": 1.0, "y": 2.0, "heat": rng.normal(1, 1, 40), "year": [1950, 1990] * 20}
    )
    found.to_csv(tmp_path / "found.csv", index=False)
    drawn = pd.DataFrame({"species": "background", "x": 1.0, "y": 2.0, "heat": rng.normal(size=200)})
    drawn.to_csv(tmp_path / "drawn.csv", index=False)
    table = table_of(tmp_path / "found.csv", tmp_path / "drawn.csv", "--years", "1970-", "--exclude", "year")
    assert table.n_presences == 20
    assert table.n_background == 200
