"""Measures of class models: confusion, log loss, AUC per class, importance and response profiles."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdm.assess.importance import Permutation, permute_variables
from sdm.assess.measures.basic import auc, by_label
from sdm.assess.profiles import Profile, class_names, response_grid, typical
from sdm.models.classes import ClassModel
from sdm.types import Array, Numbers, Progress

# The probability that replaces 0 in log losses (entropies of order above 1 can predict 0).
LEAST = 1e-6


@dataclass(frozen=True)
class ClassMeasures:
    """Measures of predictions at sites with observed classes or proportions.

    AUC is of each class against the others; a site belongs to the class that has at least half of its target. Recall is
    producer's accuracy, precision is user's accuracy. Ratios with a zero denominator are NaN.
    """

    confusion: Array  # (C, C): mass of the targets (rows) by most probable class (columns)
    log_loss: float  # mean `−Σ_c y_c ln p_c` in nats; a probability of zero counts as 1e-6
    accuracy: float  # share of the mass on the diagonal
    kappa: float  # Cohen's κ
    auc: Array  # (C,)
    recall: Array  # (C,)
    precision: Array  # (C,)
    zeros: int  # sites where a class of the target has a predicted probability of 0
    constant: float = float("nan")  # log loss of the null model: the class frequencies of the training sites

    def warning(self, kind: str) -> str | None:
        """Return a warning if the model predicts worse than the class frequencies; `kind` names the sites."""
        if not self.log_loss > self.constant:
            return None
        return (
            f"{kind}: the model predicts worse than the null model of class frequencies (log loss {self.log_loss:.4f} "
            f"nats, null model {self.constant:.4f}): do not use its probabilities; use other variables, or fewer"
        )

    def numbers(self, labels: Sequence[str]) -> Numbers:
        """Return the measures under their names in the results, with the values of classes by label."""
        return {
            "sites": round(float(self.confusion.sum())),
            "log_loss": self.log_loss,
            "constant_log_loss": self.constant,
            "accuracy": self.accuracy,
            "kappa": self.kappa,
            "mean_auc": float(np.nanmean(self.auc)) if np.isfinite(self.auc).any() else float("nan"),
            "auc": dict(zip(labels, self.auc.tolist())),
            "sites_given_no_probability": self.zeros,
        }


def measure_classes(p: Array, targets: Array, shares: Array | None = None) -> ClassMeasures:
    """Measure distributions `p` against targets, both `(C, n)`; `shares` `(C, ·)` are the predictions of the null
    model."""
    classes = p.shape[0]
    confusion = np.zeros((classes, classes))
    np.add.at(confusion.T, np.argmax(p, axis=0), targets.T)
    total = confusion.sum()
    rows, columns = confusion.sum(axis=1), confusion.sum(axis=0)
    accuracy = float(np.trace(confusion) / total)
    chance = float(rows @ columns / total**2)
    return ClassMeasures(
        confusion,
        _log_loss(p, targets),
        accuracy,
        (accuracy - chance) / (1.0 - chance) if chance < 1.0 else float("nan"),
        np.array([auc(*sites) if sites else np.nan for sites in by_label(p, targets >= 0.5)]),
        _ratio(np.diag(confusion), rows),
        _ratio(np.diag(confusion), columns),
        int(np.count_nonzero(np.any((targets > 0) & (p == 0), axis=0))),
        float("nan") if shares is None else _log_loss(np.broadcast_to(shares, p.shape), targets),
    )


def _log_loss(p: Array, targets: Array) -> float:
    return float(-np.sum(targets * np.log(np.maximum(p, LEAST))) / p.shape[1])


def _ratio(part: Array, total: Array) -> Array:
    out = np.full(part.size, np.nan)
    np.divide(part, total, out=out, where=total > 0)
    return out


def permute_classes(
    model: ClassModel,
    x: Array,
    targets: Array,
    *,
    repeats: int = 5,
    seed: int = 1,
    progress: Progress | None = None,
) -> list[Permutation]:
    """Shuffle each variable in turn over the sites; `drop` is the increase in log loss, in nats."""

    def quality(columns: list[Array]) -> float:
        return -measure_classes(model.column_distributions(columns), targets).log_loss

    return permute_variables(quality, x, model.names, repeats, np.random.default_rng([seed, 11]), progress)


def class_profiles(model: ClassModel, x: Array, clamp: bool = True) -> list[Profile]:
    """Vary each non-constant variable, with the others at the sites' mean or their most frequent category.

    The responses are the probabilities of the classes, `(C, k)`.
    """
    middle, out = typical(model, x), []
    for v, variable in enumerate(model.variables):
        if (len(variable.classes) < 2) if variable.categorical else (variable.lo == variable.hi):
            continue
        values = response_grid(model, v)
        table = np.tile(middle, (values.size, 1))
        table[:, v] = values
        y = model.distributions(table, clamp)
        out.append(Profile(variable.name, "classes", values, y, variable.lo, variable.hi, class_names(model, v)))
    return out
