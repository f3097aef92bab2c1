"""Suitability of many niches at many cells, and weighted draws without replacement, strip by strip."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.simulate.niche import VirtualSpecies
from sdm.types import AnyArray, Array

Floats = NDArray[np.float32]
Whole = NDArray[np.int64]
_SHAPES = {"gaussian": 0, "logistic": 1, "threshold": 2}
_STEPS = 10_000.0  # suitability is rounded to 1e-4


class Niche(NamedTuple):
    """One niche as arrays, with layers by position."""

    layer: Whole
    shape: Whole
    centre: Array
    width: Array
    cover: int  # the position of the land cover, or -1
    preference: Array  # by class
    gate: Whole  # positions of the layers of the gate with a lower and an upper limit, or -1
    limits: Floats


def compile_niche(species: VirtualSpecies, names: Sequence[str]) -> Niche:
    """Return a niche with the positions of its layers in ``names``."""
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
    """Compute the suitability of a niche, rounded to 1e-4, at cells (layer × cell), and return its sum. The computation
    stops early for values that round to 0."""
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


class CellDraws:
    """Cells drawn without replacement with probability proportional to weight (Efraimidis and Spirakis 2006).

    The cells have the lowest ranks ``-log(u) / weight``, in this order. Strips can be added in any number.
    """

    def __init__(self, most: int, columns: int = 0) -> None:
        self.most = most
        self.cells = np.empty((0, 3 + columns))  # rank, row, column, and the values of a cell

    def add(self, u: Array, weight: Floats, *columns: AnyArray) -> None:
        """Draw from more cells with uniform numbers and weights; columns are rows, columns and values."""
        limit = self.cells[-1, 0] if len(self.cells) == self.most > 0 else np.float64(1e300)
        chosen = np.flatnonzero(1.0 - u <= limit * (1.0 + 1e-9) * weight)  # -log(u) ≥ 1 - u: skip most logarithms
        rank = -np.log(u[chosen]) / weight[chosen]
        if rank.size > self.most:
            few = np.argpartition(rank, self.most)[: self.most]
            rank, chosen = rank[few], chosen[few]
        cells = np.concatenate([self.cells, np.column_stack([rank, *(column[chosen] for column in columns)])])
        self.cells = cells[np.lexsort((cells[:, 2], cells[:, 1], cells[:, 0]))[: self.most]]
