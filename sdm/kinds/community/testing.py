"""Tests of joint models at held-out sites, compared with single models and a GLM."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from sdm.assess.measures.community import best_thresholds, marginal_loss, measure_community, species_auc, species_tss
from sdm.assess.variables.variogram import Autocorrelation
from sdm.joint.inference import States
from sdm.models.community import FittedJoint
from sdm.types import Array, Numbers, Row

log = logging.getLogger("sdm")

WHAT = {"joint": "joint model", "stacked": "stacked single-species models", "glm": "GLM"}
MEASURES = {
    "hamming": "Hamming error (best labelling)",
    "hamming of marginals": "Hamming error (marginals above 1/2)",
    "auc": "mean AUC",
    "log loss": "joint log loss (nats per site)",
    "marginal log loss": "sum of log losses (nats per site)",
    "constant log loss": "sum of log losses, null model",
    "tss": "mean TSS (thresholds from training)",
    "richness error": "richness error (species, RMSE)",
}


@dataclass
class SiteTest:
    """Measures at held-out sites."""

    method: str
    folds: list[Row] = field(default_factory=list)  # `fold`, `sites`, and the measures of models by name
    mean: dict[str, Numbers] = field(default_factory=dict)  # over folds, of every model
    notes: list[str] = field(default_factory=list)
    blocks: Autocorrelation | None = None  # origin of the block size, if it was measured


@contextmanager
def hushed() -> Iterator[None]:
    """Suppress messages below warnings: the labels of all sites are reported once."""
    level = log.level
    log.setLevel(max(level, logging.WARNING))
    try:
        yield
    finally:
        log.setLevel(level)


def at_training(
    model: FittedJoint, values: Array, labels: States, levels: np.ndarray | None = None
) -> dict[str, list[float]]:
    """Return the statistics of the training sites: prevalences, and the thresholds with the largest TSS."""
    shares = [float(np.mean(species_labels[species_labels >= 0])) for species_labels in labels.T]
    return {"shares": shares, "cutoffs": best_thresholds(labels, model.predict_proba(values, levels=levels)).tolist()}


def measure(
    model: FittedJoint,
    values: Array,
    labels: States,
    training: dict[str, list[float]] | None = None,
    levels: np.ndarray | None = None,
) -> Numbers:
    """Return the measures of a model and the AUC of every species; `training` gives the null model and the thresholds
    of the TSS. `levels` are the levels of the random effect."""
    probability = model.predict_proba(values, levels=levels)
    measures = measure_community(model, values, labels, levels)
    if training is not None:
        skill = species_tss(labels, probability, np.array(training["cutoffs"]))
        measures["constant log loss"] = marginal_loss(labels, np.broadcast_to(training["shares"], labels.shape))
        measures["tss"] = float(np.nanmean(skill)) if np.isfinite(skill).any() else float("nan")
    return {**measures, "species": dict(zip(model.species, species_auc(labels, probability).tolist()))}


def mean_of_folds(rows: Sequence[Row], species: Sequence[str]) -> Numbers:
    """Average measures over the folds that define them."""
    each = {name: _average([row["species"].get(name, np.nan) for row in rows]) for name in species}
    return {**{key: _average([row[key] for row in rows]) for key in MEASURES}, "species": each}


def _average(values: Sequence[float]) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.mean(finite)) if finite else float("nan")
