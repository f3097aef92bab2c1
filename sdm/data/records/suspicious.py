"""Coordinates that are probably not where the species was found: flags for every record.

A flag is a bit of the number that a record gets, so that one array says everything. Coordinates are compared with what
chance gives: records of few decimals lie on whole degrees, or have equal coordinates, now and then without any mistake.
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
ALWAYS = ("zero", "impossible", "swapped")  # such records cannot be used, whatever the options say
SEA_CELLS = 3  # a record on nodata is in the sea if no cell so near has data; otherwise it lies beside the coast
_STEPS = (1, 2, 4, 10, 24, 60, 100, 200)  # coordinates come in degrees, tenths, minutes, or as centres of cells
_COMMON = 600  # steps of a lattice that all of these are part of
_FINE = 1000.0  # the steps per degree of all other coordinates
_MANY_SPECIES = 10
_SHARE_OF_SPECIES = 0.2
_TIMES_USUAL = 5


@dataclass(frozen=True)
class Suspicion:
    """What to do about suspicious coordinates."""

    drop: frozenset[str] = frozenset()  # flags whose records are left out
    names: bool = True  # whether names tell species apart, so that a point of many species can be told

    @classmethod
    def of(cls, words: Sequence[str], *, names: bool = True) -> Suspicion:
        """Read what the user wrote: names of flags, or ``all``."""
        for word in words:
            if word not in (*FLAGS, "all"):
                raise OptionError(f"occurrences.drop_suspicious={word!r}: expected 'all' or some of {', '.join(FLAGS)}")
        return cls(frozenset(FLAGS if "all" in words else words), names)


def flag_coordinates(occurrences: Occurrences, *, names: bool = True, degrees: bool | None = None) -> np.ndarray:
    """Return the flags of n records that their coordinates alone tell, (n,) of uint8; O(n log n).

    ``equal``, ``whole`` and ``impossible`` need coordinates in `degrees` (None: if their CRS says so). A species'
    records are ``equal`` or ``whole`` only if more of them are than its other records, by their number of decimals,
    would give by chance. ``repeated`` is a point with at least ten species and a fifth of all, five times as many as
    other points that several species share: at survey sites, where many species are found together everywhere, no
    point stands out. It is not looked for if `names` are not of species.
    """
    x, y = occurrences.x, occurrences.y
    flags = np.zeros(len(x), dtype=np.uint8)
    known = np.isfinite(x) & np.isfinite(y)
    flags[(x == 0) & (y == 0)] = BITS["zero"]
    code, labels = pd.factorize(occurrences.species)
    if CRS.from_user_input(occurrences.crs).is_geographic if degrees is None else degrees:
        wrong = known & impossible(x, y)
        flags[wrong] = BITS["impossible"]
        at = np.flatnonzero(known & ~wrong & (flags == 0))
        steps = _steps(x[at], y[at])
        flags[at[_more_than_chance(steps == 1, _whole_by_chance(steps), code[at], len(labels))]] |= BITS["whole"]
        apart = np.abs(x[at] - y[at])
        flags[at[_more_than_chance(apart == 0, _equal_by_chance(apart, steps), code[at], len(labels))]] |= BITS["equal"]
    if names and len(labels) >= _MANY_SPECIES:
        at = np.flatnonzero(known & (flags & (BITS["zero"] | BITS["impossible"]) == 0))
        flags[at[_repeated(x[at], y[at], code[at], len(labels))]] |= BITS["repeated"]
    return flags


def impossible(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return which degrees are no place on earth."""
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(y) > 90) | (np.abs(x) > 360))


