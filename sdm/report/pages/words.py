"""Facts of a run in words, for the templates: how records were cleaned, sampling bias, settings, and testing."""

from pathlib import Path

from sdm.report.results import Results, number
from sdm.types import Numbers

LEDGER = {
    "unreadable": "could not be read",
    "filtered": "were left out by filters",
    "no_coordinates": "had no coordinates",
    "zero_coordinates": "lay at (0, 0)",
    "impossible": "had a latitude beyond ±90° or a longitude beyond ±360°",
    "swapped": "seemed to have longitude and latitude swapped",
    "outside_extent": "lay outside the extent of the layers",
    "equal_coordinates": "had a longitude equal to their latitude",
    "whole_degrees": "lay at whole degrees",
    "repeated_point": "lay at one point of many species",
    "outside_area": "lay outside the study area",
    "in_the_sea": "lay far from any cell with data",
    "nodata": "lay where a layer has no data",
    "no_effort": "lay where the sampling effort is zero or missing",
    "duplicates": "shared a cell with another record",
    "thinned": "were left out by thinning",
}
SAMPLING = {
    "background": "Background",
    "target_group": "Target group",
    "bias": "Sampling effort",
    "bias_treatment": "Its effect",
    "bandwidth_km": "Width of its kernel (km)",
    "sites": "Sites behind it",
    "study_area": "Study area",
    "thinned_to_km": "Records thinned to a distance of (km)",
    "thinned_by_environment": "Records thinned by environment",
}
TREATMENTS = {
    "sample": "background points are drawn by it, so that they are as biased as the records",
    "prior": "it is the base measure of the model, and so divided out of the map",
    "records": "every record counts by one over the effort in its cell; the background stays as it is",
}


def figure(value: object, digits: int = 4) -> str:
    """Return a number with that many significant digits; a dash for what is none."""
    found = None if isinstance(value, bool) else number(value)
    if found is None:
        return "–"
    text = f"{found:.{digits}g}" if abs(found) >= 1e-3 or found == 0 else f"{found:.2g}"
    return text.replace("-", "−")


def percent(value: object) -> str:
    """Return a share in percent."""
    found = number(value)
    return "–" if found is None else f"{100 * found + 1e-9:.1f} %"  # halves go up, as in the live map


def small_share(value: object) -> str:
    """Return a share in percent that may be very small, and is not nothing."""
    found = number(value)
    return "< 0.1 %" if found is not None and 0.0 < found < 0.0005 else percent(value)


def whole(value: object) -> str:
    """Return a whole number with separators; a dash for what is none."""
    found = number(value)
    return "–" if found is None else f"{round(found):,}"


def warnings(results: Results) -> list[str]:
    """Return what could mislead, to be read before anything else."""
    found = results.numbers.get("warnings")
    return [str(text) for text in found] if isinstance(found, list) else []


def ledger(results: Results) -> list[tuple[str, object]]:
    """Return the record cleaning summary, one row per reason that occurred."""
    found = results.tree("records")
    if not found:
        return []
    rows = [("Records read", found.get("read"))]
    rows += [(f"… {words}", found[key]) for key, words in LEDGER.items() if found.get(key)]
    rows.append(("Records kept", found.get("kept")))
    if found.get("snapped"):
        rows.append(("of them moved from no data to the nearest cell with data", found["snapped"]))
    return rows


def sampling(results: Results) -> list[tuple[str, str]]:
    """Return how sampling bias was treated."""
    found = results.tree("sampling")
    words = {"random": "cells drawn at random", "target-group": "sites where any species of the target group was found"}
    known = {"bias_treatment": TREATMENTS.get(str(found.get("bias_treatment")))}
    known["background"] = words.get(str(found.get("background")), f"the points of {found.get('background')}")
    return [
        (SAMPLING.get(key, key.replace("_", " ").capitalize()), known.get(key) or str(value))
        for key, value in found.items()
    ]


def treated(results: Results) -> bool:
    """Whether sampling bias was treated, by effort or by a target group."""
    known = results.tree("sampling")
    return bool(known.get("bias") or known.get("target_group")) or known.get("background") == "target-group"


def notes(results: Results) -> list[str]:
    """Return what the run had to say of its input."""
    found = [results.numbers.get(key) for key in ("notes", "notices")]
    return [str(note) for part in found if isinstance(part, list) for note in part]


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
    """Say how the model was tested."""
    n, option = results.numbers, results.option
    sites = f"{results.record}s"
    told, found = [], results.tree("measures")
    if aside := n.get("test_presences") or (found.get("test") or {}).get("sites"):
        if option("test.file"):
            told.append(f"{whole(aside)} test {sites} from {file_name(option('test.file'))}")
        else:
            share = f" ({figure(option('test.percent'))} %)" if number(option("test.percent")) else ""
            told.append(f"{whole(aside)} {sites} set aside{share and f' at random{share}'}")
    folds = results.tree("cross_validation") or results.tree("test")
    if rows := folds.get("rows") or folds.get("folds"):
        background = _background(folds, ", measured on the ")
        told.append(f"cross-validation in {len(rows)} folds ({folds.get('method', 'random')}){background}")
    elif "cross-validation" in found:
        told.append("cross-validation")
    tuning, survey = results.tree("tuning"), results.survey
    told += [f"settings chosen {_chosen_in(results)}"] if tuning.get("folds") else []
    if survey:
        told.append(f"{survey.get('presences')} presences and {survey.get('absences')} absences of a survey")
    said = "; ".join(told) or f"none: every figure is on the {sites} that trained the model"
    return f"{said[0].upper()}{said[1:]}."


