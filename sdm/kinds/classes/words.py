"""What the terminal shows of class models: results of a run, evaluations, and model files."""

import math
from typing import Any

from sdm.kinds.species import words as shared
from sdm.kinds.task import ModelResult
from sdm.models.classes import ClassModel

WIDEST = 12
"""Classes of a confusion matrix that is printed."""
OPENED_FIRST = (
    "page", "map", "class map", "probability map", "entropy map", "thresholded map", "picture", "probability picture",
    "confusion", "model", "numbers",
)  # fmt: skip


def class_result_lines(result: ModelResult) -> list[str]:
    """Say what was fitted, in the order in which a person asks."""
    n, line = result.numbers, result.line
    out = shared.record_lines(result)
    out.append(
        line(
            "model",
            f"{len(n['classes'])} classes, {n['training_sites']:,} of {n['sites']:,} sites; "
            f"{n['features_with_weight']:,} of {n['features']:,} features have a weight in a class",
        )
    )
    if n["multiplier_search"]:
        which = f"{n['multiplier']:.3g}" if math.isfinite(n["multiplier"]) else "infinite, the constant model"
        out.append(line("penalty", f"{n['regularization']}, multiplier {which}, chosen by the loss at held-out sites"))
    near = f"within {n['gap']:.1e} nats of the optimum, proved"
    out += [line("certificate", f"{n['status']}: {near}, after {n['iterations']} rounds"), *shared.tuning_lines(result)]
    for name, m in n["measures"].items():
        keys = ("log_loss", "constant_log_loss", "accuracy", "kappa", "mean_auc")
        loss, constant, accuracy, kappa, auc = (measure_text(m[key]) for key in keys)
        figures = f"accuracy {accuracy}, kappa {kappa}, mean AUC {auc}"
        out.append(line(name, f"log loss {loss} (constant model {constant}), {figures}"))
    if "cross_validation" in n:
        found = n["cross_validation"]
        mean = {key: measure_text(found["mean"][f"{key}.val.avg"]) for key in ("auc", "tss", "loss")}
        constant = measure_text(found["mean"]["loss.const.val.avg"])
        scores = f"AUC {mean['auc']}, TSS {mean['tss']}, log loss {mean['loss']} (constant model {constant})"
        out.append(line(f"{len(found['rows'])} folds", f"{scores} ({found['method']})"))
        out += shared.block_lines(result, found)
    out += [*shared.null_lines(result), *shared.importance_lines(result)]
    return [*out, *result.outside_lines(), *result.file_lines(OPENED_FIRST)]


def measure_text(value: float) -> str:
    """Return a measure, or a dash where it is not defined."""
    return f"{value:.4f}" if math.isfinite(value) else "–"


def class_evaluation_lines(numbers: dict[str, Any]) -> list[str]:
    """Say how good a class model is on other sites."""
    out = [
        f"sites        {numbers['sites']:,}",
        f"log loss     {numbers['log_loss']:.4f} nats (constant model {numbers['constant_log_loss']:.4f})",
    ]
    if count := numbers["sites_given_no_probability"]:
        out.append(f"             ({count:,} sites whose class got no probability count as 1e-6)")
    out += [
        f"accuracy     {numbers['accuracy']:.4f}",
        f"kappa        {numbers['kappa']:.4f}",
        f"AUC          {numbers['mean_auc']:.4f} (mean over classes)",
    ]
    classes, confusion = numbers["classes"], numbers["confusion"]
    wide = min(max(map(len, [*classes, "class"])), 30)
    out += ["", f"{'class':<{wide}}     sites     AUC  recall  precision"]
    for name, row in zip(classes, confusion):
        figures = f"{numbers['auc'][name]:8.4f}{numbers['recall'][name]:8.4f}{numbers['precision'][name]:11.4f}"
        out.append(f"{name[:wide]:<{wide}}{sum(row):>10.7g}{figures}")
    if len(classes) > WIDEST:
        return [*out, "", f"the confusion matrix of {len(classes)} classes is in the result of --json"]
    out += ["", "confusion: one row per class on record, one column per most probable class"]
    out.append(" " * wide + "".join(f"  {name[:10]:>10}" for name in classes))
    return out + [
        f"{name[:wide]:<{wide}}" + "".join(f"  {value:>10.5g}" for value in row)
        for name, row in zip(classes, confusion)
    ]


def class_info_lines(model: ClassModel, features: int) -> list[str]:
    """Say what is in a model file."""
    meta, names = model.meta, model.feature_names
    order = sorted(range(len(names)), key=lambda j: -float(abs(model.weights[:, j]).max()))
    listed = []
    for j in order:
        c = int(abs(model.weights[:, j]).argmax())
        listed.append(f"  {model.weights[c, j]:>10.4f}  {names[j]}  (for {model.labels[c]})")
    return [
        f"classes      {', '.join(model.labels)}",
        f"fitted by    sdm {meta.get('version', '?')}, seed {meta.get('seed', '?')}",
        f"data         {meta.get('sites', '?')} sites",
        f"certificate  {meta.get('status')}: within {meta.get('gap', float('nan')):.1e} nats of the optimum",
        f"order        {model.alpha:g} ({'softmax' if model.alpha == 1 else 'a class can get no probability'})",
        shared.setting_line(meta),
        *shared.variable_lines(model),
        *shared.weight_lines(listed, features, meta.get("n_features", "?")),
    ]
