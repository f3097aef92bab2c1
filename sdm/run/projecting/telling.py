"""What is said of a projection: warnings, lines in the terminal, and the rows of `scenarios.csv`."""

from collections.abc import Sequence
from typing import Any

from sdm.maps.outside import Outside
from sdm.run.projecting.summary import Case, SpeciesProjection
from sdm.types import Numbers, Row

NOTABLE = 0.01  # share outside the training range that is warned of
MOST_LINES = 30  # of scenarios in the terminal
MOST_WARNED = 5  # species whose warnings are all said
COLUMNS = ("species", "scenario", "measure", "of", "value", "unit")  # of `scenarios.csv`, beside the fields


def field_column(name: str) -> str:
    """Return the column of a field in `scenarios.csv`, which is its name unless another column has it."""
    return f"field_{name}" if name in COLUMNS else name


def projection_warnings(found: SpeciesProjection) -> list[str]:
    """What could mislead."""
    out = []
    shares = [(case.numbers["outside"]["share"], case) for case in found.scenarios if case.numbers["outside"]]
    notable = [pair for pair in shares if pair[0] >= NOTABLE]
    if notable:
        share, worst = max(notable, key=lambda pair: pair[0])
        outside = worst.numbers["outside"]
        parts = {**outside["variables"], **outside["unseen_categories"]}
        first = max(parts, key=lambda name: float(parts[name]["share"]))
        most = f"{worst.numbers['title']}; most by {first}, {parts[first]['share']:.0%}"
        out.append(
            f"{found.name}: a part of {_of_maps(len(notable), len(shares))} is outside the environment that the model "
            f"was fitted to, up to {share:.0%} of the cells ({most}): no data tests what it predicts there"
        )
    if empty := [case.numbers["title"] for case in found.scenarios if not case.numbers["suitability"]["cells"]]:
        out.append(
            f"{found.name}: {len(empty)} of {len(found.scenarios)} scenarios ({empty[0]}) have an empty map, for every "
            "cell is outside the training range: use another --extrapolation to see it"
        )
    suitable = [(case.numbers["suitable_outside"]["share"], case) for case in found.scenarios
                if case.numbers.get("suitable_outside")]  # fmt: skip
    if suitable and max(suitable, key=lambda pair: pair[0])[0] >= NOTABLE:
        share, worst = max(suitable, key=lambda pair: pair[0])
        hatched = bool(worst.numbers.get("novelty"))
        how = "look at the hatched parts of the maps" if hatched else "see where, by --novelty mess,"
        out.append(
            f"{found.name}: up to {share:.0%} of the suitable area ({worst.numbers['title']}) is extrapolated: {how} "
            "before you use it"
        )
    if all(case.numbers["outside"] is None for case in found.scenarios):
        out.append(f"{found.name}: the model file does not say what it was fitted to, so extrapolation is unknown")
    for shared, cases in found.groups():
        nets = [(case.numbers["change"] or {}).get("net_percent") for case in cases]
        known = [net for net in nets if net is not None]
        if known and min(known) < 0 < max(known):
            what = "_".join(shared.values()) or "all scenarios"
            grow = sum(net > 0 for net in known)
            out.append(
                f"{found.name}, {what}: scenarios do not agree whether the suitable area grows ({grow}) or shrinks "
                f"({len(known) - grow})"
            )
    return out


def common_warnings(species: Sequence[SpeciesProjection]) -> list[str]:
    """Return the warnings of all species; of more than a few species, how many have some, and those of the worst."""
    warned = [one for one in species if one.warnings]
    if len(warned) <= MOST_WARNED:
        return [text for one in warned for text in one.warnings]
    worst = max(warned, key=_most_outside)
    return [
        f"{len(warned)} of {len(species)} species have warnings, which are on their pages; the worst is {worst.name}",
        *worst.warnings,
    ]


def _of_maps(some: int, n: int) -> str:
    return "the map" if n == 1 else f"{some} of {n} maps"


def _most_outside(found: SpeciesProjection) -> float:
    shares = [case.numbers["outside"]["share"] for case in found.scenarios if case.numbers["outside"]]
    return max(shares, default=0.0)


