"""Maps of classes: probabilities, the most probable class and the entropy, in one pass over the layers.

Memory is a few windows, whatever the size of the raster and the number of classes.
"""

import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio._err import CPLE_BaseError
from rasterio.errors import RasterioError
from rasterio.windows import Window

from sdm._version import __version__
from sdm.conditional.model import ClassModel, shannon
from sdm.data.area import StudyArea
from sdm.data.stack import WINDOW_BYTES, Stack
from sdm.errors import DataError, OutputError
from sdm.predict import BLOCK, NODATA, Progress, _check_room, _check_whole, _to_cog

NO_CLASS = 0
MOST = 254
Colour = tuple[int, int, int]


@dataclass(frozen=True)
class ClassMaps:
    """What was written: cells with a prediction, the share of each class on the map, and the mean entropy in nats."""

    cells: int
    shares: NDArray[np.float64]
    mean_entropy: float


def class_codes(labels: Sequence[str]) -> list[int]:
    """Return the classes' values on the map: the labels if they are whole numbers from 1 to 254, else 1, 2, …

    Raises
    ------
    DataError
        If there are more classes than a byte can tell apart.
    """
    if len(labels) > MOST:
        raise DataError(f"there are {len(labels)} classes: a class map tells {MOST} apart; join some")
    if all(label.isascii() and label.isdigit() and 1 <= int(label) <= MOST for label in labels):
        return [int(label) for label in labels]
    return list(range(1, len(labels) + 1))


def write_class_maps(
    model: ClassModel,
    stack: Stack,
    paths: dict[str, Path],
    *,
    colours: Sequence[Colour],
    clamp: bool = True,
    study_area: StudyArea | None = None,
    threads: int = 2,
    tags: dict[str, str] | None = None,
    progress: Progress | None = None,
) -> ClassMaps:
    """Write the maps of a model as Cloud-Optimized GeoTIFFs.

    Parameters
    ----------
    model : ClassModel
    stack : Stack
        With the model's variables, in its order.
    paths : dict
        Where to write ``probability`` (a band a class, called by its name), ``class`` (bytes with a colour table, 0 is
        no data) and ``entropy`` (nats).
    colours : sequence
        Red, green and blue of every class.
    """
    if tuple(stack.names) != model.names:
        raise DataError(f"the layers are {', '.join(stack.names)}; the model needs {', '.join(model.names)}")
    codes = np.array(class_codes(model.labels), dtype=np.uint8)
    classes = len(codes)

    def score(window: Window, values: NDArray[np.floating]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        p = model.distributions(list(values.reshape(values.shape[0], -1)), clamp)
        missing = np.isnan(p[0])
        if study_area is not None:
            missing |= ~study_area.mask(stack, window).ravel()
        best = codes[np.argmax(p, axis=0)]
        undecided = shannon(p).astype(np.float32)
        band = p.astype(np.float32)
        best[missing], undecided[missing], band[:, missing] = NO_CLASS, NODATA, NODATA
        shape = values.shape[1:]
        return band.reshape(classes, *shape), best.reshape(shape), undecided.reshape(shape)

    kinds = {
        "probability": (classes, "float32", NODATA),
        "class": (1, "uint8", NO_CLASS),
        "entropy": (1, "float32", NODATA),
    }
    layers = len(stack.layers)
    windows = stack.windows(budget=max(WINDOW_BYTES * layers // (layers + 4 * classes), 1 << 20))
    counts, undecided_sum = np.zeros(256, dtype=np.int64), 0.0
    folder = paths["class"].parent
    for what, (count, dtype, _) in kinds.items():
        _check_room(paths[what], stack, dtype, count)
    try:
        with tempfile.TemporaryDirectory(prefix=".sdm-", suffix=".part", dir=folder) as part:
            plain = {what: Path(part) / f"{what}.tif" for what in kinds}
            with ExitStack() as opened:
                out = {
                    what: opened.enter_context(rasterio.open(plain[what], "w", **_profile(stack, *kind)))
                    for what, kind in kinds.items()
                }
                out["class"].write_colormap(1, {int(k): (*colour, 255) for k, colour in zip(codes, colours)})
                for done, (window, (p, best, undecided)) in enumerate(
                    stack.scan(windows, each=score, threads=threads), start=1
                ):
                    out["probability"].write(p, window=window)
                    out["class"].write(best, 1, window=window)
                    out["entropy"].write(undecided, 1, window=window)
                    counts += np.bincount(best.ravel(), minlength=256)
                    undecided_sum += float(undecided[best != NO_CLASS].sum(dtype=np.float64))
                    if progress:
                        progress(done, len(windows), "mapping classes")
                cells = int(counts[1:].sum())
                if not cells:
                    raise DataError("the map would have no cell: no cell of the layers has a value in every layer")
                for c, label in enumerate(model.labels):
                    out["probability"].set_band_description(c + 1, label)
                legend = {f"class_{code}": label for code, label in zip(codes, model.labels)}
                for what, file in out.items():
                    described = {"what": what, "software": f"sdm {__version__}", **(tags or {})}
                    file.update_tags(**described, **(legend if what == "class" else {}))
            for what, (_, dtype, _) in kinds.items():
                final = Path(part) / f"{what}_cog.tif"
                _check_whole(plain[what])
                _to_cog(plain[what], final, dtype, threads)
                _check_whole(final)
                os.replace(final, paths[what])
                plain[what].unlink()
    except (RasterioError, CPLE_BaseError, OSError) as error:
        reason = getattr(error, "strerror", None) or f"{error.__cause__ or error}; is the disk full?"
        raise OutputError(f"{folder} cannot be written ({reason}): nothing was kept") from error
    return ClassMaps(cells, counts[codes] / cells, undecided_sum / cells)


def _profile(stack: Stack, count: int, dtype: str, nodata: float) -> dict[str, Any]:
    """Return how a plain GeoTIFF is laid out, before it becomes a COG."""
    return {
        "driver": "GTiff",
        "width": stack.width,
        "height": stack.height,
        "count": count,
        "dtype": dtype,
        "nodata": nodata,
        "crs": stack.crs,
        "transform": stack.transform,
        "tiled": True,
        "blockxsize": BLOCK,
        "blockysize": BLOCK,
        "BIGTIFF": "IF_SAFER",
        **({"photometric": "palette"} if dtype == "uint8" else {}),
        **({"interleave": "pixel"} if count > 1 else {}),
    }
