"""Novelty of 16 million cells of 14 layers: MESS with its variable, ExDet, what is outside; and plain prediction."""

import os
import sys
from bisect import bisect_left
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.tools.harness import once, peak_gigabytes, save, table
from sdm import Maxent
from sdm.maps.novelty import Novelty
from sdm.models.species import Model
from sdm.novelty.mess import Similarity
from sdm.novelty.reference import Reference

CELLS, LAYERS, WINDOW, THREADS = 16_000_000, 14, 500_000, 2
LIMIT = 10.0  # seconds for MESS and its variable
Columns = list[NDArray[np.float32]]


def fitted() -> Model:
    """Return a model of 14 variables that depend on each other, of 10,000 background points and 120 presences."""
    x = environment(10_120, seed=1, shift=0.0)
    score = x[0] - 0.5 * x[1] ** 2 + 0.3 * x[2] * x[3]
    y = np.zeros(len(score), dtype=int)
    y[np.argsort(-score + np.random.default_rng(2).gumbel(size=len(score)))[:120]] = 1
    return Maxent("lqph").fit(np.column_stack(x).astype(np.float64), y).model_


def environment(n: int, seed: int, shift: float) -> Columns:
    """Return layers of `n` cells; a shift moves the first ones out of the training range."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(4, n))
    mix = np.random.default_rng(3).normal(size=(LAYERS, 4))
    layers = mix @ common + 0.5 * rng.normal(size=(LAYERS, n))
    layers[:3] += shift
    return [np.ascontiguousarray(layer, dtype=np.float32) for layer in layers]


def over_windows(work: Callable[[Columns], Any], columns: Columns) -> float:
    """Return the seconds that two threads take for as many windows as there are cells."""
    work(columns)  # compiles
    with ThreadPoolExecutor(THREADS) as pool:
        return once(lambda: list(pool.map(lambda _: bool(work(columns) is None), range(CELLS // WINDOW))))[0]


def whole_columns(reference: NDArray[Any], columns: Columns) -> tuple[NDArray[Any], NDArray[Any]]:
    """As dismo::mess does in R: one similarity of all cells per variable, then the least of each cell."""
    parts = []
    for known, column in zip(reference, columns):
        f = 100.0 * np.searchsorted(known, column.astype(np.float64)) / len(known)
        low, high = known[0], known[-1]
        below, above = 100.0 * (column - low) / (high - low), 100.0 * (high - column) / (high - low)
        parts.append(np.where(f == 0, below, np.where(f <= 50, 2 * f, np.where(f < 100, 2 * (100 - f), above))))
    stack = np.array(parts)
    return stack.min(axis=0), stack.argmin(axis=0)


def cell_by_cell(reference: NDArray[Any], columns: Columns) -> list[tuple[float, int]]:
    """As Java Maxent does: every cell and variable by itself, with a search among the sorted values."""
    known = reference.tolist()
    out = []
    for point in zip(*(column.tolist() for column in columns)):
        least, which = np.inf, 0
        for k, (value, values) in enumerate(zip(point, known)):
            low, high = values[0], values[-1]
            f = 100.0 * bisect_left(values, value) / len(values)
            if f == 0:
                similar = 100.0 * (value - low) / (high - low)
            elif f < 100:
                similar = min(2 * f, 2 * (100 - f))
            else:
                similar = 100.0 * (high - value) / (high - low)
            if similar < least:
                least, which = similar, k
        out.append((least, which))
    return out


def main() -> None:
    model = fitted()
    columns = environment(WINDOW, seed=4, shift=5.0)
    reference, seen = cast(Reference, model.reference), model.training_range
    similarity = Similarity.of(reference)
    valid = np.ones(WINDOW, dtype=bool)
    plain = over_windows(lambda c: model.predict_columns(c), columns)
    jobs: dict[str, Callable[[Columns], Any]] = {
        "MESS and its variable": similarity.measure,
        "cells outside, counted": lambda c: seen.mark(c, valid, 1000),
        "ExDet and its variable": Novelty(model, ["exdet"]).measure,
        "effect of clamping": lambda c: Novelty(model, ["clamping"]).measure(c),
    }
    rows: list[dict[str, Any]] = [{"what": "plain prediction", "seconds": plain, "of plain prediction": 1.0}]
    for what, work in jobs.items():
        seconds = over_windows(work, columns)
        rows.append({"what": what, "seconds": seconds, "of plain prediction": seconds / plain})
    title = f"{CELLS / 1e6:.0f} million cells of {LAYERS} layers, {THREADS} threads"
    table(title, rows)
    naive = against_naive(reference, columns, rows[1]["seconds"])
    table("MESS and its variable, seconds for as many cells", naive)
    share = float(seen.outside(columns).mean())
    passed = rows[1]["seconds"] <= LIMIT
    print(
        f"\nMESS and its variable: {rows[1]['seconds']:.1f} s, limit {LIMIT:.0f} s: {'held' if passed else 'EXCEEDED'}"
    )
    print(f"{share:.0%} of the cells are outside; peak memory {peak_gigabytes():.2f} GB")
    load = os.getloadavg()[0]
    save("novelty", {"cells": CELLS, "layers": LAYERS, "outside": share, "load": load, "novelty": rows, "naive": naive})


def against_naive(reference: Reference, columns: Columns, ours: float) -> list[dict[str, Any]]:
    """Compare with what others do, measured on fewer cells; the results must be the same."""
    least, which = Similarity.of(reference).measure(columns)
    known = np.sort(reference.values, axis=0).T
    seconds, (values, variables) = once(lambda: whole_columns(known, columns))
    same = np.allclose(values, least, atol=1e-3) and np.array_equal(variables, which)
    few = [column[:10_000] for column in columns]
    slow, pairs = once(lambda: cell_by_cell(known, few))
    if not (same and np.allclose([value for value, _ in pairs], least[:10_000], atol=1e-3)):
        sys.exit("the methods do not agree")
    dismo, java = seconds * CELLS / WINDOW, slow * CELLS / len(few[0])
    return [
        {"method": "sdm", "seconds": ours, "times slower": 1.0},
        {"method": "whole columns, as dismo (numpy)", "seconds": dismo, "times slower": dismo / ours},
        {"method": "cell by cell, as Java Maxent (Python)", "seconds": java, "times slower": java / ours},
    ]


if __name__ == "__main__":
    main()
