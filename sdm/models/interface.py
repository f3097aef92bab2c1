"""The interface of all fitted models: variables, predictions and files.

A kind of model is one class with this interface; `sdm.models.file` selects the class by the format of a file.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from sdm.data.encode import Encoder
from sdm.errors import MismatchError
from sdm.features.shapes import Shapes
from sdm.features.terms import Terms, bounded
from sdm.notebook import facts_html, rows_html
from sdm.novelty.reference import REFERENCE_ARRAYS, Reference, TrainingRange
from sdm.storage.archive import Archive
from sdm.types import AnyArray, Array

Header = dict[str, Any]
Arrays = dict[str, AnyArray]
_SHOWN = 10  # number of features in the table of a notebook
_NUMBERS = ("background_points", "conjugate", "effective_presences", "gain", "gap", "iterations", "n_features",
            "presences", "sites")  # fmt: skip


class FittedModel(ABC):
    """A fitted model, which predicts and can be saved."""

    kind: ClassVar[str]  # species, classes, community or group; selects the task
    called: ClassVar[str]  # noun in messages
    archive: ClassVar[Archive]  # format of its file
    scales: ClassVar[tuple[str, ...]]  # scales of predictions, the default first
    of_species: ClassVar[bool] = True  # True if its title is the name of a species
    meta: dict[str, Any]  # origin: status, gap, settings, data, seed, versions; JSON values only
    reference: Reference | None = None  # training environment; files of earlier versions lack it

    if TYPE_CHECKING:  # an attribute in some kinds, a property in others

        @property
        def encoder(self) -> Encoder:
            """Return the conversion of tables to numbers."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the variables, in the order of columns in predictions."""
        return self.encoder.names

    @property
    def categorical(self) -> tuple[str, ...]:
        """Return the names of the categorical variables."""
        return self.encoder.categorical

    @property
    @abstractmethod
    def feature_names(self) -> list[str]:
        """Return readable names of the features."""

    @property
    @abstractmethod
    def bands(self) -> tuple[str, ...]:
        """Return the names of the predicted bands: the species, or the classes."""

    @property
    def training_range(self) -> TrainingRange | None:
        """Return the training range; None for files without it."""
        return None if self.reference is None else TrainingRange.of(self.reference, self.names)

    @abstractmethod
    def column_values(
        self, columns: Sequence[NDArray[np.floating]], scale: str | None = None, clamp: bool = True
    ) -> Array:
        """Predict from one array of numbers per variable, in the order of `names`; return one row per band.

        `clamp` limits variables to their training ranges.
        """

    def clamping_effect(
        self, columns: Sequence[NDArray[np.floating]], predicted: Array, scale: str | None = None, clamp: bool = True
    ) -> Array:
        """Return the difference of predictions with and without clamping, at most over the bands.

        `predicted` are the `column_values` with `clamp`.
        """
        effect: Array = np.abs(predicted - self.column_values(columns, scale, not clamp)).max(axis=0)
        return effect

    def values(self, x: Any, scale: str | None = None) -> Array:
        """Predict from a data frame, a mapping or rows of numbers: one row per point, one column per band."""
        return self.column_values(list(self.encoder.encode(x).T), scale).T

    @abstractmethod
    def description(self) -> dict[str, Any]:
        """Return the content of `sdm info`: variables, features and weights, as JSON values."""

    def _repr_html_(self) -> str:
        weights = getattr(self, "weights", None)
        facts = {
            "of": ", ".join(word for word in self.bands[:12] if word) + (", …" if len(self.bands) > 12 else ""),
            "variables": ", ".join(f"{name} (categories)" if name in self.categorical else name for name in self.names),
            "scales": ", ".join(self.scales), "status": self.meta.get("status"), "gap in nats": self.meta.get("gap"),
            "features with a weight": len(self.feature_names),
        }  # fmt: skip
        table = ""
        if isinstance(weights, np.ndarray) and weights.ndim == 1 and weights.size == len(self.feature_names):
            order = np.argsort(-np.abs(weights), kind="stable")[:_SHOWN]
            rows = [(self.feature_names[k], float(weights[k])) for k in order]
            table = rows_html(["feature (largest weights)", "weight"], rows)
        return facts_html(f"A {self.called}", facts, table)

    @classmethod
    @abstractmethod
    def array_names(cls) -> list[str]:
        """Return the names of the arrays in a file."""

    @abstractmethod
    def to_file(self) -> tuple[Header, Arrays]:
        """Return the header (JSON values) and the arrays of a file."""

    @classmethod
    @abstractmethod
    def from_file(cls, header: Header, arrays: Arrays) -> Self:
        """Return the model of a file; every exception means a damaged file."""

    def to_bytes(self) -> bytes:
        """Return the content of its file, which is the same for equal models."""
        return self.archive.pack(*self.to_file(), None if self.reference is None else self.reference.to_arrays())

    @property
    def identity(self) -> str:
        """Return a short digest of the predictive content, without the training environment."""
        return self.archive.identity(*self.to_file())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model of this kind and refuse files of other kinds; otherwise as `load_model`."""
        return cls.archive.load(path, cls.array_names(), cls._build, cls.optional_names())

    @classmethod
    def optional_names(cls) -> list[str]:
        """Return the names of arrays that only some files have."""
        return list(REFERENCE_ARRAYS)

    @classmethod
    def _build(cls, header: Header, arrays: Arrays) -> Self:
        """Return the model of a file, with the training environment if the file has it."""
        model = cls.from_file(header, arrays)
        if "reference" not in arrays:
            return model
        categorical = [name in model.categorical for name in model.names]
        reference = Reference.from_arrays(arrays, categorical, len(model.bands))
        complete: Self = replace(cast(Any, model), reference=reference)
        return complete


@dataclass(frozen=True)
class ModelVariable:
    """The training range of a variable, and the categories of a categorical one."""

    name: str
    categorical: bool
    lo: float
    hi: float
    classes: tuple[float, ...] = ()
    labels: tuple[str, ...] | None = None  # names of text categories: code `k` is `labels[k]`
    titles: tuple[str, ...] | None = None  # names of categories in a layer's file, in the order of `classes`

    @property
    def category_names(self) -> tuple[str, ...]:
        """Return the categories as text: their names, else their codes."""
        if self.labels is not None:
            return tuple(self.labels[int(code)] for code in self.classes)
        return self.titles or tuple(f"{code:g}" for code in self.classes)

    @property
    def names_by_code(self) -> dict[int, str] | None:
        """Return the names of categories by code; None without names."""
        if self.labels is not None:
            return dict(enumerate(self.labels))
        return None if self.titles is None else dict(zip(map(int, self.classes), self.titles))

    def titled(self, titles: Mapping[float, str]) -> "ModelVariable":
        """Return the variable with names for its categories, as far as `titles` has them.

        If several codes have the same name, the code is added to it.
        """
        if not self.categorical or self.labels is not None or not any(code in titles for code in self.classes):
            return self
        if any(code != round(code) for code in self.classes):
            return self
        return replace(self, titles=tuple(category_titles(self.classes, titles)))

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> "ModelVariable":
        """Return the variable of a file's record."""
        labels, lo, hi = record["labels"], float(record["lo"]), float(record["hi"])
        if not (bounded(np.array([lo, hi])) and lo <= hi):
            raise ValueError(f"a variable from {lo} to {hi}")
        classes, words = tuple(map(float, record["classes"])), None if labels is None else tuple(map(str, labels))
        titles = record.get("titles")  # missing in files of earlier versions
        named = None if titles is None else tuple(map(str, titles))
        if named is not None and len(named) != len(classes):
            raise ValueError(f"{len(classes)} categories with {len(named)} names")
        return cls(str(record["name"]), bool(record["categorical"]), lo, hi, classes, words, named)


