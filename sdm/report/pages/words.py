"""Text for the templates: record cleaning, sampling bias, settings, tests and certificate of a run."""

from pathlib import Path

from sdm.report.results import Results, number
from sdm.types import Numbers

LEDGER = {
    "unreadable": "could not be read",
    "filtered": "were excluded by filters",
    "no_coordinates": "had no coordinates",
    "zero_coordinates": "lay at (0, 0)",
    "impossible": "had a latitude beyond ±90° or a longitude beyond ±360°",
    "swapped": "seemed to have swapped longitude and latitude",
    "outside_extent": "lay outside the extent of the layers",
    "equal_coordinates": "had a longitude equal to their latitude",
    "whole_degrees": "lay at whole degrees",
    "repeated_point": "lay at a point with records of many species",
    "outside_area": "lay outside the study area",
    "in_the_sea": "lay far from any cell with data",
    "nodata": "lay where a layer has no data",
    "no_effort": "lay where the sampling effort is zero or missing",
    "duplicates": "shared a cell with another record",
    "thinned": "were dropped by thinning",
}
SAMPLING = {
    "background": "Background",
    "target_group": "Target group",
    "bias": "Sampling effort",
    "bias_treatment": "Use of the effort",
    "bandwidth_km": "Kernel bandwidth (km)",
    "sites": "Sites of the target group",
    "study_area": "Study area",
    "thinned_to_km": "Thinning distance (km)",
    "thinned_by_environment": "Environmental thinning",
}
TREATMENTS = {
    "sample": "background points are drawn in proportion to it, so that they have the same bias as the records",
    "prior": "it is the base measure of the model, so the map excludes it",
    "records": "each record has the weight 1/effort of its cell; the background is unchanged",
}


def figure(value: object, digits: int = 4) -> str:
    """Return a number with `digits` significant digits; a dash for a missing one."""
    finite = None if isinstance(value, bool) else number(value)
    if finite is None:
        return "–"
    text = f"{finite:.{digits}g}" if abs(finite) >= 1e-3 or finite == 0 else f"{finite:.2g}"
    return text.replace("-", "−")


def percent(value: object) -> str:
    """Return a share in percent."""
    finite = number(value)
    return "–" if finite is None else f"{100 * finite + 1e-9:.1f} %"  # round half up, as the live map does


def small_share(value: object) -> str:
    """Return a share in percent; write a positive one below 0.05 % as < 0.1 %."""
    finite = number(value)
    return "< 0.1 %" if finite is not None and 0.0 < finite < 0.0005 else percent(value)


def integer(value: object) -> str:
    """Return an integer with separators; a dash for a missing one."""
    finite = number(value)
    return "–" if finite is None else f"{round(finite):,}"


def warnings(results: Results) -> list[str]:
    """Return the warnings of the run."""
    stored = results.numbers.get("warnings")
    return [str(text) for text in stored] if isinstance(stored, list) else []


def ledger(results: Results) -> list[tuple[str, object]]:
    """Return the record cleaning summary, one row per reason that occurred."""
    counts = results.tree("records")
    if not counts:
        return []
    rows = [("Records read", counts.get("read"))]
    rows += [(f"… {words}", counts[key]) for key, words in LEDGER.items() if counts.get(key)]
    rows.append(("Records kept", counts.get("kept")))
    if counts.get("snapped"):
        rows.append(("… moved from a cell without data to the nearest cell with data", counts["snapped"]))
    return rows


def sampling(results: Results) -> list[tuple[str, str]]:
    """Return the treatment of sampling bias."""
    stored = results.tree("sampling")
    words = {"random": "cells drawn at random", "target-group": "sites with records of any species of the target group"}
    texts = {"bias_treatment": TREATMENTS.get(str(stored.get("bias_treatment")))}
    texts["background"] = words.get(str(stored.get("background")), f"the points of {stored.get('background')}")
    return [
        (SAMPLING.get(key, key.replace("_", " ").capitalize()), texts.get(key) or str(value))
        for key, value in stored.items()
    ]


def treated(results: Results) -> bool:
    """Whether sampling bias was treated, by effort or by a target group."""
    stored = results.tree("sampling")
    return bool(stored.get("bias") or stored.get("target_group")) or stored.get("background") == "target-group"


