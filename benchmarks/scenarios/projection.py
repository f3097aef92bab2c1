"""Models on scenarios: one species on 24 scenarios, 50 species on one; what it costs beside plain prediction."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import rasterio
from rasterio import Affine

from benchmarks.tools.harness import in_fresh_process, peak_gigabytes, save, table
from sdm import Maxent
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.maps.novelty import Novelty
from sdm.maps.passes import MapPass
from sdm.maps.projection.scenario import ScenarioFiles, ScenarioPass
from sdm.maps.projection.targets import ProjectedModel
from sdm.maps.single import predict_raster
from sdm.models.species import Model
from sdm.simulate.noise import field, key

LAYERS, BACKGROUND, PRESENCES = 14, 10_000, 100
NAMES = [f"bio{k + 1:02d}" for k in range(LAYERS)]
SEA = 0.35  # share of cells without data
SETS = 6  # folders of layers, which scenarios take in turn
SCENARIOS, SIDE = 24, (1000, 2000)  # of one species
SPECIES, WIDE = 50, (2000, 2000)  # on one scenario
LIMITS = {"24 scenarios": 1.6, "50 species": 5.0}  # times plain prediction, times one species
EVERYTHING, RULE = ("mess", "clamping"), ("0.3",)
THREADS = 2
CLOCK, PROCESSORS = "seconds", "processor seconds"


@cache
def fields(shape: tuple[int, int]) -> tuple[np.ndarray, ...]:
    """Return smooth fields that depend on each other, NaN in the sea."""
    y, x = (np.arange(size) / 1000 for size in shape)
    parts = np.empty((6, *shape))
    for k, part in enumerate(parts):
        field(part, y, x, key(k, "benchmark"), 3.0, 5, 0.5)
    parts /= parts.std(axis=(1, 2), keepdims=True)
    parts[0] += np.linspace(-2, 2, shape[0])[:, None]  # from north to south
    mix = np.random.default_rng(1).normal(size=(LAYERS, 5))
    sea = parts[5] < np.quantile(parts[5], SEA)
    out = []
    for weights in mix:
        layer = np.tensordot(weights, parts[:5], axes=1)
        layer[sea] = np.nan
        out.append(np.round(layer * 10 + 50, 1).astype(np.float32))
    return tuple(out)


def write_layers(folder: Path, shape: tuple[int, int], shift: float) -> Path:
    """Write layers, the first five of which are shifted, as tiles with compression."""
    folder.mkdir(parents=True)
    profile = {"height": shape[0], "width": shape[1], "count": 1, "dtype": "float32", "nodata": -9999.0}
    profile |= {"crs": "EPSG:4326", "transform": Affine(1 / 120, 0, 0, 0, -1 / 120, 50), "compress": "deflate"}
    profile |= {"tiled": True, "blockxsize": 256, "blockysize": 256, "predictor": 3}
    for k, (name, layer) in enumerate(zip(NAMES, fields(shape))):
        with rasterio.open(folder / f"{name}.tif", "w", driver="GTiff", **profile) as out:
            out.write(np.where(np.isnan(layer), -9999, layer + np.float32(shift if k < 5 else 0)), 1)
    return folder


def fit_models(stack: Stack, count: int) -> list[Model]:
    """Fit species with Maxent's defaults to one background, whose points their presences are among."""
    rng = np.random.default_rng(2)
    cells = rng.integers(0, stack.height, 2 * BACKGROUND), rng.integers(0, stack.width, 2 * BACKGROUND)
    values = stack.sample(*cells)
    values = values[np.isfinite(values).all(axis=1)][:BACKGROUND].astype(np.float64)
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    models = []
    for _ in range(count):
        best, width = rng.normal(0, 1, 3), rng.uniform(0.5, 1.5, 3)
        chosen = rng.choice(LAYERS, 3, replace=False)
        score = -(((scaled[:, chosen] - best) / width) ** 2).sum(axis=1)
        at = np.argsort(-score + rng.gumbel(size=len(score)))[:PRESENCES]
        x = pd.DataFrame(np.vstack([values[at], values]), columns=list(stack.names))
        y = np.r_[np.ones(len(at), dtype=int), np.zeros(len(values), dtype=int)]
        models.append(Maxent(add_presences="distinct").fit(x, y).model_)
    return models


