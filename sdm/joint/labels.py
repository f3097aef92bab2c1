"""Read and check the table of labels: one 0/1 column per species, with blanks for missing labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdm.errors import DuplicateNameError, LabelError, MismatchError, name_list
from sdm.joint.inference import FREE, States, free_states
from sdm.types import Array


def species_names(y: Any, variables: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names of the species: a data frame's columns, or sp0, sp1, …; refuse duplicates."""
    if hasattr(y, "columns"):
        names = tuple(str(name) for name in y.columns)
    else:
        shape = np.asarray(y).shape
        if len(shape) != 2:
            raise MismatchError(
                f"Y has {len(shape)} dimensions, expected a table of two: sites and species. Only binary "
                "classification is supported, with one column of 1 and 0 for each species"
            )
        names = tuple(f"sp{s}" for s in range(shape[1]))
    if not names:
        raise MismatchError("Y has no species, expected one column of 0 and 1 for each")
    _refuse_duplicates(names)
    both = [name for name in names if name in variables]
    if both:
        raise DuplicateNameError(f"{', '.join(map(repr, both))} is both a species and a variable: rename one column")
    return names


def _refuse_duplicates(names: Sequence[str]) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DuplicateNameError(f"species must have different names, got {', '.join(twice)} more than once")


def read_labels(y: Any, names: Sequence[str], sites: int) -> States:
    """Return labels as 1, 0, or −1 for missing ones; refuse other values, and columns of unknown species.

    The columns of a data frame are matched by name, in any order; a species without a column is missing at every site.
    An array has one column per species, in the order of `names`.
    """
    try:
        values = _by_name(y, names) if hasattr(y, "columns") else np.asarray(y, dtype=float)
    except LabelError:
        raise
    except (TypeError, ValueError) as error:
        raise LabelError(f"Y contains a value that is not a number ({error}): expected 1, 0, or missing") from None
    if values.shape != (sites, len(names)):
        raise MismatchError(f"Y has shape {values.shape}, expected {sites:,} sites (as X) and {len(names)} species")
    finite = np.isfinite(values)
    odd = finite & (values != 0) & (values != 1) | np.isinf(values)
    if odd.any():
        i, s = (int(k[0]) for k in np.nonzero(odd))
        raise LabelError(
            f"species '{names[s]}' has {values[i, s]:g} in row {i + 1}, expected 1 (present), 0 (absent) or missing; "
            "for counts and other continuous values use --presence-above 0 (in Python: y > 0)"
        )
    return np.ascontiguousarray(np.where(finite, np.nan_to_num(values), -1).astype(np.int8))


def _by_name(frame: Any, names: Sequence[str]) -> Array:
    """Return a data frame's columns in the order of the species, NaN for missing ones."""
    columns = [str(name) for name in frame.columns]
    _refuse_duplicates(columns)
    if strange := [name for name in columns if name not in names]:
        raise LabelError(f"{name_list(map(repr, strange))} is not a species of the model: {name_list(names)}")
    values = np.full((len(frame), len(names)), np.nan)
    values[:, [names.index(name) for name in columns]] = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def check_labels(labels: States, names: Sequence[str]) -> list[str]:
    """Refuse species that are nowhere or everywhere; return notes on missing labels."""
    observed = (labels >= 0).sum(axis=0)
    present = (labels > 0).sum(axis=0)
    for fault, bad in (
        ("occurs in no site", (present == 0) & (observed > 0)),
        ("occurs in every site", (present == observed) & (observed > 0)),
        ("has no known label", observed == 0),
    ):
        if bad.any():
            listed = [f"'{names[int(s)]}'" for s in np.flatnonzero(bad)]
            more = f" (as {name_list(listed[1:], 5)})" if len(listed) > 1 else ""
            raise LabelError(f"species {listed[0]} {fault}{more}, expected presences and absences: remove such columns")
    missing = int((labels < 0).sum())
    if not missing:
        return []
    sites = int((labels < 0).any(axis=1).sum())
    return [
        f"{missing:,} of {labels.size:,} labels are missing, at {sites:,} of {labels.shape[0]:,} sites: there the "
        "other species are used, and the edges between them"
    ]


def as_states(observed: Any, shape: tuple[int, int], names: Sequence[str]) -> States:
    """Return the states of a prediction: observed labels are fixed, the others are free."""
    if observed is None:
        return free_states(*shape)
    labels = read_labels(observed, names, shape[0])
    return np.where(labels < 0, FREE, labels).astype(np.int8)
