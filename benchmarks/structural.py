"""Structural maxent on Bradypus, as in structural-maxent.txt §4.1: ten partitions and all 648,658 cells.

λ and β are chosen on the first partition, by five folds of its training records with 100,000 background points; then
every method is trained on each of the ten partitions, with all cells as the domain, and judged on the other 30 % of the
records against all cells. Also: what one fit costs, and how the three solvers converge.
"""

import argparse
import itertools
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.engine import bradypus, labelled
from benchmarks.harness import ROOT, earlier, in_fresh_process, once, peak_gigabytes, save, shared, table
from sdm import Maxent, StructMaxent
from sdm.assess.measures import auc
from sdm.maxent.newton import solve_newton
from sdm.maxent.structmaxent import solve_structmaxent1, solve_structmaxent2
from sdm.report.structure_figures import draw_convergence

Array = NDArray[np.float64]

GRID = (0.01, 0.03, 0.1, 0.2)
CHOICE = 100_000  # background points to choose prices with: with few, trees cannot overfit as they can on all cells
PAPER = {"unregularised": (19.95, 0.810), "L1": (15.67, 0.817), "structural": (13.36, 0.873)}
TREES, MIXED = "trees:8,mono:4", "l,q,p,h,trees:8"


def partitions() -> list[tuple[Array, Array]]:
    """Return the values at the training and test records of the ten partitions."""
    from sdm.data.clean import clean
    from sdm.data.layers import open_stack
    from sdm.data.occurrences import read_occurrences

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
    seconds, _ = once(lambda: model.fit(*labelled(training, chosen)))
    score, at_held = model.model_.predict(cells, "link"), model.model_.predict(held, "link")
    top = score.max()
    return {
        "log loss": float(top + np.log(np.exp(score - top).sum()) - at_held.mean()),
        "AUC": auc(at_held, score),
        "seconds": seconds,
        "gap": model.solution_.gap,
        "rounds": model.solution_.iterations,
        "features": model.solution_.n_nonzero,
    }


def choose(families: str, lam: float | str = "auto") -> dict[str, Any]:
    """Return the λ and β that held-out loss chooses on the first partition's training records."""
    cells, names, parts = everything()
    rng = np.random.default_rng(1)
    x, y = labelled(parts[0][0], cells[rng.choice(len(cells), CHOICE, replace=False)])
    model = StructMaxent(families, lam, "auto", grid=GRID, categorical=[names.index("ecoreg")])
    seconds, _ = once(lambda: model.fit(x, y))
    tried = [{"lambda": s.lam, "beta": s.beta, "held-out loss": s.loss} for s in model.search_]
    print(f"{families}: λ = {model.lam_:g}, β = {model.beta_:g} of {len(tried)} settings, {seconds:.0f} s", flush=True)
    return {"lam": model.lam_, "beta": model.beta_, "seconds": seconds, "tried": tried}


def paired(ours: list[dict[str, Any]], theirs: list[dict[str, Any]], what: str) -> tuple[float, float]:
    """Return the mean difference over the partitions, and how likely chance makes one as large (all sign flips)."""
    difference = np.array([a[what] - b[what] for a, b in zip(ours, theirs)])
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


def compare(processes: int, background: int, before: dict[str, Any]) -> dict[str, Any]:
    """Choose prices, train every method on every partition, and print the tables."""
    methods: dict[str, tuple[str, dict[str, Any]]] = {}
    same, grown, mixed = choose(TREES, 0.0), choose(TREES), choose(MIXED)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        methods["unregularised, trees and monomials"] = (
            "structural",
            {"families": TREES, "lam": 0.0, "beta": 1e-4, "max_iterations": 50},
        )
        methods["L1, L Q P H C"] = ("maxent", {"features": "lqph", "tolerance": 1e-4})
        for title, families, prices in (
            ("L1, trees and monomials (λ = 0)", TREES, same),
            ("structural, trees and monomials", TREES, grown),
            ("structural, L Q P H C and trees", MIXED, mixed),
        ):
            methods[title] = ("structural", {"families": families, "lam": prices["lam"], "beta": prices["beta"]})
        by_method = {}
        known = {str(item["settings"]): item["rows"] for item in before.get("partitions", {}).values()}
        for title, method in methods.items():
            settings = {"model": method[0], **method[1], "background": background}
            if str(settings) not in known:  # the same settings give the same rows
                known[str(settings)] = list(pool.map(fit_and_judge, [(*method, k, background) for k in range(10)]))
            by_method[title] = {"settings": settings, "rows": known[str(settings)]}
            print(f"{title}: {np.mean([row['log loss'] for row in known[str(settings)]]):.3f}", flush=True)
    base = by_method["L1, L Q P H C"]["rows"]
    rows = []
    for title, item in by_method.items():
        results = item["rows"]
        paper = PAPER[title.partition(",")[0]]
        loss, area = (np.array([row[what] for row in results]) for what in ("log loss", "AUC"))
        versus, chance = paired(results, base, "log loss")
        rows.append(
            {
                "method": title,
                "log loss": f"{loss.mean():.3f} ± {loss.std(ddof=1):.3f}",
                "AUC": f"{area.mean():.3f} ± {area.std(ddof=1):.3f}",
                "against L1": f"{versus:+.3f}",
                "p": f"{chance:.3f}",
                "paper": f"{paper[0]:.2f} / {paper[1]:.3f}",
                "seconds": float(np.mean([row["seconds"] for row in results])),
                "largest gap": max(row["gap"] for row in results),
            }
        )
    table(f"Bradypus, ten partitions, mean and deviation; domain of {min(background, 648_658):,} cells", rows)
    chosen = {"λ = 0": same, TREES: grown, MIXED: mixed}
    return {"chosen": chosen, "partitions": by_method, "summary": rows}


def cost() -> dict[str, Any]:
    """What one fit costs, each in a process of its own."""
    rows = [in_fresh_process("benchmarks.structural", name) for name in ("timed_small", "timed")]
    table("One fit: trees to 8 nodes, monomials to degree 4, gap 1e-4", rows)
    return {"one fit": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--background", type=int, default=10**9, help="background points (default: all cells)")
    parser.add_argument("--part", choices=("cost", "convergence", "partitions"), help="measure only this part anew")
    given, _ = parser.parse_known_args()
    began = time.perf_counter()
    results = earlier("structural") if given.part else {}
    if given.part in (None, "cost"):
        results |= cost()
    if given.part in (None, "convergence"):
        results |= convergence()
    if given.part in (None, "partitions"):
        results |= compare(given.processes, given.background, results)
    save("structural", results)
    print(f"structural: {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
