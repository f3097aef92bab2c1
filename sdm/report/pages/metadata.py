"""Metadata of a model: the ODMAP protocol (Zurell et al. 2020), and rangeModelMetadata (Merow et al. 2019).

The columns of the ODMAP table are the columns of the ODMAP application: section, subsection, element, Value.
"""

import csv
from collections.abc import Mapping
from pathlib import Path

from sdm.report.pages import words
from sdm.report.pages.maps.live_map import main_picture
from sdm.report.pages.words import figure, integer, partition, sampling, variables
from sdm.report.pictures import Picture
from sdm.report.results import SCALES, Results, number
from sdm.report.tables import table_text
from sdm.storage.files import to_json, write_text
from sdm.types import Numbers

ELEMENTS = Path(__file__).parents[1] / "templates" / "odmap.csv"
"""Elements of the protocol, with the rows of the page (start of section and name) that they contain."""
Protocol = dict[str, list[tuple[str, str]]]
_ASSUMED = {
    "species": "The species is in equilibrium with its environment. The records are a sample of its occurrences, with "
    "the same sampling bias as the background (see Data). The predictors include its limiting factors. Its response is "
    "constant in space and time.",
    "sites": "The species or classes are in equilibrium with the environment. The sites are a representative sample of "
    "the region, and their labels are correct. The predictors include the limiting factors. Responses are constant in "
    "space and time.",
}
_EXTRAPOLATION = {
    "clamp": "Variables are clamped to their training ranges.",
    "free": "Response curves are extrapolated beyond the training ranges.",
    "none": "There is no prediction outside the training ranges.",
    "fade": "Variables are clamped to their training ranges, and the prediction is reduced by the effect of clamping "
    "(fade by clamping).",
    "lower": "Variables are clamped to their training ranges where this lowers the prediction.",
}


def odmap_rows(results: Results) -> list[dict[str, str]]:
    """Return every element of the protocol; elements that the authors must complete are empty."""
    texts = {f"{section}: {name}": text for section, rows in protocol(results).items() for name, text in rows if text}
    elements = csv.DictReader(ELEMENTS.read_text(encoding="utf-8").splitlines())
    return [
        {name: element[name] for name in ("section", "subsection", "element")}
        | {"Value": _value(element["rows"], texts)}
        for element in elements
    ]


def _value(beginnings: str, texts: Mapping[str, str]) -> str:
    """Return the texts of the rows of the page that belong to an element."""
    starts = beginnings.split("|") if beginnings else []
    values = [text for beginning in starts for name, text in texts.items() if name.startswith(beginning)]
    return " ".join(" ".join(dict.fromkeys(values)).split())


def protocol(results: Results) -> Protocol:
    """Return the rows of the page per section; texts that the authors must write are empty."""
    picture = main_picture(results)
    return {
        "Overview": _overview(results, picture),
        "Data": _data(results, picture),
        "Model": _model(results),
        "Assessment": _assessment(results),
        "Prediction": _prediction(results, picture),
    }


def _overview(results: Results, picture: Picture | None) -> list[tuple[str, str]]:
    n, location = results.numbers, "Not stored: the model was fitted to tables of samples, without a map."
    if picture is not None:
        left, bottom, right, top = (figure(value, 8) for value in picture.bounds)
        location = f"x {left} to {right}, y {bottom} to {top} ({picture.crs or 'coordinate system not stored'})"
    return [
        ("Authorship, contact, objective", ""),
        ("Focal taxon", results.title),
        ("Location", location),
        ("Scale of analysis", _resolution(picture)),
        ("Biodiversity data", results.data_text),
        ("Predictors", ", ".join(name for name, _, _ in words.variables(results))),
        ("Hypotheses", ""),
        ("Assumptions", _ASSUMED["species" if results.presence_only else "sites"]),
        ("Algorithm", results.algorithm),
        ("Software", n.get("software") or f"sdm {n.get('version') or '?'}; see Settings for the command."),
        ("Data availability", ""),
    ]


def _data(results: Results, picture: Picture | None) -> list[tuple[str, str]]:
    n, option, foreign = results.numbers, results.option, bool(results.numbers.get("software"))
    species, layers = results.presence_only, option("layers.files") or []
    records = f"{integer(n.get('training_presences'))} training records"
    source = records if species else f"{integer(n.get('training_sites') or n.get('sites'))} sites"
    if option("occurrences.file"):
        source += f" from {words.file_name(option('occurrences.file'))}"
    dropped = [f"{integer(count)} {text.removeprefix('… ')}" for text, count in words.ledger(results)[1:-1]]
    predictors = "" if foreign else "Values from a table of samples."
    if layers:
        predictors = f"Layers: {', '.join(map(words.file_name, layers))}"
    return [
        ("Taxon and source of records", source),
        ("Sampling design", ""),
        ("Cleaning", "" if foreign else ", ".join(dropped) or "No record was dropped."),
        *(_sampling(results) if species else ()),
        ("Data partitioning", "" if foreign else words.partition(results)),
        ("Predictor variables", predictors),
        ("Resolution", _resolution(picture)),
        ("Classes", ", ".join(option("layers.categorical") or []) or ("" if foreign else "No layer is categorical.")),
        ("Layers for transfer", _projections(results)),
    ]


