"""Which page a kind of model has; pages of results are written here, whatever their kind."""

from pathlib import Path

from sdm.errors import DataError
from sdm.files import write_text
from sdm.report.group.page import GROUP_PAGE
from sdm.report.pages.classes import CLASSES
from sdm.report.pages.community import COMMUNITY
from sdm.report.pages.frame import Page, page_text
from sdm.report.pages.projection import PROJECTION
from sdm.report.pages.species import SPECIES
from sdm.report.pages.strata import STRATA
from sdm.report.results import Results

PAGES: dict[str, Page] = {
    "species": SPECIES,
    "classes": CLASSES,
    "community": COMMUNITY,
    "group": GROUP_PAGE,
    "strata": STRATA,
    "projection": PROJECTION,
}


def make_page(results: Results) -> str:
    """Return the page of a model."""
    if results.kind not in PAGES:
        file, known = f"{results.folder / results.name}.json", ", ".join(PAGES)
        raise DataError(f"{file} is of kind '{results.kind}': expected one of {known}; update sdm")
    return page_text(results, PAGES[results.kind])


def write_page(results: Results) -> Path:
    """Write the page of a model into its folder; one that is there already is made anew."""
    return write_text(results.page, make_page(results), overwrite=True)
