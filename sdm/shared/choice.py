"""Choose the strength of the penalty on axes by held-out blocks of sites.

The path goes from strong to weak, each fit starting from the previous one. The choice is the weakest strength with a
held-out loss close to the least.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sdm.maxent.entropy import Entropy
from sdm.shared.factors import Factors, shown_axes
from sdm.shared.fitting import fit_shared
from sdm.shared.problem import Records, SharedProblem
from sdm.types import Array

STRENGTHS = (4.0, 2.8, 2.0, 1.4, 1.0, 0.7)
_WORSE = 2  # number of worse strengths after the best that end a path
_FLAT = 0.5  # losses within this number of standard errors are considered equal
LOOSE = 1e-3  # duality gap of fits that are only compared


@dataclass(frozen=True)
class PathRow:
    """One strength of a path: the training loss and gap, and the held-out loss with its standard error over blocks.

    Losses are in nats per record. `supported` is the number of axes that held-out records support, for the chosen
    strength.
    """

    strength: float
    penalty: float
    rank: int
    loss: float
    gap: float
    held_out: float | None = None
    held_out_se: float | None = None
    chosen: bool = False
    supported: int | None = None


def natural_penalty(strength: float, features: int, records: float) -> float:
    """Return the penalty `μ` of a strength `c`.

    The gradient of random records grows with the root of the number of features and falls with the root of the number
    of records.
    """
    return strength * float(np.sqrt(features / (150.0 * records)))


def without_block(problem: SharedProblem, held_out: NDArray[np.bool_], counts: Array) -> tuple[SharedProblem, Array]:
    """Return the problem without a block of sites and its records, and the remaining records of each species.

    `counts` are the numbers of records in the full problem.
    """
    records, sites = problem.records, np.flatnonzero(~held_out)
    position = np.cumsum(~held_out) - 1
    inside = ~held_out[records.site]
    amount = records.share[inside] * counts[records.species[inside]]
    remaining = np.bincount(records.species[inside], amount, records.count).astype(np.float64)
    share = amount / remaining[records.species[inside]]
    total = max(float(remaining.sum()), np.finfo(float).tiny)
    subset = Records(position[records.site[inside]], records.species[inside], share, remaining / total)
    q = problem.q[sites] / problem.q[sites].sum()
    return SharedProblem(problem.phi[sites], q, subset), remaining


def block_loss(problem: SharedProblem, weights: Array, block: NDArray[np.bool_], counts: Array) -> tuple[float, float]:
    """Return the summed loss of weights at the records of held-out sites, and the number of these records.

    The loss is minus the logarithm of the density among these sites, relative to the base measure there.
    """
    return _loss_of_scores(problem, problem.phi[block] @ weights, block, counts)


def _loss_of_scores(
    problem: SharedProblem, theta: Array, held_out: NDArray[np.bool_], counts: Array
) -> tuple[float, float]:
    records, sites = problem.records, np.flatnonzero(held_out)
    q = problem.q[sites] / problem.q[sites].sum()
    normaliser = np.asarray(Entropy().gibbs(theta, q[:, None]).tau)
    inside = held_out[records.site]
    position = np.cumsum(held_out) - 1
    site, species = position[records.site[inside]], records.species[inside]
    amount = records.share[inside] * counts[species]
    return float(amount @ (normaliser[species] - theta[site, species])), float(amount.sum())


def strength_path(
    problem: SharedProblem,
    counts: Array,
    blocks: NDArray[np.int64],
    strengths: Sequence[float] = STRENGTHS,
    *,
    step: Callable[[str], None] | None = None,
) -> tuple[list[PathRow], list[Factors]]:
    """Fit a falling sequence of strengths, and measure each at every held-out block of sites (numbers from 0 on).

    The path ends after some strengths with a higher held-out loss. Return the rows, with the chosen one marked, and the
    factors of each.
    """
    parts = []
    for k in range(int(blocks.max()) + 1):
        held_out = blocks == k
        if held_out[problem.records.site].any() and not held_out[problem.records.site].all():
            parts.append((held_out, *without_block(problem, held_out, counts)))
    rows: list[PathRow] = []
    factors: list[list[Factors]] = []  # for every strength: with all blocks, and without each
    total = float(counts.sum())
    # One thread per problem: the fits of all blocks run in parallel.
    full = SharedProblem(problem.phi, problem.q, problem.records)
    problems, records = [full, *(part[1] for part in parts)], [total, *(float(part[2].sum()) for part in parts)]
    latest: list[Factors | None] = [None] * len(problems)
    with ThreadPoolExecutor(problem.threads) as pool:
        for strength in sorted(strengths, reverse=True):
            penalties = [natural_penalty(strength, problem.features, count) for count in records]
            fits = []
            for one in pool.map(partial(fit_shared, tolerance=LOOSE), problems, penalties, latest):
                fits.append(one)
                if step is not None and len(fits) > 1:
                    step(f"strength {strength:g}")
            first, *others = fits
            factors.append([one.factors for one in fits])
            latest = [*factors[-1]]
            row = PathRow(strength, first.strength, first.factors.rank, first.state.loss, first.gap)
            losses = [block_loss(problem, one.weights, part[0], counts) for one, part in zip(others, parts)]
            if losses:
                sums, amounts = np.array(losses).T
                mean = float(sums.sum() / amounts.sum())
                spread = float(np.sqrt(np.sum((sums - mean * amounts) ** 2)) / amounts.sum())
                row = replace(row, held_out=mean, held_out_se=spread)
            rows.append(row)
            measured = [float(one.held_out) for one in rows if one.held_out is not None]
            if measured and len(measured) - 1 - int(np.argmin(measured)) >= _WORSE:
                break
    if parts:
        chosen = chosen_row(rows)
        supported = supported_axes(problem, counts, [part[:2] for part in parts], factors[chosen][1:])
        rows[chosen] = replace(rows[chosen], chosen=True, supported=supported)
    return rows, [each[0] for each in factors]


def chosen_row(rows: Sequence[PathRow]) -> int:
    """Return the position of the weakest strength whose held-out loss is within half a standard error of the least.

    The loss is flat there, and held-out blocks favour stronger penalties than the complete region.
    """
    losses = np.array([np.inf if one.held_out is None else one.held_out for one in rows])
    best = int(np.argmin(losses))
    limit = losses[best] + _FLAT * (rows[best].held_out_se or 0.0)
    return int(np.flatnonzero(losses <= limit)[-1])


def supported_axes(
    problem: SharedProblem,
    counts: Array,
    parts: Sequence[tuple[NDArray[np.bool_], SharedProblem]],
    fits: Sequence[Factors],
) -> int:
    """Return the number of axes that held-out records support.

    It is the smallest number, in the order of explained variance, whose loss is within half a standard error of the
    least. `fits` are without each block. A penalty that is weak enough for the important axes also admits other axes,
    which contribute little.
    """
    most = max(one.rank for one in fits)
    sums, amounts = np.zeros((len(parts), most + 1)), np.zeros(len(parts))
    for k, ((held_out, part), factors) in enumerate(zip(parts, fits)):
        axes, places, _ = shown_axes(part, factors)
        z = problem.phi[held_out] @ axes
        for used in range(most + 1):
            sums[k, used], amounts[k] = _loss_of_scores(problem, z[:, :used] @ places[:used], held_out, counts)
    mean = sums.sum(axis=0) / amounts.sum()
    best = int(np.argmin(mean))
    spread = float(np.sqrt(np.sum((sums[:, best] - mean[best] * amounts) ** 2)) / amounts.sum())
    return int(np.flatnonzero(mean <= mean[best] + _FLAT * spread)[0])
