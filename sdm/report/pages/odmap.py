"""The ODMAP protocol (Zurell et al. 2020), as far as a run knows it; the rest is for the authors."""

from sdm.report.charts import SCALES
from sdm.report.pages.words import (
    algorithm,
    certificate,
    count,
    figure,
    file_name,
    ledger,
    partition,
    plain,
    sampling,
    selection,
    treated,
    variables,
)
from sdm.report.pictures import Picture
from sdm.report.results import Results

AUTHOR = "For the authors to state."
DATA = {
    "species": "Presence-only occurrence records, with a background sample of the region.",
    "classes": "Sites with a class each, or proportions of classes.",
    "community": "Sites where several species were looked for: presence, absence, or not known.",
}
MEASURES = {
    "log_loss": "log loss", "constant_log_loss": "log loss of the constant model", "accuracy": "accuracy",
    "kappa": "kappa", "tss": "TSS", "mean_auc": "mean AUC",
}  # fmt: skip
ASSUMED = {
    "species": "The species is in equilibrium with its environment; the records are a sample of where it occurs, as "
    "biased as the background is (see Data); the predictors hold what limits it; its response does not change "
    "in space or time.",
}
SURVEYED = (
    "What was looked for is in equilibrium with its environment; the sites are a fair sample of the region, and what "
    "they say is right; the predictors hold what matters; responses do not change in space or time."
)
Entries = list[tuple[str, str]]


def odmap(results: Results, picture: Picture | None) -> list[tuple[str, Entries]]:
    """Return the protocol, part by part."""
    return [
        ("Overview", _overview(results, picture)),
        ("Data", _data(results, picture)),
        ("Model", _model(results)),
        ("Assessment", _assessment(results)),
        ("Prediction", _prediction(results, picture)),
    ]


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


def _overview(results: Results, picture: Picture | None) -> Entries:
    where, scale = _place(picture)
    names = ", ".join(name for name, _, _ in variables(results)) or AUTHOR
    return [
        ("Authorship, contact, objective", AUTHOR),
        ("Focal taxon", results.title),
        ("Location", where),
        ("Scale of analysis", scale),
        ("Biodiversity data", DATA.get(results.kind, AUTHOR)),
        ("Predictors", names),
        ("Hypotheses about them", AUTHOR),
        ("Assumptions", ASSUMED.get(results.kind, SURVEYED)),
        ("Algorithm", algorithm(results)),
        ("Software", f"sdm {results.numbers.get('version', '?')}; the command is under Settings."),
        ("Data availability", AUTHOR),
    ]


def _data(results: Results, picture: Picture | None) -> Entries:
    option = results.option
    dropped = [f"{count(number)} {text.removeprefix('… ')}" for text, number in ledger(results)[1:-1]]
    layers = option("layers.files") or []
    return [
        ("Taxon and source of records", _source(results)),
        ("Sampling design", AUTHOR),
        ("Cleaning", "; ".join(dropped) if dropped else "No record was dropped."),
        *(_background(results) if results.kind == "species" else []),
        ("Data partitioning", partition(results)),
        ("Predictor variables", f"From {', '.join(map(file_name, layers))}" if layers else "From a table of samples."),
        ("Resolution", _place(picture)[1]),
        ("Classes", ", ".join(option("layers.categorical") or []) or "No layer is categorical."),
        ("Layers for transfer", plain(option("predict.projections")) or "None."),
    ]


def _source(results: Results) -> str:
    n, file = results.numbers, results.option("occurrences.file")
    sites = n.get("training_sites", n.get("sites"))
    told = (
        f"{count(sites)} sites"
        if results.kind != "species"
        else f"{count(n.get('training_presences'))} training records"
    )
    return f"{told} from {file_name(file)}" if file or results.kind == "species" else told


