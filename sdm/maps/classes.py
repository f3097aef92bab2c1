"""Maps of classes: probabilities, the most probable class and the entropy, in one pass over the layers.

Memory is a few windows, whatever the size of the raster and the number of classes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm._version import __version__
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.stack import WINDOW_BYTES, Stack
from sdm.errors import DataError
from sdm.maps.gis.tags import describe_raster
from sdm.maps.moments import Moments
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.rasters import NODATA, Raster, check_variables, computed, writing_cogs
from sdm.models.classes import ClassModel, shannon
from sdm.models.extrapolation import EXTRAPOLATIONS, check_extrapolation, known_range
from sdm.models.presence import presence_class
from sdm.types import Array, Progress

MOST = 254
KINDS = ("probability", "class", "entropy")
Bands = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class ClassMaps:
    """The maps written: cells with a prediction, the share of each class on the map, and the mean entropy in nats."""

    cells: int
    shares: NDArray[np.float64]
    mean_entropy: float

    def numbers(self, labels: Sequence[str]) -> dict[str, Any]:
        """Return the same under the names that results have, the shares by class."""
        shares = dict(zip(labels, self.shares.tolist()))
        return {"cells": self.cells, "mean_entropy": self.mean_entropy, "shares": shares}


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
    *,
    extrapolation: str = "clamp",
    study_area: StudyArea | None = None,
    novelty: NoveltyMaps | None = None,
    threads: int = 2,
    tags: dict[str, str] | None = None,
    progress: Progress | None = None,
) -> ClassMaps:
    """Write the maps of a model as Cloud-Optimized GeoTIFFs: all, or none. `paths` say where to write ``probability``
    (one band per class, called by its name), ``class`` (bytes with a colour table, 0 is no data, or 255 where 0 is a
    class) and ``entropy`` (nats). The other arguments are those of `sdm.maps.species.predict_raster`."""
    check_variables(model.names, stack)
    check_extrapolation(extrapolation, EXTRAPOLATIONS[:3])
    stack = stack.within(None if study_area is None else study_area.bounds)
    codes = np.array(map_codes(model), dtype=np.uint8)
    clamped = extrapolation != "free"
    if novelty is not None:
        novelty.start(stack)

    def bands(window: Window, values: NDArray[np.floating]) -> tuple[Bands, list[NDArray[Any]]]:
        """Compute a window's maps, in the order of `KINDS`, and those of novelty."""
        columns = list(values.reshape(values.shape[0], -1))
        p = model.column_distributions(columns, clamped)
        missing = np.isnan(p[0])
        if study_area is not None:
            missing |= ~study_area.mask(stack, window).ravel()
        measured: list[NDArray[Any]] = []
        if novelty is not None:
            novelty.count(window, columns, ~missing)
            measured = novelty.measured(window, columns, ~missing, p, clamped)
        if extrapolation == "none":
            missing |= known_range(model).outside(columns)
        probability, best, entropy = (band.reshape(-1, *values.shape[1:]) for band in _bands(p, codes, missing))
        return (probability, best, entropy), measured

    tally = _Tally(no_class(codes))
    title = (tags or {}).get("title") or "class"
    windows = _windows(stack, len(codes))
    rasters, beside = _rasters(paths, title, model, codes), [] if novelty is None else novelty.rasters
    moments = [Moments(raster.nodata) for raster in beside]
    known = [[Moments(raster.nodata) for _ in range(raster.count)] for raster in rasters]
    with writing_cogs(stack, [*rasters, *beside], threads, progress) as files:
        for window, (made, new) in computed(stack, windows, bands, threads=threads, progress=progress):
            for file, bands_of, counts in zip(files, made, known):
                file.write(bands_of, window=window)
                for band, count in zip(bands_of, counts):
                    count.add(band)
            for file, band, count in zip(files[len(KINDS) :], new, moments):
                file.write(band, 1, window=window)
                count.add(band)
            tally.add(made)
        maps = tally.summary(codes)
        for file, raster, counts, described in zip(files, rasters, known, _tags(model, codes, tags)):
            describe_raster(file, [count.summary(raster.path) for count in counts], described)
        if novelty is not None:
            novelty.wrote([count.summary(raster.path) for count, raster in zip(moments, beside)])
            for file, more, count, raster in zip(files[len(KINDS) :], novelty.tags, moments, beside):
                describe_raster(file, [count.summary(raster.path)], {**more, **_about(tags)})
    return maps


def _bands(p: Array, codes: NDArray[np.uint8], missing: NDArray[np.bool_]) -> tuple[NDArray[Any], ...]:
    """Return the probabilities, the most probable class and the entropy of some cells, in the order of `KINDS`."""
    best, entropy, probability = codes[np.argmax(p, axis=0)], shannon(p).astype(np.float32), p.astype(np.float32)
    best[missing], entropy[missing], probability[:, missing] = no_class(codes), NODATA, NODATA
    return probability, best, entropy


def _tags(model: ClassModel, codes: NDArray[np.uint8], tags: Mapping[str, str] | None) -> list[dict[str, str]]:
    """Return the tags of the maps, in the order of `KINDS`."""
    legend = {f"class_{code}": label for code, label in zip(codes, model.labels)}
    of_kind = {"probability": {"scale": "probability", "units": "0 to 1"}, "class": legend}
    common = {"model_id": model.identity, "software": f"sdm {__version__}", **_about(tags)}
    return [{**common, "what": kind, **of_kind.get(kind, {})} for kind in KINDS]


def _about(tags: Mapping[str, str] | None) -> dict[str, str]:
    """Return what all maps of a model say."""
    return {key: value for key, value in (tags or {}).items() if key in ("title", "species", "scenario")}


def _windows(stack: Stack, classes: int) -> list[Window]:
    """Return windows that are as much smaller as the scores of the classes take room beside the layers."""
    layers = len(stack.layers)
    return stack.windows(budget=max(WINDOW_BYTES * layers // (layers + 4 * classes), 1 << 20))


def _rasters(paths: Mapping[str, Path], title: str, model: ClassModel, codes: NDArray[np.uint8]) -> list[Raster]:
    """Return the files, in the order of `KINDS`."""
    table = dict(zip(codes.tolist(), model.colours))
    return [
        Raster(paths["probability"], bands=model.labels),
        Raster(paths["class"], "uint8", no_class(codes), bands=(title,), colours=table),
        Raster(paths["entropy"], bands=("entropy (nats)",)),
    ]


class _Tally:
    """Cells of every class, and the sum of their entropies, after some windows."""

    def __init__(self, nodata: int) -> None:
        self.nodata = nodata
        self.counts = np.zeros(256, dtype=np.int64)
        self.undecided = 0.0

    def add(self, bands: Bands) -> None:
        """Count the cells of one more window."""
        _, best, undecided = bands
        self.counts += np.bincount(best.ravel(), minlength=256)
        self.undecided += float(undecided[best != self.nodata].sum(dtype=np.float64))

    def summary(self, codes: NDArray[np.uint8]) -> ClassMaps:
        """Return the summary of the maps."""
        cells = int(self.counts.sum() - self.counts[self.nodata])
        if not cells:
            raise DataError("the map would have no cell: no cell of the layers has a value in every layer")
        return ClassMaps(cells, self.counts[codes] / cells, self.undecided / cells)
