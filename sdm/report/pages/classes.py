"""The page of a model of classes: one file that opens offline, from what a run has written."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sdm.errors import DataError
from sdm.files import write_text
from sdm.maps.classes import presence_class
from sdm.reading import load_json
from sdm.report.pages.live_map import embed
from sdm.report.pages.species import render
from sdm.report.results import species_folders
from sdm.report.tables import unquoted

MAPS = {
    "probability picture": "The probability of {presence}",
    "picture": "The most probable class",
    "entropy picture": "How undecided the classes are",
}

SHOWN = (
    "title", "classes", "variables", "sites", "training_sites", "features", "features_with_weight", "order", "gap",
    "status", "iterations", "version",
)  # fmt: skip
"""Numbers that every page shows."""


def find_class_results(place: Path) -> list[Path]:
    """Return the stored numbers of class models, which may be none: in a folder, in its folders, or beside a model."""
    place = Path(place)
    if not place.is_dir():
        return [path for path in [place.with_suffix(".json")] if _is_numbers(path)]
    own = _numbers_in(place)
    return own or [path for folder in species_folders(place) for path in _numbers_in(folder)]


def _numbers_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.json")) if _is_numbers(path)]


def class_figures(path: Path) -> dict[str, Any]:
    """Return what the index of a run shows of a class model, from its stored numbers."""
    numbers: dict[str, Any] = load_json(path)
    measures = {name: found for name, found in numbers["measures"].items() if isinstance(found, dict)}
    trained, tested, crossed = (measures.get(name, {}) for name in ("training", "test", "cross-validation"))
    return {
        **{key: numbers.get(key) for key in ("title", "classes", "status", "gap", "features_with_weight")},
        "sites": numbers.get("training_sites"),
        "auc_train": trained.get("mean_auc"),
        "auc_test": tested.get("mean_auc"),
        "auc.val.avg": crossed.get("mean_auc"),
        "log_loss_test": tested.get("log_loss"),
        "loss.val.avg": crossed.get("log_loss"),
        "constant_log_loss": (crossed or tested or trained).get("constant_log_loss"),
    }


def _is_numbers(path: Path) -> bool:
    """Whether a JSON file is that of a class model."""
    try:
        tree = load_json(path)
    except (OSError, ValueError):
        return False
    return isinstance(tree, dict) and all(isinstance(tree.get(key), dict) for key in ("measures", "files"))


def write_class_page(path: Path) -> Path:
    """Write the page beside the stored numbers of a run; one that is there already is made anew.

    Raises
    ------
    DataError
        If something that the page is made of is not there, or cannot be read.
    """
    numbers: dict[str, Any] = load_json(path)
    try:
        if absent := [name for name in SHOWN if name not in numbers]:
            raise KeyError(absent[0])
        page = class_page(path.parent, numbers)
        name = _inside(numbers["files"].get("page", path.with_suffix(".html").name))
    except (OSError, KeyError, IndexError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise DataError(
            f"the page of {path} cannot be made ({what}): make the results again with `sdm classify`"
        ) from error
    return write_text(path.parent / name, page, overwrite=True)


def _inside(name: str) -> str:
    """Return a file's name; one with a folder in it would lead out of the results, and no run writes that."""
    if Path(name).name != name:
        raise ValueError(f"'{name}' is no name of a file in the results")
    return name


def class_page(folder: Path, numbers: dict[str, Any]) -> str:
    """Return the page of the results in a folder."""
    files = {what: _inside(name) for what, name in numbers["files"].items()}
    kind, best = list(numbers["measures"].items())[-1]
    plots = sorted((folder / files["plots"]).glob("*.png"))
    grown = ":" in str(numbers.get("feature_classes", ""))
    context = {
        "n": numbers,
        "kind": kind,
        "best": best,
        "loss": {1.0: "logistic loss", 2.0: "sparsemax loss"}.get(numbers["order"], f"order {numbers['order']:g}"),
        "covers": "all features that the oracles found for any class" if grown else "all features of all classes",
        "maps": [
            {
                "picture": embed(folder / files[key]),
                "text": text.replace("{presence}", shown_class(numbers["classes"])[1]),
            }
            for key, text in MAPS.items()
            if key in files
        ],
        "classes": _classes(folder / files["classes"], numbers.get("map", {}).get("shares", {})),
        "confusion": embed(folder / files["confusion picture"]),
        "importance": embed(folder / files["plots"] / "importance.png"),
        "curves": [{"picture": embed(path), "name": path.stem} for path in plots if path.stem != "importance"],
        "command": (folder / files["command"]).read_text(encoding="utf-8").strip(),
    }
    return render("classes.html", "index.js", context)


def shown_class(labels: Sequence[str]) -> tuple[int, str]:
    """Return which of two classes a picture of the probability is of, and what that is called."""
    here = presence_class(labels)
    return (1, f"class {labels[1]}") if here is None else (here, "presence")


def _classes(table: Path, shares: dict[str, float]) -> list[dict[str, Any]]:
    """Return the rows of the table of classes."""
    with table.open(newline="", encoding="utf-8") as source:
        rows = [[unquoted(cell) for cell in row] for row in csv.reader(source)]
    return [
        {
            "name": name,
            "colour": colour,
            "figures": [*(float(text) if text else None for text in figures), shares.get(name)],
        }
        for _, name, colour, *figures in rows[1:]
    ]
