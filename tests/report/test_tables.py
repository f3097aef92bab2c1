"""Tables: CSV that other programs read, whatever is in it."""

import csv
import io
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sdm.assess.profiles import Profile
from sdm.report.results import read_rows
from sdm.report.tables import curve_rows, table_text, write_frame, write_rows


def test_text_with_delimiters_quotes_and_line_breaks_comes_back(tmp_path: Path) -> None:
    rows = [{"name": 'a "b", c', "n": 1}, {"name": "line\nbreak", "n": 2}, {"name": "=1+1", "n": 3}]
    path = write_rows(tmp_path / "a.csv", rows)
    assert [row["name"] for row in read_rows(path)] == [row["name"] for row in rows]
    with path.open(newline="", encoding="utf-8") as source:
        assert [row["name"] for row in csv.DictReader(source)][2] == "'=1+1", "no formula in a spreadsheet"
    assert b"\r" not in path.read_bytes()


def test_columns_are_those_of_all_rows() -> None:
    text = table_text([{"a": 1}, {"b": 2.5}, {"a": float("nan"), "c": np.float64(1e-12)}])
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == ["a", "b", "c"]
    assert [rows[1]["a"], rows[1]["b"], rows[2]["a"], rows[2]["c"]] == ["", "2.5", "", "1e-12"]


def test_numbers_keep_ten_digits() -> None:
    assert table_text([{"x": 1 / 3}]).splitlines()[1] == "0.3333333333"


def test_curves_in_long_form(tmp_path: Path) -> None:
    wide = Profile("heat", "marginal", np.array([-1.0, 0.0, 2.0]), np.array([0.1, 0.2, 0.3]), 0.0, 1.0)
    named = Profile("soil", "only", np.array([0.0, 1.0]), np.array([0.5, 0.6]), 0.0, 1.0, ("clay", "sand"))
    path = write_rows(tmp_path / "curves.csv", curve_rows([wide, named]))
    with path.open(newline="") as source:
        rows = list(csv.DictReader(source))
    assert [row["in training range"] for row in rows] == ["False", "True", "False", "True", "True"]
    assert [row["class"] for row in rows] == ["", "", "", "clay", "sand"]
    assert [row["response"] for row in rows] == ["0.1", "0.2", "0.3", "0.5", "0.6"]


def test_a_table_of_any_columns_comes_back(tmp_path: Path, monkeypatch) -> None:
    """Numbers to their last digit, text with marks and line breaks, what is missing; also over several parts."""
    monkeypatch.setattr("sdm.report.tables._ROWS", 2)
    table = pd.DataFrame(
        {
            "double": [0.1 + 0.2, np.nan, -1e-300, 3.0, 1e22],
            "single": np.array([0.1, 2, np.nan, 1e-7, 3], dtype=np.float32),
            "whole": [1, -2, 3, 4, 2**60],
            "some": pd.array([1, None, 3, 4, 5], dtype="Int64"),
            "truth": [True, False, True, True, False],
            'a "name", so': ['a "b", c', None, "line\nbreak", "", "=1+1"],
        }
    )
    path = write_frame(tmp_path / "a.csv", table)
    back = pd.read_csv(
        path,
        dtype={"whole": "int64", "some": "Int64"},
        keep_default_na=False,
        na_values={"double": "", "single": "", "some": ""},
    )
    assert list(back.columns) == list(table.columns)
    np.testing.assert_array_equal(back["double"], table["double"])
    np.testing.assert_array_equal(back["single"].astype(np.float32), table["single"])
    assert back[["whole", "some", "truth"]].equals(table[["whole", "some", "truth"]])
    assert list(back['a "name", so']) == ['a "b", c', "", "line\nbreak", "", "'=1+1"]
    assert path.read_text().splitlines()[1].startswith("0.30000000000000004,0.1,1,1,true,")


@pytest.mark.thorough
def test_texts_of_a_long_table_do_not_pile_up(tmp_path: Path) -> None:
    """Of a table of three times as many rows, no more are text at a time."""
    peaks = []
    for rows in (100_000, 300_000):
        table = pd.DataFrame(
            {"number": np.arange(rows) / 7, "word": pd.Categorical.from_codes(np.zeros(rows, int), ["a"])}
        )
        tracemalloc.start()
        write_frame(tmp_path / "long.csv", table)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]
