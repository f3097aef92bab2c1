"""Joint models on sites that they have not seen: divided as records are, measured beside single models and a GLM."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdm.assess.measures.community import evaluate, species_auc
from sdm.assess.splits.folds import Fold, Split, by_group
from sdm.data.rasters.stack import Stack
from sdm.data.site_folds import check_folds, number_sites, training_rows
from sdm.data.sites import SiteTable
from sdm.data.table import SampleTable
from sdm.errors import DataError, OptionError
from sdm.joint.inference import States
from sdm.models.community import FittedJoint
from sdm.options.definitions import RunOptions
from sdm.types import Array, Index, Progress
from sdm.workflow.splitting import check_testing, make_split

log = logging.getLogger("sdm")

SPLITS = ("random", "block", "equal-blocks", "checkerboard", "environment", "own")
WHAT = {"joint": "joint model", "stacked": "stacked single models", "glm": "GLM"}
MEASURES = {
    "hamming": "Hamming error (best labeling)",
    "hamming of marginals": "Hamming error (marginals above 1/2)",
    "auc": "mean AUC",
    "log loss": "joint log loss (nats per site)",
    "marginal log loss": "summed species' log loss (nats per site)",
    "richness error": "richness error (species, root mean square)",
}


@dataclass
class HeldOut:
    """What was measured on held-out sites.

    Attributes
    ----------
    method : str
    folds : list of dict
        One per fold: `fold`, `sites`, and the measures of every model by its name.
    mean : dict
        The mean over folds, of every model.
    notes : list of str
    """

    method: str
    folds: list[dict[str, Any]] = field(default_factory=list)
    mean: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def check_site_testing(options: RunOptions) -> None:
    """Raise for divisions that do not suit sites, or contradict each other."""
    own = options.test
    if own.split not in SPLITS:
        raise OptionError(f"test.split={own.split!r}: joint models are tested in folds of sites: {', '.join(SPLITS)}")
    if own.percent and (own.folds or own.split != "random"):
        raise OptionError("give test.percent, or folds of sites, not both: the model is tested with one of them")
    check_testing(options)


def divide_sites(
    sites: SiteTable,
    values: Array,
    names: Sequence[str],
    categorical: Sequence[str],
    options: RunOptions,
    stack: Stack | None,
) -> Split | None:
    """Divide the sites as the options say, visits to one site together; None if they do not.

    Raises
    ------
    DataError
        If a part would be without sites, or has nothing to learn or to test: what is refused is refused before a fit.
    """
    n, own = len(sites), options.test
    alike = np.zeros(n, dtype=np.int64)  # sites are drawn whatever lives there
    if own.percent:
        train = training_rows(alike, own.percent, np.random.default_rng([options.seed, 1]), sites.group)
        return _usable(
            Split("percent", (Fold("1", np.flatnonzero(train), np.flatnonzero(~train)),), None, None, "full"), sites
        )
    if sites.fold is not None and (missing := int(np.count_nonzero(sites.fold == ""))):
        raise DataError(f"{missing:,} of {n:,} sites have no fold in column '{own.fold_column}': give each of them one")
    check_folds(own.folds, sites.group)
    # Labels of folds are the user's, of every visit; else sites are divided, and visits go with the first to theirs.
    member = np.arange(n) if own.split == "own" else number_sites(alike, sites.group)[0]
    at = np.unique(member, return_index=True)[1]
    x, y = sites.x[at], sites.y[at]
    table = SampleTable("sites", tuple(names), tuple(categorical), values[at], values[at], x, y, x, y, folds=sites.fold)
    try:
        split = make_split(table, options, stack)
    except DataError as error:  # made for records of one species
        text = str(error).removeprefix("sites: ").replace("records or background", "sites").replace("presence", "site")
        raise DataError(text) from error
    if split is None or split.group is None:
        return split
    names = [fold.name for fold in split.folds]
    return _usable(by_group(split.method, split.group[member], None, "full", names), sites)


def _usable(split: Split, sites: SiteTable) -> Split:
    """Return a division, or refuse it where a part has nothing to learn or to test."""
    labels, mend = sites.labels.to_numpy(dtype=np.float64), "give fewer --folds, or a smaller --test-percent"
    for fold in split.folds:
        train, test = labels[fold.train], labels[fold.test]
        if not ((train == 1).any(axis=0) & (train == 0).any(axis=0)).any():
            raise DataError(f"fold {fold.name}: no species has presences and absences at its training sites: {mend}")
        if np.isnan(test).all():
            raise DataError(f"fold {fold.name} holds no known label: {mend}")
    return split


@contextmanager
def hushed() -> Iterator[None]:
    """Say nothing but warnings: what is to be said of the labels is said once, of all sites."""
    level = log.level
    log.setLevel(max(level, logging.WARNING))
    try:
        yield
    finally:
        log.setLevel(level)


def measure(model: FittedJoint, values: Array, labels: States) -> dict[str, Any]:
    """Return a model's measures, and every species' AUC."""
    each = species_auc(labels, model.predict_proba(values))
    return {**evaluate(model, values, labels), "species": dict(zip(model.species, each.tolist()))}


def measure_folds(
    split: Split,
    fit: Callable[[str, Any, Index, list[str], str], FittedJoint],
    graph: Any,
    values: Array,
    labels: States,
    species: Sequence[str],
    progress: Progress | None = None,
) -> HeldOut:
    """Fit with edges, without, and a GLM to each fold's training sites, and measure all on its others.

    Parameters
    ----------
    fit
        Called with the name of a model, a graph, the training sites, and the species to learn, and what to call it.
    """
    out = HeldOut(split.method)
    for k, fold in enumerate(split.folds):
        learnt = [s for s in range(len(species)) if {0, 1} <= set(labels[fold.train, s].tolist())]
        names = [species[s] for s in learnt]
        if left := [name for name in species if name not in names]:
            more = f" and {len(left) - 1} more" if len(left) > 1 else ""
            out.notes.append(
                f"fold {fold.name}: '{left[0]}'{more} not tested, as its training sites have no presence or no absence"
            )
        held = labels[fold.test][:, learnt]
        row: dict[str, Any] = {"fold": fold.name, "sites": len(fold.test)}
        with hushed():
            for i, (name, text) in enumerate(WHAT.items()):
                edges = _among(graph, names) if name == "joint" else "none"
                model = fit(name, edges, fold.train, names, f"fold {fold.name}, {text}")
                row[name] = measure(model, values[fold.test], held)
                if progress:
                    progress(k * len(WHAT) + i + 1, len(WHAT) * len(split.folds), "testing")
        out.folds.append(row)
    out.mean = {name: _mean([row[name] for row in out.folds], species) for name in WHAT}
    return out


def _among(graph: Any, names: Sequence[str]) -> Any:
    """Return the edges between some species."""
    return graph if isinstance(graph, str) else [(a, b) for a, b in graph if a in names and b in names]


def _mean(rows: Sequence[dict[str, Any]], species: Sequence[str]) -> dict[str, Any]:
    """Average over folds, each measure over those where it is defined."""
    each = {name: _average([row["species"].get(name, np.nan) for row in rows]) for name in species}
    return {**{key: _average([row[key] for row in rows]) for key in MEASURES}, "species": each}


def _average(values: Sequence[float]) -> float:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else float("nan")
