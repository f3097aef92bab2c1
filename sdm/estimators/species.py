"""`SpeciesEstimator`: parameters, input and predictions that all estimators of one species share."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from sdm._version import __version__
from sdm.errors import ConflictError, LabelError, OptionError, expect_one_of
from sdm.estimators.model_parts import feature_names, model_variables, weighted_features
from sdm.estimators.params import Classifier, presences_among, read_presences
from sdm.estimators.sample import ADD, TrainingData, build_domain, without_empty
from sdm.features.domain import Domain
from sdm.features.feature_set import FeatureSet
from sdm.features.shapes import Shapes
from sdm.features.terms import Terms
from sdm.maxent.certificate import FOUND, MODEL, certified, certified_map
from sdm.maxent.penalty_weights import TABLE_LIMITS
from sdm.maxent.problem import Problem
from sdm.maxent.solution import CONVERGED, Solution
from sdm.models.species import UNSEEN, Model, cumulative_table, with_temperature
from sdm.types import AnyArray, Array, Numbers, Progress, TableLike

LIMITS = {
    "multiplier": (0.0, np.inf, "a positive number; for no penalty use regularization='none'"),
    "tolerance": (0.0, np.inf, "a positive gap in nats, such as 1e-6"),
    "max_iterations": (0, np.inf, "1 or more"),
    "smoothing": (0.0, np.inf, "a positive number, such as 0.1"),
    "ratio": (0.0, np.inf, "a positive number, the l2² penalty over the l1 penalty"),
    "ridge": (0.0, np.inf, "a positive number, the strength of the l2² penalty of elastic"),
    "power": (1.0, 2.0, "a number between 1 and 2; 1 is regularization='l1' and 2 is regularization='l2'"),
    "uncorrelated": (0.0, 1.0 + 1e-12, "a share above 0, up to 1, such as 0.01"),
    "delta": (0.0, 1.0, "a probability between 0 and 1, such as 0.05"),
    "norm": (0.0, np.inf, "a positive number, such as 10"),
    "prevalence": (0.0, 1.0, "a number between 0 and 1"),
    "temperature": (0.0, np.inf, "a positive number; 1 leaves the model as it was fitted"),
    **dict.fromkeys(("quadratic_from", "hinge_from", "product_from"), (0, np.inf, "a number of presences, 1 or more")),
    **TABLE_LIMITS,
}
_OPTIONAL = dict.fromkeys(("max_iterations", "ridge", *TABLE_LIMITS))


class FittedSpecies(Classifier):
    """Attributes of a fitted estimator of one species."""

    multi_class = False

    classes_: AnyArray
    model_: Model
    solution_: Solution
    coef_: Array
    entropy_: float
    feature_set_: FeatureSet
    notes_: list[str]
    _data: TrainingData


@dataclass(kw_only=True, eq=False, repr=False)
class SpeciesEstimator(FittedSpecies):
    """An estimator of one species from presences and background; see `Maxent` for the parameters."""

    categorical: Sequence[str | int] = ()
    tolerance: float = 1e-6
    add_presences: str | None = None
    prevalence: float = 0.5
    unseen: str = "zero"
    temperature: float = 1.0

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        base_weight: ArrayLike | None = None,
        start: "SpeciesEstimator | Model | None" = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit to presences (`y` = 1) and background (`y` = 0).

        Parameters
        ----------
        X : (n, V) array or data frame
            Variables at presences and background, without missing values.
        y : (n,) array of 1 and 0
            Or of two other numbers, or False and True: the larger is the presence.
        sample_weight : (n,) array, optional
            For presences their weight in the sample; for background points their share of the base measure `q0`.
            Background points of weight zero are ignored; a presence of weight zero is a cell without a record.
        base_weight : (n,) array, optional
            Base measure `q0` of every row, such as sampling effort; predictions are relative to it. The default is the
            background's `sample_weight`, with its mean for presences that join the background.
        start : estimator or Model, optional
            An earlier fit to start from. `Maxent` uses the weights of features that both have, and a committee its
            members. `StructMaxent` and `OnAxes` ignore it.
        progress : callable, optional
            Called with the number of finished steps, the total and a text, where a fit has several steps.

        Returns
        -------
        self

        Raises
        ------
        OptionError
            If a parameter is out of range, or parameters contradict each other.
        DataError
            If X has missing values, `y` has not exactly two values, or an array has the wrong shape.
        """
        self.check_options()
        return self._fit_data(self._read(X, y, sample_weight, base_weight), start, progress)

    def fit_again(self, multiplier: float) -> Self | None:
        """Return a fit to the same rows at another multiplier; None if the estimator has to read its rows again."""
        return None

    def warm_start(self) -> Model | None:
        """Return a model as a start for fits to parts of the rows; None if it does not save time."""
        return None

    @abstractmethod
    def _fit_data(
        self, data: TrainingData, start: "SpeciesEstimator | Model | None" = None, progress: Progress | None = None
    ) -> Self:
        """Fit to a domain and a sample."""

    def _mean_solution(self, members: "Sequence[SpeciesEstimator]", objective: float, tau: float, p: Array) -> Solution:
        """Return the solution of a mean of models, with the worst of their certificates."""
        parts = [member.solution_ for member in members]
        failed = [part.status for part in parts if part.status != CONVERGED]
        status, gap = failed[0] if failed else CONVERGED, max(part.gap for part in parts)
        spent = sum(part.iterations for part in parts), sum(part.seconds for part in parts)
        return Solution(status, self.coef_, objective, gap, *spent, tau, p)

    def check_options(self) -> None:
        """Raise OptionError for parameters that are out of range or contradict each other; data are not needed."""
        expect_one_of("unseen", self.unseen, UNSEEN)
        if self.add_presences not in (None, *ADD):
            raise OptionError(f"add_presences={self.add_presences!r}: expected one of {', '.join(ADD)}")
        params = self.get_params()
        if self.add_presences == "none" and params.get("entropy", 1) != 1:
            raise ConflictError("add_presences='none' needs entropy=1: otherwise add the presences")
        single = [name for name in LIMITS if name in params and not np.ndim(params[name])]
        self.check_numbers({name: LIMITS[name] for name in single}, _OPTIONAL)
        if "seed" in params:
            _ = self.used_seed

    def _read(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None, base_weight: ArrayLike | None = None
    ) -> TrainingData:
        """Convert labelled rows to a domain and a sample."""
        encoder, values = self._learn(X)
        self.classes_, present = read_presences(y, values.shape[0])
        weight, base = (None if w is None else np.asarray(w, dtype=np.float64) for w in (sample_weight, base_weight))
        x, present, weight, base = without_empty(values, present, weight, base)
        add = self.add_presences or self._default_joining()
        domain, sample, size = build_domain(x, present, encoder.names, encoder.categorical, weight, add, base)
        return TrainingData(encoder, domain, sample, size, int(present.sum()), int((~present).sum()))

    def _default_joining(self) -> str:
        """Return the presences that are added to the background by default."""
        return "all"

    def _problem_model(self, problem: Problem, record: Numbers) -> Model:
        """Return the model of a solved problem, from its features and weights."""
        features, weights, objective = problem.features, self.coef_, self.solution_.objective
        record = {
            **record,
            "n_features": features.size,
            "conjugate": float(weights @ problem.mu) + objective - problem.penalty.value(weights),
        }
        terms, shapes = weighted_features(features.families, weights)
        return self._species_model(terms, shapes, record, lambda: features.scores(weights))

    def _species_model(self, terms: Terms, shapes: Shapes, record: Numbers, scores: Callable[[], Array]) -> Model:
        """Return the model of weighted features; `scores` returns their scores at the cells of the domain."""
        solution, data, domain = self.solution_, self._data, self._data.domain
        used, raw = solution.p > 0, solution.p / domain.q0 / domain.n_base
        certificate = self._certificate(record["n_features"])
        if certificate["covers"] in (MODEL, FOUND) and self.entropy_ == 1.0 and self.temperature == 1.0:
            certificate |= certified_map(solution.p, domain.q0, solution.gap)
        meta = {
            "version": __version__,
            "status": solution.status,
            "gap": solution.gap,
            "certificate": certificate,
            "gain": solution.gain,
            "iterations": solution.iterations,
            "presences": data.presences,
            "effective_presences": data.size,
            **record,
            "settings": self.settings(),
        }
        model = Model(
            model_variables(domain, data.encoder),
            terms,
            self.entropy_,
            solution.tau,
            domain.n_base,
            float(-(solution.p[used] @ np.log(raw[used]))),
            float(self.prevalence),
            cumulative_table(raw, solution.p),
            self.unseen,
            meta,
            shapes,
            data.reference,
        )
        if self.temperature == 1.0:
            return model
        return with_temperature(model, scores(), domain.q0, float(self.temperature))

    def _certificate(self, features: int) -> Numbers:
        """Return the coverage of the duality gap: by default all weights of all features."""
        return certified(self.solution_.gap, f"all {features:,} features")

    @property
    def domain_(self) -> Domain:
        """Return the cells that the model was fitted to."""
        return self._data.domain

    @property
    def feature_names_(self) -> list[str]:
        """Return the name of every feature, in the order of `coef_`."""
        return feature_names(self.feature_set_.families, self.model_.variables)

    def predict(self, X: TableLike, scale: str = "cloglog", clamp: bool = True) -> Array:
        """Predict the suitability of each point.

        Parameters
        ----------
        X : (n, V) array or data frame
            Raw values of the variables; a data frame's columns are matched by name.
        scale : {"cloglog", "raw", "cumulative", "logistic", "link"}
            cloglog and logistic are from 0 to 1, cumulative is from 0 to 100 (per cent). raw sums to one over the
            training cells, and link is its logarithm.
        clamp : bool
            Limit variables to their training ranges.

        Returns
        -------
        (n,) array
            NaN where a variable is missing.

        Raises
        ------
        DataError
            If the estimator is not fitted, or X has other columns than the fit.
        """
        table = self._checked(X)
        return self.model_.predict(table, scale, clamp)

    def predict_proba(self, X: TableLike, clamp: bool = True) -> Array:
        """Return `(n, 2)` probabilities in the order of `classes_`: background and presence.

        The second column is the suitability on the cloglog scale. It is the probability of presence if the assumptions
        of that scale hold (Phillips et al. 2017). The first column is one minus the second.
        """
        presence = self.predict(X, "cloglog", clamp)
        return np.column_stack([1.0 - presence, presence])

    def decision_function(self, X: TableLike, clamp: bool = True) -> Array:
        """Return the score of each point, `(n,)`: positive where the suitability (cloglog) is above 0.5.

        The unit is nats for Shannon's entropy. Scores keep the order of predictions that are too small to distinguish.
        """
        table, model = self._checked(X), self.model_
        level = np.log(2.0) * np.exp(-model.entropy) * model.n_domain  # the density ratio where cloglog is 0.5
        order = model.alpha - 1.0
        zero = np.log(level) if order == 0.0 else np.expm1(order * np.log(level)) / order
        shift = (np.log(model.n_domain) if order == 0.0 else 0.0) - zero
        return np.asarray(model.predict(table, "link", clamp) + shift)

    def score(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean log density ratio of the presences to the training domain: the (test) gain, in nats.

        It is minus infinity if a presence is at a point where an entropy above 1 gives a density of zero.
        """
        table = self._checked(X)
        x = self._data.encoder.encode(table)
        present = presences_among(y, x.shape[0], self.classes_)
        if not present.any():
            raise LabelError("y has no presence: the score is the mean over presences")
        weight = np.ones(x.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        raw = self.model_.predict(x[present], "raw")
        with np.errstate(divide="ignore"):
            return float(np.average(np.log(raw * self.model_.n_domain), weights=weight[present]))
