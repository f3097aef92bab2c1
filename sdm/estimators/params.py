"""Scikit-learn's conventions without a dependency on it: parameters, errors and warnings."""

import inspect
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sdm.data.encode import Encoder, as_table, column_names
from sdm.errors import LabelError, MismatchError, OptionError, SdmNotFittedError, UnknownOptionError
from sdm.types import Array, Numbers, TableLike

if TYPE_CHECKING:
    from sklearn.utils import Tags
from numpy.typing import ArrayLike

from sdm.types import AnyArray

Limits = Mapping[str, tuple[float, float, str]]
"""Exclusive limits of numeric parameters, and a description for messages."""


@cache
def _argument_names(constructor: Callable[..., None]) -> tuple[str, ...]:
    """Return the names of a constructor's arguments."""
    return tuple(name for name in inspect.signature(constructor).parameters if name != "self")


def not_fitted(name: str) -> SdmNotFittedError:
    """Return the error for an unfitted estimator; if scikit-learn is loaded, it is also an instance of its error."""
    text = f"this {name} is not fitted yet: call fit(X, y) first"
    sklearn_error = _of_sklearn("NotFittedError")
    if sklearn_error is None:
        return SdmNotFittedError(text)
    error: SdmNotFittedError = type("SdmNotFittedError", (SdmNotFittedError, sklearn_error), {})(text)
    return error


def warn_of_column(stacklevel: int = 4) -> None:
    """Warn of labels that are a column of a table."""
    text = "A column-vector y was passed when a 1d array was expected: give y as one row of labels, y.ravel()"
    warnings.warn(text, _of_sklearn("DataConversionWarning") or UserWarning, stacklevel=stacklevel)


def warn_renamed(old: str, new: str, removed: str) -> None:
    """Warn of a deprecated name that a later version removes."""
    text = f"{old} is now called {new}: the former name will be gone in version {removed}"
    warnings.warn(text, FutureWarning, stacklevel=3)


def _of_sklearn(name: str) -> Any:
    """Return a class of scikit-learn's exceptions, if it is loaded."""
    return getattr(sys.modules.get("sklearn.exceptions"), name, None)


class Parameters:
    """An estimator whose constructor arguments are its attributes of the same names."""

    def get_params(self, deep: bool = True) -> Numbers:
        """Return the constructor's arguments."""
        return {name: getattr(self, name) for name in _argument_names(type(self).__init__)}

    def changed(self, **params: Any) -> Self:
        """Return an unfitted copy with changed parameters."""
        return type(self)(**self.get_params()).set_params(**params)

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments."""
        names = self.get_params()
        for name, value in params.items():
            if name not in names:
                raise UnknownOptionError(f"{type(self).__name__} has no parameter '{name}'; it has {', '.join(names)}")
            setattr(self, name, value)
        return self

    def for_fold(self, name: str) -> Self:
        """Return the estimator for a fold; by default it is the same for all folds."""
        return self

    def settings(self) -> Numbers:
        """Return the parameters as JSON values; `seed` is the seed in use."""
        params = self.get_params()
        if "random_state" in params:
            params["seed"] = self.used_seed
            del params["random_state"]
        return {name: _json_value(value) for name, value in params.items()}

    @property
    def used_seed(self) -> int:
        """Return the seed in use: `random_state`, scikit-learn's name, if it is set, else `seed`."""
        names = [name for name in ("random_state", "seed") if hasattr(self, name)]
        if not names:
            raise AttributeError(f"{type(self).__name__} has no seed")
        for name in names:
            value = getattr(self, name)
            if value is not None:
                if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
                    raise OptionError(f"{name}={value!r}: expected a whole number from 0 on")
                return int(value)
        raise OptionError("seed=None: expected a whole number from 0 on")

    def check_numbers(self, limits: Limits, words: Mapping[str, Any]) -> None:
        """Raise OptionError for a parameter that is neither within its limits nor its special value, such as "auto"."""
        for name, (low, high, text) in limits.items():
            value = getattr(self, name)
            if name in words and (value is words[name] or (isinstance(value, str) and value == words[name])):
                continue
            number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            if not number or not low < value < high:
                raise OptionError(f"{name}={value!r}: expected {text}")

    def __repr__(self) -> str:
        defaults = {name: p.default for name, p in inspect.signature(type(self).__init__).parameters.items()}
        changed = [f"{k}={v!r}" for k, v in self.get_params().items() if repr(v) != repr(defaults[k])]
        return f"{type(self).__name__}({', '.join(changed)})"


