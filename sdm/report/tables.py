"""Tables as CSV."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdm.assess.measures.thresholds import Threshold
from sdm.assess.profiles import Profile
from sdm.types import Numbers, Row

if TYPE_CHECKING:
    import pandas as pd


def write_rows(path: Path, rows: Sequence[Row]) -> Path:
    """Write dictionaries as a CSV file."""
    path.write_text(table_text(rows), encoding="utf-8", newline="")
    return path


def write_frame(path: Path, table: "pd.DataFrame") -> Path:
    """Write a table as a CSV file in chunks; quote text that a spreadsheet would interpret as a formula."""
    with path.open("w", encoding="utf-8", newline="") as out:
        out.write(",".join(_in_marks(str(name)) for name in table.columns) + "\n")
        for start in range(0, len(table), _ROWS):
            columns = [_cells(column) for _, column in table.iloc[start : start + _ROWS].items()]
            out.write("\n".join(map(",".join, zip(*columns))) + "\n")
    return path


_ROWS = 50_000  # rows of a chunk


def _cells(column: "pd.Series") -> "Sequence[str]":
    """Return the cells of a column: numbers in their shortest form, text in quotation marks."""
    import numpy as np
    import pandas as pd
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    missing = column.isna().to_numpy()
    if is_bool_dtype(column):
        cells = ["true" if value is True or value == 1 else "false" for value in column.tolist()]
    elif is_numeric_dtype(column):
        values = column.to_numpy()
        texts = map(str, values) if values.dtype == np.float32 else map(repr, values.tolist())
        cells = [text.removesuffix(".0") for text in texts]
    else:
        code, words = pd.factorize(column)
        shown = np.array([*(_in_marks(quoted(str(word))) for word in words), ""], dtype=object)
        return list(shown[code])  # the code of missing values is -1, the last
    return ["" if is_missing else cell for is_missing, cell in zip(missing, cells)] if missing.any() else cells


def _in_marks(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def table_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return dictionaries as CSV; the columns are the union of their keys."""
    out = io.StringIO(newline="")
    head = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(quoted(key) for key in head)
    writer.writerows([_text(row.get(key, "")) for key in head] for row in rows)
    return out.getvalue()


_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def quoted(text: str) -> str:
    """Prefix text that a spreadsheet would interpret as a formula with an apostrophe; numbers are unchanged."""
    return f"'{text}" if _FORMULA.match(text) and not _is_number(text) else text


def unquoted(text: str) -> str:
    """Return the original of a `quoted` text."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def curve_rows(profiles: Iterable[Profile]) -> list[Numbers]:
    """Return curves in long form: variable, kind, value, class, response."""
    return [
        {
            "variable": p.variable,
            "kind": p.kind,
            "value": x,
            "class": p.classes[k] if p.classes else "",
            "response": y,
            "in training range": bool(p.classes) or p.lo <= x <= p.hi,
        }
        for p in profiles
        for k, (x, y) in enumerate(zip(p.x.tolist(), p.y.tolist()))
    ]


def maxent_results(numbers: Numbers, thresholds: Iterable[Threshold]) -> Numbers:
    """Return a row of maxentResults.csv, with the column names of Java Maxent."""
    tested = numbers.get("auc_test") is not None
    importance = numbers.get("importance", {})
    row: Numbers = {
        "Species": numbers["species"],
        "#Training samples": numbers["training_presences"],
        "Regularized training gain": numbers["regularized_gain"],
        "Unregularized training gain": numbers["gain"],
        "Iterations": numbers["iterations"],
        "Training AUC": numbers["auc_train"],
    }
    if tested:
        row |= {
            "#Test samples": numbers["test_presences"],
            "Test gain": numbers["test_gain"],
            "Test AUC": numbers["auc_test"],
            "AUC Standard Deviation": numbers["auc_test_deviation"],
        }
    row["#Background points"] = numbers["background_points"]
    row |= {f"{part['variable']} contribution": part["percent"] for part in importance.get("contribution", ())}
    row |= {f"{part['variable']} permutation importance": part["percent"] for part in importance.get("permutation", ())}
    row |= _jackknife(importance.get("jackknife", ()), tested)
    row |= {
        "Entropy": numbers["entropy"],
        "Prevalence (average probability of presence over background sites)": numbers["mean_cloglog"],
    }
    for threshold in thresholds:
        row |= {
            f"{threshold.name} cumulative threshold": threshold.cumulative,
            f"{threshold.name} Cloglog threshold": threshold.cloglog,
            f"{threshold.name} area": threshold.area,
            f"{threshold.name} training omission": threshold.training_omission,
        }
        if tested:
            row[f"{threshold.name} test omission"] = threshold.test_omission
            row[f"{threshold.name} binomial probability"] = threshold.binomial
    return row


def _jackknife(parts: Sequence[Row], tested: bool) -> dict[str, float]:
    """Return the columns of the jackknife: gains, and AUC of test records."""
    words = {"without": "without", "only": "with only"}
    measures = {"train_gain": "Training gain", **({"test_gain": "Test gain", "test_auc": "AUC"} if tested else {})}
    return {
        f"{title} {word} {part['variable']}": part[key]
        for key, title in measures.items()
        for kind, word in words.items()
        for part in parts
        if part["kind"] == kind
    }


def _text(value: Any) -> Any:
    if type(value) is float or isinstance(value, float):
        return f"{value:.10g}" if value == value else ""
    return quoted(value) if isinstance(value, str) else value
