"""The page of a species: what it shows beside the sections that all kinds share."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from sdm.report.charts import BarChart, Bars, omission_chart
from sdm.report.pages import sections
from sdm.report.pages.drawing.curves import curves
from sdm.report.pages.drawing.svg import svg
from sdm.report.pages.frame import Context, KeyFigure, Page, PageSection
from sdm.report.pages.projection import FITTED
from sdm.report.pages.words import figure, percent, whole
from sdm.report.results import REPLICATED, Results, number, rows_of

MOST_RULES = 40
MOST_PAIRS = 15
MOST_AXES = 10


def species_figures(results: Results) -> list[KeyFigure]:
    """Return the figures: records, how well it predicts, and how large the predicted area is; then the others."""
    n, found = results.numbers, results.tree("cross_validation")
    mean = found["mean"] if isinstance(found.get("mean"), dict) else {}
    folds = len(rows_of(found.get("rows") or found.get("folds")))
    loss = f"{figure(n.get('log_loss_train'))} nats" if number(n.get("log_loss_train")) is not None else "infinite"
    scores = [KeyFigure("Training AUC", figure(n.get("auc_train"), 3), f"log loss {loss}")]
    if folds and "auc.val.avg" in mean:
        drawn = found.get("method") in REPLICATED
        title, parts = ("AUC of replicates", "replicates") if drawn else ("Cross-validated AUC", "folds")
        scores.insert(0, KeyFigure(title, figure(mean["auc.val.avg"], 3), f"{folds} {parts}"))
    if results.tested:
        told = f"± {figure(n.get('auc_test_deviation'), 2)}, {whole(n.get('test_presences'))} records"
        scores.insert(0, KeyFigure("Test AUC", figure(n.get("auc_test"), 3), told))
    fitness = _fitness(results, mean if folds else {})
    background = f"{whole(n.get('background_points'))} background points"
    records = KeyFigure("Training records", whole(n.get("training_presences")), background)
    members = number(n.get("members")) is not None
    group = number(results.tree("shared").get("gap")) is not None and not members
    proved = f"{'nats per record of the group' if group else 'nats'}, {n.get('status') or 'status unknown'}"
    gain = f"unregularised {figure(n.get('gain'), 3)}" if number(n.get("gain")) is not None else "nats"
    return [
        records,
        scores[0],
        *fitness[:1],
        *_area(results),
        *scores[1:],
        *fitness[1:],
        KeyFigure("Regularised gain", figure(n.get("regularized_gain"), 3), gain),
        KeyFigure("Features in use", whole(n.get("features_with_weight")), f"of {whole(n.get('features'))}"),
        KeyFigure("Proved gap", figure(n.get("gap"), 2), proved),
    ]


def _fitness(results: Results, mean: Context) -> list[KeyFigure]:
    """Return the measures of prediction beside AUC, those on records that the model has not seen first."""
    n, found = results.numbers, []
    if (index := number(mean.get("cbi.val.avg"))) is not None:
        found.append(KeyFigure("Boyce index", figure(index, 3), "held-out folds; 0 is by chance, 1 is best"))
    if results.tested:
        missed = number((_threshold(results) or {}).get("test_omission"))
        if missed is not None:
            found.append(KeyFigure("Test omission", percent(missed), "test records below the threshold"))
        known = number(n.get("log_loss_test")) is not None
        told = f"nats; gain {figure(n.get('test_gain'), 3)}" if known else "records where the density is zero"
        found.append(KeyFigure("Test log loss", figure(n.get("log_loss_test")) if known else "∞", told))
    return found


def _area(results: Results) -> list[KeyFigure]:
    """Return how large the predicted area is: in km² where the run measured it, else as a share."""
    found, row = results.tree("range"), _threshold(results)
    areas = []
    if found:
        patches = f"{whole(found.get('patches'))} patches"
        areas.append(KeyFigure("Range", f"{whole(found.get('area_km2'))} km²", patches))
    if row is not None and number(row.get("area")) is not None:
        told = f"of the background, threshold {figure(row.get(results.scale), 3)}"
        areas.append(KeyFigure("Predicted area", percent(row.get("area")), told))
    return areas


def _threshold(results: Results) -> Context | None:
    """Return the threshold of the map of presence and absence, or else the one that the live map begins with."""
    rows = results.tree("thresholds")
    row = rows.get(str(results.option("predict.threshold"))) or rows.get("maxsss")
    return row if isinstance(row, dict) else None


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
    species_figures,
    (
        sections.MAP,
        PageSection("curves", "Response curves", curves),
        sections.IMPORTANCE,
        PageSection("shared", "Shared axes", shared_section, "What it shares with its group", "species/shared"),
        PageSection(
            "structure", "Structure", structure, "Structure: families, rules, interactions", "species/structure"
        ),
        sections.VARIABLES,
        sections.TUNING,
        sections.VALIDATION,
        sections.ROC,
        PageSection(
            "omission", "Omission and area", omission_section, "Omission and predicted area", "species/omission", True
        ),
        sections.SURVEY,
        sections.NULL,
        sections.THRESHOLDS,
        FITTED,
        sections.RECORDS,
        sections.FIT,
        sections.SETTINGS,
        sections.ODMAP,
    ),
)
