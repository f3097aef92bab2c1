"""What a page says in words: the certificate, how records were cleaned, sampling bias, the algorithm, the testing."""

from pathlib import Path
from typing import Any

from sdm.report.results import Results, number

LEARNERS = {
    "laplace": "Laplace maximum entropy discrimination Markov network",
    "m3n": "Maximum-margin Markov network",
    "crf-l2": "Conditional random field, penalty on squares",
    "crf-l1": "Conditional random field, penalty on absolute values",
}
CLASSES = {"l": "linear", "q": "quadratic", "p": "product", "h": "hinge", "t": "threshold", "c": "category"}
PENALTIES = {
    "l1": "an l1 (lasso) penalty",
    "none": "no penalty",
    "smoothed_l1": "a smoothed l1 penalty",
    "l2": "an l2 penalty",
    "l2sq": "a squared l2 (ridge) penalty",
    "elastic": "an elastic-net penalty",
}
LEDGER = {
    "no_coordinates": "had no coordinates",
    "zero_coordinates": "lay at (0, 0)",
    "swapped": "seemed to have longitude and latitude swapped",
    "outside_extent": "lay outside the extent of the layers",
    "outside_area": "lay outside the study area",
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
}


def count(value: Any) -> str:
    """Return a whole number with separators."""
    return f"{value:,}" if isinstance(value, int) else str(value)


def figure(value: Any, digits: int = 4) -> str:
    """Return a number with that many significant digits; a dash for what is none."""
    found = None if isinstance(value, bool) else number(value)
    if found is None:
        return "–"
    text = f"{found:.{digits}g}" if abs(found) >= 1e-3 or found == 0 else f"{found:.2g}"
    return text.replace("-", "−")


def percent(value: Any) -> str:
    """Return a share in percent."""
    found = number(value)
    return "–" if found is None else f"{100 * found + 1e-9:.1f} %"  # halves go up, as in the live map


def whole(value: Any) -> str:
    """Return a whole number with separators; a dash for what is none."""
    found = number(value)
    return "–" if found is None else f"{round(found):,}"


def certificate(results: Results) -> list[str]:
    """Say in plain words how near the fit is to the optimum, and what that covers."""
    n = results.numbers
    gap, gain = number(n.get("gap")), number(n.get("regularized_gain"))
    if gap is None:
        return ["The results hold no certificate."]
    if number(n.get("members")) is not None:
        return [
            f"The model is the mean of {count(n['members'])} models, each proved to be within {figure(gap, 2)} nats of "
            "the best value of its own objective, over all of its own features. The mean solves no problem of its own,"
            " so there is no optimum that it could be compared with.",
            "The certificates are about the fits to these records. They say nothing about how good the records are.",
        ]
    over = results.tree("structure").get("certified_over") or _over(results)
    if n.get("status") == "converged":
        first = "The fit has converged. "
    else:
        first = f"The fit stopped before it converged (status: {n.get('status')}). "
    unit = "nats" if not margin(results) else "wrong labels"
    per = " per site" if results.kind == "community" else ""
    first += (
        f"It is proved to be within {figure(gap, 2)} {unit}{per} of the best value that the objective can have, "
        f"over {over}."
    )
    told = [first]
    if results.kind == "species":
        told[0] += (
            " The objective is the regularised loss, "
            f"by which the model gained {figure(gain)} nats in comparison with the base distribution."
        )
        share = gap / gain if gain else None
        if share is not None and 0 <= share < 1e-3:
            told.append(
                "In other words: whatever is wrong with this model comes from the data, the variables and the "
                "settings. It does not come from stopping early: another solver could not find a noticeably better one."
            )
        elif share is not None:
            told.append(
                f"That is up to {100 * share:.2g} % of the gain: run it again with a smaller --tolerance or more "
                "--max-iterations before small differences between models are interpreted."
            )
    if "greedy" in over:
        told.append("What a greedy search did not see is not covered: there may be trees or monomials that would add.")
    data = "records" if results.kind == "species" else "sites"
    told.append(f"The certificate is about the fit to these {data}. It says nothing about how good the {data} are.")
    return told


def _over(results: Results) -> str:
    """Say which features a certificate covers."""
    if results.kind == "species":
        return f"all {count(results.numbers.get('features', '?'))} features"
    if results.kind == "classes":
        grown = ":" in str(results.numbers.get("feature_classes", ""))
        return "all features that the oracles found for any class" if grown else "all features of all classes"
    return "all weights of all species and edges"


def margin(results: Results) -> bool:
    """Whether a joint model was fitted by a margin, so that its objective counts wrong labels."""
    return results.kind == "community" and not str(results.numbers.get("learner", "")).startswith("crf")


def ledger(results: Results) -> list[tuple[str, Any]]:
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
    told = []
    for key, value in found.items():
        if key == "bias_treatment":
            said = TREATMENTS.get(str(value), str(value))
        elif key == "background":
            said = words.get(str(value), f"the points of {value}")
        else:
            said = str(value)
        told.append((SAMPLING.get(key, key.replace("_", " ").capitalize()), said))
    return told


def treated(results: Results) -> bool:
    """Whether sampling bias was treated, by effort or by a target group."""
    known = results.tree("sampling")
    return bool(known.get("bias") or known.get("target_group")) or known.get("background") == "target-group"


