"""Terminal text of models of one species: results of a run, evaluations, and model files."""

from sdm.data.place import Region
from sdm.kinds.task import ModelResult
from sdm.kinds.terminal import (
    BLOCKS,
    CERTIFICATE,
    FACT,
    NEEDS,
    RESULT,
    TUNED,
    Rows,
    assessed,
    record_lines,
    setting_text,
    terminal_lines,
    variable_lines,
    weight_lines,
)
from sdm.models.species import Model
from sdm.report.results import REPLICATED
from sdm.types import Numbers

OPENED_FIRST = ("page", "map", "picture", "plots", "path", "model", "numbers")
_MIXED = "; {%s:.4f} as a mixture with 0.1 %% background"  # finite where the model has exact zeros
_CHOSEN = (
    "multiplier {path[%s][multiplier]:.4g}, {path[%s][features]} features, "
    "held-out loss {path[%s][held_out_loss]:.4f} ± {path[%s][standard_error]:.4f}{fitted_%s}"
)

FITTED: Rows = [
    ("model", "{training_presences:,} presences, {background_points:,} background points; "
     "{features_with_weight:,} of {features:,} features ({classes}) with non-zero weight"),
    *CERTIFICATE,
    ("structure", "{families}; {structure[penalties]}"),
    *TUNED,
    ("path", "{path[fits]} fits from {path[from]:.4g} to {path[to]:g}; {proof}"),
    ("least loss", _CHOSEN % (("best",) * 5)),
    ("simplest", _CHOSEN % (("one_se",) * 5)),
    ("training", "AUC {auc_train:.4f}, gain {gain:.4f} (regularised {regularized_gain:.4f}), "
     "log loss {log_loss_train:.4f}", _MIXED % "log_loss_mixed_train"),
    ("test", "AUC {auc_test:.4f}, gain {test_gain:.4f}, log loss {log_loss_test:.4f} ({test_presences:,} records)",
     _MIXED % "log_loss_mixed_test"),
    ("range", "{range[area_km2]:,.0f} km² in {range[patches]:,} patches, "
     "contains {inside_train:.1%} of the training records", ", {inside_test:.1%} of the test records"),
    ("{parts}", "AUC {mean[auc.val.avg]:.4f}, Boyce {mean[cbi.val.avg]:.4f}, 10p omission {mean[or.10p.avg]:.4f}, "
     "gain {mean[gain.val.avg]:.4f} ({cross_validation[method]}, {cross_validation[background]} background)"),
    *BLOCKS,
    NEEDS[0],
    ("survey", "AUC {presence_absence[auc]:.4f}, COR {presence_absence[cor]:.4f}, "
     "Brier {presence_absence[brier]:.4f}, PR gain {presence_absence[prg]:.4f} "
     "({presence_absence[presences]:,} presences, {presence_absence[absences]:,} absences)"),
    NEEDS[1],
]  # fmt: skip
EVALUATED: Rows = [
    ("presences", "{presences:,}"),
    ("against", "{others:,} {against} points"),
    ("AUC", "{auc:.4f} (standard deviation {auc_deviation:.4f})"),
    ("log loss", "{log_loss:.4f} nats (gain {gain:.4f})", _MIXED % "log_loss_mixed"),
    ("range", "contains {inside:.1%} of the presences"),
    ("correlation", "{presence_absence[cor]:.4f}"),
    ("Brier score", "{presence_absence[brier]:.4f}"),
    ("PR gain", "{presence_absence[prg]:.4f} (area under the precision-recall-gain curve)"),
    ("TSS", "{presence_absence[tss]:.4f} at the training threshold maxsss (at most {presence_absence[tss.max]:.4f}, "
     "at {presence_absence[tss.max.threshold]:.4f})"),
    ("calibration", "{header}"),
]  # fmt: skip
EVALUATED_LAST: Rows = [
    ("Boyce index", "{boyce:.4f}"),
    ("truth", "correlation {truth_correlation:.4f} of the map with the true suitability"),
]  # fmt: skip
MODEL: Rows = [
    ("species", "{species}"),
    ("fitted by", "sdm {version}, seed {seed}"),
    ("data", "{presences} presences, {points:,} points in the domain"),
    *CERTIFICATE,
    ("gain", "{gain:.4f} (regularised), entropy {entropy:.4f} nats"),
    ("temperature", "{temperature_note}"),
    ("order", "{order:g} ({order_name})"),
    ("penalties", "{structure[penalties]}, complexity by {structure[complexity]}"),
    ("families", "{families_header}"),
]
MODEL_LAST: Rows = [
    ("bound", "true log loss at most {performance_bound[excess]:.3f} nats above the best model with the same features "
     "and the same norm of the weights, with probability {sure:g}"),
    ("", "{uninformative}"),
    ("settings", "{setting_text}"),
    ("region", "{region}: the model has spatial features and applies to this region only"),
    ("sampling", "{sampling_text}"),
]  # fmt: skip
FOREIGN: Rows = [
    ("species", "{species}"),
    ("fitted by", "{program}"),
    ("data", "{points:,} points in the domain"),
    ("entropy", "{entropy:.4f} nats"),
    ("scales", "{scales}"),
]
UNKNOWN = {"species": "?", "version": "?", "seed": "?", "presences": "?", "status": None,
           "gain": float("nan")}  # fmt: skip


