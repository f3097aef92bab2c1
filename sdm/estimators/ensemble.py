"""`Ensemble`: the mean of a committee and of the species on the axes of its group, combined into one model.

If the axes have features of place, axes of the environment alone are a third member, and the committee is without
place.
"""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from sdm.data.encode import NamedNumbers
from sdm.data.place import without_place
from sdm.errors import InapplicableError, OptionError
from sdm.estimators.committee import Committee
from sdm.estimators.on_axes import OnAxes
from sdm.estimators.sample import TrainingData
from sdm.estimators.species import SpeciesEstimator
from sdm.features.shapes import Shapes
from sdm.features.terms import Terms
from sdm.maxent.entropy import Entropy
from sdm.models.interface import ModelVariable, with_weights
from sdm.models.species import Model
from sdm.types import Numbers, Progress, TableLike

# parameters of its committee
SHARED = ("multiplier", "tolerance", "max_iterations", "add_presences", "prevalence", "unseen")


@dataclass(eq=False, repr=False)
class Ensemble(SpeciesEstimator):
    """The mean score of a committee of the species and of the species on the shared axes of its group.

    Parameters
    ----------
    axes : OnAxes
        The species on the axes of its group.
    environment : OnAxes, optional
        The species on axes of the environment alone, if `axes` has features of place.
    multiplier, categorical, tolerance, max_iterations, add_presences, prevalence, unseen, temperature
        As for `Committee`.

    Attributes
    ----------
    committee_ : Committee
        The fitted committee.
    on_axes_ : OnAxes
        The fitted species on shared axes.
    members_ : list of estimators
        All members, with equal weights.
    model_, solution_, notes_
        As for `Maxent`. `gap` is the largest gap of the members, in nats; the mean is not the optimum of an objective.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import SharedMaxent
    >>> from sdm.estimators.ensemble import Ensemble
    >>> from sdm.estimators.on_axes import OnAxes
    >>> rng = np.random.default_rng(1)
    >>> sites = rng.normal(size=(300, 2))
    >>> warm, wet = sites[sites[:, 0] > 0.5], sites[sites[:, 1] > 0.5]
    >>> X, species = np.vstack([sites, warm, wet]), [None] * 300 + ["warm"] * len(warm) + ["wet"] * len(wet)
    >>> group = SharedMaxent("l", strength=1.0).fit(X, species).model_
    >>> y = np.repeat([1, 0], [len(warm), 300])
    >>> model = Ensemble(OnAxes(group, "warm")).fit(np.vstack([warm, sites]), y)
    >>> [type(member).__name__ for member in model.members_]
    ['Committee', 'OnAxes']
    >>> bool(np.diff(model.predict([[-1.0, 0.0], [1.0, 0.0]]))[0] > 0)  # more suitable where it is warmer
    True
    """

    axes: OnAxes
    multiplier: float = 1.0
    _: KW_ONLY
    environment: OnAxes | None = None
    max_iterations: int | None = None

    def settings(self) -> Numbers:
        """Return the parameters as JSON values."""
        axes = {"axes": self.axes.settings()}
        if self.environment is not None:
            axes["environment"] = self.environment.settings()
        return axes | {name: getattr(self, name) for name in (*SHARED, "temperature")}

    def for_fold(self, name: str) -> Self:
        """Return the estimator for a fold, with axes that were fitted without its records."""
        environment = None if self.environment is None else self.environment.for_fold(name)
        return self.changed(axes=self.axes.for_fold(name), environment=environment)

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        base_weight: ArrayLike | None = None,
        start: SpeciesEstimator | Model | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit all members to presences (`y` = 1) and background (`y` = 0), and average them.

        Parameters and errors are the same as for `Maxent.fit`, but `start` is refused.
        """
        if start is not None:
            raise InapplicableError("an ensemble does not use start: remove it")
        self.check_options()
        group = self.axes.group
        X = NamedNumbers(group.encoder.encode(X), group.names)  # all members see the same columns
        committee = Committee(categorical=self.categorical, **{name: getattr(self, name) for name in SHARED})
        self.committee_ = committee.fit(_environment(X), y, sample_weight, base_weight=base_weight, progress=progress)
        axes = [one for one in (self.axes, self.environment) if one is not None]
        placed = [one.changed().fit(X, y, sample_weight, base_weight=base_weight) for one in axes]
        self.on_axes_ = placed[0]
        self.members_: list[SpeciesEstimator] = [self.committee_, *placed]
        return self._fit_data(self._read(X, y, sample_weight, base_weight))

    def _fit_data(
        self, data: TrainingData, start: SpeciesEstimator | Model | None = None, progress: Progress | None = None
    ) -> Self:
        """Combine all members into one model, with equal shares of their weights."""
        members, part = self.members_, 1.0 / len(self.members_)
        self._data, domain = data, data.domain
        columns = [domain.spread(v, variable.values) for v, variable in enumerate(domain.variables)]
        # Variables of place come last, so that members without them have the same numbers for all others.
        theta = np.mean([m.model_.compiled.scores(columns[: len(m.model_.names)]) for m in members], axis=0)
        self.entropy_ = 1.0
        gibbs = Entropy(self.entropy_).gibbs(theta, domain.q0)
        parts = [with_weights(m.model_.terms, m.model_.shapes, part * m.model_.weights) for m in members]
        terms = Terms.concatenate([one for one, _ in parts])
        shapes = Shapes.concatenate([two for _, two in parts])
        self.coef_ = np.concatenate([terms.weight, shapes.weight])
        objective = part * sum(m.solution_.objective for m in members)
        self.solution_ = self._mean_solution(members, objective, gibbs.tau, domain.q0 * gibbs.ratio)
        self.notes_ = list(dict.fromkeys(note for m in members for note in m.notes_))
        classes = ", ".join(str(m.model_.meta["classes"]) for m in members)
        record = {
            "classes": classes,
            "members": len(members) - 1 + len(self.committee_.members_),
            "n_features": len(self.coef_),
            "conjugate": gibbs.conjugate,
        }
        record["shared"] = self.on_axes_.model_.meta["shared"]
        model = self._species_model(terms, shapes, record, lambda: theta)
        wide = tuple(_widest(*pair) for pair in zip(model.variables, self.on_axes_.model_.variables))
        self.model_ = replace(model, variables=wide)
        return self

    def _certificate(self, features: int) -> Numbers:
        """Return the coverage of the members' duality gaps; their mean has no objective."""
        committee, *axes = (member.model_.meta["certificate"] for member in self.members_)
        return {**committee, "text": "; shared axes ".join([committee["text"], *(one["text"] for one in axes)])}

    @property
    def feature_names_(self) -> list[str]:
        """Return the name of every feature, in the order of `coef_`."""
        return self.model_.feature_names


def _environment(x: NamedNumbers) -> NamedNumbers:
    """Return the columns without the variables of place, which come last."""
    names = without_place(x.columns)
    if names != tuple(x.columns[: len(names)]):
        raise OptionError("spatial variables must be the last ones")
    return NamedNumbers(x.values[:, : len(names)], names)


def _widest(one: ModelVariable, other: ModelVariable) -> ModelVariable:
    """Return a variable with the range and the categories of both members."""
    classes = tuple(sorted({*one.classes, *other.classes}))
    return replace(one, lo=min(one.lo, other.lo), hi=max(one.hi, other.hi), classes=classes, labels=other.labels)
