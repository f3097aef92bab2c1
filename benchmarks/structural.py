"""Structural maxent on Bradypus, as in Cortes et al. (2015), §4.1: ten partitions and all 648,658 cells.

Every method is trained on each of the ten partitions, with all cells (or some) as the domain, and judged on the other
30 % of the records against all cells; what `StructMaxent` chooses by default it chooses anew in each. Also: simulated
species with and without an interaction, what a fit and its choice cost, and how the three solvers converge.
"""

import argparse
import itertools
import logging
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tools.bradypus import bradypus, labelled
from benchmarks.tools.exhaustive_trees import best_violation, small_case
from benchmarks.tools.figures import draw_convergence
from benchmarks.tools.harness import ROOT, in_fresh_process, once, peak_gigabytes, save, shared, table
from sdm import Maxent, StructMaxent
from sdm.assess.measures.basic import auc
from sdm.assess.structure import estimate_search_error
from sdm.features.domain import Domain
from sdm.features.growing.tree import TreeOracle
from sdm.maxent.solvers.newton import solve_newton
from sdm.maxent.solvers.structmaxent import solve_structmaxent1, solve_structmaxent2

Array = NDArray[np.float64]

# Log loss and AUC of Cortes et al. (2015), all over trees and monomials: λ = β = 0, λ = 0, and λ by validation.
UNREGULARISED, LASSO, STRUCTURAL = (19.95, 0.810), (15.67, 0.817), (13.36, 0.873)
TREES = "trees:8,mono:4"
BASE = "L1 on feature classes L Q P H C"
# What a species likes, by four variables between 0 and 1.
NICHES: dict[str, Callable[[Array], Array]] = {
    "one variable turns another's effect": lambda x: np.where((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5), 1.0, 0.05),
    "a sum of curves": lambda x: np.exp(-(((x[:, 0] - 0.6) / 0.2) ** 2) - ((x[:, 1] - 0.4) / 0.3) ** 2),
}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    # As they ran it: one feature per round, 500 rounds. A β of 10⁻¹² is none that rounding could tell.
    "unregularised, trees and monomials": (
        "structural",
        {"families": TREES, "lam": 0.0, "beta": 1e-12, "solver": "structmaxent1", "max_iterations": 500},
    ),
    "almost unregularised (β = 10⁻⁴, 50 rounds of four features), trees and monomials": (
        "structural",
        {"families": TREES, "lam": 0.0, "beta": 1e-4, "max_iterations": 50},
    ),
    BASE: ("maxent", {"features": "lqph", "tolerance": 1e-4}),
    # λ and β that held-out loss chose on the first partition with 100,000 background points
    "L1 on trees and monomials (λ = 0)": ("structural", {"families": TREES, "lam": 0.0, "beta": 0.2}),
    "structural, trees and monomials": ("structural", {"families": TREES, "lam": 0.074, "beta": 0.01}),
    "structural, L Q P H C and trees": ("structural", {"families": "l,q,p,h,trees:8", "lam": 0.0405, "beta": 0.168}),
    "structural, default": ("structural", {}),
}
PAPER = dict(zip(METHODS, (UNREGULARISED, None, None, LASSO, *[STRUCTURAL] * 3), strict=True))
"""Which of their figures a method is to be compared with. They have none for feature classes and for fewer rounds."""


def partitions() -> list[tuple[Array, Array]]:
    """Return the values at the training and test records of the ten partitions."""
    from sdm.data.rasters.layers import open_stack
    from sdm.data.records.clean import clean
    from sdm.data.records.occurrences import read_occurrences

    folder = shared() / "phillips2006"
    stack = open_stack(folder / "layers", categorical=["ecoreg"])
    found = []
    for part in ("train", "test"):
        records = read_occurrences(folder / f"bradypus_{part}_partitions.csv")
        points, _ = clean(records, stack, remove_duplicates=False)
        found.append({name[-1]: np.asarray(own.values, dtype=np.float64) for name, own in points.items()})
    return [(found[0][k], found[1][k]) for k in "0123456789"]


@cache
def everything() -> tuple[Array, list[str], list[tuple[Array, Array]]]:
    """Return all cells, the variables' names and the partitions, read once a process."""
    cells, _, names = bradypus()
    return cells, names, partitions()


