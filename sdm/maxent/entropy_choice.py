"""Choosing the order α of the entropy by the loss at records, or sites, that were held out.

The Fenchel–Young loss of a model depends on its α, so models of different α are compared by the log loss. An entropy
above 1 can put a probability of zero where a record is; so that its loss is finite, every model is mixed with one part
in a thousand of a constant one. Of equal losses the smallest α is taken: Shannon's entropy leaves no zeros.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sdm.types import Array

ORDERS = (1.0, 1.25, 1.5, 2.0)  # to try
FLOOR = 1e-3  # share of the constant model
FOLDS = 5


@dataclass(frozen=True)
class OrderTrial:
    """An order of the entropy with its mean log loss at what was held out (nats), and the loss's standard error."""

    order: float
    loss: float
    error: float


def floored_log_loss(ratio: Array) -> Array:
    """Return `−ln` of probabilities relative to those of the constant model, kept finite by its share."""
    return np.asarray(-np.log((1.0 - FLOOR) * ratio + FLOOR))


def choose_order(losses: Mapping[float, Array], share: Array | None = None) -> tuple[float, list[OrderTrial]]:
    """Return the order with the lowest mean of its losses, weighted by `share`, and every order's trial."""
    trials = []
    for order in sorted(losses):
        each = losses[order]
        weight = np.full(each.size, 1.0 / each.size) if share is None else share / share.sum()
        mean = float(weight @ each)
        spread = weight**2 @ (each - mean) ** 2 * each.size / max(each.size - 1, 1)
        trials.append(OrderTrial(order, mean, float(np.sqrt(spread))))
    return min(trials, key=lambda trial: trial.loss).order, trials


def order_note(order: float, trials: list[OrderTrial]) -> str:
    """Say which order was chosen, and the losses of all."""
    listed = ", ".join(f"{trial.order:g}: {trial.loss:.4f}" for trial in trials)
    return f"entropy of order {order:g}, chosen by the held-out log loss ({listed} nats)"
