"""The results of one species under Java Maxent's names: model, tables, page, pictures, maps and curves."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sdm.assess.measures.thresholds import NAMES, TEST_NAMES
from sdm.errors import OptionError
from sdm.java.flags import JavaCommand
from sdm.java.grids import GridValues, GridWriter, read_grid
from sdm.java.translation import projections, threshold_key
from sdm.kinds.task import ModelResult
from sdm.models.file import load_model, save_model
from sdm.models.lambdas import omission_place
from sdm.models.species import Model
from sdm.options.definitions import RunOptions
from sdm.report.results import column, read_rows, rows_by
from sdm.report.tables import table_text
from sdm.run.projecting.tables import PredictionSettings
from sdm.storage.files import safe_name, write_text
from sdm.types import Array, Index, Row

_ROWS = 1000  # of `_omission.csv`


def grid_writer(command: JavaCommand, options: RunOptions, folder: Path) -> GridWriter:
    """Return what writes the maps of a command."""
    return GridWriter(
        folder,
        ".asc" if command["outputfiletype"] == "mxe" else f".{command['outputfiletype']}",
        PredictionSettings(options.predict.scale, options.predict.extrapolation, threads=options.threads),
        command["writeclampgrid"],
        command["writemess"],
    )


def write_outputs(
    result: ModelResult, command: JavaCommand, options: RunOptions, folder: Path, base: str, *, alone: bool = False
) -> tuple[Row, dict[str, GridValues]]:
    """Write what Java Maxent writes of one model, under the name `base`. If it is `alone`, without replicates, its map
    on the layers is not read again.

    Returns
    -------
    row : dict
        Its row of maxentResults.csv.
    maps : dict
        Its maps by the ending of their names: of the layers, and of every projection.
    """
    source = result.folder
    if source is None:
        raise OptionError(f"{result.name} has no results")
    stored = {key: source / name for key, name in result.files.items() if isinstance(name, str)}
    model = load_model(stored["model"])
    if not isinstance(model, Model):
        raise OptionError(f"{result.name} is a {model.called}, and maxent.jar makes models of one species")
    logistic = options.predict.scale == "logistic"
    maps = _write_maps(result, stored, base, grid_writer(command, options, folder), command, options, alone)
    if "page" in stored:
        _write_page(stored["page"], folder, base)
    _copy_pictures(stored, folder, base)
    if "sample averages" in stored:
        shutil.copyfile(stored["sample averages"], folder / f"{base}_sampleAverages.csv")
    save_model(model, folder / f"{base}.lambdas", overwrite=True)
    _write_omission(stored, folder / f"{base}.lambdas", model, logistic)
    for key, (ending, raw, cloglog, renamed) in _PREDICTIONS.items():
        if key in stored:
            rows: list[Row] = [*read_rows(stored[key])]
            rows = _on_logistic(rows, raw, (cloglog, renamed), model) if logistic else rows
            write_text(folder / f"{base}_{ending}.csv", table_text(rows), overwrite=True)
    return _results_row(result, stored["results"], base, logistic), maps


# Tables of predictions: the ending of their name, and the columns of the raw, the cloglog and the logistic scale.
_PREDICTIONS = {
    "sample predictions": ("samplePredictions", "Raw prediction", "Cloglog prediction", "Logistic prediction"),
    "background predictions": ("backgroundPredictions", "raw", "Cloglog", "Logistic"),
}


def _write_maps(
    result: ModelResult,
    stored: Mapping[str, Path],
    base: str,
    writer: GridWriter,
    command: JavaCommand,
    options: RunOptions,
    alone: bool,
) -> dict[str, GridValues]:
    """Write the map of the layers and those of projections, with presence and absence by a rule where asked for."""
    keep, maps = command["outputgrids"], dict[str, GridValues]()
    rule = threshold_key(command["applythresholdrule"])
    level = None if rule is None else float(result.numbers["thresholds"][rule][options.predict.scale])
    if "map" in stored:
        if not alone:
            maps[""] = read_grid(stored["map"])
        if keep:
            writer.copy(stored["map"], base)
        if keep and level is not None:
            writer.cut(read_grid(stored["map"]), base, level)
    for name, place in projections(command).items():
        projected = writer.predict(stored["model"], place, f"{base}_{name}", level, keep)
        if projected is not None:
            maps[f"_{name}"] = projected
    return maps


def _results_row(result: ModelResult, table: Path, base: str, logistic: bool) -> Row:
    """Return the row of maxentResults.csv; with logistic maps its thresholds are on that scale, as Java Maxent's."""
    row: Row = {**read_rows(table)[0], "Species": base}
    if not logistic:
        return row
    out: Row = {}
    keys = {name: key for key, name in {**NAMES, **TEST_NAMES}.items()}
    for head, value in row.items():
        name = head.removesuffix(" Cloglog threshold")
        if name != head and name in keys:
            out[f"{name} Logistic threshold"] = result.numbers["thresholds"][keys[name]]["logistic"]
        else:
            out[head] = value
    return out


