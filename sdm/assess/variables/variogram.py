"""Variograms of the environment, and the block size that they suggest.

The empirical variogram of a variable is half the mean squared difference of its values at two points, against their
distance along great circles. A spherical or exponential model is fitted by weighted least squares with weights `N / h²`
(pairs over squared distance), as in gstat. The range is the distance at which a spherical model becomes flat. For an
exponential model it is the distance at 95 % of the sill, three times its parameter. A variable has no autocorrelation
if its nearest neighbours are not more similar than after shuffling. The suggested side of a block is the median range
over the variables, as in blockCV (Valavi et al. 2019).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdm.data.crs import great_circle
from sdm.errors import NoFeatureError, TooFewError
from sdm.types import Array, Index, Numbers, Row

LEAST = 10  # smallest number of points
PAIRS = 1_000_000  # maximum number of pairs; more points are subsampled
BINS = 20  # bins of distance
FEWEST = 30  # smallest number of pairs in a bin; smaller bins are merged with the next
REACH = 0.5  # largest distance as a share of the extent: pairs farther apart are few and near the border
SIDE = "use a fixed size in km, as in --block-size 100"
CAP = 1 / 3  # largest block as a share of the extent: larger blocks are too few
WEAK = 0.1  # share of the variance below which autocorrelation is ignored
SHUFFLES, CHANCE = 199, 0.05  # permutations and level of the test for similar neighbours
MODELS = {"spherical": 1.0, "exponential": 3.0}  # ranges in units of the parameter


@dataclass(frozen=True)
class Variogram:
    """The variogram of one variable, and the model that fits it best."""

    variable: str
    distance: Array  # km, the mean of the pairs of each bin
    semivariance: Array
    pairs: Index
    model: str  # one of `MODELS`; "" where the variable does not vary
    nugget: float
    sill: float  # the height above the nugget
    range_km: float  # NaN without autocorrelation; beyond the data if the variogram still rises
    state: str  # "ok", "none" (no autocorrelation), "beyond" (the range exceeds the cap) or "constant"

    def curve(self, h: Array) -> Array:
        """Return the fitted semivariance at distances."""
        if self.state in ("constant", "none"):
            return np.full_like(h, self.nugget)
        return self.nugget + self.sill * _shape(self.model, h * MODELS[self.model] / self.range_km)


@dataclass(frozen=True)
class Autocorrelation:
    """The side of blocks that the variograms of all variables suggest."""

    size_km: float
    variograms: tuple[Variogram, ...]
    points: int
    extent_km: float  # the largest distance of two points
    note: str = ""  # remarks about the size

    @property
    def text(self) -> str:
        """Return the size and its source, in one line."""
        used = [one for one in self.variograms if one.state in ("ok", "beyond")]
        ranges, cap = sorted(one.range_km for one in used), CAP * self.extent_km
        spread = ""
        if len(used) > 1:
            low, high = (
                kilometres(km) if km <= cap else f"more than {kilometres(cap)}" for km in (ranges[0], ranges[-1])
            )
            spread = f" ({low if low == high else f'{low} to {high}'} km)"
        noun = "variable" if len(used) == 1 else "variables"
        source = f"the median range of autocorrelation of {len(used)} {noun}{spread} at {self.points:,} points"
        parts = [text for text in (source if used else "", self.note) if text]
        return f"{kilometres(self.size_km)} km: {'; '.join(parts)}"

    def numbers(self) -> Numbers:
        """Return the size and the range of every variable (None without autocorrelation), for the results."""
        ranges = {one.variable: one.range_km if np.isfinite(one.range_km) else None for one in self.variograms}
        states = {one.variable: one.state for one in self.variograms}
        return {
            "size_km": self.size_km,
            "points": self.points,
            "ranges_km": ranges,
            "states": states,
            "text": self.text,
        }

    def rows(self) -> list[Row]:
        """Return one row per variable and distance, with the model that was fitted."""
        rows = []
        for one in self.variograms:
            about = {"range km": one.range_km, "model": one.model, "nugget": one.nugget, "sill": one.sill}
            fitted = one.curve(one.distance)
            for h, gamma, count, curve in zip(one.distance, one.semivariance, one.pairs, fitted):
                point = {"distance km": float(h), "pairs": int(count), "semivariance": float(gamma)}
                rows.append({"variable": one.variable, **point, "fitted": float(curve), **about, "state": one.state})
        return rows


def kilometres(km: float) -> str:
    """Return a distance as text: three digits, or whole km."""
    return f"{km:,.0f}" if km >= 100 else f"{km:.3g}"


def measure_autocorrelation(
    lonlat: Array, values: Array, names: Sequence[str], *, seed: int = 1, noun: str = "records"
) -> Autocorrelation:
    """Fit the variograms of variables `(n, V)` at points in degrees `(n, 2)`, and suggest a block size.

    Points beyond the maximum number of pairs are subsampled with the seed. Pairs at the same place are ignored, because
    their distance is zero.
    """
    places = np.unique(lonlat, axis=0)
    if len(places) < LEAST:
        raise TooFewError(f"{len(places)} places of {noun} are too few, expected {LEAST} or more: {SIDE}")
    most = int((1 + np.sqrt(1 + 8 * PAIRS)) / 2)
    if len(lonlat) > most:
        sample = np.sort(np.random.default_rng([seed, 17]).permutation(len(lonlat))[:most])
        lonlat, values = lonlat[sample], values[sample]
    first, second = np.triu_indices(len(lonlat), 1)
    apart = great_circle(lonlat[first], lonlat[second])
    extent = float(apart.max())
    neighbour = _neighbours(apart)
    near = (apart > 0) & (apart <= REACH * extent)
    first, second, apart = first[near], second[near], apart[near]
    bins, bin_distance, pairs = _bins(apart, REACH * extent)
    if len(pairs) < 3:
        raise TooFewError(f"{len(lonlat)} {noun} have too few pairs at different distances: {SIDE}")
    variograms = []
    for v, name in enumerate(names):
        column = np.asarray(values[:, v], dtype=np.float64)
        half = np.bincount(bins, 0.5 * (column[first] - column[second]) ** 2, len(pairs)) / pairs
        fitted = _fit(name, bin_distance, half, pairs, CAP * extent)
        if fitted.state != "constant" and not _alike(column, neighbour, seed):
            mean = float(np.average(half, weights=pairs))
            fitted = replace(fitted, state="none", nugget=mean, sill=0.0, range_km=np.nan)
        variograms.append(fitted)
    return _suggest(tuple(variograms), len(lonlat), extent, float(bin_distance[0]))


def _neighbours(apart: Array) -> Index:
    """Return the nearest point at another place, for every point; `apart` are the distances of the upper triangle."""
    from scipy.spatial.distance import squareform

    square = squareform(apart)
    square[square == 0] = np.inf
    return np.asarray(square.argmin(axis=1))


def _alike(values: Array, neighbour: Index, seed: int) -> bool:
    """Return whether neighbours are more similar than after shuffling (a test at 5 %)."""
    rng = np.random.default_rng([seed, 19])

    def differ(column: Array) -> float:
        return float(np.mean((column - column[neighbour]) ** 2))

    observed = differ(values)
    as_near = sum(differ(rng.permutation(values)) <= observed for _ in range(SHUFFLES))
    return (1 + as_near) / (1 + SHUFFLES) <= CHANCE


def _bins(apart: Array, reach: float) -> tuple[Index, Array, Index]:
    """Return the bin of every pair, and the mean distance and number of pairs of every bin; narrow bins come first."""
    edges = reach * (np.arange(1, BINS + 1) / BINS) ** 1.5
    bins = np.minimum(np.searchsorted(edges, apart), BINS - 1)
    count = np.bincount(bins, minlength=BINS)
    group, pending, index = np.empty(BINS, dtype=np.int64), 0, 0
    for k in range(BINS):
        group[k] = index
        pending += int(count[k])
        if pending >= FEWEST:
            pending, index = 0, index + 1
    if pending and index:  # the remainder joins the last bin
        group[group == index] = index - 1
    bins = group[bins]
    pairs = np.bincount(bins)
    return bins, np.bincount(bins, apart) / np.maximum(pairs, 1), pairs


def _shape(model: str, u: Array) -> Array:
    """Return a model's rise from 0 to 1 with distance, in units of its parameter."""
    if model == "exponential":
        return np.asarray(1.0 - np.exp(-u))
    inside = np.minimum(u, 1.0)
    return np.asarray(1.5 * inside - 0.5 * inside**3)


