"""The tables that Java Maxent writes beside a model file, as far as a model needs them: `<name>_omission.csv` has the
cumulative scale, `<name>_samplePredictions.csv` and `maxentResults.csv` the thresholds."""

import csv
import io
import math
import os
from pathlib import Path

import numpy as np

from sdm.errors import DataError, ModelFileError
from sdm.storage.reading import read_limited
from sdm.types import Array

RULES = {
    "mtp": "Minimum training presence",
    "10p": "10 percentile training presence",
    "equal": "Equal training sensitivity and specificity",
    "maxsss": "Maximum training sensitivity plus specificity",
}
"""Threshold rules that maps take by name, and their names in maxentResults.csv."""


def omission_place(path: str | os.PathLike[str]) -> Path:
    """Return where Java Maxent keeps the cumulative scale of a model file."""
    return _beside(Path(path), "omission")


def read_omission(path: Path) -> Array | None:
    """Return raw values and the percentages of the distribution at or below them, for the model file `path`; None where
    the table is not there. Below the first value the percentage is proportional to the raw value, as in Java Maxent."""
    place = omission_place(path)
    if not place.is_file():
        return None
    try:
        head, *rows = _rows(place)
        order = [1, 0] if head[0].startswith("Cumulative") else [0, 1]  # the tables of `sdm fit` begin with it
        table = np.array([[_number(row[k]) for k in order] for row in rows])
        if table.ndim != 2 or not np.all(np.isfinite(table)):
            raise ValueError("expected two columns of numbers")
    except (OSError, ValueError, IndexError, csv.Error, DataError) as error:
        raise ModelFileError(
            f"the cumulative scale in {place.name} beside it cannot be read ({error}): copy it again, or take it away"
        ) from None
    table = np.maximum.accumulate(table, axis=0)
    return table if table[0, 0] <= 0 else np.vstack([[0.0, 0.0], table])


def read_thresholds(path: Path, entropy: float) -> dict[str, float]:
    """Return the thresholds of the model file `path` as raw values, by their keys; none where no table tells them.

    `maxentResults.csv` has four digits of the cloglog or logistic value; the predictions at training records tell two
    of the thresholds exactly. Tables that cannot be read tell nothing.
    """
    found: dict[str, float] = {}
    for row in _dictionaries(path.with_name("maxentResults.csv")):
        if row.get("Species") == path.stem:
            for key, name in RULES.items():
                for scale in ("Cloglog", "Logistic"):
                    raw = _raw(row.get(f"{name} {scale} threshold"), scale, entropy)
                    found |= {} if raw is None else {key: raw}
    samples = _dictionaries(_beside(path, "samplePredictions"))
    train = [_raw(row.get("Raw prediction"), "Raw", entropy) for row in samples if row.get("Test or train") == "train"]
    known = sorted(value for value in train if value is not None)
    if known and len(known) == len(train):
        found |= {"mtp": known[0], "10p": known[len(known) // 10]}
    return {key: found[key] for key in RULES if key in found}


def _raw(text: str | None, scale: str, entropy: float) -> float | None:
    """Return the raw value of a number on a scale; None if there is none."""
    try:
        value = _number(text or "")
    except ValueError:
        return None
    if not math.isfinite(value) or value < 0 or (scale != "Raw" and value >= 1):
        return None
    if scale == "Raw":
        return value
    strength = -math.log1p(-value) if scale == "Cloglog" else value / (1.0 - value)  # of a prevalence of one half
    return strength * math.exp(-entropy)


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f"{path.stem}_{what}.csv")


def _rows(path: Path) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(read_limited(path))) if row]


def _dictionaries(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table by their heads; none where it is not there, or is no table."""
    try:
        head, *rows = _rows(path)
    except (OSError, ValueError, csv.Error, DataError):
        return []
    return [dict(zip(head, row)) for row in rows]
