"""What a fit of shared axes costs, and how it grows with species, sites and features: against plain matrix products.

`python -m benchmarks axes` prints the growth; `--large` adds 1,000 species at 20,000 sites. Species are virtual and
respond to four true axes of 14 variables. Then come the 53 species of New South Wales, group by group, with and without
the choice of the strength. A round of the solver cannot cost less than the products of its gradient, so
times are given as a number of these products, measured in the same run.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import nceas
from benchmarks.nceas import fitted_group, kind_of, read_region
from benchmarks.tools.harness import peak_gigabytes, save, table
from sdm import SharedMaxent

VARIABLES, AXES = 14, 4
BASE = {"species": 50, "sites": 5_000, "features": "lqph"}
GROWTH: list[dict[str, Any]] = [
    {},
    {"species": 100},
    {"species": 200},
    {"sites": 10_000},
    {"sites": 20_000},
    {"features": "lq"},
    {"features": "lqph,relu:400"},
]
LARGE = {"species": 1_000, "sites": 20_000}


def make_group(species: int, sites: int) -> tuple[NDArray[np.float64], NDArray[np.object_]]:
    """Return the variables at sites and records, and the species of each row."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(sites, VARIABLES)).astype(np.float32).astype(np.float64)
    x[:, VARIABLES // 2 :] = 0.7 * x[:, : VARIABLES // 2] + 0.7 * x[:, VARIABLES // 2 :]
    axes = np.linalg.qr(rng.normal(size=(VARIABLES, AXES)))[0]
    rows, names = [x], [None] * sites
    for s in range(species):
        place = x @ axes
        score = place @ rng.normal(scale=0.8, size=AXES) - 0.15 * np.sum(place**2, axis=1)
        chance = np.exp(score - score.max())
        count = int(rng.integers(20, 200))
        rows.append(x[rng.choice(sites, count, p=chance / chance.sum())])
        names += [f"species {s}"] * count
    return np.vstack(rows), np.array(names, dtype=object)


def measure(species: int, sites: int, features: str, strength: float | str) -> dict[str, Any]:
    """Fit one group, and time it against the product that every gradient over all features is made of."""
    x, names = make_group(species, sites)
    began, cpu = time.perf_counter(), time.process_time()
    model = SharedMaxent(features, strength).fit(x, names)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    phi, mass = model.features_.phi, model.solution_.state.mass
    began = time.perf_counter()
    _ = phi.T @ mass
    product = time.perf_counter() - began
    return {
        "species": species,
        "sites": sites,
        "features": phi.shape[1],
        "strength": strength,
        "seconds": seconds,
        "CPU s": cpu,
        "products": round(seconds / product),
        "rank": model.model_.rank,
        "steps": model.solution_.steps,
        "gap": model.solution_.gap,
        "GB": peak_gigabytes(),
    }


def real_groups() -> list[dict[str, Any]]:
    """Fit the bats, birds, plants and reptiles of a region of the benchmark of the field, as a run would."""
    species = read_region("NSW").species.values()
    rows = []
    for how in (replace(nceas.AXES, threads=2), replace(nceas.CHOSEN, threads=2)):
        for kind in sorted({kind_of(one) for one in species}):
            began, cpu = time.perf_counter(), time.process_time()
            fitted = fitted_group(how, "NSW", kind)
            spent = {"seconds": time.perf_counter() - began, "CPU s": time.process_time() - cpu}
            sites, features = fitted.features_.phi.shape
            size = {"species": len(fitted.species_), "sites": sites, "features": features}
            found = {"rank": fitted.model_.rank, "gap": fitted.solution_.gap}
            rows.append({"group": kind, "strength": how.strength, **size, **spent, **found})
        some = [row for row in rows if row["strength"] == how.strength]
        total = {key: sum(row[key] for row in some) for key in ("species", "seconds", "CPU s")}
        rows.append({**some[0], "group": "all", "sites": "", "features": "", "rank": "", **total})
        rows[-1]["gap"] = max(row["gap"] for row in some)
    return rows


def _alone(job: dict[str, Any]) -> dict[str, Any]:
    """Measure in a process of its own, whose memory is that of this fit."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(measure, 5, 500, "lqph", 1.4).result()  # loads what is compiled
        return pool.submit(measure, **job).result()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks axes", description=__doc__)
    parser.add_argument("--large", action="store_true", help="add 1,000 species at 20,000 sites")
    options = parser.parse_args()
    cases = [BASE | change for change in GROWTH] + ([BASE | LARGE] if options.large else [])
    jobs = [{**case, "strength": 1.4} for case in cases] + [{**BASE, "strength": "auto"}]
    rows = [_alone(job) for job in jobs]
    table("Fits of shared axes, gap at most 1e-4 nats per record", rows)
    groups = real_groups()
    table("The groups of New South Wales: a given strength, and the strength by held-out loss", groups)
    save("axes", {"rows": rows, "groups": groups})


if __name__ == "__main__":
    main()
