"""Random shared axes: random combinations of the layers of a landscape, and random slopes of species along them."""

from collections.abc import Sequence

import numpy as np

from sdm.errors import OptionError
from sdm.progress.telling import StepCount
from sdm.simulate.axes import AxisSpecies, HiddenAxes
from sdm.simulate.landscape import Landscape
from sdm.simulate.names import virtual_name
from sdm.simulate.strips import count_strips, land_strips
from sdm.types import Array, Progress

WEAKEST, STRONGEST = 0.5, 1.5  # standard deviation of the log suitability over the land, log-uniform
_TOO_ALIKE = 1e-4  # smallest share of the variance of an axis that earlier axes do not explain
_PRODUCTS = 2**21  # species × cells per block


def draw_axis_species(
    world: Landscape, layers: Sequence[str], axes: int, count: int, progress: Progress | None
) -> tuple[AxisSpecies, ...]:
    """Draw the hidden axes of a landscape, and species that respond to them alone. Two passes over the land compute the
    moments of the layers, and the best cell of every species.

    Adding axes does not change the first ones, and adding species does not change the others.

    Axes are the same however many further ones there are, and species however many others there are.

    Raises
    ------
    OptionError
        If the layers depend on each other so closely that they do not hold this number of axes.
    """
    steps = StepCount(progress, "shared axes", 2 * count_strips(world))
    hidden = _draw_axes(world, layers, axes, *_moments(world, layers, steps))
    names = [virtual_name(number) for number in range(count)]
    slopes = np.array([_draw_slopes(world, name, axes) for name in names])
    best = _best(world, hidden, slopes, steps)
    intercepts = -np.ceil(best * 1e4) / 1e4
    return tuple(
        AxisSpecies(name, float(intercept), tuple(map(float, slope)), hidden)
        for name, intercept, slope in zip(names, intercepts, slopes)
    )


def _moments(world: Landscape, layers: Sequence[str], steps: StepCount) -> tuple[Array, Array]:
    """Return the means and covariances of layers over the land."""
    centre = total = products = np.empty(0)
    cells = 0
    for columns in land_strips(world, layers):
        values = columns.astype(np.float64)
        if not cells and values.size:  # deviations from a place near the mean preserve digits
            centre, total = values.mean(axis=1), np.zeros(len(layers))
            products = np.zeros((len(layers), len(layers)))
        if values.size:
            values -= centre[:, None]
            cells += values.shape[1]
            total += values.sum(axis=1)
            products += values @ values.T
        steps.step()
    shift = total / cells
    return centre + shift, products / cells - np.outer(shift, shift)


def _draw_axes(world: Landscape, layers: Sequence[str], count: int, mean: Array, covariance: Array) -> HiddenAxes:
    """Draw the weights of all layers for every axis, and remove from each axis its correlation with earlier ones.

    With random weights G and correlations R of the layers, the result is ``L⁻¹ Gᵀ`` where ``L Lᵀ = Gᵀ R G``. All
    numbers are rounded, so that machines agree and files contain the numbers used.
    """
    spread = np.sqrt(np.diag(covariance))
    deviation = np.array([float(f"{value:.6g}") if value > 0.0 else 1.0 for value in spread])
    drawn = 2.0 * world.white("shared axes", np.arange(len(layers))[:, None], np.arange(count)) - 1.0
    lower = _triangle((drawn / deviation[:, None]).T @ covariance @ (drawn / deviation[:, None]))
    if len(lower) < count:
        few = f"the layers of this landscape allow {len(lower)}"
        raise OptionError(f"shared_axes={count}: {few}")
    return HiddenAxes(
        tuple(layers),
        tuple(float(f"{value:.6g}") for value in mean),
        tuple(deviation.tolist()),
        tuple(map(tuple, np.linalg.solve(lower, drawn.T).round(6).tolist())),
    )


def _triangle(covariance: Array) -> Array:
    """Return the lower triangle L of the covariance of the axes, ``L Lᵀ``, up to the first axis that is a combination
    of earlier ones."""
    lower = np.zeros_like(covariance)
    for k, variance in enumerate(np.diag(covariance)):
        row = np.linalg.solve(lower[:k, :k], covariance[:k, k])
        rest = variance - row @ row
        if not rest > _TOO_ALIKE * variance:
            return lower[:k, :k]
        lower[k, :k], lower[k, k] = row, np.sqrt(rest)
    return lower


def _draw_slopes(world: Landscape, name: str, axes: int) -> Array:
    """Draw the slopes of a species: a random direction (sums of three uniform numbers are nearly normal) and
    strength."""
    u = world.white(f"{name} axes", np.arange(axes)[:, None], np.arange(4))
    direction = u[:, :3].sum(axis=1) - 1.5
    strength = WEAKEST * (STRONGEST / WEAKEST) ** u[0, 3]
    return np.asarray(np.round(strength * direction / np.sqrt(direction @ direction), 4))


def _best(world: Landscape, axes: HiddenAxes, slopes: Array, steps: StepCount) -> Array:
    """Return the maximum of ``Σ slope × axis`` over the land for every species.

    The bound is the length of the slopes times the distance of a cell from the mean environment. Cells are searched
    from the farthest one, so that most are skipped.
    """
    length = np.sqrt((slopes * slopes).sum(axis=1))
    best = np.full(len(slopes), -np.inf)
    together = max(1, _PRODUCTS // len(slopes))
    for columns in land_strips(world, axes.layers):
        values = axes.values(dict(zip(axes.layers, columns))).astype(np.float64)
        far = np.sqrt((values * values).sum(axis=0))
        order = np.argsort(-far, kind="stable")
        for start in range(0, len(order), together):
            cells = order[start : start + together]
            if far[cells[0]] < (best / length).min():
                break
            np.maximum(best, (slopes @ values[:, cells]).max(axis=1), out=best)
        steps.step()
    return best
