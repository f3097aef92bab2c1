"""Metadata of a model that other programs read: the ODMAP protocol, and rangeModelMetadata (Merow et al. 2019)."""

from pathlib import Path

from sdm.report.pages.odmap import odmap_rows
from sdm.report.pages.words import partition, sampling, variables
from sdm.report.results import Results
from sdm.report.tables import table_text
from sdm.storage.files import to_json, write_text
from sdm.types import Numbers

ENDINGS = {"odmap": "odmap.csv", "odmap json": "odmap.json", "range model metadata": "rmm.csv"}
_UNITS = {"raw": "relative occurrence rate", "cumulative": "cumulative percentage of the relative occurrence rate"}
_EXTRAPOLATION = {
    "clamp": "clamping",
    "free": "extrapolate function",
    "none": "none",
    "fade": "fade by clamping",
    "lower": "minimum clamping",
}
_PAPER = "Phillips, Anderson and Schapire (2006), Ecological Modelling 190: 231-259"


def metadata_files(name: str) -> dict[str, str]:
    """Return the names of the files of a model, by what they are."""
    return {what: f"{name}_{ending}" for what, ending in ENDINGS.items()}


def write_metadata(results: Results) -> list[Path]:
    """Write the metadata of a model beside its results; files that are there are made anew."""
    rows, names = odmap_rows(results), metadata_files(results.name)
    entries = [{key.lower(): value for key, value in row.items()} for row in rows]
    whole = {"protocol": "ODMAP", "reference": "doi:10.1111/ecog.04960", "title": results.title, "entries": entries}
    texts = {
        "odmap": table_text(rows),
        "odmap json": to_json(whole) + "\n",
        "range model metadata": table_text(rmm_rows(results)),
    }
    return [write_text(results.folder / names[what], text, overwrite=True) for what, text in texts.items()]


def rmm_rows(results: Results) -> list[dict[str, str]]:
    """Return the rangeModelMetadata of a model: three levels of fields, the entity, and its value; what is not known is
    left out. Names are those that ENMeval and Wallace fill in."""
    rows = []
    for dotted, value in _entities(results).items():
        text = _text(value)
        if text:
            *fields, entity = dotted.split("$")
            levels = [*fields, "NA", "NA", "NA"][:3]
            rows.append(
                {"field1": levels[0], "field2": levels[1], "field3": levels[2], "entity": entity, "value": text}
            )
    return rows


def _entities(results: Results) -> Numbers:
    """Return the entities that a run knows, by their place."""
    n, option = results.numbers, results.option
    folds = results.tree("cross_validation")
    mean: Numbers = folds["mean"] if isinstance(folds.get("mean"), dict) else {}
    known = {
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
        "prediction$extrapolation": _EXTRAPOLATION.get(str(option("predict.extrapolation"))),
        "assessment$trainingDataStats$AUC": n.get("auc_train"),
        "assessment$testingDataStats$AUC": mean.get("auc.val.avg"),
        "assessment$testingDataStats$AUCDiff": mean.get("auc.diff.avg"),
        "assessment$testingDataStats$boyce": mean.get("cbi.val.avg"),
        "assessment$testingDataStats$omissionRate": mean.get("or.10p.avg"),
        "assessment$evaluationDataStats$AUC": n.get("auc_test"),
        "code$software$platform": results.program,
        "code$software$packages": results.tree("versions"),
    }
    return known | results.metadata


def _kilometres(value: object) -> str | None:
    return f"{value:g} km" if isinstance(value, int | float) and value else None


def _names(places: object) -> list[str]:
    """Return the names of files without their folders."""
    if isinstance(places, dict):
        return [str(name) for name in places]
    listed = places if isinstance(places, list) else [places] if places else []
    return [Path(str(place)).name for place in listed]


def _text(value: object) -> str:
    """Return a value as the text of a table: several with semicolons between."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.10g}" if value == value else ""
    if isinstance(value, dict):
        return "; ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(str, value))
    return "" if value is None else str(value)
