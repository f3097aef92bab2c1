"""M³N, the maximum-margin Markov network: MEDN with a Gaussian prior (Zhu & Xing 2009, Theorem 3)."""

from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.learners.learned_weights import LearnedWeights
from sdm.joint.learners.margin import Dual, solve_margin
from sdm.types import Array


def fit_m3n(
    discriminant: Discriminant,
    sites: LabelledSites,
    c: float,
    prior: Array,
    *,
    start: Dual | None = None,
    tolerance: float = 1e-3,
    max_epochs: int = 500,
    seed: int = 0,
) -> LearnedWeights:
    """Learn weights with prior N(0, prior), a variance each: the posterior is N(Ση, Σ), its mean the M³N's weights."""
    solution = solve_margin(
        discriminant, sites, c, prior, start=start, tolerance=tolerance, max_epochs=max_epochs, seed=seed
    )
    return LearnedWeights(
        solution.weights,
        prior.copy(),
        solution.primal,
        solution.gap,
        solution.status,
        solution.epochs,
        eta=solution.eta,
        dual=solution.dual,
    )
