"""Point patterns whose density is known: crimes in a city, and events on a road in time.

The density is given in cells of a window, so that a model on the same cells can be compared with it exactly.
"""

from dataclasses import dataclass

import numpy as np

from sdm.types import Array

CITY = (0.0, 0.0, 10.0, 8.0)  # km
ROAD = (0.0, 0.0, 24.0, 60.0)  # hours of a day, km along the road


@dataclass(frozen=True)
class PointPattern:
    """A density in the cells of a window; rows go from the top of the window down."""

    bounds: tuple[float, float, float, float]  # left, bottom, right and top
    density: Array  # (rows, columns), with sum 1

    @property
    def cells(self) -> tuple[int, int]:
        """Columns and rows, as `--cells` takes them."""
        return self.density.shape[1], self.density.shape[0]

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return x and y of n points: cells are drawn by their density, and places evenly within a cell."""
        columns, rows = self.cells
        cell = rng.choice(self.density.size, n, p=self.density.ravel())
        left, bottom, right, top = self.bounds
        x = left + (cell % columns + rng.random(n)) * (right - left) / columns
        y = top - (cell // columns + rng.random(n)) * (top - bottom) / rows
        return x, y


def city_pattern(seed: int, columns: int = 100) -> PointPattern:
    """Return where crimes happen in a city: hot spots, some streets, one district with its own level, and a lake.

    Examples
    --------
    >>> city = city_pattern(1, columns=50)
    >>> city.cells, round(float(city.density.sum()), 9)
    ((50, 40), 1.0)
    """
    rng = np.random.default_rng([2015, seed])
    x, y = _centres(CITY, columns, columns * 4 // 5)
    level = np.full(x.shape, 0.15)
    for _ in range(int(rng.integers(4, 8))):
        level += rng.uniform(0.5, 2.0) * _hot_spot(x, y, rng)
    for _ in range(int(rng.integers(2, 5))):
        angle, at = rng.uniform(0, np.pi), (rng.uniform(2, 8), rng.uniform(2, 6))
        away = (x - at[0]) * np.sin(angle) - (y - at[1]) * np.cos(angle)
        level += rng.uniform(0.3, 1.0) * (np.abs(away) < rng.uniform(0.1, 0.25))
    for factor in (rng.uniform(2.0, 4.0), 0.02):  # a district, and a lake
        low = rng.uniform(0.5, 6.5), rng.uniform(0.5, 5.0)
        side = rng.uniform(1.0, 3.0, 2)
        inside = (x >= low[0]) & (x < low[0] + side[0]) & (y >= low[1]) & (y < low[1] + side[1])
        level = np.where(inside, level * factor, level)
    return PointPattern(CITY, level / level.sum())


def road_pattern(day: int, columns: int = 96, rows: int = 60) -> PointPattern:
    """Return when and where cars are slow on a road during a day: two rush hours that move along it, places that are
    always narrow, a few accidents with their queue, and a section that is closed for some hours."""
    rng = np.random.default_rng([2015, 31, day])
    hour, km = _centres(ROAD, columns, rows)
    level = 0.05 + 0.25 * np.exp(-(((hour - 13.0) / 5.0) ** 2))
    for peak, direction in ((7.5, 1.0), (17.0, -1.0)):
        late = peak + 0.02 * direction * (km - 30.0) + rng.normal(0, 0.2)
        level += (
            rng.uniform(0.8, 1.6) * np.exp(-(((hour - late) / 1.1) ** 2)) * (0.4 + np.exp(-(((km - 35) / 14) ** 2)))
        )
    for at in (18.0, 41.0):
        level *= 1.0 + 1.5 * (np.abs(km - at) < 1.5)
    for _ in range(int(rng.integers(2, 5))):
        start, place, lasts = rng.uniform(5, 21), rng.uniform(8, 55), rng.uniform(0.5, 2.0)
        queue = np.clip((hour - start) / lasts, 0, 1) * 6.0  # km that it has grown to
        level += rng.uniform(1.5, 3.0) * (
            (hour >= start) & (hour < start + lasts) & (km <= place) & (km > place - queue)
        )
    start, low = rng.uniform(0, 18), rng.uniform(0, 48)
    closed = (hour >= start) & (hour < start + rng.uniform(2, 5)) & (km >= low) & (km < low + rng.uniform(4, 10))
    level = np.where(closed, 0.01 * level, level)
    return PointPattern(ROAD, level / level.sum())


def _centres(bounds: tuple[float, float, float, float], columns: int, rows: int) -> tuple[Array, Array]:
    left, bottom, right, top = bounds
    x = left + (np.arange(columns) + 0.5) * (right - left) / columns
    y = top - (np.arange(rows) + 0.5) * (top - bottom) / rows
    across, down = np.meshgrid(x, y)
    return across, down


def _hot_spot(x: Array, y: Array, rng: np.random.Generator) -> Array:
    """Return a bell of any direction around a random place."""
    at, width, angle = (rng.uniform(1, 9), rng.uniform(1, 7)), rng.uniform(0.2, 1.2, 2), rng.uniform(0, np.pi)
    along = (x - at[0]) * np.cos(angle) + (y - at[1]) * np.sin(angle)
    across = (y - at[1]) * np.cos(angle) - (x - at[0]) * np.sin(angle)
    return np.asarray(np.exp(-0.5 * ((along / width[0]) ** 2 + (across / width[1]) ** 2)))
