"""The page of a species: its figures, sections and warnings."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from markupsafe import Markup

from sdm.report.charts import BarChart, Bars, omission_chart
from sdm.report.pages import sections
from sdm.report.pages.cautions import Caution, collinear, model_cautions
from sdm.report.pages.frame import Context, KeyFigure, Page, PageSection
from sdm.report.pages.projection import FITTED
from sdm.report.pages.sections import curves
from sdm.report.pages.svg import svg
from sdm.report.pages.words import (
    feature_families,
    figure,
    integer,
    order_text,
    penalty_text,
    percent,
    sampling,
    suitability_text,
    treated,
)
from sdm.report.results import REPLICATED, Results, number, rows_of
from sdm.types import Numbers

KIND = "species"  # value of `kind` in the file of numbers


class SpeciesResults(Results):
    """The results of one species: presences compared with a background."""

    of_species: ClassVar[bool] = True
    record: ClassVar[str] = "record"
    presence_only: ClassVar[bool] = True
    data_type: ClassVar[str] = "presence only"
    data_text: ClassVar[str] = "Presence-only occurrence records, with a background sample of the region."

    @property
    def survey(self) -> Numbers:
        """Measures at the sites of a survey."""
        return self.tree("presence_absence")

    @property
    def algorithm(self) -> str:
        """The algorithm in a sentence."""
        n, option, shared = self.numbers, self.option, self.tree("shared")
        order = order_text(option("fit.entropy"))
        if shared:
            start = "Maximum"
            if option("fit.model") == "ensemble":
                start = "Mean of a committee of models of this species and of maximum"
            others = shared["species"] - (number(shared.get("records")) is not None)
            strength = figure(shared.get("strength"), 3)
            axes = f"axes shared with {integer(others)} other species (nuclear norm, strength {strength})"
            return f"{start} entropy on {axes}."
        if option("fit.model") == "structural":
            return (
                f"Structural maximum entropy (StructMaxent{order}) with families {option('fit.families')}. The penalty "
                "of trees and monomials is λ·B + β, where B is the complexity of the family "
                f"({self.tree('structure').get('penalties', '')})."
            )
        classes = str(n.get("classes") or "")
        if n.get("software"):
            families = feature_families(classes)
            fitted = f"fitted by {n['software']}; the model file does not contain the settings"
            return f"Maximum entropy (MaxEnt) with {families}, {fitted}."
        if set(classes) & set(",:*"):
            features = f"features {classes.replace(',', ', ')}"
        else:
            features = feature_families(classes) or "the features listed under settings"
        multiplier = figure(option("fit.multiplier") or 1)
        penalty = penalty_text(option("fit.regularization"))
        return f"Maximum entropy (MaxEnt{order}) with {features} and {penalty}, regularisation multiplier {multiplier}."

    @property
    def metadata(self) -> Numbers:
        """Entities of rangeModelMetadata of Maxent models."""
        n, option = self.numbers, self.option
        classes = str(n.get("classes") or "")
        settings: Numbers = {"featureSet": classes.upper() if classes.isalpha() else n.get("classes")}
        if not n.get("software"):  # settings of other programs are unknown
            by_number = "by the number of presences, as in Java Maxent"
            bias = "; ".join(f"{name}: {text}" for name, text in sampling(self))
            settings |= {
                "featureRule": by_number if option("fit.features") == "auto" else None,
                "regularizationMultiplierSet": option("fit.multiplier") or 1,
                "convergenceThresholdSet": option("fit.tolerance"),
                "samplingBiasRule": bias if treated(self) else "none",
                "clamping": option("predict.extrapolation") == "clamp",
                "notes": self.tree("certificate").get("text"),
            }
        maxent = {f"model$algorithm$maxent${name}": value for name, value in settings.items()}
        return {"model$algorithms": f"maxent ({self.program})", "model$speciesCount": 1, **maxent}

    def presence_rows(self, count: int) -> Sequence[int]:
        """Return the rows of the presences: the last rows of the training environment."""
        presences = int(number(self.numbers.get("training_presences")) or 0)
        return range(count - presences, count)

    def map_text(self, label: str) -> str:
        """Return the text alternative of the map."""
        return suitability_text(self.title)


RESULTS = SpeciesResults


TEMPLATES = Path(__file__).parent / "templates"
FEW_RECORDS = 15  # Maxent uses no hinge features below it
MOST_RULES = 40
MOST_PAIRS = 15
MOST_AXES = 10


def species_figures(results: Results) -> list[KeyFigure]:
    """Return the figures: records, accuracy, and predicted area; then the others."""
    n, folds_tree = results.numbers, results.tree("cross_validation")
    mean = folds_tree["mean"] if isinstance(folds_tree.get("mean"), dict) else {}
    folds = len(rows_of(folds_tree.get("rows") or folds_tree.get("folds")))
    loss = f"{figure(n.get('log_loss_train'))} nats" if number(n.get("log_loss_train")) is not None else "infinite"
    scores = [KeyFigure("Training AUC", figure(n.get("auc_train"), 3), f"log loss {loss}")]
    if folds and "auc.val.avg" in mean:
        drawn = folds_tree.get("method") in REPLICATED
        title, parts = ("AUC of replicates", "replicates") if drawn else ("Cross-validated AUC", "folds")
        scores.insert(0, KeyFigure(title, figure(mean["auc.val.avg"], 3), f"{folds} {parts}"))
    if results.tested:
        test_text = f"± {figure(n.get('auc_test_deviation'), 2)}, {integer(n.get('test_presences'))} records"
        scores.insert(0, KeyFigure("Test AUC", figure(n.get("auc_test"), 3), test_text))
    fitness = _fitness(results, mean if folds else {})
    background = f"{integer(n.get('background_points'))} background points"
    records = KeyFigure("Training records", integer(n.get("training_presences")), background)
    covers, status = results.tree("certificate").get("covers", "model"), n.get("status") or "status unknown"
    gain = f"unregularised {figure(n.get('gain'), 3)}" if number(n.get("gain")) is not None else "nats"
    return [
        records,
        scores[0],
        *fitness[:1],
        *_area(results),
        *scores[1:],
        *fitness[1:],
        KeyFigure("Regularised gain", figure(n.get("regularized_gain"), 3), gain),
        KeyFigure("Features with weight", integer(n.get("features_with_weight")), f"of {integer(n.get('features'))}"),
        KeyFigure("Duality gap", figure(n.get("gap"), 2), f"nats, of the {covers}, {status}"),
    ]


def _fitness(results: Results, mean: Context) -> list[KeyFigure]:
    """Return the measures of accuracy other than AUC, those from independent records first."""
    n, figures = results.numbers, []
    if (index := number(mean.get("cbi.val.avg"))) is not None:
        figures.append(KeyFigure("Boyce index", figure(index, 3), "held-out folds; 0 is random, 1 is best"))
    if results.tested:
        missed = number((_threshold(results) or {}).get("test_omission"))
        if missed is not None:
            figures.append(KeyFigure("Test omission", percent(missed), "test records below the threshold"))
        finite = number(n.get("log_loss_test")) is not None
        loss_text = f"nats; gain {figure(n.get('test_gain'), 3)}" if finite else "records where the density is zero"
        figures.append(KeyFigure("Test log loss", figure(n.get("log_loss_test")) if finite else "∞", loss_text))
    return figures


def _area(results: Results) -> list[KeyFigure]:
    """Return the predicted area: in km² if the run measured it, and as a share."""
    stored_range, row = results.tree("range"), _threshold(results)
    areas = []
    if stored_range:
        patches = f"{integer(stored_range.get('patches'))} patches"
        areas.append(KeyFigure("Range", f"{integer(stored_range.get('area_km2'))} km²", patches))
    if row is not None and number(row.get("area")) is not None:
        small = f"of the background, threshold {figure(row.get(results.scale), 3)}"
        areas.append(KeyFigure("Predicted area", percent(row.get("area")), small))
    return areas


def _threshold(results: Results) -> Context | None:
    """Return the threshold of the presence/absence map, else the initial one of the live map."""
    rows = results.tree("thresholds")
    row = rows.get(str(results.option("predict.threshold"))) or rows.get("maxsss")
    return row if isinstance(row, dict) else None


def omission_section(results: Results) -> Context | None:
    """Draw omission and predicted area against the cumulative threshold, as in Java Maxent."""
    rows = results.table("omission")
    if not rows:
        return None
    return {"chart": svg(omission_chart(rows))}


def structure(results: Results) -> Context | None:
    """Return families, rules, interactions and penalties of a structural model."""
    stored = results.tree("structure")
    if not stored:
        return None
    families, pairs = rows_of(stored.get("families")), rows_of(stored.get("interactions"))
    shown = pairs[:MOST_PAIRS]
    strengths = [(f"{row.get('first')} × {row.get('second')}", number(row.get("strength"))) for row in shown]
    gains = [(str(row.get("family")), number(row.get("gain"))) for row in families]
    rules = results.table("rules")
    tried = sorted(results.table("prices"), key=lambda row: number(row.get("held-out loss")) or math.inf)
    return {
        **stored,
        "families": families,
        "family_chart": _bars(gains, "Loss of gain without the family (nats)"),
        "pair_chart": _bars(strengths, "Interaction (nats)"),
        "pairs_left_out": max(0, len(pairs) - MOST_PAIRS),
        "rules": rules[:MOST_RULES],
        "rules_left_out": max(0, len(rules) - MOST_RULES),
        "prices": tried[:12],
    }


def shared_section(results: Results) -> Context | None:
    """Return the shared part of the response of a species, and the most similar species."""
    stored = results.tree("shared")
    if not stored:
        return None
    pairs = [(str(one[0]), number(one[1])) for one in stored.get("relatives") or [] if isinstance(one, list)]
    places = list(zip(stored.get("explained") or [], stored.get("places") or []))
    records = number(stored.get("records"))
    placed = records is None  # on the axes of other species
    return {
        "s": stored,
        "placed": placed,
        "records": number(results.numbers.get("training_presences")) if placed else records,
        "others": int(stored["species"]) - (0 if placed else 1),
        "all_shared": number(stored.get("own")) == 0.0,
        "relatives": pairs,
        "places": places[:MOST_AXES],
        "left_out": max(0, len(places) - MOST_AXES),
    }


def _bars(pairs: Sequence[tuple[str, float | None]], label: str) -> Markup | None:
    if not pairs:
        return None
    names, values = zip(*pairs)
    return svg(BarChart(label, label, names, [Bars(label, values)]))


def explained_curves(results: Results) -> Context | None:
    """Return the response curves with their explanation."""
    drawn = curves(results)
    if drawn is None:
        return None
    return {**drawn, "explanation": SHARED_CURVE_WORDS if results.tree("shared") else CURVE_WORDS}


def species_skill(results: Results) -> Iterator[Caution]:
    """Warn of a model that predicts worse than the null model."""
    n, folds = results.numbers, results.tree("cross_validation")
    mean: Numbers = folds["mean"] if isinstance(folds.get("mean"), dict) else {}
    gains = {"test records": number(n.get("test_gain")), "held-out folds": number(mean.get("gain.val.avg"))}
    for data, gain in gains.items():
        if gain is not None and gain <= 0:
            yield Caution(
                f"On {data} the model predicts worse than the null model, which has the same value everywhere (gain "
                f"{figure(gain, 3)} nats).",
                "validation",
            )


def few_records(results: Results) -> Iterator[Caution]:
    """Warn of few training records."""
    records = number(results.numbers.get("training_presences"))
    if records is not None and records < FEW_RECORDS:
        rest = ", and the model relies mostly on the other species" if results.tree("shared") else ""
        yield Caution(
            f"The model has only {records:.0f} training record{'' if records == 1 else 's'}: with fewer than "
            f"{FEW_RECORDS}, a few additional records may change the map{rest}.",
            "records",
        )


def species_map_words(results: Results) -> str:
    """Explain the values of the map."""
    return CLOGLOG_WORDS if results.scale == "cloglog" else ""


CLOGLOG_WORDS = (
    "Cloglog values range from 0 to 1 and are an index of suitability. They are probabilities of presence only if one "
    "individual is expected in the cell of a typical record, which presence-only records cannot test."
)
_START = "response to a variable, with the others at their mean over the records."
_RANGE = "The shaded range is the training range; beyond it the curve is extrapolated."
SHARED_CURVE_WORDS = f"R{_START[1:]} {_RANGE}"
CURVE_WORDS = (
    f"Solid: {_START} Dashed: response of a model of that variable alone. If variables are collinear, the curves "
    f"differ, and neither is the species response to that variable alone. {_RANGE}"
)
MEASURE_WORDS = (
    "AUC: probability that a held-out record has a higher prediction than a background point. Boyce index: −1 to 1. "
    "Omission: share of held-out records below the minimum or the 10th percentile training presence (10p; expected: "
    "about 0.1). Partial ROC ratio: 1 for a random prediction."
)
CALIBRATION_WORDS = (
    "Presence-only records do not determine the prevalence of the species, so the curve may lie above or below the "
    "diagonal; it should increase."
)
FIT_WORDS = (
    "The gain is the mean logarithm of the density at the training records relative to a uniform density over the "
    "background. A gain of 1 is a ratio of e ≈ 2.7. The log loss is ln(number of points) − gain; smaller is better. "
    "Compare only models with the same background by it."
)
PAGE = Page(
    lambda results: "species distribution model",
    species_figures,
    (
        sections.map_section(species_map_words),
        PageSection("curves", "Response curves", explained_curves),
        sections.importance_section("decrease of the training AUC"),
        PageSection("shared", "Shared axes", shared_section, "Axes shared with the group", TEMPLATES / "shared.html"),
        PageSection(
            "structure",
            "Structure",
            structure,
            "Structure: families, rules, interactions",
            TEMPLATES / "structure.html",
        ),
        sections.VARIABLES,
        sections.TUNING,
        sections.validation_section(MEASURE_WORDS),
        sections.ROC,
        PageSection(
            "omission",
            "Omission and area",
            omission_section,
            "Omission and predicted area",
            TEMPLATES / "omission.html",
            True,
        ),
        sections.survey_section(CALIBRATION_WORDS),
        sections.null_section("random background points as records"),
        sections.threshold_section(),
        FITTED,
        sections.RECORDS,
        sections.fit_section(FIT_WORDS),
        sections.SETTINGS,
        sections.ODMAP,
    ),
    (*model_cautions(species_skill, few_records), collinear),
)
