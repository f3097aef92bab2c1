"""Choose settings by cross-validation: grid or random search, with warm starts along the multiplier."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdm.assess.assessor import PRESENCE_ONLY, Assessor
from sdm.assess.fits import run_all
from sdm.assess.measures.basic import aicc_weights
from sdm.assess.splits.folds import Divisible, Fold, Split, at_least
from sdm.assess.validation import CrossValidation, gather_folds
from sdm.errors import ConflictError, DataError, MissingInputError, OptionError, expect_one_of
from sdm.estimators.params import Parameters
from sdm.features.classes import capitals
from sdm.types import Numbers, Progress, Row

Setting = Numbers
RULES = ("best", "one_se")
# Measures of a fit to all records; True if larger is better.
TRAINING_MEASURES = {
    "auc.train": True, "tss.train": True, "cbi.train": True, "loss.train": False, "gain": True, "ncoef": False,
    "AICc": False, "delta.AICc": False, "w.AIC": True,
}  # fmt: skip
TRIES = 200  # draws per setting, before the space counts as exhausted


@dataclass(frozen=True)
class Range:
    """Numbers between two positive limits, drawn uniformly in the logarithm."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator) -> float:
        """Return one number, to three digits."""
        return float(f"{np.exp(rng.uniform(np.log(self.low), np.log(self.high))):.3g}")


def setting_grid(**choices: Iterable[Any]) -> list[Setting]:
    """Return every combination of options of an estimator.

    >>> grid(features=["l", "lq"], multiplier=[1, 2])[1]
    {'features': 'l', 'multiplier': 2}
    """
    listed = {name: list(values) for name, values in choices.items()}
    for name, values in listed.items():
        if not values:
            raise MissingInputError(f"{name} has no value to try: add at least one")
    return [dict(zip(listed, values)) for values in itertools.product(*listed.values())]


def random_settings(budget: int, seed: int = 1, **choices: Sequence[Any] | Range) -> list[Setting]:
    """Return `budget` different settings drawn at random: from the values of a list, or from a `Range`.

    There are fewer if the space has fewer combinations.
    """
    at_least(1, "budget", budget)
    for name, values in choices.items():
        if isinstance(values, Range) and not 0 < values.low < values.high:
            raise OptionError(f"{name} from {values.low:g} to {values.high:g}: expected two rising positive numbers")
    rng = np.random.default_rng(seed)
    settings: list[Setting] = []
    for _ in range(TRIES * budget):
        setting = {
            name: values.draw(rng) if isinstance(values, Range) else values[int(rng.integers(len(values)))]
            for name, values in choices.items()
        }
        if setting not in settings:
            settings.append(setting)
        if len(settings) == budget:
            break
    return settings


@dataclass(frozen=True)
class Tuning:
    """The result of a search.

    A row has the options of a setting, `tune.args`, and the measures of a fit to all records (`auc.train`, `ncoef`,
    `AICc`, `delta.AICc`, `w.AIC`, `AICc.reason` …). With folds it also has the averages over them (`auc.val.avg`,
    `loss.val.avg` …) and standard deviations (`.sd`).
    """

    settings: list[Setting]  # the options that were tried
    rows: list[Row]  # one per setting
    folds: list[Row]  # one per setting and fold
    split: Split | None
    higher: Mapping[str, bool]  # the measures to choose by; True if larger is better
    measured: list[list[tuple[Row, Any]]]  # for every setting and fold, the measures of an assessor

    def best(self, by: str | Sequence[str] = "loss.val.avg", rule: str = "best") -> int:
        """Return the position of the chosen setting; see `choose_row`."""
        return choose_row(self.rows, by, rule, 0 if self.split is None else len(self.split.folds), self.higher)

    def validation(self, k: int, table: Divisible, assessor: Assessor) -> CrossValidation | None:
        """Return the cross-validation of a setting without fitting it again; None without folds."""
        if self.split is None:
            return None
        return gather_folds(table, self.split, assessor, self.measured[k])


