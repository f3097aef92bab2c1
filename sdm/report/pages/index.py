"""The page of a run over many species: a picture and the main figures of each, in a table that sorts itself."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sdm.assess.measures.thresholds import TOPS
from sdm.files import write_text
from sdm.report.pages.classes import class_figures, find_class_results, shown_class, write_class_page
from sdm.report.pages.community import write_joint_page
from sdm.report.pages.live_map import thumbnail
from sdm.report.pages.species import render, write_page
from sdm.report.results import Results, find_results, number, read_results, read_rows

NAME = "index.html"
JOINT = "joint.json"  # the numbers of a joint model
# Columns of figures: title, what it is of, and its digits (0: a count).
COLUMNS = (
    ("Records", "training_presences", 0),
    ("Sites", "sites", 0),
    ("Training AUC", "auc_train", 3),
    ("Test AUC", "auc_test", 3),
    ("Cross-validated AUC", "auc.val.avg", 3),
    ("Boyce index", "cbi.val.avg", 3),
    ("Test log loss", "log_loss_test", 4),
    ("Cross-validated log loss", "loss.val.avg", 4),
    ("Constant model's log loss", "constant_log_loss", 4),
    ("Gain", "regularized_gain", 3),
    ("Features", "features_with_weight", 0),
    ("Proved gap (nats)", "gap", 2),
)


def make_pages(places: Iterable[Path]) -> list[Path]:
    """Write the pages of results folders and models of any kind, and the index of every run over several species.

    Parameters
    ----------
    places : iterable of path
        Results folders of `sdm fit`, `sdm classify` or `sdm joint`; or model files or numbers in them.

    Raises
    ------
    DataError
        If a place has no results, or they cannot be read.
    """
    written = []
    for place in map(Path, places):
        joint = place if place.is_dir() else place.parent
        if (joint / JOINT).is_file() and place in (joint, joint / JOINT, joint / "joint.npz"):
            written.append(write_joint_page(joint))
            if place != joint or not find_class_results(place):
                continue
        if classes := find_class_results(place):
            written += [write_class_page(numbers) for numbers in classes]
            if place.is_dir() and classes[0].parent != place:
                written.append(write_index(place))
            continue
        found = find_results(place)
        written += [write_page(read_results(one)) for one in found]
        if found != [place]:
            written.append(write_index(place))
    return written


def write_index(folder: Path) -> Path:
    """Write the index of a run over several species into its folder; one that is there already is made anew."""
    return write_text(folder / NAME, index_page(folder), overwrite=True)


def index_page(folder: Path) -> str:
    """Return the index of a run over several species."""
    surveyed = [path for path in find_class_results(folder) if path.parent != folder]
    if surveyed:
        species = [_class_entry(folder, path) for path in surveyed]
    else:
        species = [_entry(folder, read_results(place)) for place in find_results(folder)]
    known = {entry["folder"] for entry in species}
    summary = folder / "summary.csv"
    listed = read_rows(summary) if summary.is_file() else []
    failed = [row for row in listed if row.get("error") and row.get("folder") not in known]
    shown = [
        {"title": title, "digits": digits, "key": key}
        for title, key, digits in COLUMNS
        if any(entry["figures"][key] is not None for entry in species)
    ]
    against = "absences" if surveyed else "background"
    context = {"species": species, "failed": failed, "columns": shown, "run": folder.resolve().name, "against": against}
    return render("index.html", "index.js", context)


def _entry(folder: Path, results: Results) -> dict[str, Any]:
    """Return what the table shows of one species."""
    mean = results.numbers.get("cross_validation")
    averages = mean.get("mean") if isinstance(mean, dict) else None
    known = {**(averages if isinstance(averages, dict) else {}), **results.numbers}
    path = results.path("map")
    inside = results.folder.relative_to(folder).as_posix()
    return {
        "name": results.species,
        "folder": inside,
        "page": f"{quote(inside)}/{quote(results.page.name)}",
        "status": results.numbers.get("status"),
        "figures": {key: number(known.get(key)) for _, key, _ in COLUMNS},
        "picture": None if path is None else thumbnail(path, TOPS.get(results.scale)),
    }


def _class_entry(folder: Path, path: Path) -> dict[str, Any]:
    """Return what the table shows of one species with presences and absences, from its stored numbers."""
    known = class_figures(path)
    place = path.parent
    name, inside = str(known["title"]), place.relative_to(folder).as_posix()
    shown, _ = shown_class([str(label) for label in known["classes"]])
    page, raster = path.with_suffix(".html"), place / f"{path.stem}_probability.tif"
    return {
        "name": name,
        "folder": inside,
        "page": f"{quote(inside)}/{quote(page.name)}",
        "status": known["status"],
        "figures": {key: number(known.get(key)) for _, key, _ in COLUMNS},
        "picture": thumbnail(raster, 1.0, band=1 + shown) if raster.is_file() else None,
    }
