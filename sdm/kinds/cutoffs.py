"""Cutoffs of maps: their values on the scale of a map, and how maps name their rules."""

from sdm.errors import OptionError
from sdm.models.interface import ValueModel


def rule_tag(threshold: str | float | None) -> dict[str, str]:
    """Return the tag of the rule that a cutoff goes by; none if it is a number."""
    try:
        float(threshold or 0.0)
    except ValueError:
        return {"threshold_rule": str(threshold)}
    return {}


def threshold_on_scale(model: ValueModel, threshold: str | float, scale: str) -> float:
    """Return a threshold on an output scale: a number as it is, a name as the model's fit defined it."""
    try:
        return float(threshold)
    except ValueError:
        pass
    known = model.meta.get("thresholds", {})
    if threshold not in known:
        listed = ", ".join(known) or "none (the model was not fitted by 'sdm fit')"
        raise OptionError(f"threshold={threshold!r}: expected a number, or one that the model has: {listed}")
    return float(model.from_raw(known[threshold], scale))
