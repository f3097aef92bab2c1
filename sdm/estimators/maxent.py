"""`Maxent`: a species from presences and background, with scikit-learn's conventions."""

import logging
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdm.errors import ConflictError, OptionError, expect_one_of
from sdm.estimators.model_parts import carried_weights, constant_variables, feature_names, model_variables
from sdm.estimators.sample import TrainingData
from sdm.estimators.species import SpeciesEstimator
from sdm.features.classes import SINCE, features_text, parse_features
from sdm.features.duplicates import find_duplicates
from sdm.features.feature_set import FeatureSet, build_features
from sdm.features.finite.ridge import RidgeFamily
from sdm.features.knots import Knots, check_knots
from sdm.maxent.columns import ColumnPool
from sdm.maxent.confidence import PENALTY_OF, theory_notes, theory_shape
from sdm.maxent.correlation import feature_correlation
from sdm.maxent.entropy import FOLDS, ORDERS, Entropy, OrderTrial, choose_order, floored_log_loss, order_note
from sdm.maxent.penalty import BY_WEIGHT, PENALTIES, make_penalty
from sdm.maxent.penalty_search import held_out_ratio
from sdm.maxent.penalty_weights import check_multiplier, penalty_weights, table_replacements
from sdm.maxent.problem import Problem
from sdm.maxent.solution import Solution
from sdm.maxent.solvers.newton import solve_newton
from sdm.maxent.solvers.structmaxent import solve_structmaxent1, solve_structmaxent2
from sdm.maxent.solvers.summet import solve_plummet, solve_summet
from sdm.models.species import Model
from sdm.types import Array, Numbers, Progress

log = logging.getLogger("sdm")

# attributes that a fit at another multiplier shares with an earlier one
_COMMON = ("n_features_in_", "feature_names_in_", "classes_", "_data", "_built")
SOLVERS = {
    "newton": solve_newton,
    "summet": solve_summet,
    "plummet": solve_plummet,
    "structmaxent1": solve_structmaxent1,
    "structmaxent2": solve_structmaxent2,
}


