"""A reader of Java Maxent's `.lambdas` files, to compare its models with ours cell by cell."""

import re
from pathlib import Path

import numpy as np

THRESHOLD = re.compile(r"\((?P<knot>[^<=]+)<(?P<name>.+)\)")
CATEGORY = re.compile(r"\((?P<name>.+)=(?P<value>.+)\)")
CONSTANTS = ("linearPredictorNormalizer", "densityNormalizer", "numBackgroundPoints", "entropy")


def read_lambdas(path: Path) -> tuple[list[tuple[str, float, float, float]], dict[str, float]]:
    """Return the features as (name, weight, min, max), and the constants."""
    features, constants = [], {}
    for line in path.read_text().splitlines():
        name, *numbers = (part.strip() for part in line.split(","))
        if name in CONSTANTS:
            constants[name] = float(numbers[0])
        else:
            features.append((name, *map(float, numbers)))
    return features, constants


def java_column(name: str, lo: float, hi: float, table: dict[str, np.ndarray]) -> np.ndarray:
    """Return one feature of Java's at every row, scaled as Java scales it."""
    if match := THRESHOLD.fullmatch(name):
        return (table[match["name"]] > float(match["knot"])).astype(float)
    if match := CATEGORY.fullmatch(name):
        return (table[match["name"]] == float(match["value"])).astype(float)
    if name.startswith("'"):
        return np.maximum(table[name[1:]] - lo, 0) / (hi - lo)
    if name.startswith("`"):
        return np.maximum(hi - table[name[1:]], 0) / (hi - lo)
    if name.endswith("^2"):
        raw = table[name[:-2]] ** 2
    elif "*" in name:
        first, second = name.split("*")
        raw = table[first] * table[second]
    else:
        raw = table[name]
    return (raw - lo) / (hi - lo)


def java_raw(path: Path, table: dict[str, np.ndarray]) -> np.ndarray:
    """Return Java's raw output at every row of the table."""
    features, constants = read_lambdas(path)
    score = sum(weight * java_column(name, lo, hi, table) for name, weight, lo, hi in features if weight)
    return np.exp(score - constants["linearPredictorNormalizer"]) / constants["densityNormalizer"]
