"""Examine a few blocks of each layer for untagged nodata codes and for numbers that look like classes.

A run reads all layers later, so the examination is small: blocks in the corners, at the edges and inside, about 600,000
cells of a layer, fewer if reading a part is slow (text), and none in a file of one large block or on a server, whose
windows are checked when the run reads them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from rasterio import DatasetReader
from rasterio.errors import RasterioError
from rasterio.windows import Window

from sdm.data.categories import Categories, read_categories
from sdm.data.opening.rasters import open_raster
from sdm.data.rasters.stack import Layer, Stack
from sdm.data.untagged import Extremes, Untagged, refuse_untagged
from sdm.data.variables import CLASSES, hint
from sdm.executors.ahead import ahead, allowed_threads
from sdm.storage.addresses import is_remote

CELLS = 600_000  # examined in a layer
LEAST, MOST = 5, 64  # numbers of blocks
TOO_LARGE = 4_000_000  # cells of a block that is not examined
SAMPLE = 4_000  # cells of a block whose distinct numbers are counted
# Positions of blocks, as shares of rows and columns: corners, the middle, edges, the inside.
PLACES = (
    (0, 0), (1, 1), (0.5, 0.5), (0, 1), (1, 0), (0, 0.5), (1, 0.5), (0.5, 0), (0.5, 1),
    (0.25, 0.25), (0.75, 0.75), (0.25, 0.75), (0.75, 0.25),
)  # fmt: skip
SEQUENTIAL = ("AAIGrid", "GRASSASCIIGrid", "XYZ")  # reading a row requires reading all rows before it

WholeNumbers = tuple[float, ...] | None
"""The distinct whole numbers in a layer; None if there are other numbers, or too many."""
Seen = tuple[Layer, list[str], Untagged | None]
"""A layer with the names of its classes, its warnings, and its untagged code."""


def examine(stack: Stack) -> Stack:
    """Examine every layer; return the stack with names of classes, warnings about layers that look like classes, and
    untagged codes."""
    files: dict[str, list[Layer]] = {}
    for layer in stack.layers:
        if not layer.computed:
            files.setdefault(layer.path, []).append(layer)
    seen = {one[0].name: one for file in ahead(_examine_file, files.values(), allowed_threads(2)) for one in file}
    layers, lines, codes = zip(*(seen.get(layer.name, (layer, [], None)) for layer in stack.layers))
    warnings = (*stack.warnings, *(line for of_layer in lines for line in of_layer))
    return replace(stack, layers=layers, warnings=warnings, untagged=tuple(one for one in codes if one is not None))


def _examine_file(layers: list[Layer]) -> list[Seen]:
    """Examine the layers of one file."""
    with open_raster(layers[0].path) as data:
        return [_examine_layer(layer, data) for layer in layers]


def _examine_layer(layer: Layer, data: DatasetReader) -> Seen:
    categories = read_categories(layer.path, layer.band, data)
    layer = replace(layer, classes=tuple(sorted(categories.names.items())))
    ends, numbers = _scan_blocks(layer, data)
    code = None if layer.trusted else Untagged.of(layer.name, ends, layer.dtype, categories.names)
    numbers = tuple(number for number in numbers or () if code is None or number != code.code)
    return layer, [] if layer.categorical else _hint(layer.name, categories, ends, numbers), code


def refuse_codes_in(stack: Stack) -> None:
    """Raise UntaggedNodata if untagged codes were detected in layers."""
    refuse_untagged(stack.untagged, of="layer", places="cells", sampled=True)


def _scan_blocks(layer: Layer, data: DatasetReader) -> tuple[Extremes, WholeNumbers]:
    """Return the extremes of a few blocks of a layer, and their distinct whole numbers; errors of reading are reported
    by the run."""
    ends, numbers = Extremes(0), np.empty(0)
    whole_numbers = True
    for window in _windows(layer, data):
        try:
            block = np.asarray(data.read(layer.band, window=window), dtype=np.float64)
        except (RasterioError, OSError):
            break
        block[np.isin(block, layer.nodata) | ~np.isfinite(block)] = np.nan
        part = Extremes.of(block)
        ends += _with_border(part, block, window, data)
        if whole_numbers:
            sample = block.ravel()[:: max(1, block.size // SAMPLE)]
            sample = sample[np.isfinite(sample)]
            numbers = np.unique(np.concatenate([numbers, sample]))
            whole_numbers = numbers.size <= CLASSES + len(ends.codes) and bool(np.all(numbers == np.round(numbers)))
    return ends, tuple(numbers.tolist()) if whole_numbers and numbers.size else None


def _with_border(part: Extremes, block: np.ndarray, window: Window, data: DatasetReader) -> Extremes:
    """Add the numbers of cells with codes at the border of the raster."""
    edge = np.zeros(block.shape, dtype=bool)
    edge[0] |= window.row_off == 0
    edge[-1] |= window.row_off + window.height == data.height
    edge[:, 0] |= window.col_off == 0
    edge[:, -1] |= window.col_off + window.width == data.width
    values = block[edge]
    counts = {code: int(np.count_nonzero(values == code)) for code in part.codes}
    return replace(part, border=counts, border_cells=int(np.count_nonzero(values == values)))


def _windows(layer: Layer, data: DatasetReader) -> Iterator[Window]:
    """Yield the blocks to examine."""
    height, width = data.block_shapes[layer.band - 1]
    height, width = min(height, data.height), min(width, data.width)
    if data.height * data.width <= CELLS // 4 and not is_remote(layer.path):
        yield Window(0, 0, data.width, data.height)
        return
    if height * width > TOO_LARGE or is_remote(layer.path):
        return
    if width == data.width:  # strips: several together form a block
        height = min(data.height, max(height, CELLS // MOST // width))
    count = min(MOST, max(LEAST, CELLS // (height * width)))
    down, across = -(-data.height // height), -(-data.width // width)
    if data.driver in SEQUENTIAL:
        places: list[tuple[float, float]] = [(0, 0)]
    elif across == 1:
        places = [(share, 0) for share in np.linspace(0, 1, min(count, down))]
    else:
        places = list(PLACES[:count])
    for row, col in dict.fromkeys((round(y * (down - 1)), round(x * (across - 1))) for y, x in places):
        top, left = row * height, col * width
        yield Window(left, top, min(width, data.width - left), min(height, data.height - top))


def _hint(name: str, categories: Categories, ends: Extremes, numbers: Sequence[float]) -> list[str]:
    """Return a warning if a layer that is not categorical looks like classes."""
    todo = f"--categorical {name}"
    if categories.names:
        examples = ", ".join(f"{value:g} {text}" for value, text in list(categories.names.items())[:3])
        more = f", and {len(categories.names) - 3} more" if len(categories.names) > 3 else ""
        return [f"layer '{name}' has names for its values ({examples}{more}): they are classes, so add {todo}"]
    if categories.coloured:
        return [f"layer '{name}' has a colour for each of its values, as maps of classes have: use {todo}"]
    if 3 <= len(numbers) <= CLASSES and ends.cells >= 10 * len(numbers):
        return [hint("layer", name, numbers)]
    return []
