"""Thinning: fewer records where many lie close together, in space or in the environment.

Of two records that cannot both stay, the one with the smaller coordinate uncertainty does; then the earlier one.

In space, records are at least some distance apart, and as many of them as possible. Distance is the great-circle
distance, compared as the chord between points of a unit sphere. The space around it is cut into boxes so small that two
points of a box are always too near. Each box holds at most one kept record, so that a record is compared with a few
dozen others at most, however dense the records are.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from sdm._jit import jit
from sdm.data.crs import EARTH_KM
from sdm.data.records.frames import pd
from sdm.errors import OptionError, UnknownVariableError

LEAST_KM = 1e-6  # of a distance: boxes of a millimetre can still be counted
_SHRINK = 0.9995  # of a box, so that rounding never lets two points of it seem far enough apart
_STRIP = 8192  # points that are taken in random order among themselves: what they need stays in the cache
_SWEEPS = 10


@dataclass(frozen=True)
class Thinning:
    """How records are thinned; 0 for no such rule."""

    distance: float = 0.0  # no two records of a species are nearer than this, in km
    bins: int = 0  # keep one record of a species in each combination of N bins of equal width per variable
    variables: tuple[str, ...] = ()  # use the bins of these; all if empty
    tries: int = 10  # how many random orders to try; the largest set of records wins
    seed: int = 1

    @property
    def active(self) -> bool:
        """Whether anything is to be thinned."""
        return self.distance > 0 or self.bins > 0

    def check(self, names: tuple[str, ...]) -> None:
        """Raise OptionError for a variable that is not there."""
        if absent := [name for name in self.variables if name not in names]:
            raise UnknownVariableError(f"occurrences.thin_variables={absent[0]}: expected some of {', '.join(names)}")

    def seed_of(self, species: str) -> list[int]:
        """Return the seed for one species, whichever others are thinned with it."""
        return [self.seed, zlib.crc32(species.encode())]


def one_of_each(key: np.ndarray, uncertainty: np.ndarray | None = None) -> np.ndarray:
    """Return which records to keep so that each key is there once: the most certain one, then the first."""
    order = np.arange(len(key)) if uncertainty is None else np.argsort(filled_uncertainty(uncertainty), kind="stable")
    keep = np.zeros(len(key), dtype=bool)
    keep[order[np.unique(key[order], return_index=True)[1]]] = True
    return keep


def thin_by_bins(
    values: np.ndarray, bins: int, *, categorical: np.ndarray | None = None, uncertainty: np.ndarray | None = None
) -> np.ndarray:
    """Keep one record in each combination of bins between the smallest and the largest value of a variable (m, V);
    classes, (V,) booleans, are bins of their own. Of a bin's records the one with the least known `uncertainty` stays.
    """
    codes = np.empty(values.shape, dtype=np.int64)
    for v, column in enumerate(np.asarray(values, dtype=np.float64).T):
        if categorical is not None and categorical[v]:
            codes[:, v] = pd.factorize(column)[0]
        else:
            low, high = column.min(), column.max()
            share = (column - low) / (high - low) if high > low else np.zeros(len(column))
            codes[:, v] = np.minimum((share * bins).astype(np.int64), bins - 1)
    return one_of_each(np.unique(codes, axis=0, return_inverse=True)[1].ravel(), uncertainty)


def filled_uncertainty(uncertainty: np.ndarray) -> np.ndarray:
    """Return uncertainty with the largest number in place of those that are not known."""
    return np.where(np.isfinite(uncertainty), uncertainty, np.finfo(np.float64).max / max(len(uncertainty), 1))


def thin_by_distance(
    lon: np.ndarray,
    lat: np.ndarray,
    distance: float,
    *,
    tries: int = 10,
    seed: int | list[int] = 1,
    uncertainty: np.ndarray | None = None,
) -> np.ndarray:
    """Keep as many records as possible, no two nearer than a distance in km (exactly so far is far enough): (m,)
    booleans.

    Records are taken in random order (of strips, and within each), every one that is far enough from all taken before;
    the largest set of some tries wins. Then, where a record's only conflict is with a less certain one, it takes its
    place, and records that now have room are added. `lon` and `lat` are degrees; an `uncertainty` of NaN is not known.
    """
    if not distance >= LEAST_KM:
        raise OptionError(f"occurrences.thin_distance={distance}: expected at least {LEAST_KM:f} km (a millimetre)")
    boxes = _Boxes(lon, lat, min(distance / EARTH_KM, np.pi))
    doubt = None if uncertainty is None else filled_uncertainty(uncertainty)[boxes.order]
    rng = np.random.default_rng(seed)
    best = np.zeros(0, dtype=np.int64)
    for _ in range(tries):
        kept = np.full(boxes.n, -1, dtype=np.int64)
        boxes.add(_shuffled(len(lon), rng), kept)
        if not len(best) or _rank(kept, doubt) < _rank(best, doubt):
            best = kept
    if doubt is not None:
        order = np.lexsort((doubt, np.arange(len(doubt)) // _STRIP))
        for _ in range(_SWEEPS):
            if not boxes.swap(order, doubt, best) + boxes.add(order, best):
                break
    keep = np.zeros(len(lon), dtype=bool)
    keep[boxes.order[best[best >= 0]]] = True
    return keep


def _shuffled(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the numbers below n, strips of them in random order and each in random order within."""
    strips = [np.arange(a, min(a + _STRIP, n)) for a in range(0, n, _STRIP)]
    return np.concatenate([rng.permutation(strips[k]) for k in rng.permutation(len(strips))])


