"""The lines between spatial blocks, for a map of folds."""

import numpy as np

from sdm.types import Array

MOST = 200  # lines across, or upwards, beyond which a map would be all lines
POINTS = 60  # of a curved line
Lines = tuple[Array, ...]


def square_lines(low: Array, high: Array, size: float | Array) -> Lines:
    """Return the lines of a grid of squares (or of rectangles) that begins at `low`, as far as `high`."""
    sides = np.broadcast_to(np.asarray(size, dtype=np.float64), (2,))
    counts = np.floor((high - low) / sides).astype(np.int64) + 2
    if counts.max() > MOST:
        return ()
    ends = low + (counts - 1) * sides
    across = [np.array([[x, low[1]], [x, ends[1]]]) for x in low[0] + sides[0] * np.arange(counts[0])]
    return (*across, *(np.array([[low[0], y], [ends[0], y]]) for y in low[1] + sides[1] * np.arange(counts[1])))


def sinusoidal_lines(low: Array, high: Array, size: float, middle: float, degree_km: float) -> Lines:
    """Return the lines of squares of the sinusoidal projection around a middle longitude, in degrees; `low` and `high`
    are the ends of the points in kilometres of that projection."""
    lines = []
    for line in square_lines(low, high, size):
        x, y = np.linspace(line[0], line[1], POINTS).T
        lat = np.clip(y / degree_km, -89.9, 89.9)
        lines.append(np.column_stack([middle + x / degree_km / np.cos(np.radians(lat)), lat]))
    return tuple(lines)


def belt_lines(low: float, left: float, height: float, parts: dict[int, int]) -> Lines:
    """Return the lines of blocks in belts of latitude, `height` degrees high from `low` on: the number of parts by
    belt."""
    if max(parts.values()) > MOST or len(parts) > MOST:
        return ()
    lines = [
        np.array([[left, lat], [left + 360, lat]]) for lat in {low + (b + k) * height for b in parts for k in (0, 1)}
    ]
    for belt, count in parts.items():
        for k in range(count):
            lon = left + 360 * k / count
            lines.append(np.array([[lon, low + belt * height], [lon, low + (belt + 1) * height]]))
    return tuple(lines)


def halving_lines(xy: Array, first: int, second: int, line: float, others: list[float]) -> Lines:
    """Return the three lines that divide points in four: one across all of them, and one in each half."""
    low, high = xy.min(axis=0), xy.max(axis=0)

    def along(axis: int, at: float, begin: float, end: float) -> Array:
        out = np.empty((2, 2))
        out[:, axis], out[:, 1 - axis] = at, (begin, end)
        return out

    lines = [along(first, line, low[1 - first], high[1 - first])]
    for side, at in enumerate(others):
        if second == first:
            lines.append(along(second, at, low[1 - second], high[1 - second]))
        else:
            ends = (low[first], line) if side == 0 else (line, high[first])
            lines.append(along(second, at, *ends))
    return tuple(lines)
