"""Results of one species under the names of Java Maxent: model, tables, page, pictures, maps and curves."""

import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.errors import RasterioError

from sdm.assess.measures.thresholds import NAMES, TEST_NAMES
from sdm.data.opening.rasters import open_local
from sdm.errors import InapplicableError, OptionError, OutputError
from sdm.java.flags import JavaCommand
from sdm.java.translation import projections, threshold_key
from sdm.kinds.inputs import is_swd
from sdm.kinds.task import ModelResult
from sdm.maps.gis.formats import copy_map, map_format
from sdm.maps.rasters import BINARY_NODATA
from sdm.models.file import load_model, save_model
from sdm.models.lambdas import omission_path
from sdm.models.species import Model
from sdm.options.definitions import RunOptions
from sdm.report.results import column, read_rows, rows_by
from sdm.report.tables import table_text
from sdm.run.predicting import predict_files
from sdm.run.projecting.tables import PredictionSettings
from sdm.storage.files import safe_name, write_text
from sdm.types import Array, Index, Row

SUMMARIES = ("avg", "stddev", "median", "min", "max")
_NODATA = -9999.0
_BESIDE = (".aux.xml",)  # additional files of GDAL, which are not copied


@dataclass(frozen=True)
class GridWriter:
    """Writes maps into a folder, in the format of an extension."""

    folder: Path
    ending: str  # such as `.asc`
    settings: PredictionSettings
    clamping: bool = True
    novelty: bool = True

    def copy(self, source: Path, name: str) -> Path:
        """Copy a map with the additional files of its format, such as `.prj`."""
        target = self.folder / f"{name}{self.ending}"
        try:
            with tempfile.TemporaryDirectory(prefix=".sdm-", suffix=".part", dir=self.folder) as place:
                copy_map(source, Path(place) / target.name, map_format(target))
                for file in sorted(Path(place).iterdir()):
                    if not file.name.endswith(_BESIDE):
                        os.replace(file, self.folder / file.name)
        except (RasterioError, OSError) as error:
            raise OutputError(f"{target} cannot be written ({error})") from error
        return target

    def write(self, grid: "GridValues", name: str, nodata: float = _NODATA, dtype: str = "float32") -> Path:
        """Write an array as a map."""
        filled = np.where(np.isnan(grid.values), nodata, grid.values).astype(dtype)
        shape = {"height": filled.shape[0], "width": filled.shape[1], "count": 1, "dtype": dtype}
        place = {"crs": grid.crs, "transform": grid.transform}
        with tempfile.TemporaryDirectory(prefix=".sdm-", suffix=".part", dir=self.folder) as folder:
            path = Path(folder) / "plain.tif"
            with rasterio.open(path, "w", driver="GTiff", nodata=nodata, **shape, **place) as out:
                out.write(filled, 1)
            return self.copy(path, name)

    def predict(
        self, model: Path, layers: str, name: str, threshold: float | None = None, keep: bool = True
    ) -> "GridValues | None":
        """Map a model on layers, with clamping and novelty if requested; for a table, write it with predictions. Return
        the map, which is written only if `keep` is true."""
        if is_swd([layers]):
            predict_files(model, [layers], self.folder / f"{name}.csv", replace(self.settings, overwrite=True))
            return None
        optional = (("mess", self.novelty and keep), ("clamping", self.clamping and keep))
        measures = [word for word, requested in optional if requested]
        with tempfile.TemporaryDirectory(prefix=".sdm-", suffix=".part", dir=self.folder) as place:
            map_path = Path(place) / "map.tif"
            predict_files(model, [layers], map_path, replace(self.settings, novelty=measures or None))
            if keep:
                self.copy(map_path, name)
            if "clamping" in measures:
                self.copy(Path(place) / "map_clamping.tif", f"{name}_clamping")
            if "mess" in measures:
                self.copy(Path(place) / "map_mess.tif", f"{name}_novel")
                mess, which = (read_grid(Path(place) / f"map_{word}.tif") for word in ("mess", "mod"))
                numbers = limiting_numbers(mess.values, which.values, load_model(model).names)
                self.write(replace(mess, values=numbers), f"{name}_novel_limiting")
            grid = read_grid(map_path)
        if threshold is not None and keep:
            self.cut(grid, name, threshold)
        return grid

    def cut(self, grid: "GridValues", name: str, threshold: float) -> None:
        """Write 1 where a map is at or above a threshold, and 0 elsewhere."""
        present = np.where(np.isnan(grid.values), np.nan, grid.values >= np.float32(threshold))
        self.write(replace(grid, values=present), f"{name}_thresholded", BINARY_NODATA, "uint8")

    def summarise(self, maps: Sequence["GridValues"], name: str) -> None:
        """Write average, standard deviation, median, minimum and maximum of the maps of replicates."""
        for word, values in summaries(np.stack([one.values for one in maps])).items():
            self.write(replace(maps[0], values=values), f"{name}_{word}")


