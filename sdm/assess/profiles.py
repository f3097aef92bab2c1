"""Response profiles: a prediction as a function of one variable or of two; and bands over replicates.

Replicates have different ranges, so their profiles are drawn at the values of one of them: pass its `grid` as `x`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdm.assess.measures.basic import evenly
from sdm.assess.uncertainty import Spread, summarise
from sdm.errors import OptionError
from sdm.models.interface import FeatureModel
from sdm.models.presence import PresenceOf, ValueModel
from sdm.models.species import Model
from sdm.types import Array

POINTS = 101
SIDE = 41  # points along each side of a surface
ROWS = 1000  # background rows that partial dependence is averaged over
MARGIN = 0.1
EXPONENT = "exponent"
"""A scale of profiles: the score minus its value at the variable's lowest value, or at an unknown category."""


@dataclass(frozen=True)
class Profile:
    """One response curve: the values of a variable, the responses and the kind.

    Kinds:

    - "marginal": the other variables are at their mean over the presences.
    - "only": a model of this variable alone.
    - "additive": the variable's contribution to the score (Dudík, Phillips & Schapire 2007, Fig. 8), centred.
    - "partial": the mean prediction over the background, with the other variables unchanged.

    `classes` names the values of a categorical variable.
    """

    variable: str
    kind: str
    x: Array
    y: Array
    lo: float
    hi: float
    classes: tuple[str, ...] | None = None


def response_grid(model: FeatureModel | PresenceOf, v: int, points: int = POINTS) -> Array:
    """Return the values at which a variable's profiles are drawn: its range and a tenth more on either side."""
    variable = model.variables[v]
    if variable.categorical:
        return np.array(variable.classes)
    margin = MARGIN * (variable.hi - variable.lo)
    return np.linspace(variable.lo - margin, variable.hi + margin, points)


def class_names(model: FeatureModel | PresenceOf, v: int) -> tuple[str, ...] | None:
    """Return the names of a categorical variable's classes."""
    variable = model.variables[v]
    return variable.category_names if variable.categorical else None


def typical(model: FeatureModel | PresenceOf, presences: Array) -> Array:
    """Return the values at which the other variables are held: the presences' mean, or their most frequent class."""
    out: Array = presences.mean(axis=0)
    for v, variable in enumerate(model.variables):
        if variable.categorical:
            values, counts = np.unique(presences[:, v], return_counts=True)
            out[v] = values[np.argmax(counts)]
    return out


def marginal(
    model: ValueModel, v: int, presences: Array, scale: str, clamp: bool = True, x: Array | None = None
) -> Profile:
    """Vary one variable, with the others at the presences' mean."""
    x = response_grid(model, v) if x is None else x
    table = np.tile(typical(model, presences), (x.size, 1))
    table[:, v] = x
    return _profile(model, v, "marginal", x, _response(model, table, v, scale, clamp))


def only(single: ValueModel, model: ValueModel, v: int, scale: str, clamp: bool = True) -> Profile:
    """Draw the prediction of `single`, a model of variable `v` alone."""
    x = response_grid(model, v)
    return _profile(model, v, "only", x, _response(single, x[:, None], 0, scale, clamp))


def additive(model: Model, v: int, clamp: bool = True) -> Profile:
    """Draw the additive contribution of a variable to the score `λ·f(x)`, without products."""
    x = response_grid(model, v)
    y = model.compiled.contribution(v, x, clamp)
    return _profile(model, v, "additive", x, y - y.mean())


def partial_dependence(
    model: ValueModel, v: int, background: Array, scale: str, clamp: bool = True, rows: int = ROWS
) -> Profile:
    """Vary one variable and average the predictions over at most `rows` evenly spaced background points."""
    x, sample = response_grid(model, v), evenly(background, rows)
    columns = list(np.tile(sample, (x.size, 1)).T)
    columns[v] = np.repeat(x, len(sample))
    y = model.predict_columns(columns, scale, clamp).reshape(x.size, len(sample)).mean(axis=1)
    return _profile(model, v, "partial", x, y)


def effect(model: Model, v: int, background: Array, clamp: bool = True) -> Profile:
    """Draw the effect of a variable on the score, centred.

    It is the additive contribution (`additive`) if no feature combines variables. With trees, monomials or ridges it is
    the partial effect: the mean score over the background.
    """
    if not len(model.shapes):
        return additive(model, v, clamp)
    partial = partial_dependence(model, v, background, "link", clamp, rows=200)
    return replace(partial, y=partial.y - partial.y.mean())


@dataclass(frozen=True)
class Surface:
    """The prediction over two variables: `z[i, j]` at `x[i]` of the first and `y[j]` of the second."""

    variables: tuple[str, str]
    kind: str  # "marginal", as for a `Profile`
    x: Array
    y: Array
    z: Array
    ranges: tuple[tuple[float, float], tuple[float, float]]  # training ranges
    classes: tuple[tuple[str, ...] | None, tuple[str, ...] | None]


def surface(
    model: ValueModel, u: int, v: int, rows: Array, scale: str, clamp: bool = True, *, points: int = SIDE
) -> Surface:
    """Vary two variables over a grid of points, with the others at the mean of `rows`, the presences."""
    if u == v:
        raise OptionError(f"a surface needs two variables, and '{model.names[u]}' occurs twice")
    x, y = response_grid(model, u, points), response_grid(model, v, points)
    columns = [np.full(x.size * y.size, value) for value in typical(model, rows)]
    columns[u], columns[v] = np.repeat(x, y.size), np.tile(y, x.size)
    z = model.predict_columns(columns, scale, clamp)
    first, second = model.variables[u], model.variables[v]
    ranges, classes = ((first.lo, first.hi), (second.lo, second.hi)), (class_names(model, u), class_names(model, v))
    return Surface((first.name, second.name), "marginal", x, y, z.reshape(x.size, y.size), ranges, classes)


Band = tuple[Profile, Spread]
"""The mean profile of replicates for one variable, and the mean, deviation and quantiles at each of its values."""


def band(profiles: Sequence[Profile]) -> Band:
    """Combine replicates' profiles, drawn at the same values."""
    if len(profiles) < 2:
        raise OptionError(f"a band needs the profiles of at least 2 replicates, got {len(profiles)}")
    first = profiles[0]
    for other in profiles[1:]:
        if (other.variable, other.kind) != (first.variable, first.kind) or not np.array_equal(other.x, first.x):
            raise OptionError(
                f"the profiles of '{first.variable}' ({first.kind}) and '{other.variable}' ({other.kind}) have "
                "different values of x: compute them at the same x"
            )
    spread = summarise([profile.y for profile in profiles])
    lo, hi = min(p.lo for p in profiles), max(p.hi for p in profiles)
    return replace(first, y=spread.mean, lo=lo, hi=hi), spread


def _response(model: ValueModel, table: Array, v: int, scale: str, clamp: bool) -> Array:
    """Return predictions on a scale of the model, or as an exponent, as in Java Maxent."""
    if scale != EXPONENT:
        return model.predict(table, scale, clamp)
    start, lenient = table[:1].copy(), replace(model, unseen="zero") if isinstance(model, Model) else model
    if model.variables[v].categorical:
        start[0, v] = table[:, v].min() - 1
    return model.predict(table, "link", clamp) - lenient.predict(start, "link", clamp)


def _profile(model: FeatureModel | PresenceOf, v: int, kind: str, x: Array, y: Array) -> Profile:
    variable = model.variables[v]
    return Profile(variable.name, kind, x, y, variable.lo, variable.hi, class_names(model, v))
