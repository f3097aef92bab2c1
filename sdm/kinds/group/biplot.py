"""The biplot of a group: species as arrows along two axes, sites as points, and names where there is room for them."""

from collections.abc import Sequence

import numpy as np

from sdm.report.charts import Biplot, NamedTip, short
from sdm.types import Array

LONGEST = 26  # letters of a name
MOST_NAMES = 60
LETTER, LINE = 0.0131, 0.030  # width of a letter and height of a line, as shares of the side of the plot
SHORTEST = 0.15  # of the way to the edge, of an arrow with a name: shorter ones lie on one another
FAR = 0.86  # how far the longest arrow goes, as a share of the way to the edge
ALONE = 3.0  # deviations to either side, where no site is known


def biplot(
    names: Sequence[str], places: Array, sites: Array, explained: Sequence[float], first: int = 0, second: int = 1
) -> Biplot:
    """Return the biplot of species (`places`, (axes, species)) and sites ((axes, sites)) on two of the axes.

    Both directions have one scale, so that angles between arrows are those of the responses. All arrows are stretched
    by one factor: the longest nearly reaches the edge.
    """
    tips, dots = places[[first, second]], sites[[first, second]]
    reach = 1.08 * float(np.quantile(np.abs(dots), 0.995)) if dots.size else ALONE
    length = np.hypot(*tips)
    longest = float(length.max(initial=0.0))
    factor = FAR * reach / longest if longest > 0 else 1.0
    inside = np.all(np.abs(dots) <= reach, axis=0)
    across, up = (f"Axis {k + 1} ({100 * explained[k]:.0f} % of the species' responses)" for k in (first, second))
    return Biplot(
        f"{len(names)} species and the sites on axes {first + 1} and {second + 1}",
        across,
        up,
        dots[:, inside].T.tolist(),
        (factor * tips).T.tolist(),
        _named(names, factor * tips / reach, reach),
        reach,
        longest,
    )


def _named(names: Sequence[str], tips: Array, reach: float) -> list[NamedTip]:
    """Return the species whose names are shown, with the longest arrows first: no name lies on another, or runs out of
    the plot. `tips` are shares of the way to the edge."""
    taken: list[tuple[float, float, float, float]] = []
    out = []
    for s in np.argsort(-np.hypot(*tips), kind="stable").tolist():
        if np.hypot(*tips[:, s]) < SHORTEST:
            break
        text = short(names[s], LONGEST)
        x, y = tips[:, s].tolist()
        wide, high = 2 * LETTER * len(text), 2 * LINE
        for right in (x >= 0, x < 0):
            left = x + 0.015 if right else x - 0.015 - wide
            low = y - 0.5 * high + np.sign(y) * 0.3 * high
            box = (left, left + wide, low, low + high)
            free = all(box[1] < a or b < box[0] or box[3] < c or d < box[2] for a, b, c, d in taken)
            if free and max(map(abs, box)) <= 1:
                taken.append(box)
                out.append(
                    NamedTip(s, text, (x + (0.015 if right else -0.015)) * reach, (low + 0.3 * high) * reach, right)
                )
                break
        if len(out) == MOST_NAMES:
            break
    return out