def file_name(path: object) -> str:
    """Return the name of a file without its folders."""
    return Path(str(path)).name


def variables(results: Results) -> list[tuple[str, str, str]]:
    """Return the variables of the model, with their ranges or categories in training where it knows them."""
    model = results.model
    if model is None:
        return []
    rows = []
    known = {variable.name: variable for variable in getattr(model, "variables", ())}
    for name in model.names:
        kind, variable, seen = "categorical" if name in model.categorical else "continuous", known.get(name), ""
        if variable is not None and variable.categorical:
            seen = f"{len(variable.classes)} categories: " + ", ".join(variable.category_names[:12])
            seen += ", …" if len(variable.classes) > 12 else ""
        elif variable is not None:
            seen = f"{figure(variable.lo, 6)} to {figure(variable.hi, 6)}"
        rows.append((name, kind, seen))
    return rows


def _chosen_in(results: Results) -> str:
    tuning = results.tree("tuning")
    if not tuning.get("folds"):
        return "on the training records, without folds"
    return f"in {whole(tuning['folds'])} folds ({tuning.get('method')}{_background(tuning, ', ')})"


def _background(folds: Numbers, words: str) -> str:
    """Say on which background folds were measured; sites have none."""
    return f"{words}{folds['background']} background" if folds.get("background") else ""


def selection(results: Results) -> str:
    """Say how the settings were chosen; nothing where no search did."""
    tuning, option = results.tree("tuning"), results.option
    if tuning.get("chosen"):
        rule = f"by {plain_value(tuning.get('by'))} (rule: {tuning.get('rule')}) {_chosen_in(results)}"
        return f"{tuning['chosen']}, chosen of {whole(tuning.get('settings'))} settings {rule}."
    if results.numbers.get("multiplier_search"):
        found = figure(results.numbers.get("multiplier"))
        return f"The regularisation multiplier {found} was chosen by the log loss of held-out sites."
    if option("fit.model") == "structural":
        lam, beta = (option(f"fit.{key}") or "auto" for key in ("lam", "beta"))
        return f"Penalties: lambda {lam}, beta {beta} (auto: by held-out loss)."
    return ""


PENALTIES = {
    "l1": "an l1 (lasso) penalty",
    "none": "no penalty",
    "smoothed_l1": "a smoothed l1 penalty",
    "l2": "an l2 penalty",
    "l2sq": "a squared l2 (ridge) penalty",
    "elastic": "an elastic-net penalty",
    "mahalanobis": "a quadratic penalty with the correlations of the features",
    "lp": "an lp penalty, a norm between l1 and l2",
}
FAMILIES = {"l": "linear", "q": "quadratic", "p": "product", "h": "hinge", "t": "threshold", "c": "category"}


def penalty_text(regularization: object) -> str:
    """Return the penalty of a fit; that of Maxent unless another one is stored."""
    return PENALTIES.get(str(regularization), PENALTIES["l1"])


def feature_families(letters: str) -> str:
    """Return the families of features that letters such as `lqh` stand for; nothing where there are none."""
    families = [FAMILIES[letter] for letter in letters if letter in FAMILIES]
    return f"{', '.join(families)} features" if families else ""


def order_text(order: object) -> str:
    """Return the order of the entropy after a comma; nothing for Shannon's."""
    return "" if order in (None, 1) else f", Tsallis entropy of order {figure(order)}"


def suitability_text(title: str) -> str:
    """Return what a picture of a map of suitability shows."""
    return f"the predicted suitability of {title}, from low (dark blue) to high (yellow), with its records as dots"


def status_text(results: Results) -> str:
    """Say whether the fit has converged."""
    status = results.numbers.get("status")
    if status == "converged":
        return "The fit has converged."
    return f"The fit stopped before it converged (status: {status})."


def certificate_text(results: Results) -> str:
    """Return what the duality gap of the fit covers, in sentences."""
    found = results.tree("certificate")
    texts = [str(found[key]) for key in ("text", "map") if key in found]
    if not texts:
        return "The results do not contain a certificate."
    return " ".join([status_text(results), *(f"{text[0].upper()}{text[1:]}." for text in texts)])


def short_certificate(results: Results) -> str:
    """Return the duality gap of the fit in a line."""
    status, gap = results.numbers.get("status"), number(results.numbers.get("gap"))
    converged = "Converged" if status == "converged" else f"Not converged (status: {status})"
    return "No certificate" if gap is None else f"{converged}; duality gap {figure(gap, 2)} {results.objective_unit}"
