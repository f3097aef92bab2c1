"""Everything that a class model leaves behind."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdm.assess.class_assessor import targets_of
from sdm.assess.measures.classes import ClassMeasures, ClassProfile
from sdm.assess.measures.thresholds import find_threshold
from sdm.assess.uncertainty import STATISTICS
from sdm.data.rasters.stack import Stack
from sdm.files import safe_name, safe_names
from sdm.maps.classes import class_codes, write_class_maps
from sdm.models.classes import ClassModel
from sdm.models.colours import hex_colour
from sdm.models.file import save_model
from sdm.models.presence import PresenceOf, shown_class
from sdm.options.definitions import RunOptions
from sdm.report.tables import write_profiles, write_rows
from sdm.types import Progress
from sdm.workflow.assessment_tables import draw_assessment, write_assessment, write_value_maps
from sdm.workflow.classes.fitting import ClassFit
from sdm.workflow.task import Prepared

PICTURES = ("importance",)
"""Names in `plots/` that are not a variable's."""


def write_classes(
    fitted: ClassFit,
    prepared: Prepared,
    options: RunOptions,
    folder: Path,
    files: dict[str, Any],
    progress: Progress | None,
) -> None:
    """Write a class model, its tables, pictures and maps into a folder, and note their names."""
    from sdm.report.figures.classes import draw_class_profile, draw_confusion

    name, model = safe_name(fitted.name), fitted.model
    files["model"] = save_model(model, folder / f"{name}.npz").name
    kind, measures = list(fitted.measures.items())[-1]
    files["classes"] = _write_classes(folder / f"{name}_classes.csv", fitted, kind, measures)
    files["confusion"] = _write_confusion(folder / f"{name}_confusion.csv", model.labels, fitted.measures)
    picture = folder / f"{name}_confusion.png"
    files["confusion picture"] = draw_confusion(
        measures.confusion, model.labels, picture, title=f"Confusion ({kind})"
    ).name
    if fitted.numbers["multiplier_search"]:
        rows = fitted.numbers["multiplier_search"]
        files["multipliers"] = write_rows(folder / f"{name}_multipliers.csv", rows).name
    files["weights"] = _write_weights(folder / f"{name}_weights.csv", model)
    files["sites"] = _write_sites(folder / f"{name}_sites.csv", fitted)
    if fitted.roc:
        files["roc"] = write_rows(folder / f"{name}_roc.csv", fitted.roc).name
    write_assessment(fitted, folder, name, files)
    draw_assessment(fitted, prepared.stack, options, folder, files)
    if fitted.profiles:
        plots = folder / "plots"
        plots.mkdir(exist_ok=True)
        files["plots"] = "plots"
        if fitted.curves:
            files["curves"] = write_profiles(folder / f"{name}_curves.csv", fitted.curves).name
            files["class curves"] = _write_profiles(folder / f"{name}_classCurves.csv", fitted.profiles, model.labels)
        else:
            files["curves"] = _write_profiles(folder / f"{name}_curves.csv", fitted.profiles, model.labels)
        names = safe_names([profile.variable for profile in fitted.profiles], taken=PICTURES)
        for profile in fitted.profiles:
            draw_class_profile(profile, model.labels, model.colours, plots / f"{names[profile.variable]}.png")
    if options.output.map and prepared.stack is not None:
        stacks = {"": prepared.stack, **prepared.projections}
        titles = safe_names(prepared.projections, taken=["probability", "entropy", "thresholded", *STATISTICS])
        for title, stack in stacks.items():
            stem = f"{name}_{titles[title]}" if title else name
            _write_maps(fitted, stack, title, stem, prepared, options, folder, files, progress)
        _draw_maps(fitted, folder, name, files)


