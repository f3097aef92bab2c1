"""Gradient noise with hashed gradients: every value is a function of a key and a place."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from sdm._jit import jit
from sdm.types import Array


def key(seed: int, name: str) -> np.uint64:
    """Return the 64-bit key of a random stream, by seed and name."""
    digest = hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


@jit
def _hash(i: np.int64, j: np.int64, code: np.uint64) -> np.uint64:
    """Mix two integers and a key to 64 bits (the finaliser of MurmurHash 3)."""
    h = np.uint64(i) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(j) * np.uint64(0xC2B2AE3D27D4EB4F) + code
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(33))


@jit
def _gradient(i: np.int64, j: np.int64, code: np.uint64) -> tuple[float, float]:
    """Return the gradient of a lattice corner, with components in [-1, 1), from the hash of the corner."""
    h = _hash(i, j, code)
    gx = np.float64(np.int64(h & np.uint64(0xFFFFFF))) / 8388608.0 - 1.0
    return gx, np.float64(np.int64((h >> np.uint64(24)) & np.uint64(0xFFFFFF))) / 8388608.0 - 1.0


@jit
def _noise(out: Array, x: Array, y: Array, code: np.uint64) -> None:
    """Compute gradient noise along a path of points: ``g · d`` of the four corners, blended by ``6t⁵ - 15t⁴ + 10t³``.
    Mean 0, mostly within ±0.7. Neighbours on the path mostly share their corners, which are hashed only once."""
    i = j = -1e300
    ax = ay = bx = by = cx = cy = dx = dy = 0.0
    for n in range(x.size):
        r, s = x[n] - i, y[n] - j
        if r < 0.0 or r >= 1.0 or s < 0.0 or s >= 1.0:
            i, j = np.floor(x[n]), np.floor(y[n])
            row, column = np.int64(i), np.int64(j)
            ax, ay = _gradient(row, column, code)
            bx, by = _gradient(row + 1, column, code)
            cx, cy = _gradient(row, column + 1, code)
            dx, dy = _gradient(row + 1, column + 1, code)
            r, s = x[n] - i, y[n] - j
        u = r * r * r * (r * (r * 6.0 - 15.0) + 10.0)
        v = s * s * s * (s * (s * 6.0 - 15.0) + 10.0)
        top, end = ax * r + ay * s, bx * (r - 1.0) + by * s
        top += u * (end - top)
        low, end = cx * r + cy * (s - 1.0), dx * (r - 1.0) + dy * (s - 1.0)
        low += u * (end - low)
        out[n] = 1.6 * (top + v * (low - top))


@jit
def scaled(x: Array, scale: float) -> Array:
    """Return ``scale * x``. Loops compile ten times faster than array expressions."""
    out = np.empty(x.size)
    for n in range(x.size):
        out[n] = scale * x[n]
    return out


@jit
def _turn(x: Array, y: Array) -> None:
    """Continue with the next octave: a lattice twice as fine, turned by 37° and shifted so that lattices do not
    show."""
    for n in range(x.size):
        x[n], y[n] = 2.0 * (0.8 * x[n] - 0.6 * y[n]) + 17.25, 2.0 * (0.6 * x[n] + 0.8 * y[n]) + 5.75


@jit
def fractal(x: Array, y: Array, scale: float, code: np.uint64, octaves: int, gain: float) -> Array:
    """Sum octaves of noise along a path, ``Σ gainᵏ noise(pₖ)``."""
    p, q, part, total, weight = scaled(x, scale), scaled(y, scale), np.empty(x.size), np.zeros(x.size), 1.0
    for k in range(octaves):
        _noise(part, p, q, code + np.uint64(k))
        for n in range(x.size):
            total[n] += weight * part[n]
        _turn(p, q)
        weight *= gain
    return total


@jit
def ridged(x: Array, y: Array, scale: float, code: np.uint64, octaves: int, gain: float) -> Array:
    """Sum ridges and valleys, ``Σ wₖ (1 - |noise|)²`` from 0 to ``Σ wₖ``; higher places are rougher."""
    p, q, part, total = scaled(x, scale), scaled(y, scale), np.empty(x.size), np.zeros(x.size)
    above, weight = np.ones(x.size), 1.0
    for k in range(octaves):
        _noise(part, p, q, code + np.uint64(k))
        for n in range(x.size):
            r = 1.0 - min(1.0, 1.6 * abs(part[n]))
            r = r * r * above[n]
            total[n] += weight * r
            above[n] = min(1.0, 0.25 + 1.5 * r)
        _turn(p, q)
        weight *= gain
    return total


@jit
def field(out: Array, y: Array, x: Array, code: np.uint64, scale: float, octaves: int, gain: float) -> None:
    """Fill one fractal field with ``scale`` lattice cells per side in its first octave."""
    for i in range(y.size):
        row = fractal(x, np.full(x.size, y[i]), scale, code, octaves, gain)
        for j in range(x.size):
            out[i, j] = row[j]


@jit
def white(out: Array, rows: NDArray[np.int64], cols: NDArray[np.int64], code: np.uint64) -> None:
    """Fill a vector with independent uniform numbers in (0, 1), one per cell."""
    for n in range(out.size):
        out[n] = (np.float64(_hash(rows[n], cols[n], code) >> np.uint64(12)) + 0.5) / 4503599627370496.0
