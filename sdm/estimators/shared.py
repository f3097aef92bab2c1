"""`SharedMaxent`: one convex fit for a group of species whose responses share a few axes of the environment."""

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from itertools import count
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdm._version import __version__
from sdm.data.encode import Encoder
from sdm.data.place import is_place
from sdm.errors import BadValueError, LabelError, MismatchError, NoFeatureError, OptionError, TooFewError
from sdm.estimators.model_parts import feature_names, model_variables, training_reference, used_features
from sdm.estimators.params import Estimator, one_label_per_row, warn_renamed
from sdm.features.classes import features_text, parse_features
from sdm.features.domain import Domain
from sdm.features.family import Family
from sdm.features.feature_set import FeatureSet, build_features
from sdm.features.finite.ridge import RidgeFamily
from sdm.features.knots import Knots, check_knots
from sdm.features.terms import PRODUCT
from sdm.maxent.certificate import certified_group
from sdm.maxent.penalty_weights import penalty_weights
from sdm.models.group import GroupModel
from sdm.shared.choice import STRENGTHS, PathRow, natural_penalty, strength_path
from sdm.shared.factors import Factors, shown_axes
from sdm.shared.fitting import SharedFit, fit_shared
from sdm.shared.problem import Records, SharedProblem
from sdm.types import AnyArray, Array, Progress, TableLike

_NUMBERS = {
    "tolerance": (0.0, np.inf, "a positive gap in nats per record, such as 1e-4"),
    "prevalence": (0.0, 1.0, "a number between 0 and 1"),
    "strength": (0.0, np.inf, "a positive number, or 'auto'"),
    "own": (0.0, np.inf, "a positive multiplier of the species-specific penalties, or None"),
}
_LEAST_DRAWN = 0.1  # smallest scale of a random feature, relative to the mean one
_CONSTANT = 1e-9  # standard deviation below which a feature (scaled to [0, 1]) is constant over the sites


