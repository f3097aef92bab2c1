"""Maps of a joint model, in one pass over layers: every species' probability, the best joint labeling, and richness."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm._version import __version__
from sdm.data.rasters.stack import Stack
from sdm.errors import DataError
from sdm.maps.gis.tags import PRESENCE_WORDS
from sdm.maps.moments import RasterSummary
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.passes import DEFAULT, MapPass
from sdm.maps.rasters import BINARY_NODATA, NODATA, Raster
from sdm.models.community import FittedJoint
from sdm.storage.files import safe_names
from sdm.types import AnyArray, Array

NUMBERS = 1 << 22  # features and marginals that are held at once, in each thread
# Sums over species: of marginals, the best labeling, marginals without edges, and the first less the third.
RICHNESS = ("richness", "labeled richness", "stacked richness", "richness difference")
OF_ONE_MODEL = RICHNESS[:2]
COUNT = "labeled richness"  # whole numbers
MAPS = "maps"  # the folder of the species' rasters
PRESENT = "present"  # the ending of rasters of the best joint labeling


@dataclass(frozen=True)
class JointPlaces:
    """Where the maps of a joint model go."""

    species: dict[str, Path]  # every species' probability
    present: dict[str, Path]  # whether every species is in the best joint labeling
    richness: dict[str, Path]  # which of `RICHNESS`

    @classmethod
    def within(cls, folder: Path, species: Iterable[str], richness: Sequence[str]) -> "JointPlaces":
        """Return places in a folder: `maps/<species>.tif`, `maps/<species>_present.tif` and `richness.tif`. No two
        files have one name."""
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
    """Cells of layers in which labels of species are known."""

    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    labels: Array  # (n, S): 1, 0, or NaN where nobody looked

    def within(self, window: Window) -> Array | None:
        """Return the labels of every cell of a window, row by row; None if none is known there."""
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
    """Write rasters of every species' probability, of the best joint labeling (0, 1), and of richness: all or none.
    `stacked` is the model without edges, for the maps of `places.richness` that need it. Labels in
    `known` cells are held. The other arguments are those of `sdm.maps.species.predict_raster`."""
    wanted = [name for name in RICHNESS if name in places.richness]
    single_models = stacked if any(name not in OF_ONE_MODEL for name in wanted) else None
    if single_models is None and any(name not in OF_ONE_MODEL for name in wanted):
        raise DataError(f"maps of {', '.join(wanted)} need the model without edges too: got the joint one alone")

    def bands(window: Window, columns: AnyArray, mapped: NDArray[np.bool_]) -> tuple[Sequence[AnyArray], None]:
        labels = None if known is None else known.within(window)
        return _predict_cells((joint, single_models), columns, mapped, labels, wanted, how.clamped), None

    summaries = iter(how.write(joint, stack, *_rasters(joint, places, wanted), bands, novelty, doing="maps"))
    species, present = ({name: next(summaries) for name in joint.species} for _ in range(2))
    return {"species": species, PRESENT: present, "richness": {name: next(summaries) for name in wanted}}


def _predict_cells(
    models: tuple[FittedJoint, FittedJoint | None],
    cells: NDArray[np.floating],
    valid: NDArray[np.bool_],
    surveyed: Array | None,
    wanted: Sequence[str],
    clamp: bool,
) -> list[AnyArray]:
    """Return the bands of some cells `(variables, cells)`: each species' probability, its label, and the sums."""
    joint, single_models = models
    count = len(joint.species)
    step = max(1, NUMBERS // (joint.features.size + 8 * count))
    levels = np.full((count + len(wanted), cells.shape[1]), NODATA, dtype=np.float32)
    present = np.full((count, cells.shape[1]), BINARY_NODATA, dtype=np.uint8)
    for first in range(0, cells.shape[1], step):
        at = first + np.flatnonzero(valid[first : first + step])
        if at.size:
            x = np.ascontiguousarray(cells[:, at].T, dtype=np.float64)
            labels, probability = joint.predict_both(x, None if surveyed is None else surveyed[at], clamp)
            present[:, at], levels[:count, at] = labels.T, probability.T
            single = None if single_models is None else single_models.predict_proba(x, clamp=clamp)
            sums = _sums(labels, probability, single)
            levels[count:, at] = [sums[name] for name in wanted]
    totals = dict(zip(wanted, levels[count:]))
    return [*levels[:count], *present, *(totals[n].astype(np.int16) if n == COUNT else totals[n] for n in wanted)]


def _sums(labels: NDArray[np.int8], probability: Array, single: Array | None) -> dict[str, Array]:
    """Return the sums over species that `RICHNESS` names, of some cells."""
    total = probability.sum(axis=1)
    out = {"richness": total, COUNT: labels.sum(axis=1, dtype=np.float64)}
    if single is not None:
        out |= {"stacked richness": single.sum(axis=1), "richness difference": total - single.sum(axis=1)}
    return out


_TITLES = {
    "richness": "expected number of species",
    COUNT: "number of species in the best joint labeling",
    "stacked richness": "expected number of species, single models",
    "richness difference": "expected number of species, joint less single models",
}


def _rasters(
    joint: FittedJoint, places: JointPlaces, wanted: Sequence[str]
) -> tuple[list[Raster], list[dict[str, str]]]:
    """Return the files in the order of their bands, each with its tags."""
    common = {"model_id": joint.identity, "software": f"sdm {__version__}"}
    common |= {"learner": str(joint.meta.get("learner", ""))}
    rasters = [Raster(places.species[name], bands=(name,)) for name in joint.species]
    tags = [{**common, "scale": "probability", "species": name} for name in joint.species]
    for name in joint.species:
        text = f"{name}, best joint labeling"
        rasters.append(Raster.presence(places.present[name], (text,)))
        about = {"what": "presence", "scale": "presence", "species": name, "threshold_rule": "best joint labeling"}
        tags.append({**common, **about, **PRESENCE_WORDS})
    for name in wanted:
        kind = "int16" if name == COUNT else "float32"
        rasters.append(Raster(places.richness[name], kind, NODATA, bands=(_TITLES[name],)))
        tags.append({**common, "what": name, "scale": "species", "units": "species"})
    return rasters, tags
