"""The entire path: segments and time as in the paper's §8, growth to a million, the general path; pictures."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tools.bradypus import bradypus, labelled
from benchmarks.tools.harness import ROOT, best_of, once, save, table
from sdm import Maxent
from sdm.assess.paths.strata import PathValidation, validate_path
from sdm.maxent.paths.homotopy import RelaxationPath, track_path
from sdm.maxent.paths.multiplier import CertifiedPath, follow_path
from sdm.report.figures.paths import draw_mu, draw_multipliers, draw_strata, draw_validation

ALPHABET = 10_000
REPEATS = 10
PICTURES = ROOT / "docs" / "pictures"

# What relaxation-path.txt says of Fig. 6 and in §8, in segments over n; between them the figure only shows a rise.
PAPER = {0.125: "at most 0.1", 8.0: "about 1", np.inf: "mode 2, seldom over 4"}


def zipf(n: int, size: float, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the prior `1/(i + 2)` and a sample from `1/i`; an infinite sample is that distribution itself."""
    rank = np.arange(1, n + 1)
    prior, mother = 1.0 / (rank + 2.0), 1.0 / rank
    mother /= mother.sum()
    return prior / prior.sum(), mother if np.isinf(size) else rng.multinomial(int(size), mother) / int(size)


def segments() -> list[dict[str, Any]]:
    """Zipf prior and sample over 10,000 letters, samples of n/8 to 8n letters and far more."""
    rng = np.random.default_rng(1)
    track_path(*zipf(1000, 1000, rng))
    rows = []
    for times in (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 64.0, 512.0, np.inf):
        found, seconds = [], []
        for _ in range(REPEATS if times <= 8 else 1 if np.isinf(times) else 3):
            prior, observed = zipf(ALPHABET, times * ALPHABET, rng)
            took, path = once(lambda u=prior, q=observed: track_path(u, q))  # type: ignore[misc]
            found.append(path.n_segments / ALPHABET)
            seconds.append(took)
        rows.append(
            {
                "sample / n": float(times),
                "repeats": len(found),
                "segments / n": float(np.mean(found)),
                "most": float(np.max(found)),
                "the paper": PAPER.get(times, ""),
                "seconds": float(np.mean(seconds)),
            }
        )
    return rows


def growth() -> list[dict[str, Any]]:
    """How time grows with the alphabet: as many letters sampled as there are, Zipf prior and uniform prior."""
    rng = np.random.default_rng(2)
    track_path(np.ones(9), np.arange(9.0))
    track_path(*zipf(9, 9, rng))
    rows = []
    for n in (10_000, 50_000, 100_000, 1_000_000):
        for name in ("Zipf", "uniform") if n <= 50_000 else ("uniform",):  # for Zipf, time grows with the square
            prior, observed = zipf(n, n, rng)
            if name == "uniform":  # with shares that are all distinct, the most there can be to do
                prior, observed = np.ones(n), rng.random(n)
            seconds, path = once(lambda u=prior, q=observed: track_path(u, q))  # type: ignore[misc]
            rows.append(
                {
                    "prior": name,
                    "atoms": n,
                    "segments": path.n_segments,
                    "seconds": seconds,
                    "µs a segment": 1e6 * seconds / path.n_segments,
                }
            )
    return rows


def general() -> tuple[dict[str, Any], CertifiedPath, list[str]]:
    """Bradypus, 10,000 background points, L Q H, from the empty model to multiplier 0.1, gap 1e-3 everywhere."""
    cells, presences, names = bradypus()
    rng = np.random.default_rng(1)
    x, y = labelled(presences, cells[rng.choice(len(cells), 10_000, replace=False)])
    problem = Maxent("lqh", categorical=[names.index("ecoreg")]).fit(x, y).problem_
    seconds, path = best_of(
        lambda: follow_path(problem.features, problem.sample, problem.entropy, problem.penalty.beta, epsilon=1e-3), 2
    )
    row = {
        "cells": problem.domain.n,
        "features": problem.features.size,
        "from": path.knots[0].multiplier,
        "to": path.knots[-1].multiplier,
        "fits": len(path.knots),
        "rounds": sum(knot.iterations for knot in path.knots),
        "largest gap": path.gap,
        "seconds": seconds,
    }
    return row, path, problem.features.terms().names(names)


def strata(folds: int = 10, classes: int = 12) -> tuple[RelaxationPath, PathValidation, list[str]]:
    """Bradypus over climate classes (temperature by rain): the whole path, and its held-out loss in random folds."""
    cells, presences, names = bradypus()
    code = np.zeros(len(cells) + len(presences), dtype=np.int64)
    for layer in ("tmp6190_ann", "pre6190_ann"):
        values = np.concatenate([cells[:, names.index(layer)], presences[:, names.index(layer)]])
        edges = np.quantile(values[: len(cells)], np.arange(1, classes) / classes)
        code = 100 * code + np.searchsorted(edges, values, side="right") + 1
    codes, place = np.unique(code, return_inverse=True)
    area = np.bincount(place[: len(cells)], minlength=codes.size).astype(float)
    records = place[len(cells) :]
    fold = np.random.default_rng(1).permutation(records.size) % folds
    prior = np.ones(codes.size)

    def path(chosen: NDArray[np.bool_]) -> RelaxationPath:
        return track_path(prior, np.bincount(records[chosen], minlength=codes.size) / area, area)

    held = [np.bincount(records[fold == k], minlength=codes.size) for k in range(folds)]
    found = validate_path([path(fold != k) for k in range(folds)], held)
    labels = [f"temperature {c // 100}, rain {c % 100}" for c in codes]
    return path(np.ones(records.size, dtype=bool)), found, labels


def pictures(general_path: CertifiedPath, features: list[str]) -> list[Path]:
    """Draw the pictures of docs/methods/path.md."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    small = track_path([0.1, 0.2, 0.3, 0.4], [0.45, 0.05, 0.38, 0.12])
    path, found, names = strata()
    marks = [("least held-out loss", found.best.nu), ("within one standard error", found.one_error.nu)]
    return [
        draw_mu(small, PICTURES / "path_mu.png", title="μ(ν) of four atoms and the lines that it breaks at"),
        draw_strata(
            path,
            PICTURES / "path_strata.png",
            names=names,
            marks=marks,
            title="Bradypus in classes of temperature and rain",
        ),
        draw_validation(found, PICTURES / "path_validation.png", title="Held-out loss along the whole path"),
        draw_multipliers(
            general_path,
            PICTURES / "path_multipliers.png",
            names=features,
            title="Bradypus, every multiplier down to 0.1",
        ),
    ]


def main() -> None:
    began = time.perf_counter()
    results: dict[str, Any] = {}
    results["segments"] = segments()
    table(f"Zipf prior and sample over {ALPHABET:,} letters (Dubiner and Singer 2011, §8)", results["segments"])
    results["growth"] = growth()
    table("Growth with the alphabet", results["growth"])
    results["general path"], path, features = general()
    table("Every multiplier: Bradypus, 10,000 + 116 points, L Q H, gap 1e-3 everywhere", [results["general path"]])
    for picture in pictures(path, features):
        print(f"written: {picture.relative_to(ROOT)}")
    for row in results["segments"]:
        row["sample / n"] = str(row["sample / n"])  # JSON knows no infinity
    save("path", results)
    print(f"path: {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
