"""`JointModel`: the species of the same sites together, with scikit-learn's conventions."""

import logging
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdm.errors import ColumnError, ConflictError, MismatchError, OptionError, expect_one_of
from sdm.estimators.model_parts import training_reference
from sdm.estimators.params import Classifier, warn_renamed
from sdm.features.domain import Domain
from sdm.features.knots import Knots
from sdm.joint import graph as graphs
from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.features import SiteFeatures
from sdm.joint.graph import Forest
from sdm.joint.inference import marginals
from sdm.joint.labels import check_labels, read_labels, species_names
from sdm.joint.learners.registry import C_FIRST, C_PATH, LAMBDA_RANGE, LEARNERS, Learner
from sdm.joint.learners.shrinking import METHODS
from sdm.joint.learners.tuning import Trials, choose_regularization, choose_spread, hamming
from sdm.joint.levels import Levels, RandomEffect, level_names
from sdm.joint.likelihood import best_scale
from sdm.joint.sparsemap import PossibleCommunities
from sdm.joint.traits import Traits, corner_rows
from sdm.maxent.certificate import certified
from sdm.models.community import FittedJoint
from sdm.types import Array, Numbers, Progress, Row, TableLike

if TYPE_CHECKING:
    from sklearn.utils import Tags


log = logging.getLogger("sdm")

GRAPHS = ("tree", "chain", "none")

_NUMBERS = {
    "c": (0.0, np.inf, "a positive number, or 'cv'"),
    "lam": (0.0, np.inf, "a positive number, or 'cv'"),
    "tolerance": (0.0, np.inf, "a positive number"),
    "rounds": (0, np.inf, "1 or more"),
    "max_iterations": (0, np.inf, "1 or more"),
    "folds": (1, np.inf, "2 or more"),
    "random_spread": (0.0, np.inf, "a positive number, or 'cv'"),
}

# λ while cross-validation chooses C, which is chosen first. Trial fits may have a larger gap. The search ends when
# `PATIENCE` values in a row are worse than the best.
TRIAL_C, TRIAL_LAMBDA = 1.0, 25.0
TRIAL_GAP = 10.0
PATIENCE = 2


