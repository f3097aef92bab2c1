"""The table of a batch: the same in CSV and in Parquet, and its failures by their reason."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sdm.report.results import read_rows
from sdm.report.summary import group_failures, write_summary

EMPTY = {"folder": "", "page": "", "preview": "", "error": ""}


def species(name: str, **numbers: Any) -> dict[str, Any]:
    own = {"folder": name, "page": f"{name}/{name}.html", "preview": f"{name}/{name}_preview.png", "error": ""}
    return {"species": name, "status": "converged", **numbers, **own}


def failed(name: str, error: str) -> dict[str, Any]:
    return {"species": name, "status": "failed", **EMPTY, "error": error}


def test_columns_have_one_order_whichever_species_comes_first(tmp_path: Path) -> None:
    rows = [failed("lost", "gone"), species("a", auc_train=0.5, gap=1e-7), species("b", auc_train=0.75, auc_test=0.5)]
    numbers = ["auc_train", "gap", "auc_test"]
    expected = ["species", "status", *numbers, "folder", "page", "preview", "error"]
    csv, parquet = write_summary(tmp_path, rows)
    assert [csv.name, parquet.name] == ["summary.csv", "summary.parquet"]
    assert list(pd.read_csv(csv)) == expected
    assert list(pd.read_parquet(parquet)) == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["summary.csv", "summary.parquet"]


@pytest.mark.parametrize("count", [0, 1, 10_000])
def test_both_tables_have_the_same_values(tmp_path: Path, count: int) -> None:
    rng = np.random.default_rng(count)
    rows: list[dict[str, Any]] = []
    for k in range(count):
        if k % 50 == 3:
            rows.append(failed(f"Lost {k}", 'a "reason", with\na line'))
        else:
            numbers = {"training_presences": int(rng.integers(5, 999)), "auc_train": float(rng.random())}
            numbers |= {"gap": float(rng.random() * 1e-7)} if k % 3 else {"cbi.val.avg": math.nan}
            rows.append(species(f"Éspèce {k}", **numbers))
    paths = write_summary(tmp_path, rows)
    csv, parquet = pd.read_csv(paths[0]), pd.read_parquet(paths[1])
    assert list(csv) == list(parquet)
    assert len(csv) == len(parquet) == count
    for name in csv:
        if pd.api.types.is_numeric_dtype(parquet[name]):
            rounded = [float(f"{value:.10g}") for value in parquet[name]]  # as the CSV file has them
            np.testing.assert_array_equal(csv[name].to_numpy(float), rounded)
        else:
            assert [None if pd.isna(a) else a for a in csv[name]] == [None if pd.isna(a) else a for a in parquet[name]]


def test_text_that_is_no_formula_in_parquet_is_quoted_in_csv_alone(tmp_path: Path) -> None:
    csv, parquet = write_summary(tmp_path, [failed("=1+1", "-x")])
    assert pd.read_csv(csv)["species"].tolist() == ["'=1+1"]
    assert read_rows(csv)[0]["species"] == "=1+1"
    assert pd.read_parquet(parquet)["species"].tolist() == ["=1+1"]


def test_failures_of_one_reason_are_one_group() -> None:
    rows = [
        failed("a", "a: one usable presence; expected at least 2"),
        species("good"),
        failed("b.c", "3 records of b.c lie in 2 cells"),
        failed("lonely", "lonely: one usable presence; expected at least 2"),
        failed("d", "14,000 records of d lie in 1.5 cells"),
        failed("e", "the disk is full"),
        failed("", "the disk is full"),
        failed("f", "one usable presence; expected at least 2"),
    ]
    assert [(group.reason, group.species) for group in group_failures(rows)] == [
        ("one usable presence; expected at least 2", ["a", "lonely", "f"]),
        ("… records of the species lie in … cells", ["b.c", "d"]),
        ("the disk is full", ["e", ""]),
    ]
    assert group_failures([species("good")]) == []
