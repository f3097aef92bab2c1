"""The page of a path over strata: the density at the selected tolerance, and figures of the path."""

from pathlib import Path
from typing import ClassVar

from sdm.report.pages import sections
from sdm.report.pages.cautions import outside_map, scenarios_of_model, stored_warnings
from sdm.report.pages.frame import Context, KeyFigure, Page, PageSection
from sdm.report.pages.words import figure, integer, suitability_text
from sdm.report.results import Results


class StrataResults(Results):
    """The results of a path over strata, for one species."""

    algorithm: ClassVar[str] = "Maximum entropy over strata, with the path over all tolerances"
    scale: ClassVar[str] = "density"
    of_species: ClassVar[bool] = True
    record: ClassVar[str] = "record"

    def map_text(self, label: str) -> str:
        """Return the text alternative of the map."""
        return suitability_text(self.title)


RESULTS = StrataResults


TEMPLATES = Path(__file__).parent / "templates"
PICTURES = {
    "validation picture": "Held-out log loss along the path, with both selected tolerances",
    "shares picture": "Share of each stratum against the tolerance, from the prior to the observed share",
    "mu picture": "μ(ν) with its breakpoints",
}


def strata_figures(results: Results) -> list[KeyFigure]:
    """Return the figures: records, strata, and the selected tolerance."""
    n, strata = results.numbers, results.tree("strata")
    return [
        KeyFigure("Training records", integer(n.get("training_presences")), f"prior: {strata.get('prior')}"),
        KeyFigure(
            "Strata", integer(strata.get("strata")), f"{integer(strata.get('strata_with_records'))} with records"
        ),
        KeyFigure("Tolerance", figure(strata.get("tolerance")), f"selected by: {strata.get('choice')}"),
        KeyFigure("Folds", integer(strata.get("folds")), str(strata.get("method") or "")),
        KeyFigure("Segments of the path", integer(strata.get("segments")), str(n.get("status") or "")),
    ]


def path_section(results: Results) -> Context | None:
    """Return the figures of the path."""
    pictures = [(sections.image(results, key), text) for key, text in PICTURES.items()]
    return {"pictures": [pair for pair in pictures if pair[0]]} if any(picture for picture, _ in pictures) else None


PAGE = Page(
    lambda results: "path over strata",
    strata_figures,
    (
        sections.map_section(lambda results: ""),
        PageSection("path", "Path", path_section, "Path over the tolerance", TEMPLATES / "path.html"),
        sections.RECORDS,
        sections.SETTINGS,
    ),
    (stored_warnings, outside_map, scenarios_of_model),
)
