"""M³N, the maximum-margin Markov network: MEDN with a Gaussian prior (Theorem 3: mean Ση, variance as the prior's)."""

from sdm.joint.discriminant import Discriminant, Sites
from sdm.joint.learners.learned import Learned
from sdm.joint.learners.margin import Dual, solve_margin
from sdm.types import Array


def fit_m3n(
    discriminant: Discriminant,
    sites: Sites,
    c: float,
    prior: Array,
    *,
    start: Dual | None = None,
    tolerance: float = 1e-3,
    max_epochs: int = 500,
    seed: int = 0,
) -> Learned:
    """Learn weights with prior N(0, prior): the posterior is N(Ση, Σ), its mean the M³N's weights.

    Parameters
    ----------
    c : float
        Penalty on the slack.
    prior : (size,) array
        Variance of every weight; ones for the paper's model.
    start : Dual, optional
        Where an earlier fit to the same sites ended.
    """
    found = solve_margin(
        discriminant, sites, c, prior, start=start, tolerance=tolerance, max_epochs=max_epochs, seed=seed
    )
    return Learned(
        found.weights, prior.copy(), found.primal, found.gap, found.status, found.epochs, eta=found.eta, dual=found.dual
    )
