"""Tables that a notebook shows: numbers in a readable form, names escaped."""

import math

import pytest

from sdm.notebook import facts_html, rows_html, shown


@pytest.mark.parametrize("value", [0.0, 1.0, 0.123456, 12.3456, 999.95, 1000.4, 123456.7, 1e14, 2.5e15, 3.25e-7])
def test_a_number_keeps_its_size_and_its_sign(value: float) -> None:
    text = shown(value)
    assert float(text.replace(",", "")) == pytest.approx(value, rel=6e-4)
    assert ("," in text) == (1000 <= value < 1e15), "thousands are separated"
    assert len(text) < 20
    if value:
        assert shown(-value) == f"-{text}"


def test_other_values() -> None:
    values = [None, math.nan, True, False, 12345, -12345, "a"]
    assert [shown(value) for value in values] == ["", "", "yes", "no", "12,345", "-12,345", "a"]


def test_tables_escape_text_and_leave_out_what_is_missing() -> None:
    html = facts_html("<b>", {"AUC & more": 0.5, "absent": None, "blank": "", "zero": 0}, "<i>below</i>")
    assert "&lt;b&gt;" in html
    assert "AUC &amp; more" in html
    assert html.endswith("<i>below</i></div>")
    assert ">0.5<" in html
    assert ">0<" in html
    assert "absent" not in html
    assert "blank" not in html
    rows = rows_html(["name", "<n>"], [["<x>", 1234], [{"html": "<u>link</u>"}, True]])
    assert "&lt;n&gt;" in rows
    assert "&lt;x&gt;" in rows
    assert "<u>link</u>" in rows
    right = [
        part.partition("</td>")[0].rpartition(">")[2] for part in rows.split("<td ") if "text-align: right" in part
    ]
    assert right == ["1,234"], "numbers stand right, yes and no do not"
