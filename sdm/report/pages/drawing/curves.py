"""Response curves on a page: the most important variable first, with ribbons over replicates and rugs of the data."""

from sdm.report.pages.drawing.shown import shown_picture
from sdm.report.pages.drawing.svg import svg
from sdm.report.results import Results
from sdm.report.stored_charts import effect_charts, lone_band_charts, response_charts, rugs_of, share_charts
from sdm.storage.files import safe_name
from sdm.types import Numbers


def curves(results: Results) -> Numbers | None:
    """Return the response curves with the limits over replicates, the effects on the score, and the surfaces."""
    rugs, bands = rugs_of(results), results.table("bands")
    responses = response_charts(results, rugs)
    found = {
        "responses": [svg(chart) for chart in [*responses.values(), *lone_band_charts(results)]],
        "effects": [svg(chart) for chart in effect_charts(results, rugs).values()],
        "surfaces": _surfaces(results),
    }
    return {**found, "banded": bool(bands), "rugged": bool(rugs)} if any(found.values()) else None


def _surfaces(results: Results) -> list[dict[str, str]]:
    """Return the pictures of responses to two variables at a time."""
    pairs = dict.fromkeys((row.get("first", ""), row.get("second", "")) for row in results.table("surfaces"))
    found = [(pair, results.plot(f"surface_{safe_name(pair[0])}_{safe_name(pair[1])}.png")) for pair in pairs]
    return [
        {"picture": shown_picture(path), "text": f"Response to {first} and {second}"}
        for (first, second), path in found
        if path is not None
    ]


def class_curves(results: Results) -> Numbers | None:
    """Return the response curves of presence, or the probabilities of all classes in the colours of the classes."""
    found, shares = curves(results) or {}, share_charts(results)
    if found.get("responses") or not shares:
        return found or None
    legend = [(row.get("class", ""), row.get("colour", "")) for row in results.table("classes")]
    return {**found, "responses": [svg(chart) for chart in shares.values()], "legend": legend}
