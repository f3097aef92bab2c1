"""Maps of classes: probabilities, the most probable class and the entropy, in one pass over the layers.

Memory is a few windows, whatever the size of the raster and the number of classes.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm._version import __version__
from sdm.data.rasters.stack import Stack
from sdm.errors import DataError
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.passes import DEFAULT, MapPass
from sdm.maps.rasters import NODATA, Raster
from sdm.models.classes import ClassModel, shannon
from sdm.models.presence import presence_class
from sdm.types import AnyArray, Array, Index, Numbers

MOST = 254
KINDS = ("probability", "class", "entropy")


def class_codes(labels: Sequence[str]) -> list[int]:
    """Return the classes' values on the map: the labels if they are whole numbers from 0 to 254, else 1, 2, … Presence
    and absence in words are 1 and 0."""
    if len(labels) > MOST:
        raise DataError(f"there are {len(labels)} classes: a class map tells {MOST} apart; join some")
    if all(label.isascii() and label.isdigit() and str(int(label)) == label and int(label) <= MOST for label in labels):
        return [int(label) for label in labels]
    presence = presence_class(labels)
    if presence is not None:
        return [int(c == presence) for c in range(2)]
    return list(range(1, len(labels) + 1))


def map_codes(model: ClassModel) -> list[int]:
    """Return the classes' values on the map: those of the raster that the classes were drawn from, where it has names
    for them and its values fit into a byte; else as for `class_codes`."""
    known = [model.codes.get(label) for label in model.labels]
    whole = [code for code in known if code is not None and 0 <= code <= MOST]
    return whole if len(set(whole)) == len(model.labels) else class_codes(model.labels)


def no_class(codes: Sequence[int] | NDArray[np.uint8]) -> int:
    """Return the value of cells without a class: 0, or 255 where 0 is a class."""
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
    """Write the maps of a model as Cloud-Optimized GeoTIFFs: all, or none. `paths` say where to write ``probability``
    (one band per class, called by its name), ``class`` (bytes with a colour table, 0 is no data, or 255 where 0 is a
    class) and ``entropy`` (nats). Return the cells with a prediction, the mean entropy in nats, and the share of each
    class on the map. The other arguments are those of `sdm.maps.species.predict_raster`."""
    codes = np.array(map_codes(model), dtype=np.uint8)
    counts: dict[tuple[int, int], Index] = {}  # of every value on the map of classes, by window

    def bands(window: Window, columns: AnyArray, mapped: NDArray[np.bool_]) -> tuple[Sequence[AnyArray], Array]:
        p = model.column_distributions(list(columns), how.clamped)
        made = _bands(p, codes, ~mapped)
        counts[int(window.row_off), int(window.col_off)] = np.bincount(made[1], minlength=256)
        return made, p

    about = {key: value for key, value in (tags or {}).items() if key in ("title", "species", "scenario")}
    rasters = _rasters(paths, about.get("title") or "class", model, codes)
    *_, entropy = how.write(model, stack, rasters, _tags(model, codes, about), bands, novelty, about=about)
    shares = np.sum(list(counts.values()), axis=0)[codes] / entropy.cells
    return {"cells": entropy.cells, "mean_entropy": entropy.mean, "shares": dict(zip(model.labels, shares.tolist()))}


def _bands(p: Array, codes: NDArray[np.uint8], missing: NDArray[np.bool_]) -> tuple[AnyArray, ...]:
    """Return the probabilities, the most probable class and the entropy of some cells, in the order of `KINDS`."""
    best, entropy, probability = codes[np.argmax(p, axis=0)], shannon(p).astype(np.float32), p.astype(np.float32)
    best[missing], entropy[missing], probability[:, missing] = no_class(codes), NODATA, NODATA
    return probability, best, entropy


def _tags(model: ClassModel, codes: NDArray[np.uint8], about: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the tags of the maps, in the order of `KINDS`."""
    legend = {f"class_{code}": label for code, label in zip(codes, model.labels)}
    of_kind = {"probability": {"scale": "probability", "units": "0 to 1"}, "class": legend}
    common = {"model_id": model.identity, "software": f"sdm {__version__}", **about}
    return [{**common, "what": kind, **of_kind.get(kind, {})} for kind in KINDS]


def _rasters(paths: Mapping[str, Path], title: str, model: ClassModel, codes: NDArray[np.uint8]) -> list[Raster]:
    """Return the files, in the order of `KINDS`."""
    table = dict(zip(codes.tolist(), model.colours))
    return [
        Raster(paths["probability"], bands=model.labels),
        Raster(paths["class"], "uint8", no_class(codes), bands=(title,), colours=table),
        Raster(paths["entropy"], bands=("entropy (nats)",)),
    ]
