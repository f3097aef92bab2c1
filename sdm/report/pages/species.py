"""The page of a species: what it shows beside the sections that all kinds share."""

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from sdm.report.charts import BarChart, Bars, Line, LineChart
from sdm.report.pages import sections, words
from sdm.report.pages.frame import Context, Page, Section
from sdm.report.pages.svg import svg
from sdm.report.pages.words import figure, whole
from sdm.report.results import Results, column, number, rows_of

MOST_RULES = 40
MOST_PAIRS = 15


def head(results: Results) -> Context:
    """Return the title of the page, and of what it is."""
    return {
        "title": f"{results.title} – species distribution model",
        "heading": results.title,
        "subtitle": f"Species distribution model · {words.algorithm(results)}",
    }


def figures(results: Results) -> Context:
    """Return the main figures, and whether the model was tested."""
    n = results.numbers
    tested, folds = sections.tested(results), sections.validation(results)
    loss = f"{figure(n['log_loss_train'])} nats" if number(n.get("log_loss_train")) is not None else "infinite"
    tiles: list[tuple[str, Any, str]] = [
        (
            "Training records",
            whole(n.get("training_presences")),
            f"{whole(n.get('background_points'))} background points",
        ),
        ("Training AUC", figure(n.get("auc_train"), 3), f"log loss {loss}"),
    ]
    if tested:
        spread = f"± {figure(n.get('auc_test_deviation'), 2)}, {whole(n.get('test_presences'))} records"
        tiles.append(("Test AUC", figure(n["auc_test"], 3), spread))
        if number(n.get("log_loss_test")) is not None:
            tiles.append(("Test log loss", figure(n["log_loss_test"]), f"nats; gain {figure(n.get('test_gain'), 3)}"))
        else:
            tiles.append(("Test log loss", "∞", "records where the density is zero"))
    if folds:
        tiles += [
            ("Cross-validated AUC", figure(row["mean"], 3), f"{len(folds['rows'])} folds")
            for row in folds["averages"]
            if row["name"] in ("auc.val", "auc_test")
        ]
    gain = number(n.get("gain"))
    beside = "nats" if gain is None else f"unregularised {figure(gain, 3)}"
    tiles.append(("Regularised gain", figure(n.get("regularized_gain"), 3), beside))
    tiles.append(("Features in use", whole(n.get("features_with_weight")), f"of {whole(n.get('features'))}"))
    if found := results.tree("range"):
        tiles.append(("Range", f"{whole(found.get('area_km2'))} km²", f"{whole(found.get('patches'))} patches"))
    tiles.append(("Proved gap", figure(n.get("gap"), 2), f"nats, {n.get('status') or 'status unknown'}"))
    measured = tested or folds or results.tree("tuning").get("folds") or results.tree("presence_absence")
    return {"tiles": tiles, "untested": "" if measured else "records"}


def fit(results: Results) -> Context:
    """Return the certificate."""
    explain = (
        "Gain is how much more likely a training record is under the model than under a uniform distribution over the "
        "background, as the mean of logarithms: a gain of 1 means e ≈ 2.7 times. Log loss is the same the other way "
        "round, ln(number of points) − gain: less is better, and models fitted on the same background can be compared "
        "by it."
    )
    good = results.numbers.get("status") == "converged"
    return {"good": good, "texts": words.certificate(results), "explain": explain}


def omission(results: Results) -> Context | None:
    """Draw omission and predicted area against the cumulative threshold, as Java Maxent does."""
    rows = results.table("omission")
    if not rows:
        return None
    level = column(rows, "Cumulative threshold")
    lines = [
        Line("fraction of background predicted", level, column(rows, "Fractional area"), 1),
        Line("omission on training records", level, column(rows, "Training omission"), 0),
    ]
    if "Test omission" in rows[0]:
        lines.append(Line("omission on test records", level, column(rows, "Test omission"), 2, 1))
    lines.append(Line("predicted omission", [0, 100], [0, 1], 9, 2))
    title = "Omission and predicted area against the cumulative threshold"
    explain = (
        "Omission is the share of records that a threshold leaves out. If the records are independent, the omission of "
        "test records is close to the predicted omission, the straight line, by the definition of the cumulative "
        "scale. Test records well above it are predicted worse than the model believes; well below it, they are often "
        "too close to training records to be independent."
    )
    chart = LineChart(title, "Cumulative threshold (%)", "Fraction", lines, (0, 100), (0, 1))
    return {"chart": svg(chart), "explain": explain}


def species_map(results: Results) -> Context:
    """Return the map with its records."""
    text = (
        f"Map of the predicted suitability of {results.title}, from low (dark blue) to high (yellow), with its records "
        "as dots"
    )
    explain = (
        "Cloglog values run from 0 to 1. They are an index of suitability: they would be probabilities of presence "
        "only if the species' overall abundance were what the scale assumes, which presence-only records cannot tell. "
    )
    return sections.map_section(results, text=text, explain=explain if results.scale == "cloglog" else "")


def structure(results: Results) -> Context | None:
    """Return families, rules, interactions and penalties of a structural model."""
    found = results.tree("structure")
    if not found:
        return None
    families, pairs = rows_of(found.get("families")), rows_of(found.get("interactions"))
    strengths = [
        (f"{row.get('first')} × {row.get('second')}", number(row.get("strength"))) for row in pairs[:MOST_PAIRS]
    ]
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


def _bars(pairs: Sequence[tuple[str, float | None]], label: str) -> Markup | None:
    if not pairs:
        return None
    names, values = zip(*pairs)
    return svg(BarChart(label, label, names, [Bars(label, values)]))


SPECIES = Page(
    head,
    (
        Section("figures", "", figures),
        Section("fit", sections.FIT, fit),
        Section("omission", "Omission and area", omission, "Omission and predicted area", "chart", side=True),
        sections.ROC,
        sections.THRESHOLDS,
        Section("map", "Map", species_map),
        Section("curves", "Response curves", sections.curves),
        sections.IMPORTANCE,
        Section("structure", "Structure", structure, "Structure: families, rules, interactions", "species/structure"),
        sections.TUNING,
        sections.VALIDATION,
        sections.SURVEY,
        sections.NULL,
        sections.RECORDS,
        sections.SETTINGS,
        sections.ODMAP,
    ),
)
