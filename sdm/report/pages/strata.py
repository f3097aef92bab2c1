"""The page of a path over strata: the density of the chosen tolerance, and the whole path as pictures."""

from sdm.report.pages import sections, words
from sdm.report.pages.frame import Context, Page, Section
from sdm.report.pages.words import figure, whole
from sdm.report.results import Results

PICTURES = {
    "validation picture": "Held-out log loss along the path, with the two choices",
    "shares picture": "Share of each stratum against the tolerance, from the prior to what was observed",
    "mu picture": "μ(ν) with its breakpoints",
}


def head(results: Results) -> Context:
    """Return the title of the page, and of what it is."""
    return {
        "title": f"{results.title} – path over strata",
        "heading": results.title,
        "subtitle": f"Path over strata · {words.algorithm(results)}",
    }


def figures(results: Results) -> Context:
    """Return the main figures."""
    found = results.tree("strata")
    tiles = [
        ("Training records", whole(results.numbers.get("training_presences")), f"prior: {found.get('prior')}"),
        ("Strata", whole(found.get("strata")), f"{whole(found.get('strata_with_records'))} with records"),
        ("Segments of the path", whole(found.get("segments")), str(results.numbers.get("status"))),
        ("Tolerance", figure(found.get("tolerance")), f"choice: {found.get('choice')}"),
        ("Folds", whole(found.get("folds")), str(found.get("method"))),
    ]
    return {"tiles": tiles}


def strata_map(results: Results) -> Context:
    """Return the map of the density, and the pictures of the path."""
    text = f"Map of the density of {results.title} relative to area, with its records as dots"
    return sections.map_section(results, text=text)


def path(results: Results) -> Context | None:
    """Return the pictures of the path."""
    known = [(text, sections.image(results, key)) for key, text in PICTURES.items()]
    maps = [(text, picture) for text, picture in known if picture is not None]
    return {"pictures": maps} if maps else None


STRATA = Page(
    head,
    (
        Section("figures", "", figures),
        Section("map", "Map", strata_map),
        Section("path", "Path", path, "The path of the tolerance", "species/path"),
        sections.RECORDS,
        sections.SETTINGS,
    ),
)
