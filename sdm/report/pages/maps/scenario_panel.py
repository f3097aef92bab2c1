"""The panel that compares scenarios on a page: reduced maps of all cases as compressed numbers, and their legends.

The script `panel.js` colours them, hatches extrapolation, and shows two maps side by side or with a divider.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sdm.maps.novelty import MEASURES, OF_VARIABLES
from sdm.maps.projection.change import CODES, TITLES
from sdm.models.colours import MAGMA, RED_TO_BLUE, hex_colour, ramp_colour
from sdm.report.charts import SCALES, TOP
from sdm.report.pages import words
from sdm.report.pages.maps.live_map import NOTHING, fine_level, pack, pack_steps
from sdm.report.pictures import PALETTE, PIXELS, Picture, read_picture, resized
from sdm.report.projection import (
    CHANGE_COLOURS,
    MESS_LABEL,
    NOVELTY_CLASSES,
    NOVELTY_LABELS,
    StoredCase,
    StoredProjection,
    novelty_picture,
)
from sdm.types import Numbers

MOST_SCENARIOS = 24
MOST_GROUPS = 12
BUDGET = 1_400_000  # characters of all maps, so that a page is smaller than 2 MB
BESIDE = 450_000  # the same on the page of a model, which has its own map
FULL = (60_000_000, 2048)  # characters, and pixels of the long side, if the run requests all cells (`output.page_map`)
COARSE = 0.5  # of the characters, for overviews of maps with a finer level
MAIN = "suitability"
FEWEST = 120  # smallest number of pixels of the long side, before scenarios are omitted
DENSE = 1.3  # approximate characters per pixel of a case
LEVELS = 250  # steps of a continuous map
AROUND = 200  # steps of MESS, half of them below 0
CHANGE_LABELS = {str(k): (title, CHANGE_COLOURS[name]) for k, (name, title) in enumerate(zip(CODES, TITLES))}
SUITABLE = {"0": ("not suitable", CHANGE_COLOURS["stable_absent"]), "1": ("suitable", CHANGE_COLOURS["stable_present"])}
SHOWN_CLASSES = {kind: {str(k): named for k, named in classes.items()} for kind, classes in NOVELTY_CLASSES.items()}
NO_VARIABLE = ("none", CHANGE_COLOURS["stable_absent"])
MESS_STEPS = (0, AROUND // 2)  # steps of MESS below 0
KINDS = ("suitability", "presence", "change", *(name for names in MEASURES.values() for name in names))


@dataclass
class Entry:
    """A case, or a group of scenarios, of the panel: its maps by kind, all in the pixels of the first."""

    title: str
    group: str
    summary: str
    pictures: dict[str, Picture] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    hatched: str | None = None  # the kind of map that marks extrapolation

    @property
    def main(self) -> Picture:
        """The map that defines the pixels of all others."""
        return next(iter(self.pictures.values()))

    def values(self, kind: str) -> NDArray[np.float32]:
        """Return a map in the pixels of the main one."""
        return resized(self.pictures[kind].values, self.main.values.shape)


def panel(projection: StoredProjection, budget: int = BUDGET, most: int = PIXELS) -> Numbers | None:
    """Return all data of the panel as numbers and texts; None without a map.

    Maps are reduced until all of them are within a budget; scenarios that still do not fit are omitted. For larger
    rasters, a part of the budget is for finer levels of the suitability maps.
    """
    cases = [case for case in projection.cases if case.raster("suitability")]
    reference = sum(case.is_reference for case in cases)
    shown = cases[: MOST_SCENARIOS + reference]
    left_out = len(cases) - len(shown)
    groups = [group for group in projection.groups if projection.group_raster(group, "mean")][:MOST_GROUPS]
    if not shown:
        return None
    large = max(read_picture(path, 8).cells) if (path := shown[0].raster("suitability")) else 0
    coarse = COARSE * budget if large > most else budget
    pixels = min(most, max(FEWEST, int(sqrt(0.8 * coarse / (DENSE * (len(shown) + len(groups)))))))
    while True:
        of_cases = [_case(case, pixels) for case in shown]
        entries = [*of_cases, *(_group(projection, group, of_cases, pixels) for group in groups)]
        kinds = _kinds(projection, entries)
        packed = [{key: _pack(entry.values(key), kinds[key]) for key in entry.pictures} for entry in entries]
        size = sum(len(text) for layers in packed for text in layers.values())
        if size <= coarse or pixels == FEWEST:
            break
        pixels = max(FEWEST, int(0.95 * pixels * sqrt(coarse / size)))
    while size > budget and len(shown) > reference + 1:
        last = len(shown) - 1
        size -= sum(map(len, packed[last].values()))
        del shown[last], entries[last], packed[last]
        left_out += 1
    grids: list[Numbers] = []
    fine = _finer(entries, kinds, budget - size)
    first = entries[0].main.values.shape if not fine[0] else (fine[0][MAIN]["height"], fine[0][MAIN]["width"])
    return {
        "kinds": kinds,
        "nothing": NOTHING,
        "geographic": entries[0].main.geographic,
        "unit": entries[0].main.metres,
        "grids": grids,
        "entries": [
            _plain_entry(k, entry, layers, grids) | {"fine": finer}
            for k, (entry, layers, finer) in enumerate(zip(entries, packed, fine))
        ],
        "left_out": left_out,
        "reduced": entries[0].main.cells != first,
        "first": [0, min(1, len(shown) - 1)],
    }


def _finer(entries: Sequence[Entry], kinds: Mapping[str, Numbers], budget: int) -> list[Numbers]:
    """Return finer levels of the suitability maps with at most `left` characters."""
    levels: list[Numbers] = []
    for k, entry in enumerate(entries):
        path, room = entry.paths.get(MAIN), max(budget, 0) // (len(entries) - k)
        level = None
        if path is not None and room:
            level = fine_level(path, 1, entry.pictures[MAIN], partial(_pack, kind=kinds[MAIN]), room)
        levels.append({} if level is None else {MAIN: level})
        budget -= 0 if level is None else sum(map(len, level["tiles"]))
    return levels


def case_line(case: StoredCase) -> str:
    """Return suitable area, change and extrapolation of a case in one line."""
    parts = []
    if case.km2 is not None:
        net = "" if case.net_percent is None else f" ({signed(case.net_percent)})"
        parts.append(f"suitable: {words.integer(case.km2)} km²{net}")
    if case.outside is not None:
        parts.append(f"{words.percent(case.outside)} of the cells outside the training range")
    return "; ".join(parts)


def signed(value: float | None) -> str:
    """Return a percentage with its sign; a dash for a missing one."""
    return "–" if value is None else f"{value:+.1f} %".replace("-", "−")


def group_title(group: Numbers) -> str:
    """Return the title of a group of scenarios."""
    over = group.get("over")
    named = " and ".join(map(str, over)) if isinstance(over, list) else str(over)
    return f"over {named}: {group.get('title')}"


def _case(case: StoredCase, pixels: int) -> Entry:
    entry = Entry(case.title, "Reference" if case.is_reference else "Scenarios", case_line(case))
    for key in KINDS:
        if path := case.raster(key):
            entry.paths[key], entry.pictures[key] = path, novelty_picture(path, key, pixels)
    entry.hatched = case.novelty
    return entry


def _group(projection: StoredProjection, group: Numbers, shown: Sequence[Entry], pixels: int) -> Entry:
    """Return the entry of a group of scenarios, hatched where at least one of them is."""
    entry = Entry(f"mean {group_title(group)}", "Over scenarios", f"{words.integer(group.get('cases'))} scenarios")
    for key, kind in (("mean", "suitability"), ("sd", "sd"), ("agreement", "agreement")):
        if path := projection.group_raster(group, key):
            entry.paths[kind], entry.pictures[kind] = path, read_picture(path, pixels)
    fields = {str(key): str(value) for key, value in (group.get("fields") or {}).items()}
    by_title = {one.title: one for one in shown}
    cases = [case for case in projection.scenarios if fields.items() <= case.fields.items()]
    parts = [by_title.get(case.title) or _case(case, pixels) for case in cases]
    measures = {one.hatched for one in parts}
    measure = measures.pop() if len(measures) == 1 else None
    if measure is not None:
        values = [resized(one.pictures[measure].values, entry.main.values.shape) for one in parts]
        lowest, highest = np.fmin.reduce(values), np.fmax.reduce(values)
        outside = np.logical_or.reduce([part == 1 for part in values])
        joined = lowest if measure == "mess" else np.where(outside, np.float32(1), highest)
        entry.pictures[measure] = replace(parts[0].pictures[measure], values=joined)
        entry.hatched = measure
    return entry


def _kinds(projection: StoredProjection, entries: Sequence[Entry]) -> dict[str, Numbers]:
    """Return the available kinds of maps, each with its colours: a range and a palette, or classes."""
    scale = projection.scale
    maps: dict[str, list[Picture]] = {}
    for entry in entries:
        for key, picture in entry.pictures.items():
            maps.setdefault(key, []).append(picture)
    tops = {key: max(picture.highest for picture in group) for key, group in maps.items()}
    legends = {key: {str(a): b for picture in group for a, b in picture.legend.items()} for key, group in maps.items()}
    most = int(tops.get("agreement", 0))
    variables = {key: {"0": NO_VARIABLE, **legends.get(key, {})} for key in OF_VARIABLES}
    label = SCALES.get(scale, scale)
    kinds = {
        "suitability": _range(label, 0, TOP.get(scale) or tops.get("suitability", 1.0), PALETTE),
        "presence": _classes(f"Presence/absence (threshold: {projection.rule})", legends.get("presence") or SUITABLE),
        "change": _classes("Change relative to the reference", legends.get("change") or CHANGE_LABELS),
        "mess": _range(MESS_LABEL, -projection.mess_reach, projection.mess_reach, RED_TO_BLUE) | {"novel": MESS_STEPS},
        "mod": _classes("Most dissimilar variable (MESS)", variables["mod"]),
        "exdet": _classes(NOVELTY_LABELS["exdet"], SHOWN_CLASSES["exdet"]) | {"novel": (1, 2)},
        "exdet_variable": _classes("ExDet: most influential variable", variables["exdet_variable"]),
        "mop": _range("MOP: distance to the training environment", 0, tops.get("mop", 1.0), MAGMA),
        "mop_strict": _classes(NOVELTY_LABELS["mop_strict"], SHOWN_CLASSES["mop_strict"]) | {"novel": (1, 2)},
        "clamping": _range("Effect of clamping", 0, tops.get("clamping", 1.0), MAGMA),
        "limiting": _classes("Limiting variable", variables["limiting"]),
        "sd": _range("Standard deviation over scenarios", 0, tops.get("sd", 1.0), MAGMA),
        "agreement": _classes("Agreement: number of scenarios that are suitable", _steps(most)),
    }
    return {key: kind for key, kind in kinds.items() if key in maps}


def _range(name: str, low: float, high: float, palette: Sequence[str]) -> Numbers:
    levels = AROUND if low < 0 else LEVELS
    return {"name": name, "low": low, "high": high, "levels": levels, "palette": palette, "classes": {}}


def _classes(name: str, classes: Mapping[str, tuple[str, str]]) -> Numbers:
    return {"name": name, "low": 0, "high": 0, "levels": 0, "palette": [], "classes": dict(classes)}


def _steps(most: int) -> dict[str, tuple[str, str]]:
    return {str(k): (str(k), hex_colour(ramp_colour(PALETTE, k / max(most, 1)))) for k in range(min(most, 255) + 1)}


def _pack(values: NDArray[np.float32], kind: Numbers) -> str:
    if kind["classes"]:
        return pack_steps(np.where(np.isfinite(values), values, NOTHING))
    if kind["low"] < 0:  # round down, so that values below 0 in the map are below 0 on the page
        shares = np.clip(np.nan_to_num(values) / kind["high"], -1, 1)
        steps = np.floor(shares * (AROUND // 2)) + AROUND // 2
        return pack_steps(np.where(np.isfinite(values), steps, NOTHING))
    return pack(values, kind["high"], LEVELS)


def _plain_entry(order: int, entry: Entry, layers: dict[str, str], grids: list[Numbers]) -> Numbers:
    """Return an entry as plain values; store identical grids once."""
    high, wide = entry.main.values.shape
    grid = {"width": wide, "height": high, "bounds": entry.main.bounds, "aspect": entry.main.aspect}
    if grid not in grids:
        grids.append(grid)
    return {
        "hatched": entry.hatched,
        "order": order,
        "title": entry.title,
        "group": entry.group,
        "said": entry.summary,
        "grid": grids.index(grid),
        "layers": layers,
    }
