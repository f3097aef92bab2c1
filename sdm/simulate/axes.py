"""Shared axes of virtual species: hidden combinations of the layers, and species that respond to them alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdm.simulate.niche import VirtualSpecies, refuse_missing
from sdm.types import Array


@dataclass(frozen=True)
class HiddenAxes:
    """The axes of a landscape: weighted sums of its standardised layers. Over the land, each axis has mean 0 and
    standard deviation 1, and axes are uncorrelated.

    Parameters
    ----------
    layers, mean, deviation
        The layers, and their mean and standard deviation over the land.
    loadings
        For every axis, the weight of every standardised layer.

    Examples
    --------
    >>> axes = HiddenAxes(("temperature", "slope"), (10.0, 5.0), (2.0, 1.0), ((0.6, -0.8),))
    >>> axes.values({"temperature": [10.0, 12.0], "slope": [5.0, 4.0]}).round(3).tolist()
    [[0.0, 1.399999976158142]]
    """

    layers: tuple[str, ...]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    loadings: tuple[tuple[float, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The axes: ``axis_1``, ``axis_2``, …"""
        return tuple(f"axis_{number}" for number in range(1, len(self.loadings) + 1))

    def values(self, layers: Mapping[str, ArrayLike]) -> NDArray[np.float32]:
        """Return the axes for values of the layers, which are arrays of one shape: axis × that shape."""
        refuse_missing("every shared axis", self.layers, layers)
        standard = [
            (np.asarray(layers[name], np.float64) - mean) / deviation
            for name, mean, deviation in zip(self.layers, self.mean, self.deviation)
        ]
        scores = np.zeros((len(self.loadings), *standard[0].shape))
        for axis, weights in zip(scores, self.loadings):
            for weight, values in zip(weights, standard):
                axis += weight * values
        return scores.astype(np.float32)


@dataclass(frozen=True)
class AxisSpecies:
    """A species whose log suitability is linear in the shared axes: ``intercept + Σ slope × axis``. Suitability is 1 in
    the best cell of the land.

    Examples
    --------
    >>> axes = HiddenAxes(("temperature",), (10.0,), (2.0,), ((1.0,),))
    >>> species = AxisSpecies("Acanthocarpus acutus", -1.0, (0.5,), axes)
    >>> species.suitability({"temperature": [10.0, 14.0]}).round(3).tolist()
    [0.368, 1.0]
    """

    name: str
    intercept: float
    slopes: tuple[float, ...]
    axes: HiddenAxes

    @property
    def variables(self) -> tuple[str, ...]:
        """The layers of the axes."""
        return self.axes.layers

    def log_suitability(self, values: Mapping[str, ArrayLike]) -> Array:
        """Return the log suitability for values of the layers, which are arrays of one shape. It can exceed 0 in
        environments absent from the land, such as a warmer climate."""
        return self.intercept + np.tensordot(np.array(self.slopes), self.axes.values(values).astype(np.float64), 1)

    def suitability(self, values: Mapping[str, ArrayLike]) -> Array:
        """Return the suitability in [0, 1] for values of the layers, which are arrays of one shape; other layers are
        ignored."""
        return np.exp(np.minimum(0.0, self.log_suitability(values)))


AnySpecies = VirtualSpecies | AxisSpecies
