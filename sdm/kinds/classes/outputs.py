"""Everything that a class model leaves behind."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from sdm.assess.class_assessor import targets_of
from sdm.data.rasters.stack import Stack
from sdm.kinds import assessment_tables as shared
from sdm.kinds.artefacts import Artefact, write_artefacts
from sdm.kinds.classes.fit import ClassFit, MeasuredClasses
from sdm.kinds.task import REPLICATES, Files, ModelMaps, Prepared
from sdm.maps.classes import map_codes, write_class_maps
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.species import predict_raster
from sdm.models.colours import hex_colour
from sdm.models.file import save_model
from sdm.models.presence import PresenceOf, shown_class
from sdm.options.definitions import RunOptions
from sdm.report.paper import Paper, paper_of
from sdm.report.tables import curve_rows
from sdm.storage.files import safe_name, safe_names
from sdm.types import Numbers, Progress, Row


def write_classes(
    measured: MeasuredClasses,
    prepared: Prepared,
    options: RunOptions,
    folder: Path,
    files: Files,
    progress: Progress | None,
) -> list[str]:
    """Write a class model, its tables, pictures and maps into a folder, and note their names."""
    from sdm.report.figures.classes import draw_confusion

    paper = paper_of(options.output)
    name, model = safe_name(measured.name), measured.model
    files["model"] = save_model(model, folder / f"{name}.npz").name
    kind, measures = list(measured.measures.items())[-1]
    files |= write_artefacts((*CLASS_TABLES, *shared.ASSESSMENT), measured, folder, name)
    files |= shared.write_replicates(measured.assessed.replicates, measured, folder, name)
    picture, title = folder / f"{name}_confusion.png", f"Confusion ({kind})"
    files["confusion picture"] = draw_confusion(
        measures.confusion, model.labels, picture, title=title, paper=paper
    ).name
    shared.draw_assessment(measured, prepared.stack, options, folder, files)
    if "class map" in files:
        _write_other_maps(measured, prepared, options, folder, files, progress)
    return []


def map_classes(
    fit: ClassFit | MeasuredClasses, prepared: Prepared, options: RunOptions, folder: Path, progress: Progress | None
) -> ModelMaps:
    """Write the maps of a class model: the most probable class, the probabilities and the entropy."""
    if prepared.stack is None or not options.output.map:
        return ModelMaps(folder, {}, {})
    name, counted = safe_name(fit.name), NoveltyMaps(fit.model)
    paths = {"class": folder / f"{name}.tif"}
    paths |= {what: folder / f"{name}_{what}.tif" for what in ("probability", "entropy")}
    common = _map_arguments(fit, prepared, options, progress)
    numbers = write_class_maps(fit.model, prepared.stack, paths, novelty=counted, **common).numbers(fit.model.labels)
    files = {f"{what} map": path.name for what, path in paths.items()}
    return ModelMaps(folder, files, {**counted.numbers, "map": numbers})


def _map_arguments(
    fit: ClassFit | MeasuredClasses, prepared: Prepared, options: RunOptions, progress: Progress | None
) -> Numbers:
    """Return the arguments that all maps of a class model share."""
    rule = options.predict.threshold
    tags = {"title": fit.name} | ({"threshold_rule": rule} if isinstance(rule, str) else {})
    return {
        "extrapolation": options.predict.extrapolation,
        "threads": options.threads,
        "progress": progress,
        "tags": tags | ({} if fit.presence is None else {"species": fit.name}),
        "study_area": prepared.study_area,
    }


def _write_other_maps(
    measured: MeasuredClasses,
    prepared: Prepared,
    options: RunOptions,
    folder: Path,
    files: Files,
    progress: Progress | None,
) -> None:
    """Write presence and absence by a cutoff, and the maps of the replicates."""
    stack, raster = cast(Stack, prepared.stack), folder / files["class map"]
    model, replicates = measured.model, measured.assessed.replicates
    common = _map_arguments(measured, prepared, options, progress)
    level, values = shared.cutoff(measured.thresholds, options.predict.threshold), common | {"scale": "probability"}
    if level is not None:
        measured.numbers["map_threshold"] = level
    if measured.presence is not None:
        models = [PresenceOf(one, measured.presence.c) for one in replicates]
        files |= shared.write_value_maps(measured.presence, models, level, stack, raster, "map", values)
    else:
        for c, (label, safe) in enumerate(safe_names(model.labels).items()):
            models, path = [PresenceOf(one, c) for one in replicates], folder / f"{raster.stem}_{safe}.tif"
            files |= shared.write_value_maps(PresenceOf(model, c), models, None, stack, path, f"{label} map", values)
    if options.output.replicate_maps:
        _write_replicate_maps(measured, stack, folder / REPLICATES, raster.stem, common)


def _write_replicate_maps(measured: MeasuredClasses, stack: Stack, folder: Path, name: str, common: Numbers) -> None:
    """Write the map of every replicate beside its model: the probability of presence; or all maps of the classes."""
    for k, model in enumerate(measured.assessed.replicates, start=1):
        place = folder / f"{name}_{k}.tif"
        if measured.presence is not None:
            predict_raster(PresenceOf(model, measured.presence.c), stack, place, scale="probability", **common)
        else:
            beside = {what: place.with_name(f"{place.stem}_{what}.tif") for what in ("probability", "entropy")}
            write_class_maps(model, stack, {"class": place, **beside}, **common)


def draw_class_maps(fit: ClassFit | MeasuredClasses, maps: ModelMaps, prepared: Prepared, options: RunOptions) -> Files:
    """Draw the maps of classes and of entropy; of two classes also the probability of one of them."""
    if "class map" not in maps.files or not options.output.map_picture:
        return {}
    labels, paper = fit.model.labels, paper_of(options.output)
    return draw_rasters(maps.folder, maps.files, labels, fit.name, paper, species=fit.presence is not None)


def draw_rasters(
    folder: Path, files: Mapping[str, str], labels: Sequence[str], title: str, paper: Paper, *, species: bool
) -> Files:
    """Draw the rasters of classes, of their entropy, and of two classes the probability of one, each beside it."""
    from sdm.report.figures.maps.drawn import draw_map
    from sdm.report.figures.maps.plan import entropy, probability

    c, shown = shown_class(labels) if len(labels) == 2 else (0, "")
    ways: dict[str, Numbers] = {"class map": {}, "entropy map": {"shades": entropy(len(labels))}}
    if shown:
        ways["probability map"] = {"band": c + 1, "shades": probability(shown)}
    keys, drawn = {"class map": "picture"}, Files()
    for key, shades in ways.items():
        raster = folder / files[key]
        picture = draw_map(raster, raster.with_suffix(".png"), title=title, species=species, paper=paper, **shades)
        drawn[keys.get(key, key.replace("map", "picture"))] = picture.name
    return drawn


def _class_rows(measured: MeasuredClasses) -> list[Row]:
    """Return the legend of the map, and the measures of every class."""
    model = measured.model
    kind, measures = list(measured.measures.items())[-1]
    samples = [sample for sample in (measured.table, measured.test) if sample is not None]
    counts: Any = sum(targets_of(sample, model.classes).sum(axis=1) for sample in samples)
    columns: Numbers = {
        "code": map_codes(model),
        "class": model.labels,
        "colour": map(hex_colour, model.colours),
        "sites": counts.astype(float).tolist(),
    }
    columns |= {f"{name} ({kind})": getattr(measures, name).tolist() for name in ("auc", "recall", "precision")}
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def _confusion_rows(measured: MeasuredClasses) -> list[Row]:
    """Return the confusion matrices: one row per class on record, one column per predicted class."""
    labels = measured.model.labels
    return [
        {"data": kind, "class on record": label, **dict(zip((f"predicted {other}" for other in labels), row.tolist()))}
        for kind, measures in measured.measures.items()
        for label, row in zip(labels, measures.confusion)
    ]


def _weight_rows(measured: MeasuredClasses) -> list[Row]:
    """Return every feature with its weight in every class."""
    model = measured.model
    rows = [("(constant)", model.intercept), *zip(model.feature_names, model.weights.T)]
    return [{"feature": name, **dict(zip(model.labels, weights.tolist()))} for name, weights in rows]


def _site_rows(measured: MeasuredClasses) -> list[Row]:
    """Return the sites with their targets and the model's probabilities."""
    rows = []
    for part, sample in (("train", measured.table), ("test", measured.test)):
        if sample is None:
            continue
        p = measured.model.distributions(sample.values)
        best = np.argmax(p, axis=0)
        labelled = isinstance(sample.target, np.ndarray)
        for i in range(len(sample)):
            row: Row = {"x": float(sample.x[i]), "y": float(sample.y[i]), "test or train": part}
            if labelled:
                row["class"] = sample.target[i]
            else:
                row |= {f"share {name}": float(sample.target[name].iloc[i]) for name in sample.target.columns}
            row["predicted"] = measured.model.labels[best[i]]
            row |= {f"p {label}": float(p[c, i]) for c, label in enumerate(measured.model.labels)}
            rows.append(row)
    return rows


