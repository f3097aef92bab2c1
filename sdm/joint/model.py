"""`JointModel`: several species at the same sites, with scikit-learn's conventions."""

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sdm.encode import Encoder
from sdm.errors import DataError, OptionError
from sdm.features.domain import Array
from sdm.features.knots import Knots
from sdm.joint import graph as graphs
from sdm.joint.calibration import best_scale
from sdm.joint.discriminant import Discriminant, Sites
from sdm.joint.features import SiteFeatures
from sdm.joint.fitted import FittedJoint
from sdm.joint.graph import Forest
from sdm.joint.inference import marginals
from sdm.joint.labels import check_labels, read_labels, species_names
from sdm.joint.learned import Learned
from sdm.joint.learners import C_RANGE, LAMBDA_RANGE, LEARNERS, Learner
from sdm.joint.tuning import choose, hamming
from sdm.params import Parameters

log = logging.getLogger("sdm")

GRAPHS = ("tree", "chain", "none")

# While cross-validation chooses C, λ is this; C is chosen first, then λ. Trial fits may have a larger gap.
TRIAL_C, TRIAL_LAMBDA = 1.0, 25.0
TRIAL_GAP = 10.0


class JointModel(Parameters):
    """A joint model of species' presence and absence: environment for each, association between neighbours in a forest.

    Parameters
    ----------
    learner : {"laplace", "m3n", "crf-l2", "crf-l1"}
        Laplace MEDN (sparse, with a posterior spread of every weight), M³N, or a conditional random field.
    graph : {"tree", "chain", "none"} or sequence of pairs
        Maximum-weight spanning tree of the species' residual association; each species with the next; no edge (single
        models side by side); or edges, as pairs of names or positions, that form a forest.
    features : str
        Classes by letter or name, as for `Maxent`.
    c : float or "cv"
        Price of the slack; a CRF's weights cost 1/C. ``"cv"`` tries the paper's range by cross-validation.
    lam : float or "cv"
        λ of the Laplace prior.
    method : {"variational", "exact"}
        Of Laplace MEDN: the paper's Algorithm 1, or the exact posterior.
    knots : {"maxent", "maxnet", "all"} or int
    categorical : sequence of str or int
    rounds : int
        Of the variational algorithm.
    folds : int
        Of the cross-validation.
    tolerance : float
        Largest certified gap to accept, in the learner's loss (wrong labels, or nats) a known label.
    max_iterations : int
    seed : int

    Attributes
    ----------
    learned_ : Learned
        `.weights`, `.variance`, `.gap`, `.status`, `.iterations`.
    fitted_ : FittedJoint
        What predicts, and what `save` writes.
    forest_ : Forest
    tuning_ : list of dict
        Every setting that cross-validation tried, and its error.
    notes_ : list of str
        What is to be said of missing labels.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(200, 2))
    >>> first = X[:, 0] + rng.logistic(size=200) > 0
    >>> Y = np.column_stack([first, first ^ (rng.random(200) < 0.1)]).astype(int)
    >>> model = JointModel("crf-l2", features="l").fit(X, Y)
    >>> model.learned_.status, model.forest_.edges.tolist()
    ('converged', [[0, 1]])
    >>> model.predict_proba([[0.0, 0.0], [0.0, 0.0]], known=[[1, np.nan], [0, np.nan]])[:, 1].round(1).tolist()
    [0.9, 0.1]
    """

    def __init__(
        self,
        learner: str = "laplace",
        graph: str | Sequence[Sequence[Any]] = "tree",
        features: str = "lq",
        *,
        c: float | str = 0.1,
        lam: float | str = 1.0,
        method: str = "variational",
        knots: Knots = "maxent",
        categorical: Sequence[str | int] = (),
        rounds: int = 3,
        folds: int = 5,
        tolerance: float = 1e-3,
        max_iterations: int = 300,
        seed: int = 0,
    ) -> None:
        self.learner = learner
        self.graph = graph
        self.features = features
        self.c = c
        self.lam = lam
        self.method = method
        self.knots = knots
        self.categorical = categorical
        self.rounds = rounds
        self.folds = folds
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.seed = seed

    def fit(self, X: Any, Y: Any, what: str = "joint model") -> Self:
        """Fit to sites.

        Parameters
        ----------
        X : (n, V) array or data frame
            Environment.
        Y : (n, S) array or data frame
            1, 0, or missing (NaN) for every species. A species whose label is missing at a site is left out there, with
            its edges; the other species of the site are used.
        what : str
            What to call the model in warnings, where several are fitted.
        """
        self._check_options()
        encoder = Encoder.learn(X, self.categorical)
        x = encoder.encode(X)
        self.species_ = species_names(Y, encoder.names)
        labels = read_labels(Y, self.species_, x.shape[0])
        self.notes_ = check_labels(labels, self.species_)
        for note in self.notes_:
            log.info("%s", note)
        self._encoder = encoder
        site_features = SiteFeatures.learn(x, encoder, self.features, self.knots)
        sites = Sites(site_features.evaluate(x), labels)
        self.forest_ = self._forest(sites)
        discriminant = Discriminant.of_species(self.forest_, site_features.size)
        bias = _bias(discriminant)
        learner, self.tuning_ = self._tuned(discriminant, sites, bias, what)
        self.learned_ = learner.fit(discriminant, sites, bias)
        if self.learned_.status != "converged":
            log.warning("%s: %s at a gap of %.2g a label", what, self.learned_.status, self.learned_.gap)
        self.fitted_ = self._gather(encoder, site_features, discriminant, sites, learner, self.learned_)
        return self

    def _gather(
        self,
        encoder: Encoder,
        site_features: SiteFeatures,
        discriminant: Discriminant,
        sites: Sites,
        learner: Learner,
        learned: Learned,
    ) -> FittedJoint:
        scale = 1.0 if learner.name.startswith("crf") else best_scale(discriminant, sites, learned.weights)
        meta = {
            "learner": learner.name,
            "C": float(learner.c),
            "lambda": float(learner.lam),
            "gap": learned.gap,
            "status": learned.status,
            "iterations": learned.iterations,
            "sites": sites.n,
            "missing": int((sites.labels < 0).sum()),
            "notes": self.notes_,
        }
        spread = np.zeros(0) if learned.variance is None else learned.variance
        return FittedJoint(
            encoder, site_features, self.species_, self.forest_, learned.weights, spread, float(scale), meta
        )

    def _forest(self, sites: Sites) -> Forest:
        """Return the graph that was asked for; the tree's association is of what single CRFs leave unexplained."""
        if self.graph == "chain":
            return graphs.chain(len(self.species_))
        if self.graph == "none":
            return graphs.empty(len(self.species_))
        if self.graph != "tree":
            return graphs.given(self.graph, self.species_)
        single = Discriminant.of_species(graphs.empty(len(self.species_)), sites.x.shape[2])
        weights = Learner("crf-l2", tolerance=1e-3).fit(single, sites, _bias(single)).weights
        found = marginals(single.forest, single.unary(weights, sites.x), single.table(weights), sites.states)
        residual = np.where(sites.labels >= 0, sites.labels - found.nodes, np.nan)
        self.association_ = graphs.association(residual)
        return graphs.spanning_tree(self.association_)

    def _tuned(
        self, discriminant: Discriminant, sites: Sites, bias: NDArray[np.bool_], what: str
    ) -> tuple[Learner, list[dict[str, float]]]:
        """Return the learner with its C and λ, chosen by cross-validation where asked."""
        learner = Learner(
            self.learner,
            method=self.method,
            rounds=self.rounds,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            seed=self.seed,
        )
        learner = replace(
            learner,
            c=TRIAL_C if self.c == "cv" else float(self.c),
            lam=TRIAL_LAMBDA if self.lam == "cv" else float(self.lam),
        )
        quick = replace(learner, tolerance=TRIAL_GAP * self.tolerance)
        tried: list[dict[str, float]] = []
        record: list[dict[str, float]] = []
        if self.c == "cv":
            grid = [(c, quick.lam) for c in C_RANGE]
            quick, record = choose(quick, grid, discriminant, sites, bias, self.folds, self.seed, what)
        if self.lam == "cv" and self.learner == "laplace":
            grid = [(quick.c, lam) for lam in reversed(LAMBDA_RANGE)]
            quick, tried = choose(quick, grid, discriminant, sites, bias, self.folds, self.seed, what)
        return replace(learner, c=quick.c, lam=quick.lam), [*record, *tried]

    def predict(self, X: Any, known: Any = None, clamp: bool = True) -> NDArray[np.int8]:
        """Return every site's best joint labeling, given the labels in `known` (NaN where unknown)."""
        return self._fitted().predict(X, known, clamp)

    def predict_proba(self, X: Any, known: Any = None, clamp: bool = True) -> Array:
        """Return every species' probability at every site, given the labels in `known` (NaN where unknown)."""
        return self._fitted().predict_proba(X, known, clamp)

    def richness(self, X: Any, known: Any = None, clamp: bool = True) -> Array:
        """Return the expected number of species at every site: the sum of the marginals."""
        return self.predict_proba(X, known, clamp).sum(axis=1)

    def log_loss(self, X: Any, Y: Any) -> float:
        """Return the mean joint log loss a site, `−ln p(y | x)`, of the labels that are known."""
        fitted = self._fitted()
        x = fitted.encode(X)
        return fitted.log_loss(x, read_labels(Y, fitted.species, x.shape[0]))

    def score(self, X: Any, Y: Any) -> float:
        """Return the share of known labels that the best joint labeling gets right."""
        fitted = self._fitted()
        predicted = self.predict(X)
        return 1.0 - hamming(read_labels(Y, fitted.species, predicted.shape[0]), predicted)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model to a file; `sdm.load_model` reads it."""
        from sdm.joint.file import save_joint

        save_joint(self._fitted(), path, overwrite=overwrite)

    def _fitted(self) -> FittedJoint:
        if not hasattr(self, "fitted_"):
            raise DataError("this JointModel is not fitted yet: call fit(X, Y) first")
        return self.fitted_

    def _check_options(self) -> None:
        if self.learner not in LEARNERS:
            raise OptionError(f"learner={self.learner!r}: expected one of {', '.join(LEARNERS)}")
        if isinstance(self.graph, str) and self.graph not in GRAPHS:
            raise OptionError(
                f"graph={self.graph!r}: expected one of {', '.join(GRAPHS)}, or a list of pairs of species"
            )
        for name, low, text in (
            ("c", 0.0, "a positive number, or 'cv'"),
            ("lam", 0.0, "a positive number, or 'cv'"),
            ("tolerance", 0.0, "a positive number"),
            ("rounds", 0, "1 or more"),
            ("max_iterations", 0, "1 or more"),
            ("folds", 1, "2 or more"),
        ):
            value = getattr(self, name)
            if name in ("c", "lam") and value == "cv":
                continue
            number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            if not number or not low < value < np.inf:
                raise OptionError(f"{name}={value!r}: expected {text}")


def _bias(discriminant: Discriminant) -> NDArray[np.bool_]:
    """Mark the bias of every node, the last of its features."""
    out = np.zeros(discriminant.size, dtype=bool)
    discriminant.split(out)[0][:, -1] = True
    return out
