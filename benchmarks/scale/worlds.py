"""The worlds of the benchmark: layers and records of many virtual species, and batches of some of them."""

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tools.harness import once
from sdm.simulate.world import simulate

SIDE, LAYERS = 806, 14  # 0.65 million cells
RECORDS = "20-200"
TINY_SIDE, TINY_LAYERS, TINY_RECORDS = 50, 2, "5-8"
LANDCOVER = 1  # every world has it; it is taken away, so that all layers are continuous


@dataclass(frozen=True)
class BenchmarkWorld:
    """A folder with layers and records."""

    folder: Path
    seconds: float

    @property
    def layers(self) -> Path:
        return self.folder / "layers"

    def records(self, count: int) -> Path:
        """Return a file with the records of the first species."""
        path = self.folder / f"records_{count}.csv"
        if not path.exists():
            with open(self.folder / "occurrences.csv", newline="") as source, open(path, "w", newline="") as target:
                lines, out, seen = csv.reader(source), csv.writer(target), set[str]()
                out.writerow(next(lines))
                for line in lines:
                    seen.add(line[0])
                    if len(seen) > count:
                        break
                    out.writerow(line)
        return path


def make_world(folder: Path, species: int) -> BenchmarkWorld:
    """Make the world of the batches: 14 continuous layers of 0.65 million cells."""
    return _make(folder, SIDE, LAYERS, species, RECORDS)


def make_tiny_world(folder: Path, species: int) -> BenchmarkWorld:
    """Make a world whose species cost next to nothing: what is left is what a batch itself costs."""
    return _make(folder, TINY_SIDE, TINY_LAYERS, species, TINY_RECORDS)


def _make(folder: Path, side: int, layers: int, species: int, records: str) -> BenchmarkWorld:
    seconds, made = once(
        lambda: simulate(
            folder, size=side, layers=layers + LANDCOVER, species=species, records=records, sites=0, truth=False
        )
    )
    (landcover,) = (path for path in made.layers if path.stem == "landcover")
    landcover.unlink()
    return BenchmarkWorld(folder, seconds)


@contextmanager
def whole_result(folder: Path, count: int, maps: int) -> Iterator[Path]:
    """Give a folder for the results of a batch, and look afterwards that every species was modelled."""
    yield folder
    with open(folder / "summary.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    failed = [row["species"] for row in rows if row["error"]]
    found = sum(1 for _ in folder.rglob("*.npz")), sum(1 for _ in folder.rglob("*.tif"))
    if len(rows) != count or failed or found != (count, maps):
        sys.exit(
            f"{folder.name}: {len(rows)} species in the summary, {len(failed)} failed ({', '.join(failed[:3])}), "
            f"{found[0]} models and {found[1]} maps; expected {count} models and {maps} maps"
        )
