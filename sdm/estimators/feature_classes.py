"""`FeatureClasses`: the feature classes of Maxent as a transformer for any estimator."""

import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdm.errors import BadValueError, MismatchError, expect_one_of
from sdm.estimators.params import TableReader, read_presences
from sdm.features.classes import parse_classes
from sdm.features.domain import Domain
from sdm.features.feature_set import build_features
from sdm.features.knots import Knots, check_knots
from sdm.features.terms import centres
from sdm.types import Array, TableLike

if TYPE_CHECKING:
    from sklearn.utils import Tags


OUTPUTS = ("default", "pandas", "polars")


@dataclass(eq=False, repr=False)
class FeatureClasses(TableReader):
    """Expand variables into the feature classes of Maxent: linear, quadratic, product, hinge and threshold features.

    Every feature is scaled to the range from 0 to 1 over the rows of the fit, as in `Maxent`.

    Parameters
    ----------
    features : str or sequence of str
        Classes by letter (``"lqpht"``) or name. ``"auto"`` depends on the number of presences (of rows, without `y`),
        as in Java Maxent. Categorical variables always get one feature per category.
    knots : {"maxent", "maxnet", "all"} or int
        Knots of hinges and thresholds, as for `Maxent`; N quantiles by default.
    categorical : sequence of str or int
        Columns of categories. All features of a category that was not in the fit are 0.
    clamp : bool
        Limit variables to their ranges in the fit, and features to 0 to 1, as `Maxent.predict` does.

    Attributes
    ----------
    terms_ : Terms
        The J features.
    n_features_in_ : int
        Number of variables, V.
    feature_names_in_ : (V,) array of str
        Names of the variables, if X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import FeatureClasses
    >>> X = np.array([[0.0, 10.0], [1.0, 30.0], [2.0, 20.0]])
    >>> expand = FeatureClasses("lp").fit(X)
    >>> expand.get_feature_names_out().tolist()
    ['x0', 'x1', 'x0*x1']
    >>> expand.transform(X).tolist()
    [[0.0, 0.0, 0.0], [0.5, 1.0, 0.75], [1.0, 0.5, 1.0]]
    """

    fitted_attribute = "terms_"

    features: str | Sequence[str] = "lqh"
    _: KW_ONLY
    knots: Knots = 10
    categorical: Sequence[str | int] = ()
    clamp: bool = True

    def fit(self, X: TableLike, y: ArrayLike | None = None) -> Self:
        """Learn ranges, knots and categories.

        Parameters
        ----------
        X : (n, V) array or data frame
            Values of the variables, none of them missing.
        y : (n,) array of 1 and 0, optional
            Presences and background. ``features="auto"`` counts the presences, and ``knots="maxent"`` puts thresholds
            between them. Other labels are ignored.

        Returns
        -------
        self

        Raises
        ------
        OptionError
            If `features` or `knots` is unknown.
        DataError
            If X has missing values or no columns, or `y` has another length.
        """
        check_knots(self.knots)
        encoder, x = self._learn(X)
        present = _presences(y, len(x))
        letters = parse_classes(self.features, float(present.sum()))
        domain = Domain(x, encoder.names, encoder.categorical)
        sample = present / present.sum()
        built = build_features(domain, letters, knots=self.knots, sample=sample, empty_categories=True)
        coded = np.isin(encoder.names, encoder.categorical)
        self._lo, self._hi = np.where(coded, -np.inf, x.min(axis=0)), np.where(coded, np.inf, x.max(axis=0))
        self._encoder, self.terms_ = encoder, built.terms()
        return self

    def transform(self, X: TableLike) -> Any:
        """Return the features at the rows of a table.

        Parameters
        ----------
        X : (n, V) array or data frame
            Values of the variables, none of them missing.

        Returns
        -------
        (n, J) array
            Or a data frame, after ``set_output(transform="pandas")``.

        Raises
        ------
        DataError
            If the transformer is not fitted, X has other columns than the fit, or values are missing.
        """
        table = self._checked(X)
        x = self._encoder.encode(table)
        if not np.all(np.isfinite(x)):
            raise BadValueError("Input X contains NaN or infinity: drop or impute these rows first")
        if self.clamp:
            values = self.terms_.evaluate_clamped(x, self._lo, self._hi)
        else:
            values = self.terms_.evaluate(x, centres(self._lo, self._hi))
        return self._wrapped(values, getattr(X, "index", None))

    def fit_transform(self, X: TableLike, y: ArrayLike | None = None) -> Any:
        """Fit to a table and return its features, `(n, J)`."""
        return self.fit(X, y).transform(X)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Return the names of the features, such as ``heat^2`` or ``heat*rain``.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the variables, if X had none; otherwise the names of X.

        Returns
        -------
        (J,) array of str

        Raises
        ------
        ValueError
            If the names do not match the variables of the fit.
        """
        self._require_fit()
        names = [*self._encoder.names]
        if input_features is not None:
            requested = [str(name) for name in input_features]
            expected = [str(name) for name in getattr(self, "feature_names_in_", requested)]
            if len(requested) != len(names):
                raise ValueError(f"input_features should have length equal to number of features ({len(names)})")
            if requested != expected:
                raise ValueError("input_features is not equal to feature_names_in_")
            names = requested
        labels = {names.index(n): dict(enumerate(words)) for n, words in self._encoder.labels.items()}
        return np.array(self.terms_.names(names, labels), dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the type that `transform` returns: ``"default"`` (an array), ``"pandas"`` or ``"polars"``; None keeps the
        type."""
        if transform is not None:
            expect_one_of("transform", transform, OUTPUTS)
            self._sklearn_output_config = {"transform": transform}
        return self

    def _wrapped(self, values: Array, index: Any) -> Any:
        """Return features in the type that this transformer or scikit-learn's configuration sets."""
        output = getattr(self, "_sklearn_output_config", {}).get("transform") or _global_output()
        if output == "pandas":
            import pandas as pd

            return pd.DataFrame(values, columns=self.get_feature_names_out(), index=index)
        if output == "polars":
            import polars

            return polars.DataFrame(values, schema=[*self.get_feature_names_out()])
        return values

    def __sklearn_tags__(self) -> "Tags":
        """Return the tags of the transformer for scikit-learn."""
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.target_tags.required = "transformer", False
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        return tags


def _presences(y: ArrayLike | None, rows: int) -> NDArray[np.bool_]:
    """Return a mask of the presences if labels are 1 and 0, else of all rows."""
    values = None if y is None else np.asarray(y)
    if values is None or values.ndim != 1 or not np.all(np.isin(values, [0, 1])) or np.unique(values).size != 2:
        if values is not None and len(values) != rows:
            raise MismatchError(f"y has {len(values):,} labels, expected one for each of the {rows:,} rows of X")
        return np.ones(rows, dtype=bool)
    return read_presences(values, rows)[1]


def _global_output() -> str:
    """Return the output type of scikit-learn's configuration, if it is loaded."""
    sklearn = sys.modules.get("sklearn")
    return str(sklearn.get_config()["transform_output"]) if sklearn is not None else "default"