def species_result_lines(result: ModelResult) -> list[str]:
    """Return the lines of a finished run: fit, tests and files."""
    lines = terminal_lines(FITTED, _result_values(result.numbers), RESULT)
    return [*record_lines(result), *lines, *result.outside_lines(), *result.file_lines(OPENED_FIRST)]


def _result_values(n: Numbers) -> Numbers:
    """Return the numbers of a run and the texts derived from them."""
    values = n | assessed(n)
    if "structure" in n:
        families = n["structure"]["families"]
        values["families"] = ", ".join(f"{row['features']} {row['family']}" for row in families) or "no features"
    if path := n.get("path"):
        proved = path["certified"]
        values["proof"] = f"gap at most {path['gap']:.1e} nats along the path" if proved else "gap not certified"
        values |= {f"fitted_{key}": " (fitted)" if key == path["choice"] else "" for key in ("best", "one_se")}
    for part in ("train", "test"):
        if f"outside_support_{part}" in n:
            values[f"inside_{part}"] = 1 - n[f"outside_support_{part}"]
    if folds := n.get("cross_validation"):
        noun = "replicates" if folds["method"] in REPLICATED else "folds"
        values |= {"mean": folds["mean"], "parts": f"{len(folds['rows'])} {noun}"}
    return values


def species_evaluation_lines(numbers: Numbers) -> list[str]:
    """Return the accuracy of a model at independent records."""
    survey = numbers.get("presence_absence", {})
    values = numbers | {"boyce": survey.get("cbi", numbers.get("cbi"))}
    if "outside_support" in numbers:
        values["inside"] = 1 - numbers["outside_support"]
    if survey:
        values["header"] = "predicted  observed  sites"
    lines = terminal_lines(EVALUATED, values, FACT)
    row = "             {predicted:9.3f}  {observed:8.3f}  {count:5,}"
    lines += [row.format_map(interval) for interval in survey.get("calibration", ())]
    omission = [("omission", f"{share:.4f} at {rule}") for rule, share in numbers["omission"].items()]
    return lines + terminal_lines([*EVALUATED_LAST, *omission], values, FACT)


def species_info_lines(model: Model, features: int) -> list[str]:
    """Describe a model file."""
    names, weights = model.feature_names, model.weights
    order = sorted(range(len(names)), key=lambda j: -abs(weights[j]))
    listed = [f"  {weights[j]:>10.4f}  {names[j]}" for j in order]
    values = _model_values(model)
    if "program" in model.meta:  # fitted by another program, which stores less
        lines, total = terminal_lines(FOREIGN, values, FACT), len(listed)
    else:
        lines, total = terminal_lines(MODEL, values, FACT), model.meta.get("n_features", "?")
        row = "  {family:<11}{features:>8}  {weight:6.2f}  {price:6.3f}  {gain:6.3f}"
        lines += [row.format_map(family) for family in (model.meta.get("structure") or {}).get("families", ())]
        lines += terminal_lines(MODEL_LAST, values, FACT)
    return [*lines, *variable_lines(model), *weight_lines(listed, features, total)]


def _model_values(model: Model) -> Numbers:
    """Return the metadata of a model and the texts derived from them."""
    meta: Numbers = UNKNOWN | model.meta
    usable = [scale for scale in model.scales if scale != "cumulative" or len(model.cumulative)]
    values = meta | {"points": model.n_domain, "entropy": model.entropy, "order": model.alpha}
    values |= {"scales": ", ".join(usable), "setting_text": setting_text(meta)}
    values["order_name"] = "Shannon" if model.alpha == 1 else "Tsallis: can be exactly zero"
    if meta.get("structure"):
        values["families_header"] = "features  weight penalty  loss of gain without"
    if bound := meta.get("performance_bound"):
        values["sure"] = 1 - bound["delta"]
        if not bound["informs"]:
            reason = "larger than the gain of the model, so the bound is uninformative: it needs more records"
            values["uninformative"] = f"({reason})"
    if (region := Region.of_model(model)) is not None:
        values["region"] = region.text
    if sampling := meta.get("sampling"):
        values["sampling_text"] = ", ".join(f"{key}={value}" for key, value in sampling.items())
    return values
