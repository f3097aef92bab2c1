"""What a page says in words: the certificate, the fate of the records, sampling bias, and the ODMAP protocol."""

from pathlib import Path
from typing import Any

from sdm.report.pages.live_map import Picture
from sdm.report.results import Results, number

AUTHOR = "For the authors to state."
CLASSES = {"l": "linear", "q": "quadratic", "p": "product", "h": "hinge", "t": "threshold", "c": "category"}
PENALTIES = {
    "l1": "an l1 (lasso) penalty",
    "none": "no penalty",
    "smoothed_l1": "a smoothed l1 penalty",
    "l2": "an l2 penalty",
    "l2sq": "a squared l2 (ridge) penalty",
    "elastic": "an elastic-net penalty",
}
SCALES = {
    "cloglog": "Suitability (cloglog)",
    "logistic": "Suitability (logistic)",
    "cumulative": "Cumulative value (%)",
    "raw": "Raw density",
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
    "bias_treatment": "What it does",
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
    """Return a number with so many significant digits; a dash for what is none."""
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
    structure = n.get("structure") or {}
    over = structure.get("certified_over") or f"all {count(n.get('features', '?'))} features"
    if n.get("status") == "converged":
        first = "The fit has converged. "
    else:
        first = f"The fit stopped before it converged (status: {n.get('status')}). "
    first += (
        f"It is proved to be within {figure(gap, 2)} nats of the best value that the objective can have, over {over}. "
        "The objective is the regularised loss, "
        f"by which the model gained {figure(gain)} nats in comparison with the base distribution."
    )
    told = [first]
    share = gap / gain if gain else None
    if share is not None and 0 <= share < 1e-3:
        told.append(
            "In other words: whatever is wrong with this model comes from the data, the variables and the settings. "
            "It does not come from stopping early: another solver could not find a noticeably better one."
        )
    elif share is not None:
        told.append(
            f"That is up to {100 * share:.2g} % of the gain: run it again with a smaller --tolerance or more "
            "--max-iterations before small differences between models are interpreted."
        )
    if "greedy" in over:
        told.append("What a greedy search did not see is not covered: there may be trees or monomials that would add.")
    told.append("The certificate is about the fit to these records. It says nothing about how good the records are.")
    return told


def ledger(results: Results) -> list[dict[str, Any]]:
    """Return what became of the records, one row a reason that occurred."""
    found = results.numbers.get("records")
    if not isinstance(found, dict):
        return []
    rows = [{"what": "Records read", "count": found.get("read")}]
    rows += [{"what": f"… {words}", "count": found[key]} for key, words in LEDGER.items() if found.get(key)]
    rows.append({"what": "Records kept", "count": found.get("kept")})
    if found.get("snapped"):
        rows.append({"what": "of them moved from no data to the nearest cell with data", "count": found["snapped"]})
    return rows


def sampling(results: Results) -> list[tuple[str, str]]:
    """Return what was done about sampling bias."""
    found = results.numbers.get("sampling")
    if not isinstance(found, dict):
        return []
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
    """Whether something was done about where people look, by effort or by a target group."""
    found = results.numbers.get("sampling")
    known = found if isinstance(found, dict) else {}
    return bool(known.get("bias") or known.get("target_group")) or known.get("background") == "target-group"


def settings(results: Results) -> list[tuple[str, str]]:
    """Return every option of the run that has a value, by its dotted name."""
    rows = []
    for section, options in results.run.items():
        for name, value in options.items() if isinstance(options, dict) else [("", options)]:
            if value not in (None, [], {}, ""):
                rows.append((f"{section}.{name}" if name else section, _plain(value)))
    return rows


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return str(value)


def algorithm(results: Results) -> str:
    """Say what kind of model it is, in a sentence."""
    option = results.option
    order = number(option("fit.entropy"))
    kind = "" if order in (None, 1.0) else f", Tsallis entropy of order {figure(order)}"
    if option("fit.model") == "structural":
        found = results.numbers.get("structure") or {}
        return (
            f"Structural maximum entropy (StructMaxent{kind}): families {option('fit.families')}; the penalty of trees "
            f"and monomials is λ·B + β for the complexity B of their family ({found.get('penalties')})."
        )
    classes = [CLASSES[c] for c in str(results.numbers.get("classes", "")) if c in CLASSES]
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
    if n.get("test_presences"):
        if option("test.file"):
            told.append(f"{count(n['test_presences'])} test records from {_file(option('test.file'))}")
        else:
            told.append(
                f"{count(n['test_presences'])} records set aside at random ({figure(option('test.percent'))} %)"
            )
    folds = n.get("cross_validation")
    if isinstance(folds, dict):
        rows = folds.get("rows") or folds.get("folds") or []
        method = folds.get("method", "random")
        told.append(
            f"cross-validation in {len(rows)} folds ({method}), measured on the {folds.get('background', 'full')} "
            "background"
        )
    tuning = n.get("tuning")
    if isinstance(tuning, dict):
        told += [f"settings chosen {_chosen_in(tuning)}"] if tuning.get("folds") else []
    found = n.get("presence_absence")
    if isinstance(found, dict):
        told.append(
            f"{count(found.get('presences'))} presences and {count(found.get('absences'))} absences of a survey"
        )
    said = "; ".join(told) or "none: every figure is on the records that trained the model"
    return f"{said[0].upper()}{said[1:]}."


def _file(path: Any) -> str:
    return Path(str(path)).name


def odmap(results: Results, picture: Picture | None) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the ODMAP protocol (Zurell et al. 2020) as far as the run knows it; the rest is for the authors."""
    return [
        ("Overview", _overview(results, picture)),
        ("Data", _data(results, picture)),
        ("Model", _model(results)),
        ("Assessment", _assessment(results)),
        ("Prediction", _prediction(results)),
    ]


def variables(results: Results) -> list[dict[str, str]]:
    """Return the variables of the model, with their ranges or classes in training."""
    model = results.model
    if model is None:
        return []
    rows = []
    for variable in model.variables:
        if variable.categorical:
            labels = getattr(variable, "labels", None) or [f"{c:g}" for c in variable.classes]
            seen = f"{len(variable.classes)} classes: " + ", ".join(map(str, list(labels)[:12]))
            seen += ", …" if len(variable.classes) > 12 else ""
        else:
            seen = f"{figure(variable.lo, 6)} to {figure(variable.hi, 6)}"
        rows.append({"name": variable.name, "kind": "classes" if variable.categorical else "continuous", "seen": seen})
    return rows


def _place(picture: Picture | None) -> tuple[str, str]:
    """Say where the study is, and at which scale."""
    if picture is None:
        return "Not recorded: the model was fitted to tables of samples, without a map.", AUTHOR
    left, bottom, right, top = (figure(value, 8) for value in picture.bounds)
    unit = "°" if picture.geographic else " units"
    where = f"x {left} to {right}, y {bottom} to {top} ({picture.crs or 'coordinate system not stated'})"
    across, down = (f"{value:.6g}" for value in picture.resolution)
    cell = f"{across}{unit}" if across == down else f"{across} × {down}{unit}"
    return where, f"{picture.cells[1]:,} × {picture.cells[0]:,} cells of {cell}"


def _overview(results: Results, picture: Picture | None) -> list[tuple[str, str]]:
    where, scale = _place(picture)
    names = ", ".join(row["name"] for row in variables(results)) or AUTHOR
    return [
        ("Authorship, contact, objective", AUTHOR),
        ("Focal taxon", results.species),
        ("Location", where),
        ("Scale of analysis", scale),
        ("Biodiversity data", "Presence-only occurrence records, with a background sample of the region."),
        ("Predictors", names),
        ("Hypotheses about them", AUTHOR),
        (
            "Assumptions",
            "The species is in equilibrium with its environment; the records are a sample of where it occurs, as "
            "biased as the background is (see Data); the predictors hold what limits it; its response does not change "
            "in space or time.",
        ),
        ("Algorithm", algorithm(results)),
        ("Software", f"sdm {results.numbers.get('version', '?')}; the command is under Settings."),
        ("Data availability", AUTHOR),
    ]


def _data(results: Results, picture: Picture | None) -> list[tuple[str, str]]:
    n, option = results.numbers, results.option
    dropped = [f"{count(row['count'])} {str(row['what']).removeprefix('… ')}" for row in ledger(results)[1:-1]]
    told = f"{count(n.get('training_presences'))} training records from {_file(option('occurrences.file'))}"
    bias = [f"{name.lower()}: {said}" for name, said in sampling(results)[0 if treated(results) else 1 :]]
    background = sampling(results)
    drawn = f", {background[0][1]}" if background else ""
    layers = option("layers.files") or []
    return [
        ("Taxon and source of records", told),
        ("Sampling design", AUTHOR),
        ("Cleaning", "; ".join(dropped) if dropped else "No record was dropped."),
        (
            "Background",
            f"{count(n.get('background_points'))} points{drawn}; the training records that join them are counted",
        ),
        (
            "Sampling bias",
            "; ".join([*([] if treated(results) else ["not treated by effort or target group"]), *bias]),
        ),
        ("Data partitioning", partition(results)),
        ("Predictor variables", f"From {', '.join(map(_file, layers))}" if layers else "From a table of samples."),
        ("Resolution", _place(picture)[1]),
        ("Classes", ", ".join(option("layers.categorical") or []) or "No layer is categorical."),
        ("Layers for transfer", _plain(option("predict.projections")) or "None."),
    ]


def _model(results: Results) -> list[tuple[str, str]]:
    n, option = results.numbers, results.option
    chosen = option("predict.threshold")
    return [
        ("Pre-selection of variables, collinearity", AUTHOR),
        ("Model settings", algorithm(results)),
        (
            "Estimates",
            f"{count(n.get('features_with_weight'))} of {count(n.get('features'))} features have a weight; the model "
            "file holds them, and the response curves show them.",
        ),
        ("Convergence", certificate(results)[0]),
        ("Model selection", selection(results) or AUTHOR),
        ("Threshold selection", "None was asked for." if chosen is None else f"{chosen}: see Thresholds."),
    ]  # fmt: skip


def _chosen_in(tuning: dict[str, Any]) -> str:
    """Say what settings were compared on."""
    if not tuning.get("folds"):
        return "on the training records, without folds"
    return f"in {count(tuning['folds'])} folds ({tuning.get('method')}, {tuning.get('background')} background)"


def selection(results: Results) -> str:
    """Say how the settings were chosen; nothing where no search did."""
    tuning = results.numbers.get("tuning")
    if isinstance(tuning, dict):
        by = tuning.get("by")
        measures = ", ".join(map(str, by)) if isinstance(by, list) else str(by)
        return (
            f"{tuning.get('chosen')}, chosen of {count(tuning.get('settings'))} settings by {measures} "
            f"(rule: {tuning.get('rule')}) {_chosen_in(tuning)}."
        )
    if results.option("fit.model") == "structural":
        given = [
            f"{name} {results.option(f'fit.{key}') or 'auto'}" for name, key in (("lambda", "lam"), ("beta", "beta"))
        ]
        return f"Prices: {', '.join(given)} (auto: by held-out loss)."
    return ""


def _assessment(results: Results) -> list[tuple[str, str]]:
    n = results.numbers
    trained = f"AUC {figure(n.get('auc_train'), 3)}, gain {figure(n.get('gain'))}"
    trained += f", log loss {figure(n.get('log_loss_train'))}"
    rows = [("On training records", trained)]
    if n.get("auc_test") is not None:
        spread = n.get("auc_test_deviation")
        near = f" ± {figure(spread, 2)} (DeLong's standard deviation)" if spread is not None else ""
        tested = f"AUC {figure(n['auc_test'], 3)}{near}, gain {figure(n.get('test_gain'))}"
        rows.append(("On test records", f"{tested}, log loss {figure(n.get('log_loss_test'))}"))
    tuning = n.get("tuning") or {}
    mean = (n.get("cross_validation") or {}).get("mean") or (tuning.get("best") if tuning.get("folds") else {}) or {}
    known = [
        f"{name.removesuffix('.avg')} {figure(value)}"
        for name, value in mean.items()
        if isinstance(value, float) and not name.endswith(".sd")
    ]
    if known:
        rows.append(("By cross-validation, mean", ", ".join(known)))
    survey = n.get("presence_absence")
    if isinstance(survey, dict):
        told = [f"{name} {figure(value)}" for name, value in survey.items() if isinstance(value, float)]
        rows.append(("On survey sites with absences", ", ".join(told)))
    rows.append(("Plausibility", "Response curves and map: for the authors to judge."))
    return rows


def _prediction(results: Results) -> list[tuple[str, str]]:
    option = results.option
    clamped = "Variables are held at the limits of their training ranges (clamping)."
    return [
        ("Output", f"{SCALES.get(results.scale, results.scale)}; GeoTIFF" if results.path("map") else "No map."),
        ("Extrapolation", clamped if option("predict.clamp") else "Curves go on beyond the training ranges."),
        ("Projections", _plain(option("predict.projections")) or "None."),
        ("Uncertainty", "Maps of the spread over replicates." if results.path("sd map") else AUTHOR),
    ]
