"""Runs whose pages are looked at."""

import base64
import csv
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from affine import Affine

from sdm.maps.projection.change import COLOURS, TITLES
from sdm.options.reading import make_options
from sdm.run.run import run
from sdm.storage.files import safe_name

DPI = 72  # drawing takes most of the time of a small run


def fit(folder: Path, records: Path, layers: Path, **options: object) -> Path:
    """Fit and write, with small pictures; return the folder."""
    given = {"occurrences.file": str(records), "layers.files": [str(layers)], "output.folder": str(folder)}
    given |= {"layers.categorical": ["landcover"], "fit.features": "lq", "output.dpi": DPI}
    run(make_options(given | options), command="sdm fit …")
    return folder


def unpacked(text: str, shape: tuple[int, ...]) -> np.ndarray:
    """The whole numbers that a page holds as text."""
    high, low = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8).reshape(2, *shape).astype(int)
    return high * 256 + low


VARIABLES = ("bio1", "bio12", "landcover")


def project(
    folder: Path,
    species: Sequence[str] = ("Virtualis montanus",),
    scenarios: Sequence[Mapping[str, str]] = ({"gcm": "A", "period": "2050"},),
    *,
    reference: bool = True,
    rule: str | None = "maxsss",
    mess: bool = True,
    crs: str | None = "EPSG:4326",
    size: tuple[int, int] = (60, 80),
) -> Path:
    """A folder as a projection leaves it: real rasters of a virtual climate that warms, and the numbers of them."""
    folder.mkdir(parents=True, exist_ok=True)
    corner, cell = ((5.0, 48.0), 0.05) if crs is None or "4326" in crs else ((4.0e6, 2.9e6), 5000.0)
    grid = {
        "crs": crs,
        "transform": Affine(cell, 0, corner[0], 0, -cell, corner[1]),
        "height": size[0],
        "width": size[1],
    }
    for name in species:
        stem = safe_name(name)
        today = _case(folder, stem, "reference", {}, 0.0, grid, None, rule, mess) if reference else None
        cases = []
        for k, fields in enumerate(scenarios):
            title = "_".join(fields.values())
            cases.append(
                _case(folder, stem, title, dict(fields), 0.6 + 2.4 * k / len(scenarios), grid, today, rule, mess)
            )
        numbers = {
            "kind": "projection", "species": name, "scale": "cloglog", "rule": rule, "dispersal": "unlimited",
            "fields": list(scenarios[0]), "reference": today, "scenarios": cases, "across": [], "variance": None,
            "warnings": [], "notices": [], "versions": {"numpy": np.__version__}, "version": "0",
            "files": {"table": "scenarios.csv", "mapping": "mapping.csv"},
        }  # fmt: skip
        _across(folder, stem, numbers, grid)
        (folder / f"{stem}.json").write_text(json.dumps(numbers), encoding="utf-8")
    rows = [
        ("scenario", "variable", "file", "band"),
        *((c["title"], v, f"{v}.tif", 1) for c in cases for v in VARIABLES),
    ]
    with (folder / "mapping.csv").open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows(rows)
    (folder / "scenarios.csv").write_text("species,scenario,measure,of,value,unit\n")
    return folder


