"""Conditions on columns: what they mean, against a slow evaluation row by row, and what is refused."""

import ast
import contextlib
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.data.records.expression import Condition
from sdm.errors import OptionError

TABLE = pd.DataFrame(
    {
        "year": [1960, 1990, np.nan, 2005],
        "basis": ["A", "B", None, "it's"],
        "place name": ["Rio Negro", "lake", "rio x", ""],
        "code": ["07", "7", "x", None],
        "other": [1960, 1980, 1, np.nan],
        "wild": [True, False, True, False],  # as "true" and "false" of a text file are read
        "depth": ["1,5", "20,25", "1,500", "x"],  # the third may be one and a half, or fifteen hundred
        "native": [True, False, None, True],
    }
)


@pytest.mark.parametrize(
    "text, rows",
    [
        ("year >= 1970", [1, 3]),
        ("year = 1990 or basis == 'A'", [0, 1]),
        ("not (year > 1970)", [0]),  # a year that is not known satisfies neither
        ("not year > 1970 and basis != 'A'", []),
        ("year is missing", [2]),
        ("basis is not missing", [0, 1, 3]),
        ("`place name` like 'rio*'", [0, 2]),
        ("`place name` not like 'rio*'", [1]),
        ("basis in ('A', 'C', 'B')", [0, 1]),
        ("basis not in ('A')", [1, 3]),
        ("year in (1960, 2005)", [0, 3]),
        ("year == other", [0]),
        ("1970 < year", [1, 3]),
        ("basis == 'it''s'", [3]),
        ('basis == "it\'s"', [3]),
        ("code == '07'", [0]),  # text is compared as text
        ("code == 7", [0, 1]),  # and with a number as a number
        ("Year >= 1970", [1, 3]),  # however the name is written
        ("(year > 1 and (basis == 'A' or basis == 'B')) or year == 2005", [0, 1, 3]),
        ("year > -1e3", [0, 1, 3]),
        ("basis < 'B'", [0]),
        ("wild == 'true'", [0, 2]),
        ("wild != 'TRUE'", [1, 3]),
        ("wild in ('false')", [1, 3]),
        ("native == 'true'", [0, 3]),
        ("native != 'true'", [1]),
        ("native not in ('true', 'x')", [1]),
        ("native = 1", [0, 3]),
        ("depth > 1", [0, 1]),
    ],
)
def test_meaning(text: str, rows: list[int]) -> None:
    holds, _ = Condition.parse(text).holds(TABLE, "t.csv")
    assert np.flatnonzero(holds).tolist() == rows


def test_rows_without_a_value_are_counted() -> None:
    assert Condition.parse("year > 1970").holds(TABLE, "t.csv")[1].sum() == 1
    assert Condition.parse("year > 1970 or basis == 'A'").holds(TABLE, "t.csv")[1].sum() == 1


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "at its end"),
        ("year >", "at its end"),
        ("year", "expected a comparison"),
        ("year 1970", "at '1970'"),
        ("1 == 1", "expected a column on one side"),
        ("'a' is missing", "expected a column before it"),
        ("(year > 1", "expected a closing bracket"),
        ("year > 1)", "expected 'and', 'or' or the end"),
        ("year in 1", "expected values in brackets"),
        ("year like 3", "expected text in single quotation marks"),
        ("__import__('os').system('x')", "expected a"),
        ("year > 1; drop", "expected a column, a number, or text"),
        ("year > 1.2.3", "expected"),
        ("(" * 100 + "year > 1" + ")" * 100, "at most 60 brackets"),
        ("not " * 100 + "year > 1", "at most 60"),
        ("year > " + "1" * 5000, "expected at most 4,000"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    with pytest.raises(OptionError) as caught:
        Condition.parse(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_long_text_in_one_row_costs_no_memory_in_others() -> None:
    table = pd.DataFrame({"remark": ["x" * 10_000, *["short"] * 100_000]})
    tracemalloc.start()
    assert Condition.parse("remark == 'short' and remark like 'sh*'").holds(table, "t.csv")[0].sum() == 100_000
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1e8  # as text of equal width, 4e9


def test_a_column_that_is_not_there_may_be_text_without_marks() -> None:
    with pytest.raises(OptionError, match=r"has no column 'A'.*text needs single quotation marks: 'A'"):
        Condition.parse("basis == A").holds(TABLE, "t.csv")


@given(st.text("year<>=!'\"`()andornot inlike.,1 0;[]{}\\\n", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(OptionError):  # anything else is a fault
        Condition.parse(text)


names, values = st.sampled_from(["a", "b"]), st.integers(-2, 2)
comparisons = st.tuples(names, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), values).map(
    lambda parts: f"{parts[0]} {parts[1]} {parts[2]}"
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        inner.map(lambda text: f"not ({text})"),
    ),
    max_leaves=8,
)


def slowly(node: ast.AST, row: dict[str, Any]) -> bool | None:
    """The three-valued truth of a condition that is also Python, for one row; None where it is not known."""
    if isinstance(node, ast.BoolOp):
        parts = [slowly(value, row) for value in node.values]
        strong = isinstance(node.op, ast.Or)
        return strong if strong in parts else None if None in parts else not strong
    if isinstance(node, ast.UnaryOp):
        inner = slowly(node.operand, row)
        return None if inner is None else not inner
    assert isinstance(node, ast.Compare)
    left, right = row[node.left.id], ast.literal_eval(node.comparators[0])
    if left is None:
        return None
    signs = {ast.Eq: "__eq__", ast.NotEq: "__ne__", ast.Lt: "__lt__", ast.LtE: "__le__", ast.Gt: "__gt__"}
    return getattr(left, signs.get(type(node.ops[0]), "__ge__"))(right)


@given(conditions, st.lists(st.tuples(st.none() | values, st.none() | values), min_size=1, max_size=8))
def test_against_a_slow_evaluation(text: str, rows: list[tuple[int | None, int | None]]) -> None:
    table = pd.DataFrame(rows, columns=["a", "b"], dtype=float)
    truth = [slowly(ast.parse(text, mode="eval").body, dict(zip("ab", row))) for row in rows]
    holds, unknown = Condition.parse(text).holds(table, "t.csv")
    assert holds.tolist() == [value is True for value in truth]
    assert unknown.sum() == truth.count(None)


def test_whole_numbers_are_compared_as_text_without_a_decimal_point():
    """A column of whole numbers with a gap is read as 1960.0."""
    assert Condition.parse("year like '19?0'").holds(TABLE, "t.csv")[0].tolist() == [True, True, False, False]
