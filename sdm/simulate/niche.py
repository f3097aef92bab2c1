"""The niche of a virtual species: an exact formula of the layers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sdm.errors import VariableError
from sdm.simulate.landscape import CLASSES
from sdm.types import AnyArray, Array


@dataclass(frozen=True)
class Response:
    """The response to one layer, from 0 to 1, with ``z = (x - centre) / width``: ``exp(-z²/2)`` (gaussian), ``1 / (1 +
    exp(-z))`` (logistic) or ``z > 0`` (threshold). With a negative width, the last two decrease."""

    variable: str
    shape: str
    centre: float
    width: float

    def __call__(self, x: ArrayLike) -> Array:
        """Return the response at the values ``x``."""
        z = (np.asarray(x, dtype=np.float64) - self.centre) / self.width
        if self.shape == "gaussian":
            return np.exp(-0.5 * z * z)
        if self.shape == "logistic":
            return 1.0 / (1.0 + np.exp(np.clip(-z, -700.0, 700.0)))
        return (z > 0.0).astype(np.float64)


@dataclass(frozen=True)
class Interaction:
    """A gate on two layers at once: suitability is 0 unless ``above > low`` and ``below < high``."""

    above: str
    low: float
    below: str
    high: float


def refuse_missing(species: str, layers: Sequence[str], values: Mapping[str, ArrayLike]) -> None:
    """Raise an error if a layer that a species needs has no values."""
    if missing := [name for name in layers if name not in values]:
        have = ", ".join(sorted(values)) or "none"
        raise VariableError(f"{species} needs the layers {', '.join(missing)}, got {have}: add the missing ones")


@dataclass(frozen=True)
class VirtualSpecies:
    """A species with a known niche: the product of its responses, its land-cover preference and its gate.

    Examples
    --------
    >>> species = VirtualSpecies("Virtualis albus", (Response("temperature", "gaussian", 10.0, 2.0),))
    >>> species.suitability({"temperature": np.array([10.0, 14.0])}).round(3).tolist()
    [1.0, 0.135]
    """

    name: str
    responses: tuple[Response, ...]
    classes: Mapping[int, float] | None = None
    interaction: Interaction | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """The layers that the niche depends on."""
        names = [r.variable for r in self.responses]
        names += ["landcover"] if self.classes is not None else []
        names += [self.interaction.above, self.interaction.below] if self.interaction else []
        return tuple(dict.fromkeys(names))

    def suitability(self, values: Mapping[str, ArrayLike]) -> Array:
        """Return the suitability in [0, 1] for values of the layers, which are arrays of one shape. Other layers are
        ignored; a land-cover class without a preference has suitability 0."""
        refuse_missing(self.name, self.variables, values)
        result = np.ones(np.shape(values[self.variables[0]]))
        for response in self.responses:
            result *= response(values[response.variable])
        if self.classes is not None:
            cover, preference = np.asarray(values["landcover"]), np.zeros(result.shape)
            for number, value in self.classes.items():
                preference[cover == number] = value
            result *= preference
        if gate := self.interaction:
            result *= (np.asarray(values[gate.above]) > gate.low) & (np.asarray(values[gate.below]) < gate.high)
        return result


class _Niche(NamedTuple):
    """A niche relative to a landscape: centres and gates are quantiles over the land."""

    name: str
    responses: tuple[tuple[str, str, float, float], ...]  # layer, shape, centre, width as a share of the 5-95 % range
    classes: tuple[float, ...]  # preference for the land-cover classes 1 … 7
    gate: tuple[str, float, str, float]  # above, low, below, high


# fmt: off
NICHES = (
    _Niche("montanus", (("temperature", "gaussian", 0.15, 0.14), ("precipitation", "logistic", 0.3, 0.06)),
           (0.3, 1.0, 0.9, 0.3, 0.3, 0.6, 0.05), ("precipitation", 0.4, "temperature", 0.35)),
    _Niche("silvestris", (("temperature", "gaussian", 0.55, 0.16), ("precipitation", "logistic", 0.5, 0.05)),
           (1.0, 0.7, 0.1, 0.1, 0.3, 0.02, 0.1), ("precipitation", 0.6, "temperature", 0.7)),
    _Niche("aridus", (("temperature", "logistic", 0.6, 0.06), ("precipitation", "gaussian", 0.15, 0.15)),
           (0.3, 0.2, 0.9, 1.0, 0.1, 0.8, 0.5), ("temperature", 0.6, "precipitation", 0.4)),
    _Niche("palustris", (("wetness", "logistic", 0.75, 0.05), ("temperature", "gaussian", 0.6, 0.25)),
           (0.4, 0.3, 0.7, 0.2, 1.0, 0.0, 0.4), ("precipitation", 0.3, "temperature", 0.8)),
    _Niche("saxatilis", (("slope", "logistic", 0.8, 0.07), ("temperature", "gaussian", 0.3, 0.22)),
           (0.4, 0.5, 1.0, 0.8, 0.1, 1.0, 0.1), ("precipitation", 0.2, "temperature", 0.5)),
    _Niche("pratensis", (("slope", "threshold", 0.6, -0.1), ("precipitation", "gaussian", 0.5, 0.2)),
           (0.3, 0.1, 1.0, 0.5, 0.5, 0.0, 0.9), ("temperature", 0.4, "precipitation", 0.6)),
    _Niche("borealis", (("temperature", "threshold", 0.3, -0.1), ("seasonality", "logistic", 0.4, 0.08)),
           (0.5, 1.0, 0.8, 0.3, 0.8, 0.6, 0.2), ("precipitation", 0.3, "temperature", 0.25)),
    _Niche("litoralis", (("seasonality", "logistic", 0.2, -0.05), ("temperature", "logistic", 0.5, 0.08)),
           (0.5, 0.4, 0.9, 1.0, 0.7, 0.4, 0.6), ("temperature", 0.6, "precipitation", 0.7)),
)
# fmt: on


def make_species(look: Mapping[str, AnyArray], count: int, interaction: bool) -> tuple[VirtualSpecies, ...]:
    """Return species with the niches in a landscape: quantiles become values, and responses to missing layers are
    dropped."""

    def quantile(name: str, q: float) -> float:
        return float(f"{np.quantile(look[name], q):.3g}")

    species = []
    for name, responses, preference, (above, low, below, high) in NICHES[:count]:
        spread = {v: quantile(v, 0.95) - quantile(v, 0.05) for v, *_ in responses if v in look}
        made = [(v, s, quantile(v, q), float(f"{w * spread[v]:.2g}")) for v, s, q, w in responses if v in spread]
        gate = Interaction(above, quantile(above, low), below, quantile(below, high)) if interaction else None
        classes = dict(zip(CLASSES, preference))
        species.append(VirtualSpecies(f"Virtualis {name}", tuple(Response(*m) for m in made), classes, gate))
    return tuple(species)
