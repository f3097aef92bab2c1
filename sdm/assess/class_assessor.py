"""Fit class models to samples of sites and measure them at held-out sites."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sdm.assess.assessor import Assessor, Gains, OutOfFold
from sdm.assess.measures.basic import Aicc, by_label, likelihood_aicc, max_tss
from sdm.assess.measures.classes import measure_classes
from sdm.assess.splits.folds import Fold, Split
from sdm.conditional.targets import scale_proportions
from sdm.data.site_sample import ClassSample
from sdm.errors import FoldsError, LabelError
from sdm.estimators.classes import ConditionalMaxent
from sdm.features.classes import for_variables
from sdm.models.classes import ClassModel, label_text
from sdm.models.presence import presence_class
from sdm.types import Array, Index, Label, Progress, Row

# The measures of a fold; True if larger is better.
HIGHER = {
    "auc.train": True, "tss.train": True, "auc.val": True, "auc.diff": False, "tss.val": True, "loss.val": False,
    "accuracy.val": True, "kappa.val": True,
}  # fmt: skip


@dataclass(frozen=True)
class HeldSites:
    """Predictions of a model at held-out sites: `(C, k)` arrays."""

    p: Array
    constant: Array
    targets: Array
    calls: Array  # 1 where a probability reaches the class's threshold of the training sites, else 0; NaN without one
    counted: list[int]  # the classes that AUC and TSS are averaged over


class Classes(Assessor):
    """`ConditionalMaxent` on a `ClassSample`.

    Measures of a fold:

    - `loss.val`: log loss, in nats per site.
    - `loss.const.val`: log loss of the null model, which predicts the class frequencies of the fold's training sites.
    - `accuracy.val` and `kappa.val` of the most probable class.
    - `auc.val` and `tss.val` of each class against the rest. A site belongs to the class that has at least half of it.
      The TSS is at the best threshold of the class at the fold's training sites. Both are means over the classes that
      some, but not all, of the sites belong to; NaN without any. For presence and absence they are the values of
      presence.
    - `auc.train` and `tss.train`: the same at the training sites.

    If every fold has only one class (leave-one-out), AUC, TSS and κ are computed over all held-out sites together. Each
    site then has the prediction of the model that was fitted without it.
    """

    higher = HIGHER
    averaged = (*HIGHER, "loss.const.val")

    def fit(
        self,
        table: ClassSample,
        estimator: ConditionalMaxent,
        columns: Sequence[int] | None = None,
        start: Any = None,
        progress: Progress | None = None,
    ) -> ConditionalMaxent:
        """Fit a copy of an estimator to sites; an earlier fit (`start`) is not used.

        `progress` is called during the choice of penalties.
        """
        import pandas as pd

        chosen = list(range(len(table.names))) if columns is None else list(columns)
        names = [table.names[v] for v in chosen]
        categorical = [name for name in table.categorical if name in names]
        fresh = estimator.changed(categorical=categorical, features=for_variables(estimator.features, names))
        x = pd.DataFrame(table.values[:, chosen], columns=names)
        return fresh.fit(x, table.target, groups=table.group, progress=progress)

    def counts(self, train: ClassSample, test: ClassSample) -> dict[str, int]:
        """Return the numbers of rows: sites, or visits to them."""
        return {"training_sites": len(train), "test_sites": len(test)}

    def measure_fold(self, fitted: ConditionalMaxent, train: ClassSample, test: ClassSample) -> tuple[Row, HeldSites]:
        """Measure a fit on held-out sites, and keep its predictions there."""
        model = fitted.model_
        training, thresholds = _at_training_sites(model, train)
        p, targets = model.distributions(test.values), targets_of(test, model.classes)
        constant = np.broadcast_to(np.asarray(model.shares), p.shape)
        held_out = HeldSites(p, constant, targets, _calls(p, thresholds), _counted(model))
        measures = measure_classes(p, targets, constant)
        score = _mean(measures.auc, held_out.counted)
        return {
            "auc.train": training["auc.train"],
            "tss.train": training["tss.train"],
            "auc.val": score,
            "auc.diff": training["auc.train"] - score,
            "tss.val": _mean(_skill(held_out.calls, targets), held_out.counted),
            "loss.val": measures.log_loss,
            "accuracy.val": measures.accuracy,
            "kappa.val": measures.kappa,
            "ncoef": coefficients(model),
            "gap": fitted.solution_.gap,
            "status": fitted.solution_.status,
            "loss.const.val": measures.constant,
        }, held_out

    def measure_training(self, fitted: ConditionalMaxent, table: ClassSample) -> Row:
        """Measure a fit on its sites; `gain` is the decrease in log loss against the null model."""
        training, _ = _at_training_sites(fitted.model_, table)
        criterion = _criterion(fitted.model_, table)
        return {
            **training,
            "ncoef": coefficients(fitted.model_),
            "AICc": criterion.value,
            "AICc.reason": criterion.reason,
            "gain": training["loss.const.train"] - training["loss.train"],
            "gap": fitted.solution_.gap,
            "status": fitted.solution_.status,
        }

    def pool(self, rows: Sequence[Row], per_fold: Sequence[HeldSites]) -> dict[str, float]:
        """Return AUC, TSS and κ over all held-out sites if no single fold has an AUC."""
        if any(np.isfinite(row["auc.val"]) for row in rows):
            return {}
        p, targets, calls = (
            np.concatenate([getattr(part, name) for part in per_fold], axis=1) for name in ("p", "targets", "calls")
        )
        measures = measure_classes(p, targets)
        pooled = {
            "auc.val": _mean(measures.auc, per_fold[0].counted),
            "tss.val": _mean(_skill(calls, targets), per_fold[0].counted),
            "kappa.val": measures.kappa,
        }
        out = {f"{name}.avg": value for name, value in pooled.items()}
        return out | {f"{name}.sd": float("nan") for name in pooled}

    def out_of_fold(self, table: ClassSample, split: Split, per_fold: Sequence[HeldSites]) -> OutOfFold:
        """Return the predictions at held-out sites by the models and by the null models of the folds."""
        shape = (len(per_fold[0].p), len(table))
        p, constant, targets, times = np.zeros(shape), np.zeros(shape), np.full(shape, np.nan), np.zeros(shape[1])
        for fold, part in zip(split.folds, per_fold):
            p[:, fold.test] += part.p
            constant[:, fold.test] += part.constant
            targets[:, fold.test] = part.targets
            times[fold.test] += 1
        times[times == 0] = np.nan
        return OutOfFold(p / times, constant / times, targets)

    def draw(self, table: ClassSample, rng: np.random.Generator) -> Index:
        """Draw an order of the sites."""
        return rng.permutation(len(table))

    def randomise(self, table: ClassSample, fold: Fold, draw: Index) -> ClassSample:
        """Permute the classes of the training sites in the drawn order."""
        train = fold.training(table)
        return replace(train, target=train.take(np.argsort(draw[fold.train], kind="stable")).target)

    def values(self, table: ClassSample) -> Array:
        """Return the variables at the sites."""
        return table.values

    def quality(self, fitted: ConditionalMaxent, test: ClassSample) -> Callable[[list[Array]], float]:
        """Return the log loss of held-out sites, with its sign changed."""
        if len(test) < 2:
            raise FoldsError("a fold has one site, which cannot be permuted: use larger folds, as in --folds 5")
        model, targets = fitted.model_, targets_of(test, fitted.model_.classes)
        return lambda columns: -measure_classes(model.column_distributions(columns), targets).log_loss

    def gains(
        self, fitted: ConditionalMaxent, table: ClassSample, test: ClassSample | None, columns: list[int]
    ) -> tuple[Gains, Gains]:
        """Return the decrease in log loss against the null model, and the AUC, at training and at test sites."""
        model = fitted.model_

        def sites_gain(sites: ClassSample) -> Gains:
            p = model.distributions(sites.values[:, columns])
            measures = measure_classes(p, targets_of(sites, model.classes), model.shares)
            return measures.constant - measures.log_loss, _mean(measures.auc, _counted(model))

        return sites_gain(table), (float("nan"), float("nan")) if test is None else sites_gain(test)


CLASSES = Classes()


def targets_of(sample: ClassSample, classes: Sequence[Label]) -> Array:
    """Return the target distributions `(C, n)` of sites, in the order of a model's classes; refuse other classes."""
    if hasattr(sample.target, "columns"):
        return scale_proportions(sample.target.to_numpy())
    place = {label: c for c, label in enumerate(classes)}
    if unknown := sorted({label_text(label) for label in sample.target.tolist() if label not in place}):
        raise LabelError(f"class '{unknown[0]}' is not among the classes of the model: remove its sites")
    codes = np.array([place[label] for label in sample.target.tolist()], dtype=np.int64)
    return np.eye(len(place))[codes].T.copy()


