"""Weights of records in the sample."""

import numpy as np

from sdm.data.rasters.grid import cell_km
from sdm.data.rasters.stack import Stack
from sdm.data.records.clean import CleanPoints
from sdm.data.records.occurrences import Occurrences
from sdm.errors import BadValueError, UnknownColumnError

UNCERTAINTY = "uncertainty"  # selects weights from the uncertainty of coordinates, instead of a column


def record_weights(
    occurrences: Occurrences, points: CleanPoints, stack: Stack, by: str, uncertainty_column: str | None = None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the weight of each presence, and messages to the user.

    `by` is a column of weights, 0 or more; or ``"uncertainty"``: the ratio, at most 1, of the area of the cell to the
    disc of uncertainty around the record. If the uncertainty is unknown, the weight is the median of the others.
    """
    if by != UNCERTAINTY:
        weight = occurrences.numbers(by)[points.index]
        check_weights(weight, f"{points.species}: column '{by}'")
        return weight, ()
    metres = occurrences.uncertainty(uncertainty_column)
    if metres is None or np.isnan(metres[points.index]).all():
        raise UnknownColumnError(
            f"{points.species}: no record has a coordinate uncertainty to weight it by: expected a column such as "
            "coordinateUncertaintyInMeters, or its name in --uncertainty-column"
        )
    km = metres[points.index] / 1000
    wide, high = cell_km(stack, points.rows, "weighing records by their uncertainty")
    weight = np.minimum(1.0, wide * high / (np.pi * km**2))
    unknown = np.isnan(weight)
    if not unknown.any():
        return weight, ()
    middle = float(np.nanmedian(weight))
    note = (
        f"{np.count_nonzero(unknown):,} records of unknown coordinate uncertainty have the median weight, {middle:.3g}"
    )
    return np.where(unknown, middle, weight), (note,)


def uncertain_beyond_cell(
    occurrences: Occurrences, points: CleanPoints, stack: Stack, uncertainty_column: str | None = None
) -> str | None:
    """Return a warning if the uncertainty of presences exceeds the cell size, so that their values may belong to
    another place; None otherwise, or if it is unknown."""
    metres = None if stack.crs is None else occurrences.uncertainty(uncertainty_column)
    if metres is None or not len(points):
        return None
    km = metres[points.index] / 1000
    wide, high = cell_km(stack, points.rows, "the size of a cell")
    size = np.sqrt(wide * high)
    with np.errstate(invalid="ignore"):
        beyond = km > size
    if not beyond.any():
        return None
    n_known = int(np.count_nonzero(np.isfinite(km)))
    return (
        f"{np.count_nonzero(beyond):,} of {len(points):,} records ({n_known:,} of known uncertainty) are less certain "
        f"than a cell is wide (about {np.median(size[beyond]):.3g} km, the least certain {np.nanmax(km):.4g} km). The "
        "layers may have other values at their true locations; --max-uncertainty excludes such records"
    )


def check_weights(weight: np.ndarray, source: str) -> None:
    """Raise DataError unless all weights are finite and at least 0, and one is positive."""
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        got = f"{np.count_nonzero(bad):,} of {len(weight):,} are missing or negative"
        raise BadValueError(f"{source} is not a column of weights ({got}): expected numbers of at least 0")
    with np.errstate(over="ignore"):
        finite = np.isfinite(weight.sum())
    if not finite:
        raise BadValueError(f"{source} has weights of up to {weight.max():g}, and their sum is too large: scale them")
    if not (weight > 0).any():
        raise BadValueError(f"{source} has the weight 0 for every record: expected some above 0")
