"""Responses that a run draws beside single curves: bands over replicates, and surfaces of two variables."""

from collections.abc import Sequence
from dataclasses import replace

from sdm.assess.profiles import Band, Surface, band, class_names, marginal, response_grid, surface
from sdm.data.place import is_place, without_place
from sdm.errors import OptionError
from sdm.models.interface import ValueModel
from sdm.types import Array


def make_bands(
    model: ValueModel, replicates: Sequence[ValueModel], values: Array, scale: str, clamp: bool
) -> list[Band]:
    """Return every variable's marginal response over the replicates; none if there are none.

    A replicate need not have seen every category of the model.
    """
    if len(replicates) < 2:
        return []
    bands = []
    for v in varying(model):
        x = response_grid(model, v)
        over = band([marginal(one, v, values, scale, clamp, x) for one in replicates])
        bands.append(replace(over, classes=class_names(model, v)))
    return bands


def varying(model: ValueModel) -> list[int]:
    """Return the variables with more than one value, so that there is a response to draw; where a place is, a map
    shows."""
    return [
        v
        for v, variable in enumerate(model.variables)
        if not is_place(variable.name)
        and (len(variable.classes) > 1 if variable.categorical else variable.lo < variable.hi)
    ]


def make_surfaces(model: ValueModel, words: Sequence[str], values: Array, scale: str, clamp: bool) -> list[Surface]:
    """Return the marginal responses to pairs of variables, written as `rain:temperature`."""
    return [surface(model, u, v, values, scale, clamp) for u, v in read_pairs(words, model.names)]


def read_pairs(words: Sequence[str], names: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of pairs of variables."""
    pairs, known = [], without_place(names)
    for word in words:
        parts = [part.strip() for part in word.split(":")]
        if len(parts) != 2 or parts[0] == parts[1] or any(part not in known for part in parts):
            listed = ", ".join(known)
            raise OptionError(f"output.surfaces={word!r}: expected two variables with a colon between, of {listed}")
        pairs.append((list(names).index(parts[0]), list(names).index(parts[1])))
    return pairs