def _fit(name: str, h: Array, gamma: Array, pairs: Index, cap: float) -> Variogram:
    """Fit nugget, sill and range: the first two exactly for each of many ranges, the range by successively finer
    grids."""
    if not gamma.max() > 0:
        return Variogram(name, h, gamma, pairs, "", 0.0, 0.0, np.nan, "constant")
    scaled, weight = gamma / gamma.max(), pairs / h**2
    weight = weight / weight.sum()
    best: tuple[float, str, float, float, float] | None = None
    for model, factor in MODELS.items():
        low, high = np.log(h[0] / (3 * factor)), np.log(10 * h[-1] / factor)
        for _ in range(4):
            steps = np.linspace(low, high, 60)
            fits = [_heights(_shape(model, h / np.exp(step)), scaled, weight) for step in steps]
            k = int(np.argmin([error for error, _, _ in fits]))
            low, high = steps[max(k - 1, 0)], steps[min(k + 1, len(steps) - 1)]
        error, nugget, sill = fits[k]
        if best is None or error < best[0] * (1 - 1e-9):
            best = (error, model, nugget, sill, factor * float(np.exp(steps[k])))
    assert best is not None  # noqa: S101 - there are models
    _, model, nugget, sill, reach = best
    top = float(gamma.max())
    state = "ok"
    if sill < WEAK * (nugget + sill) or reach < h[0]:
        state, nugget, sill, reach = "none", float(np.average(scaled, weights=pairs)), 0.0, np.nan
    elif reach > cap:
        state = "beyond"
    return Variogram(name, h, gamma, pairs, model, nugget * top, sill * top, reach, state)


