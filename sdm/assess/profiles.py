"""Response profiles: how a prediction changes with one variable."""

from dataclasses import dataclass

import numpy as np

from sdm.features.domain import Array
from sdm.model import Model

POINTS = 101
MARGIN = 0.1


@dataclass(frozen=True)
class Profile:
    """One curve: a variable's values, the response, and which of the kinds it is.

    `kind` is "marginal" (the others at their mean over the presences), "only" (a model of this variable alone) or
    "additive" (the variable's contribution to the score, generalized-maxent.txt Fig. 8, shifted to a mean of zero).
    `classes` names the values of a categorical variable.
    """

    variable: str
    kind: str
    x: Array
    y: Array
    lo: float
    hi: float
    classes: tuple[str, ...] | None = None


def grid(model: Model, v: int) -> Array:
    """Return the values at which a variable's profiles are drawn: its range and a tenth more on either side."""
    variable = model.variables[v]
    if variable.categorical:
        return np.array(variable.classes)
    margin = MARGIN * (variable.hi - variable.lo)
    return np.linspace(variable.lo - margin, variable.hi + margin, POINTS)


def class_names(model: Model, v: int) -> tuple[str, ...] | None:
    """Return the names of a categorical variable's classes."""
    variable = model.variables[v]
    if not variable.categorical:
        return None
    if variable.labels is not None:
        return tuple(variable.labels[int(code)] for code in variable.classes)
    return tuple(f"{code:g}" for code in variable.classes)


def typical(model: Model, presences: Array) -> Array:
    """Return where the other variables are held: the presences' mean, or their most frequent class."""
    out = presences.mean(axis=0)
    for v, variable in enumerate(model.variables):
        if variable.categorical:
            values, counts = np.unique(presences[:, v], return_counts=True)
            out[v] = values[np.argmax(counts)]
    return out


def marginal(model: Model, v: int, presences: Array, scale: str, clamp: bool = True) -> Profile:
    """Vary one variable, the others held at the presences' mean."""
    x = grid(model, v)
    table = np.tile(typical(model, presences), (x.size, 1))
    table[:, v] = x
    return _profile(model, v, "marginal", x, model.predict(table, scale, clamp))


def only(single: Model, model: Model, v: int, scale: str, clamp: bool = True) -> Profile:
    """Draw the prediction of `single`, a model of variable `v` alone."""
    x = grid(model, v)
    return _profile(model, v, "only", x, single.predict(x[:, None], scale, clamp))


def additive(model: Model, v: int, clamp: bool = True) -> Profile:
    """Draw the variable's own part of the score `λ·f(x)`, products left out."""
    x = grid(model, v)
    y = model.compiled.contribution(v, x, clamp)
    return _profile(model, v, "additive", x, y - y.mean())


def _profile(model: Model, v: int, kind: str, x: Array, y: Array) -> Profile:
    variable = model.variables[v]
    return Profile(variable.name, kind, x, y, variable.lo, variable.hi, class_names(model, v))
