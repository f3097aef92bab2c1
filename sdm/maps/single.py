"""Maps of one model: suitability, presence by a threshold, and the spread of replicates; or classes, the most probable
class and the entropy. Memory is a few windows, whatever the size of the raster."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm._version import __version__
from sdm.assess.uncertainty import predict_spread
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.stack import Stack
from sdm.errors import DataError, OptionError
from sdm.maps.gis.tags import PRESENCE_WORDS, RasterSummary
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.passes import DEFAULT, MapPass
from sdm.maps.rasters import BINARY_NODATA, NODATA, Raster, write_rasters
from sdm.models.classes import ClassModel, shannon
from sdm.models.extrapolation import extrapolated
from sdm.models.presence import ValueModel, presence_class
from sdm.types import AnyArray, Array, Index, Numbers

STATISTIC_WORDS = {
    "mean": "mean",
    "sd": "standard deviation",
    "lower": "lower limit (5 %)",
    "upper": "upper limit (95 %)",
}
SPREAD = 1 << 20  # predictions of all replicates in memory at once, per thread


def threshold_on_scale(
    model: ValueModel, threshold: str | float, scale: str, option: str = "predict.threshold"
) -> float:
    """Return a threshold on an output scale, from a number or the name of a threshold of the model."""
    with suppress(ValueError):
        if math.isfinite(value := float(threshold)):
            return value
    thresholds = model.meta.get("thresholds", {})
    if threshold not in thresholds:
        listed = ", ".join(thresholds) or "none, for it was not fitted by 'sdm fit'"
        raise OptionError(f"{option}={threshold}: expected a number, or one of the model's thresholds ({listed})")
    return float(model.from_raw(thresholds[threshold], scale))


def predict_raster(
    model: ValueModel,
    stack: Stack,
    path: str | Path,
    how: MapPass = DEFAULT,
    *,
    scale: str = "cloglog",
    threshold: float | None = None,
    novelty: NoveltyMaps | None = None,
    tags: Mapping[str, str] | None = None,
) -> RasterSummary:
    """Write a map of the model over the stack's cells.

    Parameters
    ----------
    stack
        With the model's variables, in its order (`open_stack(…, names=model.names)`).
    path
        Replaced in one step when the map is complete.
    how
        What is done about extrapolation, the study area, and the number of threads.
    scale
        ``cloglog``, ``raw``, ``cumulative`` or ``logistic``; ``probability`` of a class model.
    threshold
        Write 1 where the prediction is at least this and 0 elsewhere (bytes, nodata 255).
    novelty
        What is written and counted beside the map.
    tags
        More tags for the file; model id, scale and version are always there.
    """
    part = how.part(model.names, stack)
    planned = PlannedMap(model, Path(path), threshold, how.study_area, tags or {}, novelty)
    doing = "map" if threshold is None else "map of presence"
    return predict_rasters([planned], part, how, scale=scale, doing=doing)[0]


@dataclass(frozen=True)
class PlannedMap:
    """A map of suitability, or of presence by a threshold, to write with others."""

    model: ValueModel
    path: Path
    threshold: float | None = None
    study_area: StudyArea | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    novelty: NoveltyMaps | None = None  # maps of novelty in the same pass


def predict_rasters(
    maps: Sequence[PlannedMap],
    stack: Stack,
    how: MapPass = DEFAULT,
    *,
    scale: str = "cloglog",
    doing: str = "map",
) -> list[RasterSummary]:
    """Write maps of several models as `predict_raster` does, in one pass over the layers. `stack` has the variables of
    all models; every map has its own study area."""
    places = [[stack.names.index(name) for name in one.model.names] for one in maps]
    areas = {id(one.study_area): one.study_area for one in maps if one.study_area is not None}
    beside = [one.novelty for one in maps if one.novelty is not None]
    for novelty in beside:
        novelty.start(stack)

    def bands(window: Window, values: NDArray[np.floating]) -> list[AnyArray]:
        flat = list(values.reshape(values.shape[0], -1))
        inside = {key: area.mask(stack, window).ravel() for key, area in areas.items()}
        shown, measured, model, base, mapped = [], list[AnyArray](), None, np.empty(0), np.empty(0)
        for one, place in zip(maps, places):
            columns = [flat[k] for k in place]
            if one.model is not model:  # maps of presence follow the map of suitability of their model
                model, base = one.model, one.model.predict_columns(columns, scale, how.clamped)
                free = partial(one.model.predict_columns, columns, scale, False)
                mapped = extrapolated(one.model, base, free, columns, how.extrapolation)
            inside_area = inside.get(id(one.study_area))
            shown.append(_band(mapped, one.threshold, inside_area))
            if one.novelty is not None:
                valid = ~np.isnan(base) if inside_area is None else inside_area & ~np.isnan(base)
                measured_model: object = one.novelty.model
                prediction = base[None] if one.model is measured_model else None
                measured += one.novelty.bands(window, columns, valid, prediction, how.clamped)
        return [band.reshape(values.shape[1:]) for band in [*shown, *measured]]

    rasters = [Raster(one.path) if one.threshold is None else Raster.presence(one.path) for one in maps]
    tags = [_tags(one.model, scale, dict(one.tags), one.threshold) for one in maps]
    rasters += [raster for novelty in beside for raster in novelty.rasters]
    tags += [about for novelty in beside for about in novelty.tags]
    summaries = write_rasters(stack, rasters, bands, tags, threads=how.threads, progress=how.progress, doing=doing)
    for novelty in beside:
        novelty.wrote(summaries)
    return summaries[: len(maps)]


def _tags(model: ValueModel, scale: str, more: dict[str, str], threshold: float | None) -> dict[str, str]:
    tags = {"model_id": model.identity, "scale": scale, "software": f"sdm {__version__}", **more}
    if threshold is None:
        return {key: value for key, value in tags.items() if key != "threshold_rule"}
    return {"threshold_rule": "value", **tags, "what": "presence", "threshold": f"{threshold:.9g}", **PRESENCE_WORDS}


def _band(values: AnyArray, threshold: float | None, inside: NDArray[np.bool_] | None) -> AnyArray:
    """Return the cells of a map from predictions; cells outside the study area are nodata."""
    dtype, nodata = ("float32", NODATA) if threshold is None else ("uint8", BINARY_NODATA)
    band = (values if threshold is None else values >= threshold).astype(dtype)
    missing = np.isnan(values)
    band[missing if inside is None else missing | ~inside] = nodata
    return band


def write_spread_maps(
    models: Sequence[ValueModel],
    stack: Stack,
    paths: Mapping[str, Path],
    how: MapPass = DEFAULT,
    *,
    scale: str = "cloglog",
    tags: Mapping[str, str] | None = None,
) -> dict[str, RasterSummary]:
    """Write maps of the agreement of two or more replicates with the same variables, in one pass over the layers.
    `paths` are by name of `sdm.assess.uncertainty.STATISTICS`; other arguments: see `predict_raster`."""
    for model in models:
        part = how.part(model.names, stack)
    describe = {"replicates": str(len(models)), "scale": scale, "software": f"sdm {__version__}", **(tags or {})}
    describe.pop("threshold_rule", None)
    step = max(1, SPREAD // len(models))  # cells per block, so that memory does not grow with the replicates

    def bands(window: Window, values: NDArray[np.floating]) -> list[AnyArray]:
        flat = values.reshape(values.shape[0], -1)
        out = np.empty((len(paths), flat.shape[1]), dtype=np.float32)
        for first in range(0, flat.shape[1], step):
            cells = slice(first, first + step)
            spread = predict_spread(models, list(flat[:, cells]), scale, how.extrapolation)
            for band, name in zip(out, paths):
                level = getattr(spread, name)
                band[cells] = np.where(np.isnan(level), NODATA, level)
        if how.study_area is not None:
            out[:, ~how.study_area.mask(part, window).ravel()] = NODATA
        return list(out.reshape(len(paths), *values.shape[1:]))

    rasters = [Raster(path) for path in paths.values()]
    about = [{**describe, "statistic": f"{STATISTIC_WORDS[name]} over replicates"} for name in paths]
    doing = "uncertainty map"
    summaries = write_rasters(part, rasters, bands, about, threads=how.threads, progress=how.progress, doing=doing)
    return dict(zip(paths, summaries))


MOST = 254
KINDS = ("probability", "class", "entropy")


def class_codes(labels: Sequence[str]) -> list[int]:
    """Return the values of classes on a map: the labels if they are whole numbers from 0 to 254, 1 and 0 for presence
    and absence, otherwise 1, 2, …"""
    if len(labels) > MOST:
        raise DataError(f"there are {len(labels)} classes, and a class map has at most {MOST}: merge some")
    if all(label.isascii() and label.isdigit() and str(int(label)) == label and int(label) <= MOST for label in labels):
        return [int(label) for label in labels]
    presence = presence_class(labels)
    if presence is not None:
        return [int(c == presence) for c in range(2)]
    return list(range(1, len(labels) + 1))


def map_codes(model: ClassModel) -> list[int]:
    """Return the values of classes on a map: the values of the raster of classes if they fit into a byte, otherwise as
    `class_codes`."""
    codes = [model.codes.get(label) for label in model.labels]
    valid = [code for code in codes if code is not None and 0 <= code <= MOST]
    return valid if len(set(valid)) == len(model.labels) else class_codes(model.labels)


def no_class(codes: Sequence[int] | NDArray[np.uint8]) -> int:
    """Return the value of cells without a class: 0, or 255 if 0 is a class."""
    return 255 if 0 in codes else 0


def write_class_maps(
    model: ClassModel,
    stack: Stack,
    paths: Mapping[str, Path],
    how: MapPass = DEFAULT,
    *,
    novelty: NoveltyMaps | None = None,
    tags: Mapping[str, str] | None = None,
) -> Numbers:
    """Write the maps of a class model as Cloud-Optimized GeoTIFFs: all, or none.

    `paths` are the paths of ``probability`` (one band per class), ``class`` (bytes with a colour table; nodata is 0, or
    255 if 0 is a class) and ``entropy`` (nats). Return the number of mapped cells, the mean entropy in nats, and the
    share of each class. Other arguments: see `sdm.maps.single.predict_raster`.
    """
    codes = np.array(map_codes(model), dtype=np.uint8)
    counts: dict[tuple[int, int], Index] = {}  # counts of the values of the class map, by window

    def bands(window: Window, columns: AnyArray, mapped: NDArray[np.bool_]) -> tuple[Sequence[AnyArray], Array]:
        p = model.column_distributions(list(columns), how.clamped)
        made = _class_bands(p, codes, ~mapped)
        counts[int(window.row_off), int(window.col_off)] = np.bincount(made[1], minlength=256)
        return made, p

    about = {key: value for key, value in (tags or {}).items() if key in ("title", "species", "scenario")}
    rasters = _class_rasters(paths, about.get("title") or "class", model, codes)
    *_, entropy = how.write(model, stack, rasters, _class_tags(model, codes, about), bands, novelty, about=about)
    shares = np.sum(list(counts.values()), axis=0)[codes] / entropy.cells
    return {"cells": entropy.cells, "mean_entropy": entropy.mean, "shares": dict(zip(model.labels, shares.tolist()))}


def _class_bands(p: Array, codes: NDArray[np.uint8], missing: NDArray[np.bool_]) -> tuple[AnyArray, ...]:
    """Return the probabilities, the most probable class and the entropy of cells, in the order of `KINDS`."""
    best, entropy, probability = codes[np.argmax(p, axis=0)], shannon(p).astype(np.float32), p.astype(np.float32)
    best[missing], entropy[missing], probability[:, missing] = no_class(codes), NODATA, NODATA
    return probability, best, entropy


def _class_tags(model: ClassModel, codes: NDArray[np.uint8], about: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the tags of the maps, in the order of `KINDS`."""
    legend = {f"class_{code}": label for code, label in zip(codes, model.labels)}
    of_kind = {"probability": {"scale": "probability", "units": "0 to 1"}, "class": legend}
    common = {"model_id": model.identity, "software": f"sdm {__version__}", **about}
    return [{**common, "what": kind, **of_kind.get(kind, {})} for kind in KINDS]


def _class_rasters(paths: Mapping[str, Path], title: str, model: ClassModel, codes: NDArray[np.uint8]) -> list[Raster]:
    """Return the files, in the order of `KINDS`."""
    table = dict(zip(codes.tolist(), model.colours))
    return [
        Raster(paths["probability"], bands=model.labels),
        Raster(paths["class"], "uint8", no_class(codes), bands=(title,), colours=table),
        Raster(paths["entropy"], bands=("entropy (nats)",)),
    ]
