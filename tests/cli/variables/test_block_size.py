"""Blocks whose size is the range of autocorrelation at the records."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inputs.reading import refusal
from terminal import BARE, PLAIN, as_json, fail, files, model_answer, picture, rows, sdm, succeed

from sdm.errors import DataError, OptionError

POINTS = ("--background-points", 600)
AUTO = ("--split", "block", "--block-size", "auto", "--folds", 3)
CATEGORICAL = ("--categorical", "landcover")


def numbers_of(folder: Path) -> dict[str, Any]:
    """The numbers of the only model of a run."""
    (path,) = folder.glob("*.json")
    return dict(json.loads(path.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def measured(world, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run whose blocks are measured, and what it said; tests look at it, and change nothing."""
    out = tmp_path_factory.mktemp("measured") / "out"
    words = ("fit", world.records, world.layers, *BARE, *POINTS, *AUTO, "--no-importance", "--dpi", 50)
    return out, succeed(*words, "-o", out).stdout


def test_blocks_of_records(world, measured: tuple[Path, str], tmp_path: Path) -> None:
    out, said = measured
    answer = numbers_of(out)
    blocks = answer["cross_validation"]["blocks"]
    ranges = blocks["ranges_km"]
    assert set(ranges) == {"elevation", "precipitation", "slope", "temperature"}, "categories have no variogram"
    assert blocks["size_km"] <= np.median([km for km in ranges.values() if km is not None]) * (1 + 1e-9)
    name = answer["species"].replace(" ", "_")
    table = rows(out / f"{name}_variograms.csv")
    assert {row["variable"] for row in table} == set(ranges)
    assert all(int(row["pairs"]) > 0 and float(row["semivariance"]) >= 0 for row in table)
    assert picture(out / "plots" / "variograms.png").std() > 10
    page = (out / f"{name}.html").read_text(encoding="utf-8")
    assert "Blocks of " in page
    assert re.search(r"block size +[\d.,]+ km: the median range of autocorrelation of 4 variables", said)
    words = ("fit", world.records, world.layers, *BARE, *POINTS, *PLAIN, "-o", tmp_path / "b")
    size = ("--split", "block", "--block-size", blocks["size_km"], "--folds", 3)
    fixed = model_answer(*words, *size)
    assert fixed["cross_validation"]["rows"] == answer["cross_validation"]["rows"], "the size is all that is measured"


def test_the_run_file_measures_it_again(measured: tuple[Path, str], tmp_path: Path) -> None:
    again = model_answer("fit", measured[0] / "run.yaml", *PLAIN, "-o", tmp_path / "again")
    assert again["cross_validation"] == numbers_of(measured[0])["cross_validation"]


def test_a_size_is_suggested_where_none_was_given(world, measured: tuple[Path, str], tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, *BARE, *POINTS)
    said = fail(*words, "--split", "block", "-o", tmp_path / "out", code=2)
    size = float(re.search(r"suggest --block-size ([\d.]+) \(or auto\)", said)[1])
    blocks = numbers_of(measured[0])["cross_validation"]["blocks"]
    assert size == pytest.approx(float(f"{blocks['size_km']:.2g}"), rel=0.3)
    assert not (tmp_path / "out").exists()
    check = sdm("check", world.records, world.layers, *CATEGORICAL, *POINTS, "--split", "block")
    assert check.exit_code == 1
    assert "suggest --block-size" in check.stdout
    fine = succeed("check", world.records, world.layers, *CATEGORICAL, *POINTS, *AUTO).stdout
    assert "divided by: block of " in fine


@pytest.mark.thorough
def test_classes_and_communities(world, tmp_path: Path) -> None:
    words = ("fit", world.survey, world.layers, *CATEGORICAL, "--response", "presence", "--fc", "l", "--rm", 1)
    words = (*words, "--no-map", "--no-curves", *PLAIN)
    answer = as_json(*words, *AUTO, "-o", tmp_path / "classes")
    sizes = [model["numbers"]["cross_validation"]["blocks"]["size_km"] for model in answer["models"]]
    assert sizes[0] == pytest.approx(sizes[1]), "both species were looked for at the same sites"
    for model in answer["models"]:
        assert (Path(model["folder"]) / "plots" / "variograms.png").exists()
    out = tmp_path / "joint"
    words = ("joint", world.survey, world.layers, *CATEGORICAL, "--learner", "crf-l2", "--cost", 1, "--no-map")
    words = (*words, "--no-report", "--dpi", 50)
    assert "block size" in succeed(*words, *AUTO, "-o", out).stdout
    assert numbers_of(out)["test"]["blocks"]["size_km"] == pytest.approx(sizes[0])
    assert {"variograms.csv", "variograms.png"} <= set(files(out))
    none = fail(*words, "--split", "block", "-o", tmp_path / "none", code=2)
    assert "The variables at these sites suggest --block-size" in none


def test_tuning_uses_it(world, tmp_path: Path) -> None:
    words = ("tune", world.records, world.layers, *CATEGORICAL, *POINTS, "--no-map", "--no-curves", *PLAIN)
    answer = model_answer(*words, "--feature-sets", "l", "--multipliers", "1,2", *AUTO, "-o", tmp_path / "out")
    assert answer["tuning"]["method"] == "block"
    assert answer["cross_validation"]["blocks"]["size_km"] > 0


def test_few_records_need_a_size(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lines = ["species,longitude,latitude,a,b"]
    for k in range(40):
        where = f"{10 + 0.1 * (k % 8)},{45}"
        lines.append(f"{'sp' if k < 8 else 'background'},{where},{rng.normal()},{rng.normal()}")
    table = tmp_path / "swd.csv"
    table.write_text("\n".join(lines) + "\n")
    words = (table, "--fc", "l", "--no-curves", "--split", "block", "--folds", 2)
    said = refusal(DataError, *words, "--block-size", "auto")
    assert "8 places of records and background points are too few, expected 10 or more" in said
    assert "as in --block-size 100" in refusal(OptionError, *words)


def test_a_table_without_coordinates_has_no_blocks(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    lines = [
        "species,longitude,latitude,a",
        *(f"{'sp' if k < 30 else 'background'},,,{rng.normal()}" for k in range(90)),
    ]
    table = tmp_path / "swd.csv"
    table.write_text("\n".join(lines) + "\n")
    assert "have no coordinates" in refusal(DataError, table, "--fc", "l", "--no-curves", *AUTO)


@pytest.mark.parametrize("size", ["0", "-5", "automatic"])
def test_sizes_that_make_no_sense(size: str) -> None:
    assert "test.block_size" in refusal(OptionError, "none.csv", "none", "--split", "block", "--block-size", size)
