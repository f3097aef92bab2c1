"""Learning curves, sensitivity and profiles for all penalties, as in Dudík, Phillips & Schapire (2007), §8.

Three species: Bradypus (116 records), the species of New South Wales with the most records, and semi-natural grassland
in Norway. Each is divided into random halves; models are fitted to samples of one half, and judged by the log loss at
the other half, relative to an even map (0). All penalties are `β_j = β₀ σ̃_j/√m`, with β₀ from a grid; the domain is
2,000 background points and the training records. The last figure has the profiles of one half, as their Fig. 8.
"""

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.nceas import one_per_site
from benchmarks.tools.figures import draw_learning, draw_profiles, draw_sensitivity
from benchmarks.tools.harness import ROOT, earlier, save, shared, table
from benchmarks.transfer import grassland
from sdm.features.domain import Domain
from sdm.features.feature_set import FeatureSet, build_features
from sdm.maxent.correlation import feature_correlation
from sdm.maxent.entropy import Entropy
from sdm.maxent.penalty import make_penalty
from sdm.maxent.penalty_weights import penalty_weights
from sdm.maxent.problem import Problem
from sdm.maxent.solvers.newton import solve_newton
from sdm.types import Array

NAMES = ("l1", "smoothed_l1", "l2", "l2sq", "elastic", "mahalanobis", "lp")
CLASSES = {"LQP": "lqp", "T": "t"}
STRENGTHS = tuple(float(f"{x:.3g}") for x in 10.0 ** np.arange(1.5, -2.1, -0.5))  # from strong to weak
SIZES = (10, 30, 100, 300)
SPECIES = ("Bradypus", "New South Wales", "grassland")
PARTITIONS, BACKGROUND, KNOTS, MOST_HELD = 5, 2000, 12, 500
ENOUGH = 30  # records of a sample that has a say in the choice of β₀
UNSEEN = 1e-9  # base measure of a held-out record, in units of a background point's
PICTURES = ROOT / "benchmarks" / "notes" / "pictures"


@cache
def data(species: str) -> tuple[Array, Array, list[str]]:
    """Return the continuous variables at the records and at the background, and their names."""
    if species == "grassland":
        records, cells, _, _, categorical = grassland()
        keep = [v for v in range(cells.shape[1]) if v not in categorical]
        names = sorted(path.stem for path in (shared() / "grassland" / "continuous").glob("*.tif"))
        return records[:, keep], cells[:, keep], names
    if species == "Bradypus":
        (path,) = (shared() / "bradypus_swd").glob("*.csv")
        rows = pd.read_csv(path).drop(columns="ecoreg")
        present = rows.pop("presence") == 1
        return rows[present].to_numpy(float), rows[~present].to_numpy(float), list(rows)
    records, points = (pd.read_csv(shared() / "nceas" / f"NSWtrain_{part}.csv") for part in ("po", "bg"))
    most = records["spid"].value_counts().index[0]
    names = [name for name in points.columns[6:] if name not in ("tempmin", "vegsys")]
    own = one_per_site(records[records["spid"] == most])
    return own[names].to_numpy(float), points[names].to_numpy(float), names


def halves(species: str, partition: int) -> tuple[Array, Array, Array, list[str]]:
    """Return training records in random order, held-out records and background points."""
    records, points, names = data(species)
    rng = np.random.default_rng([8, partition])
    order = rng.permutation(len(records))
    chosen = rng.permutation(len(points))[:BACKGROUND]
    train, held = np.array_split(records[order], 2)
    return train, held[:MOST_HELD], points[chosen], names


def sizes(count: int) -> list[int]:
    """Return the sizes of samples of `count` training records."""
    return [size for size in SIZES if size < 0.8 * count] + [count]


def features_of(
    train: Array, held: Array, points: Array, names: Sequence[str], classes: str, knots: int = KNOTS
) -> tuple[FeatureSet, Array]:
    """Return features over background, training and held-out records, and the sample."""
    q0 = np.repeat([1.0, 1.0, UNSEEN], [len(points), len(train), len(held)])
    domain = Domain(np.vstack([points, train, held]), list(names), (), q0 / q0.sum())
    sample = np.zeros(domain.n)
    sample[len(points) : len(points) + len(train)] = 1.0 / len(train)
    return build_features(domain, classes, knots=knots, sample=sample), sample


def jobs() -> list[tuple[str, int, int]]:
    """Return every sample: species, partition, number of records."""
    counts = {species: sizes(len(halves(species, 0)[0])) for species in SPECIES}
    return [(species, k, size) for k in range(PARTITIONS) for species in SPECIES for size in counts[species]]


