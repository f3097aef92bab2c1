"""`StructMaxent`: trees and monomials inside maxent, each family paying for its complexity."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdm.errors import OptionError
from sdm.estimator import Maxent, TrainingData, log
from sdm.features.domain import Array
from sdm.features.families import parse_families
from sdm.features.feature_set import FeatureSet, build_features
from sdm.features.grown import Grown, Oracle
from sdm.features.knots import Knots
from sdm.features.monomial import Monomial
from sdm.features.oracles import make_oracles
from sdm.features.shapes import Shapes
from sdm.features.terms import Terms
from sdm.features.tree import Tree
from sdm.maxent.complexity import sample_complexity
from sdm.maxent.entropy import Entropy
from sdm.maxent.newton import solve_structural
from sdm.maxent.penalty import L1
from sdm.maxent.price_search import GRID, Fold, Setting, search_prices
from sdm.maxent.prices import feature_prices
from sdm.maxent.problem import Problem
from sdm.maxent.solution import Solution
from sdm.maxent.structmaxent import solve_growing
from sdm.maxent.structural import Growth, Prices

COMPLEXITIES = ("bound", "sample")
SOLVERS = ("newton", "structmaxent1", "structmaxent2")


class StructMaxent(Maxent):
    """Maximum entropy over families of growing complexity (structural maxent).

    Parameters
    ----------
    families : str
        Families with an end by letter or name, and ones that grow: ``"trees:8,mono:4"``, ``"l,q,p,h,trees:8"``.
    lam, beta : float or "auto"
        A feature of complexity `k` pays `λ·B_k + β`. ``"auto"`` chooses by held-out log loss. Families with an end pay
        their own prices (`multiplier` times Maxent's tables).
    complexity : {"bound", "sample"}
        `B_k` from the paper's eq. (15), or estimated on the sample by Monte Carlo (seeded).
    solver : {"newton", "structmaxent1", "structmaxent2"}
        Fully corrective column generation, or the paper's coordinate descent (500 rounds by default).
    folds : int
        For choosing λ and β: so many random folds; 1 for the paper's single split of 70 % and 30 %.
    grid : sequence of float
        Values of λ and β to try.
    seed : int
    categorical, knots, multiplier, entropy, tolerance, max_iterations, add_presences, prevalence, unseen, temperature
        As for `Maxent`; the tolerance is 1e-4 by default, over all that the oracles find.

    Attributes
    ----------
    lam_, beta_ : float
        The prices used.
    search_ : list of Setting
        Every setting tried, when they were chosen.
    solution_, model_, coef_, feature_names_, notes_
        As for `Maxent`, with the features that were found.
    """

    def __init__(
        self,
        families: str | Sequence[str] = "trees:8,mono:4",
        lam: float | str = "auto",
        beta: float | str = "auto",
        entropy: float = 1.0,
        *,
        complexity: str = "bound",
        solver: str = "newton",
        multiplier: float = 1.0,
        knots: Knots = "maxent",
        categorical: Sequence[str | int] = (),
        folds: int = 5,
        grid: Sequence[float] = GRID,
        seed: int = 1,
        tolerance: float = 1e-4,
        max_iterations: int | None = None,
        add_presences: str | None = None,
        prevalence: float = 0.5,
        unseen: str = "zero",
        temperature: float = 1.0,
    ) -> None:
        super().__init__(
            entropy=entropy,
            multiplier=multiplier,
            knots=knots,
            beta=beta,
            categorical=categorical,
            solver=solver,
            tolerance=tolerance,
            max_iterations=max_iterations,
            add_presences=add_presences,
            prevalence=prevalence,
            unseen=unseen,
            temperature=temperature,
        )
        self.families = families
        self.lam = lam
        self.complexity = complexity
        self.folds = folds
        self.grid = grid
        self.seed = seed

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        start: Any = None,
        base_weight: ArrayLike | None = None,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> Self:
        """Fit to presences (`y` = 1) and background (`y` = 0).

        `start` is not used, since features are found anew; `progress(done, total, text)` is told how far the choice of
        prices is.
        """
        self._check_options()
        self._check_prices()
        data = self._read(X, y, sample_weight, base_weight)
        ordinary, growing = parse_families(self.families, data.size)
        oracles = make_oracles(data.domain, growing)
        bounds = self._bounds(oracles, data)
        finite = _finite(data, ordinary, self.knots)
        self.search_: list[Setting] = []
        self.lam_, self.beta_ = self._choose(data, oracles, bounds, finite, progress)
        growth = self._growth(data.sample, data.size, data, oracles, bounds, finite, self.lam_, self.beta_)
        self.solution_ = self._grow(growth)
        if self.solution_.status != "converged":
            log.warning("%s: %s", self.solution_.status, self.solution_.message)
        self.growth_, self.problem_, self.coef_ = growth, growth.problem, self.solution_.weights
        self.feature_set_ = features = growth.problem.features
        self.notes_ = []
        record = {"classes": ordinary, "families": growing, "lambda": self.lam_, "beta": self.beta_}
        terms, shapes = _keep(features, self.coef_)
        self.model_ = self._model(data, terms, record, shapes)
        return self

    def _grow(self, growth: Growth) -> Solution:
        """Solve with the chosen solver."""
        if self.solver == "newton":
            return solve_structural(growth, tolerance=self.tolerance, max_iterations=self.max_iterations or 200)
        rounds = self.max_iterations or 500
        return solve_growing(growth, int(self.solver[-1]), tolerance=self.tolerance, max_iterations=rounds)

    @property
    def feature_names_(self) -> list[str]:
        """The name of every feature, in the order of `coef_`."""
        labels = {v: a.labels for v, a in enumerate(self.model_.variables) if a.labels is not None}
        out: list[str] = []
        for family in self.feature_set_.families:
            if isinstance(family, Grown):
                for shape in family.shapes:
                    one = Shapes((shape,)) if isinstance(shape, Tree) else Shapes(monomials=(cast(Monomial, shape),))
                    out += one.names(self.model_.names, labels)
            else:
                out += family.terms().names(self.model_.names, labels)
        return out

    def _check_prices(self) -> None:
        for name in ("lam", "beta"):
            value = getattr(self, name)
            if value != "auto" and not (isinstance(value, (int, float)) and np.isfinite(value) and value >= 0):
                raise OptionError(f"{name}={value!r}: expected a number of at least 0, or 'auto'")
        if self.lam == 0 and self.beta == 0:
            raise OptionError("lam and beta are both 0: features would be free; make one of them positive")
        if self.solver not in SOLVERS:
            raise OptionError(f"solver={self.solver!r}: a structural model has {', '.join(SOLVERS)}")
        if self.complexity not in COMPLEXITIES:
            raise OptionError(f"complexity={self.complexity!r}: expected one of {', '.join(COMPLEXITIES)}")
        if self.folds < 1:
            raise OptionError(f"folds={self.folds!r}: expected 1 (a single split) or more")

    def _bounds(self, oracles: list[Oracle], data: TrainingData) -> dict[str, Array]:
        """Return `B_k` of every oracle."""
        if self.complexity == "sample":
            return {o.name: sample_complexity(o, data.domain, data.sample, seed=self.seed) for o in oracles}
        return Prices.from_bounds(1.0, 0.0, oracles, data.size).bounds

    def _growth(
        self,
        sample: Array,
        size: float,
        data: TrainingData,
        oracles: list[Oracle],
        bounds: dict[str, Array],
        finite: FeatureSet | None,
        lam: float,
        beta: float,
    ) -> Growth:
        """Begin a problem on a sample."""
        own = np.empty(0)
        if finite is not None:
            own = feature_prices(finite, sample, size, multiplier=self.multiplier)
        problem = Problem(finite or FeatureSet(data.domain, []), sample, Entropy(self.entropy), L1(own))
        return Growth(problem, oracles, Prices(lam, beta, bounds))

    def _choose(
        self,
        data: TrainingData,
        oracles: list[Oracle],
        bounds: dict[str, Array],
        finite: FeatureSet | None,
        progress: Callable[[int, int, str], None] | None,
    ) -> tuple[float, float]:
        """Return λ and β, chosen by held-out loss where they are 'auto'."""
        lambdas = self.grid if self.lam == "auto" else [float(self.lam)]
        betas = self.grid if self.beta == "auto" else [float(cast(float, self.beta))]
        if len(lambdas) == len(betas) == 1:
            return lambdas[0], betas[0]
        folds = []
        for held in _held_out(data.sample, self.folds, np.random.default_rng([self.seed, 2])):
            share = float(data.sample[~held].sum())
            part, size = np.where(held, 0.0, data.sample) / share, data.size * share
            test = np.where(held, data.sample, 0.0) / (1.0 - share)
            folds.append(
                Fold(test, partial(self._growth, part, size, data, oracles, bounds, finite), data.n_background)
            )
        best, self.search_ = search_prices(folds, lambdas=lambdas, betas=betas, progress=progress)
        return best.lam, best.beta


def _held_out(sample: Array, folds: int, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
    """Divide the cells with presences at random; return for each fold which cells are held out."""
    cells = rng.permutation(np.flatnonzero(sample))
    if cells.size < 4:
        raise OptionError(f"{cells.size} presences are too few to choose prices by: give lam and beta")
    parts = [cells[: max(1, round(0.3 * cells.size))]] if folds == 1 else np.array_split(cells, min(folds, cells.size))
    out = []
    for part in parts:
        held = np.zeros(sample.size, dtype=bool)
        held[part] = True
        out.append(held)
    return out


def _finite(data: TrainingData, letters: str, knots: Knots) -> FeatureSet | None:
    """Build the families with an end, if any were asked for (categories belong to the trees otherwise)."""
    if not letters:
        return None
    return build_features(data.domain, letters, knots=knots, sample=data.sample)


def _keep(features: FeatureSet, weights: Array) -> tuple[Terms, Shapes]:
    """Return what has a weight: terms of the ordinary families, and shapes of the grown one."""
    terms = [Terms.build(0, np.empty(0, dtype=np.int32))]
    shapes = Shapes()
    for family, part in zip(features.families, features.split(weights)):
        used = np.flatnonzero(part)
        if isinstance(family, Grown):
            trees = [j for j in used if isinstance(family.shapes[j], Tree)]
            monomials = [j for j in used if isinstance(family.shapes[j], Monomial)]
            shapes = Shapes(
                tuple(family.shapes[j] for j in trees),  # type: ignore[misc]
                part[trees],
                tuple(family.shapes[j] for j in monomials),  # type: ignore[misc]
                part[monomials],
            )
        elif used.size:
            terms.append(family.terms().take(used, part[used]))
    return Terms.concatenate(terms), shapes
