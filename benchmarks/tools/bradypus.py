"""*Bradypus variegatus* of Phillips et al. (2006): cells and records, as tables of numbers."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tools.harness import shared

if TYPE_CHECKING:
    from sdm.data.rasters.stack import Stack

Table = tuple[NDArray[np.float64], NDArray[np.float64], list[str]]


def bradypus() -> Table:
    """Return all valid cells of the 14 layers of Phillips et al. (2006), the 116 presences' values, and the names."""
    from sdm.data.rasters.layers import open_stack
    from sdm.data.records.clean import clean
    from sdm.data.records.occurrences import read_occurrences

    folder = shared() / "phillips2006"
    stack = open_stack(folder / "layers", categorical=["ecoreg"])
    points, _ = clean(read_occurrences(folder / "bradypus.csv"), stack, remove_duplicates=False)
    (species,) = points.values()
    return valid_cells(stack), np.asarray(species.values, dtype=np.float64), list(stack.names)


def valid_cells(stack: "Stack") -> NDArray[np.float64]:
    """Return the values of all layers in the cells that have all of them, a row a cell."""
    parts = []
    for _, array in stack.scan():
        flat = array.reshape(len(stack.names), -1)
        parts.append(flat[:, np.isfinite(flat).all(axis=0)].T.astype(np.float64))
    return np.vstack(parts)


def labelled(presences: NDArray[np.float64], background: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Stack presences on background, with labels."""
    return np.vstack([presences, background]), np.repeat([1, 0], [len(presences), len(background)])
