"""Maps of one species: its suitability, presence and absence by a threshold, and how much replicates agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm._version import __version__
from sdm.assess.uncertainty import predict_spread
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.stack import Stack
from sdm.maps.gis.tags import PRESENCE_WORDS
from sdm.maps.moments import RasterSummary
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.rasters import BINARY_NODATA, NODATA, Raster, check_variables, write_rasters
from sdm.models.extrapolation import extrapolated
from sdm.models.interface import ValueModel
from sdm.types import Progress

STATISTIC_WORDS = {
    "mean": "mean",
    "sd": "standard deviation",
    "lower": "lower limit (5 %)",
    "upper": "upper limit (95 %)",
}
SPREAD = 1 << 20  # predictions of all replicates that are held at once, in each thread


def predict_raster(
    model: ValueModel,
    stack: Stack,
    path: str | Path,
    *,
    scale: str = "cloglog",
    extrapolation: str = "clamp",
    threshold: float | None = None,
    study_area: StudyArea | None = None,
    novelty: NoveltyMaps | None = None,
    threads: int = 2,
    tags: dict[str, str] | None = None,
    progress: Progress | None = None,
) -> RasterSummary:
    """Write a map of the model over the stack's cells.

    Parameters
    ----------
    stack
        With the model's variables, in its order (`open_stack(…, names=model.names)`).
    path
        Replaced in one step when the map is complete.
    scale
        ``cloglog``, ``raw``, ``cumulative`` or ``logistic``; ``probability`` of a class model.
    extrapolation
        One of `sdm.models.extrapolation.EXTRAPOLATIONS`.
    threshold
        Write 1 where the prediction is at least this and 0 elsewhere (bytes, nodata 255).
    study_area
        Cells outside it are nodata.
    novelty
        What is written and counted beside the map.
    tags
        More tags for the file; model id, scale and version are always there.
    progress
        Called with windows done, windows in all, and what is going on.
    """
    check_variables(model.names, stack)
    stack = stack.within(None if study_area is None else study_area.bounds)
    clamped = extrapolation != "free"
    if novelty is not None:
        novelty.start(stack)

    def bands(window: Window, values: NDArray[np.floating]) -> list[NDArray[Any]]:
        columns = list(values.reshape(values.shape[0], -1))
        out = model.predict_columns(columns, scale, clamped)
        valid = ~np.isnan(out)
        if study_area is not None:
            valid &= study_area.mask(stack, window).ravel()
        beside: list[NDArray[Any]] = []
        if novelty is not None:
            known = out[None] if model is novelty.model else None
            novelty.count(window, columns, valid)
            beside = novelty.measured(window, columns, valid, known, clamped)
        out = extrapolated(model, out, lambda: model.predict_columns(columns, scale, False), columns, extrapolation)
        return [_band(out, threshold, valid).reshape(values.shape[1:]), *beside]

    rasters, file_tags = [_raster(Path(path), threshold)], [_tags(model, scale, tags or {}, threshold)]
    if novelty is not None:
        rasters, file_tags = [*rasters, *novelty.rasters], [*file_tags, *novelty.tags]
    doing = "map" if threshold is None else "map of presence"
    summary, *others = write_rasters(stack, rasters, bands, file_tags, threads=threads, progress=progress, doing=doing)
    if novelty is not None:
        novelty.wrote(others)
    return summary


@dataclass(frozen=True)
class PlannedMap:
    """A map to make together with others: of suitability, or of presence by a threshold."""

    model: ValueModel
    path: Path
    threshold: float | None = None
    study_area: StudyArea | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    novelty: NoveltyMaps | None = None  # without maps of its own: it counts


def predict_rasters(
    maps: Sequence[PlannedMap],
    stack: Stack,
    *,
    scale: str = "cloglog",
    extrapolation: str = "clamp",
    threads: int = 2,
    progress: Progress | None = None,
) -> list[RasterSummary]:
    """Write maps of several models, each as `predict_raster` would, in one pass over the layers. `stack` has the
    variables of all models."""
    at = [[stack.names.index(name) for name in one.model.names] for one in maps]
    areas = {id(one.study_area): one.study_area for one in maps if one.study_area is not None}
    for one in maps:
        if one.novelty is not None:
            one.novelty.start(stack)

    def bands(window: Window, values: NDArray[np.floating]) -> list[NDArray[Any]]:
        flat = list(values.reshape(values.shape[0], -1))
        inside = {key: area.mask(stack, window).ravel() for key, area in areas.items()}
        out, model, predicted = [], None, np.empty(0)
        for one, columns in zip(maps, at):
            own = [flat[k] for k in columns]
            if one.model is not model:  # presence, which follows suitability, follows from it
                model, predicted = one.model, _values(one.model, own, scale, extrapolation)
            here = inside.get(id(one.study_area))
            if one.novelty is not None:
                valid = ~np.isnan(predicted)
                one.novelty.count(window, own, valid if here is None else valid & here)
            band = _band(predicted, one.threshold, here)
            out.append(band.reshape(values.shape[1:]))
        return out

    rasters = [_raster(one.path, one.threshold) for one in maps]
    tags = [_tags(one.model, scale, dict(one.tags), one.threshold) for one in maps]
    return write_rasters(stack, rasters, bands, tags, threads=threads, progress=progress)


def _kind(threshold: float | None) -> tuple[str, float]:
    """Return the type of a map's cells, and what stands for no data."""
    return ("float32", NODATA) if threshold is None else ("uint8", BINARY_NODATA)