def fit_and_judge(job: tuple[str, dict[str, Any], int, int]) -> dict[str, Any]:
    """Train a method on one partition, and judge it on the rest of the records against all cells."""
    kind, settings, part, background = job
    cells, names, parts = everything()
    training, held = parts[part]
    rng = np.random.default_rng(1)
    chosen = cells if background >= len(cells) else cells[rng.choice(len(cells), background, replace=False)]
    model = {"maxent": Maxent, "structural": StructMaxent}[kind](
        **settings, categorical=[names.index("ecoreg")], add_presences="distinct"
    )
    cpu = time.process_time()
    seconds, _ = once(lambda: model.fit(*labelled(training, chosen)))
    cpu = time.process_time() - cpu
    score, at_held = model.model_.predict(cells, "link"), model.model_.predict(held, "link")
    top = score.max()
    return {
        "partition": part,
        "log loss": float(top + np.log(np.exp(score - top).sum()) - at_held.mean()),
        "AUC": auc(at_held, score),
        "seconds": seconds,
        "gap": model.solution_.gap if np.isfinite(model.solution_.gap) else None,
        "rounds": model.solution_.iterations,
        "features": model.solution_.n_nonzero,
        "CPU seconds": cpu,
        "lambda": str(getattr(model, "lam_", "")),
        "beta": getattr(model, "beta_", None),
    }


