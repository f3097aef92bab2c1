"""Flags of records with probably wrong coordinates.

A flag is a bit of a number per record, so that one array has all flags. Coordinates are compared with chance: records
with few decimals may have whole degrees or equal coordinates without an error.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from rasterio.crs import CRS

from sdm.data.rasters.cells import disc, neighbours
from sdm.data.rasters.stack import Stack
from sdm.data.records.frames import pd
from sdm.data.records.occurrences import Occurrences
from sdm.errors import OptionError

FLAGS = {
    "zero": "at (0, 0)",
    "impossible": "with a latitude beyond ±90° or a longitude beyond ±360°",
    "swapped": "with longitude and latitude probably swapped",
    "equal": "with longitude equal to latitude",
    "whole": "at whole degrees",
    "repeated": "at one point of many species",
    "sea": "on nodata and far from any cell with data (in the sea?)",
}
BITS = {name: 1 << k for k, name in enumerate(FLAGS)}
ALWAYS = ("zero", "impossible", "swapped")  # such records are always dropped
SEA_CELLS = 3  # a record on nodata is in the sea if no cell within this distance has data; otherwise it is at the coast
_STEPS = (1, 2, 4, 10, 24, 60, 100, 200)  # usual steps per degree: degrees, tenths, minutes, centres of cells
_COMMON = 600  # steps of a lattice that contains all others
_FINE = 1000.0  # steps per degree of all other coordinates
_MANY_SPECIES = 10
_SHARE_OF_SPECIES = 0.2
_TIMES_USUAL = 5


@dataclass(frozen=True)
class Suspicion:
    """Treatment of suspicious coordinates."""

    drop: frozenset[str] = frozenset()  # flags of records to drop
    names: bool = True  # if names are species, so that a point of many species can be recognized

    @classmethod
    def of(cls, words: Sequence[str], *, names: bool = True) -> Suspicion:
        """Read the option: names of flags, or ``all``."""
        for word in words:
            if word not in (*FLAGS, "all"):
                raise OptionError(f"occurrences.drop_suspicious={word!r}: expected 'all' or some of {', '.join(FLAGS)}")
        return cls(frozenset(FLAGS if "all" in words else words), names)


def flag_coordinates(occurrences: Occurrences, *, names: bool = True, degrees: bool | None = None) -> np.ndarray:
    """Return the flags of n records by their coordinates, (n,) of uint8; O(n log n).

    ``equal``, ``whole`` and ``impossible`` require coordinates in `degrees` (None: by their CRS). Records of a species
    are ``equal`` or ``whole`` only if there are more than expected by chance from the decimals of its other records.
    ``repeated`` is a point with at least ten species, a fifth of all, and five times as many as other shared points: at
    survey sites, where many species occur together everywhere, no point is exceptional. It is not used if `names` are
    not species.
    """
    x, y = occurrences.x, occurrences.y
    flags = np.zeros(len(x), dtype=np.uint8)
    finite = np.isfinite(x) & np.isfinite(y)
    flags[(x == 0) & (y == 0)] = BITS["zero"]
    code, labels = pd.factorize(occurrences.species)
    if CRS.from_user_input(occurrences.crs).is_geographic if degrees is None else degrees:
        wrong = finite & impossible(x, y)
        flags[wrong] = BITS["impossible"]
        k = np.flatnonzero(finite & ~wrong & (flags == 0))
        steps = _steps(x[k], y[k])
        flags[k[_more_than_chance(steps == 1, _whole_by_chance(steps), code[k], len(labels))]] |= BITS["whole"]
        apart = np.abs(x[k] - y[k])
        flags[k[_more_than_chance(apart == 0, _equal_by_chance(apart, steps), code[k], len(labels))]] |= BITS["equal"]
    if names and len(labels) >= _MANY_SPECIES:
        k = np.flatnonzero(finite & (flags & (BITS["zero"] | BITS["impossible"]) == 0))
        flags[k[_repeated(x[k], y[k], code[k], len(labels))]] |= BITS["repeated"]
    return flags


def impossible(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a mask of degrees outside the range of coordinates."""
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(y) > 90) | (np.abs(x) > 360))


