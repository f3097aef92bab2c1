"""Products of values that are far from zero, without cancellation.

Where a variable's range is farther from zero than it is wide, its values are written as `x = c + u` with `c` the low
end of the range, which is exact; elsewhere `c` is zero. A product is then `c_x c_y + (u_x u_y + c_x u_y + c_y u_x)`:
all that varies is in the bracket, and what is subtracted from it, `lo − c_x c_y`, is computed exactly, once.
"""

import math
from fractions import Fraction

import numpy as np

from sdm.types import Array


def centre_of(lo: float, hi: float) -> float:
    """Return `c` of a variable with values from `lo` to `hi`."""
    return lo if min(abs(lo), abs(hi)) > hi - lo else 0.0


def centres(lo: Array, hi: Array) -> Array:
    """Return `c` of every variable."""
    return np.array([centre_of(*ends) for ends in zip(lo.tolist(), hi.tolist())])


def less_product(value: float, a: float, b: float) -> float:
    """Return `value − a·b`, rounded once."""
    rough = value - a * b
    return float(Fraction(value) - Fraction(a) * Fraction(b)) if a and b and math.isfinite(rough) else rough


def product_range(low: float, high: float, a: float, b: float) -> tuple[float, float]:
    """Return the range `lo, hi` of a product whose bracket goes from `low` to `high`, rounded outwards if at all. A
    bracket that does not vary is returned as it is."""
    if not (a and b) or not low < high:
        return low, high
    lo, hi = (float(Fraction(end) + Fraction(a) * Fraction(b)) for end in (low, high))
    if less_product(lo, a, b) > low:
        lo = float(np.nextafter(lo, -np.inf))
    if less_product(hi, a, b) < high:
        hi = float(np.nextafter(hi, np.inf))
    return lo, hi
