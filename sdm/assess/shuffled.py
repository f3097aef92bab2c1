"""The scores of a model when one variable is shuffled, without predicting everything again.

The score of a point is a sum of parts, one for each variable and for each product of two. When one variable is
shuffled, its part is shuffled with it, and only its products are new. A run over many species takes half as long again
where all points are predicted for every order.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sdm.models.species import Model
from sdm.types import Array


class ShuffledModel:
    """A model of terms alone with Shannon's entropy, at points `(n, V)`."""

    def __init__(self, model: Model, rows: Array) -> None:
        self._compiled = model.compiled
        self._columns = np.clip(rows.T, self._compiled.lo[:, None], self._compiled.hi[:, None])
        variables = sorted({*self._compiled.curves, *self._compiled.classes})
        self._parts = {v: self._compiled.contribution(v, self._columns[v]) for v in variables}
        self._pairs = [(int(p), int(q)) for p, q in self._compiled.pairs.T]
        self._products = [self._compiled.product(k, *self._columns[[p, q]]) for k, (p, q) in enumerate(self._pairs)]

    @staticmethod
    def serves(model: Model, rows: Array) -> bool:
        """Tell whether a model is of terms alone, with Shannon's entropy, and no value is missing."""
        plain = model.alpha == 1.0 and not len(model.shapes) and model.unseen != "error"
        return plain and bool(np.isfinite(rows).all())

    def uses(self, v: int) -> bool:
        """Tell whether a variable has any part in the scores."""
        return v in self._parts or any(v in pair for pair in self._pairs)

    def shuffling(self, v: int) -> Callable[[NDArray[np.int64]], Array]:
        """Return the function that computes the scores from an order of the values of variable `v`."""
        constant = np.zeros(self._columns.shape[1])
        for u, part in self._parts.items():
            constant += part if u != v else 0.0
        for pair, part in zip(self._pairs, self._products):
            constant += part if v not in pair else 0.0
        changing = [k for k, pair in enumerate(self._pairs) if v in pair]

        def scores(order: NDArray[np.int64]) -> Array:
            theta = constant + self._parts[v][order] if v in self._parts else constant.copy()
            moved = self._columns[v][order] if changing else constant
            for k in changing:
                theta += self._compiled.product(k, *(moved if u == v else self._columns[u] for u in self._pairs[k]))
            return theta

        return scores
