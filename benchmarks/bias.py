"""Sampling bias: how near corrected and uncorrected models come to the truth of virtual species."""

import csv
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import rasterio

from benchmarks.tools.harness import save, table
from sdm.data.rasters.layers import open_stack
from sdm.kinds.species.fit import fit_variables
from sdm.kinds.species.inputs import prepare_species
from sdm.options.reading import make_options
from sdm.simulate.world import simulate

SIZE, RECORDS, SEEDS = 80, 250, (1, 2, 3, 4)


def biased_world(folder: Path, seed: int) -> dict[str, Any]:
    """Make eight species of 250 records each, found where they live and where people look: near towns."""
    made = simulate(folder, size=SIZE, layers=5, species=8, records=20, sites=20, seed=seed, bias=True)
    with rasterio.open(folder / "effort.tif") as source:
        effort, profile, grid = source.read(1, masked=True), source.profile, source
    land = ~effort.mask
    strong = np.where(land, effort.data / effort.data[land].max(), 0) ** 2
    with rasterio.open(folder / "strong.tif", "w", **profile) as out:
        out.write(np.where(land, strong, -9999).astype("float32"), 1)
    rng, truth = np.random.default_rng(seed), {}
    with open(folder / "records.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["species", "longitude", "latitude"])
        for species, path in zip(made.species, made.truth):
            with rasterio.open(path) as source:
                truth[species.name] = source.read(1, masked=True).filled(0)[land]
            chance = np.zeros(land.shape)
            chance[land] = truth[species.name] * strong[land]
            for cell in rng.choice(chance.size, RECORDS, p=chance.ravel() / chance.sum()):
                writer.writerow([species.name, *grid.xy(*divmod(int(cell), SIZE))])
    return {"land": land, "truth": truth}


def settings(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what is compared, by name: options beside those that all share."""
    effort = str(folder / "strong.tif")
    return {
        "no correction": {"points": "all"},
        "study area: 40 km around records": {"study_area": "buffer", "buffer": 40, "points": "all"},
        "thinned to 10 km": {"thin_distance": 10, "points": "all"},
        "known effort, sample": {"bias": effort, "points": 1000},
        "known effort, prior": {"bias": effort, "bias_treatment": "prior", "points": "all"},
        "target-group background": {"background": "target-group"},
        "target-group density, sample": {"bias": "target-group", "points": 1000},
        "target-group density, prior": {"bias": "target-group", "bias_treatment": "prior", "points": "all"},
    }


def correlations(folder: Path, world: dict[str, Any], more: dict[str, Any]) -> list[float]:
    """Return the correlation of each species' map with its true suitability."""
    source = {"occurrences": str(folder / "records.csv"), "layers": str(folder / "layers")}
    options = make_options({**source, "categorical": "landcover", "features": "lqh", "curves": False}, more)
    prepared, stack = prepare_species(options), open_stack(folder / "layers")
    (values,) = (array for _, array in stack.scan(stack.windows(rows=SIZE)))
    cells = list(values[:, world["land"]])
    maps = {name: fit_variables(part, options).model_.predict_columns(cells) for name, part in prepared.tables.items()}
    return [float(np.corrcoef(maps[name], world["truth"][name])[0, 1]) for name in maps]


def compare() -> list[dict[str, Any]]:
    """Compare over 32 species in four worlds."""
    found: dict[str, list[float]] = {}
    for seed in SEEDS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            world = biased_world(folder, seed)
            for what, more in settings(folder).items():
                found.setdefault(what, []).extend(correlations(folder, world, more))
    plain = np.array(found["no correction"])
    return [
        {
            "correction": what,
            "correlation": float(np.mean(values)),
            "gain": float(np.mean(np.array(values) - plain)),
            "species better": int(np.count_nonzero(np.array(values) > plain)),
            "of": len(values),
        }
        for what, values in found.items()
    ]


def main() -> None:
    began = time.perf_counter()
    results = {"virtual species": compare()}
    table("Correlation with the true suitability, 32 virtual species looked for near towns", results["virtual species"])
    save("bias", results)
    print(f"bias: {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
