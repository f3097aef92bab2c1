"""The page of a model of counts."""

from pathlib import Path

from counts.words import few_counts
from sdm.report.pages import sections
from sdm.report.pages.cautions import convergence, stored_warnings, untested
from sdm.report.pages.frame import Context, KeyFigure, Page, PageSection
from sdm.report.pages.words import figure, integer
from sdm.report.results import Results


class CountResults(Results):
    @property
    def of_species(self) -> bool:
        return True

    @property
    def scale(self) -> str:
        return "count"

    @property
    def algorithm(self) -> str:
        return "Poisson regression"


RESULTS = CountResults

TEMPLATE = Path(__file__).parent / "templates" / "deviance.html"


def count_figures(results: Results) -> list[KeyFigure]:
    return [KeyFigure("Sites", integer(results.numbers["sites"]))]


def deviance_section(results: Results) -> Context:
    return {"deviance": figure(results.numbers["deviance"])}


PAGE = Page(
    lambda results: "model of counts",
    count_figures,
    (
        sections.map_section(lambda results: "Values are numbers of animals."),
        PageSection(
            "deviance", "Deviance", deviance_section, template=Path(__file__).parent / "templates/deviance.html"
        ),
        sections.RECORDS,
        sections.SETTINGS,
    ),
    (stored_warnings, convergence, untested, few_counts),
)
