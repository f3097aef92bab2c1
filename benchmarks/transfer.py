"""Settings that the field's benchmark suggests, judged on two data sets that took no part in finding them.

Semi-natural grassland in Norway (five categorical layers): samples of its presence-only records, judged by the log loss
of the records left out and by the AUC at 122 independent plots. Bradypus: samples of the ten training partitions,
judged on their test records against all cells. Both at several sample sizes; differences from Java Maxent's defaults.
"""

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.nceas import BEST, SMOOTH, BySize, classes_without
from benchmarks.structural import everything
from benchmarks.tools.bradypus import labelled, valid_cells
from benchmarks.tools.harness import save, shared, table
from sdm import Maxent, StructMaxent
from sdm.assess.measures.basic import auc

Array = NDArray[np.float64]

SETTINGS: dict[str, tuple[list[dict[str, Any]], BySize | None]] = {
    "default": ([{}], None),
    "empty categories": ([{"beta": "maxnet"}], None),
    "no products": ([{"without": "p"}], None),
    "multiplier 0.5": ([{"multiplier": 0.5}], None),
    "multiplier 2": ([{"multiplier": 2.0}], None),
    "structural": ([{"families": "auto,trees:8,mono:4"}], None),
    "committee": (BEST, None),
    "committee, 0.6 to 1.5": (BEST, BySize()),
    "committee, 1 to 1.5": (BEST, BySize(30, 1.0, 1.5)),
    "committee, 1 to 1.1": (BEST, BySize(30, 1.0, 1.1)),
    "committee, smooth member": ([*({**member, "share": 1 / 6} for member in BEST), {**SMOOTH, "share": 1 / 3}], None),
    "committee, empty categories": ([BEST[0], {"knots": "maxnet"}, *BEST[2:]], None),
}
SIZES = {"grassland": (8, 15, 30, 60, 120, 300), "bradypus": (10, 20, 40, 80)}
DRAWS = 10
BACKGROUND = 10_000


@dataclass(frozen=True)
class Trial:
    """One sample of records: what to fit to, and what to judge by."""

    train: Array
    background: Array
    held: Array
    everywhere: Array  # the log loss is normalised over these
    found: Array  # the AUC is of these ...
    not_found: Array  # ... against those
    categorical: list[int]


@cache
def grassland() -> tuple[Array, Array, Array, NDArray[np.int64], list[int]]:
    """Return the values at the records, in all cells and at the plots, the plots' labels and categorical columns."""
    from sdm.data.rasters.layers import open_stack

    folder = shared() / "grassland"
    parts = [sorted((folder / kind).glob("*.tif")) for kind in ("continuous", "categorical")]
    stack = open_stack([str(path) for part in parts for path in part], categorical=[p.stem for p in parts[1]])

    def at(file: str) -> tuple[Array, pd.DataFrame]:
        points = pd.read_csv(folder / file)
        row, col = stack.rowcol(points["POINT_X"].to_numpy(float), points["POINT_Y"].to_numpy(float))
        found = np.asarray(stack.sample(row, col), dtype=np.float64)
        whole = np.isfinite(found).all(axis=1)
        return found[whole], points[whole]

    records, _ = at("occurrence_PO.csv")
    plots, points = at("occurrence_PA.csv")
    labels = points["Presence-Absence"].to_numpy()
    return records, valid_cells(stack), plots, labels, [stack.names.index(p.stem) for p in parts[1]]


def trials(data: str, size: int) -> Iterator[Trial]:
    """Draw `DRAWS` samples of a size."""
    for k in range(DRAWS):
        rng = np.random.default_rng([size, k])
        if data == "grassland":
            records, cells, plots, labels, categorical = grassland()
            order = rng.permutation(len(records))
            train, held = records[order[:size]], records[order[size:]]
            yield Trial(train, cells, held, cells, plots[labels == 1], plots[labels == 0], categorical)
        else:
            cells, names, parts = everything()
            train, held = parts[k]
            background = cells[np.random.default_rng(1).choice(len(cells), BACKGROUND, replace=False)]
            train = train[rng.permutation(len(train))[:size]]
            yield Trial(train, background, held, cells, held, cells, [names.index("ecoreg")])


def judge(setting: str, trial: Trial) -> tuple[float, float]:
    """Fit a setting's members, average their scores, and return the log loss (less that of a uniform map) and AUC."""
    members, sized = SETTINGS[setting]
    n = len(trial.train)
    places = (trial.everywhere, trial.held, trial.found, trial.not_found)
    scores = [np.zeros(len(x)) for x in places]
    for member in members:
        options = dict(member)
        share = options.pop("share", 1.0 / len(members))
        if "without" in options:
            options["features"] = classes_without(n, options.pop("without"))
        if sized is not None:
            options["multiplier"] = sized(n)
        kind = StructMaxent if "families" in options else Maxent
        model = kind(categorical=trial.categorical, tolerance=1e-4, **options)
        model.fit(*labelled(trial.train, trial.background))
        for total, x in zip(scores, places):
            total += share * model.model_.predict(x, "link")
    everywhere, held, found, not_found = scores
    top = everywhere.max()
    loss = top + np.log(np.mean(np.exp(everywhere - top))) - held.mean()
    return float(loss), auc(found, not_found)


def measure(job: tuple[str, int, str]) -> list[tuple[float, float]]:
    """Judge one setting on all samples of a size."""
    data, size, setting = job
    return [judge(setting, trial) for trial in trials(data, size)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transfer", description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--setting", nargs="+", default=list(SETTINGS), choices=list(SETTINGS), help="fit only these")
    options = parser.parse_args()
    chosen = dict.fromkeys(["default", *options.setting])
    jobs = [(data, size, name) for data, sizes in SIZES.items() for size in sizes for name in chosen]
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        found = {job: np.array(result) for job, result in zip(jobs, pool.map(measure, jobs))}
    rows: list[dict[str, Any]] = []
    for (data, size, name), own in found.items():
        change = own - found[data, size, "default"]
        error = change.std(axis=0, ddof=1) / np.sqrt(DRAWS)
        for k, what in enumerate(("log loss", "AUC")):
            figures = {"mean": own[:, k].mean(), "less default": change[:, k].mean(), "error": error[k]}
            rows.append({"data": data, "presences": size, "setting": name, "measure": what, **figures})
    rows.sort(key=lambda row: list(SETTINGS).index(row["setting"]))
    for data in SIZES:
        for what in ("log loss", "AUC"):
            own_rows = [row for row in rows if (row["data"], row["measure"]) == (data, what)]
            table(f"{data}: {what} by number of presences; below it, differences from the default", _lines(own_rows))
    if len(chosen) == len(SETTINGS):  # a table holds rows of one commit
        save("transfer", {"rows": rows})


def _lines(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a line a setting, with a column a number of presences."""
    lines: dict[str, dict[str, Any]] = {}
    for row in rows:
        plain = row["setting"] == "default"
        text = f"{row['mean']:.3f}" if plain else f"{row['less default']:+.3f} ± {row['error']:.3f}"
        lines.setdefault(row["setting"], {"setting": row["setting"]})[str(row["presences"])] = text
    return list(lines.values())


if __name__ == "__main__":
    main()
