"""Read and check targets (labels or proportions), weights and groups of sites."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdm.errors import BadValueError, LabelError, MismatchError
from sdm.types import AnyArray, Array, Index, Label


def read_targets(y: Any, rows: int, least: int = 2) -> tuple[tuple[Label, ...], Array]:
    """Return the classes and the target distribution of each site, `(C, n)`, from labels `(n,)` or proportions `(n,
    C)`.

    Labels are text or numbers. Proportions (cover fractions, counts, percent) are scaled to sum to one at every site.
    Their classes are a data frame's columns, or 0, 1, …

    Raises
    ------
    DataError
        For missing labels, fewer than two classes, a class with fewer than `least` records, names that differ only in
        case or spaces, and proportions that are missing, negative or all zero.
    """
    values = np.asarray(y)
    if values.ndim not in (1, 2) or values.shape[0] != rows:
        raise MismatchError(f"y has shape {values.shape}, expected a label or proportions for each of {rows:,} rows")
    if values.ndim == 2:
        columns = [str(name) for name in y.columns] if hasattr(y, "columns") else list(range(values.shape[1]))
        return _proportions(values, columns)
    missing = np.array([_missing(label) for label in values.tolist()], dtype=bool)
    if missing.any():
        raise LabelError(
            f"{int(missing.sum()):,} of {rows:,} labels are missing, the first in row {int(np.argmax(missing)) + 1}"
        )
    if values.dtype.kind == "O" and len({isinstance(label, str) for label in values.tolist()}) > 1:
        values = values.astype(str)
    labels, code, counts = np.unique(values, return_inverse=True, return_counts=True)
    classes = tuple(labels.tolist())
    check_classes(classes)
    if counts.min() < least:
        rare = classes[int(np.argmin(counts))]
        raise LabelError(f"class '{rare}' has one record: expected at least two of every class; remove or merge it")
    return classes, np.eye(len(classes))[code.ravel()].T.copy()


def check_classes(classes: Sequence[Label]) -> None:
    """Raise for fewer than two classes, and for names that differ only in case or spaces."""
    if len(classes) < 2:
        listed = f"only '{classes[0]}'" if classes else "none"
        raise LabelError(f"there are {len(classes)} classes ({listed}): expected at least two")
    seen: dict[str, Label] = {}
    for label in classes:
        folded = " ".join(str(label).casefold().split())
        if folded in seen:
            raise LabelError(f"classes '{seen[folded]}' and '{label}' differ in case or spaces only: use one name")
        seen[folded] = label


def _missing(label: Any) -> bool:
    """Return whether a label is missing: None, NaN, pandas' NA, or empty text."""
    return label is None or str(label).strip() in ("", "<NA>", "NaT") or bool(label != label)


def _proportions(values: AnyArray, columns: Sequence[Label]) -> tuple[tuple[Label, ...], Array]:
    """Return classes and proportions; every class must be present at a site."""
    check_classes(columns)
    shares = scale_proportions(values)
    empty = np.flatnonzero(shares.sum(axis=1) == 0)
    if empty.size:
        raise LabelError(f"class '{columns[int(empty[0])]}' is at no site: remove its column")
    return tuple(columns), shares


def scale_proportions(values: AnyArray, rows: NDArray[np.int64] | None = None) -> Array:
    """Return proportions `(n, C)` as distributions `(C, n)`, scaled to sum to one at every site; refuse invalid ones.

    `rows` are the row numbers in a file, for messages; by default rows are counted from 1.
    """
    try:
        shares = values.astype(np.float64).T.copy()
    except (TypeError, ValueError) as error:
        raise BadValueError(f"proportions must be numbers ({error}): expected one column per class") from None
    number = np.arange(shares.shape[1]) + 1 if rows is None else rows
    if not np.all(np.isfinite(shares)) or np.any(shares < 0):
        bad = np.flatnonzero(~(np.isfinite(shares) & (shares >= 0)).all(axis=0))
        raise BadValueError(
            f"{bad.size:,} rows have proportions that are missing or negative, the first is row {number[bad[0]]}: "
            "expected numbers of at least 0"
        )
    total = shares.sum(axis=0)
    if np.any(total == 0):
        raise BadValueError(
            f"{int((total == 0).sum()):,} rows have no class, the first is row {number[np.argmin(total)]}: remove "
            "sites whose proportions are all zero"
        )
    return np.asarray(shares / total)


def site_weights(weight: ArrayLike | None, rows: int) -> Array | None:
    """Return the weights of the sites as an array; refuse invalid ones."""
    if weight is None:
        return None
    weights = np.asarray(weight, dtype=np.float64)
    if weights.shape != (rows,):
        raise MismatchError(f"sample_weight has shape {weights.shape}, expected one weight for each of {rows:,} rows")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0) or not np.any(weights > 0):
        raise BadValueError("the weights of sites (sample_weight) must be at least 0, and not all zero")
    return weights


def numbered(groups: ArrayLike, rows: int) -> Index:
    """Return groups as numbers from 0 on; refuse invalid ones."""
    values = np.asarray(groups)
    if values.shape != (rows,):
        raise MismatchError(f"groups has shape {values.shape}, expected one value for each of {rows:,} rows")
    return np.unique(values, return_inverse=True)[1].ravel()
