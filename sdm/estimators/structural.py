"""`StructMaxent`: maxent with trees and monomials, with a penalty by the complexity of each family."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Self, cast

import numpy as np
from numpy.typing import NDArray

from sdm.errors import ConflictError, OptionError, expect_one_of
from sdm.estimators.maxent import Maxent, default_joining, log, order_notes
from sdm.estimators.sample import TrainingData
from sdm.estimators.species import SpeciesEstimator
from sdm.features.classes import parse_families
from sdm.features.domain import Domain
from sdm.features.feature_set import FeatureSet
from sdm.features.growing.grown import Oracle
from sdm.features.growing.oracles import make_oracles
from sdm.features.knots import Knots, check_knots
from sdm.maxent.certificate import certified_found
from sdm.maxent.entropy import Entropy
from sdm.maxent.penalty import L1
from sdm.maxent.penalty_search import FINITE_ONLY, LAMBDAS, PATHS, PenaltyFold, PenaltySetting, search_penalties
from sdm.maxent.problem import Problem
from sdm.maxent.solution import Solution
from sdm.maxent.solvers.newton import solve_structural
from sdm.maxent.solvers.structmaxent import solve_growing
from sdm.maxent.structural import FamilyPenalty, Growth, sample_complexity
from sdm.models.species import Model
from sdm.types import Array, Numbers, Progress

COMPLEXITIES = ("bound", "sample")
SOLVERS = ("newton", "structmaxent1", "structmaxent2")
FEWEST = 4  # smallest number of presences to choose penalties by
CHOICE = 20_000  # largest number of background cells to choose penalties with


@dataclass(eq=False, repr=False)
class StructMaxent(SpeciesEstimator):
    """Maximum entropy over families of growing complexity (structural maxent, Cortes et al. 2015).

    Parameters
    ----------
    families : str
        Ordinary feature classes by letter or name (``"auto"``: by sample size, as for `Maxent`), and growing families:
        ``"auto,trees:8,mono:4"``, ``"l,q,p,h,trees:8"``, ``"trees:8"``.
    lam, beta : float or "auto"
        The penalty of a tree or monomial of complexity `k` is `λ·B_k + β`. ``"auto"`` chooses by held-out log loss, on
        at most 20,000 background cells.
        λ = ∞ excludes growing families; the model is then the same as `Maxent`. With ordinary classes, ``lam="auto"``
        excludes them unless they lower the held-out loss by more than one standard error. Ordinary classes always have
        Maxent's penalties (`multiplier` times its tables).
    complexity : {"bound", "sample"}
        Source of `B_k`: eq. (15) of the paper, or a Monte Carlo estimate on the sample (seeded).
    solver : {"newton", "structmaxent1", "structmaxent2"}
        Fully corrective column generation, or coordinate descent by Fig. 1 or 2 of the paper (500 rounds by default).
    folds : int
        Number of random folds to choose λ and β; 1 for a single split of 70 % and 30 %, as in the paper.
    repeats : int
        Number of random divisions into folds.
    grid : sequence of float, optional
        Candidates for both λ and β. By default `penalty_search.PATHS`, with β divided by the square root of the number
        of presences.
    seed, random_state : int
        Seed of the folds and of the Monte Carlo estimate.
    categorical, knots, multiplier, entropy, tolerance, max_iterations, add_presences, prevalence, unseen, temperature
        As for `Maxent`. The tolerance is 1e-4 by default; the gap is over all features that the search found. The
        entropy ``"auto"`` is chosen by models of the ordinary classes alone.

    Attributes
    ----------
    lam_, beta_ : float
        The penalties in use; λ is infinite if growing families were excluded.
    search_ : list of PenaltySetting
        The candidates, if the penalties were chosen.
    solution_, model_, coef_, feature_names_, notes_
        As for `Maxent`, including the features that the search found.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import StructMaxent
    >>> rng = np.random.default_rng(1)
    >>> background = rng.uniform(size=(300, 2))
    >>> presences = background[(background > 0.6).all(axis=1)]  # warm and wet
    >>> X, y = np.vstack([presences, background]), np.repeat([1, 0], [len(presences), 300])
    >>> model = StructMaxent("l,trees:4", lam=0.01, beta=0.01).fit(X, y)
    >>> model.solution_.status, model.predict([[0.8, 0.8], [0.8, 0.2]]).round(1).tolist()
    ('converged', [0.7, 0.0])
    """

    families: str | Sequence[str] = "auto,trees:8,mono:4"
    lam: float | str = "auto"
    beta: float | str = "auto"
    entropy: float | str = 1.0
    _: KW_ONLY
    complexity: str = "bound"
    solver: str = "newton"
    multiplier: float = 1.0
    knots: Knots = "maxent"
    folds: int = 5
    repeats: int = 2
    grid: Sequence[float] | None = None
    tolerance: float = 1e-4
    max_iterations: int | None = None
    seed: int = 1
    random_state: int | None = None

    def _fit_data(
        self, data: TrainingData, start: SpeciesEstimator | Model | None = None, progress: Progress | None = None
    ) -> Self:
        """Fit to a domain and a sample; `start` is not used, since the features are searched again."""
        self._data = data
        ordinary, growing = parse_families(self.families, data.size)
        if not ordinary and self.lam == np.inf:
            raise ConflictError(f"families={self.families!r}, lam=inf: no feature remains; add classes, or 'auto'")
        if self.entropy == "auto" and not ordinary:
            raise ConflictError("entropy='auto' needs ordinary feature classes: add 'auto' to the families")
        self.entropy_, self.order_search_ = self._plain(ordinary)._choose_entropy(data)
        self.search_: list[PenaltySetting] = []
        self.lam_, self.beta_ = self._choose(data, ordinary, growing, progress)
        parts = self._parts(data, ordinary, growing)
        self.growth_ = parts.growth(data.sample, data.size, self.lam_, self.beta_)
        self.solution_ = self._grow(self.growth_)
        self.problem_, self.feature_set_ = self.growth_.problem, self.growth_.problem.features
        self.coef_ = self.solution_.weights
        self.notes_ = [*parts.notes, *self._excluded(growing), *order_notes(self.entropy_, self.order_search_)]
        lam = self.lam_ if np.isfinite(self.lam_) else None
        record = {"classes": ordinary, "families": growing, "lambda": lam, "beta": self.beta_}
        self.model_ = self._problem_model(self.problem_, record)
        return self

    def _plain(self, classes: str) -> Maxent:
        """Return the model of the ordinary classes alone, with the same penalties."""
        names = ("multiplier", "entropy", "knots", "tolerance", "max_iterations")
        return Maxent(classes or "l", seed=self.used_seed, **{name: getattr(self, name) for name in names})

    def _grow(self, growth: Growth) -> Solution:
        """Solve with the chosen solver; without growing families as `Maxent` does."""
        if np.isinf(self.lam_):
            return self._plain("").changed(solver=self.solver)._solve(growth.problem)
        if self.solver == "newton":
            rounds = self.max_iterations or 200
            solution = solve_structural(growth, tolerance=self.tolerance, max_iterations=rounds)
        else:
            rounds, version = self.max_iterations or 500, int(self.solver[-1])
            solution = solve_growing(growth, version, tolerance=self.tolerance, max_iterations=rounds)
        if solution.status != "converged":
            log.warning("%s: %s", solution.status, solution.message)
        return solution

    def _excluded(self, growing: dict[str, int]) -> list[str]:
        """Return the note on growing families that the choice of λ excluded."""
        if not np.isinf(self.lam_) or self.lam != "auto":
            return []
        why = "held-out loss shows no clear gain" if self.search_ else "there are too few presences to show a gain"
        return [f"{', '.join(growing)}: dropped, because {why}"]

    def _certificate(self, features: int) -> Numbers:
        """Return the coverage of the duality gap: with growing families, the features that the search found."""
        families = [oracle.name for oracle in self.growth_.oracles]
        return certified_found(self.solution_.gap, features, families) if families else super()._certificate(features)

    def _default_joining(self) -> str:
        return default_joining(self.knots)

    def check_options(self) -> None:
        """Raise OptionError for parameters that are out of range or contradict each other; data are not needed."""
        check_knots(self.knots)
        super().check_options()
        for name in ("lam", "beta"):
            value = getattr(self, name)
            highest = np.inf if name == "lam" else np.finfo(float).max
            if value != "auto" and not (isinstance(value, (int, float)) and 0 <= value <= highest):
                raise OptionError(f"{name}={value!r}: expected a number of at least 0, or 'auto'")
        if self.lam == 0 and self.beta == 0:
            raise ConflictError("lam and beta are both 0, so that features have no penalty: expected one above 0")
        if self.solver not in SOLVERS:
            raise OptionError(f"solver={self.solver!r}: expected one of {', '.join(SOLVERS)}")
        expect_one_of("complexity", self.complexity, COMPLEXITIES)
        if self.folds < 1:
            raise OptionError(f"folds={self.folds!r}: expected 1 (a single split) or more")
        if self.repeats < 1:
            raise OptionError(f"repeats={self.repeats!r}: expected 1 or more")

    def _bounds(self, oracles: list[Oracle], data: TrainingData) -> dict[str, Array]:
        """Return `B_k` of every oracle."""
        if self.complexity == "sample":
            return {o.name: sample_complexity(o, data.domain, data.sample, seed=self.used_seed) for o in oracles}
        return FamilyPenalty.from_bounds(1.0, 0.0, oracles, data.size).bounds

    def _parts(self, data: TrainingData, ordinary: str, growing: dict[str, int]) -> "StructuralParts":
        """Return the parts that all problems on a domain share."""
        oracles, plain = make_oracles(data.domain, growing), self._plain(ordinary)
        built = plain._build(data, ordinary) if ordinary else None
        features, notes = (None, []) if built is None else (built.features, built.notes)
        return StructuralParts(plain, data.domain, oracles, self._bounds(oracles, data), features, self.entropy_, notes)

    def _choose(
        self, data: TrainingData, ordinary: str, growing: dict[str, int], progress: Progress | None
    ) -> tuple[float, float]:
        """Return λ and β, chosen by held-out loss where they are 'auto'."""
        paths = self._paths(data.size)
        (beta, lambdas), *more = paths.items()
        if lambdas == [np.inf]:
            return FINITE_ONLY
        if len(lambdas) == 1 and not more:
            return lambdas[0], beta
        optional = self.lam == "auto" and bool(ordinary)
        count = np.count_nonzero(data.sample)
        if count < FEWEST:
            if optional:
                return FINITE_ONLY
            raise OptionError(f"{count} presences are too few to choose penalties: set lam and beta")
        rng = np.random.default_rng([self.used_seed, 2])
        data = _thinned(data, rng)
        parts = self._parts(data, ordinary, growing)
        repeats = []
        for _ in range(self.repeats):
            folds = []
            for held_out in _held_out(data.sample, self.folds, rng):
                part = data.sample.copy()
                part[held_out] = 0.0
                share = float(part.sum())
                begin = partial(parts.growth, part / share, data.size * share)
                folds.append(PenaltyFold(held_out, begin, data.n_background))
            repeats.append(folds)
        best, self.search_ = search_penalties(repeats, data.sample, paths=paths, optional=optional, progress=progress)
        return best.lam, best.beta

    def _paths(self, size: float) -> dict[float, list[float]]:
        """Return the values of λ to try for each β."""
        by_size = {float(beta / np.sqrt(size)): list(lambdas) for beta, lambdas in PATHS.items()}
        betas = (self.grid or by_size) if self.beta == "auto" else [float(cast(float, self.beta))]
        if self.lam != "auto":
            return {beta: [float(self.lam)] for beta in betas}
        if self.grid is None and self.beta == "auto":
            return by_size
        return {beta: list(self.grid or LAMBDAS) for beta in betas}


@dataclass(frozen=True)
class StructuralParts:
    """The parts that all problems on a domain share, for any sample and penalties."""

    plain: Maxent
    domain: Domain
    oracles: list[Oracle]
    bounds: dict[str, Array]
    finite: FeatureSet | None
    entropy: float
    notes: list[str]

    def growth(self, sample: Array, size: float, lam: float, beta: float) -> Growth:
        """Return the initial problem on a sample."""
        beta_finite = np.empty(0) if self.finite is None else self.plain._penalties(self.finite, sample, size)
        features = self.finite or FeatureSet(self.domain, [])
        problem = Problem(features, sample, Entropy(self.entropy), L1(beta_finite))
        return Growth(problem, self.oracles if np.isfinite(lam) else [], FamilyPenalty(lam, beta, self.bounds))


def _thinned(data: TrainingData, rng: np.random.Generator) -> TrainingData:
    """Return the data with at most `CHOICE` random background cells, which are enough to choose penalties."""
    if data.n_background <= CHOICE:
        return data
    domain = data.domain
    drawn = np.sort(rng.choice(data.n_background, CHOICE, replace=False))
    cells = np.concatenate([drawn, np.setdiff1d(np.flatnonzero(data.sample), drawn)])
    x = np.column_stack([a.values[code[cells]] for a, code in zip(domain.variables, domain.codes)])
    names = [a.name for a in domain.variables]
    smaller = Domain(x, names, [a.name for a in domain.variables if a.categorical], domain.q0[cells])
    return replace(data, domain=smaller, sample=data.sample[cells], n_background=CHOICE)


def _held_out(sample: Array, folds: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Divide the cells with presences at random; return the held-out cells of each fold."""
    cells = rng.permutation(np.flatnonzero(sample))
    if folds == 1:
        return [cells[: max(1, round(0.3 * cells.size))]]
    return np.array_split(cells, min(folds, cells.size))
