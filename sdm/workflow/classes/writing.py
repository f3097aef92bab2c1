"""Everything that a run of `sdm classify` leaves behind."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sdm.assess.importance import Permutation
from sdm.assess.measures.classes import ClassMeasures, ClassProfile, class_profiles
from sdm.data.records.clean import Ledger
from sdm.files import safe_name, safe_names, to_json
from sdm.maps.classes import class_codes, shown_class, write_class_maps
from sdm.models.classes import ClassModel
from sdm.models.colours import hex_colour
from sdm.models.file import save_model
from sdm.options.classes import ClassifyOptions, dump_classify_yaml
from sdm.report.results import read_results
from sdm.report.tables import write_rows
from sdm.types import Array, Colour, Progress
from sdm.workflow.classes.inputs import Sites

PICTURES = ("importance",)
"""Names in `plots/` that are not a variable's."""


def write_classes(
    stage: Path,
    sites: Sites,
    model: ClassModel,
    targets: Array,
    tested: dict[str, ClassMeasures],
    importance: Sequence[Permutation],
    numbers: dict[str, Any],
    options: ClassifyOptions,
    command: str,
    progress: Progress | None,
) -> dict[str, str]:
    """Write everything into a folder; return the files by what they are."""
    from sdm.report.figures.classes import draw_class_importance, draw_class_profile, draw_confusion
    from sdm.report.pages.registry import write_page

    name, labels = safe_name(sites.title), model.labels
    model = replace(model, meta={**model.meta, **_record(sites, model, options)})
    files = {"run": "run.yaml", "command": "command.txt", "model": f"{name}.npz", "numbers": f"{name}.json"}
    save_model(model, stage / files["model"])
    colours = model.colours
    kind, measures = list(tested.items())[-1]
    files["classes"] = _write_classes(stage / f"{name}_classes.csv", model, targets, colours, kind, measures)
    files["confusion"] = _write_confusion(stage / f"{name}_confusion.csv", labels, tested)
    draw_confusion(measures.confusion, labels, stage / f"{name}_confusion.png", title=f"Confusion ({kind})")
    files["confusion picture"] = f"{name}_confusion.png"
    rows = [
        {"variable": r.variable, "percent": r.percent, "log loss rise": r.drop, "deviation": r.drop_deviation}
        for r in importance
    ]
    files["importance"] = write_rows(stage / f"{name}_importance.csv", rows).name
    if numbers["multiplier_search"]:
        files["multipliers"] = write_rows(stage / f"{name}_multipliers.csv", numbers["multiplier_search"]).name
    files["weights"] = _write_weights(stage / f"{name}_weights.csv", model)
    files["sites"] = _write_sites(stage / f"{name}_sites.csv", sites, model)
    plots = stage / "plots"
    plots.mkdir()
    files["plots"] = "plots"
    draw_class_importance(importance, plots / "importance.png")
    if options.curves:
        profiles = class_profiles(model, sites.values, options.clamp)
        files["curves"] = _write_profiles(stage / f"{name}_curves.csv", profiles, labels)
        names = safe_names([profile.variable for profile in profiles], taken=PICTURES)
        for profile in profiles:
            draw_class_profile(profile, labels, colours, plots / f"{names[profile.variable]}.png")
    if sites.ledger is not None:
        files["records"] = write_rows(stage / "records.csv", _ledger_rows(sites.ledger)).name
    if options.map:
        files |= _write_maps(stage, name, sites, model, options, numbers, progress)
    head = f"# Repeat with: sdm classify {files['run']} -o FOLDER\n"
    (stage / files["run"]).write_text(head + dump_classify_yaml(options), encoding="utf-8")
    (stage / files["command"]).write_text(command + "\n", encoding="utf-8")
    if options.report:
        files["page"] = f"{name}.html"
    numbers["kind"], numbers["files"], numbers["notices"] = model.kind, files, sites.notices
    (stage / files["numbers"]).write_text(to_json(numbers) + "\n", encoding="utf-8")
    if options.report:
        write_page(read_results(stage / files["numbers"]))
    return files