def _sampling(results: Results) -> list[tuple[str, str]]:
    n, bias, treated = results.numbers, words.sampling(results), words.treated(results)
    points = f"{integer(n.get('background_points'))} points{f', {bias[0][1]}' if bias else ''}"
    parts = [] if treated or n.get("software") else ["not corrected with sampling effort or a target group"]
    parts += [f"{name.lower()}: {text}" for name, text in (bias if treated else bias[1:])]
    return [
        ("Background", f"{points}, including the training records that were added to them"),
        ("Sampling bias", "; ".join(parts)),
    ]


def _model(results: Results) -> list[tuple[str, str]]:
    n, threshold = results.numbers, results.option("predict.threshold")
    estimates = "See the model file."
    if (weighted := number(n.get("features_with_weight"))) is not None:
        features = number(n.get("features"))
        total = "" if features is None else f" of {integer(features)}"
        estimates = f"{integer(weighted)}{total} features with non-zero weight: see the model file and response curves."
    chosen = "None was selected." if threshold is None else f"{threshold}: see Thresholds."
    return [
        ("Pre-selection of variables, collinearity", ""),
        ("Model settings", results.algorithm),
        ("Estimates", estimates),
        ("Convergence", words.certificate_text(results)),
        ("Model selection", words.selection(results)),
        ("Threshold selection", "" if n.get("software") else chosen),
    ]


def _assessment(results: Results) -> list[tuple[str, str]]:
    rows, tuning = [], results.tree("tuning")
    if results.presence_only:
        rows.append(("On training records", _gain(results, "train", "")))
        if results.tested:
            sd = number(results.numbers.get("auc_test_deviation"))
            spread = "" if sd is None else f" ± {figure(sd, 2)} (standard deviation by DeLong)"
            rows.append(("On test records", _gain(results, "test", spread)))
    measures = results.tree("measures").items()
    rows += [(f"On sites: {part}", _measured(values)) for part, values in measures if isinstance(values, dict)]
    if joint := (results.tree("test").get("mean") or results.tree("training")).get("joint"):
        rows.append(("On held-out sites" if results.tree("test") else "On training sites", _measured(joint)))
    if mean := results.tree("cross_validation").get("mean") or (tuning.get("best") if tuning.get("folds") else None):
        rows.append(("By cross-validation, mean", _measured(mean)))
    if survey := results.tree("presence_absence"):
        rows.append(("On survey sites with absences", _measured(survey)))
    return [*rows, ("Plausibility", "Response curves and map: to be assessed by the authors.")]


def _gain(results: Results, part: str, spread: str) -> str:
    n = results.numbers
    gain, loss = n.get("gain" if part == "train" else "test_gain"), number(n.get(f"log_loss_{part}"))
    text = f"AUC {figure(n.get(f'auc_{part}'), 3)}{spread}, gain {figure(gain)}"
    return text if loss is None and n.get("software") else f"{text}, log loss {figure(loss)}"


def _measured(values: Numbers) -> str:
    shown = {name: value for name, value in values.items() if isinstance(value, float) and not name.endswith(".sd")}
    return ", ".join(f"{words.measure_name(name)} {figure(value)}" for name, value in shown.items())


def _prediction(results: Results, picture: Picture | None) -> list[tuple[str, str]]:
    option, foreign = results.option, results.numbers.get("software")
    chosen = option("predict.extrapolation") or ("clamp" if option("predict.clamp") else "free")
    output = f"{results.output_text or SCALES.get(results.scale, results.scale)}; GeoTIFF"
    return [
        ("Output", "No map." if picture is None else output),
        ("Extrapolation", "" if foreign else _EXTRAPOLATION.get(str(chosen), "")),
        ("Projections", _projections(results)),
        ("Uncertainty", "Maps of the standard deviation over replicates." if results.files.get("sd map") else ""),
    ]


def _projections(results: Results) -> str:
    scenarios = results.option("project.scenarios") or results.option("predict.projections")
    return words.plain_value(scenarios or ("" if results.numbers.get("software") else "None."))


def _resolution(picture: Picture | None) -> str:
    if picture is None:
        return ""
    unit = "°" if picture.geographic else " units"
    width, height = (f"{value:.6g}" for value in picture.resolution)
    cell = f"{width}{unit}" if width == height else f"{width} × {height}{unit}"
    return f"{picture.cells[1]:,} × {picture.cells[0]:,} cells of {cell}"


