"""Sampling effort of each cell, from a raster or from the records of a group of species.

Only ratios of effort matter. A cell without effort (zero, or missing) gives no information about a species: it is not
background, and a record in it cannot be used. Negative effort is an error.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from rasterio.windows import Window

from sdm._jit import jit
from sdm.data.crs import DEGREE_KM
from sdm.data.nodata import NodataValues
from sdm.data.rasters.cells import all_valid
from sdm.data.rasters.globe import in_one_piece
from sdm.data.rasters.grid import cell_km
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.errors import BadValueError, GridError, LayerError, OptionError, UnusableRecordsError
from sdm.storage.addresses import place_name

REACH = 4.0  # of a kernel, in bandwidths
FINE = 8  # a kernel is computed on cells of at most the bandwidth divided by this: finer ones are aggregated


@dataclass(frozen=True)
class RasterEffort:
    """Effort from a raster file: one band, on the grid of the layers or resampled to it."""

    stack: Stack

    @property
    def name(self) -> str:
        """The name of the file."""
        return place_name(self.stack.layers[0].path)

    def window(self, window: Window) -> np.ndarray:
        """Return the effort in the cells of a window; may be called from several threads."""
        with self.stack.reader() as reader:
            band = reader.read(window)[0]
        if (negative := np.argwhere(band < 0)).size:
            row, col = negative[0]
            place = f"row {row + int(window.row_off):,}, column {col + int(window.col_off):,}"
            raise BadValueError(
                f"bias raster '{self.name}' has a negative effort ({band[row, col]:g} at {place}): expected 0 or more; "
                "if the number is a nodata value, declare it in the file or with --nodata"
            )
        return np.asarray(band, dtype=np.float64)

    def at_cells(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the effort in cells."""
        return np.asarray(self.stack.sample(rows, cols)[:, 0], dtype=np.float64)


def open_effort(path: str | Path, stack: Stack, *, nodata: NodataValues = None, align: bool = False) -> RasterEffort:
    """Open a raster (one band) of sampling effort on the grid of the layers; no values are read.

    `nodata` are additional nodata values; `align` resamples it (bilinear) if its grid differs.
    """
    effort = open_stack(path, nodata=nodata)
    name = place_name(str(path))
    if len(effort.layers) != 1:
        raise LayerError(f"bias raster '{name}' has {len(effort.layers)} layers: expected one band of effort")
    grid = effort if effort.crs is not None else replace(effort, crs=stack.crs)
    difference = grid.difference(stack)
    if difference and not align:
        raise GridError(f"bias raster '{name}' {difference}: use --align first to resample")
    layer = replace(effort.layers[0], resample=bool(difference))
    return RasterEffort(replace(stack, layers=(layer,), block=(64, stack.width) if difference else effort.block,
                                dtype=effort.dtype, notices=()))  # fmt: skip