def projection_lines(found: SpeciesProjection, brief: bool = False) -> list[str]:
    """Say what was found in lines of text: how much is extrapolated first."""
    shares = [case.numbers["outside"]["share"] for case in found.scenarios if case.numbers["outside"]]
    n, scenarios = len(found.scenarios), len({case.numbers["scenario"] for case in found.scenarios})
    head = f"{found.name}: {scenarios} {'scenario' if scenarios == 1 else 'scenarios'}"
    head += f" by {n // max(scenarios, 1)} models" if n > scenarios else ""
    if shares:
        head += f"; outside the training range {_span(shares)} of the cells"
    lines = [head]
    if not brief:
        shown = found.scenarios[:MOST_LINES]
        lines += [f"  {case.numbers['title']}: {_outside(case)}" for case in shown if case.numbers["outside"]]
        lines += [f"  {_line(found, case)}" for case in shown]
        if n > MOST_LINES:
            lines.append(f"  {n - MOST_LINES} more: see scenarios.csv")
        for group in found.across:
            lines.append(
                f"  over {', '.join(group['over']) or 'all scenarios'}: {group['title']}, {group['cases']} maps"
            )
        if found.variance is not None:
            parts = [
                f"{one['source']} {one['share']:.0%}" for one in found.variance["sources"] if one["share"] is not None
            ]
            gaps = "" if found.variance["balanced"] else " (not every combination is there, so the parts may overlap)"
            lines.append(f"  variance by source: {', '.join(parts)}{gaps}")
    else:
        nets = [case.numbers["change"]["net_percent"] for case in found.scenarios if case.numbers["change"]]
        known = [net for net in nets if net is not None]
        if known:
            ends = [f"{net:+.0f} %" for net in (min(known), max(known))]
            lines[0] += f"; suitable area {' to '.join(dict.fromkeys(ends))}"
    return lines


def _outside(case: Case) -> str:
    return Outside.of_numbers(case.numbers["outside"]).line


def _line(found: SpeciesProjection, case: Case) -> str:
    numbers = case.numbers
    parts = []
    if found.rule is not None and found.rule in numbers["rules"]:
        parts.append(f"suitable {numbers['rules'][found.rule]['km2']:,.0f} km²")
    if change := numbers["change"]:
        net = change["net_percent"]
        sized = "" if net is None else f" ({net:+.1f} %)"
        parts.append(f"gain {change['gain']['km2']:,.0f}, loss {change['loss']['km2']:,.0f} km²{sized}")
    if (moved := numbers["shift"]) and moved["direction"]:
        parts.append(f"centre moves {moved['km']:,.0f} km {moved['direction']}")
    parts = parts or [f"mean suitability {numbers['suitability']['mean'] or 0:.3f}"]
    return f"{numbers['title']}: {'; '.join(parts)}"


def projection_rows(found: SpeciesProjection) -> list[Row]:
    """Return one row per scenario and measure."""
    out: list[Numbers] = []
    for case in found.cases:
        numbers = case.numbers
        head = {"species": found.name, "scenario": numbers["scenario"]}
        head |= {field_column(name): numbers["fields"].get(name, "") for name in found.fields}

        def add(measure: str, of: str, value: Any, unit: str, head: Numbers = head) -> None:
            if value is not None:
                out.append({**head, "measure": measure, "of": of, "value": value, "unit": unit})

        for name in ("mean", "min", "max"):
            add(f"{name} suitability", found.scale, numbers["suitability"][name], "")
        for rule, size in numbers["rules"].items():
            add("cutoff", rule, size["cutoff"], "")
            add("suitable area", rule, size["km2"], "km2")
            add("suitable cells", rule, size["cells"], "cells")
        if outside := numbers["outside"]:
            add("outside the training range", "", outside["share"], "share")
            add("outside the training range", "", outside["km2"], "km2")
            for key in ("variables", "unseen_categories"):
                for name, part in outside[key].items():
                    add("outside the training range", name, part["share"], "share")
                    add("outside the training range", name, part["km2"], "km2")
        if extrapolated := numbers["suitable_outside"]:
            add("suitable area outside the training range", found.rule or "", extrapolated["km2"], "km2")
            add("suitable area outside the training range", found.rule or "", extrapolated["share"], "share")
        if change := numbers["change"]:
            for name, part in change.items():
                if isinstance(part, dict):
                    add(name.replace("_", " "), found.rule or "", part["km2"], "km2")
                    add(name.replace("_", " "), found.rule or "", part["cells"], "cells")
                else:
                    add(name.removesuffix("_percent"), found.rule or "", part, "percent")
        for name, value in (numbers["centroid"] or {}).items():
            add(f"centroid {name}", found.rule or "", value, "degrees" if name in ("lon", "lat") else "")
        if moved := numbers["shift"]:
            add("shift of the centroid", found.rule or "", moved["km"], "km")
            add("bearing of the shift", found.rule or "", moved["bearing"], "degrees")
        for name, row in numbers["variables"].items():
            for key, value in row.items():
                add({"mean": "mean", "shift": "shift of the mean", "where_suitable": "mean where suitable",
                     "where_suitable_shift": "shift of the mean where suitable"}[key], name, value, "")  # fmt: skip
        for name, summary in numbers["novelty"].items():
            if name in ("mess", "exdet", "mop", "clamping"):
                add(f"mean {name}", "", summary["mean"], "")
    return out


def _span(shares: Sequence[float]) -> str:
    low, high = min(shares), max(shares)
    return f"{high:.1%}" if f"{low:.1%}" == f"{high:.1%}" else f"{low:.1%} to {high:.1%}"
