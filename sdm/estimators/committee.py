"""`Committee`: the mean of five models with different features, combined into one model."""

from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np

from sdm.errors import OptionError
from sdm.estimators.maxent import Maxent
from sdm.estimators.sample import TrainingData
from sdm.estimators.species import SpeciesEstimator
from sdm.features.classes import auto_classes
from sdm.features.feature_set import FeatureSet
from sdm.maxent.certificate import MEMBERS
from sdm.maxent.entropy import Entropy
from sdm.maxent.penalty import L1
from sdm.maxent.problem import Problem
from sdm.models.species import Model
from sdm.progress.telling import step_by_step
from sdm.types import Numbers, Progress

# The first four members count a sixth each, the smooth one a third.
WEIGHTS = (1 / 6, 1 / 6, 1 / 6, 1 / 6, 1 / 3)
_SMOOTH = 10.0  # factor of the multiplier in the squared penalty of the smooth member


@dataclass(eq=False, repr=False)
class Committee(SpeciesEstimator):
    """The average of five Maxent models: the mean of their scores, which is a geometric mean of their densities.

    The members differ in features and penalties:

    1. Java Maxent's feature classes by sample size.
    2. The same with maxnet's knots.
    3. Java Maxent's feature classes without hinges.
    4. Thresholds alone.
    5. A smooth model with ten knots and a squared penalty, which counts twice as much as each of the others.

    Members 1 to 4 have Java Maxent's penalties. Every member is fitted to the optimum of its problem, on the same
    domain. The mean of scores is a score over all their features. So the committee is one model that predicts,
    maps and is saved like any other.

    Parameters
    ----------
    multiplier : float
        Multiplies the penalties of every member.
    categorical, tolerance, max_iterations, add_presences, prevalence, unseen, temperature
        As for `Maxent`.

    Attributes
    ----------
    members_ : list of Maxent
        The fitted members.
    solution_ : Solution
        `gap` is the largest gap of the members, in nats; the mean is not the optimum of an objective.
    coef_, feature_set_, model_, notes_
        As for `Maxent`, over the features of all members.

    Examples
    --------
    >>> import numpy as np
    >>> from sdm import Committee
    >>> rng = np.random.default_rng(1)
    >>> X = np.vstack([rng.normal(0.5, 0.5, size=(30, 2)), rng.normal(size=(300, 2))])
    >>> y = np.repeat([1, 0], [30, 300])
    >>> model = Committee().fit(X, y)
    >>> len(model.members_), bool(model.solution_.gap <= 1e-6)
    (5, True)
    >>> model.predict([[0.5, 0.5], [3.0, 3.0]]).round(1).tolist()
    [0.8, 0.0]
    """

    multiplier: float = 1.0
    _: KW_ONLY
    max_iterations: int | None = None

    def _fit_data(
        self, data: TrainingData, start: SpeciesEstimator | Model | None = None, progress: Progress | None = None
    ) -> Self:
        """Fit every member to the same domain, starting from the members of an earlier committee, and average them."""
        if start is not None and not isinstance(start, Committee):
            raise OptionError(f"a committee can start from a committee, got {type(start).__name__}")
        self._data = data
        earlier: list[Maxent | None] = [None] * len(WEIGHTS) if start is None else [*start.members_]
        pairs = [*zip(self._members(data.size), earlier)]
        self.members_: list[Maxent] = [
            member._fit_data(data, begin) for member, begin in step_by_step(pairs, progress, "members of the committee")
        ]
        self.feature_set_ = FeatureSet(data.domain, [f for m in self.members_ for f in m.feature_set_.families])
        self.coef_ = np.concatenate([share * member.coef_ for share, member in zip(WEIGHTS, self.members_)])
        beta = np.concatenate([member.problem_.penalty.beta for member in self.members_])
        self.entropy_ = 1.0
        self.problem_ = Problem(self.feature_set_, data.sample, Entropy(self.entropy_), L1(beta))
        state = self.problem_.state(self.coef_)
        self.solution_ = self._mean_solution(self.members_, state.objective, state.gibbs.tau, state.p)
        self.notes_ = list(dict.fromkeys(note for member in self.members_ for note in member.notes_))
        classes = {letter for member in self.members_ for letter in member.model_.meta["classes"]}
        record = {"classes": "".join(sorted(classes, key="lqphtc".index)), "members": len(self.members_)}
        self.model_ = self._problem_model(self.problem_, record)
        return self

    def _certificate(self, features: int) -> Numbers:
        """Return the coverage of the members' duality gaps; their mean has no objective."""
        text = f"{len(self.members_)} models, largest duality gap {self.solution_.gap:.2g} nats"
        return {"covers": MEMBERS, "text": f"certified members, not their mean: {text}"}

    def _members(self, size: float) -> list[Maxent]:
        """Return the unfitted members."""
        smooth = "".join(letter for letter in auto_classes(size) if letter != "h")
        shapes = [Maxent(), Maxent(knots="maxnet", beta="maxent"), Maxent(smooth), Maxent("t")]
        members = [shape.set_params(multiplier=self.multiplier) for shape in shapes]
        members.append(Maxent(regularization="l2sq", multiplier=_SMOOTH * self.multiplier, knots=10))
        limits = {"tolerance": self.tolerance, "max_iterations": self.max_iterations}
        return [member.set_params(**limits) for member in members]