ENDINGS = {"odmap": "odmap.csv", "odmap json": "odmap.json", "range model metadata": "rmm.csv"}
_UNITS = {"raw": "relative occurrence rate", "cumulative": "cumulative percentage of the relative occurrence rate"}
_RMM_EXTRAPOLATION = {
    "clamp": "clamping",
    "free": "extrapolate function",
    "none": "none",
    "fade": "fade by clamping",
    "lower": "minimum clamping",
}
_PAPER = "Phillips, Anderson and Schapire (2006), Ecological Modelling 190: 231-259"


def metadata_files(name: str) -> dict[str, str]:
    """Return the names of the metadata files of a model, by content."""
    return {key: f"{name}_{ending}" for key, ending in ENDINGS.items()}


def write_metadata(results: Results) -> list[Path]:
    """Write the metadata of a model into its folder; replace existing files."""
    rows, names = odmap_rows(results), metadata_files(results.name)
    entries = [{key.lower(): value for key, value in row.items()} for row in rows]
    document = {"protocol": "ODMAP", "reference": "doi:10.1111/ecog.04960", "title": results.title, "entries": entries}
    texts = {
        "odmap": table_text(rows),
        "odmap json": to_json(document) + "\n",
        "range model metadata": table_text(rmm_rows(results)),
    }
    return [write_text(results.folder / names[content], text, overwrite=True) for content, text in texts.items()]


def rmm_rows(results: Results) -> list[dict[str, str]]:
    """Return the rangeModelMetadata of a model: three levels of fields, the entity, and its value. Unknown entities are
    omitted. The names are the same as in ENMeval and Wallace."""
    rows = []
    for dotted, value in _entities(results).items():
        text = _text(value)
        if text:
            *fields, entity = dotted.split("$")
            levels = [*fields, "NA", "NA", "NA"][:3]
            rows.append(dict(zip(("field1", "field2", "field3", "entity", "value"), (*levels, entity, text))))
    return rows


def _entities(results: Results) -> Numbers:
    """Return the entities that a run stores, by field."""
    n, option = results.numbers, results.option
    folds = results.tree("cross_validation")
    mean: Numbers = folds["mean"] if isinstance(folds.get("mean"), dict) else {}
    entities = {
        "data$occurrence$taxon": results.title,
        "data$occurrence$dataType": results.data_type,
        "data$occurrence$sources": _names(option("occurrences.file")),
        "data$occurrence$presenceSampleSize": n.get("training_presences"),
        "data$occurrence$backgroundSampleSizeSet": n.get("background_points"),
        "data$occurrence$backgroundSampleSizeRule": dict(sampling(results)).get("Background"),
        "data$environment$variableNames": [name for name, _, _ in variables(results)],
        "data$environment$sources": _names(option("layers.files")),
        "data$transfer$environment1$sources": _names(option("project.scenarios")),
        "dataPrep$geographic$spatialThin$rule": _kilometres(option("occurrences.thin_distance")),
        "dataPrep$biological$duplicateRemoval$rule": "cell" if results.tree("records").get("duplicates") else None,
        "model$algorithms": None,
        "model$algorithmCitation": _PAPER,
        "model$speciesCount": None,
        "model$partition$partitionSet": folds.get("method"),
        "model$partition$partitionRule": None if n.get("software") else partition(results),
        "model$partition$numberFolds": len(folds.get("rows") or []) or None,
        "model$selectionRules": results.tree("tuning").get("by"),
        "model$finalModelSettings": results.tree("tuning").get("chosen"),
        "prediction$continuous$units": _UNITS.get(results.scale, results.scale) if results.path("map") else None,
        "prediction$binary$thresholdSet": n.get("map_threshold"),
        "prediction$binary$thresholdRule": option("predict.threshold"),
        "prediction$extrapolation": _RMM_EXTRAPOLATION.get(str(option("predict.extrapolation"))),
        "assessment$trainingDataStats$AUC": n.get("auc_train"),
        "assessment$testingDataStats$AUC": mean.get("auc.val.avg"),
        "assessment$testingDataStats$AUCDiff": mean.get("auc.diff.avg"),
        "assessment$testingDataStats$boyce": mean.get("cbi.val.avg"),
        "assessment$testingDataStats$omissionRate": mean.get("or.10p.avg"),
        "assessment$evaluationDataStats$AUC": n.get("auc_test"),
        "code$software$platform": results.program,
        "code$software$packages": results.tree("versions"),
    }
    return entities | results.metadata


def _kilometres(value: object) -> str | None:
    return f"{value:g} km" if isinstance(value, int | float) and value else None


def _names(places: object) -> list[str]:
    """Return the names of files without their folders."""
    if isinstance(places, dict):
        return [str(name) for name in places]
    listed = places if isinstance(places, list) else [places] if places else []
    return [Path(str(place)).name for place in listed]


def _text(value: object) -> str:
    """Return a value as the text of a table; join several with semicolons."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.10g}" if value == value else ""
    if isinstance(value, dict):
        return "; ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(str, value))
    return "" if value is None else str(value)