def _write_omission(stored: Mapping[str, Path], path: Path, model: Model, logistic: bool) -> None:
    """Write `_omission.csv` with Java Maxent's columns, a row per step of the cumulative scale; areas between whole
    percentages are interpolated."""
    scale = "logistic" if logistic else "cloglog"
    table = read_rows(stored["omission"])
    samples = rows_by(read_rows(stored["sample predictions"]), "Test or train")
    raw, percent = _thinned(model.cumulative).T
    columns = {
        "Raw value": raw,
        "Corresponding cumulative value": percent,
        f"Corresponding {scale.capitalize()} value": model.from_raw(raw, scale),
        "Fractional area": np.interp(percent, column(table, "Cumulative threshold"), column(table, "Fractional area")),
    }
    for part, name in (("train", "Training omission"), ("test", "Test omission")):
        predicted = np.array(column(samples.get(part, ()), "Raw prediction"))
        columns[name] = np.array([np.mean(predicted < level) if predicted.size else 0.0 for level in raw])
    rows = [dict(zip(columns, map(float, row))) for row in zip(*columns.values())]
    write_text(omission_place(path), table_text(rows), overwrite=True)


def _thinned(table: Array) -> Array:
    """Return at most some hundred rows of a cumulative table, in even steps of the percentage, with both ends."""
    if len(table) <= _ROWS:
        return table
    steps = np.searchsorted(table[:, 1], np.linspace(table[0, 1], table[-1, 1], _ROWS))
    rows: Index = np.unique(np.append([0, len(table) - 1], steps).clip(max=len(table) - 1))
    return table[rows]


def _on_logistic(rows: Sequence[Row], raw: str, names: tuple[str, str], model: Model) -> list[Row]:
    """Return rows with a logistic column, from the raw one, in place of the cloglog column."""
    cloglog, logistic = names
    values = model.from_raw(np.array([float(row[raw]) for row in rows]), "logistic").tolist()
    others = [{key: value for key, value in row.items() if key != cloglog} for row in rows]
    return [row | {logistic: value} for row, value in zip(others, values)]


def _write_page(page: Path, folder: Path, base: str) -> None:
    """Copy the page; its links lead to the results of sdm."""
    inside = page.parent.relative_to(folder).as_posix()
    text = page.read_text(encoding="utf-8")
    text = re.sub(r'href="(?![#/\']|[a-z]+:)', f'href="{inside}/', text)  # not in scripts, which a digest protects
    write_text(folder / f"{base}.html", text, overwrite=True)


def _copy_pictures(stored: Mapping[str, Path], folder: Path, base: str) -> None:
    """Copy the picture of the map and those of the page to `plots/`."""
    pictures = {f"{base}.png": stored["picture"]} if "picture" in stored else {}
    if "plots" in stored:
        pictures |= {f"{base}_{path.name}": path for path in sorted(stored["plots"].glob("*.png"))}
    for name, path in pictures.items():
        (folder / "plots").mkdir(exist_ok=True)
        shutil.copyfile(path, folder / "plots" / name)


_ENDINGS = {"marginal": "", "only": "_only"}
_POINTS = 1001  # of curves over replicates, as in Java Maxent
Curve = tuple[Array, Array, bool]  # values, responses, and whether the values are categories


def read_curves(result: ModelResult) -> dict[tuple[str, str], Curve]:
    """Return the response curves of a model by variable and the ending of their file; none if they were not drawn."""
    if result.folder is None or "curves" not in result.files:
        return {}
    found: dict[tuple[str, str], Curve] = {}
    for variable, rows in rows_by(read_rows(result.folder / str(result.files["curves"])), "variable").items():
        for kind, own in rows_by(rows, "kind").items():
            if kind in _ENDINGS:
                x, y = (np.array(column(own, name)) for name in ("value", "response"))
                found[variable, _ENDINGS[kind]] = (x, y, any(row.get("class") for row in own))
    return found


def write_plot_data(curves: dict[tuple[str, str], Curve], folder: Path, base: str) -> None:
    """Write every curve as a table of variable, x and y."""
    for (variable, ending), (x, y, _) in curves.items():
        rows = [{"variable": variable, "x": one, "y": other} for one, other in zip(x.tolist(), y.tolist())]
        (folder / "plots").mkdir(exist_ok=True)
        place = folder / "plots" / f"{base}_{safe_name(variable)}{ending}.dat"
        write_text(place, table_text(rows), overwrite=True)


def average_curves(replicates: Sequence[dict[tuple[str, str], Curve]]) -> dict[tuple[str, str], Curve]:
    """Return the mean of the curves of replicates: over all their values; a category over those that know it."""
    out: dict[tuple[str, str], Curve] = {}
    for key in dict.fromkeys(key for one in replicates for key in one):
        own = [one[key] for one in replicates if key in one]
        if own[0][2]:
            codes = np.unique(np.concatenate([x for x, _, _ in own]))
            mean = np.array([np.mean([y[x == code][0] for x, y, _ in own if (x == code).any()]) for code in codes])
            out[key] = (codes, mean, True)
        else:
            places = np.linspace(min(x[0] for x, _, _ in own), max(x[-1] for x, _, _ in own), _POINTS)
            out[key] = (places, np.mean([np.interp(places, x, y) for x, y, _ in own], axis=0), False)
    return out
