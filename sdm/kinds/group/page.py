"""The page of a group of species on shared axes: axes, explained shares, and similarity of species."""

from pathlib import Path
from typing import ClassVar, cast

from sdm.assess.axes import RELATIVES
from sdm.kinds.group.tables import CURVED, MOST_BARS, axis_name, curve_charts, place_bars, stored_biplot
from sdm.maps.several import axis_title
from sdm.models.group import GroupModel
from sdm.report.charts import BarChart, Bars
from sdm.report.pages import sections
from sdm.report.pages.cautions import convergence, stored_warnings
from sdm.report.pages.frame import Context, KeyFigure, Page, PageSection
from sdm.report.pages.svg import svg
from sdm.report.pages.words import figure, integer, percent
from sdm.report.paper import Paper
from sdm.report.results import Results, column, number, rows_by
from sdm.storage.files import safe_name


class GroupResults(Results):
    """The results of a group of species on shared axes."""

    objective_unit: ClassVar[str] = "nats per record"
    record: ClassVar[str] = "record"
    species_maps: ClassVar[bool] = True

    @property
    def algorithm(self) -> str:
        """The algorithm in a sentence."""
        n = self.numbers
        return (
            f"Maximum entropy for {len(n['species'])} species together, with a penalty on the number of shared axes "
            f"(nuclear norm), strength {figure(n.get('strength'), 3)}"
        )


RESULTS = GroupResults


TEMPLATES = Path(__file__).parent / "templates"

MOST_ROWS = 10  # largest number of axes in the table


def group_figures(results: Results) -> list[KeyFigure]:
    """Return the figures: species and sites, number of axes, and the certificate."""
    n, explained = results.numbers, column(results.table("axes"), "explained")
    count = min(3, len(explained))
    supported = number(n.get("supported"))
    axes = f"the first {count} explain {percent(sum(explained[:3]))}" if n.get("rank") else "no axes"
    size = f"{len(n.get('variables') or [])} variables, {integer(n.get('features'))} features"
    return [
        KeyFigure("Species", str(len(n["species"])), f"{integer(n.get('records_used'))} records"),
        KeyFigure("Axes", integer(n.get("rank")), axes)
        if supported is None
        else KeyFigure(
            "Axes", f"{integer(supported)} of {integer(n.get('rank'))}", f"supported by held-out records; {axes}"
        ),
        KeyFigure("Sites", integer(n.get("sites")), size),
        KeyFigure("Strength", figure(n.get("strength"), 3), f"penalty on axes {figure(n.get('penalty'), 2)}"),
        KeyFigure("Duality gap", figure(n.get("gap"), 2), f"nats per record, {n.get('status') or 'not stored'}"),
    ]


def axes_section(results: Results) -> Context:
    """Return the axes with their explained shares."""
    rows = results.table("axes")
    shown = rows[:MOST_ROWS]
    names = [f"Axis {row['axis']}" for row in shown]
    percent = [100 * value for value in column(shown, "explained")]
    label = "Explained share of the species responses (%)"
    chart = svg(BarChart("Explained share of each axis", label, names, [Bars(label, percent)])) if rows else None
    return {"rows": shown, "chart": chart, "left_out": max(0, len(rows) - MOST_ROWS)}


def strength_section(results: Results) -> Context | None:
    """Return the fits along the path of strengths, and their figure."""
    rows = results.table("path")
    if not rows:
        return None
    held = any(number(row.get("held_out")) is not None for row in rows)
    chosen = next((row for row in rows if row.get("chosen") == "True"), None)
    return {"rows": rows, "held": held, "chosen": chosen, "image": sections.image(results, "path picture")}


def axis_curves(results: Results) -> Context | None:
    """Draw the first axes as functions of each variable."""
    drawn = [svg(chart) for chart in curve_charts(results.table("axis curves"))]
    return {"charts": drawn} if drawn else None


def biplot_section(results: Results) -> Context | None:
    """Draw the biplot of the first two axes; with one axis, the slopes of the species."""
    rows, explained = results.table("species axes"), column(results.table("axes"), "explained")
    if not rows or not explained:
        return None
    if len(explained) == 1:
        return {"bars": svg(place_bars(rows)), "left_out": max(0, len(rows) - MOST_BARS)}
    chart = stored_biplot(results.table("sites"), rows, explained)
    return {"chart": svg(chart), "longest": chart.longest, "named": len(chart.named), "species": len(rows)}


def axis_map_section(results: Results) -> Context | None:
    """Return the figures of the axes: the colour composite and separate maps."""
    colours, each = (sections.image(results, key) for key in ("colours picture", "axes picture"))
    return {"colours": colours, "each": each} if colours or each else None


def species_section(results: Results) -> Context | None:
    """Return every species with its shares, the most similar species, and its page."""
    near = rows_by(results.table("relatives"), "species")
    folders = results.tree("folders")
    rows = []
    for row in results.table("species axes"):
        name, folder = row["species"], folders.get(row["species"])
        inside = isinstance(folder, str) and folder not in ("", ".", "..") and not set("/\\") & set(folder)
        rows.append(
            {
                "name": name,
                "link": ["..", folder, f"{safe_name(name)}.html"] if inside else None,
                "records": number(row.get("records")),
                "shared": number(row.get("shared share")),
                "own": number(row.get("own share")),
                "places": [number(row.get(axis_name(k))) for k in range(min(CURVED, int(results.numbers["rank"])))],
                "relatives": [(one["relative"], number(one["correlation"])) for one in near.get(name, [])[:RELATIVES]],
            }
        )
    return {"rows": rows, "axes": [f"Axis {k + 1}" for k in range(min(CURVED, int(results.numbers["rank"])))]}


FIT_WORDS = (
    "The loss is the mean over all records of −ln(density at the record, relative to the sites), plus the penalty on "
    "the axes. A gap of 0.0001 nats is negligible compared with the sampling error."
)


def draw_group_again(results: Results, paper: Paper) -> None:
    """Draw the biplot, the curves, the path of strengths, and the maps of the axes again."""
    from sdm.kinds.group.outputs import draw_axis_maps, draw_group

    draw_group(results, paper)
    if "colours" in results.files:
        model, axes = cast(GroupModel, results.model), sum(key.startswith("map of axis") for key in results.files)
        draw_axis_maps(results.folder, results.files, [axis_title(model, k) for k in range(axes)], paper)


PAGE = Page(
    lambda results: "group of species on shared axes",
    group_figures,
    (
        PageSection("map", "Maps", axis_map_section, "Maps of the axes", TEMPLATES / "map.html", lead=True),
        PageSection("axes", "Axes", axes_section, "Shared axes", TEMPLATES / "axes.html"),
        PageSection("path", "Strength of the penalty", strength_section, "Number of axes", TEMPLATES / "path.html"),
        PageSection("curves", "Curves", axis_curves, "Axes and variables", TEMPLATES / "curves.html"),
        PageSection("biplot", "Biplot", biplot_section, "Biplot of species and axes", TEMPLATES / "biplot.html"),
        PageSection("each", "Species", species_section, template=TEMPLATES / "each.html"),
        sections.fit_section(FIT_WORDS),
        sections.SETTINGS,
    ),
    (stored_warnings, convergence),
    draw_group_again,
)