def search_settings(
    table: Divisible,
    settings: Sequence[Setting],
    split: Split | None,
    *,
    base: Parameters,
    assessor: Assessor = PRESENCE_ONLY,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Tuning:
    """Fit every setting (options to change, as from `setting_grid` or `random_settings`) to every fold and to all
    records.

    Without a split, settings are compared by fits to all records alone (AICc). `base` has the other options. Jobs are
    divided by fold, and by settings that differ in more than the multiplier. Settings that differ only in the
    multiplier are fitted from the largest down, each from the previous fit.
    """
    if not settings:
        raise MissingInputError("there is no setting to try: add at least one")
    for setting in settings:
        base.changed(**setting)  # an unknown option is refused before any work
    places: tuple[Fold | None, ...] = (None, *(() if split is None else split.folds))
    # Settings with the most feature classes take the longest: start them first, so that no process works alone at the
    # end.
    chains = sorted(_chains(settings), key=lambda chain: -len(str(settings[chain[0]].get("features", ""))))
    jobs = [(table, base, [settings[k] for k in chain], fold, assessor) for chain in chains for fold in places]
    training: dict[int, Row] = {}
    measured: list[list[tuple[Row, Any]]] = [[] for _ in settings]
    results = run_all(_chain, jobs, executor, progress, "tuning")
    for (chain, fold), fits in zip(itertools.product(chains, places), results):
        for k, (row, part) in zip(chain, fits):
            if fold is None:
                training[k] = row
            else:
                measured[k].append((row, part))
    delta, weight = aicc_weights([training[k]["AICc"] for k in range(len(settings))])
    rows, folds = list[Row](), list[Row]()
    for k, setting in enumerate(settings):
        named = {**setting, "tune.args": tune_args(setting)}
        averages = assessor.average(*zip(*measured[k])) if measured[k] else {}
        rows.append({**named, **training[k], "delta.AICc": float(delta[k]), "w.AIC": float(weight[k]), **averages})
        folds += [{**named, "fold": fold.name, **row} for fold, (row, _) in zip(places[1:], measured[k]) if fold]
    return Tuning(list(settings), rows, folds, split, assessor.higher, measured)


def tune_args(setting: Mapping[str, Any]) -> str:
    """Return a setting as one word, in ENMeval's spelling for features and multiplier: `fc.LQH_rm.1.5`."""
    short = {"features": "fc", "multiplier": "rm"}
    parts = []
    for name, value in setting.items():
        text = capitals(value) if name == "features" else f"{value:g}" if isinstance(value, float) else str(value)
        parts.append(f"{short.get(name, name)}.{text}")
    return "_".join(parts)


def choose_row(
    rows: Sequence[Mapping[str, Any]],
    by: str | Sequence[str] = "loss.val.avg",
    rule: str = "best",
    folds: int = 1,
    higher: Mapping[str, bool] = PRESENCE_ONLY.higher,
) -> int:
    """Return the position of the best row of `tune`, by a measure such as `loss.val.avg`, `auc.val.avg` or `AICc`.

    With several measures, later ones break ties; ENMeval's authors recommend `("or.10p.avg", "auc.val.avg")`. The rule
    "one_se" selects the row with the fewest coefficients within one standard error of the best (over the folds of the
    search).
    """
    names = [by] if isinstance(by, str) else list(by)
    expect_one_of("rule", rule, RULES)
    scores = np.array([[_cost(row, name, higher) for name in names] for row in rows])
    valid = np.flatnonzero(~np.isnan(scores).any(axis=1))
    if not valid.size:
        reason = next((row["AICc.reason"] for row in rows if row.get("AICc.reason")), "it is undefined for all of them")
        raise DataError(f"no setting can be chosen by {names[0]}: {reason}; choose by another measure")
    order = valid[np.lexsort(scores[valid].T[::-1])]
    best = int(order[0])
    if rule == "best":
        return best
    spread = f"{names[0].removesuffix('.avg')}.sd"
    if spread not in rows[best]:
        raise ConflictError(f"rule=one_se needs an average over folds such as loss.val.avg, not {names[0]}")
    error = rows[best][spread] / np.sqrt(folds)
    limit = scores[best, 0] + (error if np.isfinite(error) else 0.0)
    near = [int(k) for k in order if scores[k, 0] <= limit]
    return min(near, key=lambda k: (rows[k]["ncoef"], scores[k, 0]))


def _cost(row: Mapping[str, Any], name: str, higher: Mapping[str, bool]) -> float:
    """Return a measure with the sign for which less is better."""
    more = {**{f"{key}.avg": value for key, value in higher.items()}, **TRAINING_MEASURES}.get(name)
    if name not in row or more is None:
        options = [f"{key}.avg" for key in higher if not key.endswith(".train")] + ["AICc"]
        raise OptionError(f"by={name!r}: expected a measure such as {', '.join(options)}")
    return -float(row[name]) if more else float(row[name])


def _chains(settings: Sequence[Setting]) -> list[list[int]]:
    """Group settings that differ only in the multiplier, the largest first."""
    groups: dict[str, list[int]] = {}
    for k, setting in enumerate(settings):
        rest = {name: value for name, value in setting.items() if name != "multiplier"}
        groups.setdefault(repr(sorted(rest.items(), key=lambda item: item[0])), []).append(k)
    return [sorted(group, key=lambda k: -float(settings[k].get("multiplier", 1.0))) for group in groups.values()]


def _chain(
    table: Divisible, base: Parameters, settings: Sequence[Setting], fold: Fold | None, assessor: Assessor
) -> list[tuple[Row, Any]]:
    """Fit settings in turn to a fold or to all records, and measure each."""
    train = table if fold is None else fold.training(table)
    out: list[tuple[Row, Any]] = []
    earlier: Any = None
    for setting in settings:
        earlier = assessor.fit_next(train, base.changed(**setting), earlier)
        if fold is None:
            out.append((assessor.measure_training(earlier, train), None))
        else:
            out.append(assessor.measure_fold(earlier, train, fold.testing(table)))
    return out