def _raster(path: Path, threshold: float | None) -> Raster:
    return Raster(path) if threshold is None else Raster.presence(path)


def _tags(model: ValueModel, scale: str, more: dict[str, str], threshold: float | None) -> dict[str, str]:
    tags = {"model_id": model.identity, "scale": scale, "software": f"sdm {__version__}", **more}
    if threshold is None:
        return {key: value for key, value in tags.items() if key != "threshold_rule"}
    return {"threshold_rule": "value", **tags, "what": "presence", "threshold": f"{threshold:.9g}", **PRESENCE_WORDS}


def _values(model: ValueModel, columns: list[NDArray[Any]], scale: str, extrapolation: str) -> NDArray[Any]:
    """Return what a model predicts, NaN where it predicts nothing."""
    out = model.predict_columns(columns, scale, extrapolation != "free")
    return extrapolated(model, out, lambda: model.predict_columns(columns, scale, False), columns, extrapolation)


def _band(values: NDArray[Any], threshold: float | None, inside: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return the cells of a map from what was predicted; outside a study area there are no data."""
    dtype, nodata = _kind(threshold)
    band = (values if threshold is None else values >= threshold).astype(dtype)
    missing = np.isnan(values)
    band[missing if inside is None else missing | ~inside] = nodata
    return band


def write_spread_maps(
    models: Sequence[ValueModel],
    stack: Stack,
    paths: Mapping[str, Path],
    *,
    scale: str = "cloglog",
    extrapolation: str = "clamp",
    study_area: StudyArea | None = None,
    threads: int = 2,
    tags: dict[str, str] | None = None,
    progress: Progress | None = None,
) -> dict[str, RasterSummary]:
    """Write maps of how much replicates (two or more, of the same variables) agree, all in one pass over the layers.
    `paths` say where to write which of `sdm.assess.uncertainty.STATISTICS`; the rest is as for `predict_raster`."""
    for model in models:
        check_variables(model.names, stack)
    stack = stack.within(None if study_area is None else study_area.bounds)
    describe = {"replicates": str(len(models)), "scale": scale, "software": f"sdm {__version__}", **(tags or {})}
    describe.pop("threshold_rule", None)
    step = max(1, SPREAD // len(models))  # cells at a time, so that memory does not grow with the replicates

    def bands(window: Window, values: NDArray[np.floating]) -> list[NDArray[Any]]:
        flat = values.reshape(values.shape[0], -1)
        out = np.empty((len(paths), flat.shape[1]), dtype=np.float32)
        for first in range(0, flat.shape[1], step):
            some = slice(first, first + step)
            spread = predict_spread(models, list(flat[:, some]), scale, extrapolation)
            for band, name in zip(out, paths):
                part = getattr(spread, name)
                band[some] = np.where(np.isnan(part), NODATA, part)
        if study_area is not None:
            out[:, ~study_area.mask(stack, window).ravel()] = NODATA
        return list(out.reshape(len(paths), *values.shape[1:]))

    rasters = [Raster(path) for path in paths.values()]
    ways: dict[str, Any] = {"threads": threads, "progress": progress, "doing": "uncertainty map"}
    said = [{**describe, "statistic": f"{STATISTIC_WORDS[name]} over replicates"} for name in paths]
    summaries = write_rasters(stack, rasters, bands, said, **ways)
    return dict(zip(paths, summaries))