@dataclass(frozen=True)
class GridValues:
    """A map as an array, with NaN for nodata, and its grid."""

    values: Array
    crs: object
    transform: object


def read_grid(path: Path) -> GridValues:
    """Read a map."""
    with open_local(path) as source:
        values = source.read(1, masked=True).astype(np.float64).filled(np.nan)
        return GridValues(values, source.crs, source.transform)


def limiting_numbers(mess: Array, which: Array, names: Sequence[str]) -> Array:
    """Return the numbers of the most dissimilar variables as in Java Maxent: positions in alphabetical order from 0,
    and the number of variables if all are inside their training ranges.

    `which` numbers them from 1 in the order of the model.
    """
    order = np.argsort(np.argsort(np.array(names))).astype(np.float64)
    valid = np.isfinite(which) & (which >= 1) & (which <= len(names))
    place: NDArray[np.int64] = np.where(valid, which, 1).astype(np.int64) - 1
    out: Array = np.where(valid & (mess < 0), order[place], float(len(names)))
    out[np.isnan(mess)] = np.nan
    return out


def summaries(maps: Array) -> dict[str, Array]:
    """Return the summaries of replicates `(k, rows, columns)` as in Java Maxent: the median is the upper one of two,
    and the standard deviation divides by their number."""
    middle = np.sort(maps, axis=0)[len(maps) // 2]
    layers = (maps.mean(axis=0), maps.std(axis=0), middle, maps.min(axis=0), maps.max(axis=0))
    return dict(zip(SUMMARIES, layers))


_ROWS = 1000  # of `_omission.csv`


def grid_writer(command: JavaCommand, options: RunOptions, folder: Path) -> GridWriter:
    """Return the writer of the maps of a command."""
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
    """Write the files of one model as Java Maxent does, with the name `base`. If it is `alone`, without replicates, its
    map on the layers is not read again.

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
        raise InapplicableError(f"{result.name} is a {model.called}, and maxent.jar fits models of one species")
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


# Tables of predictions: suffix, and the columns of the raw, cloglog and logistic scale.
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
    """Write the maps of the layers and projections, and of presence by a rule if requested."""
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
    """Return the row of maxentResults.csv. With logistic maps, its thresholds are logistic, as in Java Maxent."""
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
    """Write `_omission.csv` with the columns of Java Maxent, one row per step of the cumulative scale. Areas between
    whole percentages are interpolated."""
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
    write_text(omission_path(path), table_text(rows), overwrite=True)


def _thinned(table: Array) -> Array:
    """Return at most about a hundred rows of a cumulative table, in equal steps of the percentage, with both ends."""
    if len(table) <= _ROWS:
        return table
    steps = np.searchsorted(table[:, 1], np.linspace(table[0, 1], table[-1, 1], _ROWS))
    rows: Index = np.unique(np.append([0, len(table) - 1], steps).clip(max=len(table) - 1))
    return table[rows]


def _on_logistic(rows: Sequence[Row], raw: str, names: tuple[str, str], model: Model) -> list[Row]:
    """Return rows with a logistic column, computed from the raw one, instead of the cloglog column."""
    cloglog, logistic = names
    values = model.from_raw(np.array([float(row[raw]) for row in rows]), "logistic").tolist()
    others = [{key: value for key, value in row.items() if key != cloglog} for row in rows]
    return [row | {logistic: value} for row, value in zip(others, values)]


def _write_page(page: Path, folder: Path, base: str) -> None:
    """Copy the page, with links to the results of sdm."""
    inside = page.parent.relative_to(folder).as_posix()
    text = page.read_text(encoding="utf-8")
    text = re.sub(r'href="(?![#/\']|[a-z]+:)', f'href="{inside}/', text)  # not in scripts, which a digest protects
    write_text(folder / f"{base}.html", text, overwrite=True)


def _copy_pictures(stored: Mapping[str, Path], folder: Path, base: str) -> None:
    """Copy the picture of the map and the figures of the page to `plots/`."""
    pictures = {f"{base}.png": stored["picture"]} if "picture" in stored else {}
    if "plots" in stored:
        pictures |= {f"{base}_{path.name}": path for path in sorted(stored["plots"].glob("*.png"))}
    for name, path in pictures.items():
        (folder / "plots").mkdir(exist_ok=True)
        shutil.copyfile(path, folder / "plots" / name)


_ENDINGS = {"marginal": "", "only": "_only"}
_POINTS = 1001  # steps of curves over replicates, as in Java Maxent
Curve = tuple[Array, Array, bool]  # values, responses, and whether the values are categories


def read_curves(result: ModelResult) -> dict[tuple[str, str], Curve]:
    """Return the response curves of a model by variable and suffix; empty if they were not drawn."""
    if result.folder is None or "curves" not in result.files:
        return {}
    curves: dict[tuple[str, str], Curve] = {}
    for variable, rows in rows_by(read_rows(result.folder / str(result.files["curves"])), "variable").items():
        for kind, points in rows_by(rows, "kind").items():
            if kind in _ENDINGS:
                x, y = (np.array(column(points, name)) for name in ("value", "response"))
                curves[variable, _ENDINGS[kind]] = (x, y, any(row.get("class") for row in points))
    return curves


def write_plot_data(curves: dict[tuple[str, str], Curve], folder: Path, base: str) -> None:
    """Write every curve as a table of variable, x and y."""
    for (variable, ending), (x, y, _) in curves.items():
        rows = [{"variable": variable, "x": one, "y": other} for one, other in zip(x.tolist(), y.tolist())]
        (folder / "plots").mkdir(exist_ok=True)
        place = folder / "plots" / f"{base}_{safe_name(variable)}{ending}.dat"
        write_text(place, table_text(rows), overwrite=True)


def average_curves(replicates: Sequence[dict[tuple[str, str], Curve]]) -> dict[tuple[str, str], Curve]:
    """Return the mean curve of replicates over all their values; for a category, over the replicates with the
    category."""
    out: dict[tuple[str, str], Curve] = {}
    for key in dict.fromkeys(key for one in replicates for key in one):
        curves = [one[key] for one in replicates if key in one]
        if curves[0][2]:
            codes = np.unique(np.concatenate([x for x, _, _ in curves]))
            mean = np.array([np.mean([y[x == code][0] for x, y, _ in curves if (x == code).any()]) for code in codes])
            out[key] = (codes, mean, True)
        else:
            places = np.linspace(min(x[0] for x, _, _ in curves), max(x[-1] for x, _, _ in curves), _POINTS)
            out[key] = (places, np.mean([np.interp(places, x, y) for x, y, _ in curves], axis=0), False)
    return out
