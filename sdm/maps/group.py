"""Maps of a group of species on shared axes: every axis, the first three as colours, and every species."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm._version import __version__
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.maps.moments import RasterSummary
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.passes import DEFAULT, MapPass
from sdm.maps.rasters import NODATA, Raster, write_rasters
from sdm.models.group import GroupModel
from sdm.types import AnyArray

MOST_AXES = 6  # that are mapped
COLOURS = "axes_rgb.tif"
ENDS = (2.0, 98.0)  # percentiles of an axis over the land that are the darkest and the brightest of its colour
SAMPLE = 1 << 22  # cells that the percentiles are taken from, at even distances where there are more
TOGETHER = 200  # species that are mapped in one pass over the layers: every map is an open file
NUMBERS = 1 << 22  # scores and predictions that are held at once, in each thread


def axis_title(model: GroupModel, k: int) -> str:
    """Say which axis it is, and how much it explains."""
    return f"axis {k + 1}, explains {100 * model.explained[k]:.0f} %"


def write_axis_maps(
    model: GroupModel,
    stack: Stack,
    folder: Path,
    how: MapPass = DEFAULT,
) -> list[RasterSummary]:
    """Write `axis_1.tif` and the next, at most six, in one pass over the layers; and `axes_rgb.tif`, whose red, green
    and blue are the first three axes, each from its 2nd to its 98th percentile over the land. Cells without data are
    transparent in it. A model without axes has no maps. The rest is as for `sdm.maps.species.predict_raster`."""
    part = how.part(model.names, stack)
    if not model.rank:
        return []
    count = min(model.rank, MOST_AXES)
    step = max(1, -(-part.width * part.height // SAMPLE))
    seen: dict[tuple[int, int], NDArray[np.float32]] = {}  # of the first three axes, by window

    def bands(window: Window, columns: AnyArray, mapped: NDArray[np.bool_]) -> tuple[Sequence[AnyArray], None]:
        scores = model.axis_scores(list(columns), how.clamped)[:count].astype(np.float32)
        seen[int(window.row_off), int(window.col_off)] = scores[:3, mapped][:, ::step]
        scores[:, ~mapped] = NODATA
        return list(scores), None

    titles = [axis_title(model, k) for k in range(count)]
    common = {"model_id": model.identity, "software": f"sdm {__version__}"}
    places = [folder / f"axis_{k + 1}.tif" for k in range(count)]
    rasters = [Raster(path, bands=(title,)) for path, title in zip(places, titles)]
    tags = [{**common, "what": title, "units": "deviations"} for title in titles]
    summaries = how.write(model, stack, rasters, tags, bands, doing="maps of axes")
    ends = _ends(np.concatenate([seen[place] for place in sorted(seen)], axis=1))
    _write_colours(places[:3], folder / COLOURS, ends, titles, common, how)
    return summaries


def _ends(scores: NDArray[np.float32]) -> list[tuple[float, float]]:
    """Return the percentiles that the colours of axes end at."""
    return [(float(low), float(high)) for low, high in np.percentile(scores, ENDS, axis=1).T]


def _write_colours(
    places: Sequence[Path],
    path: Path,
    ends: Sequence[tuple[float, float]],
    titles: Sequence[str],
    tags: dict[str, str],
    how: MapPass,
) -> None:
    """Write a picture of up to three rasters in red, green and blue, and alpha; a colour without a raster is 0."""
    stack = open_stack(list(map(str, places)), nodata=NODATA)
    names = [f"{colour}: {title}" for colour, title in zip(("red", "green", "blue"), titles)]
    names += ["green: none", "blue: none"][len(names) - 1 :]

    def colours(window: Window, values: NDArray[np.floating]) -> list[NDArray[np.uint8]]:
        out = np.zeros((4, *values.shape[1:]), dtype=np.uint8)
        for band, scores, (low, high) in zip(out, values, ends):
            share = np.clip((np.nan_to_num(scores) - low) / ((high - low) or 1.0), 0.0, 1.0)
            band[:] = np.round(255 * share)
        there = np.isfinite(values).all(axis=0)
        out[:3, ~there] = 0
        out[3] = np.where(there, 255, 0)
        return [out]

    raster = Raster(path, "uint8", bands=(*names, "alpha"), alpha=True)
    stretch = {f"ends_axis_{k + 1}": f"{low:.6g} to {high:.6g}" for k, (low, high) in enumerate(ends)}
    about = {**tags, "what": "axes as red, green and blue", **stretch}
    doing = "map of axes in colours"
    write_rasters(stack, [raster], colours, [about], threads=how.threads, progress=how.progress, doing=doing)


def write_group_maps(
    model: GroupModel,
    stack: Stack,
    places: Mapping[str, Path],
    how: MapPass = DEFAULT,
    *,
    scale: str = "cloglog",
    novelty: NoveltyMaps | None = None,
) -> dict[str, RasterSummary]:
    """Write the map of every species to its place. The axes of a window are computed once for all species; more than
    200 species take another pass over the layers. The rest is as for `sdm.maps.species.predict_raster`."""
    common = {"model_id": model.identity, "scale": scale, "software": f"sdm {__version__}"}
    summaries: dict[str, RasterSummary] = {}
    for first in range(0, len(model.species), TOGETHER):
        part = _of_species(model, slice(first, first + TOGETHER))
        rasters = [Raster(places[name], bands=(name,)) for name in part.species]
        tags = [{**common, "species": name} for name in part.species]
        bands = partial(_species_bands, part, scale, how.clamped)
        beside = novelty if first == 0 else None
        summaries |= zip(part.species, how.write(model, stack, rasters, tags, bands, beside, doing="maps"))
    return summaries


def _of_species(model: GroupModel, some: slice) -> GroupModel:
    """Return the model with some of its species alone."""
    if len(model.species[some]) == len(model.species):
        return model
    return replace(
        model,
        species=model.species[some],
        places=model.places[:, some],
        own=model.own[:, some],
        records=model.records[some],
        normaliser=model.normaliser[some],
        entropy=model.entropy[some],
        reference=None,
    )


def _species_bands(
    model: GroupModel, scale: str, clamp: bool, _: Window, columns: AnyArray, mapped: NDArray[np.bool_]
) -> tuple[Sequence[AnyArray], None]:
    """Predict some cells at a time, so that memory does not grow with the number of species."""
    size = columns.shape[1]
    out = np.empty((len(model.species), size), dtype=np.float32)
    step = max(1, NUMBERS // (len(model.species) + model.rank))
    for first in range(0, size, step):
        out[:, first : first + step] = model.column_values(list(columns[:, first : first + step]), scale, clamp)
    out[:, ~mapped] = NODATA
    return list(out), None
