"""Maps of a joint model: every species' probability, and richness with and without edges, in one pass over layers."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm._version import __version__
from sdm.data.area import StudyArea
from sdm.data.layers import Stack
from sdm.errors import DataError
from sdm.features.domain import Array
from sdm.files import safe_names
from sdm.joint.fitted import FittedJoint
from sdm.predict import NODATA, Progress, RasterSummary, check_layers, write_cogs

NUMBERS = 1 << 22  # features and marginals that are held at once, in each thread
RICHNESS = ("richness", "stacked richness", "richness difference")
MAPS = "maps"  # the folder of the species' rasters


def species_places(species: Iterable[str], folder: Path) -> dict[str, Path]:
    """Return where each species' raster goes."""
    return {name: folder / f"{safe}.tif" for name, safe in safe_names(species).items()}


def write_maps(
    joint: FittedJoint,
    stacked: FittedJoint | None,
    stack: Stack,
    species: dict[str, Path],
    richness: dict[str, Path],
    *,
    clamp: bool = True,
    study_area: StudyArea | None = None,
    threads: int = 2,
    progress: Progress | None = None,
) -> dict[str, RasterSummary]:
    """Write a probability raster a species, and rasters of richness: all or none.

    Parameters
    ----------
    joint : FittedJoint
    stacked : FittedJoint or None
        The same without edges, for what `richness` asks of it.
    stack : Stack
        With the model's variables, in its order.
    species : dict
        Where each species' raster goes.
    richness : dict
        Where which of `RICHNESS` go: the sum of the marginals with edges, without, and the first less the second.
    clamp, study_area, threads, progress
        As for `sdm.predict.predict_raster`.
    """
    check_layers(joint.encoder.names, stack)
    wanted = [name for name in RICHNESS if name in richness]
    if stacked is None and wanted != list(RICHNESS[:1]):
        raise DataError(f"maps of {', '.join(wanted)} need the model without edges too: got the joint one alone")
    alone = stacked if len(wanted) > 1 else None
    order = [joint.species.index(name) for name in species]
    step = max(1, NUMBERS // (joint.features.size + 6 * len(joint.species)))

    def bands(window: Window, values: NDArray[np.floating]) -> list[NDArray[Any]]:
        cells = values.reshape(values.shape[0], -1)
        out = np.full((len(species) + len(richness), cells.shape[1]), NODATA, dtype=np.float32)
        for first in range(0, cells.shape[1], step):
            some = slice(first, first + step)
            x = np.ascontiguousarray(cells[:, some].T, dtype=np.float64)
            whole = np.isfinite(x).all(axis=1)
            if whole.any():
                out[:, np.arange(first, first + len(x))[whole]] = _columns(joint, alone, x[whole], order, clamp)
        if study_area is not None:
            out[:, ~study_area.mask(stack, window).ravel()] = NODATA
        return list(out.reshape(-1, *values.shape[1:]))

    paths = [*species.values(), *(richness[name] for name in wanted)]
    tags = {"software": f"sdm {__version__}", "learner": str(joint.meta.get("learner", "")), "scale": "probability"}
    found = write_cogs(stack, paths, bands, NODATA, "float32", tags, threads=threads, progress=progress)
    return dict(zip([*species, *wanted], found))


def _columns(
    joint: FittedJoint, stacked: FittedJoint | None, x: Array, order: list[int], clamp: bool
) -> NDArray[np.float32]:
    """Return marginals and richness of some cells, a row a map."""
    probability = joint.predict_proba(x, clamp=clamp)
    total = probability.sum(axis=1)
    rows = [*probability.T[order], total]
    if stacked is not None:
        alone = stacked.predict_proba(x, clamp=clamp).sum(axis=1)
        rows += [alone, total - alone]
    return np.asarray(rows, dtype=np.float32)