def the_pass(models: Sequence[Model], measures: Sequence[str]) -> ScenarioPass:
    """Return what is mapped of some models in every scenario."""
    listed = [ProjectedModel(model, f"species {k}", rules=RULE) for k, model in enumerate(models)]
    return ScenarioPass(listed, ScenarioFiles.of(listed, measures), measures, threads=THREADS)


def reference_maps(work: ScenarioPass, stack: Stack, folder: Path) -> dict[str, Path]:
    """Map the reference; return the maps of presence, by which change is told."""
    folder.mkdir()
    work.write(stack, folder, novelty=False)
    return {target.title: folder / next(iter(target.presence.values())) for target in work.files.targets}


def timed(work: Callable[..., Any], calls: Sequence[tuple[Any, ...]], **options: Any) -> dict[str, float]:
    """Return the seconds that some calls take on the clock, and of all processors."""
    wall, cpu = time.perf_counter(), time.process_time()
    for arguments in calls:
        work(*arguments, **options)
    return {CLOCK: time.perf_counter() - wall, PROCESSORS: time.process_time() - cpu}


def on_scenarios(folder: Path) -> dict[str, Any]:
    """One species on scenarios, with everything; beside plain prediction of the same cells."""
    stacks = [open_stack(write_layers(folder / f"set{k}", SIDE, 6.0 * (k - 1))) for k in range(SETS)]
    (model,) = fit_models(stacks[1], 1)
    work = the_pass([model], EVERYTHING)
    before = reference_maps(work, stacks[1], folder / "reference")
    out = folder / "out"
    out.mkdir()
    predict_raster(model, stacks[0], out / "plain.tif")  # compiles
    work.write(stacks[0], out, before=before)
    rows = []
    for count in (6, SCENARIOS):
        used = [stacks[k % SETS] for k in range(count)]
        plain = timed(predict_raster, [(model, one, out / "plain.tif", MapPass(threads=THREADS)) for one in used])
        whole = timed(work.write, [(one, out) for one in used], before=before)
        row: dict[str, Any] = {"scenarios": count}
        for what, spent in (("plain", plain), ("all", whole)):
            row |= {f"{what}, {name}": value for name, value in spent.items()}
        row |= {name: whole[unit] / plain[unit] for name, unit in (("ratio", CLOCK), ("of processors", PROCESSORS))}
        rows.append(row)
    outside = float(np.mean([_outside(model, one) for one in stacks]))
    parts = shares(model, stacks[0], rows[-1][f"plain, {CLOCK}"] / SCENARIOS)
    features = {"features": len(model.terms.weight), "products": model.compiled.pairs.shape[1]}
    return {"rows": rows, "outside": outside, "plain prediction": parts, **features, "mop": mop_cost(model, stacks[0])}


def _outside(model: Model, stack: Stack) -> float:
    """Return the share of a scenario's cells that are outside the training range."""
    counts = np.zeros(2)
    for _, values in stack.scan():
        flat = values.reshape(LAYERS, -1)
        flat = flat[:, np.isfinite(flat).all(axis=0)]
        counts += [model.training_range.outside(list(flat)).sum(), flat.shape[1]]
    return float(counts[0] / counts[1])


def shares(model: Model, stack: Stack, plain: float) -> list[dict[str, Any]]:
    """Return the parts of plain prediction: reading and predicting alone, and what is left, which is writing."""
    reading = timed(lambda: [None for _ in stack.scan(threads=THREADS)], [()])[CLOCK]
    held = [list(values.reshape(LAYERS, -1)) for _, values in stack.scan()]
    with ThreadPoolExecutor(THREADS) as pool:
        predicting = timed(lambda: list(pool.map(lambda columns: model.predict_columns(columns).size, held)), [()])[
            CLOCK
        ]
    rest = plain - reading - predicting
    named = {"reading": reading, "predicting": predicting, "writing": rest}
    return [{"part": part, "seconds": value, "share": value / plain} for part, value in named.items()]


