"""Density estimation on point patterns whose density is known, outside ecology (Cortes et al. 2015, §4.2 and §4.3).

Eight cities, and six days on a road (`benchmarks.inputs.point_patterns`): the coordinates of cells are the only
variables. As in the paper λ and β are chosen on a first pattern, and then kept for the others. As the density is known,
every method has its distance from it (Kullback–Leibler divergence) beside the log loss at points that were held out.
"""

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from benchmarks.inputs.point_patterns import PointPattern, city_pattern, road_pattern
from benchmarks.tools.figures import draw_patterns
from benchmarks.tools.harness import ROOT, save, table
from sdm import Maxent, StructMaxent
from sdm.types import Array

TREES = "trees:8,mono:4"
POINTS, HELD = 1000, 20_000
LAMBDAS, BETAS = (0.0, 0.01, 0.03, 0.1), (0.01, 0.03, 0.1)
BANDWIDTHS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # cells
KINDS: dict[str, tuple[Callable[[int], PointPattern], int]] = {"city": (city_pattern, 8), "road": (road_pattern, 6)}
PICTURES = {"city": "pattern_city.png", "road": "pattern_road.png"}
SHOWN = ("kernel density", "L1, feature classes", "structural, trees and monomials")


def counts(pattern: PointPattern, n: int, seed: int) -> Array:
    """Return how many of n points fall in each cell."""
    drawn = np.random.default_rng(seed).choice(pattern.density.size, n, p=pattern.density.ravel())
    return np.bincount(drawn, minlength=pattern.density.size).reshape(pattern.density.shape).astype(float)


def centres(pattern: PointPattern) -> Array:
    """Return the coordinates of the cells, as `sdm fit --bounds` makes them."""
    columns, rows = pattern.cells
    left, bottom, right, top = pattern.bounds
    x = left + (np.arange(columns) + 0.5) * (right - left) / columns
    y = top - (np.arange(rows) + 0.5) * (top - bottom) / rows
    return np.array([part.ravel() for part in np.meshgrid(x, y)]).T


def fitted(model: Maxent, pattern: PointPattern, found: Array) -> Array:
    """Return the density of a model of the counts in cells, and keep its rounds."""
    cells = centres(pattern)
    points = np.repeat(np.arange(len(cells)), found.ravel().astype(int))
    labels = np.r_[np.ones(len(points)), np.zeros(len(cells))]
    score = model.fit(np.r_[cells[points], cells], labels).model_.predict(cells, "link")
    p = np.exp(score - score.max())
    return np.asarray(p / p.sum()).reshape(found.shape)


def kernel(found: Array, width: float) -> Array:
    """Return counts under a Gaussian kernel that is mirrored at the edges of the window."""
    p = gaussian_filter(found, width, mode="reflect", truncate=6.0)
    return np.asarray(np.maximum(p, 1e-12) / np.maximum(p, 1e-12).sum())


def kernel_density(pattern: PointPattern, found: Array) -> Array:
    """Return the kernel density whose bandwidth is best at points left out in five folds."""
    points = np.repeat(np.arange(found.size), found.ravel().astype(int))
    fold = np.random.default_rng(0).permutation(len(points)) % 5

    def loss(width: float) -> float:
        total = 0.0
        for k in range(5):
            rest, out = (np.bincount(points[part], minlength=found.size) for part in (fold != k, fold == k))
            total -= out @ np.log(kernel(rest.reshape(found.shape).astype(float), width)).ravel()
        return total

    return kernel(found, min(BANDWIDTHS, key=loss))


def structural(**ways: Any) -> Maxent:
    """Return a model of trees and monomials, or with the defaults of `sdm fit --model structural`."""
    return StructMaxent(add_presences="distinct", **ways)


