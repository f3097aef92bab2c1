"""Everything that a class model leaves behind."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdm.assess.class_assessor import targets_of
from sdm.assess.measures.classes import ClassMeasures, ClassProfile
from sdm.data.rasters.stack import Stack
from sdm.executors.painter import Painter
from sdm.kinds import assessment_tables as shared
from sdm.kinds.classes.fit import ClassFit
from sdm.kinds.task import REPLICATES, Files, Prepared
from sdm.maps.classes import map_codes, write_class_maps
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.species import predict_raster
from sdm.models.classes import ClassModel
from sdm.models.colours import hex_colour
from sdm.models.file import save_model
from sdm.models.presence import PresenceOf, shown_class
from sdm.options.definitions import RunOptions
from sdm.progress.telling import going_on, step_by_step
from sdm.report.paper import paper_of
from sdm.report.tables import write_profiles
from sdm.report.titled import draw_titled, make_plots
from sdm.storage.files import safe_name, safe_names
from sdm.types import Progress

PICTURES = ("importance",)  # names in `plots/` that are not a variable's


def write_classes(
    fitted: ClassFit,
    prepared: Prepared,
    options: RunOptions,
    folder: Path,
    files: Files,
    painter: Painter,
    progress: Progress | None,
) -> list[str]:
    """Write a class model, its tables, pictures and maps into a folder, and note their names."""
    from sdm.report.figures.classes import draw_class_profile, draw_confusion

    paper = paper_of(options.output)
    name, model = safe_name(fitted.name), fitted.model
    files["model"] = save_model(model, folder / f"{name}.npz").name
    kind, measures = list(fitted.measures.items())[-1]
    tables = {
        "classes": ("classes", _class_rows(fitted, kind, measures)),
        "confusion": ("confusion", _confusion_rows(model.labels, fitted.measures)),
        "multipliers": ("multipliers", fitted.numbers["multiplier_search"]),
        "weights": ("weights", _weight_rows(model)),
        "sites": ("sites", _site_rows(fitted)),
        "roc": ("roc", fitted.roc),
        "class curves" if fitted.curves else "curves": (
            "classCurves" if fitted.curves else "curves",
            _profile_rows(fitted.profiles, model.labels),
        ),
    }
    shared.write_tables(tables, folder, name, files)
    picture, title = folder / f"{name}_confusion.png", f"Confusion ({kind})"
    files["confusion picture"] = draw_confusion(
        measures.confusion, model.labels, picture, title=title, paper=paper
    ).name
    shared.write_assessment(fitted, folder, name, files)
    with going_on(progress, "pictures"):
        draw_titled(shared.assessment_pictures(fitted, prepared.stack, options), folder, paper, files)
    if fitted.curves:
        files["curves"] = write_profiles(folder / f"{name}_curves.csv", fitted.curves).name
    if fitted.profiles:
        plots = make_plots(folder, files)
        names = safe_names([profile.variable for profile in fitted.profiles], taken=PICTURES)
        for profile in step_by_step(fitted.profiles, progress, "pictures of curves"):
            draw_class_profile(profile, model.labels, model.colours, plots / f"{names[profile.variable]}.png", paper)
    if options.output.map and prepared.stack is not None:
        common: dict[str, Any] = {
            "extrapolation": options.predict.extrapolation,
            "threads": options.threads,
            "progress": progress,
        }
        rule = options.predict.threshold
        common["tags"] = {"title": fitted.name} | ({"threshold_rule": rule} if isinstance(rule, str) else {})
        common["tags"] |= {} if fitted.presence is None else {"species": fitted.name}
        raster, area = folder / f"{name}.tif", {"study_area": prepared.study_area}
        level = shared.cutoff(fitted.thresholds, options.predict.threshold)
        fitted.numbers["map"] = _write_maps(fitted, prepared.stack, raster, "map", level, files, common | area)
        if options.output.replicate_maps:
            _write_replicate_maps(fitted, prepared.stack, folder / REPLICATES, name, common | area)
        if level is not None:
            fitted.numbers["map_threshold"] = level
        if options.output.map_picture:
            with going_on(progress, "pictures of maps"):
                _draw_maps(fitted, folder, name, files, options)
        if options.output.publication and fitted.presence is not None:
            ways: dict[str, Any] = {"scale": "probability", "band": fitted.presence.c + 1, "profiles": fitted.curves}
            probability = raster.with_name(f"{raster.stem}_probability.tif")
            draw_titled([shared.publication_picture(fitted, probability, **ways)], folder, paper, files)
    return []


def _write_maps(
    fitted: ClassFit, stack: Stack, raster: Path, of: str, level: float | None, files: Files, common: dict[str, Any]
) -> dict[str, Any]:
    """Write the maps of the layers, or of a projection (`of`); return their numbers."""
    model, replicates = fitted.model, fitted.assessed.replicates
    beside = {what: raster.with_name(f"{raster.stem}_{what}.tif") for what in ("probability", "entropy")}
    paths = {"class": raster, **beside}
    counted = NoveltyMaps(model)
    numbers = write_class_maps(model, stack, paths, novelty=counted, **common).numbers(model.labels)
    fitted.numbers |= counted.numbers
    files |= {f"{what} {of}": path.name for what, path in paths.items()}
    common = common | {"scale": "probability"}
    if fitted.presence is not None:
        models = [PresenceOf(one, fitted.presence.c) for one in replicates]
        files |= shared.write_value_maps(fitted.presence, models, level, stack, raster, of, common)
        return numbers
    for c, (label, safe) in enumerate(safe_names(model.labels).items()):
        models, path = [PresenceOf(one, c) for one in replicates], raster.with_name(f"{raster.stem}_{safe}.tif")
        files |= shared.write_value_maps(PresenceOf(model, c), models, None, stack, path, f"{label} {of}", common)
    return numbers


def _write_replicate_maps(fitted: ClassFit, stack: Stack, folder: Path, name: str, common: dict[str, Any]) -> None:
    """Write the map of every replicate beside its model: the probability of presence; or all maps of the classes."""
    for k, model in enumerate(fitted.assessed.replicates, start=1):
        place = folder / f"{name}_{k}.tif"
        if fitted.presence is not None:
            predict_raster(PresenceOf(model, fitted.presence.c), stack, place, scale="probability", **common)
        else:
            beside = {what: place.with_name(f"{place.stem}_{what}.tif") for what in ("probability", "entropy")}
            write_class_maps(model, stack, {"class": place, **beside}, **common)


def _draw_maps(fitted: ClassFit, folder: Path, name: str, files: dict[str, Any], options: RunOptions) -> None:
    from sdm.report.figures.maps.picture import draw_map
    from sdm.report.figures.maps.plan import entropy, probability

    labels = fitted.model.labels
    ways: dict[str, Any] = {"title": fitted.name, "species": fitted.presence is not None}
    ways["paper"] = paper_of(options.output)
    classes, undecided = folder / f"{name}.tif", folder / f"{name}_entropy.tif"
    files["picture"] = draw_map(classes, classes.with_suffix(".png"), **ways).name
    shades = entropy(len(labels))
    picture = draw_map(undecided, undecided.with_suffix(".png"), shades=shades, **ways)
    files["entropy picture"] = picture.name
    if len(labels) == 2:
        c, shown = shown_class(labels)
        raster = folder / f"{name}_probability.tif"
        target, shades = raster.with_suffix(".png"), probability(shown)
        files["probability picture"] = draw_map(raster, target, band=c + 1, shades=shades, **ways).name


def _class_rows(fitted: ClassFit, kind: str, measures: ClassMeasures) -> list[dict[str, Any]]:
    """Return the legend of the map, and what is known of every class."""
    model = fitted.model
    samples = [sample for sample in (fitted.table, fitted.test) if sample is not None]
    counts: Any = sum(targets_of(sample, model.classes).sum(axis=1) for sample in samples)
    columns: dict[str, Any] = {
        "code": map_codes(model),
        "class": model.labels,
        "colour": map(hex_colour, model.colours),
        "sites": counts.astype(float).tolist(),
    }
    columns |= {f"{name} ({kind})": getattr(measures, name).tolist() for name in ("auc", "recall", "precision")}
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def _confusion_rows(labels: Sequence[str], tested: dict[str, ClassMeasures]) -> list[dict[str, Any]]:
    """Return the confusion matrices: one row per class on record, one column per predicted class."""
    return [
        {"data": kind, "class on record": label, **dict(zip((f"predicted {other}" for other in labels), row.tolist()))}
        for kind, measures in tested.items()
        for label, row in zip(labels, measures.confusion)
    ]


def _weight_rows(model: ClassModel) -> list[dict[str, Any]]:
    """Return every feature with its weight in every class."""
    rows = [("(constant)", model.intercept), *zip(model.feature_names, model.weights.T)]
    return [{"feature": name, **dict(zip(model.labels, weights.tolist()))} for name, weights in rows]


def _site_rows(fitted: ClassFit) -> list[dict[str, Any]]:
    """Return the sites with their targets and the model's probabilities."""
    rows = []
    for part, sample in (("train", fitted.table), ("test", fitted.test)):
        if sample is None:
            continue
        p = fitted.model.distributions(sample.values)
        best = np.argmax(p, axis=0)
        labelled = isinstance(sample.target, np.ndarray)
        for i in range(len(sample)):
            row: dict[str, Any] = {"x": float(sample.x[i]), "y": float(sample.y[i]), "test or train": part}
            if labelled:
                row["class"] = sample.target[i]
            else:
                row |= {f"share {name}": float(sample.target[name].iloc[i]) for name in sample.target.columns}
            row["predicted"] = fitted.model.labels[best[i]]
            row |= {f"p {label}": float(p[c, i]) for c, label in enumerate(fitted.model.labels)}
            rows.append(row)
    return rows


def _profile_rows(profiles: Sequence[ClassProfile], labels: Sequence[str]) -> list[dict[str, Any]]:
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
        for profile in profiles
        for c, label in enumerate(labels)
        for k, value in enumerate(profile.x)
    ]
