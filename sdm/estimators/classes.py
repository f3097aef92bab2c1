"""`ConditionalMaxent`: class probabilities given the environment, with scikit-learn's conventions."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdm._version import __version__
from sdm.conditional.choice import BETAS, LAMBDAS, HeldOutSites, MultiplierSearch, choose_penalties, search_multipliers
from sdm.conditional.intercepts import FREE_PENALTY, ConstantFamily
from sdm.conditional.problem import ClassProblem, halved, multiplied
from sdm.conditional.targets import numbered, read_targets, site_weights
from sdm.data.encode import Encoder, NamedNumbers
from sdm.errors import ConflictError, InapplicableError, LabelError, OptionError
from sdm.estimators.model_parts import (
    constant_variables,
    feature_names,
    model_variables,
    training_reference,
    used_features,
)
from sdm.estimators.params import Classifier, one_label_per_row
from sdm.estimators.sample import effective_size
from sdm.features.classes import has_growing, parse_classes, parse_families
from sdm.features.domain import Domain
from sdm.features.duplicates import find_duplicates
from sdm.features.feature_set import FeatureSet, build_features
from sdm.features.growing.oracles import make_oracles
from sdm.features.knots import Knots, check_knots
from sdm.features.terms import Terms
from sdm.maxent.certificate import certified, certified_found
from sdm.maxent.confidence import PENALTY_OF
from sdm.maxent.entropy import ORDERS, ClassEntropy, OrderTrial, choose_order, order_note
from sdm.maxent.penalty import BY_WEIGHT, L1, PENALTIES, make_penalty
from sdm.maxent.penalty_search import PenaltySetting
from sdm.maxent.penalty_weights import TABLE_LETTERS, TABLE_LIMITS, TABULATED, penalty_weights, table_replacements
from sdm.maxent.problem import Problem
from sdm.maxent.solution import Solution
from sdm.maxent.solvers.newton import solve_newton, solve_structural
from sdm.maxent.structural import FamilyPenalty, Growth
from sdm.models.classes import ClassModel
from sdm.models.interface import limits_of
from sdm.types import AnyArray, Array, Index, Numbers, Progress, TableLike

log = logging.getLogger("sdm")

KNOTS = 30
FEW = 2_000_000  # values of features at held-out sites: up to this number they are stored during a search
# Features and weights of all classes up to which an elastic penalty is tried. It gives near duplicates a weight each,
# and a step takes the cube of their number.
ELASTIC, ELASTIC_WEIGHTS = 1000, 2000
CHOICE_GAP, CHOICE_ROUNDS = 1e-3, 100  # limits of fits that only choose settings: held-out losses differ by more

_NUMBERS = {
    "multiplier": (0.0, np.inf, "a positive number, or 'auto'"),
    "lam": (-1e-300, np.inf, "a number of at least 0, or 'auto'"),
    "folds": (1, np.inf, "2 or more"),
    "tolerance": (0.0, np.inf, "a positive gap in nats, such as 1e-6"),
    "max_iterations": (0, np.inf, "1 or more"),
    "smoothing": (0.0, np.inf, "a positive number, such as 0.1"),
    "ratio": (0.0, np.inf, "a positive number, the l2² penalty over the l1 penalty"),
    **dict.fromkeys(("quadratic_from", "hinge_from", "product_from"), (0, np.inf, "a number of sites, 1 or more")),
}


@dataclass(frozen=True)
class _Sites:
    """The sites of a fit, to choose penalties and entropy by."""

    x: Array
    targets: Array
    domain: Domain
    group: Index | None  # sites of one group are held out together
    progress: Progress | None


@dataclass(eq=False, repr=False)
class ConditionalMaxent(Classifier):
    """Maximum-entropy model of classes given the environment: habitats, vegetation types, species, presence or absence.

    Parameters
    ----------
    features : str or sequence of str
        ``"auto"`` (by the number of sites), or classes by letter (``"lqh"``) or name. With growing families
        (``"l,q,trees:8,mono:4"``) the model is structural.
    regularization : {"auto", "l1", "none", "smoothed_l1", "l2", "l2sq", "elastic"}
        ``"auto"`` is l1. If the multiplier is chosen, it is elastic where that has a lower held-out loss. Elastic is
        tried up to 1,000 features and, for three or more classes, 2,000 weights.
    multiplier : float or "auto"
        Multiplies every penalty of ordinary features. ``"auto"`` chooses it by held-out loss, from infinity (the null
        model) down; with a number as `beta` it is 1.
    entropy : float or "auto"
        Order of the entropy: 1 is the logistic loss (softmax). Up to 2 (sparsemax), classes can have a probability of
        exactly 0. ``"auto"`` chooses 1, 1.25, 1.5 or 2 by held-out log loss, each at its best multiplier.
    knots : {"maxent", "maxnet", "all"} or int
        Knots of hinges and thresholds; by default 30 quantiles of each variable.
    beta : {"maxent", "maxnet", "deviation", "corollary7", "auto"} or float, optional
        Rule of the penalties. The penalty of a feature by a rule is multiplied by `√(π_c (1 − π_c))`, the standard
        deviation of the indicator of class `c` with share `π_c`. A number is the same penalty for all. In a structural
        model it is the β of `λ·B_k + β` (0.005 by default; ``"auto"`` chooses it by held-out loss).
    lam : float or "auto"
        In a structural model, the λ of `λ·B_k + β`, the penalty of a tree or monomial of complexity `B_k` in every
        class.
    folds : int
        Number of folds to choose the multiplier, λ and β, where they are "auto".
    categorical : sequence of str or int
        Columns of categories.
    tolerance : float, optional
        Largest accepted duality gap, in nats; 1e-6 by default, 1e-4 with trees or monomials.
    max_iterations : int, optional
        Limit of the solver: 500 by default, 200 in a structural model. `solution_.status` shows if it was reached.
    smoothing, ratio : float
        Parameters of smoothed_l1 and elastic, as for `Maxent`.
    beta_lqp, beta_hinge, beta_threshold, beta_categorical : float, optional
        Replace the values of Maxent's tables for linear, quadratic and product features, hinges, thresholds and
        categories.
    quadratic_from, hinge_from, product_from : int
        Number of sites from which ``"auto"`` includes quadratic, hinge and product features.
    seed : int
        Seed of the folds.
    random_state : int, optional
        Alternative name of `seed` for scikit-learn's tools; it has priority.

    Attributes
    ----------
    classes_ : (C,) array
        Labels of the classes, sorted.
    solution_ : Solution
        `.status`, `.gap` in nats (over all features; with trees over the features found), `.objective`, `.history`,
        `.seconds`.
    regularization_ : str
        The penalty.
    multiplier_ : float
        The multiplier; infinite if the null model had the lowest held-out loss. `multiplier_search_` has all
        candidates, if it was chosen (else None).
    entropy_ : float
        The order of the entropy; `order_search_` has the candidates, if it was chosen.
    lam_, beta_ : float
        The penalties of a structural model; `search_` has the candidates, if they were chosen.
    coef_ : (C, J) array
        Weights of all features, named by `feature_names_`.
    intercept_ : (C,) array
        Constants of the classes. They have no penalty, so every class has the total probability of its targets.
    model_ : ClassModel
        The fitted model, used by `predict` and `save`.
    notes_ : list of str
        Dropped variables and features, and choices.

    Notes
    -----
    Every class has its own weights. With two classes the model is the binary one with weights `v = coef_[1] −
    coef_[0]`, and `coef_` is `±v/2`. Then an l1 penalty of β on `coef_` is a penalty of β on `|v|`. An l2² penalty of β
    is a penalty of `β/2` on `v²/2`.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import ConditionalMaxent
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where(X[:, 0] > 0.3, "forest", np.where(X[:, 1] > 0, "meadow", "bog"))
    >>> model = ConditionalMaxent("lq").fit(X, y)
    >>> model.classes_.tolist(), model.solution_.status
    (['bog', 'forest', 'meadow'], 'converged')
    >>> model.predict([[2.0, 0.0], [-1.0, 1.0]]).tolist()
    ['forest', 'meadow']
    """

    features: str | Sequence[str] = "auto"
    regularization: str = "auto"
    multiplier: float | str = "auto"
    entropy: float | str = 1.0
    _: KW_ONLY
    knots: Knots = KNOTS
    beta: str | float | None = None
    lam: float | str = 0.01
    folds: int = 5
    categorical: Sequence[str | int] = ()
    tolerance: float | None = None
    max_iterations: int | None = None
    smoothing: float = 0.1
    ratio: float = 4.0
    beta_lqp: float | None = None
    beta_hinge: float | None = None
    beta_threshold: float | None = None
    beta_categorical: float | None = None
    quadratic_from: int = 10
    hinge_from: int = 15
    product_from: int = 80
    seed: int = 1
    random_state: int | None = None

    def fit(
        self,
        X: TableLike,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit to sites.

        Parameters
        ----------
        X : (n, V) array or data frame
            Variables at the sites, without missing values.
        y : (n,) labels, or (n, C) proportions
            Proportions (cover fractions) are scaled to sum to one; a data frame's columns name the classes.
        sample_weight : (n,) array, optional
            Weights of the sites; sites of weight zero are ignored.
        groups : (n,) array, optional
            Rows with the same value (visits to one site) are held out together when penalties are chosen.
        progress : callable, optional
            Called with the number of finished steps, the total and a text, while penalties are chosen.

        Returns
        -------
        self

        Raises
        ------
        OptionError
            If a parameter is out of range, or parameters contradict each other.
        DataError
            If X or y has missing values or the wrong shape, or a class has too few sites.
        """
        self._fit(X, y, sample_weight, groups, progress)
        solution = self.solution_
        if solution.status != "converged":
            log.warning("%s after %d iterations: %s", solution.status, solution.iterations, solution.message)
        return self

    def _fit(
        self,
        X: TableLike,
        y: Any,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> ClassModel:
        """Fit, and return the model."""
        self.check_options()
        self.regularization_ = "l1" if self.regularization == "auto" else self.regularization
        encoder, x = self._learn(X)
        weight = site_weights(sample_weight, x.shape[0])
        rows = np.arange(x.shape[0]) if weight is None else np.flatnonzero(weight)
        classes, targets = read_targets(_taken(y, rows, x.shape[0]), rows.size, 2 if self._chooses() else 1)
        group = None if groups is None else numbered(groups, x.shape[0])[rows]
        x = x[rows]
        domain = Domain(x, encoder.names, encoder.categorical, None if weight is None else weight[rows])
        self._encoder, self.classes_ = encoder, np.array(classes)
        self.notes_ = constant_variables(domain, "at all sites")
        size = effective_size(domain.q0)
        since = {"q": self.quadratic_from, "h": self.hinge_from, "p": self.product_from}
        letters, growing = _families(self.features, size, since)
        sites = _Sites(x, targets, domain, group, progress)
        self.multiplier_ = self._choose_multiplier(sites, letters)
        finite, beta = self._finite(domain, targets, letters, size)
        if growing:
            self.lam_, self.beta_ = self._choose(sites)
            self._grow(*multiplied(finite, beta, self.multiplier_), targets, growing, size)
        else:
            self._solve(finite, beta, targets, self.multiplier_)
        self.solution_: Solution = halved(self.solution_, len(classes))
        weights = self.solution_.weights.reshape(len(classes), -1)
        self.intercept_, self.coef_ = weights[:, 0] - weights[:, 0].mean(), weights[:, 1:].copy()
        record: Numbers = {
            "sites": domain.n,
            "effective_sites": size,
            "shares": (targets @ domain.q0).tolist(),
            "features_given": letters,
            "families": growing,
            "multiplier": self.multiplier_ if np.isfinite(self.multiplier_) else None,
        }
        if growing:
            record |= {"lambda": self.lam_, "beta": self.beta_}
        seen = training_reference(domain, list(targets * domain.q0))
        self.model_ = replace(self._model(domain, record), reference=seen)
        return self.model_

    def _solve(
        self, finite: FeatureSet, beta: Array, targets: Array, multiplier: float, start: Array | None = None
    ) -> Array | None:
        """Fit ordinary features at a multiplier; return the weights as a start for a smaller multiplier."""
        features, beta = multiplied(finite, beta, multiplier)
        penalty = make_penalty(self.regularization_, beta.ravel(), smoothing=self.smoothing, ratio=self.ratio)
        earlier: Problem | None = getattr(self, "problem_", None)  # of a fit at another multiplier
        mu = earlier.mu if earlier is not None and earlier.features is features and earlier.sample is targets else None
        self.feature_set_ = features
        self.problem_: Problem = ClassProblem(features, targets, ClassEntropy(self.entropy_), penalty, mu)
        self.solution_ = solve_newton(
            self.problem_, start=start, tolerance=self.tolerance or 1e-6, max_iterations=self.max_iterations or 500
        )
        return self.solution_.weights if features is finite else None

    def _choose_multiplier(self, sites: _Sites, letters: str) -> float:
        """Return the multiplier of ordinary features: fixed, or chosen by held-out loss together with penalty and
        entropy."""
        self.multiplier_search_: MultiplierSearch | None = None
        self.order_search_: list[OrderTrial] = []
        fixed = self._fixed_multiplier(letters)
        if self.entropy == "auto" and not letters:
            raise ConflictError("entropy='auto' needs ordinary feature classes: add some, such as l,q,trees:8")
        orders = ORDERS if self.entropy == "auto" else (ClassEntropy(cast(float, self.entropy)).alpha,)
        self.entropy_ = orders[0]
        if fixed is not None and len(orders) == 1:
            return fixed
        searches = {order: self._search_multipliers(order, fixed, sites, letters) for order in orders}
        if len(orders) > 1:
            losses = {order: search.log_losses[search.chosen] for order, (_, search) in searches.items()}
            self.entropy_, self.order_search_ = choose_order(losses, sites.domain.q0)
            self.notes_.append(order_note(self.entropy_, self.order_search_))
        self.regularization_, best = searches[self.entropy_]
        if fixed is not None:
            return fixed
        self.multiplier_search_ = best
        return float(best.multipliers[best.chosen])

    def _fixed_multiplier(self, letters: str) -> float | None:
        """Return the multiplier if it is not chosen by held-out loss, else None."""
        if self.multiplier != "auto":
            return float(self.multiplier)
        chosen_beta = isinstance(self.beta, str | None) or has_growing(self.features)
        return 1.0 if not letters or self.regularization_ == "none" or not chosen_beta else None

    def _search_multipliers(
        self, order: float, fixed: float | None, sites: _Sites, letters: str
    ) -> tuple[str, MultiplierSearch]:
        """Return the better penalty at one order of the entropy, and its held-out loss at every multiplier."""
        x, targets, domain = sites.x, sites.targets, sites.domain
        growing, size = has_growing(self.features), effective_size(domain.q0)
        trial = self._trial(domain, tolerance=CHOICE_GAP, max_iterations=CHOICE_ROUNDS)
        trial.set_params(features=letters, entropy=order, beta=None if growing else self.beta)

        def begin(held_out: NDArray[np.bool_]) -> Callable[[float], Array]:
            rest, labels = NamedNumbers(x[~held_out], domain.names), np.ascontiguousarray(targets[:, ~held_out])
            return trial.changed()._follow(rest, labels, domain.q0[~held_out], letters, size, x[held_out])

        full = build_features(domain, letters, knots=self.knots, sample=domain.q0, empty_categories=True)
        weights = full.size * (len(targets) if len(targets) > 2 else 1)  # two classes share one set of weights
        few = full.size <= ELASTIC and weights <= ELASTIC_WEIGHTS
        elastic = self.regularization == "auto" and fixed is None and not growing and few
        searches: dict[str, MultiplierSearch] = {}
        for name in [self.regularization_, *(["elastic"] if elastic else [])]:
            trial.regularization = name
            searches[name] = search_multipliers(
                begin,
                HeldOutSites(targets, domain.q0, ClassEntropy(order), sites.group, self.folds, self.used_seed),
                progress=sites.progress,
                text=f"penalties, {name}",
                multipliers=None if fixed is None else [fixed],
            )
        best = min(searches, key=lambda name: float(searches[name].losses.min()))
        return best, searches[best]

    def _follow(
        self, x: NamedNumbers, targets: Array, weight: Array, letters: str, size: float, others: Array
    ) -> Callable[[float], Array]:
        """Return a function of the multiplier that fits ordinary features and returns the scores `(C, k)` at other
        sites.

        It is called with falling multipliers, and each fit starts from the weights of the previous one. The penalties
        are for a sample of `size`, because the chosen multiplier is used for all sites.
        """
        self._encoder, self.notes_, self.classes_ = Encoder.learn(x, self.categorical), [], np.arange(len(targets))
        self.regularization_, self.entropy_ = self.regularization, float(self.entropy)
        domain = Domain(self._encoder.encode(x), self._encoder.names, self._encoder.categorical, weight)
        finite, beta = self._finite(domain, targets, letters, size)
        # of the features at the other sites, if there are few: predicting by a model takes longer
        values: Array | None = None
        if finite.size * len(others) <= FEW:
            terms = Terms.concatenate([family.terms() for family in finite.families[1:]])
            values = terms.evaluate_clamped(others, *limits_of(model_variables(domain, self._encoder))).T
        start: Array | None = None

        def fit(multiplier: float) -> Array:
            nonlocal start
            start = self._solve(finite, beta, targets, multiplier, start)
            weights = self.solution_.weights.reshape(len(targets), -1)
            self.intercept_, self.coef_ = weights[:, 0].copy(), weights[:, 1:].copy()
            if values is None:
                return self._model(domain, {"families": {}}).scores(others)
            weighted = self.coef_ @ values if self.coef_.size else np.zeros((len(targets), len(others)))
            return np.asarray(self.intercept_[:, None] + weighted)

        return fit

    def _finite(self, domain: Domain, targets: Array, letters: str, size: float) -> tuple[FeatureSet, Array]:
        """Return the constant and the finite families, and their penalties for every class at a multiplier of one."""
        families, rule_beta, by_rule = [ConstantFamily(domain)], np.empty(0), False
        if letters:
            built = build_features(domain, letters, knots=self.knots, sample=domain.q0, empty_categories=True)
            rule = "maxent" if self.beta is None or has_growing(self.features) else self.beta
            numbers, by_rule = table_replacements(self), isinstance(rule, str)
            rule_beta = penalty_weights(built, domain.q0, size, rule=rule, values=numbers)
            keep, copies = find_duplicates(built, rule_beta, self.regularization_)
            if copies:
                self.notes_.append(f"{len(copies):,} of {built.size:,} features are duplicates and were dropped")
                built, rule_beta = built.subset(keep), rule_beta[keep]
            families += built.families  # type: ignore[arg-type]
        share = targets @ domain.q0
        if self.regularization_ == "none":
            return FeatureSet(domain, families), np.ones((share.size, 1 + rule_beta.size))
        spread = np.sqrt(share * (1.0 - share)) if by_rule else np.ones(share.size)
        constant = np.full((share.size, 1), FREE_PENALTY)
        return FeatureSet(domain, families), np.hstack([constant, spread[:, None] * rule_beta])

    def _trial(self, domain: Domain, **limits: float) -> Self:
        """Return an estimator for parts of the sites, with categories as codes.

        `limits` can be loose, because held-out losses differ by more than the remaining gap.
        """
        return self.changed(categorical=[v for v, a in enumerate(domain.variables) if a.categorical], **limits)

    def _choose(self, sites: _Sites) -> tuple[float, float]:
        """Return λ and β of trees and monomials, chosen by held-out loss where they are 'auto'."""
        beta = 0.005 if self.beta is None else self.beta
        if self.regularization_ != "l1":
            raise ConflictError(f"regularization={self.regularization!r}: trees and monomials need l1")
        numbers = [value for value in (self.lam, beta) if value != "auto"]
        if any(isinstance(value, str) or value < 0 for value in numbers) or (len(numbers) == 2 and not any(numbers)):
            raise OptionError(f"lam={self.lam!r}, beta={self.beta!r}: expected numbers from 0, not both 0, or 'auto'")
        self.search_: list[PenaltySetting] = []
        if len(numbers) == 2:
            return float(numbers[0]), float(numbers[1])
        domain, trial = sites.domain, self._trial(sites.domain, tolerance=3e-3, max_iterations=40)
        trial.set_params(multiplier=self.multiplier_, entropy=self.entropy_)

        def fit(x: Array, targets: Array, weight: Array, lam: float, beta: float) -> ClassModel:
            return trial.changed(lam=lam, beta=beta)._fit(NamedNumbers(x, domain.names), targets.T, weight)

        lambdas = LAMBDAS if self.lam == "auto" else [float(self.lam)]
        betas = BETAS if beta == "auto" else [float(cast(float, beta))]
        entropy = ClassEntropy(self.entropy_)
        held_out = HeldOutSites(sites.targets, domain.q0, entropy, sites.group, self.folds, self.used_seed)
        best, self.search_ = choose_penalties(
            fit, sites.x, held_out, lambdas=lambdas, betas=betas, progress=sites.progress
        )
        return best.lam, best.beta

    def _grow(self, finite: FeatureSet, beta: Array, targets: Array, growing: dict[str, int], size: float) -> None:
        """Fit with growing families."""
        oracles = make_oracles(finite.domain, growing)
        family_penalty = FamilyPenalty.from_bounds(self.lam_, self.beta_, oracles, size)
        problem = ClassProblem(finite, targets, ClassEntropy(self.entropy_), L1(beta.ravel()))
        growth = Growth(problem, oracles, family_penalty)
        self.solution_ = solve_structural(
            growth, tolerance=self.tolerance or 1e-4, max_iterations=self.max_iterations or 200
        )
        self.problem_, self.feature_set_ = growth.problem, growth.problem.features

    def _chooses(self) -> bool:
        """Return whether a penalty is chosen by held-out sites, which needs two records of every class."""
        chosen = (self.multiplier, self.lam, self.beta, self.entropy)
        return any(isinstance(value, str) and value == "auto" for value in chosen)

    def check_options(self) -> None:
        """Raise OptionError for parameters that are out of range or contradict each other; data are not needed."""
        check_knots(self.knots)
        if self.regularization not in ("auto", *BY_WEIGHT):
            only = " (that penalty is for species)" if self.regularization in PENALTIES else ""
            raise OptionError(f"regularization={self.regularization!r}: expected auto, {', '.join(BY_WEIGHT)}{only}")
        if isinstance(self.beta, str) and self.beta in PENALTY_OF:
            raise InapplicableError(f"beta={self.beta!r} applies to species, not to classes: remove it")
        _ = self.used_seed
        tabulated = self.beta is None or self.beta in TABULATED or has_growing(self.features)
        if not tabulated and (chosen := [name for name in TABLE_LETTERS if getattr(self, name) is not None]):
            set_one = f"{chosen[0]}={getattr(self, chosen[0])!r}"
            raise ConflictError(f"{set_one} has no effect with beta={self.beta!r}: remove one of them")
        words = {"tolerance": None, "max_iterations": None, "lam": "auto", "multiplier": "auto"}
        self.check_numbers(_NUMBERS | TABLE_LIMITS, words | dict.fromkeys(TABLE_LIMITS))

    def _model(self, domain: Domain, record: Numbers) -> ClassModel:
        """Return the model from the results of the fit."""
        solution = self.solution_
        terms, shapes, weights = used_features(self.feature_set_.families[1:], self.coef_)
        features, growing = (
            self.feature_set_.size - 1,
            [f"{name}:{k}" for name, k in record.get("families", {}).items()],
        )
        meta = {
            "version": __version__,
            "status": solution.status,
            "gap": solution.gap,
            "certificate": certified_found(solution.gap, features, growing)
            if growing
            else certified(solution.gap, f"all {features:,} features of every class"),
            "objective": solution.objective,
            "iterations": solution.iterations,
            "n_features": features,
            **record,
            "settings": self.settings(),
        }
        labels = tuple(self.classes_.tolist())
        variables = model_variables(domain, self._encoder)
        return ClassModel(labels, variables, self.intercept_, terms, shapes, weights, self.entropy_, meta)

    @property
    def feature_names_(self) -> list[str]:
        """Return the name of every feature, in the order of `coef_`."""
        return feature_names(self.feature_set_.families[1:], self.model_.variables)

    def predict_proba(self, X: TableLike, clamp: bool = True) -> Array:
        """Return the probability of every class.

        Parameters
        ----------
        X : (n, V) array or data frame
            Variables at the points; a data frame's columns are matched by name.
        clamp : bool
            Limit variables to their training ranges.

        Returns
        -------
        (n, C) array
            In the order of `classes_`; NaN where a variable is missing.

        Raises
        ------
        DataError
            If the estimator is not fitted, or X has other columns than the fit.
        """
        table = self._checked(X)
        return self.model_.predict_proba(table, clamp)

    def decision_function(self, X: TableLike, clamp: bool = True) -> Array:
        """Return the score of every class, `(n, C)`; for two classes the score of the second minus the first,
        `(n,)`."""
        table = self._checked(X)
        scores = self.model_.scores(table, clamp)
        return scores[1] - scores[0] if len(scores) == 2 else np.ascontiguousarray(scores.T)

    def predict(self, X: TableLike, clamp: bool = True) -> AnyArray:
        """Return the most probable class of every site, `(n,)`."""
        table = self._checked(X)
        return self.model_.predict(table, clamp)

    def score(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy: the (weighted) share of sites whose most probable class is their label."""
        predicted = self.predict(X)
        correct = predicted == one_label_per_row(y, len(predicted))
        return float(np.average(correct, weights=None if sample_weight is None else np.asarray(sample_weight)))


def _taken(y: Any, rows: Index, height: int) -> Any:
    """Return rows of labels or of proportions; a column of labels becomes one-dimensional."""
    values = None if y is None else np.asarray(y)
    if values is None or values.ndim < 2 or values.shape[1] == 1:
        values = y = one_label_per_row(y, height)
        fractions = values.dtype.kind == "f" and np.any(np.isfinite(values) & (values != np.round(values)))
        if fractions and np.unique(values).size > height / 2:
            raise LabelError("Unknown label type: y is continuous; expected classes, each with several records")
    if rows.size == height:
        return y if hasattr(y, "columns") else values
    return y.iloc[rows] if hasattr(y, "columns") else values[rows]


def _families(features: str | Sequence[str], size: float, since: Mapping[str, float]) -> tuple[str, dict[str, int]]:
    """Return the letters of ordinary classes, and the largest size of each growing family."""
    return (
        parse_families(features, size, since) if has_growing(features) else (parse_classes(features, size, since), {})
    )