def measure(job: tuple[str, int, int]) -> list[dict[str, Any]]:
    """Fit every penalty at every strength, from strong to weak, to one sample."""
    species, partition, size = job
    train, held, points, names = halves(species, partition)
    rows = []
    for title, classes in CLASSES.items():
        features, sample = features_of(train[:size], held, points, names, classes)
        deviation = penalty_weights(features, sample, size, rule="deviation")
        correlation = feature_correlation(features, 0.01).matrix
        for name in NAMES:
            start, began = None, time.process_time()
            for strength in STRENGTHS:
                penalty = make_penalty(name, strength * deviation, correlation=correlation)
                problem = Problem(features, sample, Entropy(1.0), penalty)
                solution = solve_newton(problem, start=start, tolerance=1e-4)
                start = solution.weights
                score = problem.scores(start)  # not the density, which may be too small for a number
                level = float(score.max() + np.log(problem.q0 @ np.exp(score - score.max())))
                row = {"species": species, "partition": partition, "records": size, "features": title}
                row |= {"penalty": name, "beta0": strength, "loss": level - float(score[-len(held) :].mean())}
                rows.append(row | {"gap": solution.gap, "status": solution.status})
            rows[-1]["CPU seconds of the path"] = time.process_time() - began
    return rows


Losses = dict[tuple[str, str, int, str, float], float]
"""Mean loss over the partitions, by species, features, number of records, penalty and strength."""


def mean_losses(rows: Sequence[dict[str, Any]]) -> Losses:
    """Return the means over the partitions."""
    found: dict[tuple[str, str, int, str, float], list[float]] = defaultdict(list)
    for row in rows:
        found[row["species"], row["features"], row["records"], row["penalty"], row["beta0"]].append(row["loss"])
    return {key: float(np.mean(values)) for key, values in found.items()}


def as_json(losses: Losses) -> list[dict[str, Any]]:
    """Return one row per species, features, records and penalty, with the losses from strong to weak as a text."""
    cells = dict.fromkeys(key[:4] for key in losses)
    heads = ("species", "features", "records", "penalty")
    return [
        {**dict(zip(heads, cell)), "losses": " ".join(f"{losses[*cell, b]:.4f}" for b in STRENGTHS)} for cell in cells
    ]


def from_json(rows: Sequence[dict[str, Any]]) -> Losses:
    """Return the losses that `as_json` wrote."""
    return {
        (row["species"], row["features"], row["records"], row["penalty"], b): float(loss)
        for row in rows
        for b, loss in zip(STRENGTHS, row["losses"].split())
    }


