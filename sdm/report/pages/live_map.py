"""Maps inside a page: reduced rasters as compressed numbers that the page colours itself, and the records."""

import base64
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm.models.presence import presence_class, shown_class
from sdm.report.charts import LEGEND, SCALES, TOP
from sdm.report.pictures import PALETTE, Picture, read_picture
from sdm.report.results import Results, Row, column, number

LEVELS = 4000
NOTHING = 65535
MOST_POINTS = 5000
MOST_LAYERS = 8
TRAINING = "training layers"
SPREAD = {
    "mean map": "mean over replicates",
    "sd map": "standard deviation over replicates",
    "lower map": "lower limit over replicates",
    "upper map": "upper limit over replicates",
}
TRAIN_COLOUR, TEST_COLOUR, ABSENT_COLOUR = "#ffffff", "#ff7a59", "#8fa3ad"


@dataclass(frozen=True)
class MapLayer:
    """A band of a raster that a page shows: whether the threshold applies to it, and whether it has its own top."""

    name: str
    path: Path
    label: str
    band: int = 1
    threshold: bool = True
    apart: bool = False


def map_layers(results: Results) -> list[MapLayer]:
    """Return the maps of a model, the one that is shown first before all others."""
    label = SCALES.get(results.scale, results.scale)
    titles = dict.fromkeys(key.partition("projection ")[2] for key in results.files if "projection " in key)
    endings = {"map": "", **{f"projection {title}": title for title in titles}}
    if results.kind == "classes":
        found = _class_layers(results, endings)
        label = found[0].label if found else label
    else:
        names = {key: f"projection: {title}" if title else TRAINING for key, title in endings.items()}
        found = [MapLayer(name, path, label) for key, name in names.items() if (path := results.path(key))]
    spread = [(name, results.path(key), key == "sd map") for key, name in SPREAD.items()]
    return found + [MapLayer(name, path, label, 1, not apart, apart) for name, path, apart in spread if path]


def _class_layers(results: Results, endings: dict[str, str]) -> list[MapLayer]:
    """Return the maps of classes: of two classes the probability of one first, of more the most probable class."""
    labels, two = results.classes, len(results.classes) == 2
    bands = [shown_class(labels)] if two else list(enumerate(labels))
    first, others = [], []
    for ending, title in endings.items():
        said, shown = f"{title}: " if title else "", results.path(ending)
        shares, most, entropy = [], [], []
        if path := results.path(f"probability {ending}") or (shown if two else None):
            shares = [MapLayer(f"{said}probability of {a}", path, f"Probability of {a}", c + 1, two) for c, a in bands]
        if path := results.path(f"class {ending}") or (None if two else shown):
            most = [MapLayer(f"{said}most probable class", path, "Most probable class", 1, False)]
        if path := results.path(f"entropy {ending}"):
            entropy = [MapLayer(f"{said}entropy", path, "Entropy of the classes (nats)", 1, False, True)]
        first += shares if two else most
        others += [*most, *entropy] if two else [*entropy, *shares]
    return first + others


def pack(values: NDArray[np.float32], top: float, levels: int = LEVELS, effort: int = 9) -> str:
    """Return values from 0 to `top` as text, in steps of 1/4000 or another number of levels."""
    share = np.clip(np.nan_to_num(values / top), 0.0, 1.0)
    # Rounded down, as the page rounds a threshold: a cell whose value is the threshold is above it, as in the map.
    return pack_steps(np.where(np.isfinite(values), np.floor(share * levels + 1e-4), NOTHING), effort)


def pack_steps(steps: NDArray[np.floating], effort: int = 9) -> str:
    """Return whole numbers up to 65535 as text: two bytes each, all high ones first, deflated, in base 64."""
    whole = steps.astype(np.uint16)
    planes = np.stack([whole >> 8, whole & 255]).astype(np.uint8)
    return base64.b64encode(zlib.compress(planes.tobytes(), effort)).decode("ascii")


