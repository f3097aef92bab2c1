"""Maps with edges: how the range changes with the order of the entropy, on Bradypus and on a virtual species.

Writes docs/pictures/edges.png: the same records under orders 1, 1.25, 1.5 and 2.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import rasterio

from benchmarks.tools.figures import draw_orders
from benchmarks.tools.harness import ROOT, save, shared, table
from sdm.options.reading import make_options
from sdm.run.run import run
from sdm.simulate.world import simulate

ORDERS = (1.0, 1.25, 1.5, 1.75, 2.0)


def runs(records: Path, layers: Path, folder: Path, **more: Any) -> dict[float, dict[str, Any]]:
    """Fit one species under every order; return the numbers of each, with the folder."""
    out = {}
    for order in ORDERS:
        target = folder / f"order_{order:g}"
        options = make_options(
            {"occurrences.file": str(records), "layers.files": [str(layers)], "output.folder": str(target)},
            {"fit.entropy": order, "test.percent": 25, "output.curves": False, **more},
        )
        (species,) = run(options).models
        out[order] = {**species.numbers, "raster": target / species.files["map"]}
    return out


def row(order: float, numbers: dict[str, Any]) -> dict[str, Any]:
    """Return one line of the table."""
    return {
        "order": order,
        "gap": numbers["gap"],
        "area km²": float(numbers["range"]["area_km2"]) if "range" in numbers else "all",
        "test records inside": f"{1 - numbers.get('outside_support_test', 0.0):.1%}",
        "mixed test log loss": numbers.get("log_loss_mixed_test", numbers["log_loss_test"]),
        "test AUC": numbers["auc_test"],
    }


def far_from_the_niche(raster: Path, truth: Path) -> float:
    """Return the share of cells without true suitability (below 1 %) that are exactly zero on the map."""
    with rasterio.open(raster) as one, rasterio.open(truth) as other:
        map_, true = one.read(1, masked=True), other.read(1, masked=True)
    useless = (true < 0.01).filled(False) & ~np.ma.getmaskarray(map_)
    return float(np.mean(map_.data[useless] == 0)) if useless.any() else float("nan")


def main() -> None:
    began = time.perf_counter()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        data = shared() / "phillips2006"
        maps = runs(data / "bradypus.csv", data / "layers", Path(folder) / "b", **{"layers.categorical": "ecoreg"})
        results["Bradypus"] = [row(order, numbers) for order, numbers in maps.items()]
        table("Bradypus, 10,000 background points, a quarter of the records for testing", results["Bradypus"])
        chosen = {order: maps[order]["raster"] for order in (1.0, 1.25, 1.5, 2.0)}
        path = draw_orders(chosen, ROOT / "docs" / "pictures" / "edges.png")
        print(f"written: {path.relative_to(ROOT)}")
        world = Path(folder) / "world"
        simulate(world, size=200, layers=5, species=1, records=150, sites=50, seed=1)
        own = {"layers.categorical": "landcover"}
        maps = runs(world / "occurrences.csv", world / "layers", Path(folder) / "v", **own)
        truth = next((world / "truth").glob("*.tif"))
        results["virtual species"] = [
            row(order, numbers) | {"zero where unsuitable": f"{far_from_the_niche(numbers['raster'], truth):.1%}"}
            for order, numbers in maps.items()
        ]
        table("A virtual species, 150 records", results["virtual species"])
    save("edges", results)
    print(f"edges: {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
