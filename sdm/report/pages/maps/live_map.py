"""Maps inside a page: reduced rasters as compressed numbers that the script colours, and the records."""

import base64
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from math import ceil, sqrt
from pathlib import Path

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.errors import RasterioError
from rasterio.windows import Window

from sdm.data.opening.rasters import open_local
from sdm.errors import ResultsError
from sdm.executors.ahead import ahead, allowed_threads
from sdm.models.colours import MAGMA
from sdm.report.charts import COLOURS, LEGEND, TOP, fold_colours
from sdm.report.pictures import PALETTE, PIXELS, Picture, read_picture
from sdm.report.results import PRESENT_COLOUR, MapLayer, Results, Row, column, number, rows_by
from sdm.report.stored_charts import stored_folds
from sdm.types import Numbers

BUDGET = 1_000_000  # characters of all layers of a map, so that a page is smaller than 2 MB
TILE = 256  # cells along the side of a tile
DENSE = 1.3  # largest number of characters per cell
WORTH = 1.3  # smallest ratio of the sides of a finer level to the overview


def reduced_pixels(picture: Picture, letters: float) -> int:
    """Return the number of pixels of the long side of an overview that fits into a number of characters."""
    high, wide = picture.cells
    cells = max(letters, 1.0) / DENSE
    return max(64, min(PIXELS, int(sqrt(cells * max(high, wide) / max(min(high, wide), 1)))))


def fine_level(
    path: Path,
    band: int,
    overview: Picture,
    packed: Callable[[NDArray[np.float32]], str],
    budget: int | None,
) -> Numbers | None:
    """Return a finer level of a map as tiles, from north to south and west to east; None if the overview has all
    cells.

    Parameters
    ----------
    overview
        The map as it is shown first.
    packed
        Returns some of its cells as text.
    budget
        How many letters all tiles together may take; None for all cells, whatever they take.
    """
    high, wide = overview.cells
    if overview.values.shape == overview.cells:
        return None
    shrink = 1.0
    if budget is not None:
        density = len(packed(overview.values)) / max(overview.values.size, 1)
        shrink = max(1.0, sqrt(high * wide * density * 1.1 / max(budget, 1)))
    shape = max(1, round(high / shrink)), max(1, round(wide / shrink))
    if max(shape) < WORTH * max(overview.values.shape):
        return None

    def cut(source: rasterio.DatasetReader) -> Iterator[NDArray[np.float32]]:
        for k in range(ceil(shape[0] / TILE)):
            rows = range(k * TILE, min((k + 1) * TILE, shape[0]))
            ends = [round(row * high / shape[0]) for row in (rows[0], rows[-1] + 1)]
            window = Window(0, ends[0], wide, max(ends[1] - ends[0], 1))
            strip = source.read(band, window=window, out_shape=(len(rows), shape[1]), masked=True)
            values = strip.astype(np.float32).filled(np.nan)
            yield from (values[:, c : c + TILE] for c in range(0, shape[1], TILE))

    try:
        with open_local(path) as source:
            if source.transform.e > 0:  # rows run from south to north, as in no file of a run
                return None
            tiles = list(ahead(packed, cut(source), allowed_threads(2)))
    except RasterioError as error:
        raise ResultsError(f"{path} cannot be read as a raster ({error}): run the fit again") from error
    return {"width": shape[1], "height": shape[0], "tile": TILE, "tiles": tiles}


LEVELS = 4000
NOTHING = 65535
MOST_POINTS = 5000
MOST_LAYERS = 8
OTHERS = 0.3  # of the budget, for all layers but the first
COARSE = 256  # pixels of the overview of a map with a finer level
TRAIN_COLOUR, TEST_COLOUR, LOST_COLOUR = PRESENT_COLOUR, COLOURS[1], "#c81e1e"
EFFORT = 6  # of compression: six times as fast as 9, and 3 % larger


def main_picture(results: Results, pixels: int = 512) -> Picture | None:
    """Return the first map, reduced; None without a map."""
    layers = results.map_layers()
    return read_picture(layers[0].path, pixels, layers[0].band) if layers else None


def pack(values: NDArray[np.float32], top: float, levels: int = LEVELS) -> str:
    """Return values from 0 to `top` as text, in a number of steps."""
    share = np.clip(np.nan_to_num(values / top), 0.0, 1.0)
    # Round down, as the page does with a threshold: a cell at the threshold is above it, as in the map.
    return pack_steps(np.where(np.isfinite(values), np.floor(share * levels + 1e-4), NOTHING))


def pack_steps(steps: NDArray[np.floating]) -> str:
    """Return integers up to 65535 as text: two bytes each, all high bytes first, deflated, in base 64."""
    integers = steps.astype(np.uint16)
    planes = np.stack([integers >> 8, integers & 255]).astype(np.uint8)
    return base64.b64encode(zlib.compress(planes.tobytes(), EFFORT)).decode("ascii")


