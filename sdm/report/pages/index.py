"""The page of a run over several species: one table with sorting, filters and pages.

It is made from `summary.csv` alone and opens no folder of a species. The rows are data inside the page; the browser
renders the visible rows and loads their pictures when they come into view.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from urllib.parse import quote

from sdm.errors import ResultsError
from sdm.report.charts import TOP
from sdm.report.pages.frame import MAIN_FIGURES, KeyFigure, render
from sdm.report.pages.words import figure
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
from sdm.report.results import (
    GROUP,
    SCENARIOS,
    Results,
    Row,
    number,
    read_rows,
)
from sdm.report.summary import HEAD, SUMMARY, SUMMARY_PARQUET, TAIL, group_failures
from sdm.storage.files import write_text
from sdm.types import Numbers

NAME = "index.html"
SCRIPT = "index.js"
RICHNESS_PICTURE = "richness.png"
FAILED = "failed"
DIGITS = 6  # significant digits of the numbers inside the page
MOST_REASONS = 8  # reasons that are shown before the others are collapsed
# Columns that are shown first, in this order: title, number format, and digits.
COLUMNS = {
    "training_presences": ("Records", "whole", 0),
    "sites": ("Sites", "whole", 0),
    "tested_on": ("Evaluated on", "text", 0),
    "auc_train": ("Training AUC", "fixed", 3),
    "auc_test": ("Test AUC", "fixed", 3),
    "auc.val.avg": ("Cross-validated AUC", "fixed", 3),
    "auc": ("AUC", "fixed", 3),
    "cbi.val.avg": ("Boyce index", "fixed", 3),
    "or.10p.avg": ("10p omission", "fixed", 3),
    "log_loss_test": ("Test log loss", "fixed", 4),
    "loss.val.avg": ("Cross-validated log loss", "fixed", 4),
    "log_loss": ("Log loss", "fixed", 4),
    "constant_log_loss": ("Log loss of the null model", "fixed", 4),
    "kappa": ("Kappa", "fixed", 3),
    "regularized_gain": ("Regularised gain", "fixed", 3),
    "features_with_weight": ("Features", "whole", 0),
    "gap": ("Duality gap (nats)", "figure", 2),
}
# Columns whose median is a main figure, as words of a sentence.
MEDIANS = {
    "training_presences": "records", "sites": "sites", "auc_test": "test AUC", "auc.val.avg": "cross-validated AUC",
    "auc": "AUC", "cbi.val.avg": "Boyce index", "auc_train": "training AUC",
}  # fmt: skip
IN_TABLE_ALONE = ("gain", "log_loss_train", "entropy", "multiplier")  # in `summary.csv` but not on the page


def write_index(folder: Path, planned: int | None = None, rows: Sequence[Row] | None = None) -> Path:
    """Write the index of a run over several species into its folder; replace an existing one."""
    return write_text(folder / NAME, index_page(folder, planned, rows), overwrite=True)


def index_page(folder: Path, planned: int | None = None, rows: Sequence[Row] | None = None) -> str:
    """Return the index of a run over several species.

    Parameters
    ----------
    folder
        Of the batch: its `summary.csv` is read, and nothing in the folders of species.
    planned
        The number of species that the run was given. If the table has fewer rows, the page says so.
    rows
        Those of the table, in place of `summary.csv`.
    """
    if rows is None:
        summary = folder / SUMMARY
        if not summary.is_file():
            raise ResultsError(f"{folder} has no {SUMMARY}: expected the output folder of a run over several species")
        rows = read_rows(summary)
    failed = sum(row.get("status") == FAILED for row in rows)
    groups = group_failures(rows)
    reasons: list[Numbers] = [{"text": group.reason, "count": len(group.species)} for group in groups]
    columns = _columns(rows)
    context = {
        "group": f"{GROUP}/{GROUP}.html" if (folder / GROUP / f"{GROUP}.html").is_file() else None,
        "projections": f"{SCENARIOS}/{NAME}" if (folder / SCENARIOS / NAME).is_file() else None,
        "richness": RICHNESS_PICTURE if (folder / RICHNESS_PICTURE).is_file() else None,
        "parquet": (folder / SUMMARY_PARQUET).is_file(),
        "run": folder.resolve().name,
        "count": len(rows),
        "fitted": len(rows) - failed,
        "failed": failed,
        "missing": max(0, planned - len(rows)) if planned is not None else 0,
        "planned": planned,
        "reasons": reasons,
        "most_reasons": MOST_REASONS,
        "columns": columns,
        "figures": _index_figures(rows, columns, failed),
        "name_width": _name_width(rows),
        "against": _against(column["key"] for column in columns),
        "data": _data(rows, columns, [group.species for group in groups], [one["text"] for one in reasons]),
    }
    return render("index.html", context, [SCRIPT])


def _index_figures(rows: Sequence[Row], columns: Sequence[Numbers], failed: int) -> list[KeyFigure]:
    """Return the number of fitted species, and the medians of their measures."""
    shown = [KeyFigure("Fitted", f"{len(rows) - failed:,}", f"of {len(rows):,} species")]
    for column in columns:
        values = [value for row in rows if (value := number(row.get(column["key"]))) is not None]
        if column["key"] in MEDIANS and values and len(shown) < MAIN_FIGURES:
            ends = f"from {figure(min(values), 3)} to {figure(max(values), 3)}"
            shown.append(KeyFigure(f"Median {MEDIANS[column['key']]}", figure(median(values), 3), ends))
    return shown


def _name_width(rows: Sequence[Row]) -> float:
    """Return the width of the column of names, so that names do not break inside a word unless they are very long."""
    longest = max((len(word) for row in rows for word in row.get("species", "").split()), default=0)
    return round(min(max(14.0, 0.66 * longest + 1.0), 30.0), 1)


def _against(columns: Iterable[str]) -> str | None:
    """Return the comparison data of the AUC in the table; None without an AUC."""
    keys = set(columns)
    if not any(key.startswith("auc") for key in keys):
        return None
    return "absences" if "training_presences" not in keys else "background"


def _columns(rows: Sequence[Row]) -> list[Numbers]:
    """Return the columns between name and status: the predefined ones first, then all others."""
    filled = dict.fromkeys(key for row in rows for key, value in row.items() if value != "")
    keys = [key for key in COLUMNS if key in filled]
    keys += [key for key in filled if key not in (*COLUMNS, *HEAD, *TAIL, *IN_TABLE_ALONE)]
    columns = []
    for key in keys:
        title, kind, digits = COLUMNS.get(key, (key, "figure", 4))
        numeric = all(number(row[key]) is not None for row in rows if row.get(key))
        columns.append({"key": key, "title": title, "kind": kind if numeric else "text", "digits": digits})
    return columns


def _data(
    rows: Sequence[Row], columns: Sequence[Numbers], groups: Sequence[Sequence[str]], reasons: Sequence[str]
) -> Numbers:
    """Return the table by columns, in the compact form that the script of the page reads.

    Names of folders and files that follow from the name of the species are 1; statuses and messages are indices in
    lists.
    """
    statuses = list(dict.fromkeys(row.get("status", "") for row in rows))
    reports = [row.get("error", "").removeprefix(f"{row.get('species')}: ") for row in rows]
    errors = list(dict.fromkeys(text for text in reports if text))
    code, message = ({text: k for k, text in enumerate(texts)} for texts in (statuses, errors))
    group_of = {species: k for k, group in enumerate(groups) for species in group}
    return {
        "species": [row.get("species", "") for row in rows],
        "folder": [_short(row.get("folder", ""), row.get("species", "").replace(" ", "_")) for row in rows],
        "page": [_short(_inner(row.get("page", "")), f"{row.get('folder')}/{_last(row)}.html") for row in rows],
        "preview": [
            _short(_inner(row.get("preview", "")), f"{row.get('folder')}/{_last(row)}_preview.png") for row in rows
        ],
        "status": [code[row.get("status", "")] for row in rows],
        "statuses": statuses,
        "error": [message[text] if text else -1 for text in reports],
        "errors": errors,
        "reason": [group_of[row.get("species", "")] if text else -1 for row, text in zip(rows, reports)],
        "reasons": reasons,
        "columns": columns,
        "values": [[_value(row.get(column["key"], ""), column["kind"]) for row in rows] for column in columns],
    }


def _last(row: Row) -> str:
    return row.get("folder", "").rpartition("/")[2]


def _short(text: str, expected: str) -> str | int:
    """Return 1 for the expected text, 0 for an empty one, else the text."""
    return (1 if text == expected else text) if text else 0


def _inner(path: str) -> str:
    """Return a path inside the folder; an empty text for any other path."""
    return "" if path.startswith("/") or ".." in path.split("/") or "\\" in path else path


def _value(text: str, kind: str) -> float | int | str | None:
    """Return a cell of the table: text, or a rounded number; None if it is empty."""
    if kind == "text":
        return text or None
    finite = number(text)
    if finite is None:
        return None
    short = float(f"{finite:.{DIGITS}g}") if kind != "whole" else finite
    return int(short) if short.is_integer() else short


# Columns of numbers: title, key, and digits (0: an integer).
FIGURES = (
    ("Suitable in the reference (km²)", "now", 0),
    ("Mean change (%)", "mean", 3),
    ("Largest loss (%)", "worst", 3),
    ("Longest shift of the centroid (km)", "shift", 3),
    ("Largest share of cells outside the training range (%)", "outside", 3),
    ("Largest share of the suitable area outside it (%)", "suitable_outside", 3),
)


def write_projection_index(folder: Path) -> Path:
    """Write the index of a folder with projections of several species; replace an existing one."""
    species = [_entry(read_projection(path)) for path in find_projections(folder)]
    shown = [
        {"title": title, "digits": digits, "key": key}
        for title, key, digits in FIGURES
        if any(entry["figures"][key] is not None for entry in species)
    ]
    counts = {entry["scenarios"] for entry in species}
    context = {"species": species, "columns": shown, "run": folder.resolve().name}
    page = render("projections.html", {**context, "scenarios": counts.pop() if len(counts) == 1 else None})
    return write_text(folder / NAME, page, overwrite=True)


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
    text, picture = "", None
    if shown is not None:
        case, path, kind = shown
        text = f"{'Change' if kind == 'change' else 'Suitability'} of {results.title}: {case.title}"
        picture = thumbnail(path, TOP.get(stored.scale))
    return {
        "name": results.title,
        "page": quote(results.page.name),
        "scenarios": len(cases),
        "figures": figures,
        "picture": picture,
        "said": text,
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
    maps = [(case, path) for case in stored.cases if (path := case.raster("suitability"))]
    return (*maps[0], "suitability") if maps else None


def _largest(values: list[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
