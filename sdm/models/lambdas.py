"""Model files of Java Maxent (`.lambdas`), read and written.

One line per feature, `name, weight, min, max`, with the feature scaled to [0, 1] by `min` and `max`. The name contains
the kind:

==========================  =====================================  ============================== name
feature                                in `Terms` ==========================  =====================================
============================== ``rain``                    linear                                 LINEAR; its range
clamps `rain` ``rain^2``                  quadratic                              QUADRATIC ``heat*rain``
product                                PRODUCT ``(12.5<rain)``             1 where rain ≥ 12.5
THRESHOLD ``'rain``                   forward hinge from `min`               FORWARD, its knot is `min` `````rain``
reverse hinge up to `max`              REVERSE, its knot is `max` ``(soil=3.0)``              1 where the category is 3
CATEGORY ==========================  =====================================  ==============================

Four constants follow. With the score `θ = Σ weight · feature` the raw value is `exp(θ − linearPredictorNormalizer) /
densityNormalizer`; `numBackgroundPoints` and `entropy` give other scales. Java Maxent writes the cumulative scale to
the first two columns of another file, `<name>_omission.csv`. The thresholds are in `<name>_samplePredictions.csv` and
`maxentResults.csv`.
"""

import csv
import io
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sdm.data.place import has_place
from sdm.errors import DataError, ModelFileError, OutputError
from sdm.features.terms import CATEGORY, FORWARD, LINEAR, PRODUCT, QUADRATIC, REVERSE, THRESHOLD, Terms
from sdm.models.interface import FittedModel, ModelVariable
from sdm.models.species import Model
from sdm.storage.files import refuse_existing, write_text
from sdm.storage.reading import read_limited
from sdm.types import Array

CONSTANTS = ("linearPredictorNormalizer", "densityNormalizer", "numBackgroundPoints", "entropy")
SOURCE = "Java Maxent (.lambdas)"
_PREVALENCE = 0.5  # prevalence of the logistic scale; the files have no value, this is Java Maxent's default
_THRESHOLD = re.compile(r"\((?P<knot>[^<]+)<(?P<name>.+)\)")
_CATEGORY = re.compile(r"\((?P<name>.+)=(?P<code>[^=]+)\)")
_MARKS = re.compile(r"[,*<=\r\n]|\^2|\^p|^['`(]")  # characters that give a variable's name another meaning
_OMISSION = ("Raw value", "Corresponding cumulative value", "Corresponding Cloglog value")

RULES = {
    "mtp": "Minimum training presence",
    "10p": "10 percentile training presence",
    "equal": "Equal training sensitivity and specificity",
    "maxsss": "Maximum training sensitivity plus specificity",
}
"""Threshold rules of maps, and their names in maxentResults.csv."""


@dataclass(frozen=True)
class _Feature:
    """One line of a file: a feature of one variable or two."""

    kind: int
    names: tuple[str, ...]
    weight: float
    lo: float
    hi: float
    knot: float = 0.0


def read_lambdas(path: str | os.PathLike[str]) -> Model:
    """Read a model file of Java Maxent, with cumulative scale and thresholds from the tables in its folder.

    Raises
    ------
    ModelFileError
        If the file is missing or not a model file of Java Maxent, or has unsupported features.
    """
    path = Path(path)
    try:
        text = read_limited(path)
    except FileNotFoundError:
        raise ModelFileError(f"{path} does not exist: expected a model file of Java Maxent (.lambdas)") from None
    except (OSError, ValueError, DataError) as error:
        raise ModelFileError(f"{path} cannot be read as text ({error}): copy it again") from error
    try:
        model = parse_lambdas(text, read_omission(path))
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    thresholds = read_thresholds(path, model.entropy)
    return model.with_meta(species=path.stem, **({"thresholds": thresholds} if thresholds else {}))