@dataclass(eq=False, repr=False)
class Maxent(SpeciesEstimator):
    """Maximum-entropy model of a species' distribution from presences and background.

    Parameters
    ----------
    features : str or sequence of str
        ``"auto"`` (by sample size, as Java Maxent), or classes by letter (``"lqph"``) or name. Categorical variables
        always get one feature per category.
        ``relu:N``, as in ``"lqh,relu:1000"``, adds N random ReLU features `max(0, a·u + b)`, which capture
        interactions. `u` are all continuous variables, standardised. Their penalty is the larger one of the tables for
        hinges and products.
        Classes by variable and single products are possible: ``"bio1:lq, slope:h, bio1*bio12"``. Other variables then
        have no features, unless there are classes without a variable, as in ``"lq, slope:h"``.
    regularization : {"l1", "none", "smoothed_l1", "l2", "l2sq", "elastic", "mahalanobis", "lp"}
        ``"mahalanobis"`` is l2sq with the correlations of the features over the background, so that correlated features
        share one penalty (Dudík et al. 2007, §5.4; at most 3,000 features). ``"lp"`` is a norm between l1 and l2
        (§5.7).
    multiplier : float
        Multiplies every penalty β.
    entropy : float or "auto"
        Order of the entropy: 1 is Shannon's; the largest is 2 (sparsemax). Above 1 the distribution can be exactly
        zero. ``"auto"`` chooses 1, 1.25, 1.5 or 2 by the log loss at held-out presences (five folds).
    knots : {"maxent", "maxnet", "all"} or int
        Knots of hinges and thresholds. ``"maxent"``: mid-points of distinct values, with thresholds only between the
        presences. ``"maxnet"``: 50 equally spaced knots. ``"all"``: between all distinct values. A number: as many
        quantiles.
    beta : str, float or (J,) array, optional
        Rule of the penalties. The default is Maxent's tables (as maxnet applies them if ``knots="maxnet"``).
        ``"deviation"`` is `σ̃/√m` of the feature at the presences. Tables and deviation give at least 0.001 times the
        multiplier, as in Java Maxent, so that features that are constant at the presences are not free. Only
        ``"maxnet"`` has a penalty for categories without presences; the others drop them.
        By the theory (Dudík et al. 2007, §5) there are ``"corollary5"``, ``"corollary6"`` (thresholds) and
        ``"corollary7"`` for l1. For smoothed_l1 there are ``"theorem8"`` and ``"corollary9"``. ``"theorem11"`` is for
        l2, ``"theorem13"`` for l2sq and ``"theorem15"`` for elastic.
        An array has one β per feature, in the order of `feature_names_` of a fit without it.
    delta : float
        Penalties by the theory are large enough with a probability of `1 − delta`.
    norm : float
        For theorem8, corollary9, theorem13 and theorem15: the norm of the weights of the models to compete with.
    beta_lqp, beta_hinge, beta_threshold, beta_categorical : float, optional
        Replace the value of Maxent's table for these feature classes (linear, quadratic and product; hinge; threshold;
        categories). The penalty of a feature is this value times its standard deviation at the presences, divided by
        the square root of their number, times the multiplier.
    quadratic_from, hinge_from, product_from : int
        Number of presences from which ``features="auto"`` includes these classes.
    categorical : sequence of str or int
        Columns of categories.
    solver : {"newton", "summet", "plummet", "structmaxent1", "structmaxent2"}
        The algorithm; all have the same optimum.
    tolerance : float
        Largest accepted duality gap, in nats.
    max_iterations : int, optional
        Limit of the solver: by default 500 for newton, 100,000 for the others. `solution_.status` shows if it was
        reached.
    add_presences : {"all", "distinct", "none"}, optional
        Presences that are added to the background: all (Java Maxent), distinct ones that it does not contain (maxnet),
        or none. With "none" the model is a distribution over the background alone; presences outside its range are
        moved to the limit. The default depends on `knots`.
    smoothing : float or (J,) array
        The `a` of smoothed_l1, for all features or for each: smaller is nearer to l1.
    ratio : float
        For elastic, the l2² penalty divided by the l1 penalty.
    ridge : float, optional
        For elastic, the strength of the l2² penalty, independent of the l1 penalty and the multiplier.
    power : float
        For lp, the `p` of the norm, between 1 (l1) and 2 (l2).
    uncorrelated : float
        For mahalanobis, the shrinkage of the correlations, above 0 and up to 1, which is l2sq.
    prevalence : float
        Assumed prevalence at average presences, for the logistic scale.
    unseen : {"zero", "error"}
        Predictions for categories that were not in training: without an effect of the variable, or an error.
    temperature : float
        Divides the scores at prediction: below 1 the map has more contrast, and with an entropy above 1 more zeros.
    seed : int
        Seed of the random features and of the folds.
    random_state : int, optional
        Alternative name of `seed` for scikit-learn's tools; it has priority.

    Attributes
    ----------
    solution_ : Solution
        `.status`, `.gap` and `.gain` (nats), `.objective`, `.iterations`, `.history`, `.seconds`.
    coef_ : (J,) array
        Weights of all features, named by `feature_names_`.
    model_ : Model
        The fitted model, used by `predict` and `save`.
    entropy_ : float
        The order of the entropy; `order_search_` has the candidates, if it was chosen.
    notes_ : list of str
        Dropped variables and features, with reasons.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import Maxent
    >>> rng = np.random.default_rng(1)
    >>> background = rng.normal(size=(500, 2))
    >>> presences = rng.normal(0.5, 0.5, size=(60, 2))
    >>> X, y = np.vstack([presences, background]), np.repeat([1, 0], [60, 500])
    >>> model = Maxent(features="lq").fit(X, y)
    >>> model.solution_.status, bool(model.solution_.gap <= 1e-6)
    ('converged', True)
    >>> model.predict([[0.5, 0.5], [3.0, 3.0]]).round(1).tolist()
    [0.8, 0.0]
    """

    features: str | Sequence[str] = "auto"
    regularization: str = "l1"
    multiplier: float = 1.0
    entropy: float | str = 1.0
    _: KW_ONLY
    knots: Knots = "maxent"
    beta: str | float | ArrayLike | None = None
    beta_lqp: float | None = None
    beta_hinge: float | None = None
    beta_threshold: float | None = None
    beta_categorical: float | None = None
    quadratic_from: int = int(SINCE["q"])
    hinge_from: int = int(SINCE["h"])
    product_from: int = int(SINCE["p"])
    solver: str = "newton"
    max_iterations: int | None = None
    smoothing: float | ArrayLike = 0.1
    ratio: float = 1.0
    ridge: float | None = None
    power: float = 1.5
    uncorrelated: float = 0.01
    delta: float = 0.05
    norm: float = 10.0
    seed: int = 1
    random_state: int | None = None

    def fit_again(self, multiplier: float) -> Self:
        """Return a fit to the same rows at another multiplier, with the features of this fit and started from its
        weights."""
        again = self.changed(multiplier=multiplier)
        again.check_options()
        again.__dict__ |= {name: self.__dict__[name] for name in _COMMON if name in self.__dict__}
        again.entropy_, again.order_search_ = again._choose_entropy(again._data)
        return again._fit_built(self.coef_)

    def warm_start(self) -> Model | None:
        """Return the model as a start for fits to parts of the rows, if its penalty gives sparse weights, else None."""
        return self.model_ if self.problem_.penalty.sparse else None

    def _fit_data(
        self, data: TrainingData, start: SpeciesEstimator | Model | None = None, progress: Progress | None = None
    ) -> Self:
        """Fit to a domain and a sample."""
        self._data = data
        self.entropy_, self.order_search_ = self._choose_entropy(data)
        self._built = self._build(data, *parse_features(self.features, data.size, self._since()))
        return self._fit_built(start)

    def _fit_built(self, start: SpeciesEstimator | Model | Array | None) -> Self:
        """Fit the features that `_build` returned."""
        data, features = self._data, self._built.features
        beta = self._listed_penalties(self._multiplied(self._built.beta))
        shape, notes = self._penalty_shape(features, beta, data.size)
        penalty = make_penalty(self.regularization, beta, **shape)
        self.feature_set_ = features
        self.problem_ = Problem(features, data.sample, Entropy(self.entropy_), penalty)
        self.solution_ = self._solve(self.problem_, start)
        self.coef_ = self.solution_.weights
        self.notes_ = [*self._built.notes, *notes, *order_notes(self.entropy_, self.order_search_)]
        self.model_ = self._problem_model(self.problem_, {"classes": self._built.classes})
        return self

    def _choose_entropy(self, data: TrainingData) -> tuple[float, list[OrderTrial]]:
        """Return the order of the entropy, fixed or chosen by the loss at held-out presences, and the candidates."""
        if self.entropy != "auto":
            return Entropy(cast(float, self.entropy)).alpha, []
        cells = np.random.default_rng([self.used_seed, 6]).permutation(np.flatnonzero(data.sample))
        if cells.size < 4:
            raise OptionError(f"{cells.size} presences are too few to choose the entropy: use a number from 1 to 2")
        losses = {order: np.empty(cells.size) for order in ORDERS}
        folds = np.array_split(np.arange(cells.size), min(FOLDS, cells.size))
        for held_out in folds:
            part = data.sample.copy()
            part[cells[held_out]] = 0.0
            share = float(part.sum())
            fold = replace(data, sample=part / share, size=data.size * share)
            for order in ORDERS:
                trial = self.changed(entropy=order, temperature=1.0)._fit_data(fold)
                ratio = held_out_ratio(trial.solution_.p, data.domain.q0, cells[held_out], data.n_background)
                losses[order][held_out] = floored_log_loss(ratio)
        return choose_order(losses, data.sample[cells])

    def _build(self, data: TrainingData, classes: str, rectified: int = 0) -> "BuiltFeatures":
        """Return the features of the classes and random ReLU features, without duplicates, with notes on dropped
        ones."""
        empty = self._rule() == "maxnet" and self.regularization != "none"
        rng = np.random.default_rng(self.used_seed)
        ridges = [RidgeFamily.rectified(data.domain, rectified, rng)] if rectified else []
        every = build_features(
            data.domain, classes, sample=data.sample, knots=self.knots, empty_categories=empty, ridges=ridges
        )
        beta = self._unit_penalties(every, data.sample, data.size)
        keep, copies = find_duplicates(every, beta, self.regularization)
        features = every if keep.all() else every.subset(keep)
        return BuiltFeatures(features_text(classes, rectified), features, beta[keep], _notes(data, every, copies))

    def _solve(self, problem: Problem, start: SpeciesEstimator | Model | Array | None = None) -> Solution:
        """Solve a problem with the chosen solver, starting from weights or from an earlier model."""
        options: Numbers = {"tolerance": self.tolerance}
        if self.max_iterations is not None:
            options["max_iterations"] = int(self.max_iterations)
        if isinstance(start, np.ndarray):
            options["start"] = start
            options |= {"pool": self._built.pool} if self.solver == "newton" else {}
        elif start is not None:
            earlier = start if isinstance(start, Model) else start.model_
            options["start"] = carried_weights(earlier, problem.features)
        solution: Solution = SOLVERS[self.solver](problem, **options)
        if solution.status != "converged":
            log.warning("%s after %d iterations: %s", solution.status, solution.iterations, solution.message)
        return solution

    def _penalties(self, features: FeatureSet, sample: Array, size: float) -> Array:
        """Return the β of every feature by the rule; with an array `beta`, by the default rule."""
        return self._multiplied(self._unit_penalties(features, sample, size))

    def _unit_penalties(self, features: FeatureSet, sample: Array, size: float) -> Array:
        """Return the β of every feature by the rule at a multiplier of one."""
        if self.regularization == "none":
            return np.ones(features.size)
        return penalty_weights(
            features,
            sample,
            size,
            rule=self._rule(),
            values=table_replacements(self),
            delta=float(self.delta),
            norm=float(self.norm),
        )

    def _multiplied(self, beta: Array) -> Array:
        """Return penalties of a rule times the multiplier."""
        if self.regularization == "none":
            return beta
        check_multiplier(float(self.multiplier))
        return float(self.multiplier) * beta

    def _since(self) -> dict[str, float]:
        """Return the numbers of presences from which feature classes are included."""
        return {"q": self.quadratic_from, "h": self.hinge_from, "p": self.product_from}

    def _penalty_shape(self, features: FeatureSet, beta: Array, size: float) -> tuple[Numbers, list[str]]:
        """Return the parameters of a penalty other than β, from the arguments or the theory, and notes on them."""
        shape: Numbers = {name: getattr(self, name) for name in ("smoothing", "ratio", "ridge", "power")}
        notes = theory_notes(self._rule(), features)
        if self.regularization == "mahalanobis":
            correlation = feature_correlation(features, float(self.uncorrelated))
            notes = correlation.notes(features.domain.n, float(self.uncorrelated)) + notes
            shape["correlation"] = correlation.matrix
        return shape | theory_shape(self._rule(), features, beta, size, self.delta, self.norm), notes

    def _rule(self) -> str | float:
        """Return the rule of the penalties; with an array `beta`, the default rule."""
        if self.beta is None or np.ndim(self.beta):
            return "maxnet" if self.knots == "maxnet" else "maxent"
        return self.beta if isinstance(self.beta, str) else float(cast(float, self.beta))

    def _listed_penalties(self, beta: Array) -> Array:
        """Return the penalties of an array `beta`, else the penalties of the rule."""
        if self.beta is None or not np.ndim(self.beta) or self.regularization == "none":
            return beta
        listed = np.asarray(self.beta, dtype=np.float64)
        if listed.shape != beta.shape:
            raise OptionError(f"beta has shape {listed.shape}, expected one penalty per feature ({beta.size})")
        return listed * float(self.multiplier)

    def _default_joining(self) -> str:
        return default_joining(self.knots)

    def check_options(self) -> None:
        """Raise OptionError for parameters that are out of range or contradict each other; data are not needed."""
        check_knots(self.knots)
        expect_one_of("solver", self.solver, SOLVERS)
        super().check_options()
        required = PENALTY_OF.get(self.beta) if isinstance(self.beta, str) else None
        if required and required != self.regularization:
            raise ConflictError(f"beta={self.beta!r} needs regularization={required!r}, not {self.regularization!r}")
        if self.solver != "newton" and self.regularization in PENALTIES and self.regularization not in BY_WEIGHT:
            raise ConflictError(f"solver={self.solver!r} excludes {self.regularization!r}: use solver='newton'")