def _steps(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return for each record the steps per degree of the coarsest lattice that contains both its coordinates."""
    # Bits of the lattices that contain each step within a degree:
    place = np.arange(_COMMON)
    bits = sum(((place * step % _COMMON == 0) << k for k, step in enumerate(_STEPS)), np.zeros(_COMMON, dtype=np.int64))
    on = np.full(len(x), (1 << len(_STEPS)) - 1, dtype=np.uint8)
    for part in (x, y):
        fine = part * _COMMON
        step = np.rint(fine)
        near = np.abs(fine - step) < 1e-4  # decimal fractions and minutes are rounded
        on &= np.where(near, bits.astype(np.uint8)[step.astype(np.int64) % _COMMON], np.uint8(0))
    lattice = [
        _FINE,
        *(next(s for k, s in enumerate(_STEPS) if number >> k & 1) for number in range(1, 1 << len(_STEPS))),
    ]
    return np.array(lattice, dtype=np.float64)[on]


def _whole_by_chance(steps: np.ndarray) -> np.ndarray:
    """Return the expected number of records at whole degrees per other record: on a lattice of k steps per degree, one
    of k² places is whole, so one per k² - 1 others."""
    return np.where(steps > 1, 1 / np.maximum(steps**2 - 1, 1), 0.0)


def _equal_by_chance(apart: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return the expected number of records with equal coordinates per record within 5° of equality: on a lattice of k
    steps per degree, one of 10 k."""
    return np.where(apart <= 5, 0.1 / steps, 0.0)


def _more_than_chance(odd: np.ndarray, by_chance: np.ndarray, code: np.ndarray, n: int) -> np.ndarray:
    """Return the odd records of species that have more of them than chance and three standard deviations."""
    if not odd.any():
        return odd
    count, expected = np.bincount(code[odd], minlength=n), np.bincount(code, weights=by_chance, minlength=n)
    return np.asarray(odd & (count > expected + 3 * np.sqrt(expected))[code])


def _repeated(x: np.ndarray, y: np.ndarray, code: np.ndarray, n: int) -> np.ndarray:
    """Return a mask of records at points of exceptionally many species."""
    point = pd.DataFrame({"x": x, "y": y}).groupby(["x", "y"], sort=False).ngroup().to_numpy()
    count = np.bincount(point, minlength=1)
    least = max(_MANY_SPECIES, _SHARE_OF_SPECIES * n)
    species_counts = _species_at(point, code, n, count >= least)
    if not (species_counts >= least).any():  # in most files
        return np.zeros(len(x), dtype=bool)
    species = _species_at(point, code, n, count > 1)
    shared = np.sort(species[species > 1])
    usual = shared[int(0.95 * (len(shared) - 1))] if len(shared) > 1 else 1
    return np.asarray((species >= max(least, _TIMES_USUAL * usual))[point])


def _species_at(point: np.ndarray, code: np.ndarray, n: int, selected: np.ndarray) -> np.ndarray:
    """Return the number of species at selected points, 0 at others."""
    mask = selected[point]
    return np.bincount(pd.unique(point[mask] * n + code[mask]) // n, minlength=len(selected))


def in_the_sea(stack: Stack, rows: np.ndarray, cols: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a mask of cells without data in a neighbourhood of `SEA_CELLS`; `values` are the layers at these cells.

    Only the layer with the most missing cells is read around them. The others would rarely differ, and cells with data
    in this layer are not sea.
    """
    sea = np.zeros(len(rows), dtype=bool)
    missing = np.isnan(values)
    if not missing.any():
        return sea
    layer = int(missing.sum(axis=0).argmax())
    bad = np.flatnonzero(missing[:, layer])
    alone = replace(stack, layers=(stack.layers[layer],))
    dr, dc = disc(SEA_CELLS)
    for batch in np.array_split(bad, max(1, len(bad) * len(dr) // 1_000_000)):  # bounds the memory
        r, c, inside = neighbours(stack, rows[batch], cols[batch], dr, dc)
        flat, back = np.unique(r[inside] * stack.width + c[inside], return_inverse=True)
        data = np.zeros(r.shape, dtype=bool)
        data[inside] = ~np.isnan(alone.sample(flat // stack.width, flat % stack.width)[:, 0])[back]
        sea[batch] = ~data.any(axis=1)
    return sea


def flag_words(flags: np.ndarray) -> pd.Categorical:
    """Return the flags of every record as text, separated by semicolons; empty for most."""
    words = [";".join(name for name, bit in BITS.items() if number & bit) for number in range(1 << len(BITS))]
    return pd.Categorical.from_codes(flags.astype(np.int64), pd.Index(words, dtype=object))


def describe_suspicious(flags: np.ndarray, drop: Collection[str], noun: str) -> list[str]:
    """Return one line with the number of records per flag, the dropped flags, and the option to use; or none."""
    count = {name: int(np.count_nonzero(flags & bit)) for name, bit in BITS.items()}
    present = [name for name in FLAGS if count[name]]
    dropped = [name for name in present if name in drop or name in ALWAYS]
    remaining = [name for name in present if name not in dropped]
    parts = [f"{_listed(dropped, count)}, dropped"] if dropped else []
    if remaining:
        hint = f"--drop-suspicious {','.join(remaining)}"
        parts.append(f"{_listed(remaining, count)}, not dropped: look at them, or use {hint}")
    n = int(np.count_nonzero(flags))
    return [f"{n:,} {noun} with suspicious coordinates: {'; '.join(parts)}"] if parts else []


def _listed(names: Sequence[str], count: dict[str, int]) -> str:
    return ", ".join(f"{count[name]:,} {FLAGS[name]}" for name in names)