def live_map(results: Results) -> Numbers | None:
    """Return all data of the live map of a page as numbers and texts; None without a map."""
    layers = results.map_layers()
    if not layers:
        return None
    main, top, packed = _pack_layers(results, layers)
    names = _legend_names(results)
    for layer in packed:
        layer["classes"] = {code: (names.get(label, label), tint) for code, (label, tint) in layer["classes"].items()}
    fine = packed[0]["fine"]
    shown_cells = main.values.shape if fine is None else (fine["height"], fine["width"])
    records, reasons = _records(results, main)
    return {
        "top": top,
        "levels": LEVELS,
        "nothing": NOTHING,
        "geographic": main.geographic,
        "unit": main.metres,
        "layers": packed,
        "left_out": [layer.name for layer in layers[MOST_LAYERS:]],
        "reduced": shown_cells != main.cells,
        "shown_cells": shown_cells,
        "records": records,
        "reasons": reasons,
        "folds": _folds(results),
        "sweep": _sweep(results),
        "thresholds": _thresholds(results),
        "chosen": _chosen(results),
    }


def _pack_layers(results: Results, layers: list[MapLayer]) -> tuple[Picture, float, list[Numbers]]:
    """Return the overview of the first layer, the value of its last colour, and the layers as numbers and texts.

    Every layer has an overview and, if the budget allows it, a finer level; the first layer has most of the budget. All
    layers have all cells if the run requests it (`output.page_map`).
    """
    full = results.option("output.page_map") == "full"
    main = read_picture(layers[0].path, band=layers[0].band)
    if main.values.shape != main.cells:  # a finer level follows, so the overview can be coarse
        main = read_picture(layers[0].path, COARSE, layers[0].band)
    others = layers[1:MOST_LAYERS]
    room = OTHERS * BUDGET / max(len(others), 1)  # of each layer
    pixels = PIXELS if full else min(COARSE, reduced_pixels(main, room))
    shown = [(layers[0], main), *((layer, read_picture(layer.path, pixels, layer.band)) for layer in others)]
    same = [picture.highest for layer, picture in shown if not layer.apart and not picture.legend]
    top = TOP.get(results.scale) or max(same, default=1.0)
    packed = [_layer(layer, picture, top) for layer, picture in shown]
    for k in range(1, len(packed)):
        _refine(packed[k], *shown[k], None if full else int(room))
        if not full and packed[k]["fine"] is None:  # the rest of the budget allows a larger overview
            fitting = read_picture(others[k - 1].path, reduced_pixels(main, room), others[k - 1].band)
            packed[k] = _layer(others[k - 1], fitting, top) | {"fine": None}
    rest = BUDGET - sum(map(_letters, packed[1:]))
    _refine(packed[0], *shown[0], None if full else rest)
    return main, top, packed


def _refine(data: Numbers, layer: MapLayer, picture: Picture, room: int | None) -> None:
    """Add a finer level to a layer, so that both levels have at most `room` characters; None allows all cells."""
    budget = None if room is None else max(room - len(data["values"]), 1)
    data["fine"] = fine_level(layer.path, layer.band, picture, partial(_packed, picture, data["top"]), budget)


def _letters(data: Numbers) -> int:
    """Return the number of characters of a layer."""
    return len(data["values"]) + sum(map(len, data["fine"]["tiles"] if data["fine"] else ()))


def _packed(picture: Picture, top: float, values: NDArray[np.float32]) -> str:
    """Return cells of a map as text: classes as their codes, other values as steps up to `top`."""
    if picture.legend:
        return pack_steps(np.where(np.isfinite(values), values, NOTHING))
    return pack(values, top)


def _legend_names(results: Results) -> dict[str, str]:
    """Return the legend names of presence and absence; empty for other classes."""
    band = results.presence_band
    return {} if band is None else {results.classes[band]: "presence", results.classes[1 - band]: "absence"}


def _layer(layer: MapLayer, picture: Picture, top: float) -> Numbers:
    """Return one map with its legend; `top` is the value of the last colour, unless the layer has its own."""
    top = picture.highest if layer.apart else top
    values = picture.values
    return {
        "name": layer.name,
        "label": layer.label,
        "species": layer.species,
        "width": values.shape[1],
        "height": values.shape[0],
        "bounds": picture.bounds,
        "aspect": picture.aspect,
        "top": top,
        "palette": MAGMA if layer.spread else PALETTE,
        "classes": {str(code): entry for code, entry in picture.legend.items()},
        "threshold": layer.threshold,
        "values": _packed(picture, top, values),
    }


