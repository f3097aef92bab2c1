"""Knots of hinges and thresholds: presets of Maxent and maxnet, every distinct value, or quantiles."""

import numpy as np

from sdm.errors import OptionError
from sdm.features.domain import Domain
from sdm.types import Array

PRESETS = ("maxent", "maxnet", "all")
MAXNET_KNOTS = 50

Knots = str | int


def check_knots(knots: Knots) -> Knots:
    """Return a valid choice of knots; refuse others."""
    if isinstance(knots, str) and knots in PRESETS:
        return knots
    if isinstance(knots, (int, np.integer)) and not isinstance(knots, bool) and knots >= 1:
        return int(knots)
    raise OptionError(f"knots={knots!r}: expected one of {', '.join(PRESETS)}, or how many quantiles (1 or more)")


def hinge_knots(domain: Domain, choice: Knots) -> list[Array]:
    """Return the hinge knots of every variable, none for categorical ones; end points may be included."""
    knots = check_knots(choice)

    def place(v: int) -> Array:
        variable = domain.variables[v]
        if knots == "maxnet":
            return np.linspace(variable.lo, variable.hi, MAXNET_KNOTS)
        return _quantiles(domain, v, knots) if isinstance(knots, int) else midpoints(variable.values)

    return _for_each(domain, place)


def threshold_knots(domain: Domain, choice: Knots, sample: Array) -> list[Array]:
    """Return the threshold knots of every variable.

    `maxent` has knots only between the smallest and the largest presence; `sample` is the presences' mass on cells.
    """
    knots = check_knots(choice)
    cells = np.flatnonzero(sample)

    def place(v: int) -> Array:
        variable = domain.variables[v]
        if knots == "maxnet":
            return np.linspace(variable.lo, variable.hi, MAXNET_KNOTS + 2)[1:-1]
        if isinstance(knots, int):
            return _quantiles(domain, v, knots)
        middle = midpoints(variable.values)
        if knots == "maxent":
            present = domain.codes[v][cells]
            middle = middle[present.min() : present.max()]
        return middle

    return _for_each(domain, place)


def midpoints(values: Array) -> Array:
    """Return a knot between every two consecutive distinct values, never equal to the lower one."""
    middle = 0.5 * values[:-1] + 0.5 * values[1:]
    return np.where(middle > values[:-1], middle, values[1:])


def _for_each(domain: Domain, place) -> list[Array]:  # type: ignore[no-untyped-def]
    """Call `place` for every continuous, non-constant variable."""
    empty = np.empty(0)
    return [
        empty if variable.categorical or variable.values.size < 2 else place(v)
        for v, variable in enumerate(domain.variables)
    ]


def _quantiles(domain: Domain, v: int, count: int) -> Array:
    """Return up to `count` distinct inner quantiles of the cells' values, moved to the mid-point above a value."""
    values = domain.variables[v].values
    below = np.cumsum(np.bincount(domain.codes[v], minlength=values.size))
    levels = np.arange(1, count + 1) / (count + 1)
    position = np.minimum(np.searchsorted(below / below[-1], levels, side="left"), values.size - 2)
    return np.asarray(midpoints(values)[np.unique(position)])