def coefficients(model: ClassModel) -> int:
    """Return the number of nonzero weights; two classes share one set of weights, with opposite signs."""
    return int(np.count_nonzero(model.weights[:1] if len(model.classes) == 2 else model.weights))


def _counted(model: ClassModel) -> list[int]:
    """Return the classes that AUC and TSS are averaged over: all, or presence alone."""
    presence = presence_class(model.labels)
    return list(range(len(model.classes))) if presence is None else [presence]


def _at_training_sites(model: ClassModel, sample: ClassSample) -> tuple[Row, Array]:
    """Return the measures at the training sites and the best threshold of every class there."""
    p, targets = model.distributions(sample.values), targets_of(sample, model.classes)
    measures = measure_classes(p, targets, model.shares)
    best = np.array([max_tss(*sites) if sites else (np.nan, np.nan) for sites in by_label(p, targets >= 0.5)])
    row = {
        "auc.train": _mean(measures.auc, _counted(model)),
        "tss.train": _mean(best[:, 0], _counted(model)),
        "loss.train": measures.log_loss,
        "loss.const.train": measures.constant,
    }
    return row, best[:, 1]


def _calls(p: Array, thresholds: Array) -> Array:
    """Return 1 where a probability reaches the threshold of its class, else 0; NaN without a threshold."""
    return np.where(np.isnan(thresholds)[:, None], np.nan, p >= thresholds[:, None])


def _skill(calls: Array, targets: Array) -> Array:
    """Return the true skill statistic of every class; NaN if all sites, or none, belong to it."""
    sides = by_label(calls, targets >= 0.5)
    return np.array([sites[0].mean() - sites[1].mean() if sites else np.nan for sites in sides])


def _mean(each: Array, counted: list[int]) -> float:
    """Return the mean over the counted classes that have a value; NaN if none has."""
    valid = each[counted][np.isfinite(each[counted])]
    return float(valid.mean()) if valid.size else float("nan")


def _criterion(model: ClassModel, sample: ClassSample) -> Aicc:
    """Return AICc of a model of labels; the constants of all classes but one count as coefficients."""
    if hasattr(sample.target, "columns"):
        return Aicc(float("nan"), "proportions have no likelihood: AICc needs one class per site")
    targets = targets_of(sample, model.classes)
    likelihood = np.sum(model.distributions(sample.values) * targets, axis=0)
    return likelihood_aicc(likelihood, coefficients(model) + len(model.classes) - 1, "sites", "probability")
