"""Stacks of a batch: maps of richness from the maps of its species (`output.stack`)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sdm.errors import DataError, InapplicableError, TooFewError
from sdm.kinds.registry import read_results
from sdm.maps.gis.styles import ENDINGS, write_styles
from sdm.maps.stacking import HOW, SpeciesMap, write_stack
from sdm.options.definitions import RunOptions
from sdm.report.results import Results, number
from sdm.types import Progress, Row

RULE = "maxsss"
"""Default threshold of a species."""
STACK_FILES = {how: f"richness_{how}.tif" for how in HOW} | {"picture": "richness.png"}
"""Files in the folder of a batch, which no folder of a species may have as its name."""
STACK_BESIDE = (*(f"richness_{how}{ending}" for how in HOW for ending in ENDINGS), "richness.pdf", "richness.svg")


def refuse_one(options: RunOptions, species: int) -> None:
    """Raise if stacks of one species are requested."""
    if options.output.stack and species < 2:
        raise InapplicableError(f"output.stack={options.output.stack_name} needs several species: remove it")


def write_stacks(
    folder: Path, rows: Sequence[Row], options: RunOptions, *, progress: Progress | None = None
) -> list[str]:
    """Write the requested stacks into the folder of a batch, and a figure of them; return the lines for the
    terminal.

    Parameters
    ----------
    folder
        Of the batch, with the folders of its species in it.
    rows
        Of the summary, in its order: the maps of species with a `folder` and without an `error` are stacked.

    Raises
    ------
    DataError
        If fewer than two species have a map, or the maps are not on one grid.
    """
    kinds: list[str] = list(dict.fromkeys(options.output.stack))
    if not kinds:
        return []
    fitted = [row for row in rows if row.get("folder") and not row.get("error")]
    rule = options.predict.threshold if options.predict.threshold is not None else RULE
    maps, scale = list[SpeciesMap](), ""
    for row in fitted:  # one at a time, because the numbers of many species are large
        results = read_results(folder / str(row["folder"]))
        scale = scale or results.scale
        if species_map := _species_map(results, rule, kinds):
            maps.append(species_map)
    if len(maps) < 2:
        number = "one species has" if maps else "no species has"
        raise TooFewError(f"output.stack={','.join(kinds)} needs the maps of two species or more, and {number} one")
    tags = {"scale": scale} | ({"cutoff": str(rule)} if "threshold" in kinds else {})
    places = {how: folder / STACK_FILES[how] for how in kinds}
    summaries = write_stack(maps, places, tags=tags, threads=options.threads, progress=progress)
    for path in places.values():
        write_styles(path)
    from sdm.report.figures.maps.drawn import draw_richness
    from sdm.report.paper import paper_of

    nowhere = np.empty(0)  # richness has no records
    draw_richness(places, folder / STACK_FILES["picture"], nowhere, nowhere, paper_of(options.output))
    excluded = len(rows) - len(maps)
    titles = {"sum": "sum of suitabilities", "threshold": f"number of species above their threshold, {rule}"}
    without = f"; {excluded:,} without a map dropped" if excluded else ""
    return [
        f"richness of {len(maps):,} species ({titles[how]}): {places[how].name}, {summary.text}{without}"
        for how, summary in summaries.items()
    ]


def _species_map(results: Results, rule: str | float, kinds: Sequence[str]) -> SpeciesMap | None:
    """Return the map of a species with its threshold; None without a map."""
    layer = next(iter(results.map_layers()), None)
    if layer is None:
        return None
    if not layer.threshold:
        raise DataError(
            f"{results.title} has a map of {len(results.classes)} classes: remove output.stack={','.join(kinds)}, "
            "which adds up maps of one species"
        )
    return SpeciesMap(layer.path, layer.band, _cutoff(results, rule) if "threshold" in kinds else None)


def _cutoff(results: Results, rule: str | float) -> float:
    """Return the threshold of a species on the scale of its map."""
    if not isinstance(rule, str):
        return float(rule)
    threshold = results.tree("thresholds").get(rule)
    value = number(threshold.get(results.scale)) if isinstance(threshold, dict) else None
    if value is None:
        raise DataError(f"{results.title} has no threshold '{rule}', which output.stack=threshold needs: use sum")
    return value