def parse_lambdas(text: str, cumulative: Array | None = None) -> Model:
    """Return the model of the text of a `.lambdas` file; `cumulative` are raw values and their percentages."""
    features, constants = [], {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, *words = (part.strip() for part in line.split(","))
        try:
            values = [float(word) for word in words]
            if name in CONSTANTS and len(values) == 1:
                constants[name] = values[0]
            elif len(values) == 3:
                features.append(_feature(name, *values))
            else:
                raise ValueError("it has other than four parts")
        except ValueError as error:
            raise ModelFileError(f"line {number} is '{line[:60]}' ({error}): expected name, weight, min, max") from None
    if absent := [name for name in CONSTANTS if name not in constants]:
        raise ModelFileError(f"the file has no line '{absent[0]}': expected a complete .lambdas of Java Maxent")
    return _model(features, constants, np.empty((0, 2)) if cumulative is None else cumulative)


def _feature(name: str, weight: float, lo: float, hi: float) -> _Feature:
    """Return the feature of a line; kinds are recognised in the same order as in Java Maxent."""
    if "*" in name:
        one, _, other = name.partition("*")
        return _Feature(PRODUCT, (one, other), weight, lo, hi)
    if name.endswith("^2"):
        return _Feature(QUADRATIC, (name[:-2],), weight, lo, hi)
    if name.endswith("^p"):
        raise ValueError("a polyhedral feature, which sdm does not have")
    if match := _CATEGORY.fullmatch(name):
        return _Feature(CATEGORY, (match["name"],), weight, 0.0, 1.0, float(match["code"]))
    if match := _THRESHOLD.fullmatch(name):
        return _Feature(THRESHOLD, (match["name"],), weight, 0.0, 1.0, float(match["knot"]))
    if name.startswith("'"):
        return _Feature(FORWARD, (name[1:],), weight, lo, hi, lo)
    if name.startswith("`"):
        return _Feature(REVERSE, (name[1:],), weight, lo, hi, hi)
    return _Feature(LINEAR, (name,), weight, lo, hi)


def _model(features: Sequence[_Feature], constants: dict[str, float], cumulative: Array) -> Model:
    """Return the model from the features and constants of a file."""
    by_name: dict[str, list[_Feature]] = {}
    for feature in features:
        for name in dict.fromkeys(feature.names):
            by_name.setdefault(name, []).append(feature)
    names = list(by_name)
    variables = tuple(_variable(name, lines) for name, lines in by_name.items())
    used = [feature for feature in features if feature.weight != 0.0]
    index = {name: v for v, name in enumerate(names)}
    terms = Terms(
        np.array([one.kind for one in used], dtype=np.int8),
        np.array([index[one.names[0]] for one in used], dtype=np.int32),
        np.array([index[one.names[1]] if one.kind == PRODUCT else -1 for one in used], dtype=np.int32),
        *(np.array([getattr(one, key) for one in used], dtype=np.float64) for key in ("knot", "lo", "hi", "weight")),
    )
    shift, total, points, entropy = (constants[name] for name in CONSTANTS)
    if not (total > 0 and points >= 1 and math.isfinite(points)):
        raise ModelFileError(f"densityNormalizer is {total} and numBackgroundPoints {points}: expected more than 0")
    model = Model(
        variables,
        terms,
        alpha=1.0,
        tau=shift + math.log(total) - math.log(int(points)),
        n_domain=int(points),
        entropy=entropy,
        prevalence=_PREVALENCE,
        cumulative=cumulative,
        meta={"program": SOURCE, "background_points": int(points)},
    )
    try:
        return Model.from_file(*model.to_file())  # refuses unusable numbers
    except ValueError as error:
        raise ModelFileError(f"the file contains numbers that cannot be computed with ({error})") from None


def _variable(name: str, features: Sequence[_Feature]) -> ModelVariable:
    """Return a variable with its training range, which is in the line of its linear feature even if that has weight
    zero."""
    codes = sorted({one.knot for one in features if one.kind == CATEGORY})
    if codes:
        if any(one.kind != CATEGORY for one in features):
            raise ModelFileError(f"variable '{name}' has categorical and other features: expected one or the other")
        return ModelVariable(name, True, codes[0], codes[-1], tuple(codes))
    for one in features:
        if one.kind == LINEAR:
            if not one.lo <= one.hi:
                raise ModelFileError(f"variable '{name}' has a range from {one.lo} to {one.hi}")
            return ModelVariable(name, False, one.lo, one.hi)
    raise ModelFileError(f"the file has no line '{name}, weight, min, max' with the range of '{name}': add it")


def save_lambdas(model: FittedModel, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a model in Java Maxent's format, and its cumulative scale to `<name>_omission.csv` unless that file
    exists."""
    path = Path(path)
    text, omission = lambdas_text(model), omission_path(path)
    refuse_existing(path, overwrite=overwrite)
    if isinstance(model, Model) and len(model.cumulative) and (overwrite or not omission.exists()):
        write_text(omission, _omission_text(model), overwrite=overwrite)
    return write_text(path, text, overwrite=overwrite)


def lambdas_text(model: FittedModel) -> str:
    """Return the text of the `.lambdas` file of a model; raise if the format cannot represent it."""
    why = unfit_for_lambdas(model)
    if why or not isinstance(model, Model):
        raise OutputError(f"a .lambdas file cannot store this model: {why}; use .npz")
    lines: list[tuple[Any, ...]] = []
    terms = model.terms
    for v, variable in enumerate(model.variables):
        if variable.categorical:
            matches = (terms.kind == CATEGORY) & (terms.var == v)
            weights = dict.fromkeys(variable.classes, 0.0)
            for code, weight in zip(terms.knot[matches].tolist(), terms.weight[matches].tolist()):
                weights[code] = weights.get(code, 0.0) + weight
            lines += [(_name(CATEGORY, variable.name, "", code), w, 0.0, 1.0) for code, w in sorted(weights.items())]
        else:
            linear = np.flatnonzero((terms.kind == LINEAR) & (terms.var == v))
            if not any(terms.lo[j] == variable.lo and terms.hi[j] == variable.hi for j in linear):
                lines.append((variable.name, 0.0, variable.lo, variable.hi))
            lines += [(variable.name, terms.weight[j], terms.lo[j], terms.hi[j]) for j in linear]
    for j in np.argsort(terms.kind, kind="stable"):
        kind, one, other = int(terms.kind[j]), model.names[terms.var[j]], model.names[terms.other[j]]
        lo = terms.knot[j] if kind == FORWARD else 0.0 if kind == THRESHOLD else terms.lo[j]
        hi = terms.knot[j] if kind == REVERSE else 1.0 if kind == THRESHOLD else terms.hi[j]
        if kind not in (LINEAR, CATEGORY):
            lines.append((_name(kind, one, other, float(terms.knot[j])), terms.weight[j], lo, hi))
    shift = model.tau
    if len(model.cumulative) and model.cumulative[-1, 0] > 0:  # the largest score of the background, as in Java Maxent
        shift += math.log(model.n_domain * model.cumulative[-1, 0])
    total = math.exp(model.tau - shift + math.log(model.n_domain))
    constants = zip(CONSTANTS, (_number(shift), _number(total), str(model.n_domain), _number(model.entropy)))
    features = [f"{name}, {', '.join(map(_number, numbers))}" for name, *numbers in lines]
    return "\n".join([*features, *(f"{name}, {value}" for name, value in constants)]) + "\n"


def unfit_for_lambdas(model: FittedModel) -> str | None:
    """Return the reason why Java Maxent's format cannot represent a model, else None."""
    if not isinstance(model, Model):
        return f"it is a {model.called}, and the file format is for one species"
    if model.alpha != 1.0:
        return f"its entropy is Tsallis' of order {model.alpha:g}, and Java Maxent supports Shannon's only"
    if len(model.shapes):
        return f"it has {len(model.shapes)} features that are trees, monomials or ridges"
    if has_place(model.names):
        return "it has spatial variables, which are not layers"
    for variable in model.variables:
        if variable.labels is not None:
            return f"the categories of '{variable.name}' are text, and the file format needs numbers"
        if _MARKS.search(variable.name) or variable.name in CONSTANTS or variable.name != variable.name.strip():
            return f"the name '{variable.name}' would be read as another feature: rename the variable"
    return None


def lost_in_lambdas(model: FittedModel) -> list[str]:
    """Return sentences for the user about information that a `.lambdas` file does not contain."""
    lost = []
    if model.reference is not None:
        lost.append("a .lambdas file does not hold the training environment: novelty (MESS) needs the .npz file")
    if isinstance(model, Model) and model.prevalence != _PREVALENCE:
        lost.append(
            f"a .lambdas file does not hold the prevalence {model.prevalence:g} of the logistic scale: "
            f"readers take {_PREVALENCE:g}"
        )
    return lost


def _name(kind: int, one: str, other: str, knot: float) -> str:
    """Return the name of a feature in Java Maxent."""
    return {
        LINEAR: one, QUADRATIC: f"{one}^2", PRODUCT: f"{one}*{other}", FORWARD: f"'{one}", REVERSE: f"`{one}",
        THRESHOLD: f"({_number(knot)}<{one})", CATEGORY: f"({one}={_number(knot)})",
    }[kind]  # fmt: skip


def _number(value: float) -> str:
    """Return a number in full precision, in Java's notation."""
    digits, _, power = repr(float(value)).partition("e")
    return digits if not power else f"{digits if '.' in digits else digits + '.0'}E{int(power)}"


def _omission_text(model: Model) -> str:
    """Return the table of the cumulative scale, with a first row of 0 %."""
    raw, percent = model.cumulative.T
    if raw[0] > 0 and percent[0] > 0:
        raw, percent = np.append(np.nextafter(raw[0], 0.0), raw), np.append(0.0, percent)
    rows = zip(raw.tolist(), percent.tolist(), model.from_raw(raw, "cloglog").tolist())
    return "\n".join([",".join(_OMISSION), *(",".join(map(repr, row)) for row in rows)]) + "\n"


def omission_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of the cumulative scale of a model file."""
    return _table_path(Path(path), "omission")


def read_omission(path: Path) -> Array | None:
    """Return raw values and the percentages of the distribution at or below them; None without the table of `path`.

    Below the first value the percentage is proportional to the raw value, as in Java Maxent.
    """
    source = omission_path(path)
    if not source.is_file():
        return None
    try:
        head, *rows = filter(None, csv.reader(io.StringIO(read_limited(source))))
        order = [1, 0] if head[0].startswith("Cumulative") else [0, 1]  # tables of `sdm fit` begin with it
        table = np.array([[_decimal(row[k]) for k in order] for row in rows])
        if table.ndim != 2 or not np.all(np.isfinite(table)):
            raise ValueError("expected two columns of numbers")
    except (OSError, ValueError, IndexError, csv.Error, DataError) as error:
        raise ModelFileError(
            f"{source.name} cannot be read as a cumulative scale ({error}): copy it again, or remove it"
        ) from None
    table = np.maximum.accumulate(table, axis=0)
    return table if table[0, 0] <= 0 else np.vstack([[0.0, 0.0], table])


def read_thresholds(path: Path, entropy: float) -> dict[str, float]:
    """Return the thresholds of the model file `path` as raw values, by key; tables that cannot be read are ignored.

    `maxentResults.csv` has four digits of the cloglog or logistic value. The predictions at training records give two
    of the thresholds exactly.
    """
    thresholds: dict[str, float] = {}
    for row in _dictionaries(path.with_name("maxentResults.csv")):
        if row.get("Species") == path.stem:
            for key, name in RULES.items():
                for scale in ("Cloglog", "Logistic"):
                    raw = _raw(row.get(f"{name} {scale} threshold"), scale, entropy)
                    thresholds |= {} if raw is None else {key: raw}
    samples = _dictionaries(_table_path(path, "samplePredictions"))
    train = [_raw(row.get("Raw prediction"), "Raw", entropy) for row in samples if row.get("Test or train") == "train"]
    valid = sorted(value for value in train if value is not None)
    if valid and len(valid) == len(train):
        thresholds |= {"mtp": valid[0], "10p": valid[len(valid) // 10]}
    return {key: thresholds[key] for key in RULES if key in thresholds}


def _raw(text: str | None, scale: str, entropy: float) -> float | None:
    """Return the raw value of a number on a scale, else None."""
    try:
        value = _decimal(text or "")
    except ValueError:
        return None
    if not math.isfinite(value) or value < 0 or (scale != "Raw" and value >= 1):
        return None
    if scale == "Raw":
        return value
    strength = -math.log1p(-value) if scale == "Cloglog" else value / (1.0 - value)  # for a prevalence of one half
    return strength * math.exp(-entropy)


def _decimal(text: str) -> float:
    return float(text.replace(",", "."))


def _table_path(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.stem}_{suffix}.csv")


def _dictionaries(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table as dictionaries; empty if the table is missing or invalid."""
    try:
        return list(csv.DictReader(io.StringIO(read_limited(path))))
    except (OSError, ValueError, csv.Error, DataError):
        return []
