"""Batches of a thousand species: with maps, without, on a cluster; maps in one pass; and twenty thousand tiny ones."""

import argparse
import os
import tempfile
from pathlib import Path

from benchmarks.scale.batches import on_cluster, warm, with_maps, without_maps
from benchmarks.scale.journal import many_tiny
from benchmarks.scale.one_pass import stack_of_maps
from benchmarks.scale.worlds import make_tiny_world, make_world
from benchmarks.tools.harness import save

SPECIES, TINY = 1000, 20_000
PARTS = {"maps": with_maps, "plain": without_maps, "cluster": on_cluster, "stack": stack_of_maps, "journal": many_tiny}
MOST = {  # what a figure may be at most
    "seconds per species, 2 processes": 0.35,
    "GB in all, with maps": 2.0,
    "GB in all, without maps": 2.0,
    "overhead of a cluster": 0.1,
    "maps in one pass, of maps one by one": 1 / 3,
    "late over early": 1.2,
}
LEAST = {"times faster than 1 process": 1.8, "species per second": 20.0}


def verdicts(found: dict[str, float]) -> list[str]:
    """Return a line per figure: what was found, its limit, and whether it was held."""
    lines = []
    for what, value in found.items():
        most, least = MOST.get(what), LEAST.get(what)
        held = value <= most if most is not None else value >= LEAST[what]
        limit = f"at most {most:.3g}" if most is not None else f"at least {least:.3g}"
        lines.append(f"{what}: {value:.3g}, limit {limit}: {'held' if held else 'NOT HELD'}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS), help="measure only these")
    parser.add_argument("--species", type=int, default=SPECIES, help=f"species of a batch (default: {SPECIES:,})")
    parser.add_argument("--tiny", type=int, default=TINY, help=f"species of the part journal (default: {TINY:,})")
    chosen = parser.parse_args()
    usual = (chosen.species, chosen.tiny) == (SPECIES, TINY)
    name = "scale" if usual else f"scale_{chosen.species}_{chosen.tiny}"  # a smaller run replaces no figures
    with tempfile.TemporaryDirectory() as folder:
        world = None
        for part in chosen.part:
            if part == "journal":
                made, count = make_tiny_world(Path(folder, "tiny"), chosen.tiny), chosen.tiny
            else:
                if world is None:
                    world = make_world(Path(folder, "world"), chosen.species)
                    print(f"{chosen.species:,} species made in {world.seconds:.0f} s")
                    warm(world)
                made, count = world, chosen.species
            done = PARTS[part](made, count)
            result = {"species": count, "made in": made.seconds, "load": os.getloadavg()[0], **done}
            if further := done.get("seconds per further species"):
                print(f"\nseconds per further species, without what a run costs once: {further:.3g}")
            print("\n".join(["", *verdicts(done["found"])]))
            save(name, {"limits": {"most": MOST, "least": LEAST}, part: result})


if __name__ == "__main__":
    main()
