"""HTML of runs, models and projections in notebooks: main numbers, a small map, and warnings."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from sdm.notebook import facts_html, rows_html
from sdm.report.pictures import embed
from sdm.report.results import Results
from sdm.types import Numbers

if TYPE_CHECKING:
    import pandas as pd

MOST = 50  # models that a notebook lists
_HIDDEN = ("species", "folder", "page", "preview", "error")


def model_html(name: str, results: Results) -> str:
    """Return one model as HTML."""
    facts = {**_numbers(results), "certificate": results.tree("certificate").get("text")}
    below = _preview(results) + _warnings(results.numbers.get("warnings") or ())
    return facts_html(f"{name} ({results.kind})", facts, below)


def run_html(models: Mapping[str, Results], failed: Mapping[str, str], warnings: Sequence[str]) -> str:
    """Return a run as HTML: one row per model."""
    rows = {name: _numbers(models[name]) for name in list(models)[:MOST]}
    head = list(dict.fromkeys(key for row in rows.values() for key in row))
    body = [[{"html": _preview(models[name], 48)}, name, *(row.get(key) for key in head)] for name, row in rows.items()]
    table = rows_html(["", "species", *head], body)
    more = f"<p>and {len(models) - MOST:,} more: see <code>run.summary</code></p>" if len(models) > MOST else ""
    reasons = [f"{name}: {reason}" for name, reason in list(failed.items())[:MOST]]
    return f"<div><b>Run of {len(models):,} models</b>{table}{more}{_warnings([*warnings, *reasons])}</div>"


def projection_html(table: "pd.DataFrame", warnings: Sequence[str]) -> str:
    """Return a projection as HTML: one row per species and scenario."""
    rows = rows_html([str(name) for name in table.columns], table.iloc[:MOST].values.tolist())
    return f"<div><b>Projection of {table['species'].nunique():,} species</b>{rows}{_warnings(warnings)}</div>"


def _numbers(results: Results) -> Numbers:
    """Return the main numbers of a model, as in the table of a batch."""
    from sdm.kinds.registry import task_for

    try:
        row = task_for(results.kind).summary_row(results.numbers)
    except (LookupError, TypeError):  # a model file without results, or a kind without a task
        row = {key: results.numbers.get(key) for key in ("status",)}
    return {key.replace("_", " "): value for key, value in row.items() if key not in _HIDDEN and value is not None}


def _preview(results: Results, width: int = 160) -> str:
    """Return the small map of a model."""
    path = results.path("preview")
    return "" if path is None else f'<img src="{embed(path)}" width="{width}" alt="map of {escape(results.title)}">'


def _warnings(texts: Sequence[str]) -> str:
    return "".join(f"<p>⚠ {escape(str(text))}</p>" for text in texts)