def by_partition(rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return rows by their partition; rows without one are in its order."""
    return {row.get("partition", k): row for k, row in enumerate(rows)}


def paired(ours: list[dict[str, Any]], theirs: list[dict[str, Any]], what: str) -> tuple[float, float]:
    """Return the mean difference over the partitions that both have, and how likely chance makes one as large (all sign
    flips)."""
    pairs = by_partition(ours), by_partition(theirs)
    difference = np.array([row[what] - pairs[1][k][what] for k, row in pairs[0].items() if k in pairs[1]])
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=difference.size)))
    return float(difference.mean()), float(np.mean(np.abs(signs @ difference) >= abs(difference.sum()) - 1e-12))


def timed() -> dict[str, Any]:
    """One structural fit to all 116 records on all cells, in a process of its own."""
    cells, presences, names = bradypus()
    x, y = labelled(presences, cells)
    del cells
    model = StructMaxent(TREES, 0.05, 0.01, categorical=[names.index("ecoreg")], add_presences="distinct")
    seconds, _ = once(lambda: model.fit(x, y))
    return _cost(model, seconds)


def timed_choice() -> dict[str, Any]:
    """The default with its choice of penalties on 10,000 background points, kernels compiled beforehand."""
    cells, names, parts = everything()
    rng = np.random.default_rng(1)
    x, y = labelled(parts[0][0], cells[rng.choice(len(cells), 10_000, replace=False)])
    model = StructMaxent(categorical=[names.index("ecoreg")])
    StructMaxent(lam=0.05, beta=0.1, categorical=[names.index("ecoreg")]).fit(x, y)
    cpu = time.process_time()
    seconds, _ = once(lambda: model.fit(x, y))
    return {**_cost(model, seconds), "CPU seconds": time.process_time() - cpu}


def timed_small() -> dict[str, Any]:
    """The same on 10,000 background points, kernels compiled beforehand."""
    cells, presences, names = bradypus()
    rng = np.random.default_rng(1)
    x, y = labelled(presences, cells[rng.choice(len(cells), 10_000, replace=False)])
    model = StructMaxent(TREES, 0.05, 0.01, categorical=[names.index("ecoreg")])
    model.fit(x, y)
    seconds, _ = once(lambda: model.fit(x, y))
    return _cost(model, seconds)


def _cost(model: StructMaxent, seconds: float) -> dict[str, Any]:
    return {
        "cells": model.problem_.domain.n,
        "seconds": seconds,
        "rounds": model.solution_.iterations,
        "gap": model.solution_.gap,
        "features": model.solution_.n_nonzero,
        "peak GB": peak_gigabytes(),
    }


def convergence() -> dict[str, Any]:
    """Rounds of the three solvers over the columns of one fit, to a picture in docs/."""
    cells, presences, names = bradypus()
    rng = np.random.default_rng(1)
    x, y = labelled(presences, cells[rng.choice(len(cells), 10_000, replace=False)])
    model = StructMaxent(TREES, 0.05, 0.03, categorical=[names.index("ecoreg")]).fit(x, y)
    problem = model.problem_
    solvers = {
        "fully corrective": solve_newton,
        "StructMaxent1": solve_structmaxent1,
        "StructMaxent2": solve_structmaxent2,
        "StructMaxent1, not centred": partial(solve_structmaxent1, bound=1.0),
        "StructMaxent2, not centred": partial(solve_structmaxent2, bound=1.0),
    }
    runs = {name: solve(problem, tolerance=1e-6, max_iterations=3000) for name, solve in solvers.items()}
    optimum = runs["fully corrective"].objective - runs["fully corrective"].gap
    curves = {name: [item.objective for item in run.history] for name, run in runs.items()}
    path = draw_convergence(curves, optimum, ROOT / "docs" / "pictures" / "convergence.png")
    print(f"written: {path.relative_to(ROOT)}")
    rows = [
        {
            "solver": name,
            "rounds": run.iterations,
            "gap": run.gap,
            "rounds to 0.01 nats": int(np.argmax(np.array(curves[name]) <= optimum + 0.01)) + 1,
        }
        for name, run in runs.items()
    ]
    table("Rounds over the same columns, to a gap of 1e-6 (3,000 at most)", rows)
    return {"convergence": rows}


def compare(processes: int, background: int, names: Sequence[str]) -> dict[str, Any]:
    """Train methods on every partition."""
    by_method = {}
    rows_of: dict[str, list[dict[str, Any]]] = {}  # the same settings give the same rows
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for title in names:
            kind, options = METHODS[title]
            settings = {"model": kind, **options, "background": background}
            if str(settings) not in rows_of:
                rows_of[str(settings)] = list(
                    pool.map(fit_and_judge, [(kind, options, k, background) for k in range(10)])
                )
            by_method[title] = {"settings": settings, "rows": rows_of[str(settings)]}
            print(f"{title}: {np.mean([row['log loss'] for row in rows_of[str(settings)]]):.3f}", flush=True)
    return by_method


def show(by_method: dict[str, Any], background: int) -> None:
    """Print the table of the methods."""
    base = by_method[BASE]["rows"]
    rows = []
    for title, item in by_method.items():
        results = item["rows"]
        paper, gaps = PAPER[title], [row["gap"] for row in results if row["gap"] is not None]
        loss, area = (np.array([row[what] for row in results]) for what in ("log loss", "AUC"))
        versus, chance = paired(results, base, "log loss")
        rows.append(
            {
                "method": title,
                "partitions": len(results),
                "log loss": f"{loss.mean():.3f} ± {loss.std(ddof=1):.3f}",
                "AUC": f"{area.mean():.3f} ± {area.std(ddof=1):.3f}",
                "against L1": f"{versus:+.3f}",
                "p": f"{chance:.3f}",
                "paper": f"{paper[0]:.2f} / {paper[1]:.3f}" if paper else "-",
                "seconds": float(np.mean([row["seconds"] for row in results])),
                "largest gap": max(gaps) if len(gaps) == len(results) else "-",
            }
        )
    table(f"Bradypus, mean and deviation; domain of {min(background, 648_658):,} cells", rows)


def species(job: tuple[str, int]) -> dict[str, Any]:
    """Fit both kinds of model to a simulated species, and return their log losses under its true distribution."""
    name, seed = job
    rng = np.random.default_rng(seed)
    x = rng.random((10_000, 4))
    truth = NICHES[name](x)
    truth /= truth.sum()
    rows, y = labelled(x[rng.choice(len(x), 70, p=truth)], x)
    found = {}
    models = (Maxent(), StructMaxent())
    for model in models:
        score = model.fit(rows, y).model_.predict(x, "link")
        found[type(model).__name__] = float(score.max() + np.log(np.exp(score - score.max()).sum()) - truth @ score)
    return {"niche": name, "trees": bool(np.isfinite(models[1].lam_)), **found}


def simulated(processes: int, draws: int = 10) -> list[dict[str, Any]]:
    """Compare on species with and without an interaction."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(species, [(name, seed) for name in NICHES for seed in range(draws)]))
    rows = []
    for name in NICHES:
        own = [row for row in found if row["niche"] == name]
        change = np.array([row["StructMaxent"] - row["Maxent"] for row in own])
        rows.append(
            {
                "niche": name,
                "L1": float(np.mean([row["Maxent"] for row in own])),
                "structural less L1": f"{change.mean():+.3f} ± {change.std(ddof=1) / np.sqrt(draws):.3f}",
                "with trees": f"{sum(row['trees'] for row in own)} of {draws}",
            }
        )
    table("Simulated species, 70 records: log loss under the truth", rows)
    return rows


def cost() -> dict[str, Any]:
    """What one fit costs, each in a process of its own."""
    rows = [in_fresh_process("benchmarks.structural", name) for name in ("timed_small", "timed")]
    table("One fit: trees to 8 nodes, monomials to degree 4, gap 1e-4", rows)
    choice = in_fresh_process("benchmarks.structural", "timed_choice")
    table("The default with its choice of penalties", [choice])
    return {"one fit": rows, "choice": choice}


def _timed_fit(
    families: str, lam: float, beta: float, categorical: list[int], x: Array, y: Array, rounds: int | None
) -> tuple[StructMaxent, float]:
    """Fit twice, to the end or for some rounds; return the model and the processor time of the second fit."""
    model = StructMaxent(families, lam, beta, categorical=categorical, max_iterations=rounds).fit(x, y)
    seconds = time.process_time()
    model.fit(x, y)
    return model, time.process_time() - seconds


def search(cases: int = 500) -> dict[str, Any]:
    """How often the search for trees finds the best one, where all can be tried; and what that costs a fit."""
    logging.getLogger("sdm").setLevel(logging.ERROR)  # fits that are stopped early are stopped on purpose
    found: dict[str, list[float]] = {"one split at a time": [], "with pairs and a beam": []}
    for seed in range(cases):
        x, g = small_case(np.random.default_rng([21, seed]))
        oracle = TreeOracle(Domain(x, ["a", "b", "c", "d"], ["c"]), 3)
        best = best_violation(x, g, {2})
        for name, propose in zip(found, (oracle.propose_quickly, oracle.propose)):
            found[name].append(max(proposal.violation for proposal in propose(g)) / best)
    rows = [
        {"search": name, "optimal": float(np.mean(np.array(shares) > 1 - 1e-9)), "worst": min(shares)}
        for name, shares in found.items()
    ]
    table(f"Trees with three nodes in {cases} small cases, against all trees", rows)
    cells, presences, names = bradypus()
    x, y = labelled(presences, cells[np.random.default_rng(1).choice(len(cells), 10_000, replace=False)])
    fits = []
    for families, lam, beta in itertools.product((TREES, f"auto,{TREES}"), (0.05,), (0.1, 0.2)):
        goal = None
        for name in found:
            further = TreeOracle.propose_further
            try:
                if name == "one split at a time":
                    TreeOracle.propose_further = lambda self, g: []  # type: ignore[method-assign]
                fit = partial(_timed_fit, families, lam, beta, [names.index("ecoreg")], x, y)
                model, seconds = fit(None)
                goal = model.solution_.objective if goal is None else goal
                rounds = model.solution_.iterations
                tried = (fit(some) for some in range(1, rounds))
                reached = (spent for early, spent in tried if early.solution_.objective <= goal + 1e-6)
                as_good = next(reached, seconds)
            finally:
                TreeOracle.propose_further = further  # type: ignore[method-assign]
            error = estimate_search_error(model.growth_, model.coef_)
            fits.append(
                {
                    "families": families,
                    "lambda": lam,
                    "beta": beta,
                    "search": name,
                    "objective": model.solution_.objective,
                    "gap": model.solution_.gap,
                    "found at nodes": error.found if error else None,
                    "gap if it misses as much everywhere": error.gap if error else None,
                    "rounds": rounds,
                    "CPU seconds": seconds,
                    "ms per round": 1000 * seconds / rounds,
                    "CPU seconds until as good as one split at a time": as_good,
                }
            )
    table("Bradypus, 10,000 background points", fits)
    return {"search": {"cases": cases, "rows": rows, "fits": fits}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--part", choices=("cost", "convergence", "search", "partitions", "default"), help="measure only this part anew"
    )
    given, _ = parser.parse_known_args()
    began = time.perf_counter()
    results: dict[str, Any] = {}
    if given.part in (None, "cost"):
        results |= cost()
    if given.part in (None, "convergence"):
        results |= convergence()
    if given.part in (None, "search"):
        results |= search()
    if given.part in (None, "partitions"):
        results["partitions"] = compare(given.processes, 10**9, list(METHODS))
        show(results["partitions"], 10**9)
    if given.part in (None, "default"):
        results["10,000 points"] = compare(given.processes, 10_000, [BASE, "structural, default"])
        show(results["10,000 points"], 10_000)
        results["simulated"] = simulated(given.processes)
    save("structural", results)
    print(f"structural: {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
