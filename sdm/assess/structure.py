"""Describe a structural model: shares of its families, rules and interactions."""

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from sdm.assess.importance import used_variables
from sdm.features.feature_set import FeatureSet
from sdm.features.growing.grown import GrownFamily
from sdm.features.growing.oracles import ExactTreeOracle
from sdm.features.growing.search_error import search_shares
from sdm.features.growing.tree import TreeOracle
from sdm.maxent.penalty_search import PenaltySetting
from sdm.maxent.problem import Problem
from sdm.maxent.structural import Growth
from sdm.types import Array, Numbers, Row

if TYPE_CHECKING:
    from sdm.estimators.structural import StructMaxent

CLASS_NAMES = {"l": "linear", "q": "quadratic", "p": "product", "h": "hinge", "t": "threshold", "c": "category"}
NO_GROWTH = "no trees or monomials"


@dataclass(frozen=True)
class SearchError:
    """Share of the splits that the search for trees misses, estimated at some nodes, and the resulting gap."""

    nodes: int
    found: float  # mean share of the best two splits' sum of |g| that the search finds
    worst: float  # the same at the worst node
    gap: float  # the gap if the trees that the search misses were violated by as much more

    @property
    def text(self) -> str:
        """Return the estimate as text."""
        share = f"it found {100 * self.found:.0f} % of the best pairs of splits at {self.nodes} nodes"
        return f" ({share}; if it misses as much everywhere, the gap is about {self.gap:.2g} nats)"


@dataclass(frozen=True)
class Structure:
    """Description of a structural model."""

    lam: float  # penalties `λ·B_k + β` (λ = ∞: no growing families)
    beta: float
    complexity: str  # source of `B_k`
    families: list[Row]  # see `family_shares`
    rules: list[Row]  # trees and monomials by falling weight: family and size, weight, penalty, rules as text
    interactions: list[Row]  # each pair of variables (`first`, `second`) with its `strength`, in nats of score
    gap: float  # over the features of the fit
    search: list[PenaltySetting]  # every λ and β that was tried, if they were chosen
    search_error: SearchError | None = None  # estimated error of the search for trees, if it is not exhaustive

    def summary(self) -> Numbers:
        """Return the few values that a model file stores."""
        return {
            "lambda": self.lam if np.isfinite(self.lam) else None,
            "beta": self.beta,
            "penalties": f"lambda {self.lam:g}, beta {self.beta:g}" if np.isfinite(self.lam) else NO_GROWTH,
            "complexity": self.complexity,
            "search_error": asdict(self.search_error) if self.search_error else None,
            "families": self.families,
        }

    def completed(self, certificate: Numbers) -> Numbers:
        """Return the certificate of the fit with the estimate for features that the search missed."""
        estimate = "" if self.search_error is None else self.search_error.text
        return {**certificate, "text": certificate["text"] + estimate}

    def as_dict(self) -> Numbers:
        """Return all values except the rules, which have a separate table."""
        return {**self.summary(), "interactions": self.interactions, "settings_tried": len(self.search)}


def describe_structure(fitted: "StructMaxent") -> Structure:
    """Describe a fitted structural model."""
    problem, weights, growth = fitted.problem_, fitted.coef_, fitted.growth_
    names, families = fitted.feature_names_, family_names(problem.features)
    first = weights.size - growth.grown.size
    rules = [
        {"family": families[j], "weight": float(weights[j]), "price": float(growth.beta[j]), "says": names[j]}
        for j in sorted(np.flatnonzero(weights), key=lambda j: -abs(weights[j]))
        if j >= first
    ]
    return Structure(
        lam=fitted.lam_,
        beta=fitted.beta_,
        complexity=fitted.complexity,
        families=family_shares(problem, weights),
        rules=rules,
        interactions=interactions(problem, weights),
        gap=fitted.solution_.gap,
        search_error=estimate_search_error(growth, weights, fitted.used_seed),
        search=fitted.search_,
    )


def estimate_search_error(growth: Growth, weights: Array, seed: int = 1) -> SearchError | None:
    """Compare the search for trees with an exhaustive one at some nodes; None if the search is exhaustive."""
    state = growth.problem.state(weights)
    g, worst, shares = state.p - growth.problem.sample, 0.0, np.empty(0)
    for oracle in growth.oracles:
        for proposal in oracle.propose(g):
            worst = max(worst, proposal.violation / growth.family_penalty.of(oracle, proposal.shape.size))
        if isinstance(oracle, TreeOracle) and not isinstance(oracle, ExactTreeOracle):
            shares = search_shares(oracle, g, seed=seed)
    if not shares.size:
        return None
    share = float(shares.mean())
    return SearchError(shares.size, share, float(shares.min()), growth.problem.gap(state, worst / share))


def family_names(features: FeatureSet) -> list[str]:
    """Return the family of every feature; names of growing families include the size, such as `trees 3`."""
    names: list[str] = []
    for family in features.families:
        if isinstance(family, GrownFamily):
            kinds = [source.name.partition(":")[0] for source in family.sources]
            names += [f"{kind} {shape.size}" for kind, shape in zip(kinds, family.shapes)]
        else:
            names += [CLASS_NAMES[family.letter]] * family.size
    return names


def family_shares(problem: Problem, weights: Array) -> list[Row]:
    """Return one row per family: the number of features with a nonzero weight, `Σ|w|`, `Σβ|w|`, and the gain.

    The gain is the increase of the objective when the weights of the family are set to zero.
    """
    names = np.array(family_names(problem.features))
    total = problem.state(weights).objective
    out = []
    for name in sorted(set(names[np.flatnonzero(weights)].tolist()), key=_in_order):
        inside = names == name
        used = inside & (weights != 0)
        size = np.abs(weights[used])
        price, gain = size @ problem.penalty.beta[used], problem.state(np.where(inside, 0.0, weights)).objective - total
        row = {"family": name, "features": int(used.sum()), "weight": float(size.sum())}
        out.append(row | {"price": float(price), "gain": float(gain)})
    return out


def _in_order(family: str) -> tuple[int, str, int]:
    """Order finite families first, then growing ones, by name and size."""
    name, _, size = family.partition(" ")
    return int(bool(size)), name, int(size or 0)


def interactions(problem: Problem, weights: Array) -> list[Row]:
    """Return the strength of interaction of each pair of variables: `Σ |w| · deviation` of the features that use both.

    The standard deviation is under the fitted distribution, so the unit is nats of score.
    """
    names = [variable.name for variable in problem.domain.variables]
    measure = problem.domain.measure(problem.state(weights).p)
    spread = np.abs(weights) * np.sqrt(problem.features.variances(measure))
    out: dict[tuple[str, str], float] = {}
    for family, part in zip(problem.features.families, problem.features.split(spread)):
        for j in np.flatnonzero(part):
            for u, v in combinations(used_variables(family, int(j)), 2):
                pair = (names[u], names[v])
                out[pair] = out.get(pair, 0.0) + float(part[j])
    ranked = sorted(out.items(), key=lambda item: -item[1])
    return [{"first": a, "second": b, "strength": strength} for (a, b), strength in ranked]