def _records(results: Results, main: Picture) -> tuple[list[Numbers], list[str]]:
    """Return the records by group (training and test, presence and absence, or classes), the dropped records with the
    index of their reason, and the reasons."""
    samples, n = rows_by(results.table("sample predictions"), "Test or train"), results.numbers
    sites = rows_by(results.table("sites"), "class")
    parts = [
        ("train", "training", TRAIN_COLOUR, n.get("training_presences"), _points(samples.get("train", []))),
        ("test", "test", TEST_COLOUR, n.get("test_presences"), _points(samples.get("test", []))),
    ]
    for k, group in enumerate(results.site_groups(list(main.legend.values())[:LEGEND]) if sites else []):
        rows = sites.get(group.label, [])
        parts.append((f"class-{k}", group.name, group.colour, len(rows), _points(rows)))
    surveyed = _survey_sites(results, main) if results.shows_survey else []
    dropped, reasons = _left_out(results, main)
    parts.append(("sites", "sites", TRAIN_COLOUR, len(surveyed), surveyed[:MOST_POINTS]))
    parts.append(("lost", "dropped", LOST_COLOUR, len(dropped), dropped[:MOST_POINTS]))
    groups = [
        {"id": key, "name": name, "colour": colour, "count": count, "places": places, "cross": key == "lost"}
        for key, name, colour, count, places in parts
        if places
    ]
    return groups, reasons


def _fates(results: Results, main: Picture) -> list[Row]:
    """Return the rows of the record log; an empty list if its coordinate system is not that of the map."""
    crs = str(results.option("occurrences.crs") or results.option("sites.crs") or "EPSG:4326")
    return results.table("fate of records") if main.crs in ("", crs) else []


def _survey_sites(results: Results, main: Picture) -> list[list[float]]:
    """Return the coordinates of the sites of a joint model, each once."""
    rows = [row for row in _fates(results, main) if row.get("fate") == "kept"]
    return [list(place) for place in dict.fromkeys(map(tuple, _points(rows, len(rows))))]


def _left_out(results: Results, main: Picture) -> tuple[list[list[float]], list[str]]:
    """Return the coordinates of dropped records, each with the index of its reason, and the reasons.

    They are shown only if the coordinate system of the file is also that of the map.
    """
    rows = [row for row in _fates(results, main) if row.get("fate") not in ("kept", None)]
    reasons = list(dict.fromkeys(row.get("reason") or row["fate"] for row in rows))
    places = []
    for row, x, y in zip(rows, column(rows, "x"), column(rows, "y")):
        if np.isfinite(x) and np.isfinite(y):
            code = reasons.index(row.get("reason") or row["fate"])
            places.append([float(f"{x:.8g}"), float(f"{y:.8g}"), code])
    return places, reasons


def _folds(results: Results) -> list[Numbers]:
    """Return the records by fold with a colour each; an empty list if there are too many folds for a legend."""
    folds = stored_folds(results)
    colours = fold_colours(len(folds))
    return [
        {"name": f"fold {label} ({len(fold_rows):,})", "colour": colour, "places": _points(fold_rows)}
        for (label, fold_rows), colour in zip(folds.items() if 1 < len(folds) <= LEGEND else (), colours)
    ]


def _points(rows: list[Row], most: int = MOST_POINTS) -> list[list[float]]:
    """Return the coordinates of records, thinned evenly to at most `most`."""
    rows = rows[:: -(-len(rows) // max(most, 1)) or 1]
    x, y = ("X", "Y") if rows and "X" in rows[0] else ("x", "y")
    places = zip(column(rows, x), column(rows, y))
    return [[float(f"{x:.8g}"), float(f"{y:.8g}")] for x, y in places if np.isfinite(x) and np.isfinite(y)]


def _sweep(results: Results) -> list[list[float | None]]:
    """Return threshold, area (for classes false presences), training and test omission of the stored table."""
    names = ("Threshold", results.area_column, "Training omission", "Test omission")
    return [[number(row.get(name)) for name in names] for row in results.table("roc")]


def _thresholds(results: Results) -> list[Numbers]:
    """Return the named thresholds on the scale of the map."""
    keys = {"area": results.area_key, "train": "training_omission", "test": "test_omission"}
    rows = [row for row in results.tree("thresholds").values() if isinstance(row, dict)]
    return [
        {"name": row.get("name"), "value": value} | {a: number(row.get(b)) for a, b in keys.items()}
        for row in rows
        if (value := number(row.get(results.scale))) is not None
    ]


def _chosen(results: Results) -> float | None:
    """Return the initial threshold of a page: the threshold of the run, else `maxsss`."""
    threshold = number(results.numbers.get("map_threshold"))
    common = results.tree("thresholds").get("maxsss")
    return threshold if threshold is not None or not isinstance(common, dict) else number(common.get(results.scale))
