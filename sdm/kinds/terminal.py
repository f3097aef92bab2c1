"""Lines of the terminal, from tables of labels and formats; and those that several kinds have.

A row is a label and one or more formats, all templates of `str.format` over the values of a model. A part whose values
are missing is left out, and a row whose first part is left out is not shown.
"""

import math
from collections.abc import Mapping, Sequence

from sdm.kinds.task import ModelResult
from sdm.models.classes import ClassModel
from sdm.models.presence import ValueModel
from sdm.types import Numbers

Rows = Sequence[tuple[str, ...]]
Values = Mapping[str, object]
RESULT = "  {:<11} {}"  # a line below the name of a model
FACT = "{:<12} {}"  # a line of an evaluation or of a model file

TUNED: Rows = [("tuned", "{tuning[chosen]}: {tuning[rule]} by {tuned_by} of {tuning[settings]} settings")]
CERTIFICATE: Rows = [("certificate", "{status}; {certificate[text]}"), ("", "{certificate[map]}")]
BLOCKS: Rows = [("block size", "{cross_validation[blocks][text]}")]
NEEDS: Rows = [
    ("null models", "AUC {null[real]:.4f}, null mean {null[null_mean]:.4f}: effect size {null[effect]:.2f}, "
     "p = {null[p]:.3g} ({null_models[iterations]} null models)"),
    ("importance", "{ranked} (permutation)"),
]  # fmt: skip


def terminal_lines(rows: Rows, values: Values, layout: str) -> list[str]:
    """Return the rows whose values are there, each with its label."""
    lines = []
    for label, *parts in rows:
        texts = [filled(part, values) for part in parts]
        if texts[0] is not None:
            lines.append(layout.format(label.format_map(values), "".join(text or "" for text in texts)))
    return lines


def filled(template: str, values: Values) -> str | None:
    """Return a template with its values; None where one is missing."""
    try:
        return template.format_map(values)
    except (KeyError, IndexError, TypeError):
        return None


def record_lines(result: ModelResult) -> list[str]:
    """Return the name of the model, and its record cleaning summary."""
    if not result.records:
        return ["", result.name]
    drops = {key: count for key, count in result.records.items() if count and key not in ("read", "kept")}
    dropped = ", ".join(f"{count:,} {key.replace('_', ' ')}" for key, count in drops.items())
    counts = f"{result.records['read']:,} read, {result.records['kept']:,} kept{f' ({dropped})' if dropped else ''}"
    return ["", result.name, result.line("records", counts)]


def assessed(n: Numbers) -> Numbers:
    """Return the values of tuning, null models and importance that tables show."""
    values = {}
    if "tuning" in n:
        values["tuned_by"] = ", ".join(n["tuning"]["by"])
    if "null_models" in n:
        values["null"] = next(test for test in n["null_models"]["tests"] if test["measure"] == "auc.val")
    if rows := n.get("importance", {}).get("permutation"):
        ranked = sorted(rows, key=lambda row: -row["percent"])[:4]
        shown = ", ".join(f"{row['variable']} {row['percent']:.0f} %" for row in ranked if row["percent"] >= 0.5)
        values["ranked"] = shown or "all variables below 0.5 %"
    return values


def measure_text(value: float) -> str:
    """Return a measure, or a dash where it is not defined."""
    return f"{value:.4f}" if math.isfinite(value) else "–"


def setting_text(meta: Numbers) -> str:
    """Return the settings that a model was fitted with."""
    settings = meta.get("settings", {})
    return ", ".join(f"{key}={value}" for key, value in settings.items() if value not in (None, []))


def variable_lines(model: ValueModel | ClassModel) -> list[str]:
    """List the variables with their training ranges."""
    ranges = [
        f"{len(variable.classes)} categories" if variable.categorical else f"{variable.lo:g} to {variable.hi:g}"
        for variable in model.variables
    ]
    return ["", "variables", *(f"  {name:<24} {text}" for name, text in zip(model.names, ranges))]


def weight_lines(listed: list[str], features: int, total: object) -> list[str]:
    """List the features with the largest weights."""
    more = [f"  … and {len(listed) - features} more (--weights {len(listed)} shows all)"]
    head = f"features with non-zero weight: {len(listed)} of {total}"
    return ["", head, *listed[:features], *(more if len(listed) > features else [])]
