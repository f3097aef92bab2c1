"""How well a model tells classes apart: confusion, log loss, a class's AUC; importance and response profiles."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sdm.assess.importance import Permutation
from sdm.assess.measures import auc
from sdm.assess.profiles import class_names, grid, typical
from sdm.conditional.model import ClassModel
from sdm.features.domain import Array

# What is lost where a class of no probability (orders above 1) turns up: as if it had this much.
LEAST = 1e-6


@dataclass(frozen=True)
class ClassMeasures:
    """The measures of predictions at sites whose classes, or proportions, are known.

    Attributes
    ----------
    confusion : (C, C) array
        Mass of the targets (rows) by most probable class (columns).
    log_loss : float
        Mean `−Σ_c y_c ln p_c` in nats; a probability of zero counts as 1e-6.
    accuracy, kappa : float
        Share of the mass on the diagonal, and Cohen's κ: how far it is above chance.
    auc : (C,) array
        Of each class against the others, sites weighted by nothing: where the class has at least half of the target.
        NaN where there is no such site, or no other.
    recall, precision : (C,) arrays
        Share of a class that is found (producer's accuracy), and share of what is called by its name that is it
        (user's accuracy). NaN where there is nothing to divide by.
    zeros : int
        Sites where a class of the target got no probability at all.
    """

    confusion: Array
    log_loss: float
    accuracy: float
    kappa: float
    auc: Array
    recall: Array
    precision: Array
    zeros: int

    def numbers(self, labels: Sequence[str]) -> dict[str, Any]:
        """Return the measures under the names that results have, those of a class by its label."""
        return {
            "sites": round(float(self.confusion.sum())),
            "log_loss": self.log_loss,
            "accuracy": self.accuracy,
            "kappa": self.kappa,
            "mean_auc": float(np.nanmean(self.auc)) if np.isfinite(self.auc).any() else float("nan"),
            "auc": dict(zip(labels, self.auc.tolist())),
            "sites_given_no_probability": self.zeros,
        }


def measure_classes(p: Array, targets: Array) -> ClassMeasures:
    """Measure distributions `p` against targets, both `(C, n)`."""
    classes, n = p.shape
    confusion = np.zeros((classes, classes))
    np.add.at(confusion.T, np.argmax(p, axis=0), targets.T)
    total = confusion.sum()
    rows, columns = confusion.sum(axis=1), confusion.sum(axis=0)
    accuracy = float(np.trace(confusion) / total)
    chance = float(rows @ columns / total**2)
    inside = targets >= 0.5
    return ClassMeasures(
        confusion,
        float(-np.sum(targets * np.log(np.maximum(p, LEAST))) / n),
        accuracy,
        (accuracy - chance) / (1.0 - chance) if chance < 1.0 else float("nan"),
        np.array([_auc(own, here) for own, here in zip(p, inside)]),
        _ratio(np.diag(confusion), rows),
        _ratio(np.diag(confusion), columns),
        int(np.count_nonzero(np.any((targets > 0) & (p == 0), axis=0))),
    )


def _auc(p: Array, inside: NDArray[np.bool_]) -> float:
    return auc(p[inside], p[~inside]) if inside.any() and not inside.all() else float("nan")


def _ratio(part: Array, whole: Array) -> Array:
    out = np.full(part.size, np.nan)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


def permute_classes(
    model: ClassModel, x: Array, targets: Array, *, repeats: int = 5, seed: int = 1
) -> list[Permutation]:
    """Shuffle each variable in turn over the sites, and see by how much the log loss rises.

    Returns
    -------
    list of Permutation
        In the order of the variables; `drop` is the mean rise in nats, percentages are of the sum of the rises.
    """
    rng = np.random.default_rng([seed, 11])
    whole = measure_classes(model.distributions(x), targets).log_loss
    rises = np.zeros((len(model.names), repeats))
    for v in range(len(model.names)):
        columns = list(x.T)
        for k in range(repeats):
            columns[v] = rng.permutation(x[:, v])
            rises[v, k] = measure_classes(model.column_distributions(columns), targets).log_loss - whole
    mean = rises.mean(axis=1)
    spread = rises.std(axis=1, ddof=1) if repeats > 1 else np.full(len(mean), np.nan)
    total = float(np.maximum(mean, 0.0).sum())
    scale = 100.0 / total if total > 0 else 0.0
    return [
        Permutation(name, max(float(a), 0.0) * scale, float(b) * scale, float(a), float(b))
        for name, a, b in zip(model.names, mean, spread)
    ]


@dataclass(frozen=True)
class ClassProfile:
    """How the probabilities `y` `(C, k)` change with one variable's values `x`, the others held at their mean."""

    variable: str
    x: Array
    y: Array
    lo: float
    hi: float
    categories: tuple[str, ...] | None


def class_profiles(model: ClassModel, x: Array, clamp: bool = True) -> list[ClassProfile]:
    """Vary each variable that varies; the others are held at the sites' mean, or their most frequent category."""
    like = cast(Any, model)  # these look at the variables alone
    middle, out = typical(like, x), []
    for v, variable in enumerate(model.variables):
        if (len(variable.classes) < 2) if variable.categorical else (variable.lo == variable.hi):
            continue
        values = grid(like, v)
        table = np.tile(middle, (values.size, 1))
        table[:, v] = values
        y = model.distributions(table, clamp)
        out.append(ClassProfile(variable.name, values, y, variable.lo, variable.hi, class_names(like, v)))
    return out


def fold_numbers(
    label: Sequence[int] | NDArray[np.int64],
    folds: int,
    rng: np.random.Generator,
    group: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Divide sites at random into folds, every class as evenly as it goes; those of one group (a cell) together."""
    label = np.asarray(label)
    member, label = gather(label, group)
    out = np.empty(label.size, dtype=np.int64)
    start = 0
    for c in np.unique(label):
        own = rng.permutation(np.flatnonzero(label == c))
        out[own] = (np.arange(own.size) + start) % folds
        start += own.size
    return out[member]


def gather(
    label: NDArray[np.int64], group: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the group of every site, numbered as they appear, and each group's class: the rarest of those in it."""
    if group is None:
        return np.arange(label.size), label
    _, first, member = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    member = rank[member]
    count = np.bincount(label)
    common = np.argsort(-count[label], kind="stable")  # what is written last stays
    own = np.empty(first.size, dtype=np.int64)
    own[member[common]] = label[common]
    return member, own