def notes(results: Results) -> list[str]:
    """Return the notes of the run about its input."""
    stored = [results.numbers.get(key) for key in ("notes", "notices")]
    return [str(note) for part in stored if isinstance(part, list) for note in part]


def setting_rows(results: Results) -> list[tuple[str, str]]:
    """Return every option of the run that has a value, by its dotted name."""
    rows = []
    for section, options in results.run.items():
        for name, value in options.items() if isinstance(options, dict) else [("", options)]:
            if value not in (None, [], {}, ""):
                rows.append((f"{section}.{name}" if name else section, plain_value(value)))
    return rows


def plain_value(value: object) -> str:
    """Return the value of an option as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return str(value)


def partition(results: Results) -> str:
    """Describe the tests of the model."""
    n, option = results.numbers, results.option
    sites = f"{results.record}s"
    parts, measures = [], results.tree("measures")
    if held_out := n.get("test_presences") or (measures.get("test") or {}).get("sites"):
        if option("test.file"):
            parts.append(f"{integer(held_out)} test {sites} from {file_name(option('test.file'))}")
        else:
            percent = number(option("test.percent"))
            how = f" at random ({figure(percent)} %)" if percent else ""
            parts.append(f"{integer(held_out)} {sites} held out{how}")
    folds = results.tree("cross_validation") or results.tree("test")
    if rows := folds.get("rows") or folds.get("folds"):
        background = _background(folds, ", evaluated on the ")
        parts.append(f"cross-validation with {len(rows)} folds ({folds.get('method', 'random')}){background}")
    elif "cross-validation" in measures:
        parts.append("cross-validation")
    tuning, survey = results.tree("tuning"), results.survey
    parts += [f"settings selected {_chosen_in(results)}"] if tuning.get("folds") else []
    if survey:
        parts.append(f"{survey.get('presences')} presences and {survey.get('absences')} absences of a survey")
    text = ", ".join(parts) or f"none, all measures are from the training {sites}"
    return f"{text[0].upper()}{text[1:]}."


def file_name(path: object) -> str:
    """Return the name of a file without its folders."""
    return Path(str(path)).name


def variables(results: Results) -> list[tuple[str, str, str]]:
    """Return the variables of the model, with their training ranges or categories if the model stores them."""
    model = results.model
    if model is None:
        return []
    rows = []
    by_name = {variable.name: variable for variable in getattr(model, "variables", ())}
    for name in model.names:
        kind, variable, extent = "categorical" if name in model.categorical else "continuous", by_name.get(name), ""
        if variable is not None and variable.categorical:
            extent = f"{len(variable.classes)} categories: " + ", ".join(variable.category_names[:12])
            extent += ", …" if len(variable.classes) > 12 else ""
        elif variable is not None:
            extent = f"{figure(variable.lo, 6)} to {figure(variable.hi, 6)}"
        rows.append((name, kind, extent))
    return rows


def _chosen_in(results: Results) -> str:
    tuning = results.tree("tuning")
    if not tuning.get("folds"):
        return "on the training records, without folds"
    return f"in {integer(tuning['folds'])} folds ({tuning.get('method')}{_background(tuning, ', ')})"


def _background(folds: Numbers, words: str) -> str:
    """Return the background of the folds; empty for sites."""
    return f"{words}{folds['background']} background" if folds.get("background") else ""


def selection(results: Results) -> str:
    """Describe the selection of settings; return an empty text without a search."""
    tuning, option = results.tree("tuning"), results.option
    if tuning.get("chosen"):
        criteria = ", ".join(map(measure_name, plain_value(tuning.get("by")).split(", ")))
        selected = f"{tuning['chosen']}, selected from {integer(tuning.get('settings'))} settings {_chosen_in(results)}"
        return f"{selected}. Criterion: {criteria} (rule: {tuning.get('rule')})."
    if results.numbers.get("multiplier_search"):
        multiplier = figure(results.numbers.get("multiplier"))
        return f"The regularisation multiplier {multiplier} was selected by the log loss at held-out sites."
    if option("fit.model") == "structural":
        lam, beta = (option(f"fit.{key}") or "auto" for key in ("lam", "beta"))
        return f"Penalties: lambda {lam}, beta {beta} (auto: by held-out loss)."
    return ""


MEASURES = {
    "auc": "AUC", "auc.diff": "overfitting (training − validation AUC)", "cbi": "Boyce index", "tss": "TSS",
    "or.mtp": "omission at minimum training presence", "or.10p": "10p omission", "proc": "partial ROC ratio",
    "loss": "log loss (nats)", "loss.const": "log loss of the null model (nats)", "gain": "gain (nats)",
    "accuracy": "accuracy", "kappa": "kappa", "cor": "correlation", "brier": "Brier score", "tss.max": "largest TSS",
    "tss.max.threshold": "threshold of largest TSS", "prg": "area under precision–recall–gain", "rm": "multiplier",
    "ncoef": "features with weight", "fc": "feature classes", "gap": "duality gap", "mean auc": "mean AUC",
    "tune.args": "setting", "delta.AICc": "ΔAICc", "w.AIC": "AICc weight", "AICc.reason": "AICc, note",
    "constant log loss": "log loss of the null model", "chosen": "selected",
}  # fmt: skip
DATA = {"train": "Training", "val": "Validation"}


def measure_name(key: str) -> str:
    """Return the name of a measure by its column in tables, such as `auc.val.avg`."""
    stem, dot, end = key.rpartition(".")
    if dot and end in ("avg", "sd"):
        return measure_name(stem) + (", standard deviation" if end == "sd" else "")
    if stem in MEASURES and end in DATA:
        return f"{DATA[end]} {MEASURES[stem]}"
    text = key.replace("_", " ")
    name = MEASURES.get(text, text)
    return f"{name[:1].upper()}{name[1:]}"


PENALTIES = {
    "l1": "an l1 (lasso) penalty",
    "none": "no penalty",
    "smoothed_l1": "a smoothed l1 penalty",
    "l2": "an l2 penalty",
    "l2sq": "a squared l2 (ridge) penalty",
    "elastic": "an elastic-net penalty",
    "mahalanobis": "a quadratic (Mahalanobis) penalty with the feature correlations",
    "lp": "an lp penalty (a norm between l1 and l2)",
}
FAMILIES = {"l": "linear", "q": "quadratic", "p": "product", "h": "hinge", "t": "threshold", "c": "category"}


def penalty_text(regularization: object) -> str:
    """Return the penalty of a fit; by default the penalty of Maxent."""
    return PENALTIES.get(str(regularization), PENALTIES["l1"])


def feature_families(letters: str) -> str:
    """Return the feature classes of letters such as `lqh`; an empty text without any."""
    families = [FAMILIES[letter] for letter in letters if letter in FAMILIES]
    return f"{', '.join(families)} features" if families else ""


def order_text(order: object) -> str:
    """Return the order of the entropy after a comma; an empty text for Shannon entropy."""
    return "" if order in (None, 1) else f", Tsallis entropy of order {figure(order)}"


def suitability_text(title: str) -> str:
    """Return the text alternative of a suitability map."""
    return f"the predicted suitability of {title}, from low (dark blue) to high (yellow), with its records as dots"


def status_text(results: Results) -> str:
    """Return whether the fit converged, as a sentence."""
    status = results.numbers.get("status")
    if status == "converged":
        return "The fit converged."
    return f"The fit stopped before it converged (status: {status})."


def certificate_text(results: Results) -> str:
    """Return what the duality gap of the fit covers, in sentences."""
    certificate, gap = results.tree("certificate"), number(results.numbers.get("gap"))
    if gap is None:
        return "The results do not contain a certificate."
    texts = [str(certificate[key]) for key in ("text", "map") if key in certificate]
    texts = texts or [f"duality gap {figure(gap, 2)} {results.objective_unit}"]  # of an earlier version
    return " ".join([status_text(results), *(f"{text[0].upper()}{text[1:]}." for text in texts)])


def short_certificate(results: Results) -> str:
    """Return the duality gap of the fit in a line."""
    status, gap = results.numbers.get("status"), number(results.numbers.get("gap"))
    converged = "Converged" if status == "converged" else f"Not converged (status: {status})"
    return "No certificate" if gap is None else f"{converged}; duality gap {figure(gap, 2)} {results.objective_unit}"