def choose(make: Callable[[int], PointPattern]) -> dict[str, dict[str, float]]:
    """Choose λ and β by the held-out loss of pattern 0: of both, and of β alone with λ = 0."""
    pattern = make(0)
    found, held = counts(pattern, POINTS, 1), counts(pattern, HELD, 2)
    tried = {}
    for lam in LAMBDAS:
        for beta in BETAS:
            p = fitted(structural(families=TREES, lam=lam, beta=beta), pattern, found)
            tried[lam, beta] = float(-(held * np.log(p)).sum() / held.sum())
    best = min((pair for pair in tried if pair[0] > 0), key=tried.__getitem__)
    alone = min((pair for pair in tried if pair[0] == 0), key=tried.__getitem__)
    keys = ("lam", "beta")
    return {"structural": dict(zip(keys, best)), "L1": dict(zip(keys, alone))}


def methods(chosen: dict[str, dict[str, float]]) -> dict[str, Callable[[PointPattern, Array], Array]]:
    """Return the methods to compare; each makes a density from the counts in cells."""
    of = {
        # λ = β = 0 of the paper: 500 rounds, one feature at a time
        "unregularised, trees and monomials": partial(
            structural, families=TREES, lam=0.0, beta=1e-6, solver="structmaxent2", max_iterations=500
        ),
        "L1, trees and monomials (λ = 0)": partial(structural, families=TREES, **chosen["L1"]),
        "structural, trees and monomials": partial(structural, families=TREES, **chosen["structural"]),
        "structural, trees and monomials, StructMaxent2": partial(
            structural, families=TREES, **chosen["structural"], solver="structmaxent2", max_iterations=500
        ),
        "structural, default": structural,
        "L1, feature classes": partial(Maxent, add_presences="distinct"),
        "L1, feature classes and relu:500": partial(Maxent, "lqph,relu:500", add_presences="distinct"),
    }
    made = {name: lambda pattern, found, make=make: fitted(make(), pattern, found) for name, make in of.items()}
    return {"uniform": lambda _, found: np.full(found.shape, 1 / found.size), "kernel density": kernel_density, **made}


def judge(job: tuple[str, str, int, dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Fit one method to one pattern, and measure it."""
    kind, name, k, chosen = job
    pattern = KINDS[kind][0](k)
    found, held = counts(pattern, POINTS, 2 * k + 1), counts(pattern, HELD, 2 * k + 2)
    cpu = time.process_time()
    p = methods(chosen)[name](pattern, found)
    return {
        "log loss": float(-(held * np.log(p)).sum() / held.sum()),
        "KL to the truth": float((pattern.density * np.log(pattern.density / p)).sum()),
        "CPU seconds": time.process_time() - cpu,
        "density": p if k == 1 and name in SHOWN else None,
    }


def compare(kind: str, processes: int) -> dict[str, Any]:
    """Fit every method to the patterns of a kind, print the table, and draw the first pattern."""
    make, patterns = KINDS[kind]
    chosen = choose(make)
    print(f"{kind}: {chosen}", flush=True)
    rows, shown = [], {"truth": make(1).density, "points": counts(make(1), POINTS, 3)}
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for name in methods(chosen):
            found = list(pool.map(judge, [(kind, name, k, chosen) for k in range(1, patterns + 1)]))
            shown |= {name: found[0]["density"]} if name in SHOWN else {}
            keys = ("log loss", "KL to the truth", "CPU seconds")
            rows.append({"method": name} | {key: [item[key] for item in found] for key in keys})
            print(f"  {name}: {np.mean(rows[-1]['log loss']):.3f}", flush=True)
    printed = [
        {"method": row["method"]}
        | {key: f"{np.mean(row[key]):.3f} ± {np.std(row[key], ddof=1) / np.sqrt(patterns):.3f}" for key in keys[:2]}
        | {"CPU seconds": float(np.mean(row["CPU seconds"]))}
        for row in rows
    ]
    table(f"{patterns} patterns ({kind}), {POINTS:,} points: mean and its standard error", printed)
    draw_patterns(shown, make(1).bounds, ROOT / "docs" / "pictures" / PICTURES[kind])
    return {"patterns": patterns, "chosen": chosen, "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kind", choices=tuple(KINDS), help="measure only these patterns anew")
    given, _ = parser.parse_known_args()
    results = {kind: compare(kind, given.processes) for kind in ([given.kind] if given.kind else KINDS)}
    save("patterns", {"points": POINTS, "held out": HELD} | results)


if __name__ == "__main__":
    main()
