"""Terminal text of class models: results of a run, evaluations, and model files."""

import math

from sdm.kinds import terminal
from sdm.kinds.task import ModelResult
from sdm.kinds.terminal import FACT, RESULT, Rows, measure_text, terminal_lines
from sdm.models.classes import ClassModel
from sdm.types import Numbers

WIDEST = 12
"""The largest number of classes of a printed confusion matrix."""
OPENED_FIRST = (
    "page", "map", "class map", "probability map", "entropy map", "thresholded map", "picture", "probability picture",
    "confusion", "model", "numbers",
)  # fmt: skip
FITTED: Rows = [
    ("model", "{number} classes, {training_sites:,} of {sites:,} sites; "
     "{features_with_weight:,} of {features:,} features with non-zero weight"),
    ("penalty", "{regularization}, multiplier {chosen}, selected by held-out loss"),
    *terminal.CERTIFICATE,
    *terminal.TUNED,
]  # fmt: skip
SITES: Rows = [
    ("{part}", "log loss {log_loss} (null model {constant_log_loss}), accuracy {accuracy}, kappa {kappa}, "
     "mean AUC {mean_auc}"),
]  # fmt: skip
FOLDS: Rows = [
    ("{folds} folds", "AUC {auc}, TSS {tss}, log loss {loss} (null model {constant}) ({cross_validation[method]})"),
    *terminal.BLOCKS,
    *terminal.NEEDS,
]
EVALUATED: Rows = [
    ("sites", "{sites:,}"),
    ("log loss", "{log_loss:.4f} nats (null model {constant_log_loss:.4f})"),
    ("", "{unlikely}"),
    ("accuracy", "{accuracy:.4f}"),
    ("kappa", "{kappa:.4f}"),
    ("AUC", "{mean_auc:.4f} (mean over classes)"),
]
MODEL: Rows = [
    ("classes", "{labels}"),
    ("fitted by", "sdm {version}, seed {seed}"),
    ("data", "{sites} sites"),
    *terminal.CERTIFICATE,
    ("order", "{order:g} ({order_name})"),
    ("settings", "{setting_text}"),
]


def class_result_lines(result: ModelResult) -> list[str]:
    """Return the lines of a finished run: fit, tests and files."""
    n = result.numbers
    values = n | terminal.assessed(n) | {"number": len(n["classes"])}
    if n["multiplier_search"]:
        finite = math.isfinite(n["multiplier"])
        values["chosen"] = f"{n['multiplier']:.3g}" if finite else "infinite (null model)"
    if folds := n.get("cross_validation"):
        measures = {"auc": "auc", "tss": "tss", "loss": "loss", "constant": "loss.const"}
        values |= {name: measure_text(folds["mean"][f"{key}.val.avg"]) for name, key in measures.items()}
        values["folds"] = len(folds["rows"])
    lines = [*terminal.record_lines(result), *terminal_lines(FITTED, values, RESULT)]
    for part, measures in n["measures"].items():
        keys = ("log_loss", "constant_log_loss", "accuracy", "kappa", "mean_auc")
        lines += terminal_lines(SITES, {"part": part} | {key: measure_text(measures[key]) for key in keys}, RESULT)
    lines += terminal_lines(FOLDS, values, RESULT)
    return [*lines, *result.outside_lines(), *result.file_lines(OPENED_FIRST)]


def class_evaluation_lines(numbers: Numbers) -> list[str]:
    """Return the accuracy of a class model at independent sites."""
    values = dict(numbers)
    if count := numbers["sites_given_no_probability"]:
        values["unlikely"] = f"({count:,} sites with probability 0 for their class count as 1e-6)"
    classes, confusion = numbers["classes"], numbers["confusion"]
    width = min(max(map(len, [*classes, "class"])), 30)
    lines = [*terminal_lines(EVALUATED, values, FACT), "", f"{'class':<{width}}     sites     AUC  recall  precision"]
    for name, row in zip(classes, confusion):
        figures = f"{numbers['auc'][name]:8.4f}{numbers['recall'][name]:8.4f}{numbers['precision'][name]:11.4f}"
        lines.append(f"{name[:width]:<{width}}{sum(row):>10.7g}{figures}")
    if len(classes) > WIDEST:
        return [*lines, "", f"use --json for the confusion matrix of {len(classes)} classes"]
    lines += ["", "confusion matrix: rows are observed classes, columns are predicted classes"]
    lines.append(" " * width + "".join(f"  {name[:10]:>10}" for name in classes))
    for name, row in zip(classes, confusion):
        lines.append(f"{name[:width]:<{width}}" + "".join(f"  {value:>10.5g}" for value in row))
    return lines


def class_info_lines(model: ClassModel, features: int) -> list[str]:
    """Describe a model file."""
    names, largest = model.feature_names, abs(model.weights).argmax(axis=0)
    order = sorted(range(len(names)), key=lambda j: -float(abs(model.weights[largest[j], j])))
    listed = [f"  {model.weights[largest[j], j]:>10.4f}  {names[j]}  (for {model.labels[largest[j]]})" for j in order]
    meta = {"version": "?", "seed": "?", "sites": "?", "status": None} | model.meta
    order_name = "softmax" if model.alpha == 1 else "probabilities can be exactly zero"
    values = meta | {"labels": ", ".join(model.labels), "order": model.alpha, "order_name": order_name}
    values["setting_text"] = terminal.setting_text(meta)
    lines = [*terminal_lines(MODEL, values, FACT), *terminal.variable_lines(model)]
    return [*lines, *terminal.weight_lines(listed, features, meta.get("n_features", "?"))]