class TableReader(Parameters):
    """Base class of objects that are fitted to a table and check its columns afterwards."""

    fitted_attribute = "model_"  # present after fit, not before
    feature_names_in_: NDArray[np.object_]

    def _require_fit(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(type(self).__name__)

    def _learn(self, X: TableLike) -> tuple[Encoder, Array]:
        """Return the encoder of a table and its numeric values; store the number of columns and their names."""
        encoder = Encoder.learn(X, getattr(self, "categorical", ()))
        x = encoder.encode(X)
        if not len(encoder.names):
            raise MismatchError(
                f"X has 0 feature(s) (shape={x.shape}) while a minimum of 1 is required: add a column per variable"
            )
        if not x.shape[0]:
            raise MismatchError(f"X has 0 sample(s) (shape={x.shape}) while a minimum of 2 is required: add rows")
        if x.shape[0] == 1:
            raise MismatchError("X has 1 sample (one row), while a minimum of 2 is required: add rows")
        self.n_features_in_ = len(encoder.names)
        if isinstance(as_table(X), np.ndarray):  # scikit-learn's rule: only names from the user
            self.__dict__.pop("feature_names_in_", None)
        else:
            self.feature_names_in_ = np.array(encoder.names, dtype=object)
        return encoder, x

    def _checked(self, X: TableLike) -> Any:
        """Return a table to predict from; refuse tables with another number of columns, and unfitted estimators."""
        self._require_fit()
        table = as_table(X)
        if isinstance(table, np.ndarray) and table.shape[1] != self.n_features_in_:
            names = f" ({', '.join(self.feature_names_in_)})" if hasattr(self, "feature_names_in_") else ""
            raise MismatchError(
                f"X has {table.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                f"features as input: give one row per point and one column per variable{names}"
            )
        if hasattr(table, "to_numpy") and not hasattr(self, "feature_names_in_") and not _numbered(table):
            return self._checked(_without_names(table, type(self).__name__))
        return table

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self.fitted_attribute)

    def __sklearn_tags__(self) -> "Tags":
        """Return the tags of the estimator for scikit-learn."""
        from sklearn.utils import InputTags, Tags, TargetTags

        named = bool(len(getattr(self, "categorical", ())))  # text is allowed only in categorical columns
        inputs = InputTags(categorical=named, string=named)
        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=inputs)


class Estimator(TableReader):
    """An estimator with a fitted model in `model_`."""

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model to a file; `sdm.load_model` reads it.

        Parameters
        ----------
        path : str or path
            Such as ``species.npz``.
        overwrite : bool
            If True, replace an existing file.

        Raises
        ------
        DataError
            If the estimator is not fitted.
        OutputError
            If the file exists and `overwrite` is False, or the folder is not writable.
        """
        from sdm.models.file import save_model

        self._require_fit()
        save_model(self.model_, path, overwrite=overwrite)  # type: ignore[attr-defined]


class Classifier(Estimator):
    """An estimator that scikit-learn treats as a classifier."""

    multi_class = True

    def __sklearn_tags__(self) -> "Tags":
        """Return the tags of the estimator for scikit-learn."""
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=self.multi_class)
        return tags


def _numbered(table: Any) -> bool:
    """Return whether a data frame has the default names of unnamed columns: x0, x1, …"""
    return {f"x{v}" for v in range(len(table.columns))} <= set(column_names(table))


def _without_names(table: Any, name: str) -> Any:
    """Return a data frame as an array, with scikit-learn's warning that columns are matched by position."""
    text = f"X has feature names, but {name} was fitted without feature names: columns are taken in their order"
    warnings.warn(text, UserWarning, stacklevel=4)
    return table.to_numpy()


def _json_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in value]
    return value


EXPECTED = "expected 1 for presences and 0 for background"


def read_presences(y: ArrayLike | None, rows: int) -> tuple[AnyArray, NDArray[np.bool_]]:
    """Return the two labels `(2,)` and a mask `(rows,)` of the presences.

    Labels are 1 and 0, True and False, or any two numbers: the larger one is the presence. Text is refused because its
    order is ambiguous.

    Raises
    ------
    DataError
        If the number of labels is not the number of rows, or there are not exactly two values.
    """
    values = one_label_per_row(y, rows)
    if values.dtype.kind not in "biuf":
        raise LabelError(f"Unknown label type: y has {values[0]!r} among its labels; {EXPECTED}")
    classes: AnyArray = np.unique(values)
    if classes.dtype.kind == "f" and not np.all(np.isfinite(classes)):
        raise LabelError(f"y has {classes[~np.isfinite(classes)][0]} among its labels; {EXPECTED}")
    if classes.size > 2:
        odd = [value for value in classes.tolist() if value not in (0, 1)]
        raise LabelError(
            f"Unknown label type: y has {odd[0]!r} among its {classes.size:,} different labels. Only binary "
            f"classification is supported: {EXPECTED}"
        )
    if classes.size < 2:
        lack = {1: "no background", 0: "no presence"}.get(classes.tolist()[0] if classes.size else 0, "no second class")
        raise LabelError(f"y has {lack}: one class alone ({classes.tolist()}) is among its labels; {EXPECTED}")
    return classes, values == classes[1]


def presences_among(y: ArrayLike | None, rows: int, classes: AnyArray) -> NDArray[np.bool_]:
    """Return a mask of the presences; labels are from the fit, and may be presences alone or background alone."""
    values = one_label_per_row(y, rows)
    if odd := [value for value in np.unique(values).tolist() if value not in classes.tolist()]:
        raise LabelError(f"y has {odd[0]!r} among its labels; the model was fitted to {classes.tolist()}")
    mask: NDArray[np.bool_] = values == classes[1]
    return mask


def one_label_per_row(y: ArrayLike | None, rows: int) -> AnyArray:
    """Return labels as an array `(rows,)`; a single column is accepted with a warning."""
    if y is None:
        raise MismatchError("y is None: this estimator requires y to be passed, but the target y is None")
    if hasattr(y, "tocsr"):
        raise MismatchError("y is a sparse matrix, expected an array of labels: give y.toarray().ravel()")
    values = np.asarray(y)
    if values.shape == (rows, 1):
        warn_of_column(5)
        values = values.ravel()
    if values.shape != (rows,):
        raise MismatchError(f"y has shape {values.shape}, expected one label for each of the {rows:,} rows of X")
    if values.dtype.kind == "O" and all(isinstance(value, (bool, int, float, np.number)) for value in values.tolist()):
        values = np.array(values.tolist())
    return values