def _rank(kept: np.ndarray, doubt: np.ndarray | None) -> tuple[int, float]:
    """Return the rank of a set of records: more of them are better, then less uncertain coordinates."""
    records = kept[kept >= 0]
    return -len(records), 0.0 if doubt is None else float(doubt[records].sum())


class _Boxes:
    """Boxes that hold points, and which boxes are near enough to matter to each. Points are numbered by their boxes, in
    `order`: what lies near each other in space does so in memory. A box of side s has a diagonal of √3 s; s is chosen
    so that this is just less than the chord of the distance, which then reaches two boxes far at most."""

    def __init__(self, lon: np.ndarray, lat: np.ndarray, angle: float) -> None:
        from scipy.sparse import coo_array, eye_array
        from scipy.spatial import KDTree

        phi, turn = np.deg2rad(lat), np.deg2rad(lon)
        xyz = np.column_stack([np.cos(phi) * np.cos(turn), np.cos(phi) * np.sin(turn), np.sin(phi)])
        chord = 2 * np.sin(angle / 2)
        self.limit = chord**2
        cells = np.floor(xyz / (_SHRINK * chord / np.sqrt(3))).astype(np.int64)
        self.order = np.lexsort(cells.T)
        self.xyz, cells = xyz[self.order], cells[self.order]
        new = np.append(True, (cells[1:] != cells[:-1]).any(axis=1))
        self.box, self.n = np.cumsum(new) - 1, int(new.sum())
        one, other = KDTree(cells[new]).query_pairs(2.0, p=np.inf, output_type="ndarray").T.astype(np.int32)
        above = coo_array((np.ones(len(one), dtype=np.int8), (one, other)), shape=(self.n, self.n)).tocsr()
        graph = above + above.T + eye_array(self.n, dtype=np.int8, format="csr")
        self.first, self.near = graph.indptr.astype(np.int64), graph.indices.astype(np.int32)

    def add(self, order: np.ndarray, kept: np.ndarray) -> int:
        """Add points in this order wherever none is too near; return how many."""
        return int(_add(order, self.box, self.first, self.near, self.xyz, self.limit, kept))

    def swap(self, order: np.ndarray, doubt: np.ndarray, kept: np.ndarray) -> int:
        """Let each point take the place of a more doubtful one, if that is all that it is too near to."""
        return int(_swap(order, doubt, self.box, self.first, self.near, self.xyz, self.limit, kept))


@jit
def _conflicts(i, box, first, near, xyz, limit, kept, most):  # type: ignore[no-untyped-def]
    """Count the kept points nearer to point i than allowed, up to `most`; return the number and the last one."""
    count, last = 0, -1
    b = box[i]
    for k in range(first[b], first[b + 1]):
        j = kept[near[k]]
        if j >= 0 and j != i:
            square = (xyz[i, 0] - xyz[j, 0]) ** 2 + (xyz[i, 1] - xyz[j, 1]) ** 2 + (xyz[i, 2] - xyz[j, 2]) ** 2
            if square < limit:
                count, last = count + 1, j
                if count >= most:
                    break
    return count, last


@jit
def _add(order, box, first, near, xyz, limit, kept):  # type: ignore[no-untyped-def]
    """Keep each point in turn that no kept one is too near to; `kept` holds the kept point of each box, or -1."""
    added = 0
    for i in order:
        if kept[box[i]] < 0 and _conflicts(i, box, first, near, xyz, limit, kept, 1)[0] == 0:
            kept[box[i]] = i
            added += 1
    return added


@jit
def _swap(order, doubt, box, first, near, xyz, limit, kept):  # type: ignore[no-untyped-def]
    """Put each point in the place of a more doubtful one that is its only conflict."""
    swapped = 0
    for i in order:
        if kept[box[i]] != i:
            count, j = _conflicts(i, box, first, near, xyz, limit, kept, 2)
            if count == 1 and doubt[i] < doubt[j]:
                kept[box[j]] = -1
                kept[box[i]] = i
                swapped += 1
    return swapped
