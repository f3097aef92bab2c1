"""Maps of one species: its suitability, presence and absence by a threshold, and how much replicates agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

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
from sdm.maps.passes import DEFAULT, MapPass
from sdm.maps.rasters import BINARY_NODATA, NODATA, Raster, write_rasters
from sdm.models.extrapolation import extrapolated
from sdm.models.presence import ValueModel
from sdm.types import AnyArray

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
    """A map to make together with others: of suitability, or of presence by a threshold."""

    model: ValueModel
    path: Path
    threshold: float | None = None
    study_area: StudyArea | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    novelty: NoveltyMaps | None = None  # what is written and counted beside it


def predict_rasters(
    maps: Sequence[PlannedMap],
    stack: Stack,
    how: MapPass = DEFAULT,
    *,
    scale: str = "cloglog",
    doing: str = "map",
) -> list[RasterSummary]:
    """Write maps of several models, each as `predict_raster` would, in one pass over the layers. `stack` has the
    variables of all models; every map has its own study area."""
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
            if one.model is not model:  # maps of presence come after the map of suitability of their model
                model, base = one.model, one.model.predict_columns(columns, scale, how.clamped)
                free = partial(one.model.predict_columns, columns, scale, False)
                mapped = extrapolated(one.model, base, free, columns, how.extrapolation)
            here = inside.get(id(one.study_area))
            shown.append(_band(mapped, one.threshold, here))
            if one.novelty is not None:
                valid = ~np.isnan(base) if here is None else here & ~np.isnan(base)
                measured_model: object = one.novelty.model
                known = base[None] if one.model is measured_model else None
                measured += one.novelty.bands(window, columns, valid, known, how.clamped)
        return [band.reshape(values.shape[1:]) for band in [*shown, *measured]]

    rasters = [_raster(one.path, one.threshold) for one in maps]
    tags = [_tags(one.model, scale, dict(one.tags), one.threshold) for one in maps]
    rasters += [raster for novelty in beside for raster in novelty.rasters]
    tags += [about for novelty in beside for about in novelty.tags]
    summaries = write_rasters(stack, rasters, bands, tags, threads=how.threads, progress=how.progress, doing=doing)
    others = iter(summaries[len(maps) :])
    for novelty in beside:
        novelty.wrote(list(islice(others, len(novelty.rasters))))
    return summaries[: len(maps)]


def _raster(path: Path, threshold: float | None) -> Raster:
    return Raster(path) if threshold is None else Raster.presence(path)


def _tags(model: ValueModel, scale: str, more: dict[str, str], threshold: float | None) -> dict[str, str]:
    tags = {"model_id": model.identity, "scale": scale, "software": f"sdm {__version__}", **more}
    if threshold is None:
        return {key: value for key, value in tags.items() if key != "threshold_rule"}
    return {"threshold_rule": "value", **tags, "what": "presence", "threshold": f"{threshold:.9g}", **PRESENCE_WORDS}


def _band(values: AnyArray, threshold: float | None, inside: NDArray[np.bool_] | None) -> AnyArray:
    """Return the cells of a map from what was predicted; outside a study area there are no data."""
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
    """Write maps of how much replicates (two or more, of the same variables) agree, all in one pass over the layers.
    `paths` say where to write which of `sdm.assess.uncertainty.STATISTICS`; the rest is as for `predict_raster`."""
    for model in models:
        part = how.part(model.names, stack)
    describe = {"replicates": str(len(models)), "scale": scale, "software": f"sdm {__version__}", **(tags or {})}
    describe.pop("threshold_rule", None)
    step = max(1, SPREAD // len(models))  # cells at a time, so that memory does not grow with the replicates

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
