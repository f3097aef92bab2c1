"""The page of a projection: change in every scenario, extrapolation, and a panel to compare maps."""

from typing import ClassVar

from sdm.report.pages import sections, words
from sdm.report.pages.cautions import outside_scenarios, stored_warnings
from sdm.report.pages.frame import KeyFigure, Page, PageSection
from sdm.report.pages.maps.scenario_panel import signed
from sdm.report.pages.projection import (
    PANEL,
    across_section,
    change_section,
    extrapolation_section,
    mapping_section,
    notice_section,
    panel_section,
    scenario_table,
    shift_section,
    stored_projection,
    variance_section,
)
from sdm.report.paper import Paper
from sdm.report.projection import has_species_titles, mean_change, most_outside, worst_change
from sdm.report.results import Results, number


class ProjectionResults(Results):
    """The results of a projection."""

    has_seed: ClassVar[bool] = False

    @property
    def of_species(self) -> bool:
        """Whether the title is the name of a species."""
        return has_species_titles(self.numbers)

    @property
    def scale(self) -> str:
        """The scale of its maps."""
        return str(self.numbers.get("scale") or self.option("predict.scale") or "cloglog")

    @property
    def algorithm(self) -> str:
        """The values of the maps, and the threshold of presence."""
        n = self.numbers
        rule = f"; threshold of presence: {n['rule']}" if n.get("rule") else ""
        return f"{_SCALES.get(str(n.get('scale')), n.get('scale'))} of a fitted model on the layers of scenarios{rule}"


_SCALES = {
    "cloglog": "Suitability (cloglog)",
    "logistic": "Suitability (logistic)",
    "raw": "Raw density",
    "cumulative": "Cumulative value",
    "probability": "Probability",
}


RESULTS = ProjectionResults


def projection_subject(results: Results) -> str:
    """Return the subject of the page."""
    count = len(stored_projection(results).scenarios)
    return f"projection to {count} scenario{'' if count == 1 else 's'}"


def projection_figures(results: Results) -> list[KeyFigure]:
    """Return the figures: suitable area in the reference, its change, and extrapolation."""
    stored = stored_projection(results)
    cases, reference, count = stored.scenarios, stored.reference, len(stored.scenarios)
    compared = f"compared with {reference.title}" if reference else "without a reference"
    figures = [KeyFigure("Scenarios", words.integer(count), compared)]
    if reference and reference.km2 is not None:
        rule = reference.tree("rules").get(str(stored.rule))
        threshold = number(rule.get("cutoff")) if isinstance(rule, dict) else None
        small = "" if threshold is None else f"threshold {words.figure(threshold, 3)} ({stored.rule})"
        figures.append(KeyFigure("Suitable in the reference", f"{words.integer(reference.km2)} km²", small))
    changes = [value for case in cases if (value := case.net_percent) is not None]
    if changes:
        ends = f"mean; from {signed(worst_change(cases))} to {signed(max(changes))}" if count > 1 else ""
        figures.append(KeyFigure("Change of the suitable area", signed(mean_change(cases)), ends))
    outside = [(value, case.title) for case in cases if (value := case.outside) is not None]
    if outside:
        worst = f"of the cells{f', at most ({max(outside)[1]})' if count > 1 else ''}"
        figures.append(KeyFigure("Outside the training range", words.percent(most_outside(cases)), worst))
    shares = [number(case.tree("suitable_outside").get("share")) for case in cases]
    finite = [share for share in shares if share is not None]
    if finite:
        most = "at most" if count > 1 else ""
        figures.append(KeyFigure("Suitable area outside it", words.percent(max(finite)), most))
    if changes and results.numbers.get("dispersal"):
        figures.append(KeyFigure("Dispersal", "", str(results.numbers["dispersal"])))
    return figures


_OWN = (
    ("table", "Scenarios", scenario_table, "All scenarios"),
    ("outside", "Extrapolation", extrapolation_section, "Extrapolation by variable"),
    ("change", "Change", change_section, "Change of the suitable area"),
    ("across", "Agreement", across_section, "Agreement of scenarios"),
    ("variance", "Variance", variance_section, "Sources of variance"),
    ("shift", "Variables", shift_section, "Change of the variables"),
    ("mapping", "Layers", mapping_section, "Files of the variables"),
    ("notices", "Notices", notice_section, ""),
)


def draw_projection_again(results: Results, paper: Paper) -> None:
    """Draw the maps of all scenarios and of change again."""
    from sdm.report.figures.projection.shifts import draw_projection

    draw_projection(results.folder, results.numbers, results.folder, results.name, paper)


PAGE = Page(
    projection_subject,
    projection_figures,
    [
        PageSection(
            "maps", "Maps", panel_section, "Maps of the scenarios", "projection/lead", lead=True, scripts=PANEL
        ),
        *(PageSection(name, title, fill, heading, f"projection/{name}") for name, title, fill, heading in _OWN),
        sections.SETTINGS,
    ],
    (stored_warnings, lambda results: outside_scenarios(results, "outside", "maps")),
    draw_projection_again,
)
