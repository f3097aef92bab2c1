"""The page over the projections of several species: a map of the change of each, its area now, and how it changes."""

from pathlib import Path
from urllib.parse import quote

from sdm.report.charts import TOP
from sdm.report.pages.frame import render
from sdm.report.pictures import thumbnail
from sdm.report.projection import (
    StoredCase,
    StoredProjection,
    find_projections,
    mean_change,
    most_outside,
    read_projection,
    worst_change,
)
from sdm.report.results import Results, number
from sdm.storage.files import write_text
from sdm.types import Numbers

# Columns of figures: title, what it is of, and its digits (0: a whole number).
COLUMNS = (
    ("Suitable now (km²)", "now", 0),
    ("Mean change (%)", "mean", 3),
    ("Worst change (%)", "worst", 3),
    ("Longest shift of the centroid (km)", "shift", 3),
    ("Cells outside the training range, at most (%)", "outside", 3),
    ("Suitable area outside it, at most (%)", "suitable_outside", 3),
)


def write_projection_index(folder: Path) -> Path:
    """Write the index of a folder with projections of several species; one that is there already is made anew."""
    return write_text(folder / "index.html", projection_index(folder), overwrite=True)


def projection_index(folder: Path) -> str:
    """Return the index of a folder with projections."""
    species = [_entry(read_projection(path)) for path in find_projections(folder)]
    shown = [
        {"title": title, "digits": digits, "key": key}
        for title, key, digits in COLUMNS
        if any(entry["figures"][key] is not None for entry in species)
    ]
    counts = {entry["scenarios"] for entry in species}
    context = {"species": species, "columns": shown, "run": folder.resolve().name}
    return render("projections.html", {**context, "scenarios": counts.pop() if len(counts) == 1 else None})


def _entry(results: Results) -> Numbers:
    stored = StoredProjection(results.folder, results.numbers)
    cases, now = stored.scenarios, stored.reference.km2 if stored.reference else None
    parts = [number(case.tree("suitable_outside").get("share")) for case in cases]
    shifts = [number(case.tree("shift").get("km")) for case in cases]
    figures = {
        "now": now,
        "mean": mean_change(cases),
        "worst": worst_change(cases),
        "shift": _largest(shifts),
        "outside": _percent(most_outside(cases)),
        "suitable_outside": _percent(_largest(parts)),
    }
    shown = _shown(stored)
    said, picture = "", None
    if shown is not None:
        case, path, kind = shown
        said = f"{'Change' if kind == 'change' else 'Suitability'} of {results.title}: {case.title}"
        picture = thumbnail(path, TOP.get(stored.scale))
    return {
        "name": results.title,
        "page": quote(results.page.name),
        "scenarios": len(cases),
        "figures": figures,
        "picture": picture,
        "said": said,
        "in": shown[0].title if shown else "",
        "warnings": len(results.numbers.get("warnings") or []),
    }


def _shown(stored: StoredProjection) -> tuple[StoredCase, Path, str] | None:
    """Return the map of the thumbnail: the change in the worst scenario, or the suitability of the first case."""
    changed = [(case.net_percent, k) for k, case in enumerate(stored.scenarios) if case.net_percent is not None]
    if changed:
        case = stored.scenarios[min(changed)[1]]
        if path := case.raster("change"):
            return case, path, "change"
    found = [(case, path) for case in stored.cases if (path := case.raster("suitability"))]
    return (*found[0], "suitability") if found else None


def _largest(values: list[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
