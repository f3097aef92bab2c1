"""Pictures that are not charts, from stored results: folds on a map, and the choice of settings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sdm.report.charts import fold_names
from sdm.report.figures.assessment import FoldPlaces, plot_folds, plot_tuning
from sdm.report.figures.style import one_plot, save
from sdm.report.pages.maps.live_map import main_picture
from sdm.report.paper import COLUMN, PAGE, Paper
from sdm.report.results import Results, Row, column, number
from sdm.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_stored_folds(results: Results, ax: "Axes | None" = None) -> "Axes":
    """Put the fold that each record is held out in on axes, over the land."""
    rows = [row for row in results.table("folds") if row.get("kind") != "background" and row.get("fold")]
    names = fold_names(rows)
    group = np.array([names.index(row["fold"]) for row in rows], dtype=np.int64)
    land = main_picture(results)
    places = np.array(column(rows, "X")), np.array(column(rows, "Y"))
    geographic = land is not None and land.geographic
    return plot_folds(FoldPlaces(places, group, names, geographic=geographic, land=land), ax)


def plot_stored_tuning(results: Results, by: str | None = None, ax: "Axes | None" = None) -> "Axes":
    """Put a measure of all settings that were tried against the multiplier on axes, by default the one that chose."""
    rows = results.table("tune")
    measure = by or str((results.tree("tuning").get("by") or ["auc.val.avg"])[0])
    return plot_tuning([_setting(row) for row in rows], measure, [row.get("chosen") for row in rows].index("True"), ax)


def draw_stored(results: Results, paper: Paper) -> None:
    """Draw the folds and the choice of settings of a model, where it has them."""
    plots = results.folder / "plots"
    if results.table("folds"):
        figure, axes = one_plot(COLUMN, 90.0, paper)
        plot_stored_folds(results, axes)
        save(figure, plots / "folds.png")
    if results.table("tune"):
        figure, axes = one_plot(PAGE, 80.0, paper)
        plot_stored_tuning(results, ax=axes)
        save(figure, plots / "tune.png")


def _setting(row: Mapping[str, str] | Row) -> Numbers:
    """Return a row of what was tried with numbers, its multiplier, and what else it is."""
    words = [row[key] for key in ("fc",) if row.get(key)]
    words += [f"{key} {row[key]}" for key in ("entropy", "regularization", "lambda", "beta") if row.get(key)]
    values = {key: number(text) for key, text in row.items()}
    return {**values, "multiplier": values.get("rm") or 1.0, "label": ", ".join(words)}