@dataclass(frozen=True)
class BuiltFeatures:
    """The feature classes of a fit, the features without duplicates, their β at a multiplier of one, and notes."""

    classes: str
    features: FeatureSet
    beta: Array
    notes: list[str]

    @cached_property
    def pool(self) -> ColumnPool:
        """Return the columns that earlier fits to these features used, for the next fit."""
        return ColumnPool(self.features)


def order_notes(order: float, trials: list[OrderTrial]) -> list[str]:
    """Return the note on the order of the entropy, if it was chosen."""
    return [order_note(order, trials)] if trials else []


def default_joining(knots: Knots) -> str:
    """Return the presences that are added to the background by default: as in maxnet with its knots, else as in Java
    Maxent."""
    return "distinct" if knots == "maxnet" else "all"


def _notes(data: TrainingData, features: FeatureSet, copies: dict[int, int]) -> list[str]:
    """Return notes on dropped variables and features."""
    domain = data.domain
    notes = constant_variables(domain, "over the whole domain")
    if copies:
        variables = model_variables(domain, data.encoder)
        pair = [feature_names(features.subset(one).families, variables)[0] for one in _alone(features.size, copies)]
        notes.append(
            f"{len(copies):,} of {features.size:,} features are duplicates and were dropped, such as {pair[0]} "
            f"(duplicate of {pair[1]})"
        )
    return notes


def _alone(size: int, copies: dict[int, int]) -> list[NDArray[np.bool_]]:
    """Return a mask of the first duplicate feature, and a mask of the feature that it duplicates."""
    return [np.arange(size) == j for j in min(copies.items())]