@dataclass(eq=False, repr=False)
class SharedMaxent(Estimator):
    """Maximum-entropy models of several species with shared axes.

    Every species has a density over the same sites, whose logarithm is a linear combination of features. The penalty is
    the nuclear norm of all weights together. It leads to few *axes* of the environment, and each species has a slope
    along each axis. So species with few records borrow the axes from species with many.

    Parameters
    ----------
    features : str or sequence of str
        Classes by letter or name, as for `Maxent`; ``relu:N`` adds random ReLU features.
    strength : "auto" or float
        Strength of the penalty: `c` in `μ = c √(F / 150 N)` with `F` features and `N` records. ``"auto"`` chooses it by
        the records in held-out blocks of sites.
    own : float, optional
        Give each species a specific part in addition to the axes, of linear, quadratic, product and category features.
        Its penalties are Java Maxent's times this multiplier.
    knots : int or {"maxent", "maxnet", "all"}
        Knots of hinges and thresholds; N quantiles by default.
    categorical : sequence of str or int
        Columns of categories.
    tolerance : float
        Largest accepted duality gap, in nats per record of the group.
    strengths : sequence of float, optional
        Candidates for ``strength="auto"``.
    prevalence : float
        Assumed prevalence at average presences, for the logistic scale.
    waves : int
        Number of random waves of place, if X has the variables ``place_x`` and ``place_y``.
    threads : int, optional
        By default the number of processors; results do not depend on it.
    seed : int
        Seed of the random features.
    random_state : int, optional
        Alternative name of `seed` for scikit-learn's tools; it has priority.

    Attributes
    ----------
    model_ : GroupModel
        The axes, the places of all species on them, and their predictions.
    species_ : tuple of str
        The names of the S species, in the order of their first records.
    path_ : list of PathRow
        The candidates for the strength, with held-out losses.
    solution_ : SharedFit
        `.status`, `.gap` (nats per record), `.objective`, `.history`.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import SharedMaxent
    >>> rng = np.random.default_rng(1)
    >>> sites = rng.normal(size=(300, 2))
    >>> warm, wet = sites[sites[:, 0] > 0.5], sites[sites[:, 1] > 0.5]
    >>> X = np.vstack([sites, warm, wet])
    >>> species = [None] * 300 + ["warm"] * len(warm) + ["wet"] * len(wet)
    >>> model = SharedMaxent(features="l", strength=1.0).fit(X, species)
    >>> model.solution_.status, model.model_.rank
    ('converged', 2)
    """

    features: str | Sequence[str] = "lqph"
    strength: str | float = "auto"
    _: KW_ONLY
    own: float | None = None
    knots: Knots = 10
    categorical: Sequence[str | int] = ()
    tolerance: float = 1e-4
    strengths: Sequence[float] = STRENGTHS
    prevalence: float = 0.5
    waves: int = 200
    threads: int | None = None
    seed: int = 1
    random_state: int | None = None

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        base_weight: ArrayLike | None = None,
        blocks: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit to the records of several species and to sites.

        Parameters
        ----------
        X : (n, V) array or data frame
            Variables at records and sites, without missing values.
        y : (n,) array
            The species of each row; None, an empty text or NaN for background sites.
        sample_weight : (n,) array, optional
            Weights of the records; the values of background rows are ignored.
        base_weight : (n,) array, optional
            Base measure of every row, such as sampling effort; by default all are equal. A record with values that no
            site has joins the sites with one S-th of its weight. Otherwise the base measure would grow with the number
            of species S.
        blocks : (n,) array of int, optional
            Block of each row, for ``strength="auto"``; by default five random ones.
        progress : callable, optional
            Called with the number of finished steps, the total and a text, while the strength is chosen.

        Returns
        -------
        self

        Raises
        ------
        OptionError
            If a parameter is out of range.
        DataError
            If X has missing values, an array has the wrong shape, or there are too few records to choose a strength.
        """
        self.check_options()
        encoder, x = self._learn(X)
        self.group_ = group_data(encoder, x, one_label_per_row(y, len(x)), sample_weight, base_weight)
        return self._fit_group(self.group_, None if blocks is None else np.asarray(blocks), progress)

    def _fit_group(self, group: "GroupData", blocks: AnyArray | None, progress: Progress | None) -> Self:
        self.species_ = group.species
        classes, rectified = parse_features(self.features, float(group.counts.sum()))
        self.features_ = Standardised.of(self._features(group, classes, rectified))
        threads = self.threads or os.cpu_count() or 1
        problem = SharedProblem(self.features_.phi, group.domain.q0, group.records, threads)
        self.path_, start, strength = self._choose(problem, group, blocks, progress)
        penalty = natural_penalty(strength, problem.features, float(group.counts.sum()))
        specific = None if self.own is None else self._specific_penalties(group)
        # specific parts need fewer axes, and removing superfluous axes is slow
        start = start if specific is None else None
        self.solution_: SharedFit = fit_shared(problem, penalty, start, specific, tolerance=self.tolerance)
        self.model_ = self._model(problem, group, strength, features_text(classes, rectified))
        return self

    def _features(self, group: "GroupData", classes: str, rectified: int) -> FeatureSet:
        """Return the features; the variables of place have waves only."""
        domain, rng = group.domain, np.random.default_rng(self.used_seed)
        place = [v for v, variable in enumerate(domain.variables) if is_place(variable.name)]
        ridges = []
        if rectified:
            others = [int(v) for v in domain.continuous if v not in place]
            ridges.append(RidgeFamily.rectified(domain, rectified, rng, others))
        if place and self.waves:
            ridges.append(RidgeFamily.waves(domain, int(self.waves), rng, place))
        sample = group.samples.sum(axis=0) / group.samples.sum()
        built = build_features(domain, classes, knots=self.knots, sample=sample, empty_categories=True, ridges=ridges)
        if not place:
            return built
        keep = np.concatenate([_plain(family, place) for family in built.families])
        return built.subset(keep)

    def _choose(
        self, problem: SharedProblem, group: "GroupData", blocks: AnyArray | None, progress: Progress | None
    ) -> tuple[list[PathRow], Factors | None, float]:
        """Return the path, the factors to start from, and the strength."""
        if not isinstance(self.strength, str):
            return [], None, float(self.strength)
        cells = group.random_blocks() if blocks is None else group.block_of_cells(blocks)
        total, done = len(self.strengths) * (int(cells.max()) + 1), count(1)

        def step(text: str) -> None:
            if progress is not None:
                progress(next(done), total, f"shared axes, {text}")

        path, factors = strength_path(problem, group.counts, cells, self.strengths, step=step)
        chosen = next((k for k, row in enumerate(path) if row.chosen), None)
        if chosen is None:
            raise TooFewError("there are too few records at different places to choose a strength: set one, such as 1")
        return path, factors[chosen], path[chosen].strength

    def _specific_penalties(self, group: "GroupData") -> Array:
        """Return the penalties of the species-specific parts: Java Maxent's, for features of standard deviation 1.

        Hinges, thresholds and random features are for the axes only, because there are many similar ones.
        """
        features = self.features_.features
        many = np.isin(features.letters(), ["h", "t", "r"])
        beta = [
            penalty_weights(features, sample, size, rule="maxent", multiplier=float(self.own or 1.0))
            for sample, size in zip(group.samples, group.sizes)
        ]
        out = np.column_stack(beta) / self.features_.spread[:, None]
        out[many] = np.inf
        return out

    def _model(self, problem: SharedProblem, group: "GroupData", strength: float, classes: str) -> GroupModel:
        fit, standardised, domain = self.solution_, self.features_, group.domain
        axes, places, explained = shown_axes(problem, fit.factors)
        used = np.ones(problem.features)
        terms, shapes, _ = used_features(standardised.features.families, used[None, :])
        order = standardised.order
        spread = problem.phi @ axes
        ranges = np.column_stack([spread.min(axis=0), spread.max(axis=0)]) if axes.size else np.empty((0, 2))
        weight = problem.records.weight
        expected = np.sum(problem.gradient(fit.state.mass) * fit.weights, axis=0) / weight
        expected = expected + np.sum(problem.means * fit.weights, axis=0) / weight
        entropy = np.log(domain.n) - (expected - fit.state.normaliser)
        meta = {
            "version": __version__,
            "status": fit.status,
            "gap": fit.gap,
            "certificate": certified_group(fit.gap),
            "loss": fit.state.loss,
            "iterations": len(fit.history),
            "presences": round(float(group.counts.sum())),
            "classes": classes,
            "n_features": problem.features,
            "spatial": any(is_place(name) for name in group.encoder.names),
            "seed": self.used_seed,
            "path": [asdict(row) for row in self.path_],
            "supported": next((row.supported for row in self.path_ if row.chosen), None),
            "settings": self.settings(),
        }
        return GroupModel(
            model_variables(domain, group.encoder),
            terms,
            group.species,
            standardised.centre[order],
            standardised.spread[order],
            axes[order],
            places,
            fit.specific[order],
            group.sizes,
            fit.state.normaliser,
            entropy,
            explained,
            ranges,
            domain.n,
            strength,
            fit.strength,
            float(self.prevalence),
            meta,
            shapes,
            training_reference(domain, list(group.samples)),
        )

    def predict(self, X: TableLike, scale: str = "cloglog") -> Array:
        """Predict every species.

        Parameters
        ----------
        X : (n, V) array or data frame
            Raw values of the variables; a data frame's columns are matched by name.
        scale : {"cloglog", "raw", "logistic", "link"}
            As for `Maxent.predict`.

        Returns
        -------
        (n, S) array
            One row per point, one column per species, in the order of `species_`; NaN where a variable is missing.

        Raises
        ------
        DataError
            If the estimator is not fitted, or X has other columns than the fit.
        """
        table = self._checked(X)
        return self.model_.values(table, scale)

    def score(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean log density ratio of the records to the sites, in nats per record.

        Rows without a species of the model are ignored.
        """
        table = self._checked(X)
        theta = self.model_.values(table, "link") + np.log(self.model_.n_domain)
        number = {name: s for s, name in enumerate(self.species_)}
        of = np.array([number.get(name, -1) for name in _species_of(y, len(theta))])
        if not np.any(of >= 0):
            raise LabelError(f"y has no record of the species of the model ({', '.join(self.species_[:5])})")
        weight = np.ones(len(theta)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(np.average(theta[np.arange(len(theta)), of][of >= 0], weights=weight[of >= 0]))

    @property
    def fit_(self) -> SharedFit:
        """Return `solution_`; deprecated name."""
        warn_renamed("SharedMaxent.fit_", "solution_", "0.3")
        return self.solution_

    @property
    def feature_names_(self) -> list[str]:
        """Return the name of every feature."""
        return feature_names(self.features_.features.families, self.model_.variables)

    def check_options(self) -> None:
        """Raise OptionError for parameters that are out of range or contradict each other; data are not needed."""
        check_knots(self.knots)
        _ = self.used_seed
        self.check_numbers(_NUMBERS, {"strength": "auto", "own": None})
        if not len(self.strengths) or not all(number > 0 for number in self.strengths):
            raise OptionError(f"strengths={self.strengths!r}: expected positive numbers")


@dataclass(frozen=True)
class Standardised:
    """Non-constant features at every cell, centred and divided by their standard deviation."""

    features: FeatureSet
    phi: Array
    centre: Array
    spread: Array
    order: NDArray[np.int64]  # order of the features in a model

    @classmethod
    def of(cls, built: FeatureSet) -> "Standardised":
        """Return the standardised features of a set at the cells of its domain."""
        q = built.domain.q0
        columns = np.column_stack([built.column(j) for j in range(built.size)])
        centre = q @ columns
        columns -= centre
        spread = np.sqrt(np.maximum(q @ columns**2, 0.0))
        keep = spread > _CONSTANT
        drawn = (built.letters() == "r") & keep
        if drawn.any():  # avoid scaling up random features that hardly vary
            spread[drawn] = np.maximum(spread[drawn], _LEAST_DRAWN * np.sqrt(np.mean(spread[drawn] ** 2)))
        if not keep.any():
            raise NoFeatureError("there is no feature to fit: every variable is constant over the sites")
        columns, centre, spread = columns[:, keep] / spread[keep], centre[keep], spread[keep]
        varying = built if keep.all() else built.subset(keep)
        numbers = np.arange(1, varying.size + 1, dtype=np.float64)[None, :]
        *_, placed = used_features(varying.families, numbers)
        return cls(varying, np.ascontiguousarray(columns), centre, spread, placed[0].astype(np.int64) - 1)


@dataclass(frozen=True)
class GroupData:
    """Sites and the records of a group, as cells without duplicates."""

    encoder: Encoder
    domain: Domain
    species: tuple[str, ...]
    counts: Array  # total weight of the records of each species
    sizes: Array  # effective number of records of each species
    samples: Array  # (S, n): the records of each species on the cells, with sum one
    records: Records
    cell: NDArray[np.int64]  # the cell of every row

    def random_blocks(self, folds: int = 5) -> NDArray[np.int64]:
        """Return a random block for each cell."""
        return np.random.default_rng(1).permutation(np.arange(self.domain.n) % folds)

    def block_of_cells(self, blocks: AnyArray) -> NDArray[np.int64]:
        """Return the block of each cell, numbered from 0 on: the block of its first row."""
        if blocks.shape != self.cell.shape:
            raise MismatchError(f"blocks has shape {blocks.shape}, expected one for each of {self.cell.size:,} rows")
        _, numbers = np.unique(blocks, return_inverse=True)
        out = np.zeros(self.domain.n, dtype=np.int64)
        out[self.cell[::-1]] = numbers.ravel()[::-1]
        return out


def group_data(
    encoder: Encoder,
    x: Array,
    species: ArrayLike,
    sample_weight: ArrayLike | None,
    base_weight: ArrayLike | None,
) -> GroupData:
    """Convert rows with species to cells, a base measure and samples."""
    labels = _species_of(species, len(x))
    names = tuple(dict.fromkeys(label for label in labels if label))
    if not names:
        raise LabelError("species has no name: expected the species of every record")
    number = {name: s for s, name in enumerate(names)}
    of = np.array([number.get(label, -1) for label in labels])
    weight, base = (
        np.ones(len(x)) if numbers is None else np.asarray(numbers, dtype=np.float64)
        for numbers in (sample_weight, base_weight)
    )
    for argument, values in (("sample_weight", weight), ("base_weight", base)):
        if values.shape != (len(x),) or not np.all(np.isfinite(values)) or np.any(values < 0):
            raise BadValueError(f"{argument}: expected one number for each of the {len(x):,} rows, none below zero")
    rows, cell = np.unique(x, axis=0, return_inverse=True)
    cell = cell.ravel().astype(np.int64)
    present = of >= 0
    q = np.bincount(cell[~present], base[~present], len(rows)).astype(np.float64)
    joins = np.zeros(len(rows))
    joins[cell[present]] = base[present] / len(names)  # each place once, independent of its number of records
    q = np.where(q > 0.0, q, np.maximum(joins, np.finfo(float).tiny * 1e10))
    domain = Domain(rows, encoder.names, encoder.categorical, q)
    amount = weight[present]
    counts = np.bincount(of[present], amount, len(names)).astype(np.float64)
    if np.any(counts <= 0):
        raise BadValueError(f"all records of '{names[int(np.argmin(counts))]}' have the weight zero")
    sizes = counts**2 / np.bincount(of[present], amount**2, len(names))
    key, first = np.unique(of[present] * len(rows) + cell[present], return_inverse=True)
    total = np.bincount(first.ravel(), amount)
    site, member = key % len(rows), key // len(rows)
    share = total / counts[member]
    samples = np.zeros((len(names), len(rows)))
    samples[member, site] = share
    records = Records(site, member, share, counts / counts.sum())
    return GroupData(encoder, domain, names, counts, sizes, samples, records, cell)


def _species_of(species: ArrayLike, rows: int) -> list[str]:
    """Return the name of the species of each row; empty for background."""
    listed = list(np.asarray(species, dtype=object).ravel())
    if len(listed) != rows:
        raise MismatchError(f"species has {len(listed):,} entries, expected one for each of the {rows:,} rows of X")
    return ["" if one is None or one == "" or one != one else str(one) for one in listed]


def _plain(family: Family, place: Sequence[int]) -> NDArray[np.bool_]:
    """Return a mask of the features that do not depend on place; random features were drawn without it."""
    if isinstance(family, RidgeFamily):
        return np.ones(family.size, dtype=bool)
    terms = family.terms()
    return np.asarray(~np.isin(terms.var, place) & ~((terms.kind == PRODUCT) & np.isin(terms.other, place)))
