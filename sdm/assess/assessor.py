"""Define how a kind of model is fitted and measured in folds, searches, null models and jackknives.

`cross_validate`, `tune`, `null_models` and `jackknife` are independent of the kind: they call an assessor.
`PRESENCE_ONLY` is for tables of presences and background; `sdm.assess.class_assessor.CLASSES` is for samples of
classes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sdm.assess.fits import fit_table
from sdm.assess.measures.basic import auc, auc_among, boyce, density_aicc, gain, relative_gain
from sdm.assess.measures.presence_only import (
    FLOOR,
    HIGHER,
    HeldOut,
    hold_out,
    measure_presences,
    pooled,
)
from sdm.assess.splits.folds import Fold, Split
from sdm.data.table import SampleTable
from sdm.errors import BackgroundError
from sdm.estimators.species import SpeciesEstimator
from sdm.models.species import Model
from sdm.types import Array, Index, Row

Gains = tuple[float, float]
"""A gain in nats, and an AUC."""


@dataclass(frozen=True)
class OutOfFold:
    """Predictions at held-out rows, for kinds of models whose folds are measured together.

    `p` and `constant` are `(C, n)` probabilities of the classes: by the model, and by the null model of its training
    sites. A row that several folds hold out has the mean of their predictions. A row that is never held out has NaN.
    """

    p: Array
    constant: Array
    targets: Array

    @property
    def held_out(self) -> np.ndarray:
        """Return a mask of the rows that were held out at least once."""
        return np.asarray(np.isfinite(self.p).all(axis=0))


class Assessor(ABC):
    """Fit a kind of model to a table, and measure it.

    A table has `names` and `take(rows, background)`. Instances have no state and can be sent to other processes.
    """

    # measures to choose settings and compare null models by; True if larger is better
    higher: ClassVar[Mapping[str, bool]]
    averaged: ClassVar[tuple[str, ...]]  # all measures of a fold that are averaged

    @abstractmethod
    def fit(self, table: Any, estimator: Any, columns: Sequence[int] | None = None, start: Any = None) -> Any:
        """Fit a copy of an estimator to a table, or to a subset of its columns; `start` is an earlier fit to start
        from."""

    def fit_next(self, table: Any, estimator: Any, earlier: Any) -> Any:
        """Fit to the table of an earlier fit with another multiplier, starting from that fit."""
        return self.fit(table, estimator, start=earlier)

    @abstractmethod
    def counts(self, train: Any, test: Any) -> dict[str, int]:
        """Return the numbers of training and test records, under their column names in tables of folds."""

    @abstractmethod
    def measure_fold(self, fitted: Any, train: Any, test: Any) -> tuple[Row, Any]:
        """Measure a fit on a held-out part.

        Return the row of measures (those in `averaged`, `ncoef`, `gap`, `status`) and the values that `pool` needs.
        """

    @abstractmethod
    def measure_training(self, fitted: Any, table: Any) -> Row:
        """Measure a fit on its training data: `auc.train`, `ncoef`, `AICc`, `AICc.reason`, `gain`, `gap`, …"""

    @abstractmethod
    def pool(self, rows: Sequence[Row], per_fold: Sequence[Any]) -> dict[str, float]:
        """Return averages that are computed over all folds together because single folds do not define them."""

    def out_of_fold(self, table: Any, split: Split, per_fold: Sequence[Any]) -> OutOfFold | None:
        """Return the predictions at held-out rows; None for kinds that have none."""
        return None

    @abstractmethod
    def draw(self, table: Any, rng: np.random.Generator) -> Index:
        """Draw the random numbers of one null model."""

    @abstractmethod
    def randomise(self, table: Any, fold: Fold, draw: Index) -> Any:
        """Return the training part of a fold with its records randomised."""

    @abstractmethod
    def values(self, table: Any) -> Array:
        """Return the variables at all points of a table, one row per point."""

    @abstractmethod
    def gains(self, fitted: Any, table: Any, test: Any, columns: list[int]) -> tuple[Gains, Gains]:
        """Return gain and AUC of a fit to the given columns, on training and on test data; NaN without test data
        (None)."""

    @abstractmethod
    def quality(self, fitted: Any, test: Any) -> Callable[[list[Array]], float]:
        """Return a function from the columns of `values` to the fit on held-out data, in nats (larger is better).

        Its argument can be shuffled to measure the importance of variables.
        """

    def average(self, rows: Sequence[Row], per_fold: Sequence[Any], *, training: bool = False) -> dict[str, float]:
        """Return `<measure>.avg` and `<measure>.sd` over folds, with the training measures on request."""
        keys = [name for name in self.averaged if training or not name.endswith(".train")]
        return averages(rows, keys) | self.pool(rows, per_fold)


def averages(rows: Sequence[Row], keys: Sequence[str]) -> dict[str, float]:
    """Return `<measure>.avg` and `<measure>.sd` over folds; folds with an undefined measure are ignored."""
    out: dict[str, float] = {}
    for key in keys:
        values = np.array([row[key] for row in rows], dtype=np.float64)
        valid = values[~np.isnan(values)]
        out[f"{key}.avg"] = float(valid.mean()) if valid.size else float("nan")
        out[f"{key}.sd"] = float(valid.std(ddof=1)) if valid.size > 1 and np.isfinite(valid).all() else float("nan")
    return out


class PresenceOnly(Assessor):
    """Estimators of one species on a `SampleTable`: presences against a background."""

    higher = HIGHER
    averaged = (*HIGHER, "loss.const.val")

    def fit(
        self,
        table: SampleTable,
        estimator: SpeciesEstimator,
        columns: Sequence[int] | None = None,
        start: SpeciesEstimator | Model | None = None,
    ) -> SpeciesEstimator:
        """Fit a copy of an estimator to a table."""
        return fit_table(table, estimator, columns, start=start)

    def fit_next(
        self, table: SampleTable, estimator: SpeciesEstimator, earlier: SpeciesEstimator | None
    ) -> SpeciesEstimator:
        """Fit to the table of an earlier fit with another multiplier.

        The rows are not read again if the estimator supports that.
        """
        again = None if earlier is None else earlier.fit_again(estimator.get_params()["multiplier"])
        return self.fit(table, estimator, start=earlier) if again is None else again

    def counts(self, train: SampleTable, test: SampleTable) -> dict[str, int]:
        """Return the numbers of presences."""
        return {"training_presences": train.n_presences, "test_presences": test.n_presences}

    def measure_fold(
        self, fitted: SpeciesEstimator, train: SampleTable, test: SampleTable
    ) -> tuple[Row, HeldOut | None]:
        """Measure a fit on held-out presences (`measure_presences`); return also the predictions of a fold with one
        record."""
        row: Row = dict(measure_presences(fitted.model_, train, test))
        added = {name: row.pop(name) for name in ("tss.val", "loss.const.val")}
        solution = fitted.solution_
        row |= {"ncoef": int(fitted.model_.weights.size), "gap": solution.gap, "status": solution.status}
        row |= added  # last, so that columns keep their order in tables of earlier versions
        return row, hold_out(fitted.model_, test)

    def measure_training(self, fitted: SpeciesEstimator, table: SampleTable) -> Row:
        """Measure a fit on its presences and background."""
        model = fitted.model_
        raw, at_background = model.predict(table.presence, "raw"), model.predict(table.background, "raw")
        ordered = np.sort(at_background)
        count = int(model.weights.size)
        criterion = density_aicc(raw, at_background, count)
        return {
            "auc.train": auc_among(raw, ordered),
            "cbi.train": boyce(model.from_raw(raw, "cloglog"), model.from_raw(ordered, "cloglog")).index,
            "ncoef": count,
            "AICc": criterion.value,
            "AICc.reason": criterion.reason,
            "gain": fitted.solution_.gain,
            "gap": fitted.solution_.gap,
            "status": fitted.solution_.status,
        }

    def pool(self, rows: Sequence[Row], per_fold: Sequence[HeldOut | None]) -> dict[str, float]:
        """Return Boyce index and partial ROC over folds of one presence each."""
        single_records = [part for part in per_fold if part is not None]
        return pooled(rows, single_records) if single_records and len(single_records) == len(rows) else {}

    def draw(self, table: SampleTable, rng: np.random.Generator) -> Index:
        """Draw as many background points as there are presences, with probability proportional to their base
        weights."""
        if table.n_background < table.n_presences:
            raise BackgroundError(
                f"{table.n_background:,} background points are too few for {table.n_presences:,} null records"
            )
        chance = None if table.weights is None else table.weights / table.weights.sum()
        return rng.choice(table.n_background, table.n_presences, replace=False, p=chance)

    def randomise(self, table: SampleTable, fold: Fold, draw: Index) -> SampleTable:
        """Replace the presences by the drawn background points; weights of records keep their order."""
        drawn = replace(
            table,
            presence=table.background[draw],
            presence_x=table.background_x[draw],
            presence_y=table.background_y[draw],
            presence_base=None if table.weights is None else table.weights[draw],
        )
        return fold.training(drawn)

    def values(self, table: SampleTable) -> Array:
        """Return the variables at presences and background."""
        return np.vstack([table.presence, table.background])

    def quality(self, fitted: SpeciesEstimator, test: SampleTable) -> Callable[[list[Array]], float]:
        """Return the gain of held-out presences over presences and background together."""
        model, m = fitted.model_, test.n_presences
        floor = 0.0 if model.alpha == 1.0 else FLOOR

        def gained(columns: list[Array]) -> float:
            raw = model.predict_columns(columns, "raw")
            return relative_gain(raw[:m], raw, floor=floor)

        return gained

    def gains(
        self, fitted: SpeciesEstimator, table: SampleTable, test: Array | None, columns: list[int]
    ) -> tuple[Gains, Gains]:
        """Return the regularised training gain, the gain at test records `(k, V)`, and both AUCs against the training
        domain."""
        model = fitted.model_
        raw = model.predict(table.presence[:, columns], "raw")
        domain = np.concatenate([raw, model.predict(table.background[:, columns], "raw")])
        test_gains = (float("nan"), float("nan"))
        if test is not None:
            raw_test = model.predict(test[:, columns], "raw")
            test_gains = gain(raw_test, model.n_domain), auc(raw_test, domain)
        return (fitted.solution_.gain, auc(raw, domain)), test_gains


PRESENCE_ONLY = PresenceOnly()
