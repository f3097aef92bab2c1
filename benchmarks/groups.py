"""Groups of species that were surveyed at the same sites: shared axes against one model per species, at sites left out.

Four data sets with presence and absence: frogs, mosquitos, eucalypts and butterflies. Sites with a species are its
records and all training sites the base measure, so that the models are those of presence-only records; AUC and log loss
are those of the sites left out. Differences are from Java Maxent's defaults, paired by species and split.
"""

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.nceas import AXES, COMMITTEE, RECTIFIED, SMOOTH
from benchmarks.tools.harness import save, shared, table
from sdm import Committee, Maxent
from sdm.assess.measures.basic import auc

Array = NDArray[np.float64]

FOLDERS = {"frogs": "frogs_jsdm", "mosquitos": "mosquitos_jsdm", "eucalypts": "eucalypts_sjsdm", "butterflies": ""}
NOT_VARIABLES = {"site", "x", "y", "latitude", "longitude"}
TRAINING = {"butterflies": 400}  # sites; half of them elsewhere
SPLITS = 3  # each both ways where half of the sites are left out
LEAST, LEAST_FOUND = 5, 3  # records that a species needs, and presences and absences at the sites left out
RARE = 30
ALONE: dict[str, dict[str, Any]] = {"default": {}, "committee": COMMITTEE, "smooth": SMOOTH}
GROUPS = {"shared": replace(AXES, given=0.0), "shared_relu": replace(RECTIFIED, given=0.0)}
MEANS: dict[str, dict[str, float]] = {
    "best_shared": {"committee": 1 / 2, "shared": 1 / 2},
    "best_shared_relu": {"committee": 1 / 2, "shared_relu": 1 / 2},
}


@dataclass(frozen=True)
class Split:
    """Sites to fit to and sites left out: the environment, and which species were found."""

    train: pd.DataFrame
    found: pd.DataFrame
    left: pd.DataFrame
    found_left: pd.DataFrame


def splits(data: str) -> Iterator[Split]:
    """Divide the sites of a data set at random; species with too little to fit to or to judge by are left out."""
    folder = shared() / "joint" / (FOLDERS[data] or data)
    sites, found = (pd.read_csv(folder / name) for name in ("env.csv", "presence_absence.csv"))
    sites = sites[[name for name in sites if name not in NOT_VARIABLES]].astype(float)
    found = found.drop(columns="site")
    for k in range(SPLITS):
        order = np.random.default_rng(k).permutation(len(sites))
        first, second = np.split(order, [TRAINING.get(data, len(sites) // 2)])
        for train, left in [(first, second)] if data in TRAINING else [(first, second), (second, first)]:
            here, there = found.iloc[train], found.iloc[left]
            enough = (here.sum() >= LEAST) & (there.sum() >= LEAST_FOUND) & ((1 - there).sum() >= LEAST_FOUND)
            names = [name for name in found if enough[name]]
            yield Split(sites.iloc[train], here[names], sites.iloc[left], there[names])


def scores(split: Split) -> dict[str, Array]:
    """Return the scores of each model at the sites left out, one column per species."""
    variables, names = list(split.train), list(split.found)
    at = {name: split.train[split.found[name] == 1] for name in names}
    out = {kind: np.empty((len(split.left), len(names))) for kind in ALONE}
    for s, own in enumerate(at.values()):
        rows = pd.concat([own, split.train], ignore_index=True)
        for kind, options in ALONE.items():
            model = Committee(tolerance=1e-4) if options is COMMITTEE else Maxent(tolerance=1e-4, **options)
            model.fit(rows, (np.arange(len(rows)) < len(own)).astype(int))
            out[kind][:, s] = model.predict(split.left, "link")
    for kind, how in GROUPS.items():
        out[kind] = how.fit(at, split.train, split.train, variables, []).predict(split.left, "link")
    for kind, members in MEANS.items():
        out[kind] = np.sum([share * out[member] for member, share in members.items()], axis=0)
    return out


def measure(data: str) -> list[dict[str, Any]]:
    """Return a row for each split, species and model."""
    rows = []
    for k, split in enumerate(splits(data)):
        for kind, values in scores(split).items():
            for s, name in enumerate(split.found):
                present, value = split.found_left[name].to_numpy() == 1, values[:, s]
                loss = float(np.log(np.mean(np.exp(value - value.max()))) - np.mean(value[present] - value.max()))
                own = {"model": kind, "auc": auc(value[present], value[~present]), "log loss": loss}
                rows.append({"data": data, "split": k, "species": name, "n": int(split.found[name].sum()), **own})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.groups", description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        rows = pd.DataFrame([row for some in pool.map(measure, FOLDERS) for row in some])
    summary = []
    for data in FOLDERS:
        own = rows[rows["data"] == data]
        wide = own.pivot(index=["split", "species", "n"], columns="model", values=["auc", "log loss"])
        rare = wide.index.get_level_values("n") < RARE
        for kind in dict.fromkeys(own["model"]):
            change = wide["auc"][kind] - wide["auc"]["default"]
            figures = {"AUC": wide["auc"][kind].mean(), "less default": change.mean()}
            figures |= {"error": change.std(ddof=1) / np.sqrt(len(change)), "rare": change[rare].mean()}
            summary.append({"data": data, "model": kind, **figures, "log loss": wide["log loss"][kind].mean()})
        text = [{key: f"{v:.4f}" if isinstance(v, float) else v for key, v in row.items()} for row in summary]
        table(f"{data}: {len(wide)} pairs of species and split", [row for row in text if row["data"] == data])
    save("groups", {"rows": summary})


if __name__ == "__main__":
    main()