def _case(
    folder: Path, stem: str, title: str, fields: dict[str, str], warming: float, grid: dict[str, Any], today: Any,
    rule: str | None, mess: bool,
) -> dict[str, Any]:  # fmt: skip
    place = safe_name(title)
    (folder / place).mkdir(exist_ok=True)
    rows, columns = np.mgrid[: grid["height"], : grid["width"]]
    land = (rows - grid["height"] / 2) ** 2 / grid["height"] ** 2 + (columns - grid["width"] / 2) ** 2 / grid[
        "width"
    ] ** 2 < 0.22
    hills = np.sin(rows / 5) * np.cos(columns / 7 + rows / 9)
    heat = 3 + 14 * rows / grid["height"] - 3 * columns / grid["width"] + 2.5 * hills + 2 * warming
    suitable = np.exp(-(((heat - 9) / 3) ** 2)).astype(np.float32)
    novelty = np.where(heat > 16.5, (16.5 - heat) * 30, 40 - abs(heat - 12) * 5).astype(np.float32)
    files: dict[str, Any] = {"suitability": f"{place}/{stem}.tif"}
    _raster(folder / files["suitability"], np.where(land, suitable, -9999), grid, -9999)
    case: dict[str, Any] = {"title": title, "fields": fields, "files": files, "change": None, "shift": None}
    case["suitability"] = {"cells": int(land.sum()), "min": 0.0, "max": 1.0, "mean": float(suitable[land].mean())}
    case |= {"centroid": None, "outside": None, "suitable_outside": None, "rules": {}}
    case["variables"] = {
        name: {"mean": 12 + warming, "shift": warming or None, "where_suitable": 9.0, "where_suitable_shift": 0.1}
        for name in VARIABLES[:2]
    }
    present = land & (suitable >= 0.5)
    km2 = 25.0
    if mess:
        files["mess"] = f"{place}/mess.tif"
        _raster(folder / files["mess"], np.where(land, novelty, -9999), grid, -9999)
        out, all_ = int((land & (novelty < 0)).sum()), int(land.sum())
        part = {"cells": out, "share": out / all_, "km2": out * km2}
        case["outside"] = {
            "of_cells": all_,
            "of_km2": all_ * km2,
            **part,
            "variables": {"bio1": part, "bio12": part | {"share": 0.0}},
        }
        case["outside"]["unseen_categories"] = {"landcover": {"cells": 3, "share": 3 / all_, "km2": 75.0}}
        both = int((present & (novelty < 0)).sum())
        case["suitable_outside"] = {"cells": both, "km2": both * km2, "share": both / max(int(present.sum()), 1)}
    if rule is None:
        return case
    files["presence"] = {rule: f"{place}/{stem}_{rule}.tif"}
    _raster(folder / files["presence"][rule], np.where(land, present, 255).astype(np.uint8), grid, 255)
    case["rules"] = {rule: {"cutoff": 0.5, "cells": int(present.sum()), "km2": float(present.sum() * km2)}}
    cell, left, top = grid["transform"].a, grid["transform"].c, grid["transform"].f
    x, y = left + cell * (float(columns[present].mean()) + 0.5), top - cell * (float(rows[present].mean()) + 0.5)
    case["centroid"] = {"lon": 8.0, "lat": 47.0, "x": x, "y": y}
    if today is not None:
        with rasterio.open(folder / today["files"]["presence"][rule]) as source:
            before = source.read(1) == 1
        codes = np.select([before & present, present, before], [1, 2, 3], 0)
        files["change"] = f"{place}/{stem}_change.tif"
        _raster(folder / files["change"], np.where(land, codes, 255).astype(np.uint8), grid, 255, classes=True)
        parts = ("stable_absent", "stable_present", "gain", "loss")
        counts = [int((land & (codes == k)).sum()) for k in range(4)]
        change: dict[str, Any] = {key: {"cells": n, "km2": n * km2} for key, n in zip(parts, counts)}
        was = max(int(before.sum()), 1)
        shares = {"gain_percent": counts[2], "loss_percent": counts[3], "net_percent": counts[2] - counts[3]}
        case["change"] = change | {key: 100 * n / was for key, n in shares.items()}
        case["change"]["out_of_reach"] = {"cells": 0, "km2": 0.0}
        case["shift"] = {"km": 12.5 * warming, "bearing": 31.0, "direction": "NNE"}
    return case


def _across(folder: Path, stem: str, numbers: dict[str, Any], grid: dict[str, Any]) -> None:
    """Put groups of scenarios over the first field in, if there are several scenarios."""
    cases, over = numbers["scenarios"], numbers["fields"][0]
    (folder / "across").mkdir(exist_ok=True)
    groups: dict[tuple[str, ...], list[Any]] = {}
    for case in cases:
        groups.setdefault(tuple(v for k, v in case["fields"].items() if k != over), []).append(case)
    for key, own in groups.items():
        if len(own) < 2:
            continue
        maps = []
        for case in own:
            with rasterio.open(folder / case["files"]["suitability"]) as source:
                maps.append(source.read(1, masked=True))
        stack = np.ma.stack(maps)
        name = safe_name("_".join((stem, *key)))
        files, found = {}, {"mean": stack.mean(axis=0), "sd": stack.std(axis=0)}
        for what, values in found.items():
            files[what] = f"across/{name}_{what}.tif"
            _raster(folder / files[what], values.filled(-9999).astype(np.float32), grid, -9999)
        agree = np.ma.sum(stack >= 0.5, axis=0).filled(255).astype(np.uint8)
        files["agreement"] = f"across/{name}_agreement.tif"
        _raster(folder / files["agreement"], agree, grid, 255)
        fields = {k: v for k, v in own[0]["fields"].items() if k != over}
        told = {what: {"mean": float(v.mean()), "min": 0.0, "max": float(v.max())} for what, v in found.items()}
        told["agreement"] = {str(k): float((agree == k).sum() * 25.0) for k in range(len(own) + 1)}
        group = {"over": [over], "fields": fields, "title": "_".join(key) or "all", "cases": len(own), "numbers": told}
        numbers["across"].append(group | {"files": files})
    if len(groups) > 1 and numbers["across"]:
        sources = [{"source": f, "levels": 2, "variance": 0.01, "share": 0.3} for f in numbers["fields"]]
        rest = {"source": "rest", "levels": None, "variance": 0.001, "share": 1 - 0.3 * len(sources)}
        numbers["variance"] = {"total": 0.03, "sources": [*sources, rest], "balanced": True}


def _raster(path: Path, values: Any, grid: dict[str, Any], nodata: float, classes: bool = False) -> None:
    profile = {**grid, "driver": "GTiff", "count": 1, "dtype": values.dtype, "nodata": nodata}
    with rasterio.open(path, "w", **profile) as out:
        out.write(values, 1)
        if classes:
            out.write_colormap(1, {code: (*colour, 255) for code, colour in COLOURS.items()})
            out.update_tags(**{f"class_{code}": label for code, label in enumerate(TITLES)})