def settings(results: Results) -> list[tuple[str, str]]:
    """Return every option of the run that has a value, by its dotted name."""
    rows = []
    for section, options in results.run.items():
        for name, value in options.items() if isinstance(options, dict) else [("", options)]:
            if value not in (None, [], {}, ""):
                rows.append((f"{section}.{name}" if name else section, plain(value)))
    return rows


def plain(value: Any) -> str:
    """Return the value of an option as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return str(value)


def algorithm(results: Results) -> str:
    """Say which kind of model it is, in a sentence."""
    option, n = results.option, results.numbers
    if results.kind == "community":
        return str(LEARNERS.get(str(n.get("learner")), n.get("learner")))
    if results.kind == "strata":
        return "Maximum entropy over strata, with the whole path of the tolerance."
    order = number(n.get("order")) if results.kind == "classes" else number(option("fit.entropy"))
    kind = "" if order in (None, 1.0) else f", Tsallis entropy of order {figure(order)}"
    if results.kind == "classes":
        loss = {1.0: "logistic loss", 2.0: "sparsemax loss"}.get(order or 1.0, f"order {figure(order)}")
        penalty = PENALTIES.get(str(n.get("regularization")), "an l1 (lasso) penalty")
        return f"conditional maxent, {loss}, {penalty}, regularisation multiplier {figure(n.get('multiplier'))}"
    if option("fit.model") == "structural":
        return (
            f"Structural maximum entropy (StructMaxent{kind}): families {option('fit.families')}; the penalty of trees "
            f"and monomials is λ·B + β for the complexity B of their family "
            f"({results.tree('structure').get('penalties')})."
        )
    classes = [CLASSES[c] for c in str(n.get("classes", "")) if c in CLASSES]
    penalty = PENALTIES.get(str(option("fit.regularization")), "an l1 (lasso) penalty")
    features = f"{', '.join(classes)} features" if classes else "the features listed under settings"
    return (
        f"Maximum entropy (MaxEnt{kind}) with {features} and {penalty}, "
        f"regularisation multiplier {figure(option('fit.multiplier'))}."
    )


def partition(results: Results) -> str:
    """Say how the model was tested."""
    n, option = results.numbers, results.option
    told = []
    sites = "sites" if results.kind in ("classes", "community") else "records"
    aside = n.get("test_presences") or (_measures(results, "test").get("sites"))
    if aside:
        if option("test.file"):
            told.append(f"{count(aside)} test {sites} from {file_name(option('test.file'))}")
        else:
            share = option("test.percent") or option("test_percent")
            told.append(f"{count(aside)} {sites} set aside at random ({figure(share)} %)")
    folds = results.tree("cross_validation")
    if folds:
        rows = folds.get("rows") or folds.get("folds") or []
        background = f", measured on the {folds['background']} background" if folds.get("background") else ""
        if not background and results.kind == "species":
            background = ", measured on the full background"
        told.append(f"cross-validation in {len(rows)} folds ({folds.get('method', 'random')}){background}")
    elif _measures(results, "cross-validation"):
        told.append("cross-validation")
    tested = results.tree("test")
    if tested.get("folds"):
        told.append(f"cross-validation in {len(tested['folds'])} folds ({tested.get('method')})")
    tuning = results.tree("tuning")
    told += [f"settings chosen {_chosen_in(tuning)}"] if tuning.get("folds") else []
    found = results.tree("presence_absence")
    if found and results.kind == "species":
        told.append(
            f"{count(found.get('presences'))} presences and {count(found.get('absences'))} absences of a survey"
        )
    said = "; ".join(told) or f"none: every figure is on the {sites} that trained the model"
    return f"{said[0].upper()}{said[1:]}."


def _measures(results: Results, name: str) -> dict[str, Any]:
    found = results.tree("measures").get(name)
    return found if isinstance(found, dict) else {}


def file_name(path: Any) -> str:
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
        kind, variable, seen = "classes" if name in model.categorical else "continuous", known.get(name), ""
        if variable is not None and variable.categorical:
            labels = variable.labels or [f"{c:g}" for c in variable.classes]
            seen = f"{len(variable.classes)} classes: " + ", ".join(map(str, list(labels)[:12]))
            seen += ", …" if len(variable.classes) > 12 else ""
        elif variable is not None:
            seen = f"{figure(variable.lo, 6)} to {figure(variable.hi, 6)}"
        rows.append((name, kind, seen))
    return rows


def _chosen_in(tuning: dict[str, Any]) -> str:
    """Say on which data settings were compared."""
    if not tuning.get("folds"):
        return "on the training records, without folds"
    return f"in {count(tuning['folds'])} folds ({tuning.get('method')}, {tuning.get('background')} background)"


def selection(results: Results) -> str:
    """Say how the settings were chosen; nothing where no search did."""
    tuning = results.tree("tuning")
    if tuning.get("chosen"):
        by = tuning.get("by")
        measures = ", ".join(map(str, by)) if isinstance(by, list) else str(by)
        return (
            f"{tuning['chosen']}, chosen of {count(tuning.get('settings'))} settings by {measures} "
            f"(rule: {tuning.get('rule')}) {_chosen_in(tuning)}."
        )
    if results.numbers.get("multiplier_search"):
        found = figure(results.numbers.get("multiplier"))
        return f"The regularisation multiplier {found} was chosen by the log loss of held-out sites."
    if results.option("fit.model") == "structural":
        given = [
            f"{name} {results.option(f'fit.{key}') or 'auto'}" for name, key in (("lambda", "lam"), ("beta", "beta"))
        ]
        return f"Penalties: {', '.join(given)} (auto: by held-out loss)."
    return ""
