"""Measures that need absences: correlation, Brier score, calibration, and precision against recall."""

import numpy as np

from sdm.assess.measures.basic import auc, auc_deviation, boyce, check_counts, column_rows, max_tss, tss
from sdm.data.table import Survey
from sdm.errors import NoRecordsError
from sdm.models.presence import ValueModel
from sdm.types import Array, Numbers, Row


def correlation(presence: Array, absence: Array) -> float:
    """Return the point-biserial correlation (COR) of predictions with presence; NaN for constant predictions."""
    predicted = np.concatenate([presence, absence])
    if np.ptp(predicted) == 0 or not presence.size or not absence.size:
        return float("nan")
    observed = np.repeat([1.0, 0.0], [presence.size, absence.size])
    return float(np.corrcoef(predicted, observed)[0, 1])


def brier(presence: Array, absence: Array) -> float:
    """Return the Brier score of predictions from 0 to 1: the mean squared difference from the observation."""
    return float(np.mean(np.concatenate([1.0 - presence, absence]) ** 2))


def calibration(presence: Array, absence: Array, *, bins: int = 10) -> list[Row]:
    """Return the calibration curve of predictions from 0 to 1, in bins of equal width; empty bins are omitted.

    Each row has the mean prediction of a bin, the share of presences and the count.
    """
    predicted = np.concatenate([presence, absence])
    observed = np.repeat([1.0, 0.0], [presence.size, absence.size])
    place = np.searchsorted(np.linspace(0.0, 1.0, bins + 1)[1:-1], predicted, side="left")
    count = np.bincount(place, minlength=bins)
    used = count > 0
    mean = np.bincount(place, weights=predicted, minlength=bins)[used] / count[used]
    share = np.bincount(place, weights=observed, minlength=bins)[used] / count[used]
    return column_rows({"predicted": mean, "observed": share, "count": count[used]})


def prg_auc(presence: Array, absence: Array) -> float:
    """Return the area under the precision–recall–gain curve (Flach and Kull 2015).

    With `π` the share of presences, `precision gain = (precision − π)/((1 − π) precision)`; recall gain is defined
    likewise. Unlike the area under precision–recall, the area from recall gain 0 to 1 does not depend on prevalence. It
    is 0 for a prediction that classifies all sites as presences, and negative for worse predictions. The counts are
    interpolated linearly at recall gain 0, as in the authors' program.
    """
    levels = np.unique(np.concatenate([presence, absence]))[::-1]
    m, n = presence.size, absence.size
    true = m - np.searchsorted(np.sort(presence), levels, side="left")
    false = n - np.searchsorted(np.sort(absence), levels, side="left")
    tp, fp = np.concatenate([[0.0], true]), np.concatenate([[0.0], false])
    # Recall gain is zero at a recall of π = m/(m + n): interpolate the counts between the two nearest thresholds.
    entry = m * m / (m + n)
    k = int(np.searchsorted(tp, entry, side="left"))
    step = (entry - tp[k - 1]) / (tp[k] - tp[k - 1])
    tp = np.concatenate([[entry], tp[k:]])
    fp = np.concatenate([[fp[k - 1] + step * (fp[k] - fp[k - 1])], fp[k:]])
    odds = m / n
    recall, precision = 1.0 - odds * (m - tp) / tp, 1.0 - odds * fp / tp
    return float(np.sum(np.diff(recall) * 0.5 * (precision[1:] + precision[:-1])))


def measure_values(presence: Array, absence: Array, cutoff: float | None = None) -> dict[str, float]:
    """Measure predictions from 0 to 1 at survey sites where the species was observed, and where it was not.

    `auc.sd` is DeLong's standard deviation, `prg` the area under precision–recall–gain. `cbi` is against all sites.
    `tss` is at the threshold `cutoff`, such as `maxsss` of the training data. `tss.max` is at the best threshold for
    these sites, and therefore optimistic.
    """
    check_counts(presence, absence)
    best, level = max_tss(presence, absence)
    return {
        "auc": auc(presence, absence),
        "auc.sd": auc_deviation(presence, absence),
        "cor": correlation(presence, absence),
        "brier": brier(presence, absence),
        "prg": prg_auc(presence, absence),
        "cbi": boyce(presence, np.concatenate([presence, absence])).index,
        "tss": float("nan") if cutoff is None else tss(presence, absence, cutoff),
        "tss.max": best,
        "tss.max.threshold": level,
    }


def measure_predictions(presence: Array, absence: Array, cutoff: float | None = None) -> Numbers:
    """Return the measures of predictions at survey sites with their counts, and the calibration curve in ten bins."""
    return {
        "presences": len(presence),
        "absences": len(absence),
        **measure_values(presence, absence, cutoff),
        "calibration": calibration(presence, absence),
    }


def measure_survey(model: ValueModel, survey: Survey) -> Numbers:
    """Measure a model of one species on survey sites, on the cloglog scale."""
    if not len(survey.presence) or not len(survey.absence):
        counts = f"{len(survey.presence):,} presences and {len(survey.absence):,} absences"
        raise NoRecordsError(f"{counts} have values: expected some of each")
    level = model.meta.get("thresholds", {}).get("maxsss")
    cutoff = None if level is None else float(model.from_raw(level, model.scale))
    return measure_predictions(model.predict(survey.presence), model.predict(survey.absence), cutoff)
