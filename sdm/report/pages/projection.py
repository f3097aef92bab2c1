"""Sections about projections: change in every scenario, extrapolation, and a panel to compare."""

from urllib.parse import quote

from sdm.report.charts import BarChart, Bars
from sdm.report.pages import words
from sdm.report.pages.frame import Context, PageSection
from sdm.report.pages.maps.scenario_panel import BESIDE, BUDGET, FULL, group_title, panel, signed
from sdm.report.pages.svg import svg
from sdm.report.pictures import shown_picture
from sdm.report.projection import (
    NOVELTY,
    StoredCase,
    StoredProjection,
    find_projections,
    inside,
    mean_change,
    most_outside,
    projection_of,
    read_projection,
)
from sdm.report.results import SCENARIOS, Results, nested, number, tree_of
from sdm.types import Numbers

MOST_VARIABLES = 40
REACH = "Out of reach (km²)"
MOST_ROWS = 400  # of the table of layers


def scenario_table(results: Results) -> Context | None:
    """Return one row per case, in columns that have something in them."""
    stored = stored_projection(results)
    rows = [(case, _measures(case)) for case in stored.cases]
    titles = dict.fromkeys(title for _, own in rows for title in own)
    kept = [title for title in titles if any(own[title][0] is not None for _, own in rows)]
    if not any(own[REACH][0] for _, own in rows):
        kept = [title for title in kept if title != REACH]
    if not rows:
        return None
    table = [
        {"title": case.title, "reference": case.is_reference, "cells": [own[title] for title in kept]}
        for case, own in rows
    ]
    told = {"change": stored.has_change, "rule": stored.rule, "shift": any(case.tree("shift") for case in stored.cases)}
    return {"columns": kept, "rows": table, "all_figures": results.files.get("table"), "prefix": "", **told}


def _measures(case: StoredCase) -> dict[str, tuple[float | None, str]]:
    """Return the figures of a case by title: each as a number to sort by, and as text."""
    changed = {"Gain (km²)": "gain", "Loss (km²)": "loss", REACH: "out_of_reach"}
    areas = {title: (area := case.changed(key), words.whole(area)) for title, key in changed.items()}
    net, shift, direction = case.net_percent, number(case.tree("shift").get("km")), case.tree("shift").get("direction")
    away = "–" if shift is None else f"{shift:,.1f} km {direction or ''}"
    outside, suitable = case.outside, number(case.tree("suitable_outside").get("share"))
    mean = number(case.tree("suitability").get("mean"))
    return {
        "Suitable (km²)": (case.km2, words.whole(case.km2)),
        "Change": (net, signed(net)),
        **areas,
        "Shift of the centroid": (shift, away),
        "Cells outside the training range": (outside, words.percent(outside)),
        "Suitable area outside it": (suitable, words.percent(suitable)),
        "Mean suitability": (mean, words.figure(mean, 3)),
    }


def panel_section(results: Results, budget: int = BUDGET) -> Context | None:
    """Return the panel that compares scenarios, and the picture for where it cannot be shown."""
    stored = stored_projection(results)
    size = FULL if results.option("output.page_map") == "full" else (budget,)
    live, image = panel(stored, *size), _picture(stored, "maps")
    if live is None and image is None:
        return None
    measures = dict.fromkeys(NOVELTY[key][0] for case in stored.scenarios if (key := case.novelty))
    return {"panel": live, "image": image, "measures": list(measures), "change": stored.has_change}


def extrapolation_section(results: Results) -> Context | None:
    """Return how many cells are outside the training range, by variable and scenario."""
    cases = [case for case in stored_projection(results).scenarios if case.tree("outside")]
    if not cases:
        return None
    shares = [case.outside_by_variable() for case in cases]
    names = dict.fromkeys(name for own in shares for name in own)
    worst = {name: max((own.get(name, 0.0), case.title) for own, case in zip(shares, cases)) for name in names}
    ranked = sorted((name for name in names if worst[name][0] > 0), key=lambda name: -worst[name][0])[:MOST_VARIABLES]
    label = "Cells outside the training range (%)"
    groups = [Bars("worst scenario", [100 * worst[name][0] for name in ranked])]
    if len(cases) > 1:
        means = [100 * sum(own.get(name, 0.0) for own in shares) / len(cases) for name in ranked]
        groups.append(Bars("mean over scenarios", means))
    return {
        "chart": svg(BarChart(label, label, ranked, groups)) if ranked else None,
        "worst": [(name, *worst[name]) for name in ranked],
        "several": len(cases) > 1,
        "most": most_outside(cases),
        "clean": [name for name in names if worst[name][0] == 0],
    }