@dataclass(frozen=True)
class KernelEffort:
    """Effort from the density of sites with records of a group of species."""

    surface: np.ndarray  # density of sites relative to valid cells; 0 beyond their reach, NaN without data
    bandwidth: float  # standard deviation of the kernel in km
    n_sites: int
    name: str  # source of the sites
    notes: tuple[str, ...] = ()

    def window(self, window: Window) -> np.ndarray:
        """Return the effort in the cells of a window."""
        return np.asarray(self.surface[window.toslices()])

    def at_cells(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the effort in cells."""
        return np.asarray(self.surface[rows, cols])


Effort = RasterEffort | KernelEffort
"""Sampling effort in the cells of a grid: not negative, NaN if unknown."""


def kernel_effort(
    stack: Stack,
    rows: np.ndarray,
    cols: np.ndarray,
    *,
    bandwidth: float | Literal["auto"] = "auto",
    name: str = "target group",
    threads: int = 2,
) -> KernelEffort:
    """Estimate effort from the sites of a target group, with a Gaussian kernel in km.

    The estimate is the density of sites divided by the density of valid cells, both smoothed by the kernel, so that
    coasts are not underestimated because part of the kernel is in the sea. `rows` and `cols` are cells with records of
    the group; several records in a cell are one site. `bandwidth` is the kernel's standard deviation in km; ``"auto"``
    is Scott's rule, the standard deviation of the sites times n^(-1/6), and at least one cell.
    """
    valid = np.zeros((stack.height, stack.width), dtype=bool)
    for window, part in stack.scan(compute=lambda _, array: all_valid(array), threads=threads):
        valid[window.toslices()] = part
    sites = np.zeros(valid.shape)
    sites[rows, cols] = 1
    sites *= valid
    occupied = np.argwhere(sites)
    if not len(occupied):
        raise UnusableRecordsError(
            f"{name}: no record is on a cell with data in all layers, so effort cannot be estimated"
        )
    wide, high = cell_km(stack, np.arange(stack.height), "a kernel-density effort surface")
    if bandwidth != "auto" and not bandwidth > 0:
        raise OptionError(f"background.bandwidth={bandwidth}: expected a number of km above 0, or 'auto'")
    auto = bandwidth == "auto"
    width = max(_scott(stack, occupied[:, 0], occupied[:, 1]), high, float(wide.max())) if auto else float(bandwidth)
    sigma = width / np.maximum(wide, 1e-6), np.full(stack.width, width / high)
    density = _blur(sites, *sigma, stack.is_round)
    density /= np.where(valid, _blur(valid.astype(np.float64), *sigma, stack.is_round), np.nan)
    return KernelEffort(density, width, len(occupied), name)


def _scott(stack: Stack, rows: np.ndarray, cols: np.ndarray) -> float:
    """Return Scott's bandwidth for two dimensions, in km."""
    x, y = stack.xy(rows, cols)
    if stack.crs is not None and stack.crs.is_geographic:
        x = in_one_piece(x)[0]
        x, y = (x - x.mean()) * np.cos(np.deg2rad(y)) * DEGREE_KM, y * DEGREE_KM
    else:
        wide, high = cell_km(stack, rows[:1], "a kernel-density effort surface")
        x, y = cols * wide[0], rows * high
    return float(np.sqrt(0.5 * (np.var(x) + np.var(y))) * len(x) ** (-1 / 6))


def _blur(values: np.ndarray, across: np.ndarray, down: np.ndarray, is_round: bool = False) -> np.ndarray:
    """Smooth along rows with a width for each row, then along columns; widths are in cells.

    On a map that `is_round`, the kernel continues from the last column to the first, at most half a turn. If widths are
    many cells, sums of square blocks of cells are smoothed and interpolated between their centres: the bandwidth
    increases by less than 1 %, and the time does not depend on it.
    """
    factor = int(min(across.min(), down.min()) / FINE)
    if factor > 1:
        sums = _blocks(_blocks(values, factor).T, factor).T
        coarse = _blur(sums, across[::factor] / factor, down[::factor] / factor, is_round) / factor**2
        return _between(_between(coarse, factor, len(values)).T, factor, values.shape[1], is_round).T
    once, twice = np.zeros(values.shape), np.zeros(values.shape[::-1])
    _smear(values, across, REACH, is_round, once)
    _smear(np.ascontiguousarray(once.T), down, REACH, False, twice)
    return np.ascontiguousarray(twice.T)


def _blocks(values: np.ndarray, factor: int) -> np.ndarray:
    """Return sums of groups of `factor` rows."""
    return np.add.reduceat(values, np.arange(0, len(values), factor), axis=0)


def _between(values: np.ndarray, factor: int, count: int, is_round: bool = False) -> np.ndarray:
    """Interpolate between rows that represent `factor` rows each; with `is_round`, the last is next to the first."""
    place = (np.arange(count) + 0.5) / factor - 0.5
    if is_round:
        before = np.floor(place).astype(np.int64)
        share = (place - before)[:, None]
        return values[before % len(values)] * (1 - share) + values[(before + 1) % len(values)] * share
    place = np.clip(place, 0, len(values) - 1)
    low = np.minimum(place.astype(np.int64), max(len(values) - 2, 0))
    share = (place - low)[:, None]
    return np.asarray(values[low] * (1 - share) + values[np.minimum(low + 1, len(values) - 1)] * share)


@jit
def _smear(values, sigma, reach, is_round, out):  # type: ignore[no-untyped-def]
    """out[r, j] = Σ_c values[r, c] exp(-(j - c)²/2σ_r²) over |j - c| ≤ reach σ_r, at least the cell itself; j is taken
    modulo the columns if `is_round`."""
    rows, cols = values.shape
    kernel = np.empty(cols)
    for r in range(rows):
        far = int(min(reach * sigma[r], (cols - 1.0) // 2 if is_round else cols - 1.0))
        for k in range(far + 1):
            kernel[k] = np.exp(-0.5 * (k / sigma[r]) ** 2)
        for c in range(cols):
            value = values[r, c]
            if value != 0:
                first, last = (c - far, c + far) if is_round else (max(0, c - far), min(cols - 1, c + far))
                for j in range(first, last + 1):
                    out[r, j % cols] += value * kernel[abs(j - c)]
