"""Results of a run as a few figures for each file, that change with any number in it."""

import csv
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import rasterio

PASSING = {"time", "seconds", "version", "versions", "date", "command", "created", "started", "duration", "digest"}
"""What differs from run to run, or with the versions of the program."""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def tree_digest(tree: Any) -> dict[str, float]:
    """Return the figures of an answer in JSON."""
    parts: dict[str, list[float]] = {}
    for key, value in _leaves(tree, ()):
        if not PASSING & set(key):
            parts.setdefault("/".join(key[:2]), []).append(value)
    return {key: _figure(values) for key, values in parts.items()}


def printed_digest(output: str) -> dict[str, float]:
    """Return a figure of the numbers that a command prints."""
    return {"printed": _figure(map(float, NUMBER.findall(output)))}


def folder_digest(folder: Path) -> dict[str, float]:
    """Return the figures of all files of a folder."""
    out: dict[str, float] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        for key, values in _parts(path):
            if key.rpartition("/")[2] not in PASSING:
                out[f"{name}:{key}"] = _figure(values)
    return out


def _figure(values: Iterable[float]) -> float:
    """Return a sum over numbers that depends on their order, on a scale that keeps small ones."""
    x = np.asarray(list(values), dtype=np.float64)
    weight = 0.5 + np.arange(1, x.size + 1) * ((math.sqrt(5) - 1) / 2) % 1
    finite = np.isfinite(x)
    scaled = np.sign(x[finite]) * np.log1p(100 * np.abs(x[finite]))
    return float(f"{x.size + float((scaled * weight[finite]).mean() if finite.any() else 0.0):.8g}")


def _parts(path: Path) -> Iterator[tuple[str, Iterable[float]]]:
    if path.suffix == ".json":
        found: dict[str, list[float]] = {}
        for key, value in _leaves(json.loads(path.read_text(encoding="utf-8")), ()):
            if not PASSING & set(key):
                found.setdefault(key[0], []).append(value)
        yield from found.items()
    elif path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as source:
            rows = list(csv.reader(source))
        yield "cells", [_value(text) for row in rows for text in row]
    elif path.suffix == ".tif":
        with rasterio.open(path) as source:
            for band in source.read(masked=True):
                cells = np.ma.filled(band.astype(np.float64), np.nan).ravel()
                known = np.flatnonzero(np.isfinite(cells))
                yield "values", [*known.tolist(), *cells[known].tolist()]
            words = ",".join(source.tags().get(key, "") for key in ("species", "scale", "what", "threshold_rule"))
            yield "tags", [float(zlib.crc32(words.encode()))]
            yield "grid", [*source.transform[:6], source.nodata or 0.0]
    elif path.suffix == ".html":
        page = re.sub(r"<(script|style)\b.*?</\1>|<img\b[^>]*>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for k, part in enumerate(re.split(r"<section\b", page)):
            name = re.match(r'[^>]*id="(\w+)"', part)
            title = name[1] if name else str(k)
            if title in ("settings", "odmap"):
                continue
            pictures = re.findall(r"<svg\b.*?</svg>", part, flags=re.DOTALL)
            yield (
                f"{title}/text",
                map(float, NUMBER.findall(re.sub(r"<svg\b.*?</svg>|<[^>]*>", " ", part, flags=re.DOTALL))),
            )
            yield f"{title}/pictures", map(float, NUMBER.findall(" ".join(pictures)))


def _leaves(tree: Any, key: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from _leaves(value, (*key, str(name)))
    elif isinstance(tree, list):
        for value in tree:
            yield from _leaves(value, key)
    elif isinstance(tree, bool | int | float):
        yield key, float(tree)


def _value(text: str) -> float:
    """Return the number of a cell; NaN for text, which may be worded otherwise."""
    try:
        return float(text)
    except ValueError:
        return math.nan
