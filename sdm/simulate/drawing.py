"""Many niches at many cells: suitability, and draws by it without replacement, a strip of the landscape at a time."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.simulate import noise
from sdm.simulate.niche import VirtualSpecies
from sdm.types import Array

Floats = NDArray[np.float32]
Whole = NDArray[np.int64]
_SHAPES = {"gaussian": 0, "logistic": 1, "threshold": 2}
_STEPS = 10_000.0  # suitability is rounded to 1e-4


class Niche(NamedTuple):
    """One niche as arrays: layers by their position, and what follows them."""

    layer: Whole
    shape: Whole
    centre: Array
    width: Array
    cover: int  # the position of the land cover, or -1
    preference: Array  # by class
    gate: Whole  # positions of the layer that must be above, and of the one that must be below; or -1
    limits: Floats


def compile_niche(species: VirtualSpecies, names: Sequence[str]) -> Niche:
    """Return a niche whose layers are known by their position in ``names``."""
    place, parts = names.index, species.responses
    preference = np.zeros(256)
    for number, value in (species.classes or {}).items():
        preference[number] = value
    gate = species.interaction
    return Niche(
        np.array([place(r.variable) for r in parts], np.int64),
        np.array([_SHAPES[r.shape] for r in parts], np.int64),
        np.array([r.centre for r in parts], np.float64),
        np.array([r.width for r in parts], np.float64),
        place("landcover") if species.classes is not None else -1,
        preference,
        np.array([place(gate.above), place(gate.below)] if gate else [-1, -1], np.int64),
        np.array([gate.low, gate.high] if gate else [0.0, 0.0], np.float32),
    )


@jit
def niche_values(
    out: Floats, columns: Floats, layer: Whole, shape: Whole, centre: Array, width: Array, cover: int,
    preference: Array, gate: Whole, limits: Floats,
) -> float:  # fmt: skip
    """Fill the suitability of a niche, rounded to 1e-4, at cells with these layers (layer × cell); return its sum. What
    rounds to 0 is not computed to the end."""
    total = 0.0
    for n in range(out.size):
        out[n] = 0.0
        if gate[0] >= 0 and not (columns[gate[0], n] > limits[0] and columns[gate[1], n] < limits[1]):
            continue
        liked = 1.0
        if cover >= 0:
            liked = preference[np.int64(columns[cover, n])]
            if liked == 0.0:
                continue
        value = 1.0
        for k in range(layer.size):
            z = (np.float64(columns[layer[k], n]) - centre[k]) / width[k]
            if shape[k] == 0:
                value = value * np.exp(-0.5 * z * z) if z * z < 20.0 else 0.0
            elif shape[k] == 1:
                value *= 1.0 / (1.0 + np.exp(min(700.0, max(-700.0, -z))))
            elif z <= 0.0:
                value = 0.0
            if value < 0.5 / _STEPS:
                break
        value = np.rint(value * liked * _STEPS) / _STEPS
        out[n] = value
        total += np.float64(out[n])
    return total


@jit
def log_linear_values(out: Floats, columns: Floats, slopes: Array, intercept: float) -> None:
    """Fill the suitability ``exp(intercept + Σ slope × axis)`` at cells with these axes (axis × cell). It is not
    rounded to a step: its logarithm is known where suitability is small too."""
    for n in range(out.size):
        value = intercept
        for k in range(slopes.size):
            value += slopes[k] * np.float64(columns[k, n])
        out[n] = np.exp(value)


@jit
def _draw(
    rank: Array, row: NDArray[np.int32], col: NDArray[np.int32], count: int, weight: Floats, effort: Floats,
    rows: NDArray[np.int32], cols: NDArray[np.int32], code: np.uint64,
) -> int:  # fmt: skip
    """Keep the cells of lowest rank ``-log(u) / weight``, the largest rank first (a heap); return how many there are.
    Because ``-log(u) ≥ 1 - u``, most cells need no logarithm."""
    most = rank.size
    for n in range(weight.size):
        w = np.float64(weight[n] * effort[n])
        if w <= 0.0:
            continue
        u = noise.uniform(np.int64(rows[n]), np.int64(cols[n]), code)
        if count == most and 1.0 - u > rank[0] * w * (1.0 + 1e-9):
            continue
        r = -np.log(u) / w
        if count < most:
            at = count
            count += 1
            while at > 0 and rank[(at - 1) // 2] < r:
                up = (at - 1) // 2
                rank[at], row[at], col[at] = rank[up], row[up], col[up]
                at = up
        elif r < rank[0]:
            at = 0
            while True:
                down = 2 * at + 1
                if down + 1 < most and rank[down + 1] > rank[down]:
                    down += 1
                if down >= most or rank[down] <= r:
                    break
                rank[at], row[at], col[at] = rank[down], row[down], col[down]
                at = down
        else:
            continue
        rank[at], row[at], col[at] = r, rows[n], cols[n]
    return count


class RecordDraws:
    """Cells of one species, drawn without replacement with probability proportional to weight: those of lowest rank
    ``-log(u) / weight`` (Efraimidis and Spirakis 2006). Strips are drawn from one by one, in any number."""

    def __init__(self, records: int, code: np.uint64) -> None:
        self.code, self.count = code, 0
        self._rank = np.empty(records)
        self._row, self._col = np.empty(records, np.int32), np.empty(records, np.int32)

    def add(self, weight: Floats, effort: Floats, rows: NDArray[np.int32], cols: NDArray[np.int32]) -> None:
        """Draw from further cells, after those before; ``weight`` is multiplied by ``effort``."""
        self.count = _draw(self._rank, self._row, self._col, self.count, weight, effort, rows, cols, self.code)

    def cells(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return rows and columns of the cells, in the order in which they were drawn."""
        row, col = self._row[: self.count], self._col[: self.count]
        order = np.lexsort((col, row, self._rank[: self.count]))
        return row[order], col[order]