def _profile_rows(measured: MeasuredClasses) -> list[Row]:
    """Return the response profiles of all classes in long form."""
    return [
        {
            "variable": profile.variable,
            "value": float(value),
            "category": profile.categories[k] if profile.categories else "",
            "class": label,
            "probability": float(profile.y[c, k]),
            "in training range": bool(profile.categories) or profile.lo <= value <= profile.hi,
        }
        for profile in measured.profiles
        for c, label in enumerate(measured.model.labels)
        for k, value in enumerate(profile.x)
    ]


CLASS_TABLES: tuple[Artefact[MeasuredClasses], ...] = (
    Artefact("classes", "{name}_classes.csv", _class_rows, section="classes"),
    Artefact("confusion", "{name}_confusion.csv", _confusion_rows, section="classes"),
    Artefact("multipliers", "{name}_multipliers.csv", lambda m: m.numbers["multiplier_search"], section="tuning"),
    Artefact("weights", "{name}_weights.csv", _weight_rows),
    Artefact("sites", "{name}_sites.csv", _site_rows, section="map"),
    Artefact("roc", "{name}_roc.csv", lambda m: m.roc, section="roc"),
    # Presence has curves of its own, as a species; then those of all classes are beside them.
    Artefact("curves", "{name}_curves.csv", lambda m: curve_rows(m.curves) or _profile_rows(m), section="curves"),
    Artefact("class curves", "{name}_classCurves.csv", lambda m: _profile_rows(m) if m.curves else []),
)
