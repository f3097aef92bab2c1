"""Responses that a run draws beside single curves: bands over replicates, and surfaces of two variables."""

from collections.abc import Sequence

from sdm.assess.profiles import Band, Surface, band, grid, marginal, surface
from sdm.data.table import SampleTable
from sdm.errors import OptionError
from sdm.models.species import Model
from sdm.options.definitions import RunOptions


def make_bands(model: Model, replicates: Sequence[Model], table: SampleTable, options: RunOptions) -> list[Band]:
    """Return every variable's marginal response over the replicates; none if there are none, or no curves."""
    if len(replicates) < 2 or not options.output.curves:
        return []
    scale, clamp = options.predict.scale, options.predict.clamp
    found = []
    for v in range(len(model.variables)):
        if varies(model, v):
            x = grid(model, v)
            found.append(band([marginal(one, v, table.presence, scale, clamp, x) for one in replicates]))
    return found


def varies(model: Model, v: int) -> bool:
    """Whether a variable has more than one value, so that there is a response to draw."""
    variable = model.variables[v]
    return len(variable.classes) > 1 if variable.categorical else variable.lo < variable.hi


def make_surfaces(model: Model, table: SampleTable, options: RunOptions) -> list[Surface]:
    """Return the marginal responses to the pairs of variables that the options name."""
    scale, clamp = options.predict.scale, options.predict.clamp
    pairs = read_pairs(options.output.surfaces, model.names)
    return [surface(model, u, v, table.presence, scale, clamp) for u, v in pairs]


def read_pairs(words: Sequence[str], names: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of pairs of variables, written as `rain:temperature`."""
    pairs = []
    for word in words:
        parts = [part.strip() for part in word.split(":")]
        if len(parts) != 2 or parts[0] == parts[1] or any(part not in names for part in parts):
            listed = ", ".join(names)
            raise OptionError(f"output.surfaces={word!r}: expected two variables with a colon between, of {listed}")
        pairs.append((list(names).index(parts[0]), list(names).index(parts[1])))
    return pairs
