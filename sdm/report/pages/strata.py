"""The page of a path over strata: the density of the chosen tolerance, and the whole path as pictures."""

from sdm.report.pages import sections
from sdm.report.pages.frame import Context, Page, PageSection
from sdm.report.results import Results

PICTURES = {
    "validation picture": "Held-out log loss along the path, with the two choices",
    "shares picture": "Share of each stratum against the tolerance, from the prior to what was observed",
    "mu picture": "μ(ν) with its breakpoints",
}


def path_section(results: Results) -> Context | None:
    """Return the pictures of the path."""
    known = [(sections.image(results, key), text) for key, text in PICTURES.items()]
    return {"pictures": [pair for pair in known if pair[0]]} if any(picture for picture, _ in known) else None


STRATA = Page(
    lambda results: "path over strata",
    (
        PageSection("figures", "", lambda results: results.tree("strata"), template="species/strata"),
        sections.MAP,
        PageSection("path", "Path", path_section, "The path of the tolerance", "species/path"),
        sections.RECORDS,
        sections.SETTINGS,
    ),
    plain=False,
)
