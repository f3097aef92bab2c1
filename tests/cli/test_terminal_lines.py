"""Lines of results on the terminal: what is known is printed, with its label, and what is not is left out."""

from sdm.kinds.terminal import assessed, terminal_lines

ROWS = [
    ("model", "{features} features", ", order {order}", "; {folds[mean]:.2f}"),
    ("{scale} map", "{km2:,.0f} km²"),
    ("test", "AUC {auc}", " of {records}"),
]


def test_rows_with_and_without_their_parts() -> None:
    values = {"features": 7, "scale": "raw", "km2": 12345.6, "folds": {"mean": 0.125}, "records": 3}
    lines = terminal_lines(ROWS, values, "{:<8}|{}")
    assert lines == ["model   |7 features; 0.12", "raw map |12,346 km²"], "a row without its first part is omitted"
    assert terminal_lines(ROWS, {"auc": 0.5, "records": 9}, "{} {}") == ["test AUC 0.5 of 9"]
    assert terminal_lines(ROWS, {"auc": 0.5}, "{} {}") == ["test AUC 0.5"]


def test_variables_are_named_by_their_importance() -> None:
    rows = [{"variable": name, "percent": percent} for name, percent in zip("abcdef", (5, 40, 0.4, 30, 20, 4.6))]
    assert assessed({"importance": {"permutation": rows}})["ranked"] == "b 40 %, d 30 %, e 20 %, a 5 %"
    rows = [{"variable": name, "percent": 0.2} for name in "ab"]
    assert assessed({"importance": {"permutation": rows}})["ranked"] == "all variables below 0.5 %"
    tests = [{"measure": name, "real": value} for name, value in (("cbi.val", 1.0), ("auc.val", 0.75))]
    assert assessed({"null_models": {"tests": tests}})["null"]["real"] == 0.75