def limits_of(variables: Sequence[ModelVariable]) -> tuple[Array, Array]:
    """Return the training ranges that clamp variables; categories have infinite ones."""
    lo = np.array([-np.inf if variable.categorical else variable.lo for variable in variables])
    return lo, np.array([np.inf if variable.categorical else variable.hi for variable in variables])


def name_categories(
    variables: Sequence[ModelVariable], labels: Mapping[str, tuple[str, ...]], titles: Mapping[str, Mapping[float, str]]
) -> tuple[ModelVariable, ...]:
    """Return variables with names of their categories: `labels` of text categories, `titles` from layers' files."""
    named = (replace(one, labels=labels.get(one.name) or one.labels) for one in variables)
    return tuple(one.titled(titles.get(one.name, {})) for one in named)


def category_titles(codes: Sequence[float], titles: Mapping[float, str]) -> list[str]:
    """Return the names of categories; codes without a name are numbers, and the code is added to duplicate names."""
    words = [titles.get(code, f"{code:g}") for code in codes]
    return [f"{word} ({code:g})" if words.count(word) > 1 else word for code, word in zip(codes, words)]


class FeatureModel(FittedModel):
    """A model with terms, trees, monomials and ridges of variables with training ranges as features."""

    kind_arrays: ClassVar[tuple[str, ...]]  # arrays in a file, in addition to the arrays of features
    kind_values: ClassVar[Mapping[str, Callable[[Any], Any]]]  # values in the header of a file, and their types
    variables: tuple[ModelVariable, ...]
    terms: Terms
    shapes: Shapes

    @classmethod
    def array_names(cls) -> list[str]:
        """Return the names of the arrays in a file."""
        return [*cls.kind_arrays, *term_names(), *(f"shapes_{name}" for name in Shapes().to_arrays())]

    def to_file(self) -> tuple[Header, Arrays]:
        """Return the header and the arrays of a file; earlier programs refuse the version with ridges."""
        header: Header = {
            "variables": [asdict(variable) for variable in self.variables],
            "meta": self.meta,
            **{name: getattr(self, name) for name in self.kind_values},
            **({"version": self.archive.newest} if len(self.shapes.ridges) else {}),
        }
        shapes = {f"shapes_{name}": array for name, array in self.shapes.to_arrays().items()}
        return header, {**{name: getattr(self, name) for name in self.kind_arrays}, **term_arrays(self.terms), **shapes}

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays) -> Self:
        """Return the model of a file."""
        parts: Header = {name: read(header[name]) for name, read in cls.kind_values.items()}
        parts |= {name: arrays[name] for name in cls.kind_arrays}
        parts["variables"] = tuple(ModelVariable.from_record(record) for record in header["variables"])
        ridges = [name for name in Shapes.ridge_arrays() if f"shapes_{name}" in arrays]
        shapes = {name: arrays[f"shapes_{name}"] for name in (*Shapes().to_arrays(), *ridges)}
        parts |= {"terms": read_terms(arrays), "shapes": Shapes.from_arrays(shapes), "meta": header["meta"]}
        model: Self = cast(Any, cls)(**parts)
        if not (model._usable() and model._sound()):
            raise ValueError(f"values that no {cls.called} has")
        return model

    @abstractmethod
    def _sound(self) -> bool:
        """Return whether a fit could have written the values of this kind."""

    def _usable(self) -> bool:
        """Return whether features refer to variables of the model, and every term has a range."""
        terms, shapes, variables = self.terms, self.shapes, len(self.variables)
        if len(shapes.ridges) and shapes.ridges.directions.shape[1] != variables:
            return False
        with np.errstate(divide="ignore"):
            slopes = terms.slopes() if terms.sound(variables) else np.array([np.nan])
        scaled = np.all(np.isfinite(slopes) & (slopes > 0)) and usable_meta(self.meta)
        return bool(scaled and all(np.all((var >= 0) & (var < variables)) for var in shapes.variables()))

    @cached_property
    def encoder(self) -> Encoder:
        """Return the conversion of tables to numbers."""
        return Encoder(
            tuple(variable.name for variable in self.variables),
            tuple(variable.name for variable in self.variables if variable.categorical),
            {variable.name: variable.labels for variable in self.variables if variable.labels},
        )

    @property
    def limits(self) -> tuple[Array, Array]:
        """Return the training ranges that clamp variables; categories have infinite ones."""
        return limits_of(self.variables)

    @cached_property
    def training_range(self) -> TrainingRange:
        """Return the training range.

        Files of other programs do not list the categories of the background, so none of them is outside.
        """
        lists_categories = "program" not in self.meta
        classes = [np.array(sorted(a.classes)) if a.categorical and lists_categories else None for a in self.variables]
        return TrainingRange(self.names, *self.limits, tuple(classes))

    @property
    def feature_names(self) -> list[str]:
        """Return readable names of the features with a nonzero weight: terms, trees, monomials and ridges."""
        labels = {v: named for v, a in enumerate(self.variables) if (named := a.names_by_code) is not None}
        return [*self.terms.names(self.names, labels), *self.shapes.names(self.names, labels)]

    @classmethod
    def optional_names(cls) -> list[str]:
        """Return the names of arrays that only some files have; earlier versions had no ridges."""
        return [*super().optional_names(), *(f"shapes_{name}" for name in Shapes.ridge_arrays())]

    def check_columns(self, columns: Sequence[NDArray[np.floating]]) -> None:
        """Refuse a wrong number of columns."""
        if len(columns) != len(self.variables):
            raise MismatchError(f"got {len(columns)} columns, expected {len(self.variables)}: {', '.join(self.names)}")