def change_section(results: Results) -> Context | None:
    """Return the picture of gain, loss and the shift of the centroid."""
    stored = stored_projection(results)
    image = _picture(stored, "change")
    told = {"change": stored.has_change, "dispersal": str(results.numbers.get("dispersal") or "")}
    return None if image is None else {"image": image, **told}


def across_section(results: Results) -> Context | None:
    """Return what groups of scenarios agree on."""
    rows = [_group_row(group) for group in stored_projection(results).groups]
    if not rows:
        return None
    return {"rows": rows, "agreement": any(row["any"] is not None for row in rows)}


def variance_section(results: Results) -> Context | None:
    """Return which part of the variance between maps has which source."""
    stored = stored_projection(results)
    named = [(str(row.get("source")), number(row.get("share")), row) for row in stored.sources]
    known = [(name, share, row) for name, share, row in named if share is not None]
    if not known:
        return None
    label = "Share of the variance (%)"
    chart = BarChart(label, label, [name for name, *_ in known], [Bars(label, [100 * share for _, share, _ in known])])
    found = results.tree("variance")
    return {
        "chart": svg(chart),
        "rows": [row for *_, row in known],
        "total": found.get("total"),
        "balanced": found.get("balanced"),
    }


def shift_section(results: Results) -> Context | None:
    """Return how the means of the variables differ from the reference, over scenarios."""
    stored = stored_projection(results)
    names = dict.fromkeys(name for case in stored.cases for name in case.tree("variables"))
    rows = []
    for name in names:
        ends = []
        for key in ("shift", "where_suitable_shift"):
            shifts = [number(nested(case.numbers, "variables", name, key)) for case in stored.scenarios]
            known = [shift for shift in shifts if shift is not None]
            ends += [min(known, default=None), max(known, default=None)]
        before = number(nested(stored.reference.numbers, "variables", name, "mean")) if stored.reference else None
        rows.append({"name": name, "before": before, "ends": ends})
    told = [row for row in rows if row["ends"] != [None] * 4]
    return {"rows": told, "count": len(stored.scenarios)} if told else None


def mapping_section(results: Results) -> Context | None:
    """Return which file and band every variable of every scenario was read from."""
    rows = results.table("mapping")
    return {"rows": rows[:MOST_ROWS], "left_out": max(0, len(rows) - MOST_ROWS)} if rows else None


def notice_section(results: Results) -> Context | None:
    """Return what the projection had to say of its input."""
    found = words.notes(results)
    return {"notices": found} if found else None


def fitted_section(results: Results) -> Context | None:
    """Return the scenarios of a model for its own page: of itself, or links to those of its species or classes."""
    own = projection_of(results)
    if own is not None:
        place = own.page.parent.resolve()
        inside_it = place == (results.folder / SCENARIOS).resolve()
        link = f"{'' if inside_it else '../'}{SCENARIOS}/{quote(own.page.name)}"
        found = panel_section(own, BESIDE) or {"panel": None, "image": None, "measures": [], "change": False}
        return {
            **found,
            "table": scenario_table(own),
            "prefix": link.rpartition("/")[0] + "/",
            "link": link,
            "links": [],
        }
    folder = results.folder / SCENARIOS
    listed = [read_projection(path) for path in find_projections(folder)]
    if not listed:
        return None
    links = [{"name": one.title, "page": f"{SCENARIOS}/{quote(one.page.name)}", **_said(one)} for one in listed]
    return {"links": links}


def _said(results: Results) -> Numbers:
    cases = stored_projection(results).scenarios
    return {"mean": mean_change(cases), "outside": most_outside(cases)}


def _group_row(group: Numbers) -> Numbers:
    agreed = tree_of(group, "numbers", "agreement")
    areas = {int(key): number(value) or 0.0 for key, value in agreed.items() if str(key).isdecimal()}
    most = int(number(group.get("cases")) or max(areas, default=0))

    def at_least(count: float) -> float | None:
        return sum(area for k, area in areas.items() if k >= count) if areas else None

    return {
        "title": group_title(group),
        "cases": group.get("cases"),
        "mean": nested(group, "numbers", "mean", "mean"),
        "sd": nested(group, "numbers", "sd", "mean"),
        "any": at_least(1),
        "half": at_least(most / 2),
        "all": at_least(most),
    }


def stored_projection(results: Results) -> StoredProjection:
    """Return the stored projection of some results."""
    return StoredProjection(results.folder, results.numbers)


def _picture(stored: StoredProjection, key: str) -> str | None:
    path = inside(stored.folder, nested(stored.numbers, "files", "pictures", key))
    return None if path is None else shown_picture(path)


PANEL = ("map_view.js", "map_layers.js", "panel.js")
FITTED = PageSection("scenarios", "Scenarios", fitted_section, "Scenarios", "projection/fitted", scripts=PANEL)
