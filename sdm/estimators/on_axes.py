"""`OnAxes`: a species on the axes of a group; either a member of the group or a new species with few records.

With the axes `A` of a group fixed, balanced as in the nuclear norm, the problem for one species is

    min_b  ln Σ_i q_i e^{z_i·b} − z̃·b + μ/(2π) ‖b‖²

with the sites `z` on the axes and the species' share `π` of all records. It is strictly convex in a few numbers. For a
member of the group its solution is the species' place in the fit of the group.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from time import perf_counter
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from sdm.data.encode import NamedNumbers
from sdm.errors import VariableError
from sdm.estimators.sample import TrainingData
from sdm.estimators.species import SpeciesEstimator
from sdm.maxent.certificate import certified, certified_group
from sdm.maxent.entropy import Entropy
from sdm.maxent.solution import CONVERGED, STALLED, Solution
from sdm.maxent.solvers.descent import Curved, minimise_by_newton
from sdm.models.group import GroupModel
from sdm.models.interface import ModelVariable
from sdm.models.species import Model
from sdm.shared.factors import Factors
from sdm.types import Array, Numbers, Progress, TableLike

_STEPS = 200  # limit of Newton's method, which needs about six
_GAP = 1e-12  # nats


@dataclass(eq=False, repr=False)
class OnAxes(SpeciesEstimator):
    """One species on the axes of a group.

    A member of the group has its place from the fit of the group. A new species is placed by its records: the model has
    slopes along the axes, with the penalty of the group's species. Three records are enough for a cautious model.

    Parameters
    ----------
    group : GroupModel
        The fitted group.
    species : str, optional
        A member of the group; by default the records determine the place.
    without : mapping of str to GroupModel, optional
        Groups fitted without the records of a fold, by the name of the fold.
    categorical, tolerance, add_presences, prevalence, unseen, temperature
        As for `Maxent`.

    Attributes
    ----------
    place_ : (r,) array
        Slopes of the log density along the axes, in nats per standard deviation.
    model_, solution_, notes_
        As for `Maxent`; a member of the group has the duality gap of the group.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import SharedMaxent
    >>> from sdm.estimators.on_axes import OnAxes
    >>> rng = np.random.default_rng(1)
    >>> sites = rng.normal(size=(300, 2))
    >>> warm, wet = sites[sites[:, 0] > 0.5], sites[sites[:, 1] > 0.5]
    >>> X, species = np.vstack([sites, warm, wet]), [None] * 300 + ["warm"] * len(warm) + ["wet"] * len(wet)
    >>> group = SharedMaxent("l", strength=1.0).fit(X, species).model_
    >>> rare = OnAxes(group).fit(np.vstack([warm[:3], sites]), np.repeat([1, 0], [3, 300]))  # three records
    >>> len(rare.place_), rare.solution_.status
    (2, 'converged')
    >>> bool(np.diff(rare.predict([[-1.0, 0.0], [1.0, 0.0]]))[0] > 0)  # more suitable where it is warmer
    True
    """

    group: GroupModel
    species: str | None = None
    _: KW_ONLY
    without: Mapping[str, GroupModel] | None = None

    def settings(self) -> Numbers:
        """Return the parameters as JSON values, with the identity of the group."""
        settings: Numbers = {"species": self.species, "group": self.group.identity, "axes": self.group.rank}
        names = ("tolerance", "add_presences", "prevalence", "unseen", "temperature")
        return settings | {"categorical": list(self.categorical)} | {name: getattr(self, name) for name in names}

    def for_fold(self, name: str) -> Self:
        """Return the estimator for a fold: with the group that was fitted without its records."""
        return self if self.without is None else self.changed(group=self.without[name], without=None)

    def _read(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None, base_weight: ArrayLike | None = None
    ) -> TrainingData:
        """Turn labelled rows into a domain of the variables of the group, and a sample."""
        self.categorical = list(self.group.categorical)
        missing = [name for name in self.group.names if hasattr(X, "columns") and name not in X.columns]
        if missing:
            raise VariableError(f"variables of the group's axes are missing: {', '.join(missing)}")
        values = NamedNumbers(self.group.encoder.encode(X), self.group.names)
        return super()._read(values, y, sample_weight, base_weight)

    def _fit_data(
        self, data: TrainingData, start: SpeciesEstimator | Model | None = None, progress: Progress | None = None
    ) -> Self:
        """Place the species and make its model; `start` is not used."""
        group, domain, began = self.group, data.domain, perf_counter()
        self._data, self.notes_ = data, []
        columns = [domain.spread(v, variable.values) for v, variable in enumerate(domain.variables)]
        if self.species is None:
            placed = place_species(group, group.axis_scores(columns), domain.q0, data.sample, data.size)
            self.place_, rest, gap, steps = placed.place, np.zeros(len(group.spread)), placed.gap, placed.steps
            status = CONVERGED if gap <= self.tolerance else STALLED
        else:
            member = group.position(self.species)
            self.place_, rest = group.places[:, member], group.own[:, member]
            gap, steps, status = (group.meta[name] for name in ("gap", "iterations", "status"))
        self.coef_ = (group.axes @ self.place_ + rest) / group.spread
        theta = group.scores_of(columns, self.place_, rest)
        self.entropy_ = 1.0
        gibbs = Entropy(self.entropy_).gibbs(theta, domain.q0)
        loss = gibbs.tau - float(data.sample @ theta)
        penalty = place_penalty(group, data.size) * float(np.sum((place_root(group) @ self.place_) ** 2))
        p, taken = domain.q0 * gibbs.ratio, perf_counter() - began
        self.solution_ = Solution(status, self.coef_, loss + penalty, float(gap), int(steps), taken, gibbs.tau, p)
        record = {"classes": group.meta["classes"], "n_features": len(group.spread), "conjugate": gibbs.conjugate}
        record["shared"] = {"group": group.identity, "axes": group.rank, "species": len(group.species)}
        features = group.weights_of(self.place_, rest)
        self.model_ = replace(
            self._species_model(*features, record, lambda: theta), variables=_titled(group.variables, data)
        )
        return self

    def _certificate(self, features: int) -> Numbers:
        """Return the coverage of the duality gap: all species of the group together, or the slopes along fixed axes."""
        gap = self.solution_.gap
        return certified_group(gap) if self.species is not None else certified(gap, "all slopes along the given axes")

    @property
    def feature_names_(self) -> list[str]:
        """Return the name of every feature, in the order of `coef_`."""
        return self.model_.feature_names


def _titled(variables: tuple[ModelVariable, ...], data: TrainingData) -> tuple[ModelVariable, ...]:
    """Return the variables and ranges of the group, with the names of categories of the data."""
    return tuple(replace(a, labels=data.encoder.labels.get(a.name, a.labels)) for a in variables)


@dataclass(frozen=True)
class Placed:
    """The slopes of a species along the axes of its group, the duality gap and the number of steps."""

    place: Array
    gap: float
    steps: int


def place_penalty(group: GroupModel, size: float) -> float:
    """Return `μ/(2π)` for a species with the given (effective) number of records."""
    return group.penalty * (float(group.records.sum()) + size) / (2.0 * size)


def place_root(group: GroupModel) -> Array:
    """Return the matrix `(r, r)` from slopes along the displayed axes to slopes along balanced axes."""
    if not group.rank:
        return np.zeros((0, 0))
    balanced = Factors(group.axes, group.places).balanced()
    return np.linalg.lstsq(balanced.a, group.axes, rcond=None)[0].astype(np.float64)


def place_species(group: GroupModel, axes: Array, q0: Array, sample: Array, size: float) -> Placed:
    """Place a species on the axes of a group by its records.

    `axes` (r, n) are the sites on the axes, `q0` and `sample` the base measure and the records on the sites. The gap
    follows from the strong convexity of the penalty.
    """
    if not group.rank:
        return Placed(np.zeros(0), 0.0, 0)
    root = place_root(group)
    back = np.linalg.inv(root)
    z = back.T @ axes  # scores are slopes · axes = (root slopes) · (root⁻ᵀ axes)
    ridge = 2.0 * place_penalty(group, size)
    target = z @ sample

    def evaluate(b: Array) -> Curved:
        gibbs = Entropy().gibbs(b @ z, q0)
        p = q0 * gibbs.ratio
        mean = z @ p
        value = gibbs.tau - float(target @ b) + 0.5 * ridge * float(b @ b)
        curvature = (z * p) @ z.T - np.outer(mean, mean) + ridge * np.eye(len(b))
        return value, mean - target + ridge * b, curvature

    b, steps = minimise_by_newton(
        evaluate, np.zeros(group.rank), lambda slope, _: float(slope @ slope) <= 2.0 * ridge * _GAP, _STEPS
    )
    slope = evaluate(b)[1]
    return Placed(back @ b, float(slope @ slope) / (2.0 * ridge), steps)
