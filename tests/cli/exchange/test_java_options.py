"""Options of Java Maxent in a run of sdm: maps per replicate, predictions at the background, one table of many runs,
and records that lack some values."""

from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from terminal import fail, read, rows, succeed, write_table

SAMPLE = ROOT / "sample_data"
NAME = "Virtualis_montanus"
QUICK = ("--species", "Virtualis montanus", "--fc", "l", "--no-curves", "--no-report", "--points", "300")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("options")
    ways = ("--replicates", "2", "--uncertainty", "--replicate-maps", "--background-predictions", "--no-map-picture")
    inputs = (SAMPLE / "occurrences.csv", SAMPLE / "layers")
    succeed("fit", *inputs, *QUICK, *ways, "--append-results", place / "all.csv", "-o", place / "run")
    return place


def test_every_replicate_has_a_model_and_a_map(folder):
    made = {path.name for path in (folder / "run" / "replicates").iterdir()}
    assert {f"{NAME}_{k}.{end}" for k in (1, 2) for end in ("npz", "tif")} <= made
    maps = [read(folder / "run" / "replicates" / f"{NAME}_{k}.tif") for k in (1, 2)]
    assert np.abs(maps[0] - maps[1]).max() > 0
    np.testing.assert_allclose(np.ma.mean(maps, axis=0), read(folder / "run" / f"{NAME}_mean.tif"), atol=1e-6)
    assert "needs --uncertainty: add it" in fail(
        "fit", SAMPLE / "occurrences.csv", SAMPLE / "layers", *QUICK, "--replicate-maps", "-o", folder / "no", code=2
    )


def test_predictions_at_the_background(folder):
    table = rows(folder / "run" / f"{NAME}_backgroundPredictions.csv")
    assert list(table[0]) == ["x", "y", "raw", "cumulative", "Cloglog"]
    assert len(table) == 300
    assert all(0 <= float(row["Cloglog"]) <= 1 for row in table)


def test_one_table_of_many_runs(folder):
    """Records of another run join the table; some of its records lack a value, and are kept."""
    first = rows(folder / "all.csv")
    assert [row["Species"] for row in first] == ["Virtualis montanus"]
    rng = np.random.default_rng(1)
    body = [["Ursus", k, 0, *rng.normal(1, 1, 2)] for k in range(20)]
    body += [["background", k, 1, *rng.normal(0, 1, 2)] for k in range(100)]
    body[0][3] = body[1][4] = ""
    table = write_table(folder / "swd.csv", ["species", "longitude", "latitude", "a", "b"], body)
    ways = ("--fc", "l", "--no-curves", "--no-report", "--append-results", folder / "all.csv", "--overwrite")
    said = succeed("fit", table, *ways, "-o", folder / "swd").output
    assert "2 rows without a value for every variable dropped" in said
    said = succeed("fit", table, *ways, "--partial", "-o", folder / "swd").output
    assert "2 presences lack 2 values" in said
    assert [(row["Species"], row["#Training samples"]) for row in rows(folder / "all.csv")] == [
        ("Virtualis montanus", first[0]["#Training samples"]), ("Ursus", "18"), ("Ursus", "20"),
    ]  # fmt: skip
    succeed("fit", table, *ways, "--partial", "-o", folder / "swd")
    assert len(rows(folder / "all.csv")) == 3, "the same results are not added again"