def solved(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how well and how quickly each penalty was solved."""
    out = []
    for title in CLASSES:
        for name in NAMES:
            own = [row for row in rows if (row["features"], row["penalty"]) == (title, name)]
            seconds = sum(row.get("CPU seconds of the path", 0.0) for row in own)
            row = {"features": title, "penalty": name, "fits": len(own), "largest gap": max(r["gap"] for r in own)}
            out.append(row | {"converged": sum(r["status"] == "converged" for r in own), "CPU seconds": seconds})
    return out


def best_strengths(losses: Losses) -> dict[tuple[str, str], float]:
    """Return for each feature set and penalty the one β₀ that is best over all species and samples of `ENOUGH` records.
    With ten, most thresholds are constant at the records, and their deviation is zero."""
    cells = {(species, features, size) for species, features, size, _, _ in losses if size >= ENOUGH}
    return {
        (title, name): min(
            STRENGTHS,
            key=lambda b: sum(losses[s, f, m, name, b] for s, f, m in cells if f == title),
        )
        for title in CLASSES
        for name in NAMES
    }


def summary(losses: Losses) -> list[dict[str, Any]]:
    """Return a row for each feature set and penalty: its β₀, the loss there and at the best β₀ of each sample."""
    best = best_strengths(losses)
    cells = sorted({(species, features, size) for species, features, size, _, _ in losses if size >= ENOUGH})
    out = []
    for (title, name), strength in best.items():
        own = [cell for cell in cells if cell[1] == title]
        each = {cell: min(STRENGTHS, key=lambda b: losses[*cell, name, b]) for cell in own}
        out.append(
            {
                "features": title,
                "penalty": name,
                "beta0": strength,
                "loss": float(np.mean([losses[*cell, name, strength] for cell in own])),
                "loss at its best beta0": float(np.mean([losses[*cell, name, each[cell]] for cell in own])),
                "best beta0 from": min(each.values()),
                "to": max(each.values()),
                "loss at a tenth of beta0": _mean_at(losses, own, name, strength / 10.0),
                "loss at ten times": _mean_at(losses, own, name, strength * 10.0),
            }
        )
    return out


def _mean_at(losses: Losses, cells: Sequence[Any], name: str, strength: float) -> float | None:
    """Return the mean loss at a strength, if it is on the grid."""
    near = min(STRENGTHS, key=lambda b: abs(np.log(b / strength)))
    if abs(np.log(near / strength)) > 0.2:
        return None
    return float(np.mean([losses[*cell, name, near] for cell in cells]))


def profiles(species: str = "New South Wales") -> dict[str, Any]:
    """What each variable adds to the score, in three models of the first half (l1)."""
    train, held, points, names = halves(species, 0)
    runs = {"LQ, β₀ = 0.1": ("lq", 0.1), "T, β₀ = 1": ("t", 1.0), "T, β₀ = 0.01": ("t", 0.01)}
    curves: dict[str, dict[str, list[list[float]]]] = {name: {} for name in names}
    for title, (classes, strength) in runs.items():
        features, sample = features_of(train, held, points, names, classes, knots=60)
        beta = strength * penalty_weights(features, sample, len(train), rule="deviation")
        problem = Problem(features, sample, Entropy(1.0), make_penalty("l1", beta))
        weights = solve_newton(problem, tolerance=1e-4).weights
        groups = np.concatenate([family.terms().var for family in features.families])
        for v, name in enumerate(names):
            part = features.scores(np.where(groups == v, weights, 0.0))
            variable, code = features.domain.variables[v], features.domain.codes[v]
            by_value = np.zeros(variable.values.size)
            by_value[code] = part
            curves[name][title] = [variable.values.tolist(), (by_value - by_value.mean()).tolist()]
    path = draw_profiles(curves, PICTURES / "penalties_profiles.png")
    print(f"written: {path.relative_to(ROOT)}")
    peaks = {title: sum(_turns(np.array(own[title][1])) for own in curves.values()) for title in runs}
    return {"species": species, "records": len(train), "turns of all profiles": peaks}


def _turns(curve: Array) -> int:
    """Return how often a curve changes between rising and falling."""
    steps = np.sign(np.diff(curve))
    return int(np.count_nonzero(np.diff(steps[steps != 0])))


def draw(losses: Losses) -> None:
    """Draw the learning curves and the sensitivity."""
    best = best_strengths(losses)
    curves: dict[tuple[str, str], dict[str, tuple[list[float], list[float]]]] = {}
    for title in CLASSES:
        for species in SPECIES:
            counts = sorted({size for s, f, size, _, _ in losses if (s, f) == (species, title)})
            curves[title, species] = {
                name: (list(map(float, counts)), [losses[species, title, m, name, best[title, name]] for m in counts])
                for name in NAMES
            }
    sensitivity: dict[tuple[str, str], dict[str, tuple[list[float], list[float]]]] = {}
    for title in CLASSES:
        for species in SPECIES:
            counts = sorted({size for s, f, size, _, _ in losses if (s, f) == (species, title)})
            for count in (30, counts[-1]):
                panel = f"{title}, {'30' if count == 30 else 'all'}", species
                sensitivity[panel] = {
                    name: (list(STRENGTHS), [losses[species, title, count, name, b] for b in STRENGTHS])
                    for name in NAMES
                }
    for path in (
        draw_learning(curves, PICTURES / "penalties_learning.png"),
        draw_sensitivity(sensitivity, PICTURES / "penalties_sensitivity.png"),
    ):
        print(f"written: {path.relative_to(ROOT)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--part", choices=("curves", "profiles", "figures"), help="only this part, anew")
    given, _ = parser.parse_known_args()
    results: dict[str, Any] = {}
    if given.part in (None, "curves"):
        with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
            rows = [row for part in pool.map(measure, jobs()) for row in part]
        losses = mean_losses(rows)
        results |= {
            "partitions": PARTITIONS,
            "beta0": STRENGTHS,
            "summary": summary(losses),
            "solved": solved(rows),
            "losses": as_json(losses),
        }
    if given.part in (None, "profiles"):
        results["profiles"] = profiles()
    shown = earlier("penalties") | results
    table(
        f"Test loss relative to an even map, one β₀ for all species and samples of {ENOUGH} records or more",
        shown["summary"],
    )
    table("How they were solved, to a gap of 1e-4", shown["solved"])
    draw(from_json(shown["losses"]))
    save("penalties", results)


if __name__ == "__main__":
    main()
