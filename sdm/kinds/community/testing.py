"""Joint models on sites that they have not seen: divided as records are, measured beside single models and a GLM."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from sdm.assess.measures.community import best_cutoffs, marginal_loss, measure_community, species_auc, species_tss
from sdm.assess.splits.folds import Split
from sdm.assess.variables.variogram import Autocorrelation
from sdm.joint.inference import States
from sdm.kinds.community.inputs import Graph
from sdm.models.community import FittedJoint
from sdm.progress.telling import StepCount
from sdm.types import Array, Index, Numbers, Progress, Row

log = logging.getLogger("sdm")

WHAT = {"joint": "joint model", "stacked": "stacked single models", "glm": "GLM"}
MEASURES = {
    "hamming": "Hamming error (best labeling)",
    "hamming of marginals": "Hamming error (marginals above 1/2)",
    "auc": "mean AUC",
    "log loss": "joint log loss (nats per site)",
    "marginal log loss": "summed species' log loss (nats per site)",
    "constant log loss": "the same of the constant model",
    "tss": "mean TSS (cutoffs of the training sites)",
    "richness error": "richness error (species, root mean square)",
}


@dataclass
class SiteTest:
    """What was measured on held-out sites."""

    method: str
    folds: list[Row] = field(default_factory=list)  # `fold`, `sites`, and the measures of models by name
    mean: dict[str, Numbers] = field(default_factory=dict)  # over folds, of every model
    notes: list[str] = field(default_factory=list)
    blocks: Autocorrelation | None = None  # where the size of blocks comes from, if it was measured


@contextmanager
def hushed() -> Iterator[None]:
    """Say nothing but warnings: what is to be said of the labels is said once, of all sites."""
    level = log.level
    log.setLevel(max(level, logging.WARNING))
    try:
        yield
    finally:
        log.setLevel(level)


def at_training(
    model: FittedJoint, values: Array, labels: States, levels: np.ndarray | None = None
) -> dict[str, list[float]]:
    """Return what the sites of a fit tell later: the shares of presences, and the cutoffs of the largest TSS."""
    shares = [float(np.mean(known[known >= 0])) for known in labels.T]
    return {"shares": shares, "cutoffs": best_cutoffs(labels, model.predict_proba(values, levels=levels)).tolist()}


def measure(
    model: FittedJoint,
    values: Array,
    labels: States,
    training: dict[str, list[float]] | None = None,
    levels: np.ndarray | None = None,
) -> Numbers:
    """Return a model's measures, and every species' AUC; the constant model's loss and the TSS by `at_training`.
    `levels` are those of the random effect."""
    probability = model.predict_proba(values, levels=levels)
    found = measure_community(model, values, labels, levels)
    if training is not None:
        skill = species_tss(labels, probability, np.array(training["cutoffs"]))
        found["constant log loss"] = marginal_loss(labels, np.broadcast_to(training["shares"], labels.shape))
        found["tss"] = float(np.nanmean(skill)) if np.isfinite(skill).any() else float("nan")
    return {**found, "species": dict(zip(model.species, species_auc(labels, probability).tolist()))}


def measure_folds(
    split: Split,
    fit: Callable[[str, Graph, Index, list[str], str], FittedJoint],
    graph: Graph,
    values: Array,
    labels: States,
    species: Sequence[str],
    progress: Progress | None = None,
    levels: np.ndarray | None = None,
) -> SiteTest:
    """Fit with edges, without, and a GLM to each fold's training sites, and measure all on its others.

    `fit` is called with the name of a model, a graph, the training sites, the species to learn, and what to call it.
    """
    out = SiteTest(split.method, blocks=split.blocks)
    fits = StepCount(progress, "cross-validation", len(WHAT) * len(split.folds))
    for fold in split.folds:
        learnt = [s for s in range(len(species)) if {0, 1} <= set(labels[fold.train, s].tolist())]
        names = [species[s] for s in learnt]
        if left := [name for name in species if name not in names]:
            more = f" and {len(left) - 1} more" if len(left) > 1 else ""
            out.notes.append(
                f"fold {fold.name}: '{left[0]}'{more} not tested, as its training sites have no presence or no absence"
            )
        held, known = labels[fold.test][:, learnt], labels[fold.train][:, learnt]
        row: Row = {"fold": fold.name, "sites": len(fold.test)}
        with hushed():
            for name, text in WHAT.items():
                edges = _among(graph, names) if name == "joint" else "none"
                model = fit(name, edges, fold.train, names, f"fold {fold.name}, {text}")
                inside, outside = (None if levels is None else levels[rows] for rows in (fold.train, fold.test))
                training = at_training(model, values[fold.train], known, inside)
                row[name] = measure(model, values[fold.test], held, training, outside)
                fits.step()
        out.folds.append(row)
    out.mean = {name: _mean([row[name] for row in out.folds], species) for name in WHAT}
    return out


def _among(graph: Graph, names: Sequence[str]) -> Graph:
    return graph if isinstance(graph, str) else [(a, b) for a, b in graph if a in names and b in names]


def _mean(rows: Sequence[Row], species: Sequence[str]) -> Numbers:
    """Average over folds, each measure over those where it is defined."""
    each = {name: _average([row["species"].get(name, np.nan) for row in rows]) for name in species}
    return {**{key: _average([row[key] for row in rows]) for key in MEASURES}, "species": each}


def _average(values: Sequence[float]) -> float:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else float("nan")