def _write_maps(
    fitted: ClassFit,
    stack: Stack,
    title: str,
    stem: str,
    prepared: Prepared,
    options: RunOptions,
    folder: Path,
    files: dict[str, Any],
    progress: Progress | None,
) -> None:
    """Write the maps of the layers, or of a projection."""
    model, of = fitted.model, f"projection {title}" if title else "map"
    common: dict[str, Any] = {
        "clamp": options.predict.clamp,
        "study_area": None if title else prepared.study_area,
        "threads": options.threads,
        "tags": {"title": fitted.name},
        "progress": progress,
    }
    paths = {
        "class": folder / f"{stem}.tif",
        "probability": folder / f"{stem}_probability.tif",
        "entropy": folder / f"{stem}_entropy.tif",
    }
    numbers = write_class_maps(model, stack, paths, **common).numbers(model.labels)
    if title:
        fitted.numbers.setdefault("projections", {})[title] = numbers
    else:
        fitted.numbers["map"] = numbers
    files |= {f"{what} {of}": path.name for what, path in paths.items()}
    replicates = [] if fitted.assessed.validation is None else fitted.assessed.validation.models
    common["scale"] = "probability"
    if fitted.presence is not None:
        level, cutoff = None, options.predict.threshold
        if cutoff is not None:
            level = float(cutoff) if isinstance(cutoff, (int, float)) else find_threshold(fitted.thresholds, cutoff).raw
            fitted.numbers["map_threshold"] = level
        models = [PresenceOf(one, fitted.presence.c) for one in replicates]
        files |= write_value_maps(fitted.presence, models, level, stack, paths["class"], of, common)
        return
    for c, (label, safe) in enumerate(safe_names(model.labels).items()):
        models, raster = [PresenceOf(one, c) for one in replicates], folder / f"{stem}_{safe}.tif"
        files |= write_value_maps(PresenceOf(model, c), models, None, stack, raster, f"{label} {of}", common)


def _draw_maps(fitted: ClassFit, folder: Path, name: str, files: dict[str, Any]) -> None:
    """Draw the maps of the layers."""
    from sdm.report.figures.maps import draw_map, entropy, probability

    labels = fitted.model.labels
    classes, undecided = folder / f"{name}.tif", folder / f"{name}_entropy.tif"
    files["picture"] = draw_map(classes, classes.with_suffix(".png"), title=fitted.name).name
    shades = entropy(len(labels))
    picture = draw_map(undecided, undecided.with_suffix(".png"), title=fitted.name, shades=shades)
    files["entropy picture"] = picture.name
    if len(labels) == 2:
        c, shown = shown_class(labels)
        raster = folder / f"{name}_probability.tif"
        target, shades = raster.with_suffix(".png"), probability(shown)
        files["probability picture"] = draw_map(raster, target, band=c + 1, title=fitted.name, shades=shades).name


def _write_classes(path: Path, fitted: ClassFit, kind: str, measures: ClassMeasures) -> str:
    """Write the legend of the map, and what is known of every class."""
    model = fitted.model
    counts = targets_of(fitted.table, model.classes).sum(axis=1)
    if fitted.test is not None:
        counts = counts + targets_of(fitted.test, model.classes).sum(axis=1)
    rows = [
        {
            "code": code,
            "class": label,
            "colour": hex_colour(colour),
            "sites": float(count),
            f"auc ({kind})": float(measures.auc[c]),
            f"recall ({kind})": float(measures.recall[c]),
            f"precision ({kind})": float(measures.precision[c]),
        }
        for c, (code, label, colour, count) in enumerate(
            zip(class_codes(model.labels), model.labels, model.colours, counts)
        )
    ]
    return write_rows(path, rows).name


def _write_confusion(path: Path, labels: Sequence[str], tested: dict[str, ClassMeasures]) -> str:
    """Write the confusion matrices: one row per class on record, one column per predicted class."""
    rows = [
        {"data": kind, "class on record": label, **dict(zip((f"predicted {other}" for other in labels), row.tolist()))}
        for kind, measures in tested.items()
        for label, row in zip(labels, measures.confusion)
    ]
    return write_rows(path, rows).name


def _write_weights(path: Path, model: ClassModel) -> str:
    """Write every feature with its weight in every class."""
    rows: list[dict[str, Any]] = [{"feature": "(constant)", **dict(zip(model.labels, model.intercept.tolist()))}]
    for name, weights in zip(model.feature_names, model.weights.T):
        rows.append({"feature": name, **dict(zip(model.labels, weights.tolist()))})
    return write_rows(path, rows).name


def _write_sites(path: Path, fitted: ClassFit) -> str:
    """Write the sites with their targets and the model's probabilities."""
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
    return write_rows(path, rows).name


def _write_profiles(path: Path, profiles: Sequence[ClassProfile], labels: Sequence[str]) -> str:
    """Write the response profiles of all classes in long form."""
    rows = [
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
    return write_rows(path, rows).name