def _heights(rise: Array, gamma: Array, weight: Array) -> tuple[float, float, float]:
    """Return the least squared error of `nugget + sill · rise` with neither below zero, and both."""
    from scipy.optimize import nnls

    root = np.sqrt(weight)
    (nugget, sill), error = nnls(np.column_stack([root, root * rise]), root * gamma)
    return float(error) ** 2, float(nugget), float(sill)


def _suggest(variograms: tuple[Variogram, ...], points: int, extent: float, shortest: float) -> Autocorrelation:
    """Return the median range, with the shortest distance for variables without autocorrelation, and at most `CAP`."""
    varying = [one for one in variograms if one.state != "constant"]
    if not varying:
        raise NoFeatureError(f"no continuous variable varies at these places: {SIDE}")
    ranges = [shortest if one.state == "none" else one.range_km for one in varying]
    size, cap = float(np.median(ranges)), CAP * extent
    notes = []
    if constant := [one.variable for one in variograms if one.state == "constant"]:
        notes.append(f"{len(constant)} constant variables dropped ({', '.join(constant[:5])})")
    if none := [one.variable for one in varying if one.state == "none"]:
        if len(none) == len(varying):
            notes.append(
                f"no variable is autocorrelated at {points:,} points: blocks have the smallest possible size, and "
                "random folds would be sufficient"
            )
        else:
            notes.append(f"{len(none)} of {len(varying)} variables are not autocorrelated ({', '.join(none[:5])})")
    if size > cap:
        notes.append("the median range is beyond a third of the extent, which is used instead")
        size = cap
    return Autocorrelation(size, variograms, points, extent, "; ".join(notes))
