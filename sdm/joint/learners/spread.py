"""The standard deviation of a random effect, by cross-validation: the one with the least loss at held-out sites."""

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.learners.registry import Learner
from sdm.joint.learners.tuning import choose_regularization
from sdm.joint.levels import SPREADS, Levels
from sdm.types import Progress

log = logging.getLogger("sdm")


def choose_spread(
    learner: Learner,
    discriminant: Discriminant,
    sites: LabelledSites,
    bias: NDArray[np.bool_],
    levels: Levels,
    folds: int,
    seed: int,
    held: NDArray[Any] | None = None,
    *,
    patience: int,
    title: str = "joint model",
    progress: Progress | None = None,
) -> tuple[float, list[dict[str, Any]]]:
    """Return the best σ of those to try, and the loss of each; no more are tried when `patience` in a row were worse.

    `sites` have the features of the environment, `discriminant` and `bias` also one per level. Sites with one number
    in `held` are held out together.
    """
    tried: list[dict[str, Any]] = []
    best = 0
    for spread in SPREADS:
        own = levels.beside(sites, spread, learner.c)
        at = (learner, [(learner.c, learner.lam)], discriminant, own, bias, folds, seed, held)
        said: dict[str, Any] = {"title": f"{title}, random spread {spread:g}", "progress": progress}
        tried.append({**choose_regularization(*at, **said)[1][0], "random spread": spread})
        best = int(np.argmin([row["loss"] for row in tried]))
        if len(tried) - 1 - best >= patience:
            break
    log.info("%s: spread %g of the random effect chosen by held-out %s", title, SPREADS[best], tried[best]["measure"])
    return SPREADS[best], tried