def mop_cost(model: Model, stack: Stack) -> float:
    """Return the seconds of one thread for MOP at a million cells."""
    with stack.reader() as reader:
        flat = reader.read(stack.windows()[0]).reshape(LAYERS, -1)
    columns = list(flat[:, np.isfinite(flat).all(axis=0)][:, :20_000])
    measure = Novelty(model, ["mop"])
    measure.measure([column[:100] for column in columns])
    return timed(measure.measure, [(columns,)])[CLOCK] * 1e6 / len(columns[0])


def many_species(folder: Path) -> list[dict[str, Any]]:
    """More and more species on one scenario: maps of suitability and presence, and the MESS that they share."""
    stack = open_stack(write_layers(folder / "wide", WIDE, 6.0))
    models = fit_models(open_stack(write_layers(folder / "wide0", WIDE, 0.0)), SPECIES)
    out = folder / "many"
    out.mkdir()
    the_pass(models[:1], ("mess",)).write(stack, out)  # compiles
    rows: list[dict[str, Any]] = []
    for count in (1, 10, SPECIES):
        spent = timed(the_pass(models[:count], ("mess",)).write, [(stack, out)])
        first = rows[0] if rows else spent
        times = {
            name: spent[unit] / first[unit] for name, unit in (("times one", CLOCK), ("of processors", PROCESSORS))
        }
        rows.append({"species": count, **spent, **times})
    return rows


def _memory(shape: tuple[int, int]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (model,) = fit_models(open_stack(write_layers(folder / "fit", (600, 600), 0.0)), 1)
        one = folder / "large"
        one.mkdir()
        rng, sea = np.random.default_rng(3), -9999.0
        profile = {"height": shape[0], "width": shape[1], "count": 1, "dtype": "float32", "nodata": sea, "tiled": True}
        place = {"crs": "EPSG:4326", "transform": Affine(1 / 120, 0, 0, 0, -1 / 120, 50), "blockxsize": 256}
        for label in NAMES:
            with rasterio.open(one / f"{label}.tif", "w", driver="GTiff", blockysize=256, **profile, **place) as out:
                for _, window in out.block_windows(1):
                    out.write(rng.normal(50, 9, (window.height, window.width)).astype("float32"), 1, window=window)
        (folder / "out").mkdir()
        the_pass([model], EVERYTHING).write(open_stack(one), folder / "out")
    return {"million cells": shape[0] * shape[1] / 1e6, "peak memory (GB)": peak_gigabytes()}


def small_memory() -> dict[str, Any]:
    """Return the peak memory of a pass over four million cells."""
    return _memory((2000, 2000))


def large_memory() -> dict[str, Any]:
    """Return the peak memory of a pass over four times as many."""
    return _memory((4000, 4000))


def main() -> None:
    # First, while this process holds little: the memory of another counts from that of this one.
    memory = [in_fresh_process(__spec__.name, f"{size}_memory") for size in ("small", "large")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one = on_scenarios(folder)
        cells = SIDE[0] * SIDE[1] / 1e6
        table(
            f"one species, scenarios of {cells:.0f} million cells × {LAYERS} layers: plain prediction, and all",
            one["rows"],
        )
        table("plain prediction", one["plain prediction"])
        many = many_species(folder)
        table(f"species on one scenario of {WIDE[0] * WIDE[1] / 1e6:.0f} million cells × {LAYERS} layers", many)
    table("memory of one pass", memory)
    print(
        f"\nMOP: {one['mop']:.1f} s of one thread per million cells; {one['features']} features with a weight, ", end=""
    )
    print(f"{one['products']} of them products; {one['outside']:.0%} of the cells outside the training range")
    found = {"24 scenarios": one["rows"][-1]["ratio"], "50 species": many[-1]["times one"]}
    for what, limit in LIMITS.items():
        print(f"{what}: {found[what]:.2f}, limit {limit:g}: {'held' if found[what] <= limit else 'EXCEEDED'}")
    load = os.getloadavg()[0]
    save("projection", {"load": load, "limits": LIMITS, "found": found, **one, "species": many, "memory": memory})
    sys.stdout.flush()


if __name__ == "__main__":
    main()
