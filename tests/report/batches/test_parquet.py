"""Parquet files: types, what is missing, groups of rows, and the same bytes for the same rows."""

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as some

from sdm.errors import OutputError
from sdm.report.summary import GROUP_ROWS, parquet_bytes, write_summary

CELLS = {
    "truth": some.booleans(),
    "whole": some.integers(-(2**63), 2**63 - 1),
    "number": some.floats(allow_nan=False),
    "text": some.text(some.characters(exclude_categories=["Cs"]), min_size=1),
}
TYPES = {"truth": pa.bool_(), "whole": pa.int64(), "number": pa.float64(), "text": pa.string()}


def back(rows: list[dict[str, Any]]) -> pa.Table:
    """What pyarrow reads, after it has checked the file."""
    table = pq.read_table(io.BytesIO(parquet_bytes(rows)), page_checksum_verification=True)
    table.validate(full=True)
    return table


@given(some.data())
def test_every_value_comes_back_in_its_type(data: some.DataObject) -> None:
    kinds = data.draw(some.lists(some.sampled_from(sorted(CELLS)), min_size=1, max_size=20))
    rows = data.draw(
        some.lists(
            some.fixed_dictionaries({f"{k} {kind}": some.none() | CELLS[kind] for k, kind in enumerate(kinds)}),
            max_size=40,
        )
    )
    table = back(rows)
    assert table.to_pylist() == rows
    for k, kind in enumerate(kinds if rows else ()):
        known = any(row[f"{k} {kind}"] is not None for row in rows)
        assert table.schema.field(f"{k} {kind}").type == (TYPES[kind] if known else pa.string())


def test_what_is_an_empty_cell_of_a_csv_file_is_null() -> None:
    rows = [{"a": "", "b": math.nan, "c": None}, {"a": "x", "b": 1.5, "c": 1, "later": True}]
    assert back(rows).to_pylist() == [
        {"a": None, "b": None, "c": None, "later": None},
        {"a": "x", "b": 1.5, "c": 1, "later": True},
    ]


def test_columns_of_several_types() -> None:
    """Numbers stay numbers where that loses nothing; anything else is text, and no value is dropped."""
    rows = [
        {"numbers": 1, "infinite": math.inf, "mixed": 1, "truths": True, "large": 2**63, "scalars": np.float64(0.5)},
        {"numbers": 0.5, "infinite": -0.0, "mixed": "x", "truths": 0, "large": 1, "scalars": np.int64(3)},
    ]
    table = back(rows)
    assert table.schema.names == list(rows[0])
    assert [str(kind) for kind in table.schema.types] == ["double", "double", "string", "string", "string", "double"]
    assert table.to_pylist() == [
        {"numbers": 1.0, "infinite": math.inf, "mixed": "1", "truths": "True", "large": str(2**63), "scalars": 0.5},
        {"numbers": 0.5, "infinite": -0.0, "mixed": "x", "truths": "0", "large": "1", "scalars": 3.0},
    ]


def test_a_table_without_rows_has_its_columns() -> None:
    table = pq.read_table(io.BytesIO(parquet_bytes([], ["species", "auc"])))
    assert (table.num_rows, table.schema.names) == (0, ["species", "auc"])
    assert back([]).num_columns == 0


def test_names_of_any_script() -> None:
    names = ["Bradypus variegatus", "Żółw błotny", "樹懶", "🦥", 'a,b\n"c"', "\0", "=1+1", "é" * 5000]
    made = io.BytesIO(parquet_bytes([{"spécies 🦥": name} for name in names]))
    assert pd.read_parquet(made)["spécies 🦥"].tolist() == names


def test_many_rows_come_in_groups() -> None:
    count = 2 * GROUP_ROWS + 17
    rng = np.random.default_rng(1)
    auc = rng.random(count).tolist()
    rows = [
        {"species": f"species {k}", "n": k, "auc": auc[k] if k % 3 else None, "even": k % 2 == 0} for k in range(count)
    ]
    file = pq.ParquetFile(io.BytesIO(parquet_bytes(rows)))
    assert [file.metadata.row_group(k).num_rows for k in range(3)] == [GROUP_ROWS, GROUP_ROWS, 17]
    table = file.read()
    assert table["n"].to_pylist() == list(range(count))
    assert table["auc"].to_pylist() == [row["auc"] for row in rows]
    assert table["species"].to_pylist() == [row["species"] for row in rows]
    assert table["even"].to_pylist() == [row["even"] for row in rows]
    assert file.read_row_group(2, columns=["n"])["n"].to_pylist() == list(range(count - 17, count))


def test_the_same_rows_are_the_same_bytes() -> None:
    rows = [{"species": "a", "n": 1, "auc": 0.25}, {"species": "b", "n": 2}]
    again = json.loads(json.dumps(rows))
    assert parquet_bytes(rows) == parquet_bytes(again)
    assert parquet_bytes(rows) != parquet_bytes(rows[:1])


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    write_summary(tmp_path, [{"a": 1}])
    _, path = write_summary(tmp_path, [{"a": 2}])
    assert pq.read_table(path)["a"].to_pylist() == [2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["summary.csv", "summary.parquet"]
    with pytest.raises(OutputError, match="nowhere"):
        write_summary(tmp_path / "nowhere", [{"a": 3}])