def term_arrays(terms: Terms) -> Arrays:
    """Return the arrays of terms for a file."""
    return {f"terms_{column.name}": getattr(terms, column.name) for column in fields(Terms)}


def read_terms(arrays: Arrays) -> Terms:
    """Return the terms of a file."""
    return Terms(**{column.name: arrays[f"terms_{column.name}"] for column in fields(Terms)})


def as_stored(value: Any) -> Any:
    """Return the value unchanged."""
    return value


def texts(values: Sequence[object]) -> tuple[str, ...]:
    """Return values as text."""
    return tuple(map(str, values))


def term_names() -> list[str]:
    """Return the names of the arrays of terms."""
    return [f"terms_{column.name}" for column in fields(Terms)]


def with_weights(terms: Terms, shapes: Shapes, weights: Array) -> tuple[Terms, Shapes]:
    """Return the features with other weights: first of the terms, then of the shapes in their order."""
    return replace(terms, weight=weights[: len(terms)]), shapes.with_weight(weights[len(terms) :])


def usable_meta(meta: object) -> bool:
    """Return whether the numbers in a file's metadata are numbers."""
    if not isinstance(meta, dict):
        return False
    thresholds = meta.get("thresholds", {})
    numbers = [meta[name] for name in _NUMBERS if meta.get(name) is not None]
    return isinstance(thresholds, dict) and all(
        isinstance(number, int | float) for number in (*numbers, *thresholds.values())
    )
