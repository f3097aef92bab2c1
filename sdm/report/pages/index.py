"""The page of a run over many species: a picture and the main figures of each, in a table that sorts itself."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sdm.files import write_text
from sdm.report.charts import TOP
from sdm.report.pages.frame import render
from sdm.report.pages.live_map import map_layers
from sdm.report.pages.registry import write_page
from sdm.report.pages.scenario_index import write_projection_index
from sdm.report.pictures import thumbnail
from sdm.report.results import (
    SCENARIOS,
    Results,
    find_projections,
    find_results,
    number,
    read_results,
    read_rows,
)

NAME = "index.html"
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
    """Write the pages of results of any kind, and the index of every run over several species.

    The places are results folders of `sdm fit`, `sdm classify`, `sdm joint` or `sdm project`; or model files or
    numbers in them. Projections in the folder `scenarios` of a results folder are made with it.
    """
    written = []
    for place in map(Path, places):
        found = [read_results(path) for path in find_results(place)]
        written += [write_page(results) for results in found]
        if not place.is_dir():
            continue
        for folder in dict.fromkeys([place, *(results.folder for results in found)]):
            written += _projection_pages(folder / SCENARIOS)
        if sum(results.kind == "projection" for results in found) > 1:
            written.append(write_projection_index(place))
        elif any(results.folder != place for results in found):
            written.append(write_index(place))
    return written


def _projection_pages(folder: Path) -> list[Path]:
    """Write the pages of the projections in a folder, and their index where there are several."""
    pages = [write_page(read_results(path)) for path in find_projections(folder)]
    return [*pages, write_projection_index(folder)] if len(pages) > 1 else pages


def write_index(folder: Path) -> Path:
    """Write the index of a run over several species into its folder; one that is there already is made anew."""
    return write_text(folder / NAME, index_page(folder), overwrite=True)


def index_page(folder: Path) -> str:
    """Return the index of a run over several species."""
    found = [results for path in find_results(folder) if (results := read_results(path)).folder != folder]
    species = [_entry(folder, results) for results in found]
    known = {entry["folder"] for entry in species}
    summary = folder / "summary.csv"
    listed = read_rows(summary) if summary.is_file() else []
    failed = [row for row in listed if row.get("error") and row.get("folder") not in known]
    shown = [
        {"title": title, "digits": digits, "key": key}
        for title, key, digits in COLUMNS
        if any(entry["figures"][key] is not None for entry in species)
    ]
    against = "absences" if any(results.kind == "classes" for results in found) else "background"
    projected = len(find_projections(folder / SCENARIOS)) > 1
    links = {"projections": f"{SCENARIOS}/{NAME}" if projected else None}
    context = {
        **links,
        "species": species,
        "failed": failed,
        "columns": shown,
        "run": folder.resolve().name,
        "against": against,
    }
    return render("index.html", context)


def _entry(folder: Path, results: Results) -> dict[str, Any]:
    known = _figures(results)
    layers = map_layers(results)
    inside = results.folder.relative_to(folder).as_posix()
    return {
        "name": results.title,
        "folder": inside,
        "page": f"{quote(inside)}/{quote(results.page.name)}",
        "status": results.numbers.get("status"),
        "figures": {key: number(known.get(key)) for _, key, _ in COLUMNS},
        "picture": thumbnail(layers[0].path, TOP.get(results.scale), band=layers[0].band) if layers else None,
    }


def _figures(results: Results) -> dict[str, Any]:
    """Return the figures of the table: means over folds and stored numbers, those of classes by the same names."""
    n, mean = results.numbers, results.tree("cross_validation").get("mean")
    names = {"training": "auc_train", "test": "auc_test", "cross-validation": "auc.val.avg"}
    losses = {"test": "log_loss_test", "cross-validation": "loss.val.avg"}
    measured: dict[str, Any] = {}
    for sites, found in results.tree("measures").items():
        own = found if isinstance(found, dict) else {}
        measured |= {names.get(sites, ""): own.get("mean_auc"), losses.get(sites, ""): own.get("log_loss")}
        measured["constant_log_loss"] = own.get("constant_log_loss")
    measured["sites"] = n.get("training_sites")
    return {**(mean if isinstance(mean, dict) else {}), **n, **measured}