def live_map(results: Results) -> dict[str, Any] | None:
    """Return everything that the live map of a page needs, as plain numbers and texts; None where there is no map."""
    layers = map_layers(results)
    if not layers:
        return None
    shown = [(layer, read_picture(layer.path, band=layer.band)) for layer in layers[:MOST_LAYERS]]
    main = shown[0][1]
    same = [picture.highest for layer, picture in shown if not layer.apart and not picture.legend]
    top = TOP.get(results.scale) or max(same, default=1.0)
    return {
        "top": top,
        "levels": LEVELS,
        "nothing": NOTHING,
        "palette": PALETTE,
        "geographic": main.geographic,
        "layers": [_layer(layer, picture, top) for layer, picture in shown],
        "left_out": [layer.name for layer in layers[MOST_LAYERS:]],
        "reduced": main.cells != main.values.shape,
        "records": _records(results, main),
        "sweep": _sweep(results),
        "thresholds": _thresholds(results),
        "chosen": _chosen(results),
    }


def _layer(layer: MapLayer, picture: Picture, top: float) -> dict[str, Any]:
    """Return one map: classes as their values with a legend, others as steps up to `top`, or to their own highest."""
    top = picture.highest if layer.apart else top
    values = picture.values
    return {
        "name": layer.name,
        "label": layer.label,
        "width": values.shape[1],
        "height": values.shape[0],
        "bounds": picture.bounds,
        "aspect": picture.aspect,
        "top": top,
        "classes": {str(code): entry for code, entry in picture.legend.items()},
        "threshold": layer.threshold,
        "values": pack_steps(np.where(np.isfinite(values), values, NOTHING)) if picture.legend else pack(values, top),
    }


def _records(results: Results, main: Picture) -> list[dict[str, Any]]:
    """Return the records by group: training and test, presence and absence, or the classes."""
    samples = results.table("sample predictions")
    n = results.numbers
    parts = [("train", "training", TRAIN_COLOUR, n.get("training_presences"), _of(samples, "Test or train", "train"))]
    parts.append(("test", "test", TEST_COLOUR, n.get("test_presences"), _of(samples, "Test or train", "test")))
    sites, labels = results.table("sites"), results.classes
    here = presence_class(labels)
    if here is not None:
        groups = [("presences", TRAIN_COLOUR, labels[here]), ("absences", ABSENT_COLOUR, labels[1 - here])]
    else:
        groups = [(label, colour, label) for label, colour in list(main.legend.values())[:LEGEND]]
    for k, (name, colour, label) in enumerate(groups if sites else []):
        rows = _of(sites, "class", label)
        parts.append((f"class-{k}", name, colour, len(rows), rows))
    return [
        {"id": key, "name": name, "colour": colour, "count": count, "places": places}
        for key, name, colour, count, rows in parts
        if (places := _points(rows))
    ]


def _of(rows: list[Row], name: str, value: str) -> list[Row]:
    return [row for row in rows if row.get(name) == value]


def _points(rows: list[Row]) -> list[list[float]]:
    """Return the places of records; of very many, an even part of them."""
    rows = rows[:: -(-len(rows) // MOST_POINTS) or 1]
    x, y = ("X", "Y") if rows and "X" in rows[0] else ("x", "y")
    places = zip(column(rows, x), column(rows, y))
    return [[float(f"{x:.8g}"), float(f"{y:.8g}")] for x, y in places if np.isfinite(x) and np.isfinite(y)]


def _sweep(results: Results) -> list[list[float | None]]:
    """Return threshold, area (of classes false presences), training and test omission of the stored table."""
    area = "Training false presences" if results.kind == "classes" else "Fractional area"
    names = ("Threshold", area, "Training omission", "Test omission")
    return [[number(row.get(name)) for name in names] for row in results.table("roc")]


def _thresholds(results: Results) -> list[dict[str, Any]]:
    """Return the thresholds that have names, on the map's scale."""
    area = "false_presences" if results.kind == "classes" else "area"
    keys = {"area": area, "train": "training_omission", "test": "test_omission"}
    rows = [row for row in results.tree("thresholds").values() if isinstance(row, dict)]
    return [
        {"name": row.get("name"), "value": value} | {a: number(row.get(b)) for a, b in keys.items()}
        for row in rows
        if (value := number(row.get(results.scale))) is not None
    ]


def _chosen(results: Results) -> float | None:
    """Return the threshold that a page begins with: the run's own, else `maxsss`."""
    own = number(results.numbers.get("map_threshold"))
    common = results.tree("thresholds").get("maxsss")
    return own if own is not None or not isinstance(common, dict) else number(common.get(results.scale))