def _steps(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return for each record how many steps a degree has on the coarsest lattice that both its coordinates are on."""
    # By the step within its degree, a bit for every lattice it is on:
    place = np.arange(_COMMON)
    bits = sum(((place * step % _COMMON == 0) << k for k, step in enumerate(_STEPS)), np.zeros(_COMMON, dtype=np.int64))
    on = np.full(len(x), (1 << len(_STEPS)) - 1, dtype=np.uint8)
    for part in (x, y):
        fine = part * _COMMON
        step = np.rint(fine)
        near = np.abs(fine - step) < 1e-4  # degrees of decimal fractions and of minutes are rounded
        on &= np.where(near, bits.astype(np.uint8)[step.astype(np.int64) % _COMMON], np.uint8(0))
    lattice = [
        _FINE,
        *(next(s for k, s in enumerate(_STEPS) if number >> k & 1) for number in range(1, 1 << len(_STEPS))),
    ]
    return np.array(lattice, dtype=np.float64)[on]


def _whole_by_chance(steps: np.ndarray) -> np.ndarray:
    """Return how many records at whole degrees each other record makes us expect: of k² places on a lattice of k steps
    per degree one is whole, so there is one for every k² - 1 that are not."""
    return np.where(steps > 1, 1 / np.maximum(steps**2 - 1, 1), 0.0)


def _equal_by_chance(apart: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return how many records of equal coordinates each record within 5° of them makes us expect: on a lattice of k
    steps per degree one of 10 k that are so near."""
    return np.where(apart <= 5, 0.1 / steps, 0.0)


def _more_than_chance(odd: np.ndarray, by_chance: np.ndarray, code: np.ndarray, n: int) -> np.ndarray:
    """Return the odd records of the species that have more of them than chance and three deviations of it explain."""
    if not odd.any():
        return odd
    count, expected = np.bincount(code[odd], minlength=n), np.bincount(code, weights=by_chance, minlength=n)
    return np.asarray(odd & (count > expected + 3 * np.sqrt(expected))[code])


def _repeated(x: np.ndarray, y: np.ndarray, code: np.ndarray, n: int) -> np.ndarray:
    """Return which records lie at a point of unusually many species."""
    point = pd.DataFrame({"x": x, "y": y}).groupby(["x", "y"], sort=False).ngroup().to_numpy()
    count = np.bincount(point, minlength=1)
    least = max(_MANY_SPECIES, _SHARE_OF_SPECIES * n)
    some = _species_at(point, code, n, count >= least)
    if not (some >= least).any():  # as in most files
        return np.zeros(len(x), dtype=bool)
    species = _species_at(point, code, n, count > 1)
    shared = np.sort(species[species > 1])
    usual = shared[int(0.95 * (len(shared) - 1))] if len(shared) > 1 else 1
    return np.asarray((species >= max(least, _TIMES_USUAL * usual))[point])


def _species_at(point: np.ndarray, code: np.ndarray, n: int, wanted: np.ndarray) -> np.ndarray:
    """Return the number of species at each of the wanted points, 0 at others."""
    at = wanted[point]
    return np.bincount(pd.unique(point[at] * n + code[at]) // n, minlength=len(wanted))


def in_the_sea(stack: Stack, rows: np.ndarray, cols: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return which cells have no data, and none around them within `SEA_CELLS`; `values` are the layers at these cells.

    One layer is read around them, that which is missing at most of them: others would say the same of most, and cells
    where that one has data are not called sea.
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
    """Return the flags of every record as text, names with a semicolon between; empty for most."""
    words = [";".join(name for name, bit in BITS.items() if number & bit) for number in range(1 << len(BITS))]
    return pd.Categorical.from_codes(flags.astype(np.int64), pd.Index(words, dtype=object))


def tell_suspicious(flags: np.ndarray, drop: Collection[str], what: str) -> list[str]:
    """Return one line with the number of records per flag, which of them are dropped, and what to type; or none."""
    count = {name: int(np.count_nonzero(flags & bit)) for name, bit in BITS.items()}
    found = [name for name in FLAGS if count[name]]
    gone = [name for name in found if name in drop or name in ALWAYS]
    kept = [name for name in found if name not in gone]
    parts = [f"{_listed(gone, count)}, dropped"] if gone else []
    if kept:
        hint = f"--drop-suspicious {','.join(kept)}"
        parts.append(f"{_listed(kept, count)}, not dropped: look at them, or use {hint}")
    n = int(np.count_nonzero(flags))
    return [f"{n:,} {what} with suspicious coordinates: {'; '.join(parts)}"] if parts else []


def _listed(names: Sequence[str], count: dict[str, int]) -> str:
    return ", ".join(f"{count[name]:,} {FLAGS[name]}" for name in names)
