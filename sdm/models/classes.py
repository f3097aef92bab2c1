"""A fitted model of classes, with predictions and a file format."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdm.errors import BadValueError
from sdm.features.shapes import Shapes
from sdm.features.terms import Terms, bounded
from sdm.maxent.entropy import ClassEntropy
from sdm.models.colours import palette, recorded_colours
from sdm.models.compiled import Compiled
from sdm.models.interface import FeatureModel, ModelVariable
from sdm.novelty.reference import Reference
from sdm.storage.archive import Archive
from sdm.types import AnyArray, Array, Colour, Label


@dataclass(frozen=True)
class ClassModel(FeatureModel):
    """Features with their weights in every class: T terms and S shapes with a nonzero weight in any class."""

    kind: ClassVar[str] = "classes"
    called: ClassVar[str] = "class model"
    of_species: ClassVar[bool] = False
    scales: ClassVar[tuple[str, ...]] = ("probability",)
    archive: ClassVar[Archive] = Archive("sdm-classes", 1, "model.json", "class model")
    kind_arrays: ClassVar[tuple[str, ...]] = ("intercept", "weights")
    kind_values: ClassVar = {"classes": tuple, "alpha": float}

    classes: tuple[Label, ...]  # labels, in the order of all arrays
    variables: tuple[ModelVariable, ...]
    intercept: Array  # (C,)
    terms: Terms  # their column of weights is not used
    shapes: Shapes  # trees, monomials and ridges
    weights: Array  # (C, T + S): weights of the terms, trees, monomials and ridges, in this order
    alpha: float = 1.0  # order of the entropy: 1 is softmax, 2 sparsemax
    meta: dict[str, Any] = field(default_factory=dict)  # origin of the model; JSON values only
    reference: Reference | None = field(default=None, repr=False)  # training environment

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the classes as text."""
        return tuple(map(label_text, self.classes))

    @property
    def codes(self) -> dict[str, int]:
        """Return the values of the classes in their raster, if it has names for them."""
        stored = self.meta.get("codes")
        pairs = stored.items() if isinstance(stored, dict) else ()
        return {str(label): code for label, code in pairs if isinstance(code, int) and label in self.labels}

    @property
    def shares(self) -> Array | None:
        """Return each class's share of the training sites, `(C, 1)`: the null model; None for files without it."""
        stored = self.meta.get("shares")
        if not isinstance(stored, list) or len(stored) != len(self.classes):
            return None
        if not all(isinstance(share, float | int) and 0 <= share <= 1 for share in stored):
            return None
        return np.array(stored, dtype=np.float64)[:, None]

    @property
    def colours(self) -> list[Colour]:
        """Return the colour of every class: from the training raster, else from the palette."""
        recorded = recorded_colours(self.meta)
        return [recorded.get(label, colour) for label, colour in zip(self.labels, palette(len(self.labels)))]

    @cached_property
    def compiled(self) -> tuple[Compiled, ...]:
        """Return the score function of every class, compiled on first use."""
        each = [self._of_class(c) for c in range(len(self.classes))]
        return tuple(Compiled(terms, *self.limits, shapes) for terms, shapes in each)

    def _of_class(self, c: int) -> tuple[Terms, Shapes]:
        """Return the terms and shapes with a nonzero weight in a class."""
        weights, shape_weights = np.split(self.weights[c], [len(self.terms)])
        used = np.flatnonzero(weights)
        return self.terms.take(used, weights[used]), self.shapes.take_used(shape_weights)

    def scores(self, x: Any, clamp: bool = True) -> Array:
        """Return the scores `θ_c(x)`, one row per class; NaN where a value is missing."""
        return self.column_scores(list(self.encoder.encode(x).T), clamp)

    def column_scores(self, columns: Sequence[NDArray[np.floating]], clamp: bool = True) -> Array:
        """Return the scores from one array of numbers per variable, in the order of `names`."""
        self.check_columns(columns)
        return np.array([one.scores(columns, clamp) + b for one, b in zip(self.compiled, self.intercept)])

    def distributions(self, x: Any, clamp: bool = True) -> Array:
        """Return the probabilities of the classes, one row per class."""
        return ClassEntropy(self.alpha).distributions(self.scores(x, clamp))[0]

    def column_distributions(self, columns: Sequence[NDArray[np.floating]], clamp: bool = True) -> Array:
        """Return the result of `distributions` from one array of numbers per variable, in the order of `names`."""
        return ClassEntropy(self.alpha).distributions(self.column_scores(columns, clamp))[0]

    def predict_proba(self, x: Any, clamp: bool = True) -> Array:
        """Return the probabilities of the classes, one row per site; `x` and `clamp` as for a model of one species."""
        return np.ascontiguousarray(self.distributions(x, clamp).T)

    def predict(self, x: Any, clamp: bool = True) -> AnyArray:
        """Return the most probable class of every site; `x` as for `predict_proba`, without missing values."""
        p = self.distributions(x, clamp)
        if missing := int(np.isnan(p).any(axis=0).sum()):
            raise BadValueError(f"{missing:,} rows have missing values: drop or impute them first")
        chosen: AnyArray = np.array(self.classes)[np.argmax(p, axis=0)]
        return chosen

    @property
    def bands(self) -> tuple[str, ...]:
        """Return the classes."""
        return self.labels

    def column_values(
        self, columns: Sequence[NDArray[np.floating]], scale: str | None = None, clamp: bool = True
    ) -> Array:
        """Predict the probability of every class from one array of numbers per variable."""
        return self.column_distributions(columns, clamp)

    def description(self) -> dict[str, Any]:
        """Return the content of `sdm info`."""
        return {
            "classes": list(self.classes),
            "order": self.alpha,
            "variables": [asdict(variable) for variable in self.variables],
            "constants": self.intercept.tolist(),
            "features": [{"name": a, "weights": w.tolist()} for a, w in zip(self.feature_names, self.weights.T)],
        }

    def _sound(self) -> bool:
        """Return whether a fit could have written the values."""
        classes = len(self.classes)
        return bool(
            classes >= 2
            and len(set(self.classes)) == classes
            and all(isinstance(label, (str, int, float)) for label in self.classes)
            and self.intercept.shape == (classes,)
            and self.weights.shape == (classes, len(self.terms) + len(self.shapes))
            and self.intercept.dtype == self.weights.dtype == np.float64
            and bounded(self.intercept, self.weights, self.shapes.weight)
            and 1.0 <= self.alpha <= 2.0
        )


def label_text(label: Label) -> str:
    """Return a class's label as text; whole numbers have no decimal point."""
    return repr(label).removesuffix(".0") if isinstance(label, float) else str(label)


def shannon(p: Array) -> Array:
    """Return the entropy of each column of `p`, in nats: the uncertainty of the class."""
    return np.asarray(-np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=0))
