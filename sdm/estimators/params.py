"""Scikit-learn's conventions, without scikit-learn: constructor arguments as parameters, and models that are saved."""

import inspect
import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from sdm.errors import OptionError
from sdm.estimators.conventions.raised import not_fitted

Limits = Mapping[str, tuple[float, float, str]]
"""Parameters that are numbers: their limits (exclusive), and the words for them."""


class Parameters:
    """An estimator whose constructor arguments are its attributes of the same names."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments."""
        names = [name for name in inspect.signature(type(self).__init__).parameters if name != "self"]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise OptionError(f"{type(self).__name__} has no parameter '{name}'; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def for_fold(self, name: str) -> Self:
        """Return the estimator for a fold; most are the same for all."""
        return self

    def settings(self) -> dict[str, Any]:
        """Return the parameters as JSON can hold them."""
        return {name: _json_value(value) for name, value in self.get_params().items()}

    def check_numbers(self, limits: Limits, words: Mapping[str, Any]) -> None:
        """Raise OptionError for a parameter that is neither a number within its limits nor its word, such as "auto"."""
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


class Classifier(Parameters):
    """An estimator that scikit-learn takes for a classifier, whose fit leaves a model in `model_`."""

    multi_class = True

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model to a file; `sdm.load_model` reads it."""
        from sdm.models.file import save_model

        self._require_fit()
        save_model(self.model_, path, overwrite=overwrite)  # type: ignore[attr-defined]

    def _require_fit(self) -> None:
        if not hasattr(self, "model_"):
            raise not_fitted(type(self).__name__)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn, which is what calls this."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=self.multi_class),
            input_tags=InputTags(),
        )


def _json_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in value]
    return value
