"""The page of a species: what it shows beside the sections that all kinds share."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from sdm.report.charts import BarChart, Bars, omission_chart
from sdm.report.pages import sections
from sdm.report.pages.frame import Context, Page, PageSection
from sdm.report.pages.projection import FITTED
from sdm.report.pages.svg import svg
from sdm.report.results import Results, number, rows_of

MOST_RULES = 40
MOST_PAIRS = 15
MOST_AXES = 10


def species_figures(results: Results) -> Context:
    """Return the main figures that need more than a look."""
    found = results.tree("cross_validation")
    mean = found["mean"] if isinstance(found.get("mean"), dict) else {}
    folds = rows_of(found.get("rows") or found.get("folds"))
    return {"averages": mean if folds else {}, "folds": len(folds), "range": results.tree("range")}


def omission_section(results: Results) -> Context | None:
    """Draw omission and predicted area against the cumulative threshold, as Java Maxent does."""
    rows = results.table("omission")
    if not rows:
        return None
    return {"chart": svg(omission_chart(rows))}


def structure(results: Results) -> Context | None:
    """Return families, rules, interactions and penalties of a structural model."""
    found = results.tree("structure")
    if not found:
        return None
    families, pairs = rows_of(found.get("families")), rows_of(found.get("interactions"))
    shown = pairs[:MOST_PAIRS]
    strengths = [(f"{row.get('first')} × {row.get('second')}", number(row.get("strength"))) for row in shown]
    gains = [(str(row.get("family")), number(row.get("gain"))) for row in families]
    rules = results.table("rules")
    tried = sorted(results.table("prices"), key=lambda row: number(row.get("held-out loss")) or math.inf)
    return {
        **found,
        "families": families,
        "family_chart": _bars(gains, "Gain lost without it (nats)"),
        "pair_chart": _bars(strengths, "Interaction (nats)"),
        "pairs_left_out": max(0, len(pairs) - MOST_PAIRS),
        "rules": rules[:MOST_RULES],
        "rules_left_out": max(0, len(rules) - MOST_RULES),
        "prices": tried[:12],
    }


def shared_section(results: Results) -> Context | None:
    """Return what a species shares with its group, and who is nearest to it."""
    found = results.tree("shared")
    if not found:
        return None
    pairs = [(str(one[0]), number(one[1])) for one in found.get("relatives") or [] if isinstance(one, list)]
    places = list(zip(found.get("explained") or [], found.get("places") or []))
    records = number(found.get("records"))
    placed = records is None  # on the axes of other species
    return {
        "s": found,
        "placed": placed,
        "records": number(results.numbers.get("training_presences")) if placed else records,
        "others": int(found["species"]) - (0 if placed else 1),
        "all_shared": number(found.get("own")) == 0.0,
        "relatives": pairs,
        "places": places[:MOST_AXES],
        "left_out": max(0, len(places) - MOST_AXES),
    }


def _bars(pairs: Sequence[tuple[str, float | None]], label: str) -> Markup | None:
    if not pairs:
        return None
    names, values = zip(*pairs)
    return svg(BarChart(label, label, names, [Bars(label, values)]))


SPECIES = Page(
    lambda results: "species distribution model",
    (
        PageSection("figures", "", species_figures, template="species/figures"),
        sections.FIT,
        PageSection(
            "omission", "Omission and area", omission_section, "Omission and predicted area", "species/omission", True
        ),
        sections.ROC,
        sections.THRESHOLDS,
        sections.MAP,
        FITTED,
        PageSection("curves", "Response curves", sections.curves),
        PageSection("shared", "Shared axes", shared_section, "What it shares with its group", "species/shared"),
        sections.IMPORTANCE,
        PageSection(
            "structure", "Structure", structure, "Structure: families, rules, interactions", "species/structure"
        ),
        sections.VARIABLES,
        sections.TUNING,
        sections.VALIDATION,
        sections.SURVEY,
        sections.NULL,
        sections.RECORDS,
        sections.SETTINGS,
        sections.ODMAP,
    ),
    plain=False,
)
