"""Labels of presences and background: two numbers, of which the larger is the presence."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdm.errors import DataError
from sdm.estimators.params import warn_of_column
from sdm.types import AnyArray

EXPECTED = "expected 1 for presences and 0 for background"


def read_presences(y: ArrayLike | None, rows: int) -> tuple[AnyArray, NDArray[np.bool_]]:
    """Return the two labels `(2,)` and a mask `(rows,)` of the presences.

    Labels are 1 and 0, True and False, or any two numbers: the larger is the presence. Which of two words would be it
    is not clear, so text is refused.

    Raises
    ------
    DataError
        For labels of another number than rows, of more than two values, or of one value.
    """
    values = one_label_per_row(y, rows)
    if values.dtype.kind not in "biuf":
        raise DataError(f"Unknown label type: y has {values[0]!r} among its labels; {EXPECTED}")
    classes: AnyArray = np.unique(values)
    if classes.dtype.kind == "f" and not np.all(np.isfinite(classes)):
        raise DataError(f"y has {classes[~np.isfinite(classes)][0]} among its labels; {EXPECTED}")
    if classes.size > 2:
        odd = [value for value in classes.tolist() if value not in (0, 1)]
        raise DataError(
            f"Unknown label type: y has {odd[0]!r} among its {classes.size:,} different labels. Only binary "
            f"classification is supported: {EXPECTED}"
        )
    if classes.size < 2:
        what = {1: "no background", 0: "no presence"}.get(classes.tolist()[0] if classes.size else 0, "no second class")
        raise DataError(f"y has {what}: one class alone ({classes.tolist()}) is among its labels; {EXPECTED}")
    return classes, values == classes[1]


def presences_among(y: ArrayLike | None, rows: int, classes: AnyArray) -> NDArray[np.bool_]:
    """Return a mask of the presences, of labels that a fit had: there may be presences alone, or background alone."""
    values = one_label_per_row(y, rows)
    if odd := [value for value in np.unique(values).tolist() if value not in classes.tolist()]:
        raise DataError(f"y has {odd[0]!r} among its labels; the model was fitted to {classes.tolist()}")
    mask: NDArray[np.bool_] = values == classes[1]
    return mask


def one_label_per_row(y: ArrayLike | None, rows: int) -> AnyArray:
    """Return labels as an array `(rows,)`; a column of them is taken with a warning."""
    if y is None:
        raise DataError("y is None: this estimator requires y to be passed, but the target y is None")
    if hasattr(y, "tocsr"):
        raise DataError("y is a sparse matrix, expected an array of labels: give y.toarray().ravel()")
    values = np.asarray(y)
    if values.shape == (rows, 1):
        warn_of_column(5)
        values = values.ravel()
    if values.shape != (rows,):
        raise DataError(f"y has shape {values.shape}, expected one label for each of the {rows:,} rows of X")
    if values.dtype.kind == "O" and all(isinstance(value, (bool, int, float, np.number)) for value in values.tolist()):
        values = np.array(values.tolist())
    return values
