"""The page of a model of classes: one file that opens offline, from what a run has written."""

import csv
import json
from pathlib import Path
from typing import Any

from sdm.files import write_text
from sdm.report.page import render
from sdm.report.page_map import embed

MAPS = {"picture": "The most probable class", "entropy picture": "How undecided the classes are"}


def write_class_page(folder: Path, numbers_file: str, page: str) -> Path:
    """Write the page from the stored results of a folder; one that is there already is made anew."""
    numbers: dict[str, Any] = json.loads((folder / numbers_file).read_text(encoding="utf-8"))
    return write_text(folder / page, class_page(folder, numbers), overwrite=True)


def class_page(folder: Path, numbers: dict[str, Any]) -> str:
    """Return the page of the results in a folder."""
    files: dict[str, str] = numbers["files"]
    kind, best = list(numbers["measures"].items())[-1]
    plots = sorted((folder / files["plots"]).glob("*.png"))
    grown = ":" in str(numbers.get("feature_classes", ""))
    context = {
        "n": numbers,
        "kind": kind,
        "best": best,
        "loss": {1.0: "logistic loss", 2.0: "sparsemax loss"}.get(numbers["order"], f"order {numbers['order']:g}"),
        "covers": "all features that the oracles found for any class" if grown else "all features of all classes",
        "maps": [{"picture": embed(folder / files[key]), "text": text} for key, text in MAPS.items() if key in files],
        "classes": _classes(folder / files["classes"], numbers.get("map", {}).get("shares", {})),
        "confusion": embed(folder / files["confusion picture"]),
        "importance": embed(folder / files["plots"] / "importance.png"),
        "curves": [{"picture": embed(path), "name": path.stem} for path in plots if path.stem != "importance"],
        "command": (folder / files["command"]).read_text(encoding="utf-8").strip(),
    }
    return render("classes.html", "index.js", context)


def _classes(table: Path, shares: dict[str, float]) -> list[dict[str, Any]]:
    """Return the rows of the table of classes."""
    with table.open(newline="", encoding="utf-8") as source:
        rows = list(csv.reader(source))
    return [
        {
            "name": name,
            "colour": colour,
            "figures": [*(float(text) if text else None for text in figures), shares.get(name)],
        }
        for _, name, colour, *figures in rows[1:]
    ]
