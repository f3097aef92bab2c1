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
    """Return one row per case, in the columns that have values."""
    stored = stored_projection(results)
    rows = [(case, _measures(case)) for case in stored.cases]
    titles = dict.fromkeys(title for _, cells in rows for title in cells)
    columns = [title for title in titles if any(cells[title][0] is not None for _, cells in rows)]
    if not any(cells[REACH][0] for _, cells in rows):
        columns = [title for title in columns if title != REACH]
    if not rows:
        return None
    table = [
        {"title": case.title, "reference": case.is_reference, "cells": [cells[title] for title in columns]}
        for case, cells in rows
    ]
    more = {"change": stored.has_change, "rule": stored.rule, "shift": any(case.tree("shift") for case in stored.cases)}
    return {"columns": columns, "rows": table, "all_figures": results.files.get("table"), "prefix": "", **more}


def _measures(case: StoredCase) -> dict[str, tuple[float | None, str]]:
    """Return the numbers of a case by title: each as a number for sorting, and as text."""
    changed = {"Gain (km²)": "gain", "Loss (km²)": "loss", REACH: "out_of_reach"}
    areas = {title: (area := case.changed(key), words.integer(area)) for title, key in changed.items()}
    net, shift, direction = case.net_percent, number(case.tree("shift").get("km")), case.tree("shift").get("direction")
    away = "–" if shift is None else f"{shift:,.1f} km {direction or ''}"
    outside, suitable = case.outside, number(case.tree("suitable_outside").get("share"))
    mean = number(case.tree("suitability").get("mean"))
    return {
        "Suitable (km²)": (case.km2, words.integer(case.km2)),
        "Change": (net, signed(net)),
        **areas,
        "Shift of the centroid": (shift, away),
        "Cells outside the training range": (outside, words.percent(outside)),
        "Suitable area outside it": (suitable, words.percent(suitable)),
        "Mean suitability": (mean, words.figure(mean, 3)),
    }


def panel_section(results: Results, budget: int = BUDGET) -> Context | None:
    """Return the panel that compares scenarios, and its static picture."""
    stored = stored_projection(results)
    size = FULL if results.option("output.page_map") == "full" else (budget,)
    live, image = panel(stored, *size), _picture(stored, "maps")
    if live is None and image is None:
        return None
    measures = dict.fromkeys(NOVELTY[key][0] for case in stored.scenarios if (key := case.novelty))
    return {"panel": live, "image": image, "measures": list(measures), "change": stored.has_change}


def extrapolation_section(results: Results) -> Context | None:
    """Return the share of cells outside the training range, by variable and scenario."""
    cases = [case for case in stored_projection(results).scenarios if case.tree("outside")]
    if not cases:
        return None
    shares = [case.outside_by_variable() for case in cases]
    names = dict.fromkeys(name for part in shares for name in part)
    worst = {name: max((part.get(name, 0.0), case.title) for part, case in zip(shares, cases)) for name in names}
    ranked = sorted((name for name in names if worst[name][0] > 0), key=lambda name: -worst[name][0])[:MOST_VARIABLES]
    label = "Cells outside the training range (%)"
    groups = [Bars("worst scenario", [100 * worst[name][0] for name in ranked])]
    if len(cases) > 1:
        means = [100 * sum(part.get(name, 0.0) for part in shares) / len(cases) for name in ranked]
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
    context = {"change": stored.has_change, "dispersal": str(results.numbers.get("dispersal") or "")}
    return None if image is None else {"image": image, **context}


def across_section(results: Results) -> Context | None:
    """Return the agreement within groups of scenarios."""
    rows = [_group_row(group) for group in stored_projection(results).groups]
    if not rows:
        return None
    return {"rows": rows, "agreement": any(row["any"] is not None for row in rows)}


def variance_section(results: Results) -> Context | None:
    """Return the variance between maps by source."""
    stored = stored_projection(results)
    named = [(str(row.get("source")), number(row.get("share")), row) for row in stored.sources]
    rows = [(name, share, row) for name, share, row in named if share is not None]
    if not rows:
        return None
    label = "Share of the variance (%)"
    chart = BarChart(label, label, [name for name, *_ in rows], [Bars(label, [100 * share for _, share, _ in rows])])
    stored_variance = results.tree("variance")
    return {
        "chart": svg(chart),
        "rows": [row for *_, row in rows],
        "total": stored_variance.get("total"),
        "balanced": stored_variance.get("balanced"),
    }


def shift_section(results: Results) -> Context | None:
    """Return the shifts of the means of the variables from the reference."""
    stored = stored_projection(results)
    names = dict.fromkeys(name for case in stored.cases for name in case.tree("variables"))
    rows = []
    for name in names:
        ends = []
        for key in ("shift", "where_suitable_shift"):
            shifts = [number(nested(case.numbers, "variables", name, key)) for case in stored.scenarios]
            finite = [shift for shift in shifts if shift is not None]
            ends += [min(finite, default=None), max(finite, default=None)]
        before = number(nested(stored.reference.numbers, "variables", name, "mean")) if stored.reference else None
        rows.append({"name": name, "before": before, "ends": ends})
    shifted = [row for row in rows if row["ends"] != [None] * 4]
    return {"rows": shifted, "count": len(stored.scenarios)} if shifted else None


def mapping_section(results: Results) -> Context | None:
    """Return file and band of every variable in every scenario."""
    rows = results.table("mapping")
    return {"rows": rows[:MOST_ROWS], "left_out": max(0, len(rows) - MOST_ROWS)} if rows else None


def notice_section(results: Results) -> Context | None:
    """Return the notes of the projection about its input."""
    notices = words.notes(results)
    return {"notices": notices} if notices else None


def fitted_section(results: Results) -> Context | None:
    """Return the scenarios of a model for its page, or links to the projections of its species or classes."""
    projection = projection_of(results)
    if projection is not None:
        place = projection.page.parent.resolve()
        inside_it = place == (results.folder / SCENARIOS).resolve()
        link = f"{'' if inside_it else '../'}{SCENARIOS}/{quote(projection.page.name)}"
        context = panel_section(projection, BESIDE) or {"panel": None, "image": None, "measures": [], "change": False}
        return {
            **context,
            "table": scenario_table(projection),
            "prefix": link.rpartition("/")[0] + "/",
            "link": link,
            "links": [],
        }
    folder = results.folder / SCENARIOS
    listed = [read_projection(path) for path in find_projections(folder)]
    if not listed:
        return None
    links = [{"name": one.title, "page": f"{SCENARIOS}/{quote(one.page.name)}", **_extremes(one)} for one in listed]
    return {"links": links}


def _extremes(results: Results) -> Numbers:
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
