"""Tables of a group of species on shared axes, and charts from the stored tables, shared by pages and figures.

In the biplot species are arrows, sites are points, and names are shown where there is space.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sdm.assess.axes import RELATIVES, axis_profiles, reference_sites, specific_shares
from sdm.assess.profiles import Profile
from sdm.kinds.model_task import Artefact
from sdm.maps.several import MOST_AXES
from sdm.models.group import GroupModel
from sdm.report.charts import BarChart, Bars, Biplot, Chart, ColumnChart, LineChart, NamedTip, curve_chart, short
from sdm.report.results import Results, column, number, rows_by
from sdm.report.results import Row as StoredRow
from sdm.report.stored_charts import stored_curve
from sdm.types import Array, Numbers, Row

PATH = ("strength", "penalty", "rank", "loss", "held_out", "held_out_se", "gap", "chosen", "supported")


def axis_name(k: int) -> str:
    """Return the name of an axis, counted from 1."""
    return f"axis {k + 1}"


def axis_rows(model: GroupModel) -> list[Row]:
    """Return one row per axis: its explained share, the cumulative share, and the range of the sites."""
    total = np.cumsum(model.explained)
    return [
        {
            "axis": k + 1,
            "explained": float(model.explained[k]),
            "cumulative": float(total[k]),
            "lowest": float(model.ranges[k, 0]),
            "highest": float(model.ranges[k, 1]),
        }
        for k in range(model.rank)
    ]


def species_axis_rows(model: GroupModel) -> list[Row]:
    """Return one row per species: its records, shared and species-specific variance, and slopes along the axes."""
    specific = specific_shares(model)
    return [
        {
            "species": name,
            "records": float(model.records[s]),
            "shared share": 1.0 - float(specific[s]),
            "own share": float(specific[s]),
            **{axis_name(k): float(model.places[k, s]) for k in range(model.rank)},
        }
        for s, name in enumerate(model.species)
    ]


def relative_rows(model: GroupModel, most: int = RELATIVES) -> list[Row]:
    """Return the most similar species of every species in decreasing order; empty without axes."""
    return [
        {"species": name, "relative": other, "correlation": alike}
        for name in (model.species if model.rank else ())
        for other, alike in model.relatives(name, most)
    ]


def axis_curve_rows(profiles: Mapping[int, Sequence[Profile]]) -> list[Row]:
    """Return the curves of axes along every variable in long form."""
    return [
        {
            "axis": k + 1,
            "variable": p.variable,
            "value": x,
            "class": p.classes[i] if p.classes else "",
            "effect": y,
            "in training range": bool(p.classes) or p.lo <= x <= p.hi,
        }
        for k, curves in profiles.items()
        for p in curves
        for i, (x, y) in enumerate(zip(p.x.tolist(), p.y.tolist()))
    ]


def strength_rows(meta: Numbers) -> list[Row]:
    """Return the fits along the path of strengths, the weakest first."""
    rows = [row for row in meta.get("path") or () if isinstance(row, dict)]
    fits = [{key: "" if row.get(key) is None else row[key] for key in PATH} for row in rows]
    return sorted(fits, key=lambda row: float(row["strength"]))


def site_rows(model: GroupModel, axes: int) -> list[Row]:
    """Return (some of) the sites with their environment and their scores on the first axes."""
    sites = reference_sites(model)
    if sites is None or not model.rank:
        return []
    scores = model.axis_scores(list(sites.T))[:axes]
    return [
        {**dict(zip(model.names, values.tolist())), **{axis_name(k): float(z) for k, z in enumerate(axis_scores)}}
        for values, axis_scores in zip(sites, scores.T)
    ]


GROUP_TABLES: tuple[Artefact[GroupModel], ...] = (
    Artefact("axes", "axes.csv", axis_rows),
    Artefact("species axes", "species_axes.csv", species_axis_rows),
    Artefact("relatives", "relatives.csv", relative_rows),
    Artefact(
        "axis curves",
        "axis_curves.csv",
        lambda model: axis_curve_rows(axis_profiles(model, range(min(model.rank, MOST_AXES)))),
    ),
    Artefact("sites", "site_axes.csv", lambda model: site_rows(model, MOST_AXES)),
    Artefact("path", "path.csv", lambda model: strength_rows(model.meta)),
)


MOST_BARS = 20
CURVED = 3  # axes in one chart
CHART_FILES = {"biplot": "biplot", "axis_curves": "curves picture"}  # content of the chart files


def group_charts(results: Results) -> dict[str, Sequence[Chart]]:
    """Return the charts of a group by the names of their files: the biplot, or the slopes along the only axis, and the
    curves of the axes."""
    species, explained = results.table("species axes"), column(results.table("axes"), "explained")
    charts: dict[str, Sequence[Chart]] = {}
    if explained:
        single = len(explained) == 1
        sites = results.table("sites")
        charts["biplot"] = [place_bars(species) if single else stored_biplot(sites, species, explained)]
    curves = curve_charts(results.table("axis curves"))
    return charts | ({"axis_curves": curves} if curves else {})


def curve_charts(rows: list[StoredRow]) -> list[LineChart | ColumnChart]:
    """Return one chart per variable with the curves of the first axes; variables without effect have none."""
    charts = list[LineChart | ColumnChart]()
    shown = [row for row in rows if int(row["axis"]) <= CURVED]
    for variable, points in rows_by(shown, "variable").items():
        if max(map(abs, column(points, "effect")), default=0.0) <= 1e-9:
            continue
        curves = {axis_name(int(k) - 1): stored_curve(part, "effect") for k, part in rows_by(points, "axis").items()}
        title = f"Axes as functions of {variable}"
        charts.append(curve_chart(variable, curves, title=title, y_label="Effect (standard deviations)"))
    return charts


def stored_biplot(sites: list[StoredRow], species: list[StoredRow], explained: list[float]) -> Biplot:
    """Return the biplot of the first two axes from the tables of sites and of species."""
    names, axes = [row["species"] for row in species], range(2)
    places = _columns(species, axes)
    return biplot(names, places, _columns(sites, axes) if sites else np.empty((2, 0)), explained)


def _columns(rows: list[StoredRow], axes: range) -> Array:
    return np.array([column(rows, axis_name(k)) for k in axes])


def place_bars(rows: list[StoredRow]) -> BarChart:
    """Return the slopes of species along the only axis as bars; the largest ones of many species."""
    ranked = sorted(rows, key=lambda row: -abs(number(row.get(axis_name(0))) or 0.0))[:MOST_BARS]
    ranked.sort(key=lambda row: -(number(row.get(axis_name(0))) or 0.0))
    label = "Slope along axis 1 (nats per standard deviation)"
    values = [number(row.get(axis_name(0))) for row in ranked]
    names = [row["species"] for row in ranked]
    return BarChart("Species along axis 1", label, names, [Bars(label, values)], species=True)


LONGEST = 26  # characters of a name
MOST_NAMES = 60
LETTER, LINE = 0.0131, 0.030  # width of a character and height of a line, relative to the side of the plot
SHORTEST = 0.15  # smallest length of an arrow with a name, relative to the axis: shorter ones overlap
FAR = 0.86  # length of the longest arrow, relative to the axis
ALONE = 3.0  # range of the axes in standard deviations, without known sites


def biplot(names: Sequence[str], places: Array, sites: Array, explained: Sequence[float]) -> Biplot:
    """Return the biplot of species (`places`, (axes, species)) and sites ((axes, sites)) on the first two axes.

    Both axes have one scale, so that angles between arrows are angles between responses. All arrows are scaled by one
    factor, so that the longest nearly reaches the edge.
    """
    tips, dots = places[:2], sites[:2]
    reach = 1.08 * float(np.quantile(np.abs(dots), 0.995)) if dots.size else ALONE
    length = np.hypot(*tips)
    longest = float(length.max(initial=0.0))
    factor = FAR * reach / longest if longest > 0 else 1.0
    inside = np.all(np.abs(dots) <= reach, axis=0)
    across, up = (f"Axis {k + 1} ({100 * explained[k]:.0f} % of the species responses)" for k in range(2))
    return Biplot(
        f"{len(names)} species and the sites on axes 1 and 2",
        across,
        up,
        dots[:, inside].T.tolist(),
        (factor * tips).T.tolist(),
        _named(names, factor * tips / reach, reach),
        reach,
        longest,
    )


def _named(names: Sequence[str], tips: Array, reach: float) -> list[NamedTip]:
    """Return the species with names, in order of the length of their arrows, so that names do not overlap or leave the
    plot. `tips` are relative to the axis."""
    taken: list[tuple[float, float, float, float]] = []
    out = []
    for s in np.argsort(-np.hypot(*tips), kind="stable").tolist():
        if np.hypot(*tips[:, s]) < SHORTEST:
            break
        text = short(names[s], LONGEST)
        x, y = tips[:, s].tolist()
        wide, high = 2 * LETTER * len(text), 2 * LINE
        for right in (x >= 0, x < 0):
            start = x + 0.015 if right else x - 0.015 - wide
            low = y - 0.5 * high + np.sign(y) * 0.3 * high
            box = (start, start + wide, low, low + high)
            free = all(box[1] < a or b < box[0] or box[3] < c or d < box[2] for a, b, c, d in taken)
            if free and max(map(abs, box)) <= 1:
                taken.append(box)
                out.append(
                    NamedTip(s, text, (x + (0.015 if right else -0.015)) * reach, (low + 0.3 * high) * reach, right)
                )
                break
        if len(out) == MOST_NAMES:
            break
    return out