@dataclass(eq=False, repr=False)
class JointModel(Classifier):
    """A joint model of species' presence and absence: responses to the environment, and associations in a forest of
    species.

    Parameters
    ----------
    learner : {"crf-l2", "crf-l1", "m3n", "l1-m3n", "laplace"}
        A conditional random field (crf-l2 with standard errors of the weights), or max margin. The latter are M³N,
        L1-M³N (with sparse weights) and Laplace MEDN (with shrunken weights).
    graph : {"tree", "chain", "none"} or sequence of pairs
        Edges between species. ``"tree"`` is the maximum-weight spanning tree of their residual association, ``"chain"``
        joins neighbours in their order, ``"none"`` fits single models. Or edges that form a forest, as pairs of names
        or positions.
    features : str
        Classes by letter or name, as for `Maxent`, of standardised variables.
    c : float or "cv"
        Penalty on the slack; a CRF's weights have the penalty 1/C. ``"cv"`` follows a path from strong to weak
        regularisation to the least held-out loss. The loss is the joint log loss for a CRF, and the number of wrong
        labels for the others.
    lam : float or "cv"
        λ of the Laplace prior.
    method : {"variational", "exact"}
        Posterior of Laplace MEDN: the variational one of Zhu & Xing 2009, or the exact one.
    knots : {"maxent", "maxnet", "all"} or int
        Knots of hinges and thresholds, as for `Maxent`.
    categorical : sequence of str or int
        Columns of categories.
    random_effect : str, optional
        A column of X with levels (reserves, regions, observers, sites). Each has an intercept for every species.
        Predictions for new levels, and for tables without the column, use the mean, 0. For the learner crf-l2.
    random_spread : float or "cv"
        Standard deviation of the intercepts in their penalty; ``"cv"`` chooses the least held-out log loss.
    traits : data frame, optional
        One row per species (the index), one column per trait, with numbers or text. The weights of species are shrunk
        towards a regression on their traits (fourth corner: `model_.meta["fourth_corner"]`). For the learner crf-l2.
    rounds : int, optional
        Maximum number of rounds of the variational algorithm (Zhu & Xing 2009 use 3). By default it runs to its
        tolerance.
    folds : int
        Number of folds of the cross-validation.
    tolerance : float, optional
        Largest accepted duality gap per site, in the learner's loss. The default is 1e-4 nats per species for a CRF
        and 1e-3 wrong labels per species for the others. It is ten times as large in trial fits.
    max_iterations : int
        Limit of the solver.
    seed : int
        Seed of the folds.
    random_state : int, optional
        Alternative name of `seed` for scikit-learn's tools; it has priority.

    Attributes
    ----------
    species_ : tuple of str
        The names of the S species.
    solution_ : LearnedWeights
        `.weights`, `.variance`, `.gap`, `.status`, `.iterations`.
    model_ : FittedJoint
        The fitted model, used by `predict` and `save`.
    forest_ : Forest
        The edges between species.
    bound_ : MarginBound or None
        PAC-Bayes estimate of the share of new sites with a wrong labelling (M³N and Laplace MEDN).
    tuning_ : list of dict
        Every setting of the cross-validation, and its held-out loss.
    notes_ : list of str
        Notes on missing labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import JointModel
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(200, 2))
    >>> first = X[:, 0] + rng.logistic(size=200) > 0
    >>> Y = np.column_stack([first, first ^ (rng.random(200) < 0.1)]).astype(int)
    >>> model = JointModel("crf-l2", features="l").fit(X, Y)
    >>> model.solution_.status, model.forest_.edges.tolist()
    ('converged', [[0, 1]])
    >>> model.predict_proba([[0.0, 0.0], [0.0, 0.0]], known=[[1, np.nan], [0, np.nan]])[:, 1].round(1).tolist()
    [0.8, 0.1]
    """

    multi_class = False

    learner: str = "crf-l2"
    graph: str | Sequence[Sequence[Any]] = "tree"
    features: str = "lq"
    _: KW_ONLY
    c: float | str = "cv"
    lam: float | str = 1.0
    method: str = "variational"
    knots: Knots = "maxent"
    categorical: Sequence[str | int] = ()
    random_effect: str | None = None
    random_spread: float | str = "cv"
    traits: Any = None
    rounds: int | None = None
    folds: int = 3
    tolerance: float | None = None
    max_iterations: int = 300
    seed: int = 1
    random_state: int | None = None

    def fit(
        self,
        X: TableLike,
        y: TableLike,
        *,
        groups: ArrayLike | None = None,
        title: str = "joint model",
        progress: Progress | None = None,
    ) -> Self:
        """Fit to sites.

        Parameters
        ----------
        X : (n, V) array or data frame
            Environment of the sites, without missing values.
        y : (n, S) array or data frame
            1, 0 or NaN (missing) for every species. A missing label excludes its species and their edges at this site;
            the other species are used.
        groups : (n,) array, optional
            Rows with the same value (visits to one site) are held out together when C and λ are chosen.
        title : str
            Name of the model in warnings.
        progress : callable, optional
            Called with the number of finished steps, the total and a text, while C and λ are chosen.

        Returns
        -------
        self

        Raises
        ------
        OptionError
            If a parameter is out of range, or parameters contradict each other.
        DataError
            If X has missing values, y has the wrong shape or other values than 0, 1 and NaN, or a column is missing.
        """
        self.check_options()
        X, levels = self._without_levels(X)
        encoder, x = self._learn(X)
        if y is None:
            raise MismatchError("Y is None: this estimator requires y to be passed, but the target y is None")
        self.species_ = species_names(y, encoder.names)
        self.classes_ = [np.array([0, 1], dtype=np.int8) for _ in self.species_]
        labels = read_labels(y, self.species_, x.shape[0])
        self.notes_ = check_labels(labels, self.species_)
        traits = None if self.traits is None else Traits.learn(self.traits)
        if traits is not None:
            self.notes_ += traits.check(self.species_)
        site_features = SiteFeatures.learn(x, encoder, self.features, self.knots)
        environment = LabelledSites(site_features.evaluate(x), labels)
        sites = environment if levels is None else levels.augment(environment, 1.0, 1.0)
        self.forest_ = self._forest(sites)
        discriminant = Discriminant(self.forest_, sites.x.shape[1])
        if traits is not None:
            discriminant = discriminant.with_traits(traits.in_fit(self.species_), sites.x.shape[1] - site_features.size)
        bias = _bias(discriminant)
        group = None if groups is None else np.asarray(groups)
        trials = Trials(discriminant, sites, bias, self.folds, self.used_seed, group, title, progress)
        learner, self.tuning_ = self._tuned(trials)
        spread = 1.0 if self.random_spread == "cv" else float(self.random_spread)
        if levels is not None:
            if self.random_spread == "cv":
                quick = replace(learner, tolerance=TRIAL_GAP * learner.largest_gap(len(self.species_)))
                without = replace(trials, sites=environment, group=levels.held_out_units(groups))
                spread, tried = choose_spread(without, quick, levels, PATIENCE)
                self.tuning_ += tried
            sites = levels.augment(environment, spread, learner.c)
        self.solution_ = learner.fit(discriminant, sites, bias)
        if self.solution_.status != "converged":
            log.warning("%s: %s at a gap of %.2g per site", title, self.solution_.status, self.solution_.gap)
        variance, weights = learner.spread(discriminant, sites, bias, self.solution_), self.solution_.weights
        variances = np.zeros(0) if variance is None else variance
        scale = 1.0 if learner.is_crf else float(best_scale(discriminant, sites, weights))
        shape = (encoder, site_features, self.species_, self.forest_)
        present = (labels == 1).astype(np.float64)
        seen = training_reference(Domain(x, encoder.names, encoder.categorical), list(present.T))
        self.bound_ = learner.bound(discriminant, sites, bias, self.solution_)
        record, random = self._record(learner, sites), None
        species_weights = np.concatenate([discriminant.node_weights(weights).ravel(), discriminant.split(weights)[1]])
        squares = variances[: discriminant.n_unshared]
        if levels is not None:
            fixed = (str(self.random_effect), levels, spread, learner.c, discriminant)
            random, species_weights, squares = RandomEffect.divided(*fixed, species_weights, squares)
        self.model_ = FittedJoint(*shape, species_weights, squares, scale, record, seen, random)
        if traits is not None:
            corner = (discriminant.corner(part) if part.size else part for part in (weights, variances))
            record["fourth_corner"] = corner_rows(traits.names, self.model_.feature_names[:-1], *corner)
        return self

    def _without_levels(self, X: Any) -> tuple[Any, Levels | None]:
        """Return the environment without the column of the random effect, and its levels if there is one."""
        if self.random_effect is None:
            return X, None
        if not hasattr(X, "columns") or self.random_effect not in X.columns:
            has = f"X has {', '.join(map(str, X.columns))}" if hasattr(X, "columns") else "X is not a data frame"
            raise ColumnError(f"random_effect={self.random_effect!r} is not a column of X: {has}")
        levels = Levels.learn(level_names(X[self.random_effect]), self.random_effect)
        return X.drop(columns=[self.random_effect]), levels

    def _record(self, learner: Learner, sites: LabelledSites) -> Numbers:
        solution = self.solution_
        return {
            "learner": learner.name,
            "C": float(learner.c),
            "lambda": float(learner.lam),
            "gap": solution.gap,
            "certificate": certified(solution.gap, "all weights of all species and edges", f"{learner.unit} per site"),
            "status": solution.status,
            "iterations": solution.iterations,
            "sites": sites.n,
            "missing": int((sites.labels < 0).sum()),
            "notes": self.notes_,
            **({} if self.bound_ is None else {"bound": self.bound_.numbers()}),
        }

    def _forest(self, sites: LabelledSites) -> Forest:
        """Return the graph of the species; the tree's association is between residuals of single-species CRFs."""
        if self.graph == "chain":
            return graphs.chain(len(self.species_))
        if self.graph == "none":
            return graphs.edgeless(len(self.species_))
        if self.graph != "tree":
            return graphs.forest_of_edges(self.graph, self.species_)
        single = Discriminant(graphs.edgeless(len(self.species_)), sites.x.shape[1])
        weights = Learner("crf-l2").fit(single, sites, _bias(single)).weights
        fitted = marginals(single.forest, single.unary(weights, sites.x), single.table(weights), sites.states)
        residual = np.where(sites.labels >= 0, sites.labels - fitted.nodes, np.nan)
        self.association_ = graphs.association(residual)
        return graphs.spanning_tree(self.association_)

    def _tuned(self, trials: Trials) -> tuple[Learner, list[Row]]:
        """Return the learner with its C and λ, chosen by cross-validation where they are "cv"."""
        c, lam = (TRIAL_C if self.c == "cv" else float(self.c)), (TRIAL_LAMBDA if self.lam == "cv" else float(self.lam))
        limits = (self.tolerance, self.max_iterations)
        learner = Learner(self.learner, c, lam, self.method, self.rounds, *limits)
        quick = replace(learner, tolerance=TRIAL_GAP * learner.largest_gap(len(self.species_)))
        tried: list[Row] = []
        if self.c == "cv":
            grid = [(c, quick.lam) for c in C_PATH]
            first = C_FIRST if learner.is_crf else 0
            quick, tried = choose_regularization(trials, quick, grid, PATIENCE, first)
        if self.lam == "cv" and self.learner == "laplace":
            grid = [(quick.c, lam) for lam in reversed(LAMBDA_RANGE)]
            quick, more = choose_regularization(trials, quick, grid)
            tried += more
        if tried:
            log.info("%s: C %g chosen by held-out %s", trials.title, quick.c, tried[0]["measure"])
        return replace(learner, c=quick.c, lam=quick.lam), tried

    def predict(self, X: TableLike, known: TableLike | None = None, clamp: bool = True) -> NDArray[np.int64]:
        """Return the best joint labelling of every site.

        Parameters
        ----------
        X : (n, V) array or data frame
            Environment of the sites; a data frame's columns are matched by name.
        known : (n, S) array or data frame, optional
            Observed labels to condition on: 1, 0, or NaN where a label is unknown.
        clamp : bool
            Limit variables to their training ranges.

        Returns
        -------
        (n, S) array of int

        Raises
        ------
        DataError
            If the estimator is not fitted, X has other columns than the fit, or `known` has the wrong shape.
        """
        table = self._checked(X)
        return self.model_.predict(table, known, clamp).astype(np.int64)

    def predict_proba(self, X: TableLike, known: TableLike | None = None, clamp: bool = True) -> Array:
        """Return the marginal probability of every species at every site, `(n, S)`; arguments as for `predict`."""
        table = self._checked(X)
        return self.model_.predict_proba(table, known, clamp)

    def communities(
        self, X: TableLike, known: TableLike | None = None, clamp: bool = True
    ) -> list[PossibleCommunities | None]:
        """Return possible communities of every site with their probabilities; arguments as for `predict`."""
        table = self._checked(X)
        return self.model_.communities(table, known, clamp)

    def richness(self, X: TableLike, known: TableLike | None = None, clamp: bool = True) -> Array:
        """Return the expected number of species at every site, `(n,)`: the sum of the marginals; arguments as for
        `predict`."""
        return np.asarray(self.predict_proba(X, known, clamp).sum(axis=1))

    def log_loss(self, X: TableLike, y: TableLike) -> float:
        """Return the mean joint log loss of the observed labels, `−ln p(y | x)`, in nats per site."""
        table = self._checked(X)
        return self.model_.log_loss(table, y)

    def score(self, X: TableLike, y: TableLike) -> float:
        """Return the share of observed labels that the best joint labelling predicts correctly."""
        predicted = self.predict(X)
        return 1.0 - hamming(read_labels(y, self.model_.species, predicted.shape[0]), predicted)

    @property
    def fitted_(self) -> FittedJoint:
        """Return `model_`; deprecated name."""
        warn_renamed("JointModel.fitted_", "model_", "0.3")
        return self.model_

    def __sklearn_tags__(self) -> "Tags":
        """Return the tags of the estimator for scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output, tags.target_tags.single_output = True, False
        tags.classifier_tags.multi_label = True
        return tags

    def check_options(self) -> None:
        """Raise OptionError for parameters that are out of range or contradict each other; data are not needed."""
        expect_one_of("learner", self.learner, LEARNERS)
        expect_one_of("method", self.method, METHODS)
        if isinstance(self.graph, str) and self.graph not in GRAPHS:
            raise OptionError(f"graph={self.graph!r}: expected one of {', '.join(GRAPHS)}, or pairs of species")
        for name in ("random_effect", "traits"):
            if getattr(self, name) is not None and self.learner != "crf-l2":
                raise ConflictError(f"{name} needs the learner crf-l2, not {self.learner}: remove one of them")
        words = {"c": "cv", "lam": "cv", "tolerance": None, "rounds": None, "random_spread": "cv"}
        self.check_numbers(_NUMBERS, words)
        _ = self.used_seed


def _bias(discriminant: Discriminant) -> NDArray[np.bool_]:
    """Return a mask of the bias weight of every node, the last of its features."""
    out = np.zeros(discriminant.size, dtype=bool)
    discriminant.split(out)[0][:, -1] = True
    return out
