"""Maps of one species: its suitability, presence and absence by a threshold, and how much replicates agree."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm._version import __version__
from sdm.assess.uncertainty import predict_spread
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.stack import Stack
from sdm.maps.moments import RasterSummary
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.rasters import BINARY_NODATA, NODATA, Raster, check_variables, write_rasters
from sdm.models.extrapolation import extrapolated
from sdm.models.interface import ValueModel
from sdm.types import Progress

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
    nodata, dtype = (NODATA, "float32") if threshold is None else (BINARY_NODATA, "uint8")
    describe = {"model_id": model.identity, "scale": scale, "software": f"sdm {__version__}", **(tags or {})}

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
        band = (out if threshold is None else out >= threshold).astype(dtype)
        band[~valid | np.isnan(out)] = nodata
        return [band.reshape(values.shape[1:]), *beside]

    rasters, file_tags = [Raster(Path(path), dtype, nodata)], [describe]
    if novelty is not None:
        rasters, file_tags = [*rasters, *novelty.rasters], [*file_tags, *novelty.tags]
    summary, *others = write_rasters(stack, rasters, bands, file_tags, threads=threads, progress=progress)
    if novelty is not None:
        novelty.wrote(others)
    return summary


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
    summaries = write_rasters(stack, rasters, bands, [describe] * len(rasters), threads=threads, progress=progress)
    return dict(zip(paths, summaries))
