"""Random niches: the optimum is the environment of a random place on the land, and the width follows from a random
prevalence."""

from collections.abc import Mapping, Sequence
from math import floor

import numpy as np

from sdm.simulate.drawing import compile_niche, niche_values
from sdm.simulate.landscape import CLASSES, LAYERS, Landscape
from sdm.simulate.names import virtual_name
from sdm.simulate.niche import Interaction, Response, VirtualSpecies
from sdm.types import AnyArray

RAREST, COMMONEST = 0.005, 0.4  # mean suitability over the land, drawn from a log-uniform distribution between them
CHOOSY = 0.4  # the share of species with a land-cover preference
_LIKED = (0.0, 0.05, 0.2, 0.5, 1.0)  # preference for a class other than the class of the optimum
_FAVOURED = {"temperature": 4.0, "precipitation": 4.0}  # relative probability of a layer
_CELLS = 1000  # number of cells for prevalence
_ROUNDS = 10
_SCALES = 0.02, 20.0  # number of bisections for the factor of the widths


class NicheLottery:
    """Draws niches in one landscape. The niche of species ``number`` does not depend on the number of species.

    Parameters
    ----------
    world, look
        The landscape, and its layers at a sample of its land cells (:meth:`Landscape.sample`).
    """

    def __init__(self, world: Landscape, look: Mapping[str, AnyArray]) -> None:
        self.world, self.look = world, look
        self.layers = [layer.name for layer in LAYERS if layer.name in look]
        self.names = [*self.layers, "landcover"]
        self._size = len(look["landcover"])
        cells = np.linspace(0, self._size - 1, min(_CELLS, self._size)).astype(int)
        self._columns = np.array([look[name][cells] for name in self.names], np.float32)
        steps = {layer.name: layer.step for layer in LAYERS}
        self._spread = {
            name: max(steps[name], float(np.subtract(*np.quantile(look[name], [0.95, 0.05])))) for name in self.layers
        }

    def niche(self, number: int, interaction: bool) -> VirtualSpecies:
        """Return species ``number`` with optimum and width on two to four layers, and for some species a land-cover
        preference. With ``interaction``, it is also limited to one side of the optimum in two layers."""
        name = virtual_name(number)
        u = self.world.white(f"{name} niche", np.arange(64)[:, None], np.arange(4))
        place, many, choosy, common = u[:4, 0].tolist()
        chance, relative, liking = u[: len(self.layers), 1], u[:4, 2].tolist(), u[: len(CLASSES), 3].tolist()
        cell = floor(place * self._size)
        weight = [_FAVOURED.get(layer, 1.0) for layer in self.layers]
        order = np.argsort(-np.log(chance) / weight, kind="stable")
        chosen = [self.layers[k] for k in order[: 2 + floor(3 * many)]]
        optimum = [float(f"{self.look[layer][cell]:.4g}") for layer in chosen]
        width = [(0.5 + share) * self._spread[layer] for layer, share in zip(chosen, relative)]
        classes = self._classes(int(self.look["landcover"][cell]), liking) if choosy < CHOOSY else None
        species = VirtualSpecies(name, _responses(chosen, optimum, width), classes)
        scale = self._scale(species, RAREST * (COMMONEST / RAREST) ** common)
        responses = _responses(chosen, optimum, [scale * one for one in width])
        first, second = responses[:2]
        gate = Interaction(
            first.variable, float(f"{first.centre - first.width:.3g}"),
            second.variable, float(f"{second.centre + second.width:.3g}"),
        ) if interaction else None  # fmt: skip
        return VirtualSpecies(name, responses, classes, gate)

    def _classes(self, best: int, liking: Sequence[float]) -> dict[int, float]:
        """Return a preference for land cover: 1 for the class of the optimum, random for the others."""
        return {number: 1.0 if number == best else _LIKED[floor(u * len(_LIKED))] for number, u in zip(CLASSES, liking)}

    def _scale(self, species: VirtualSpecies, prevalence: float) -> float:
        """Return the factor of the widths with a mean suitability of ``prevalence``, or the last one of the search."""
        niche = compile_niche(species, self.names)
        out = np.empty(self._columns.shape[1], np.float32)
        low, high = np.log(_SCALES)
        for _ in range(_ROUNDS):
            middle = (low + high) / 2.0
            mean = niche_values(out, self._columns, *niche._replace(width=niche.width * np.exp(middle))) / out.size
            low, high = (middle, high) if mean < prevalence else (low, middle)
        return float(np.exp((low + high) / 2.0))


def _responses(layers: Sequence[str], optimum: Sequence[float], width: Sequence[float]) -> tuple[Response, ...]:
    """Return bell-shaped responses, with widths rounded to two digits."""
    return tuple(Response(v, "gaussian", c, float(f"{w:.2g}")) for v, c, w in zip(layers, optimum, width))