def _background(results: Results) -> Entries:
    found = sampling(results)
    bias = [f"{name.lower()}: {said}" for name, said in found[0 if treated(results) else 1 :]]
    drawn = f", {found[0][1]}" if found else ""
    points = count(results.numbers.get("background_points"))
    none = [] if treated(results) else ["not treated by effort or target group"]
    return [
        ("Background", f"{points} points{drawn}; the training records that join them are counted"),
        ("Sampling bias", "; ".join([*none, *bias])),
    ]


def _model(results: Results) -> Entries:
    n, option = results.numbers, results.option
    chosen = option("predict.threshold")
    used, features = n.get("features_with_weight"), n.get("features")
    weights = f"{count(used)} of {count(features)} features have a weight; the model file holds them"
    return [
        ("Pre-selection of variables, collinearity", AUTHOR),
        ("Model settings", algorithm(results)),
        ("Estimates", f"{weights}, and the response curves show them." if used is not None else "In the model file."),
        ("Convergence", certificate(results)[0]),
        ("Model selection", selection(results) or AUTHOR),
        ("Threshold selection", "None was asked for." if chosen is None else f"{chosen}: see Thresholds."),
    ]


def _assessment(results: Results) -> Entries:
    rows = _on_classes(results) if results.kind == "classes" else _on_records(results)
    if results.kind == "community":
        both = results.tree("test").get("mean") or results.tree("training")
        known = [f"{name} {figure(value)}" for name, value in both.get("joint", {}).items() if isinstance(value, float)]
        rows = [("On held-out sites" if results.tree("test") else "On training sites", ", ".join(known))]
    tuning = results.tree("tuning")
    mean = results.tree("cross_validation").get("mean") or (tuning.get("best") if tuning.get("folds") else {}) or {}
    known = [
        f"{name.removesuffix('.avg')} {figure(value)}"
        for name, value in mean.items()
        if isinstance(value, float) and not name.endswith(".sd")
    ]
    if known:
        rows.append(("By cross-validation, mean", ", ".join(known)))
    survey = results.tree("presence_absence")
    if survey:
        told = [f"{name} {figure(value)}" for name, value in survey.items() if isinstance(value, float)]
        rows.append(("On survey sites with absences", ", ".join(told)))
    rows.append(("Plausibility", "Response curves and map: for the authors to judge."))
    return rows


def _on_records(results: Results) -> Entries:
    """Return the measures of training and test records."""
    n = results.numbers
    trained = f"AUC {figure(n.get('auc_train'), 3)}, gain {figure(n.get('gain'))}"
    rows = [("On training records", f"{trained}, log loss {figure(n.get('log_loss_train'))}")]
    if n.get("auc_test") is not None:
        spread = n.get("auc_test_deviation")
        near = f" ± {figure(spread, 2)} (DeLong's standard deviation)" if spread is not None else ""
        tested = f"AUC {figure(n['auc_test'], 3)}{near}, gain {figure(n.get('test_gain'))}"
        rows.append(("On test records", f"{tested}, log loss {figure(n.get('log_loss_test'))}"))
    return rows


def _on_classes(results: Results) -> Entries:
    """Return the measures of a class model, on every group of sites that it was measured on."""
    return [
        (
            f"On sites: {name}",
            ", ".join(f"{MEASURES[key]} {figure(found.get(key))}" for key in MEASURES if key in found),
        )
        for name, found in results.tree("measures").items()
        if isinstance(found, dict)
    ]


def _prediction(results: Results, picture: Picture | None) -> Entries:
    option, scale = results.option, SCALES.get(results.scale, results.scale)
    clamped = "Variables are held at the limits of their training ranges (clamping)."
    return [
        ("Output", "No map." if picture is None else f"{_OUTPUT.get(results.kind, scale)}; GeoTIFF"),
        ("Extrapolation", clamped if option("predict.clamp") else "Curves go on beyond the training ranges."),
        ("Projections", plain(option("predict.projections")) or "None."),
        ("Uncertainty", "Maps of the spread over replicates." if results.path("sd map") else AUTHOR),
    ]


_OUTPUT = {
    "classes": "Probability of every class, the most probable class, and the entropy",
    "community": "Probability of every species, the best joint labeling, and richness",
}
