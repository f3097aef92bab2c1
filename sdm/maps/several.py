"""Maps of several species in one pass over layers.

A joint model has maps of each probability, of the best joint labelling, and of richness. A group has maps of every
axis, of the first three axes as colours, and of every species.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm._version import __version__
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.errors import DataError
from sdm.maps.gis.tags import PRESENCE_WORDS, RasterSummary
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.passes import DEFAULT, MapPass
from sdm.maps.rasters import BINARY_NODATA, NODATA, Raster, write_rasters
from sdm.models.community import FittedJoint
from sdm.models.group import GroupModel
from sdm.storage.files import safe_names
from sdm.types import AnyArray, Array

NUMBERS = 1 << 22  # features and marginals in memory at once, per thread
# Sums over species: of marginals, of the best labelling, of marginals without edges, and the first minus the third.
RICHNESS = ("richness", "labeled richness", "stacked richness", "richness difference")
OF_ONE_MODEL = RICHNESS[:2]
COUNT = "labeled richness"  # whole numbers
MAPS = "maps"  # the folder of the rasters of species
PRESENT = "present"  # suffix of rasters of the best joint labelling


@dataclass(frozen=True)
class JointPlaces:
    """The paths of the maps of a joint model."""

    species: dict[str, Path]  # probability of every species
    present: dict[str, Path]  # presence of every species in the best joint labelling
    richness: dict[str, Path]  # by `RICHNESS`

    @classmethod
    def within(cls, folder: Path, species: Iterable[str], richness: Sequence[str]) -> "JointPlaces":
        """Return paths in a folder: `maps/<species>.tif`, `maps/<species>_present.tif` and `richness.tif`. File names
        are unique."""
        names = list(species)
        home, safe_of = folder / MAPS, safe_names(names)
        endings = safe_names([f"{name}_{PRESENT}" for name in names], taken=safe_of.values())
        return cls(
            {name: home / f"{safe}.tif" for name, safe in safe_of.items()},
            {name: home / f"{endings[f'{name}_{PRESENT}']}.tif" for name in names},
            {name: folder / f"{name.replace(' ', '_')}.tif" for name in richness},
        )


@dataclass(frozen=True)
class SurveyedCells:
    """Cells of layers with observed labels of species."""

    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    labels: Array  # (n, S): 1, 0, or NaN without observation

    def within(self, window: Window) -> Array | None:
        """Return the labels of every cell of a window, row by row; None if there are none."""
        row, col = self.rows - int(window.row_off), self.cols - int(window.col_off)
        inside = (row >= 0) & (row < window.height) & (col >= 0) & (col < window.width)
        if not inside.any():
            return None
        out = np.full((int(window.height) * int(window.width), self.labels.shape[1]), np.nan)
        out[row[inside] * int(window.width) + col[inside]] = self.labels[inside]
        return out


JointMaps = dict[str, dict[str, RasterSummary]]
"""Summaries of the maps of a joint model by name: of `species`, of presence (`PRESENT`), and of `richness`."""


def write_maps(
    joint: FittedJoint,
    stacked: FittedJoint | None,
    stack: Stack,
    places: JointPlaces,
    how: MapPass = DEFAULT,
    *,
    novelty: NoveltyMaps | None = None,
    known: SurveyedCells | None = None,
) -> JointMaps:
    """Write rasters of the probability of every species, the best joint labelling (0, 1), and richness: all or none.

    `stacked` is the model without edges, which some maps of `places.richness` need. The labels of `known` cells are
    fixed. Other arguments: see `sdm.maps.single.predict_raster`.
    """
    titles = [name for name in RICHNESS if name in places.richness]
    single_models = stacked if any(name not in OF_ONE_MODEL for name in titles) else None
    if single_models is None and any(name not in OF_ONE_MODEL for name in titles):
        raise DataError(f"maps of {', '.join(titles)} also need the model without edges, which is missing")

    count = len(joint.species)
    step = max(1, NUMBERS // (joint.features.size + 8 * count))

    def bands(window: Window, cells: AnyArray, mapped: NDArray[np.bool_]) -> tuple[Sequence[AnyArray], None]:
        surveyed = None if known is None else known.within(window)
        levels = np.full((count + len(titles), cells.shape[1]), NODATA, dtype=np.float32)
        present = np.full((count, cells.shape[1]), BINARY_NODATA, dtype=np.uint8)
        for first in range(0, cells.shape[1], step):
            cols = first + np.flatnonzero(mapped[first : first + step])
            if cols.size:
                x = np.ascontiguousarray(cells[:, cols].T, dtype=np.float64)
                labels, probability = joint.predict_both(x, None if surveyed is None else surveyed[cols], how.clamped)
                present[:, cols], levels[:count, cols] = labels.T, probability.T
                single = None if single_models is None else single_models.predict_proba(x, clamp=how.clamped)
                sums = _sums(labels, probability, single)
                levels[count:, cols] = [sums[name] for name in titles]
        totals = [band.astype(np.int16) if name == COUNT else band for name, band in zip(titles, levels[count:])]
        return [*levels[:count], *present, *totals], None

    summaries = iter(how.write(joint, stack, *_rasters(joint, places, titles), bands, novelty, doing="maps"))
    species, present = ({name: next(summaries) for name in joint.species} for _ in range(2))
    return {"species": species, PRESENT: present, "richness": {name: next(summaries) for name in titles}}


def _sums(labels: NDArray[np.int8], probability: Array, single: Array | None) -> dict[str, Array]:
    """Return the sums over species in `RICHNESS` for some cells."""
    total = probability.sum(axis=1)
    out = {"richness": total, COUNT: labels.sum(axis=1, dtype=np.float64)}
    if single is not None:
        out |= {"stacked richness": single.sum(axis=1), "richness difference": total - single.sum(axis=1)}
    return out


_TITLES = {
    "richness": "expected number of species",
    COUNT: "number of species in the best joint labelling",
    "stacked richness": "expected number of species, stacked",
    "richness difference": "expected number of species, joint minus stacked",
}


def _rasters(
    joint: FittedJoint, places: JointPlaces, titles: Sequence[str]
) -> tuple[list[Raster], list[dict[str, str]]]:
    """Return the files in the order of their bands, with their tags."""
    common = {"model_id": joint.identity, "software": f"sdm {__version__}"}
    common |= {"learner": str(joint.meta.get("learner", ""))}
    rasters = [Raster(places.species[name], bands=(name,)) for name in joint.species]
    tags = [{**common, "scale": "probability", "species": name} for name in joint.species]
    for name in joint.species:
        text = f"{name}, best joint labelling"
        rasters.append(Raster.presence(places.present[name], (text,)))
        about = {"what": "presence", "scale": "presence", "species": name, "threshold_rule": "best joint labelling"}
        tags.append({**common, **about, **PRESENCE_WORDS})
    for name in titles:
        kind = "int16" if name == COUNT else "float32"
        rasters.append(Raster(places.richness[name], kind, NODATA, bands=(_TITLES[name],)))
        tags.append({**common, "what": name, "scale": "species", "units": "species"})
    return rasters, tags


MOST_AXES = 6  # largest number of axes with maps
COLOURS = "axes_rgb.tif"
ENDS = (2.0, 98.0)  # percentiles over the land for the darkest and brightest colour of an axis
SAMPLE = 1 << 22  # largest number of cells for the percentiles, at regular intervals
TOGETHER = 200  # species per pass over the layers: every map is an open file


def axis_title(model: GroupModel, k: int) -> str:
    """Return the number of an axis and its explained share."""
    return f"axis {k + 1}, explains {100 * model.explained[k]:.0f} %"


def write_axis_maps(
    model: GroupModel,
    stack: Stack,
    folder: Path,
    how: MapPass = DEFAULT,
) -> list[RasterSummary]:
    """Write `axis_1.tif` and following, at most six, in one pass over the layers; and `axes_rgb.tif`.

    In `axes_rgb.tif`, red, green and blue are the first three axes, each from the 2nd to the 98th percentile over the
    land. Cells without data are transparent. A model without axes has no maps. Other arguments: see
    `sdm.maps.single.predict_raster`.
    """
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
    tags = [{**common, "what": title, "units": "standard deviations"} for title in titles]
    summaries = how.write(model, stack, rasters, tags, bands, doing="maps of axes")
    ends = _ends(np.concatenate([seen[place] for place in sorted(seen)], axis=1))
    _write_colours(places[:3], folder / COLOURS, ends, titles, common, how)
    return summaries


def _ends(scores: NDArray[np.float32]) -> list[tuple[float, float]]:
    """Return the percentiles of axes that limit the colours."""
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
        valid = np.isfinite(values).all(axis=0)
        out[:3, ~valid] = 0
        out[3] = np.where(valid, 255, 0)
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
    """Write the map of every species. The axes of a window are computed once for all species; more than 200 species
    need another pass over the layers. Other arguments: see `sdm.maps.single.predict_raster`."""
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


def _of_species(model: GroupModel, part: slice) -> GroupModel:
    """Return the model with a part of its species."""
    if len(model.species[part]) == len(model.species):
        return model
    per_species = ("places", "own", "records", "normaliser", "entropy")
    parts = {name: getattr(model, name)[..., part] for name in per_species}
    return replace(model, species=model.species[part], **parts, reference=None)


def _species_bands(
    model: GroupModel, scale: str, clamp: bool, _: Window, columns: AnyArray, mapped: NDArray[np.bool_]
) -> tuple[Sequence[AnyArray], None]:
    """Predict cells in blocks, so that memory does not grow with the number of species."""
    size = columns.shape[1]
    out = np.empty((len(model.species), size), dtype=np.float32)
    step = max(1, NUMBERS // (len(model.species) + model.rank))
    for first in range(0, size, step):
        out[:, first : first + step] = model.column_values(list(columns[:, first : first + step]), scale, clamp)
    out[:, ~mapped] = NODATA
    return list(out), None
