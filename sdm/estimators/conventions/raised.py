"""Errors and warnings that are also scikit-learn's, where scikit-learn is in use; it is never imported for them."""

import sys
import warnings
from typing import Any

from sdm.errors import DataError


class SdmNotFittedError(DataError, AttributeError):
    """A prediction was asked of an estimator before `fit`."""


def not_fitted(name: str) -> SdmNotFittedError:
    """Return the error of an estimator that is not fitted; where scikit-learn is loaded it is its error too."""
    text = f"this {name} is not fitted yet: call fit(X, y) first"
    theirs = _of_sklearn("NotFittedError")
    if theirs is None:
        return SdmNotFittedError(text)
    made: SdmNotFittedError = type("SdmNotFittedError", (SdmNotFittedError, theirs), {})(text)
    return made


def warn_of_column(stacklevel: int = 4) -> None:
    """Warn of labels that came as a column of a table."""
    text = "A column-vector y was passed when a 1d array was expected: give y as one row of labels, y.ravel()"
    warnings.warn(text, _of_sklearn("DataConversionWarning") or UserWarning, stacklevel=stacklevel)


def warn_renamed(old: str, new: str, removed: str) -> None:
    """Warn of a name that was in use before, and will be gone in a version."""
    text = f"{old} is now called {new}: the former name will be gone in version {removed}"
    warnings.warn(text, FutureWarning, stacklevel=3)


def _of_sklearn(name: str) -> Any:
    """Return a class of scikit-learn's exceptions, if it is loaded."""
    return getattr(sys.modules.get("sklearn.exceptions"), name, None)
