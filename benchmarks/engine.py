"""The engine: one fit against elapid, the whole of South America, growth with cells and knots, prediction speed, and
named penalties."""

import argparse
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.tools.bradypus import bradypus, labelled
from benchmarks.tools.harness import best_of, in_fresh_process, once, peak_gigabytes, save, table
from sdm import Maxent
from sdm.assess.measures.performance_bound import performance_bound


def against_elapid() -> list[dict[str, Any]]:
    """10,000 background points + 116 presences, 14 variables, all classes, maxnet's knots."""
    import pandas as pd
    from elapid import MaxentModel

    cells, presences, names = bradypus()
    rng = np.random.default_rng(1)
    x, y = labelled(presences, cells[rng.choice(len(cells), 10_000, replace=False)])
    frame = pd.DataFrame(x, columns=names)
    seconds, model = best_of(lambda: Maxent("lqpht", knots="maxnet", categorical=["ecoreg"]).fit(frame, y), 5)
    other = MaxentModel(
        feature_types=["linear", "quadratic", "product", "hinge", "threshold"],
        n_hinge_features=50,
        n_threshold_features=50,
        n_cpus=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, _ = once(lambda: other.fit(frame, y, categorical=[names.index("ecoreg")]))
    return [
        {
            "program": "sdm",
            "seconds": seconds,
            "features": model.feature_set_.size,
            "gap": model.solution_.gap,
            "times faster": theirs / seconds,
        },
        {"program": "elapid", "seconds": theirs, "features": len(other.beta_scores_), "gap": "-", "times faster": 1.0},
    ]


def warm_fit() -> dict[str, Any]:
    """A fit in a process that has made one before, beside one product of a matrix as large as that of its features with
    a vector: what any solver that has such a matrix pays for each look at it."""
    cells, presences, names = bradypus()
    rng = np.random.default_rng(1)
    x, y = labelled(presences, cells[rng.choice(len(cells), 10_000, replace=False)])
    del cells
    seconds, model = best_of(lambda: Maxent("lqpht", categorical=[names.index("ecoreg")]).fit(x, y), 7)
    matrix, vector = rng.random((len(x), model.feature_set_.size)), rng.random(model.feature_set_.size)
    product, _ = best_of(lambda: matrix @ vector, 5)
    return {
        "points": len(x),
        "features": model.feature_set_.size,
        "seconds": seconds,
        "rounds": model.solution_.iterations,
        "one matrix product": product,
        "times": seconds / product,
    }


def whole_domain() -> dict[str, Any]:
    """Every valid cell as domain, a threshold and hinge between every two distinct values."""
    cells, presences, names = bradypus()
    x, y = labelled(presences, cells)
    del cells
    model = Maxent("lqpht", knots="all", categorical=[names.index("ecoreg")], tolerance=1e-5, add_presences="distinct")
    seconds, _ = once(lambda: model.fit(x, y))
    solution = model.solution_
    return {
        "cells": model.problem_.domain.n,
        "features": model.feature_set_.size,
        "seconds": seconds,
        "gap": solution.gap,
        "iterations": solution.iterations,
        "nonzero": solution.n_nonzero,
        "peak GB": peak_gigabytes(),
    }


def growth() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """How cost grows with cells (100 knots) and with knots (100,000 cells), on smooth random variables."""
    rng = np.random.default_rng(2)
    cells = rng.normal(size=(1_000_000, 8))
    cells[:, 1] += 0.5 * cells[:, 0]
    niche = np.exp(-0.5 * ((cells[:, 0] - 1) ** 2 + (cells[:, 1] - 0.5) ** 2 + 0.5 * cells[:, 2]))
    presences = cells[rng.choice(len(cells), 200, p=niche / niche.sum())]

    def row(n: int, knots: int) -> dict[str, Any]:
        x, y = labelled(presences, cells[:n])
        seconds, model = best_of(lambda: Maxent("lqht", knots=knots, tolerance=1e-5).fit(x, y), 2)
        solution = model.solution_
        per = seconds / solution.iterations / n * 1e9
        return {
            "cells": n,
            "knots": knots,
            "features": model.feature_set_.size,
            "seconds": seconds,
            "rounds": solution.iterations,
            "ns per cell and round": per,
            "gap": solution.gap,
        }

    return [row(n, 100) for n in (10_000, 100_000, 1_000_000)], [row(100_000, k) for k in (10, 100, 1000)]


def prediction() -> list[dict[str, Any]]:
    """Cells a second, one thread, of a model with linear, quadratic, hinge, threshold and category features."""
    cells, presences, names = bradypus()
    rng = np.random.default_rng(3)
    x, y = labelled(presences, cells[rng.choice(len(cells), 10_000, replace=False)])
    rows = []
    for knots in ("maxent", "maxnet"):
        model = Maxent("lqht", knots=knots, categorical=[names.index("ecoreg")], multiplier=0.5).fit(x, y).model_
        columns = list(np.ascontiguousarray(cells.T.astype(np.float32)))
        for scale in ("link", "cloglog"):
            seconds, _ = best_of(lambda m=model, s=scale, c=columns: m.predict_columns(c, s))  # type: ignore[misc]
            speed = len(cells) / seconds / 1e6
            rows.append({"knots": knots, "terms": len(model.terms), "scale": scale, "million cells/s": speed})
    return rows


RULES = {  # named penalties with the penalty that each is about
    "maxent": "l1",
    "deviation": "l1",
    "corollary5": "l1",
    "corollary7": "l1",
    "theorem8": "smoothed_l1",
    "corollary9": "smoothed_l1",
    "theorem11": "l2",
    "theorem13": "l2sq",
    "theorem15": "elastic",
}


def penalties() -> list[dict[str, Any]]:
    """Penalties by tables and by the theory: the loss of ten halves of the Bradypus records on the other half, and what
    the bound of the theory promises."""
    cells, presences, names = bradypus()
    rng = np.random.default_rng(4)
    background = cells[rng.choice(len(cells), 10_000, replace=False)]
    halves = [rng.permutation(len(presences)) < len(presences) // 2 for _ in range(10)]
    rows = []
    for rule, regularization in RULES.items():
        losses, bounds, gains, weights = [], [], [], []
        for half in halves:
            x, y = labelled(presences[half], background)
            options: dict[str, Any] = {"beta": rule, "regularization": regularization, "norm": 30.0}
            model = Maxent("lqp", categorical=[names.index("ecoreg")], tolerance=1e-5, **options).fit(x, y)
            losses.append(-float(np.mean(np.log(10_000 * model.predict(presences[~half], "raw")))))
            bound = performance_bound(model)
            bounds.append(np.nan if bound is None else bound["excess"])
            gains.append(model.solution_.gain)
            weights.append(float(np.abs(model.coef_).sum()))
        rows.append(
            {
                "penalty": f"{rule} ({regularization})",
                "test loss": float(np.mean(losses)),
                "error": float(np.std(losses, ddof=1) / np.sqrt(len(losses))),
                "gain": float(np.mean(gains)),
                "sum of weights": float(np.mean(weights)),
                "bound": float(np.mean(bounds)),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("penalties",), help="measure only this part anew")
    given, _ = parser.parse_known_args()
    began = time.perf_counter()
    results: dict[str, Any] = {}
    if not given.part:  # first, while this process holds little: the memory of another counts from that of this one
        results["warm fit"] = in_fresh_process("benchmarks.engine", "warm_fit")
        results["whole domain"] = in_fresh_process("benchmarks.engine", "whole_domain")
    results["penalties"] = penalties()
    table("Named penalties: half of the Bradypus records, L Q P C, loss on the other half", results["penalties"])
    if given.part:
        save("engine", results)
        return
    results["against elapid"] = against_elapid()
    table("One fit: 10,000 + 116 points, 14 variables, L Q P H T C, single process", results["against elapid"])
    table("The same points with Maxent's knots, beside a product of a matrix of that size", [results["warm fit"]])
    table("Every cell of the Bradypus layers, thresholds and hinges at every distinct value", [results["whole domain"]])
    results["growth with cells"], results["growth with knots"] = growth()
    table("Growth with cells (8 variables, L Q H T)", results["growth with cells"])
    table("Growth with knots", results["growth with knots"])
    results["prediction"] = prediction()
    table("Prediction, 14 variables, one core", results["prediction"])
    save("engine", results)
    print(f"engine: {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
