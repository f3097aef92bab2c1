"""A flora: many species in a small world, some of which cannot be fitted; and what a run over them leaves."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from terminal import rows, write_table

BROKEN = ("Solus unicus", "Nullus maritimus", "Falsus lunaris")  # one record, records in the sea, records elsewhere


@dataclass(frozen=True)
class Flora:
    """Records of species, and the words of a command that fits them."""

    records: Path
    layers: Path
    species: int

    def words(self, out: Path, *more: Any) -> tuple[Any, ...]:
        quick = ("--fc", "lq", "--no-curves", "--no-report", "--no-map-picture", "--background-points", 300)
        return ("fit", self.records, self.layers, "--categorical", "landcover", *quick, "-o", out, *more)


def make_flora(world: Any, path: Path, species: int) -> Flora:
    """Write records of a number of species, drawn from those of the world, the broken ones among them."""
    rng, known = np.random.default_rng(species), [(r["longitude"], r["latitude"]) for r in rows(world.both)]
    body: list[tuple[Any, ...]] = []
    for k in range(species - len(BROKEN)):
        for i in rng.choice(len(known), 20 + k % 7, replace=False):
            body.append((f"Planta numerus{k:03d}", *known[i]))
        if k == 2:
            body += [(BROKEN[0], *known[0])]
        if k == 4:
            body += [(BROKEN[1], -170.0, 80.0)] * 5
        if k == 6:
            body += [(BROKEN[2], 0, 0)] * 5
    return Flora(write_table(path, ["species", "longitude", "latitude"], body), world.layers, species)


def result_bytes(folder: Path) -> dict[str, bytes]:
    """The content of every file of a batch but its journal, which says when and by whom."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "journal.jsonl")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
