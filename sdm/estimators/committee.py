"""`Committee`: the mean of a few certified models of different shape, folded into one (docs/accuracy.md)."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sdm.errors import OptionError
from sdm.estimators.maxent import Maxent
from sdm.estimators.sample import TrainingData
from sdm.features.classes import auto_classes
from sdm.features.feature_set import FeatureSet
from sdm.maxent.entropy import Entropy
from sdm.maxent.penalty import L1
from sdm.maxent.problem import Problem
from sdm.maxent.solution import CONVERGED, Solution
from sdm.progress.telling import step_by_step
from sdm.types import Progress, TableLike

# The shapes of the first four count a sixth each, the smooth one a third.
WEIGHTS = (1 / 6, 1 / 6, 1 / 6, 1 / 6, 1 / 3)
_SMOOTH = 10.0  # times the multiplier: the squared penalty of the smooth member


class Committee(Maxent):
    """The average of five Maxent models: the mean of their scores, which is a geometric mean of their densities.

    Java Maxent's classes by sample size; the same with maxnet's knots; without hinges; and thresholds alone; all with
    Java Maxent's penalties; and a smooth one, with few knots and a squared penalty, which counts twice as much as each
    of the others. Each is fitted to the certified optimum of its own problem, on one domain. The mean of
    scores is a score over all their features, so the committee is one model: it predicts, maps and is saved like any
    other.

    Parameters
    ----------
    multiplier : float
        Of every member.
    categorical, tolerance, max_iterations, add_presences, prevalence, unseen, temperature
        As for `Maxent`.

    Attributes
    ----------
    members_ : list of Maxent
    solution_ : Solution
        `gap` is the largest of the members'; the mean solves no problem of its own.
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

    tells_progress = True

    def __init__(
        self,
        multiplier: float = 1.0,
        *,
        categorical: Sequence[str | int] = (),
        tolerance: float = 1e-6,
        max_iterations: int | None = None,
        add_presences: str | None = None,
        prevalence: float = 0.5,
        unseen: str = "zero",
        temperature: float = 1.0,
    ) -> None:
        super().__init__(
            multiplier=multiplier,
            categorical=categorical,
            tolerance=tolerance,
            max_iterations=max_iterations,
            add_presences=add_presences,
            prevalence=prevalence,
            unseen=unseen,
            temperature=temperature,
        )

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        start: Any = None,
        base_weight: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit to presences (`y` = 1) and background (`y` = 0); `start` may be an earlier committee, and
        `progress(done, total, text)` is told how many members are fitted."""
        self.check_options()
        return self._fit_data(self._read(X, y, sample_weight, base_weight), start, progress)

    def _fit_data(self, data: TrainingData, start: Any = None, progress: Progress | None = None) -> Self:
        """Fit every member to the same domain, and average them."""
        if start is not None and not isinstance(start, Committee):
            raise OptionError(f"a committee can start from a committee, got {type(start).__name__}")
        self._encoder = data.encoder
        earlier: list[Maxent | None] = [None] * len(WEIGHTS) if start is None else [*start.members_]
        self.members_: list[Maxent] = [
            member._fit_data(data, old)
            for member, old in step_by_step(
                [*zip(self._members(data.size), earlier)], progress, "members of the committee"
            )
        ]
        self.feature_set_ = FeatureSet(data.domain, [f for m in self.members_ for f in m.feature_set_.families])
        self.coef_ = np.concatenate([share * member.coef_ for share, member in zip(WEIGHTS, self.members_)])
        beta = np.concatenate([member.problem_.penalty.beta for member in self.members_])
        self.entropy_ = 1.0
        self.problem_ = Problem(self.feature_set_, data.sample, Entropy(self.entropy_), L1(beta))
        self.solution_ = self._mean_solution()
        self.notes_ = list(dict.fromkeys(note for member in self.members_ for note in member.notes_))
        classes = {letter for member in self.members_ for letter in member.model_.meta["classes"]}
        record = {"classes": "".join(sorted(classes, key="lqphtc".index)), "members": len(self.members_)}
        self.model_ = self._model(data, record)
        return self

    def _members(self, size: float) -> list[Maxent]:
        """Return the models, yet to be fitted."""
        smooth = "".join(letter for letter in auto_classes(size) if letter != "h")
        shapes: list[dict[str, Any]] = [{}, {"knots": "maxnet", "beta": "maxent"}]
        shapes += [{"features": smooth}, {"features": "t"}]
        common = {name: getattr(self, name) for name in ("tolerance", "max_iterations")}
        smooth_one = Maxent(regularization="l2sq", multiplier=_SMOOTH * self.multiplier, knots=10, **common)
        return [*(Maxent(multiplier=self.multiplier, **common, **shape) for shape in shapes), smooth_one]

    def _mean_solution(self) -> Solution:
        """Return the state of the mean, with the worst of the members' certificates."""
        state = self.problem_.state(self.coef_)
        parts = [member.solution_ for member in self.members_]
        failed = [part.status for part in parts if part.status != CONVERGED]
        status, gap = failed[0] if failed else CONVERGED, max(part.gap for part in parts)
        spent = sum(part.iterations for part in parts), sum(part.seconds for part in parts)
        return Solution(status, self.coef_, state.objective, gap, *spent, state.gibbs.tau, state.p)
