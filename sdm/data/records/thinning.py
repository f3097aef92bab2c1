"""Thinning: fewer records where they are dense, in space or in the environment.

Of two records in conflict, the one with the smaller coordinate uncertainty is kept; ties: the first is kept.

In space, records have a minimum distance, and as many of them as possible are kept. Distance is the great-circle
distance, compared as the chord between points of a unit sphere. Space is divided into boxes so small that two points
of a box are always too near. Each box contains at most one kept record, so that a record is compared with at most a few
dozen others, however dense the records are.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from sdm._jit import jit
from sdm.data.crs import EARTH_KM
from sdm.data.records.frames import pd
from sdm.errors import OptionError, UnknownVariableError

LEAST_KM = 1e-6  # minimum distance: boxes of a millimetre can still be counted
_SHRINK = 0.9995  # of a box, so that rounding never separates two of its points too far
_STRIP = 8192  # points that are shuffled together: their data stay in the cache
_SWEEPS = 10


@dataclass(frozen=True)
class Thinning:
    """Rules of thinning; 0 disables a rule."""

    distance: float = 0.0  # minimum distance of records of a species, in km
    bins: int = 0  # keep one record of a species in each combination of N bins of equal width per variable
    variables: tuple[str, ...] = ()  # variables with bins; all if empty
    tries: int = 10  # number of random orders; the largest set of records is used
    seed: int = 1

    @property
    def active(self) -> bool:
        """Whether any rule is active."""
        return self.distance > 0 or self.bins > 0

    def check(self, names: tuple[str, ...]) -> None:
        """Raise OptionError for an unknown variable."""
        if absent := [name for name in self.variables if name not in names]:
            raise UnknownVariableError(f"occurrences.thin_variables={absent[0]}: expected some of {', '.join(names)}")

    def seed_of(self, species: str) -> list[int]:
        """Return the seed for one species, independent of the other species."""
        return [self.seed, zlib.crc32(species.encode())]


def one_of_each(key: np.ndarray, uncertainty: np.ndarray | None = None) -> np.ndarray:
    """Return a mask of one record per key: the most certain one; ties: the first is kept."""
    order = np.arange(len(key)) if uncertainty is None else np.argsort(filled_uncertainty(uncertainty), kind="stable")
    keep = np.zeros(len(key), dtype=bool)
    keep[order[np.unique(key[order], return_index=True)[1]]] = True
    return keep


def thin_by_bins(
    values: np.ndarray, bins: int, *, categorical: np.ndarray | None = None, uncertainty: np.ndarray | None = None
) -> np.ndarray:
    """Keep one record in each combination of bins between the smallest and the largest value of a variable (m, V).

    Classes, (V,) booleans, are separate bins. In each bin, the record with the smallest known `uncertainty` is kept.
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
    """Return uncertainty with unknown values replaced by the largest number."""
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
    """Keep as many records as possible at a minimum distance in km; return (m,) booleans.

    Records are visited in random order (of strips, and within each), and kept if they are far enough from all kept
    ones; the largest set of several tries is used. Then a record replaces a less certain one that is its only conflict,
    and records that then fit are added. `lon` and `lat` are degrees; an `uncertainty` of NaN is unknown.
    """
    if not distance >= LEAST_KM:
        raise OptionError(f"occurrences.thin_distance={distance}: expected at least {LEAST_KM:f} km (a millimetre)")
    boxes = _Boxes(lon, lat, min(distance / EARTH_KM, np.pi))
    doubt = None if uncertainty is None else filled_uncertainty(uncertainty)[boxes.order]
    rng = np.random.default_rng(seed)
    best = np.zeros(0, dtype=np.int64)
    for _ in range(tries):
        chosen = np.full(boxes.n, -1, dtype=np.int64)
        boxes.add(_shuffled(len(lon), rng), chosen)
        if not len(best) or _rank(chosen, doubt) < _rank(best, doubt):
            best = chosen
    if doubt is not None:
        order = np.lexsort((doubt, np.arange(len(doubt)) // _STRIP))
        for _ in range(_SWEEPS):
            if not boxes.swap(order, doubt, best) + boxes.add(order, best):
                break
    keep = np.zeros(len(lon), dtype=bool)
    keep[boxes.order[best[best >= 0]]] = True
    return keep


def _shuffled(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return a permutation of the numbers below n: strips in random order, and random order in each strip."""
    strips = [np.arange(a, min(a + _STRIP, n)) for a in range(0, n, _STRIP)]
    return np.concatenate([rng.permutation(strips[k]) for k in rng.permutation(len(strips))])


def _rank(chosen: np.ndarray, doubt: np.ndarray | None) -> tuple[int, float]:
    """Return the rank of a set of records: more records are better, then smaller uncertainty."""
    records = chosen[chosen >= 0]
    return -len(records), 0.0 if doubt is None else float(doubt[records].sum())


class _Boxes:
    """Boxes with points, and the neighbouring boxes of each.

    Points are sorted by box (`order`), so that neighbours in space are near each other in memory. A box of side s has
    the diagonal √3 s; s is chosen so that this is just less than the chord of the distance, which then reaches at most
    two boxes far.
    """

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

    def add(self, order: np.ndarray, chosen: np.ndarray) -> int:
        """Keep points in this order unless another is too near; return the number of added ones."""
        return int(_add(order, self.box, self.first, self.near, self.xyz, self.limit, chosen))

    def swap(self, order: np.ndarray, doubt: np.ndarray, chosen: np.ndarray) -> int:
        """Replace a less certain point by a more certain one, if that is its only conflict; return the number of
        swaps."""
        return int(_swap(order, doubt, self.box, self.first, self.near, self.xyz, self.limit, chosen))


@jit
def _conflicts(i, box, first, near, xyz, limit, chosen, most):  # type: ignore[no-untyped-def]
    """Count the kept points nearer to point i than allowed, up to `most`; return the count and the last index."""
    count, last = 0, -1
    b = box[i]
    for k in range(first[b], first[b + 1]):
        j = chosen[near[k]]
        if j >= 0 and j != i:
            square = (xyz[i, 0] - xyz[j, 0]) ** 2 + (xyz[i, 1] - xyz[j, 1]) ** 2 + (xyz[i, 2] - xyz[j, 2]) ** 2
            if square < limit:
                count, last = count + 1, j
                if count >= most:
                    break
    return count, last


@jit
def _add(order, box, first, near, xyz, limit, chosen):  # type: ignore[no-untyped-def]
    """Keep each point without a conflict, in order; `chosen` has the kept point of each box, or -1."""
    added = 0
    for i in order:
        if chosen[box[i]] < 0 and _conflicts(i, box, first, near, xyz, limit, chosen, 1)[0] == 0:
            chosen[box[i]] = i
            added += 1
    return added


@jit
def _swap(order, doubt, box, first, near, xyz, limit, chosen):  # type: ignore[no-untyped-def]
    """Replace a less certain point by each point whose only conflict it is."""
    swapped = 0
    for i in order:
        if chosen[box[i]] != i:
            count, j = _conflicts(i, box, first, near, xyz, limit, chosen, 2)
            if count == 1 and doubt[i] < doubt[j]:
                chosen[box[j]] = -1
                chosen[box[i]] = i
                swapped += 1
    return swapped
