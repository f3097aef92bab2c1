"""Folds in space and in the environment: pure functions of coordinates or values, and a seed."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sdm.assess.splits.folds import Fold, Split, by_group, check_background, enough, located
from sdm.data.crs import DEGREE_KM, great_circle
from sdm.data.rasters.globe import in_one_piece
from sdm.errors import FoldsError, OptionError, expect_one_of
from sdm.types import Array, Index

ORIENTATIONS = ("lat_lon", "lon_lat", "lat_lat", "lon_lon")

Lines = tuple[Array, ...]


def blocks(
    xy: Array,
    background_xy: Array,
    size: float,
    k: int = 5,
    *,
    seed: int = 1,
    geographic: bool = False,
    background: str = "full",
    noun: str = "presences",
) -> Split:
    """Divide points by a grid of squares of side `size`, and assign the squares to `k` folds.

    The side is in the units of the coordinates, or in kilometres if they are `geographic` (degrees). Distances across
    the date line and the poles are then correct.

    Squares are assigned in falling order of their number of presences, each to the fold with the fewest presences so
    far. Ties, and the order of equal squares, depend on the seed. Squares without presences are assigned in the same
    way by their background points.
    """
    if not (np.isfinite(size) and size > 0):
        raise OptionError(f"size={size!r}: expected the side of a block, a positive number in the units of the layers")
    located(xy, background_xy, noun)
    if geographic:
        cells, lines = _blocks_on_globe(xy, background_xy, size)
    else:
        every = np.vstack([xy, background_xy])
        cells, lines = _squares(every, size), square_lines(every.min(axis=0), every.max(axis=0), size)
    _, square = np.unique(cells, axis=0, return_inverse=True)
    square = square.ravel()
    n_squares = int(square.max()) + 1
    counts = np.bincount(square[: len(xy)], minlength=n_squares)
    around = np.bincount(square[len(xy) :], minlength=n_squares)
    if np.count_nonzero(counts) < k:
        raise FoldsError(
            f"{k} folds need at least {k} blocks with {noun}, got {np.count_nonzero(counts)} of size {size:g}: use a "
            "smaller size"
        )
    fold = _deal(counts, around, k, np.random.default_rng(seed))[square]
    return replace(by_group("block", fold[: len(xy)], fold[len(xy) :], background, noun=noun), outlines=lines)


def _squares(xy: Array, size: float) -> Index:
    """Return column and row of the square of each point; the first square begins at the lowest coordinates."""
    return np.asarray(np.floor((xy - xy.min(axis=0)) / size).astype(np.int64), dtype=np.int64)


def _blocks_on_globe(xy: Array, background_xy: Array, size: float) -> tuple[Index, Lines]:
    """Return two numbers for the block of each point, in degrees, and the lines between blocks of about `size` km.

    Up to half a turn of longitude, blocks are squares of the sinusoidal projection, which preserves areas. Beyond that
    the projection is torn, and near the poles it is skewed. Blocks are then parts of belts of latitude; the number of
    parts is proportional to the length of the belt's middle. The last part of a belt adjoins the first, and few parts
    surround a pole.
    """
    lon = np.concatenate(in_one_piece(np.concatenate([xy[:, 0], background_xy[:, 0]])))
    lat = np.concatenate([xy[:, 1], background_xy[:, 1]])
    if np.ptp(lon) <= 180:
        middle = float(np.mean(lon[len(xy) :]))
        flat = DEGREE_KM * np.column_stack([(lon - middle) * np.cos(np.radians(lat)), lat])
        return _squares(flat, size), sinusoidal_lines(flat.min(axis=0), flat.max(axis=0), size, middle, DEGREE_KM)
    height = size / DEGREE_KM
    low = float(lat.min())
    belt = np.minimum(np.floor((lat - low) / height), np.ceil((90 - low) / height) - 1)
    half = np.minimum(low + (belt + 0.5) * height, (low + belt * height + 90) / 2)  # the last belt ends at the pole
    parts = np.maximum(1, np.round(360 * np.cos(np.radians(half)) / height))
    turn = np.clip((lon - lon.min()) / 360, 0, np.nextafter(1, 0))
    lines = belt_lines(low, float(lon.min()), height, dict(zip(belt.astype(int).tolist(), parts.astype(int).tolist())))
    return np.column_stack([np.floor(turn * parts), belt]).astype(np.int64), lines


def _deal(counts: Index, around: Index, k: int, rng: np.random.Generator) -> Index:
    """Assign every square to a fold, the fullest first, each to the fold with the fewest presences, then background."""
    load = np.zeros((k, 2))
    fold = np.empty(counts.size, dtype=np.int64)
    chance = rng.random(counts.size)
    for square in np.lexsort((chance, -around, -counts)):
        column = 0 if counts[square] else 1
        tie = rng.permutation(k)
        to = tie[np.argmin(load[tie, column])]
        fold[square] = to
        load[to] += counts[square], around[square]
    return fold


def equal_blocks(
    xy: Array, background_xy: Array, orientation: str = "lat_lon", *, background: str = "full", noun: str = "presences"
) -> Split:
    """Divide the presences in four equal parts, by one coordinate and then by another (ENMeval's `block`).

    `lat_lon` cuts by latitude at the median, then each half by longitude. Background points are divided by the lines
    half-way between the presences on either side.
    """
    expect_one_of("orientation", orientation, ORIENTATIONS)
    located(xy, background_xy, noun)
    enough(len(xy), 4, noun)
    first, second = (1 if word == "lat" else 0 for word in orientation.split("_"))
    half, line = _halve(xy[:, first], np.arange(len(xy)))
    group = np.empty(len(xy), dtype=np.int64)
    lines = []
    for side, members in enumerate(half):
        quarters, cut = _halve(xy[:, second], members)
        lines.append(cut)
        for k, quarter in enumerate(quarters):
            group[quarter] = 2 * side + k
    upper = (background_xy[:, first] > line).astype(np.int64)
    beyond = background_xy[:, second] > np.array(lines)[upper]
    cuts = halving_lines(np.vstack([xy, background_xy]), first, second, line, lines)
    return replace(by_group("equal blocks", group, 2 * upper + beyond, background, noun=noun), outlines=cuts)


def _halve(values: Array, members: Index) -> tuple[tuple[Index, Index], float]:
    """Divide members at the median of their values; the lower half has the odd one. Return also the line between."""
    order = members[np.argsort(values[members], kind="stable")]
    lower = -(-members.size // 2)
    line = 0.5 * float(values[order[lower - 1]] + values[order[lower]])
    return (order[:lower], order[lower:]), line


def checkerboard(
    xy: Array,
    background_xy: Array,
    *,
    origin: tuple[float, float],
    cell: float | tuple[float, float],
    aggregation: int | Sequence[int] = 2,
    background: str = "full",
    noun: str = "presences",
) -> Split:
    """Colour the map like a chessboard (ENMeval's basic and hierarchical checkerboard).

    The square at `origin`, the upper left corner of the layers, is white. `cell` is the side of the layers' cells, or
    width and height. `aggregation` is the number of cells along each side of a square. Two numbers give four folds
    (white on white, white on black, …). The second board has squares larger by the second number.
    """
    factors = [aggregation] if isinstance(aggregation, (int, np.integer)) else list(aggregation)
    if len(factors) not in (1, 2) or any(int(f) < 1 for f in factors):
        raise OptionError(f"aggregation={aggregation!r}: expected one or two whole numbers from 1 on, such as 2 or 2,2")
    located(xy, background_xy, noun)
    side = np.broadcast_to(np.asarray(cell, dtype=np.float64), (2,)).copy()
    group = np.zeros(len(xy), dtype=np.int64)
    others = np.zeros(len(background_xy), dtype=np.int64)
    for factor in factors:
        side *= int(factor)
        group = 2 * group + _colour(xy, origin, side)
        others = 2 * others + _colour(background_xy, origin, side)
    colours = np.unique(group)
    if colours.size < 2:
        raise FoldsError(f"the {noun} are all on squares of one colour: choose another aggregation")
    # Colours that no presence has are no folds; their background is never counts out.
    names = [str(k + 1) for k in colours]
    divided = np.searchsorted(colours, group), np.where(np.isin(others, colours), np.searchsorted(colours, others), -1)
    every, corner = np.vstack([xy, background_xy]), np.array(origin)
    fine = np.broadcast_to(np.asarray(cell, dtype=np.float64), (2,)) * int(factors[0])
    begin = corner + np.floor((every.min(axis=0) - corner) / fine) * fine
    lines = square_lines(begin, every.max(axis=0), fine)
    return replace(by_group("checkerboard", *divided, background, names, noun), outlines=lines)


def _colour(xy: Array, origin: tuple[float, float], side: Array) -> Index:
    """Return 0 on white squares and 1 on black ones."""
    column = np.floor((xy[:, 0] - origin[0]) / side[0]).astype(np.int64)
    row = np.floor((origin[1] - xy[:, 1]) / side[1]).astype(np.int64)
    return np.asarray((row + column) % 2)


def buffered_leave_one_out(
    xy: Array,
    background_xy: Array,
    radius: float,
    *,
    geographic: bool = False,
    background: str = "full",
    noun: str = "presences",
) -> Split:
    """Hold out one presence at a time, and train on the presences farther away than `radius`.

    Distances are in the units of the coordinates, or in kilometres if they are `geographic` (degrees). With
    `partition`, background points within the radius validate and the others train.
    """
    if not (np.isfinite(radius) and radius >= 0):
        raise OptionError(f"radius={radius!r}: expected a distance of at least 0")
    located(xy, background_xy, noun)
    check_background(background)
    folds = []
    for i, place in enumerate(xy):
        beyond = np.flatnonzero(_distance(xy, place, geographic) > radius)
        beyond = beyond[beyond != i]
        if beyond.size < 2:
            raise FoldsError(
                f"{noun[:-1]} {i + 1} has {beyond.size} others beyond {radius:g}, expected 2: use a smaller radius"
            )
        near = _distance(background_xy, place, geographic) <= radius
        if background == "full":
            folds.append(Fold(str(i + 1), beyond, np.array([i])))
        elif not near.any() or near.all():
            raise FoldsError(
                f"{np.count_nonzero(near):,} of {near.size:,} background points are within {radius:g} of presence "
                f"{i + 1}, expected some within and some beyond: use the full background"
            )
        else:
            folds.append(Fold(str(i + 1), beyond, np.array([i]), np.flatnonzero(~near), np.flatnonzero(near)))
    return Split("buffer", tuple(folds), np.arange(len(xy)), None, background)


def _distance(xy: Array, place: Array, geographic: bool) -> Array:
    """Return the distance of points to a place: on the plane, or along great circles in kilometres."""
    return great_circle(xy, place[None]) if geographic else np.hypot(*(xy - place).T)


def environmental_clusters(
    values: Array,
    background_values: Array,
    k: int = 5,
    *,
    seed: int = 1,
    background: str = "full",
    noun: str = "presences",
) -> Split:
    """Divide the presences into clusters of similar environment, by k-means on standardised variables.

    Variables are centred and scaled by their mean and standard deviation over the background; pass continuous ones
    only. Background points belong to the nearest cluster.
    """
    enough(len(values), k, noun)
    mean, deviation = background_values.mean(axis=0), background_values.std(axis=0)
    used = deviation > 0
    if not used.any():
        raise FoldsError("no continuous variable varies over the points: environmental clusters need at least one")
    group, centres = kmeans((values[:, used] - mean[used]) / deviation[used], k, seed=seed)
    others = nearest((background_values[:, used] - mean[used]) / deviation[used], centres)
    return by_group("environment", group, others, background, noun=noun)


STARTS = 10
ROUNDS = 100


def kmeans(points: Array, k: int, *, seed: int = 1) -> tuple[Index, Array]:
    """Return the cluster of every point `(n, d)` and the centres, from the best of ten starts; no cluster is empty."""
    from scipy.cluster.vq import ClusterError, kmeans2

    distinct = np.unique(points, axis=0).shape[0]
    if not 1 <= k <= distinct:
        raise OptionError(f"k={k} clusters: expected 1 to {distinct}, the number of distinct points")
    rng = np.random.default_rng(seed)
    results: list[tuple[float, Index, Array]] = []
    while len(results) < STARTS:
        try:
            centres, label = kmeans2(points, k, ROUNDS, minit="++", missing="raise", rng=rng)
        except ClusterError:  # a cluster lost all its points
            continue
        results.append((float(np.sum((points - centres[label]) ** 2)), label.astype(np.int64), centres))
    _, label, centres = min(results, key=lambda result: result[0])
    return label, centres


def nearest(points: Array, centres: Array) -> Index:
    """Return the nearest centre of every point."""
    from scipy.cluster.vq import vq

    return np.asarray(vq(points, centres)[0], dtype=np.int64)


MOST = 200  # lines in one direction, beyond which no lines are drawn
POINTS = 60  # points of a curved line


def square_lines(low: Array, high: Array, size: float | Array) -> Lines:
    """Return the lines of a grid of squares (or rectangles) from `low` to `high`."""
    sides = np.broadcast_to(np.asarray(size, dtype=np.float64), (2,))
    counts = np.floor((high - low) / sides).astype(np.int64) + 2
    if counts.max() > MOST:
        return ()
    ends = low + (counts - 1) * sides
    across = [np.array([[x, low[1]], [x, ends[1]]]) for x in low[0] + sides[0] * np.arange(counts[0])]
    return (*across, *(np.array([[low[0], y], [ends[0], y]]) for y in low[1] + sides[1] * np.arange(counts[1])))


def sinusoidal_lines(low: Array, high: Array, size: float, middle: float, degree_km: float) -> Lines:
    """Return the lines of squares of the sinusoidal projection around a middle longitude, in degrees.

    `low` and `high` are the limits of the points in kilometres of that projection.
    """
    lines = []
    for line in square_lines(low, high, size):
        x, y = np.linspace(line[0], line[1], POINTS).T
        lat = np.clip(y / degree_km, -89.9, 89.9)
        lines.append(np.column_stack([middle + x / degree_km / np.cos(np.radians(lat)), lat]))
    return tuple(lines)


def belt_lines(low: float, west: float, height: float, parts: dict[int, int]) -> Lines:
    """Return the lines of blocks in belts of latitude of `height` degrees from `low` on; `parts` is their number by
    belt."""
    if max(parts.values()) > MOST or len(parts) > MOST:
        return ()
    lines = [
        np.array([[west, lat], [west + 360, lat]]) for lat in {low + (b + k) * height for b in parts for k in (0, 1)}
    ]
    for belt, count in parts.items():
        for k in range(count):
            lon = west + 360 * k / count
            lines.append(np.array([[lon, low + belt * height], [lon, low + (belt + 1) * height]]))
    return tuple(lines)


def halving_lines(xy: Array, first: int, second: int, line: float, others: list[float]) -> Lines:
    """Return the three lines that divide points in four: one across all of them, and one in each half."""
    low, high = xy.min(axis=0), xy.max(axis=0)

    def along(axis: int, position: float, ends: tuple[float, float]) -> Array:
        points = np.array([[position, end] for end in ends])
        return points if axis == 0 else points[:, ::-1]

    across = low[1 - first], high[1 - first]
    halves = [across, across] if second == first else [(low[first], line), (line, high[first])]
    return (along(first, line, across), *(along(second, position, ends) for position, ends in zip(others, halves)))
