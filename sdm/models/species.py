"""A fitted model of one species, with predictions and a file format."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdm.errors import OptionError, UnseenCategoryError, expect_one_of
from sdm.features.shapes import Shapes
from sdm.features.terms import Terms, bounded
from sdm.maxent.entropy import Entropy
from sdm.models.compiled import Compiled
from sdm.models.interface import FeatureModel, ModelVariable, as_stored
from sdm.novelty.reference import Reference
from sdm.storage.archive import Archive
from sdm.types import Array

SCALES = ("raw", "cumulative", "cloglog", "logistic", "link")
UNSEEN = ("zero", "error")
CUMULATIVE_ROWS = 10_000  # rows of a cumulative table: exact to 0.01 %, and small in a file
SCALED = (
    "scores are divided by the temperature {:g} after the fit; the certificate, the regularised gain, percent "
    "contributions and the table of families are for the model before this division"
)
SAME = 1e-9  # raw values whose ratio differs from one by less than this are equal up to rounding


@dataclass(frozen=True)
class Model(FeatureModel):
    """Weighted features, and the constants of the output scales.

    Attributes
    ----------
    variables : tuple of ModelVariable
        The variables with their training ranges.
    terms : Terms
        The features with a nonzero weight.
    alpha : float
        Order of the entropy.
    tau : float
        Normaliser: the density ratio of scores `θ` is `exp(θ − τ)`, or its Tsallis form.
    n_domain : int
        Number of cells (background and added presences) that `raw` sums to one over.
    entropy : float
        Entropy `H` of the fitted distribution over the domain, in nats.
    prevalence : float
        The τ of the logistic scale.
    cumulative : (k, 2) array
        Ascending raw values, and the percentage of the distribution at or below each; empty if unknown.
    unseen : {"zero", "error"}
        Predictions for categories that were not in training: without an effect of the variable, or an error.
    shapes : Shapes
        Trees, monomials and ridges with a nonzero weight.
    meta : dict
        Origin: status, gap, gain, settings, data, seed, versions. JSON values only.
    reference : Reference or None
        Training environment (background and presences); files of earlier versions lack it.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import Maxent, Model
    >>> X, y = np.arange(40.0).reshape(20, 2), np.repeat([1, 0], [8, 12])
    >>> model = Maxent("l").fit(X, y).model_
    >>> isinstance(model, Model), model.names, model.scales[0]
    (True, ('x0', 'x1'), 'cloglog')
    >>> model.predict({"x0": [0.0], "x1": [1.0]}, scale="cumulative").round().tolist()
    [100.0]
    """

    kind: ClassVar[str] = "species"
    called: ClassVar[str] = "model of one species"
    archive: ClassVar[Archive] = Archive("sdm-model", 1, "model.json", "model file")
    kind_arrays: ClassVar[tuple[str, ...]] = ("cumulative",)
    kind_values: ClassVar = dict.fromkeys(("alpha", "tau", "n_domain", "entropy", "prevalence", "unseen"), as_stored)
    scale: ClassVar[str] = "cloglog"
    scales: ClassVar[tuple[str, ...]] = ("cloglog", "raw", "cumulative", "logistic", "link")

    variables: tuple[ModelVariable, ...]
    terms: Terms
    alpha: float
    tau: float
    n_domain: int
    entropy: float
    prevalence: float
    cumulative: Array
    unseen: str = "zero"
    meta: dict[str, Any] = field(default_factory=dict)
    shapes: Shapes = field(default_factory=Shapes)
    reference: Reference | None = field(default=None, repr=False)

    @property
    def weights(self) -> Array:
        """Return the weights, in the order of `feature_names`."""
        return np.concatenate([self.terms.weight, self.shapes.weight])

    @cached_property
    def compiled(self) -> Compiled:
        """Return the score function, compiled on first use."""
        return Compiled(self.terms, *self.limits, self.shapes)

    def with_meta(self, **more: Any) -> "Model":
        """Return the model with additional entries in `meta`, and with the same compiled score function."""
        model = replace(self, meta={**self.meta, **more})
        if "compiled" in self.__dict__:
            model.__dict__["compiled"] = self.compiled
        return model

    def predict(self, x: Any, scale: str = "cloglog", clamp: bool = True) -> Array:
        """Predict from a table of raw values.

        Parameters
        ----------
        x : data frame, mapping, (n, V) array or nested lists
            A data frame, or a mapping of names to columns, may have the variables in any order and other columns; text
            categories have their names. An array or nested lists have one column per variable, in the order of `names`.
            Purely numeric tables have the codes of text categories.
        scale : {"cloglog", "raw", "cumulative", "logistic", "link"}
            Output scale; see `from_scores`.
        clamp : bool
            Limit variables (and products of them) to their training ranges.

        Returns
        -------
        (n,) array
            NaN where a variable is missing.

        Raises
        ------
        DataError
            If a variable is missing from the table, or an unknown category is refused (`unseen`).
        OptionError
            If the scale is unknown.
        """
        return self.predict_columns(list(self.encoder.encode(x).T), scale, clamp)

    def predict_columns(
        self, columns: Sequence[NDArray[np.floating]], scale: str = "cloglog", clamp: bool = True
    ) -> Array:
        """Predict from one array of numbers per variable, in the order of `names`; the rest as for `predict`."""
        self.check_columns(columns)
        if self.unseen == "error":
            self._refuse_unseen(columns)
        return self.from_scores(self.compiled.scores(columns, clamp), scale)

    @property
    def bands(self) -> tuple[str, ...]:
        """Return the name of the species."""
        return (str(self.meta.get("species", "")),)

    def column_values(
        self, columns: Sequence[NDArray[np.floating]], scale: str | None = None, clamp: bool = True
    ) -> Array:
        """Predict one band from one array of numbers per variable."""
        return self.predict_columns(columns, scale or self.scale, clamp)[None]

    def from_scores(self, theta: Array, scale: str = "cloglog") -> Array:
        """Convert scores `λ·f(x)` to an output scale.

        With the density ratio `r` to the domain, the scales are:

        - raw: `r/n`.
        - cumulative: the percentage of the distribution in cells of at most that raw value.
        - cloglog: `1 − exp(−raw·e^H)`.
        - logistic: `τ raw e^H/(1 − τ + τ raw e^H)`, with the prevalence τ.
        - link: `ln raw` for Shannon's entropy, and `θ − τ` for the others.
        """
        expect_one_of("scale", scale, SCALES)
        if scale == "link":
            return theta - self.tau - (np.log(self.n_domain) if self.alpha == 1.0 else 0.0)
        return self.from_raw(Entropy(self.alpha).ratio(theta, self.tau) / self.n_domain, scale)

    def from_raw(self, raw: Array | float, scale: str) -> Array:
        """Convert raw values to another output scale."""
        raw = np.asarray(raw, dtype=np.float64)
        if scale == "raw":
            return raw
        if scale == "cumulative":
            if not len(self.cumulative):
                raise OptionError(
                    "the model lacks the cumulative scale: copy <name>_omission.csv of Java Maxent next to the "
                    ".lambdas file, or use the scale cloglog, logistic or raw"
                )
            return np.interp(raw, self.cumulative[:, 0], self.cumulative[:, 1], left=0.0)
        strength = raw * np.exp(self.entropy)
        if scale == "cloglog":
            return np.asarray(-np.expm1(-strength))
        return np.asarray(self.prevalence * strength / (1.0 - self.prevalence + self.prevalence * strength))

    def _refuse_unseen(self, columns: Sequence[NDArray[np.floating]]) -> None:
        """Raise for a category that was not in training."""
        for variable, column in zip(self.variables, columns):
            if variable.categorical:
                values = np.unique(column[np.isfinite(column)])
                extra = np.setdiff1d(values, np.array(variable.classes))
                if extra.size:
                    listed = ", ".join(f"{value:g}" for value in extra[:5])
                    raise UnseenCategoryError(
                        f"variable '{variable.name}' has {extra.size} classes that were not in the training data "
                        f"({listed}{', …' if extra.size > 5 else ''}): use --unseen zero to give them no effect"
                    )

    def description(self) -> dict[str, Any]:
        """Return the content of `sdm info`."""
        features = [{"name": name, "weight": float(w)} for name, w in zip(self.feature_names, self.weights)]
        return {"variables": [asdict(variable) for variable in self.variables], "features": features}

    def _sound(self) -> bool:
        """Return whether a fit could have written the values."""
        return bool(
            self.cumulative.ndim == 2
            and self.cumulative.shape[1] == 2
            and bounded(self.shapes.weight, self.cumulative, np.array([self.tau, self.entropy], dtype=np.float64))
            and np.all(np.diff(self.cumulative, axis=0) >= 0)
            and 1.0 <= self.alpha <= 2.0
            and self.n_domain > 0
            and 0.0 < self.prevalence < 1.0
            and self.unseen in UNSEEN
        )


def with_temperature(model: Model, theta: Array, q0: Array, temperature: float) -> Model:
    """Return the model with scores divided by a temperature (Blondel, Martins & Niculae 2020, §8.1).

    Below 1 the distribution is more concentrated; with an entropy above 1 it is zero on more cells. The new normaliser
    is computed from the scores `theta` at the cells of the training domain and their base measure `q0`. The record of
    the fit (gap, regularised gain) is unchanged, with a note.
    """
    gibbs = Entropy(model.alpha).gibbs(theta / temperature, q0)
    p, raw = q0 * gibbs.ratio, gibbs.ratio / model.n_domain
    used = p > 0
    scaled = {"temperature": temperature, "temperature_note": SCALED.format(temperature), "conjugate": gibbs.conjugate}
    return replace(
        model,
        terms=replace(model.terms, weight=model.terms.weight / temperature),
        shapes=model.shapes.with_weight(model.shapes.weight / temperature),
        tau=gibbs.tau,
        entropy=float(-(p[used] @ np.log(raw[used]))),
        cumulative=cumulative_table(raw, p),
        meta={**model.meta, **scaled},
    )


def cumulative_table(raw: Array, p: Array) -> Array:
    """Return ascending distinct raw values and the percentage of `p` at or below each, thinned to a bounded size.

    Values that differ by rounding only are merged. Table values are slightly below the least of them, because
    predictions may differ from the fit by rounding.
    """
    order = np.argsort(raw)
    values, total = raw[order], np.cumsum(p[order])
    last = np.append(np.flatnonzero(np.diff(values) > SAME * values[1:]), values.size - 1)
    first = np.append(0, last[:-1] + 1)
    table = np.column_stack([values[first] * (1.0 - SAME), 100.0 * np.minimum(total[last] / total[-1], 1.0)])
    if table.shape[0] > CUMULATIVE_ROWS:
        levels = np.linspace(table[0, 1], 100.0, CUMULATIVE_ROWS)
        rows = np.append(np.searchsorted(table[:, 1].copy(), levels), len(table) - 1).clip(max=len(table) - 1)
        table = table[rows[np.diff(rows, prepend=-1) > 0]]
    return table
