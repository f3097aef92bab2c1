"""The HTML report of a model of Java Maxent, from its `.lambdas` file and the tables and maps in its folder."""

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sdm.assess.measures.thresholds import NAMES, TEST_NAMES
from sdm.assess.profiles import marginal
from sdm.features.terms import CATEGORY, FORWARD, LINEAR, PRODUCT, QUADRATIC, REVERSE, THRESHOLD
from sdm.kinds.assessing import varying
from sdm.kinds.pages import write_page
from sdm.kinds.species.page import KIND, SpeciesResults
from sdm.models.lambdas import read_lambdas
from sdm.models.species import Model
from sdm.report.pages.metadata import write_metadata
from sdm.report.results import number, read_rows
from sdm.report.tables import curve_rows, write_rows
from sdm.types import Numbers, Row

_ENDING = "_sdm"  # suffix of the page: the page of Java Maxent has the name of the species
_COLUMNS = {
    "training_presences": "#Training samples",
    "background_points": "#Background points",
    "regularized_gain": "Regularized training gain",
    "gain": "Unregularized training gain",
    "iterations": "Iterations",
    "auc_train": "Training AUC",
    "test_presences": "#Test samples",
    "test_gain": "Test gain",
    "auc_test": "Test AUC",
    "auc_test_deviation": "AUC Standard Deviation",
    "entropy": "Entropy",
}
_WHOLE = ("training_presences", "background_points", "iterations", "test_presences")
_LETTERS = {
    "l": (LINEAR,),
    "q": (QUADRATIC,),
    "p": (PRODUCT,),
    "h": (FORWARD, REVERSE),
    "t": (THRESHOLD,),
    "c": (CATEGORY,),
}


def is_bare_lambdas(place: Path) -> bool:
    """Return whether a path is a model file of Java Maxent without results of sdm."""
    return place.suffix == ".lambdas" and place.is_file() and not place.with_suffix(".json").is_file()


def write_lambdas_page(path: Path, *, metadata: bool = False) -> list[Path]:
    """Write the report of a model file of Java Maxent into its folder, and a table of its response curves if the
    averages at the records are available. Return the files, the report first.

    Raises
    ------
    ModelFileError
        If the file is none of Java Maxent.
    """
    model = read_lambdas(path)
    files = {content: name for content, name in _beside(path).items() if (path.parent / name).is_file()}
    made: list[Path] = []
    averages = _averages(path, model)
    if averages is not None:
        profiles = [marginal(model, v, averages, "cloglog") for v in varying(model)]
        made.append(write_rows(path.with_name(f"{path.stem}{_ENDING}_curves.csv"), curve_rows(profiles)))
        files["curves"] = made[0].name
    numbers = _numbers(path, model) | {"files": files}
    results = SpeciesResults(path.parent, f"{path.stem}{_ENDING}", KIND, numbers, {}, "", "")
    made.insert(0, write_page(results))
    return made + (write_metadata(results) if metadata else [])


def _beside(path: Path) -> dict[str, str]:
    """Return the names of the files that Java Maxent writes for a model, by content."""
    maps = [name for end in (".asc", ".tif", ".bil", ".grd") if (path.parent / (name := path.stem + end)).is_file()]
    names = {
        "model": path.name,
        "omission": f"{path.stem}_omission.csv",
        "sample predictions": f"{path.stem}_samplePredictions.csv",
        "results": "maxentResults.csv",
        "picture": f"plots/{path.stem}.png",
    }
    return names | ({"map": maps[0]} if maps else {})


def _averages(path: Path, model: Model) -> np.ndarray | None:
    """Return the averages of the variables at the records as one row, or None."""
    place = path.with_name(f"{path.stem}_sampleAverages.csv")
    if not place.is_file():
        return None
    with place.open(newline="", encoding="utf-8") as source:
        by_name = {row[0]: number(row[2]) for row in csv.reader(source) if len(row) > 2}
    row = [by_name.get(name) for name in model.names]
    return None if None in row else np.array([row], dtype=np.float64)


def _numbers(path: Path, model: Model) -> Numbers:
    """Return the numbers of a report from the model and its row of maxentResults.csv."""
    table = path.with_name("maxentResults.csv")
    rows = read_rows(table) if table.is_file() else []
    row = next((row for row in rows if row.get("Species") == path.stem), {})
    values = {key: number(row.get(name)) for key, name in _COLUMNS.items()}
    numbers: Numbers = {key: value for key, value in values.items() if value is not None}
    numbers |= {key: int(numbers[key]) for key in _WHOLE if key in numbers}
    weighted = {int(kind) for kind, weight in zip(model.terms.kind, model.terms.weight) if weight}
    letters = "".join(letter for letter, kinds in _LETTERS.items() if weighted.intersection(kinds))
    return numbers | {
        "kind": KIND,
        "species": path.stem.replace("_", " "),
        "software": "Java Maxent (.lambdas)",
        "entropy": model.entropy,
        "background_points": numbers.get("background_points", model.n_domain),
        "features_with_weight": int(np.count_nonzero(model.weights)),
        "classes": letters,
        "importance": _importance(row),
        "thresholds": _thresholds(row),
    }


def _importance(row: Mapping[str, str]) -> dict[str, list[Row]]:
    """Return contributions, permutation importance and jackknife from a row of maxentResults.csv."""
    by_kind: dict[str, list[Row]] = {}
    for key, ending in (("contribution", " contribution"), ("permutation", " permutation importance")):
        parts = [(name.removesuffix(ending), number(text)) for name, text in row.items() if name.endswith(ending)]
        by_kind[key] = [{"variable": name, "percent": value} for name, value in parts if value is not None]
    for kind, word in (("without", " without "), ("only", " with only ")):
        for name, text in row.items():
            measure, sign, variable = name.partition(word)
            if sign and measure == "Training gain" and number(text) is not None:
                jackknife = by_kind.setdefault("jackknife", [])
                jackknife.append({"variable": variable, "kind": kind, "train_gain": number(text)})
    return {key: rows for key, rows in by_kind.items() if rows}


def _thresholds(row: Mapping[str, str]) -> dict[str, Row]:
    """Return the thresholds in a row of maxentResults.csv by their keys."""
    ends = {
        "cumulative": "cumulative threshold",
        "cloglog": "Cloglog threshold",
        "logistic": "Logistic threshold",
        "area": "area",
        "training_omission": "training omission",
        "test_omission": "test omission",
        "binomial": "binomial probability",
    }
    thresholds = {}
    for key, name in {**NAMES, **TEST_NAMES}.items():
        values = {part: number(row.get(f"{name} {end}")) for part, end in ends.items()}
        if values["cumulative"] is not None:
            thresholds[key] = {"name": name, **{part: value for part, value in values.items() if value is not None}}
    return thresholds