def _record(sites: Sites, model: ClassModel, options: ClassifyOptions) -> dict[str, Any]:
    """Return what the model file says of the data, for whoever maps or measures the model later."""
    own = {label: hex_colour(sites.colours[label]) for label in model.labels if label in sites.colours}
    said = {"class_column": options.class_column, "proportions": options.proportions, "select": options.select}
    return {name: value for name, value in {**said, "colours": own}.items() if value}


def _write_maps(
    stage: Path,
    name: str,
    sites: Sites,
    model: ClassModel,
    options: ClassifyOptions,
    numbers: dict[str, Any],
    progress: Progress | None,
) -> dict[str, str]:
    """Write the maps of the layers and of the projections, with the pictures of the former."""
    from sdm.report.figures.maps import draw_map, entropy, probability

    labels = model.labels
    files: dict[str, str] = {}
    titles = safe_names(sites.projections, taken=["probability", "entropy"])
    for title, stack in {"": sites.stack, **sites.projections}.items():
        stem = f"{name}_{titles[title]}" if title else name
        paths = {
            "class": stage / f"{stem}.tif",
            "probability": stage / f"{stem}_probability.tif",
            "entropy": stage / f"{stem}_entropy.tif",
        }
        maps = write_class_maps(
            model,
            stack,
            paths,
            clamp=options.clamp,
            study_area=None if title else sites.area,
            threads=options.threads,
            tags={"title": sites.title},
            progress=progress,
        )
        if title:
            numbers.setdefault("projections", {})[title] = maps.numbers(labels)
        else:
            numbers["map"] = maps.numbers(labels)
        files |= {f"{what} {f'projection {title}' if title else 'map'}": path.name for what, path in paths.items()}
    tif, undecided = stage / f"{name}.tif", stage / f"{name}_entropy.tif"
    draw_map(tif, tif.with_suffix(".png"), title=sites.title)
    draw_map(undecided, undecided.with_suffix(".png"), title=sites.title, shades=entropy(len(labels)))
    files |= {"picture": f"{name}.png", "entropy picture": f"{name}_entropy.png"}
    if len(labels) == 2:
        c, what = shown_class(labels)
        raster = stage / f"{name}_probability.tif"
        draw_map(raster, raster.with_suffix(".png"), band=c + 1, title=sites.title, shades=probability(what))
        files["probability picture"] = f"{name}_probability.png"
    return files


def _write_classes(
    path: Path, model: ClassModel, targets: Array, colours: Sequence[Colour], kind: str, measures: ClassMeasures
) -> str:
    """Write the legend of the map, and what is known of every class."""
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
            zip(class_codes(model.labels), model.labels, colours, targets.sum(axis=1))
        )
    ]
    return write_rows(path, rows).name


def _write_confusion(path: Path, labels: Sequence[str], tested: dict[str, ClassMeasures]) -> str:
    """Write the confusion matrices: a row a class on record, a column a predicted one."""
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


def _write_sites(path: Path, sites: Sites, model: ClassModel) -> str:
    """Write the sites with their targets and the model's probabilities."""
    p = model.distributions(sites.values)
    best = np.argmax(p, axis=0)
    labelled = isinstance(sites.target, np.ndarray)
    rows = []
    for i in range(len(sites.values)):
        row: dict[str, Any] = {"x": float(sites.x[i]), "y": float(sites.y[i])}
        if labelled:
            row["class"] = sites.target[i]
        else:
            row |= {f"share {name}": float(sites.target[name].iloc[i]) for name in sites.target.columns}
        row["predicted"] = model.labels[best[i]]
        row |= {f"p {label}": float(p[c, i]) for c, label in enumerate(model.labels)}
        rows.append(row)
    return write_rows(path, rows).name


def _write_profiles(path: Path, profiles: Sequence[ClassProfile], labels: Sequence[str]) -> str:
    """Write the response profiles in long form."""
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


def _ledger_rows(ledger: Ledger) -> list[dict[str, Any]]:
    """Return what became of the records of each class."""
    return [{"class": row.pop("species"), **row} for row in (dict(row) for row in ledger.rows())]
