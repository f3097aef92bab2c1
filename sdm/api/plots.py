"""Plots of results as matplotlib axes, drawn by the functions that draw the figures of a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes

from sdm.api.mapping import place_of_map, raster_places
from sdm.errors import ResultsError, UnknownNameError
from sdm.report import charts, stored_charts
from sdm.report.charts import LineChart
from sdm.report.figures.assessment import plot_stored_folds, plot_stored_tuning
from sdm.report.figures.charts import plot_bars, plot_curve
from sdm.report.figures.maps.drawn import plot_map
from sdm.report.figures.maps.plan import Marks, Shades
from sdm.report.figures.style import safe_text
from sdm.report.model_figures import record_places
from sdm.report.pictures import read_picture
from sdm.report.results import Results, rows_of
from sdm.report.stored_charts import CurveChart
from sdm.types import AnyArray, Array

PIXELS = 900  # maximum length of a map's longer side
ACROSS = 4  # maximum number of curves in a row
HINTS = {"folds": "fit with folds=5", "tune": "make the run with sdm.tune"}


class Plots:
    """Plots of one model. Every method except `curves` accepts the `ax` to draw on, and creates a figure without it.

    All return the axes.
    """

    def __init__(self, results: Results) -> None:
        self._results = results

    def map(self, name: str | None = None, ax: Axes | None = None, *, records: bool = True) -> Axes:
        """Draw a map with the records: the map named (one of `maps`), by default the first one of the report."""
        results = self._results
        first = "richness" if name is None and "richness" in raster_places(results) else name
        path, band, label = place_of_map(results, first), 1, ""
        if name is None and (layers := results.map_layers()):
            path, band, label = layers[0].path, layers[0].band, layers[0].label
        shades = (label, 1.0 if charts.TOP.get(results.scale) == 1.0 and label else None)
        points = record_places(results) if records else {}
        return draw_raster(path, results.title, shades, ax, points, band=band, species=results.of_species)

    def curve(self, variable: str, ax: Axes | None = None) -> Axes:
        """Draw the response to one variable."""
        curves = self._curve_charts()
        if variable not in curves:
            raise UnknownNameError(f"there is no response curve of '{variable}': expected one of {', '.join(curves)}")
        return plot_curve(curves[variable], ax)

    def curves(self, variables: Sequence[str] | None = None) -> AnyArray:
        """Draw the response to every variable, or to the variables named, in a grid; return an array of axes."""
        names = list(self._curve_charts() if variables is None else variables)
        if not names:
            raise ResultsError(f"there are no response curves of {self._results.title}: fit without curves=False")
        across = min(ACROSS, len(names))
        down = -(-len(names) // across)
        figure = pyplot.figure(figsize=(2.4 * across, 1.9 * down), layout="constrained")
        axes = [self.curve(name, figure.add_subplot(down, across, k)) for k, name in enumerate(names, start=1)]
        handles, labels = axes[0].get_legend_handles_labels()
        for k, one in enumerate(axes):  # one legend, and one label per row, are sufficient
            if (legend := one.get_legend()) is not None:
                legend.remove()
            if k % across:
                one.set_ylabel("")
        figure.legend(handles, labels, loc="outside upper center", ncols=2, fontsize=7, frameon=False)
        return np.array(axes, dtype=object)

    def importance(self, ax: Axes | None = None) -> Axes:
        """Draw permutation importance and percent contribution of the variables."""
        permuted, contributed = stored_charts.stored_importance(self._results)
        self._need(permuted, "importance", "importance=False")
        return plot_bars(charts.importance_chart(permuted, contributed), ax)

    def jackknife(self, measure: str = "train_gain", ax: Axes | None = None) -> Axes:
        """Draw the jackknife of the variables by a measure: `train_gain`, `test_gain`, `train_auc` or `test_auc`."""
        by_measure = charts.jackknife_charts(rows_of(self._results.tree("importance").get("jackknife")))
        if measure not in by_measure:
            listed = f"expected one of {', '.join(by_measure)}" if by_measure else "fit with jackknife=True"
            raise UnknownNameError(f"there is no jackknife by '{measure}' of {self._results.title}: {listed}")
        axes = plot_bars(by_measure[measure], ax, legend=False)  # it would cover the bars
        axes.legend(loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=2, fontsize=7, frameon=False)
        return axes

    def roc(self, ax: Axes | None = None) -> Axes:
        """Draw the ROC curve of training and test records."""
        self._rows("roc")  # raises without the table
        axes = plot_curve(cast("LineChart", stored_charts.roc_of(self._results)), ax, letters=60)
        axes.set_xlabel(axes.get_xlabel().replace(" (", "\n("))  # for narrow axes
        return axes

    def omission(self, ax: Axes | None = None) -> Axes:
        """Draw omission and predicted area against the cumulative threshold."""
        return plot_curve(charts.omission_chart(self._rows("omission")), ax)

    def calibration(self, ax: Axes | None = None) -> Axes:
        """Draw the share of sites with the species against its prediction, for a model with absences."""
        bins = self._results.tree("presence_absence").get("calibration") or self._results.numbers.get("calibration")
        rows = rows_of(bins)
        self._need(rows, "calibration", "no absences")
        return plot_curve(charts.calibration_chart(rows), ax)

    def folds(self, ax: Axes | None = None) -> Axes:
        """Draw the records by the fold in which they are held out, on a map."""
        self._rows("folds")  # raises without the table
        return plot_stored_folds(self._results, ax)

    def tuning(self, by: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw a measure against the multiplier for all settings of `sdm.tune`, with a ring around the chosen one."""
        rows = self._rows("tune")
        if by is not None and by not in rows[0]:
            raise UnknownNameError(f"there is no measure '{by}' of the tuning: expected one of {', '.join(rows[0])}")
        return plot_stored_tuning(self._results, by, ax)

    def _curve_charts(self) -> Mapping[str, CurveChart]:
        """Return the charts of the curves with a common height, as in the report; shares for classes."""
        return stored_charts.share_charts(self._results) or stored_charts.response_charts(self._results, {})

    def _rows(self, key: str) -> list[dict[str, str]]:
        rows = self._results.table(key)
        if not rows:
            hint = HINTS.get(key, "models of this kind do not have it, or the results are of an earlier version")
            raise ResultsError(f"there is no table '{key}' of {self._results.title}: {hint}")
        return rows

    def _need(self, rows: Sequence[object], subject: str, without: str) -> None:
        if not rows:
            raise ResultsError(f"there is no {subject} of {self._results.title}: the run was made with {without}")


def draw_raster(
    path: Path,
    title: str,
    shades: tuple[str, float | None],
    ax: Axes | None = None,
    records: Mapping[str, tuple[Array, Array]] | None = None,
    *,
    band: int = 1,
    species: bool = True,
) -> Axes:
    """Draw a raster of results on axes; `shades` are the label of its values, and their upper bound."""
    axes = plot_map(read_picture(path, PIXELS, band), Shades(*shades), ax, Marks(records or {}))
    axes.set_title(safe_text(title, 60), fontsize=9, fontstyle="italic" if species else "normal")
    return axes
