"""`Maxent`: the engine with scikit-learn's conventions (and without importing scikit-learn)."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdm._version import __version__
from sdm.data.encode import Encoder
from sdm.errors import DataError, OptionError
from sdm.estimators.conventions.labels import known_presences, read_presences
from sdm.estimators.model_parts import carried_weights, feature_names, model_variables, weighted_features
from sdm.estimators.params import Classifier
from sdm.estimators.sample import ADD, TrainingData, build_domain, merge_background, without_empty
from sdm.features.classes import SINCE, features_text, parse_features
from sdm.features.domain import Domain
from sdm.features.duplicates import find_duplicates
from sdm.features.feature_set import FeatureSet, build_features
from sdm.features.finite.ridge import RidgeFamily
from sdm.features.knots import Knots, check_knots
from sdm.features.shapes import Shapes
from sdm.features.terms import Terms
from sdm.maxent.columns import ColumnPool
from sdm.maxent.confidence import PENALTY_OF, theory_notes, theory_shape
from sdm.maxent.correlation import feature_correlation
from sdm.maxent.entropy import Entropy
from sdm.maxent.entropy_choice import FOLDS, ORDERS, OrderTrial, choose_order, floored_log_loss, order_note
from sdm.maxent.penalty import BY_WEIGHT, PENALTIES, make_penalty
from sdm.maxent.penalty_search import held_out_ratio
from sdm.maxent.penalty_weights import TABLE_LIMITS, check_multiplier, given_numbers, penalty_weights
from sdm.maxent.problem import Problem
from sdm.maxent.solution import Solution
from sdm.maxent.solvers.newton import solve_newton
from sdm.maxent.solvers.structmaxent import solve_structmaxent1, solve_structmaxent2
from sdm.maxent.solvers.summet import solve_plummet, solve_summet
from sdm.models.species import UNSEEN, Model, cumulative_table, with_temperature
from sdm.types import Array, TableLike

log = logging.getLogger("sdm")

# What a fit at another multiplier has in common with an earlier one.
_COMMON = ("n_features_in_", "feature_names_in_", "classes_", "_data", "_encoder", "_built")
SOLVERS = {
    "newton": solve_newton,
    "summet": solve_summet,
    "plummet": solve_plummet,
    "structmaxent1": solve_structmaxent1,
    "structmaxent2": solve_structmaxent2,
}

_NUMBERS = {
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
    "quadratic_from": (0, np.inf, "a number of presences, 1 or more"),
    "hinge_from": (0, np.inf, "a number of presences, 1 or more"),
    "product_from": (0, np.inf, "a number of presences, 1 or more"),
}


class Maxent(Classifier):
    """Maximum-entropy model of a species' distribution from presences and background.

    Parameters
    ----------
    features : str or sequence of str
        ``"auto"`` (by sample size, as Java Maxent), or classes by letter (``"lqph"``) or name. Categorical variables
        always get one feature per class. ``relu:N`` among them, as in ``"lqh,relu:1000"``, adds N random rectified
        features `max(0, a·u + b)` of all continuous variables `u` (each less its mean and over its deviation), which
        hold how variables act together. Their penalty is the larger of the hinges' and the products' tables. Classes by
        variable, and single products: ``"bio1:lq, slope:h, bio1*bio12"``; a variable that is not named has no features,
        unless there are classes without a name, as in ``"lq, slope:h"``.
    regularization : {"l1", "none", "smoothed_l1", "l2", "l2sq", "elastic", "mahalanobis", "lp"}
        ``"mahalanobis"`` is l2sq with the correlations of the features over the background: features that say the same
        are charged once (Dudík et al. 2007, §5.4; at most 3,000 features). ``"lp"`` is a norm between l1 and l2 (§5.7).
    multiplier : float
        Multiplies every penalty β.
    entropy : float or "auto"
        1 is Shannon, up to 2 (sparsemax): above 1 the distribution can be exactly zero. ``"auto"`` chooses 1, 1.25, 1.5
        or 2 by the log loss at held-out presences (five folds).
    knots : {"maxent", "maxnet", "all"} or int
        Where hinges and thresholds bend: mid-points of distinct values with thresholds only between the presences; 50
        equally spaced; between all distinct values; or N quantiles.
    beta : str, float or (J,) array, optional
        Where the penalties come from; by default Maxent's tables (as maxnet applies them when ``knots="maxnet"``).
        ``"deviation"`` is `σ̃/√m` of the feature at the presences. Tables and deviation give at least 0.001, times the
        multiplier, as Java Maxent does: a feature that is constant at the presences is not free. Only
        ``"maxnet"`` has a penalty for categories without presences; the others leave them out. By the theory (Dudík et
        al. 2007, §5): ``"corollary5"``, ``"corollary6"`` (thresholds), ``"corollary7"`` for l1; ``"theorem8"``,
        ``"corollary9"`` for smoothed_l1; ``"theorem11"`` for l2, ``"theorem13"`` for l2sq, ``"theorem15"`` for elastic.
        An array has one β per feature, in the order of `feature_names_` of a fit without it.
    delta : float
        For penalties by the theory: they are large enough with a probability of `1 − delta`.
    norm : float
        For theorem8, corollary9, theorem13 and theorem15: how large the weights are of the models to do well against.
    beta_lqp, beta_hinge, beta_threshold, beta_categorical : float, optional
        In place of the number of Maxent's table for these feature classes (linear, quadratic and product; hinge;
        threshold; categories). The penalty of a feature is that number times its deviation at the presences, over the
        square root of their number, times the multiplier.
    quadratic_from, hinge_from, product_from : int
        The number of presences from which ``features="auto"`` takes these classes.
    categorical : sequence of str or int
        Columns whose values are classes.
    solver : {"newton", "summet", "plummet", "structmaxent1", "structmaxent2"}
    tolerance : float
        Largest certified gap to accept, in nats.
    max_iterations : int, optional
        By default 500 for newton, 100,000 for the others. Reaching it is reported in `solution_.status`.
    add_presences : {"all", "distinct", "none"}, optional
        Whether every presence joins the background (Java Maxent), only distinct ones not yet there (maxnet), or none:
        the model is then a distribution over the background alone, and a presence outside its range counts as one at
        the limit. By default as `knots` suggests.
    smoothing : float or (J,) array
        The `a` of smoothed_l1, for all features or for each: smaller is nearer to l1.
    ratio : float
        For elastic, the l2² penalty over the l1 penalty.
    ridge : float, optional
        For elastic, the strength of the l2² penalty by itself, whatever the l1 penalty and the multiplier are.
    power : float
        For lp, the `p` of the norm, between 1 and 2: near 1 it is like l1, near 2 like l2.
    uncorrelated : float
        For mahalanobis, the share of the correlations that is left out, up to 1, which is l2sq. A little is needed,
        since features may depend on each other.
    prevalence : float
        For the logistic scale.
    unseen : {"zero", "error"}
        How to predict for a class that was not in training: without an effect, or refuse.
    temperature : float
        Divides the scores at prediction: below 1 the map is more decided, and with an entropy above 1 sparser.
    seed : int
        Random features are drawn by it; the model keeps what was drawn.
    random_state : int, optional
        Another name of `seed`, which scikit-learn's tools set; where it is given it counts.

    Attributes
    ----------
    solution_ : Solution
        `.status`, `.gap`, `.objective`, `.gain`, `.iterations`, `.history`, `.seconds`.
    coef_ : (J,) array
        Weights of all features, `feature_names_` naming them.
    model_ : Model
        The fitted model, which predicts and which `save` writes.
    entropy_ : float
        The order of the entropy; `order_search_` are those tried, if it was chosen.
    notes_ : list of str
        Which variables and features were dropped, and why.

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

    multi_class = False
    tells_progress = False  # whether `fit` takes a function that is told how far it is

    classes_: NDArray[Any]
    _data: TrainingData

    def __init__(
        self,
        features: str | Sequence[str] = "auto",
        regularization: str = "l1",
        multiplier: float = 1.0,
        entropy: float | str = 1.0,
        *,
        knots: Knots = "maxent",
        beta: str | float | ArrayLike | None = None,
        beta_lqp: float | None = None,
        beta_hinge: float | None = None,
        beta_threshold: float | None = None,
        beta_categorical: float | None = None,
        quadratic_from: int = int(SINCE["q"]),
        hinge_from: int = int(SINCE["h"]),
        product_from: int = int(SINCE["p"]),
        categorical: Sequence[str | int] = (),
        solver: str = "newton",
        tolerance: float = 1e-6,
        max_iterations: int | None = None,
        add_presences: str | None = None,
        smoothing: float | ArrayLike = 0.1,
        ratio: float = 1.0,
        ridge: float | None = None,
        power: float = 1.5,
        uncorrelated: float = 0.01,
        delta: float = 0.05,
        norm: float = 10.0,
        prevalence: float = 0.5,
        unseen: str = "zero",
        temperature: float = 1.0,
        seed: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.features, self.regularization, self.multiplier = features, regularization, multiplier
        self.entropy, self.knots, self.beta, self.categorical, self.solver = entropy, knots, beta, categorical, solver
        self.tolerance, self.max_iterations, self.add_presences = tolerance, max_iterations, add_presences
        self.smoothing, self.ratio, self.ridge, self.prevalence = smoothing, ratio, ridge, prevalence
        self.power, self.uncorrelated, self.delta, self.norm = power, uncorrelated, delta, norm
        self.unseen, self.temperature = unseen, temperature
        self.beta_lqp, self.beta_hinge = beta_lqp, beta_hinge
        self.beta_threshold, self.beta_categorical = beta_threshold, beta_categorical
        self.quadratic_from, self.hinge_from, self.product_from = quadratic_from, hinge_from, product_from
        self.seed, self.random_state = seed, random_state

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        start: "Maxent | Model | None" = None,
        base_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit to presences (`y` = 1) and background (`y` = 0).

        Parameters
        ----------
        X : (n, V) array or data frame
        y : (n,) array of 1 and 0
            Or of two other numbers, or False and True: the larger is the presence.
        sample_weight : (n,) array, optional
            For presences their weight in the sample; for background points their share of the base measure `q0`.
            Background points of weight zero are left out; a presence of weight zero is a cell and no record.
        start : Maxent or Model, optional
            An earlier fit to start from; features that both have take over their weights.
        base_weight : (n,) array, optional
            Base measure `q0` of every row, such as sampling effort, which predictions are relative to. By default the
            background's `sample_weight`, with its mean for presences that join the background.
        """
        self.check_options()
        return self._fit_data(self._read(X, y, sample_weight, base_weight), start)

    def fit_alone(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None, base_weight: ArrayLike | None = None
    ) -> Self:
        """Fit to one variable as `fit` does, but for rounding, at the cost of its distinct values: background points of
        the same value are one cell of `domain_`, which has the base measure of them all. Other kinds of model than
        `Maxent` itself are fitted to every point."""
        if type(self) is not Maxent:
            return self.fit(X, y, sample_weight, base_weight=base_weight)
        self.check_options()
        encoder, x, present, weight, base = self._read_rows(X, y, sample_weight, base_weight)
        if x.shape[1] != 1:
            raise DataError(f"X has {x.shape[1]} columns, expected the values of one variable")
        return self._fit_data(self._training_data(encoder, *merge_background(x, present, weight, base)))

    def _fit_data(self, data: TrainingData, start: "Maxent | Model | None" = None) -> Self:
        """Fit to a domain and a sample."""
        self._data, self._encoder = data, data.encoder
        self._choose_entropy(data)
        self._built: BuiltFeatures = self._build(data, *parse_features(self.features, data.size, self._since()))
        return self._fit_built(data, start)

    def _fit_built(self, data: TrainingData, start: "Maxent | Model | Array | None") -> Self:
        """Fit the features that were built."""
        self.feature_set_, self.notes_ = self._built.features, list(self._built.notes)
        beta = self._listed_penalties(self._multiplied(self._built.beta))
        penalty = make_penalty(self.regularization, beta, **self._penalty_shape(beta, data.size))
        self.problem_ = Problem(self.feature_set_, data.sample, Entropy(self.entropy_), penalty)
        self.solution_ = self._solve(start)
        self.coef_: Array = self.solution_.weights
        self._note_order()
        self.model_ = self._model(data, {"classes": self._built.classes})
        return self

    def _choose_entropy(self, data: TrainingData, **changed: Any) -> None:
        """Set the order of the entropy: as given, or by the loss at held-out presences of models with some options
        changed."""
        self.order_search_: list[OrderTrial] = []
        if self.entropy != "auto":
            self.entropy_ = Entropy(cast(float, self.entropy)).alpha
            return
        cells = np.random.default_rng([self.used_seed, 6]).permutation(np.flatnonzero(data.sample))
        if cells.size < 4:
            raise OptionError(f"{cells.size} presences are too few to choose the entropy by: give a number from 1 to 2")
        losses = {order: np.empty(cells.size) for order in ORDERS}
        folds = np.array_split(np.arange(cells.size), min(FOLDS, cells.size))
        for held in folds:
            part = data.sample.copy()
            part[cells[held]] = 0.0
            kept = float(part.sum())
            fold = replace(data, sample=part / kept, size=data.size * kept)
            for order in ORDERS:
                params = {**self.get_params(), "entropy": order, "temperature": 1.0, **changed}
                tried = Maxent(**{name: params[name] for name in Maxent().get_params() if name in params})._fit_data(
                    fold
                )
                ratio = held_out_ratio(tried.solution_.p, data.domain.q0, cells[held], data.n_background)
                losses[order][held] = floored_log_loss(ratio)
        self.entropy_, self.order_search_ = choose_order(losses, data.sample[cells])

    def _note_order(self) -> None:
        """Say which order of the entropy was chosen, if it was."""
        if self.order_search_:
            self.notes_.append(order_note(self.entropy_, self.order_search_))

    def _build(self, data: TrainingData, classes: str, rectified: int = 0) -> "BuiltFeatures":
        """Return the features of the classes and random rectified ones, without copies, and what was dropped."""
        empty = self._rule() == "maxnet" and self.regularization != "none"
        rng = np.random.default_rng(self.used_seed)
        ridges = [RidgeFamily.rectified(data.domain, rectified, rng)] if rectified else []
        parts: dict[str, Any] = {"knots": self.knots, "empty_categories": empty, "ridges": ridges}
        whole = build_features(data.domain, classes, sample=data.sample, **parts)
        beta = self._unit_penalties(whole, data.sample, data.size)
        keep, copies = find_duplicates(whole, beta, self.regularization)
        kept = whole if keep.all() else whole.subset(keep)
        return BuiltFeatures(features_text(classes, rectified), kept, beta[keep], _notes(data, whole, copies))

    def _read(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None, base_weight: ArrayLike | None = None
    ) -> TrainingData:
        """Turn labelled rows into a domain and a sample."""
        return self._training_data(*self._read_rows(X, y, sample_weight, base_weight))

    def _read_rows(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None, base_weight: ArrayLike | None
    ) -> tuple[Encoder, Array, NDArray[np.bool_], Array | None, Array | None]:
        """Return the encoder, values, presences, weights and base measures of labelled rows."""
        encoder, x = self._learn(X)
        self.classes_, present = read_presences(y, x.shape[0])
        weight, base = (None if w is None else np.asarray(w, dtype=np.float64) for w in (sample_weight, base_weight))
        return encoder, *without_empty(x, present, weight, base)

    def _training_data(
        self,
        encoder: Encoder,
        x: Array,
        present: NDArray[np.bool_],
        weight: Array | None,
        base: Array | None,
        counts: Array | None = None,
    ) -> TrainingData:
        """Return the domain and the sample of rows that were read; `counts` is how many points each stands for."""
        add = self.add_presences or ("distinct" if self.knots == "maxnet" else "all")
        domain, sample, size = build_domain(x, present, encoder.names, encoder.categorical, weight, add, base, counts)
        self._encoder = encoder
        return TrainingData(encoder, domain, sample, size, int(present.sum()), int((~present).sum()))

    def _solve(self, start: "Maxent | Model | Array | None") -> Solution:
        options: dict[str, Any] = {"tolerance": self.tolerance}
        if self.max_iterations is not None:
            options["max_iterations"] = int(self.max_iterations)
        if isinstance(start, np.ndarray):
            options["start"] = start
            options |= {"pool": self._built.pool} if self.solver == "newton" else {}
        elif start is not None:
            earlier = start if isinstance(start, Model) else start.model_
            options["start"] = carried_weights(earlier, self.feature_set_)
        solution: Solution = SOLVERS[self.solver](self.problem_, **options)
        if solution.status != "converged":
            log.warning("%s after %d iterations: %s", solution.status, solution.iterations, solution.message)
        return solution

    def _penalties(self, features: FeatureSet, sample: Array, size: float) -> Array:
        """Return every feature's β by rule; where they are given one by one, the default rule's."""
        return self._multiplied(self._unit_penalties(features, sample, size))

    def _unit_penalties(self, features: FeatureSet, sample: Array, size: float) -> Array:
        """Return them at a multiplier of one."""
        if self.regularization == "none":
            return np.ones(features.size)
        given = given_numbers(self)
        theory = {"delta": float(self.delta), "norm": float(self.norm)}
        return penalty_weights(features, sample, size, rule=self._rule(), given=given, **theory)

    def _multiplied(self, beta: Array) -> Array:
        """Return penalties by rule at the multiplier."""
        if self.regularization == "none":
            return beta
        check_multiplier(float(self.multiplier))
        return float(self.multiplier) * beta

    def _since(self) -> dict[str, float]:
        """Return the numbers of presences from which feature classes are taken."""
        return {"q": self.quadratic_from, "h": self.hinge_from, "p": self.product_from}

    def _penalty_shape(self, beta: Array, size: float) -> dict[str, Any]:
        """Return what a penalty has beside β: as given, or by the theory."""
        names = ("smoothing", "ratio", "ridge", "power")
        shape: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.regularization == "mahalanobis":
            found = feature_correlation(self.feature_set_, float(self.uncorrelated))
            self.notes_ += found.notes(self.feature_set_.domain.n, float(self.uncorrelated))
            shape["correlation"] = found.matrix
        theory = theory_shape(self._rule(), self.feature_set_, beta, size, self.delta, self.norm)
        self.notes_ += theory_notes(self._rule(), self.feature_set_)
        return {**shape, **theory}

    def _rule(self) -> str | float:
        """Return the rule of the penalties; where they are given one by one, the default rule."""
        if self.beta is None or np.ndim(self.beta):
            return "maxnet" if self.knots == "maxnet" else "maxent"
        return self.beta if isinstance(self.beta, str) else float(cast(float, self.beta))

    def _listed_penalties(self, beta: Array) -> Array:
        """Return the penalties that were given one by one, if so, in place of those by rule."""
        if self.beta is None or not np.ndim(self.beta) or self.regularization == "none":
            return beta
        listed = np.asarray(self.beta, dtype=np.float64)
        if listed.shape != beta.shape:
            raise OptionError(
                f"beta has shape {listed.shape}, expected one penalty for each of the {beta.size} features"
            )
        return listed * float(self.multiplier)

    def check_options(self) -> None:
        """Raise for parameters that cannot be, or do not go together; data are not needed."""
        check_knots(self.knots)
        if self.solver not in SOLVERS:
            raise OptionError(f"solver={self.solver!r}: expected one of {', '.join(SOLVERS)}")
        if self.unseen not in UNSEEN:
            raise OptionError(f"unseen={self.unseen!r}: expected one of {', '.join(UNSEEN)}")
        if self.add_presences not in (None, *ADD):
            raise OptionError(f"add_presences={self.add_presences!r}: expected one of {', '.join(ADD)}")
        if self.add_presences == "none" and self.entropy != 1:
            raise OptionError(
                "add_presences='none' is for entropy=1: above it, presences must be part of the background"
            )
        limits = _NUMBERS | TABLE_LIMITS
        if np.ndim(self.smoothing):  # one for each feature
            del limits["smoothing"]
        self.check_numbers(limits, {"max_iterations": None, "ridge": None, **dict.fromkeys(TABLE_LIMITS)})
        wanted = PENALTY_OF.get(self.beta) if isinstance(self.beta, str) else None
        if wanted and wanted != self.regularization:
            raise OptionError(
                f"beta={self.beta!r} is for regularization={wanted!r}, got {self.regularization!r}: set both"
            )
        if self.solver != "newton" and self.regularization in PENALTIES and self.regularization not in BY_WEIGHT:
            raise OptionError(
                f"solver={self.solver!r} changes one weight at a time, and regularization={self.regularization!r} is "
                "not a sum over single weights: use solver='newton'"
            )
        _ = self.used_seed

    def _model(self, data: TrainingData, record: dict[str, Any]) -> Model:
        """Return the model that predicts, from the results of the fit."""
        problem, objective = self.problem_, self.solution_.objective
        record = {
            **record,
            "n_features": self.feature_set_.size,
            "conjugate": float(self.coef_ @ problem.mu) + objective - problem.penalty.value(self.coef_),
        }
        features = weighted_features(self.feature_set_.families, self.coef_)
        return self._species_model(data, *features, record, lambda: self.feature_set_.scores(self.coef_))

    def _species_model(
        self, data: TrainingData, terms: Terms, shapes: Shapes, record: dict[str, Any], scores: Callable[[], Array]
    ) -> Model:
        """Return the model of some weighted features; `scores` gives what they are at the cells of the domain."""
        solution, domain = self.solution_, data.domain
        used, raw = solution.p > 0, solution.p / domain.q0 / domain.n_base
        meta = {
            "version": __version__,
            "status": solution.status,
            "gap": solution.gap,
            "gain": solution.gain,
            "iterations": solution.iterations,
            "presences": data.presences,
            "effective_presences": data.size,
            **record,
            "settings": self.settings(),
        }
        variables, entropy = model_variables(domain, data.encoder), float(-(solution.p[used] @ np.log(raw[used])))
        scales = (entropy, float(self.prevalence), cumulative_table(raw, solution.p), self.unseen)
        seen = data.reference
        model = Model(variables, terms, self.entropy_, solution.tau, domain.n_base, *scales, meta, shapes, seen)
        if self.temperature == 1.0:
            return model
        return with_temperature(model, scores(), domain.q0, float(self.temperature))

    @property
    def domain_(self) -> Domain:
        """The cells that the model was fitted to."""
        return self.problem_.domain

    @property
    def feature_names_(self) -> list[str]:
        """The name of every feature, in the order of `coef_`."""
        return feature_names(self.feature_set_.families, self.model_.variables)

    def predict(self, X: TableLike, scale: str = "cloglog", clamp: bool = True) -> Array:
        """Predict the suitability of each point.

        Parameters
        ----------
        X : (n, V) array or data frame
            Raw values of the variables. A data frame's columns are matched by name.
        scale : {"cloglog", "raw", "cumulative", "logistic", "link"}
            cloglog and logistic are from 0 to 1, cumulative from 0 to 100 (per cent), raw sums to one over the cells
            that the model was fitted to, and link is its logarithm.
        clamp : bool
            Hold variables at the limits of their training ranges.

        Returns
        -------
        (n,) array
            NaN where a variable is missing.
        """
        table = self._checked(X)
        return self.model_.predict(table, scale, clamp)

    def predict_proba(self, X: TableLike, clamp: bool = True) -> Array:
        """Return one row per point with two columns, in the order of `classes_`: background, and presence.

        The second is the suitability on the cloglog scale, which is the probability of presence if the assumptions of
        that scale hold (Phillips et al. 2017); the first is 1 less it.
        """
        here = self.predict(X, "cloglog", clamp)
        return np.column_stack([1.0 - here, here])

    def decision_function(self, X: TableLike, clamp: bool = True) -> Array:
        """Return the score of each point: above zero where the suitability (cloglog) is above 0.5, in nats for
        Shannon's entropy. It keeps the order of predictions where these are too small to tell apart."""
        table, model = self._checked(X), self.model_
        level = np.log(2.0) * np.exp(-model.entropy) * model.n_domain  # the density ratio where cloglog is 0.5
        order = model.alpha - 1.0
        zero = np.log(level) if order == 0.0 else np.expm1(order * np.log(level)) / order
        return model.predict(table, "link", clamp) + (np.log(model.n_domain) if order == 0.0 else 0.0) - zero

    def score(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean log density ratio of the presences to the training domain: the (test) gain, in nats.

        Minus infinity if a presence falls where an entropy above 1 puts the density at zero.
        """
        table = self._checked(X)
        x = self._encoder.encode(table)
        present = known_presences(y, x.shape[0], self.classes_)
        if not present.any():
            raise DataError("y has no presence: the score is the mean over presences")
        weight = np.ones(x.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        raw = self.model_.predict(x[present], "raw")
        with np.errstate(divide="ignore"):
            return float(np.average(np.log(raw * self.model_.n_domain), weights=weight[present]))


def fit_again(earlier: Maxent, multiplier: float) -> Maxent:
    """Fit to the rows of an earlier fit at another multiplier, with its features and from its weights. Only `Maxent`
    itself has them, and none of its subclasses."""
    again = Maxent(**{**earlier.get_params(), "multiplier": multiplier})
    again.check_options()
    again.__dict__ |= {name: earlier.__dict__[name] for name in _COMMON if name in earlier.__dict__}
    again._choose_entropy(again._data)
    return again._fit_built(again._data, earlier.coef_)


@dataclass(frozen=True)
class BuiltFeatures:
    """The classes of the features of a fit, those that are kept with their β by rule at a multiplier of one, and what
    is said of the others."""

    classes: str
    features: FeatureSet
    beta: Array
    notes: list[str]

    @cached_property
    def pool(self) -> ColumnPool:
        """The columns that fits to these features looked at, for the next one."""
        return ColumnPool(self.features)


def _notes(data: TrainingData, features: FeatureSet, copies: dict[int, int]) -> list[str]:
    """Say what was dropped."""
    domain = data.domain
    notes = [
        f"variable '{a.name}' has one value ({a.lo:g}) over the whole domain: dropped"
        for a in domain.variables
        if a.values.size < 2
    ]
    if copies:
        variables = model_variables(domain, data.encoder)
        pair = [feature_names(features.subset(one).families, variables)[0] for one in _alone(features.size, copies)]
        notes.append(
            f"{len(copies):,} of {features.size:,} features say the same as another and were dropped, "
            f"such as {pair[0]} (the same as {pair[1]})"
        )
    return notes


def _alone(size: int, copies: dict[int, int]) -> list[NDArray[np.bool_]]:
    """Mark the first feature that is a copy, alone, and the one that it is a copy of."""
    return [np.arange(size) == j for j in min(copies.items())]
