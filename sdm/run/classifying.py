"""A run of `sdm classify`: sites with their classes, a model, what it is worth, and its maps."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import rasterio
from numpy.typing import NDArray

from sdm._version import __version__
from sdm.conditional.estimator import ConditionalMaxent
from sdm.conditional.file import save_classes
from sdm.conditional.maps import Colour, class_codes, write_class_maps
from sdm.conditional.measures import (
    ClassMeasures,
    ClassProfile,
    class_profiles,
    fold_numbers,
    measure_classes,
    permute_classes,
)
from sdm.conditional.model import ClassModel
from sdm.conditional.targets import check_classes, read_targets
from sdm.data.area import StudyArea
from sdm.data.background import sample_background
from sdm.data.clean import CleanPoints, Ledger, finish, locate
from sdm.data.columns import named_column
from sdm.data.layers import Stack, open_stack
from sdm.data.occurrences import read_occurrences
from sdm.errors import DataError, OptionError
from sdm.features.domain import Array
from sdm.files import refuse_existing, safe_name, safe_names, staging, to_json
from sdm.predict import Progress
from sdm.report.tables import write_rows
from sdm.run.classify_options import ClassifyOptions, dump_classify_yaml

PICTURES = ("importance",)
"""Names in `plots/` that are not a variable's."""


@dataclass
class Sites:
    """What a model is fitted to: values `(n, V)`, labels or proportions, coordinates, and how they came about."""

    title: str
    values: Array
    target: Any
    x: Array
    y: Array
    stack: Stack
    area: StudyArea | None
    ledger: Ledger | None = None
    colours: dict[str, Colour] = field(default_factory=dict)
    projections: dict[str, Stack] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


@dataclass
class ClassifyResult:
    """A finished run: its folder, the numbers, the files by what they are, and what the user should be told."""

    folder: Path
    numbers: dict[str, Any]
    files: dict[str, str]
    notices: list[str]


def classify(options: ClassifyOptions, *, command: str = "", progress: Progress | None = None) -> ClassifyResult:
    """Read sites and layers, fit, test, map, and write everything."""
    _check(options)
    folder = Path(str(options.folder))
    refuse_existing(folder, overwrite=options.overwrite)
    sites = read_sites(options)
    _, targets = read_targets(sites.target, len(sites.values))
    rng = np.random.default_rng([options.seed, 7])
    label = np.argmax(targets, axis=0)
    train = _training(label, options.test_percent, rng)
    fitted = fit_sites(sites, options, train)
    model = replace(fitted.model_, meta={**fitted.model_.meta, "title": sites.title, "seed": options.seed})
    tested = {"training": measure_classes(model.distributions(sites.values[train]), targets[:, train])}
    if not train.all():
        tested["test"] = measure_classes(model.distributions(sites.values[~train]), targets[:, ~train])
    if options.folds:
        tested["cross-validation"] = _cross_validate(sites, targets, options, rng)
    held = ~train if not train.all() else train
    importance = permute_classes(
        model, sites.values[held], targets[:, held], repeats=options.repeats, seed=options.seed
    )
    numbers = _numbers(sites, fitted, tested, train)
    numbers["permutation_importance"] = [asdict(row) for row in importance]
    with staging(folder, overwrite=options.overwrite) as stage:
        files = _write(stage, sites, model, targets, tested, importance, numbers, options, command, progress)
    return ClassifyResult(folder, numbers, files, [*sites.notices, *fitted.notes_])


def _check(options: ClassifyOptions) -> None:
    """Raise for options that are missing or contradict each other."""
    if options.folder is None:
        raise OptionError("no folder for the results: add -o, as in -o results")
    if not options.layers:
        raise OptionError("no layers: give a folder of them, as in 'sdm classify points.csv layers/ -o results'")
    if options.classes is None and options.records is None:
        raise OptionError("no points: give a file with a class column first, or a raster of classes as --classes")
    if options.classes is not None and (
        options.class_column or options.proportions or options.records or options.select
    ):
        raise OptionError("give a file of points or a raster of classes (--classes), not both")
    if options.records is not None and bool(options.class_column) == bool(options.proportions):
        raise OptionError("say where the classes are: one --class-column, or the --proportions of several columns")


def fit_sites(sites: Sites, options: ClassifyOptions, rows: NDArray[np.bool_]) -> ConditionalMaxent:
    """Fit a model to some of the sites."""
    names = ("features", "regularization", "multiplier", "entropy", "knots", "beta", "lam", "price_folds", "seed")
    chosen = {name: getattr(options, name) for name in (*names, "tolerance", "max_iterations", "smoothing", "ratio")}
    table = pd.DataFrame(sites.values[rows], columns=list(sites.stack.names))
    target = sites.target[rows] if isinstance(sites.target, np.ndarray) else sites.target.loc[rows]
    return ConditionalMaxent(**chosen, categorical=list(sites.stack.categorical)).fit(table, target)


# ------------------------------------------------------------------------------------------------------ reading


def read_sites(options: ClassifyOptions) -> Sites:
    """Return the sites of a run: the points of a file, or points drawn from a raster of classes."""
    sites = _drawn(options) if options.classes is not None else _recorded(options)
    for title, place in options.projections.items():
        try:
            sites.projections[title] = _open(options, sites.stack.names, [place])
        except (DataError, OptionError) as error:
            raise type(error)(f"projection {title}: {error}") from error
    if options.least is not None and not options.proportions:
        found, count = np.unique(sites.target, return_counts=True)
        rare = [str(name) for name in found[count < options.least]]
        if rare:
            keep = ~np.isin(sites.target, found[count < options.least])
            sites.values, sites.target, sites.x, sites.y = (
                part[keep] for part in (sites.values, sites.target, sites.x, sites.y)
            )
            sites.notices.append(f"classes of fewer than {options.least} records left out: {', '.join(rare)}")
    if not options.proportions:
        found, count = np.unique(sites.target, return_counts=True)
        if found.size > 1 and count.min() < 2:
            hint = "draw more with --points, or" if options.classes is not None else "join it to another, or"
            raise DataError(
                f"class '{found[np.argmin(count)]}' has one record, expected at least two of every class: {hint} leave "
                "such classes out with --least 2"
            )
    return sites


def _open(options: ClassifyOptions, names: Sequence[str] | None = None, files: Sequence[str] | None = None) -> Stack:
    """Open the layers of the run, or other files, under its options."""
    categorical = [name for name in options.categorical if names is None or name in names]
    return open_stack(
        list(options.layers if files is None else files),
        categorical=categorical,
        nodata=options.nodata,
        align=options.align,
        names=names,
    )


def _recorded(options: ClassifyOptions) -> Sites:
    """Read points with their classes; the machinery for species takes classes just as well."""
    records = read_occurrences(
        str(options.records),
        crs=options.crs,
        species_column=options.class_column,
        x_column=options.x_column,
        y_column=options.y_column,
        columns=[*options.proportions, *options.select],
    )
    for column, value in options.select.items():
        name = named_column(column, [str(known) for known in records.extra.columns], Path(records.source).name)
        own = records.extra[name].astype(str).str.strip().to_numpy() == value
        if not own.any():
            raise OptionError(f"no record has '{value}' in column '{name}' of {records.source}: check --select")
        records = records.take(own)
    shares = [records.numbers(name) for name in options.proportions]
    if shares:
        records = replace(records, species=np.full(len(records), "sites", dtype=object))
    else:
        check_classes(records.species_names)
    stack = _open(options)
    area = None if options.study_area is None else StudyArea.read(options.study_area, stack.crs)
    located = locate(records, stack, study_area=area)
    values = stack.sample(*located.cells, threads=options.threads)
    points, ledger = finish(located, values, snap=options.snap, remove_duplicates=not options.keep_duplicates)
    for name in records.species_names:
        ledger.check(name)
    words = {"species name": "class", "species from": "class from"}
    notices = [*records.notes, *stack.notices]
    for old, new in words.items():
        notices = [note.replace(old, new) for note in notices]
    parts = list(points.values())
    index = np.concatenate([part.index for part in parts])
    target: Any
    if shares:
        target = pd.DataFrame({name: share[index] for name, share in zip(options.proportions, shares)})
        known = np.isfinite(target.to_numpy()).all(axis=1)
        if not known.all():
            notices.append(f"{int((~known).sum()):,} sites with a missing proportion left out")
            parts = [part.take(known) for part in parts]
            target = target.loc[known].reset_index(drop=True)
        title = Path(str(options.records)).stem
    else:
        target = _labels(np.repeat([part.species for part in parts], [len(part) for part in parts]))
        title = str(options.class_column)
    return Sites(title, *_joined(parts, target), stack, area, ledger, notices=notices)


def _joined(parts: Sequence[CleanPoints], target: Any) -> tuple[Array, Any, Array, Array]:
    values = np.vstack([part.values for part in parts]).astype(np.float64)
    x, y = (np.concatenate([getattr(part, axis) for part in parts]) for axis in "xy")
    return values, target, x, y


def _labels(names: NDArray[Any]) -> NDArray[Any]:
    """Return labels as numbers where all of them are whole numbers, so that 2 comes before 10."""
    text = names.astype(str)
    whole = all(name.isascii() and name.isdigit() and str(int(name)) == name for name in np.unique(text).tolist())
    return text.astype(np.int64) if whole else text


def _drawn(options: ClassifyOptions) -> Sites:
    """Draw points at random from a raster of classes, where all layers have values."""
    raster = Path(str(options.classes))
    if not raster.exists():
        raise DataError(f"the raster of classes '{raster}' does not exist: check the path")
    stack = _open(options)
    inside = [layer.name for layer in stack.layers if Path(layer.path).resolve() == raster.resolve()]
    notices = list(stack.notices)
    if inside:
        notices.append(f"'{inside[0]}' holds the classes, so it is not among the variables")
        names = [name for name in stack.names if name not in inside]
        if not names:
            raise DataError("the raster of classes is the only layer: give layers that tell the classes apart")
        both, stack = stack, _open(options, names)
        own = inside[0]
    else:
        both = _open(options, files=[*options.layers, str(raster)])
        extra = [name for name in both.names if name not in stack.names]
        if len(extra) != 1:
            raise DataError(f"the raster of classes '{raster.name}' has {len(extra)} bands: expected one")
        own = extra[0]
    area = None if options.study_area is None else StudyArea.read(options.study_area, stack.crs)
    drawn = sample_background(both, n=options.points, seed=options.seed, study_area=area, threads=options.threads)
    at = both.names.index(own)
    order = [both.names.index(name) for name in stack.names]
    values = np.asarray(drawn.values, dtype=np.float64)
    codes = values[:, at]
    if np.any(codes != np.round(codes)):
        some = codes[codes != np.round(codes)][0]
        raise DataError(f"the raster of classes '{raster.name}' has the value {some:g}: expected whole numbers")
    notices += [text.replace("background points", "points") for text in drawn.notices]
    colours = _colour_table(raster)
    return Sites(
        own, values[:, order], codes.astype(np.int64), drawn.x, drawn.y, stack, area, None, colours, {}, notices
    )


def _colour_table(raster: Path) -> dict[str, Colour]:
    """Return the colours that a raster's file gives its classes, if it does."""
    with rasterio.open(raster) as source:
        try:
            table = source.colormap(1)
        except ValueError:  # it has none
            return {}
    return {str(code): (int(r), int(g), int(b)) for code, (r, g, b, *_) in table.items()}


# ------------------------------------------------------------------------------------------------------ testing


def _training(label: NDArray[np.int64], percent: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which sites are for training: of every class a share is set aside, but two stay."""
    train = np.ones(label.size, dtype=bool)
    if percent:
        for c in np.unique(label):
            own = rng.permutation(np.flatnonzero(label == c))
            train[own[: min(round(own.size * percent / 100), own.size - 2)]] = False
        if train.all():
            raise DataError(f"{label.size} sites are too few to set {percent:g} % of every class aside for testing")
    return train


def _cross_validate(sites: Sites, targets: Array, options: ClassifyOptions, rng: np.random.Generator) -> ClassMeasures:
    """Predict every site by a model that was fitted without its fold."""
    label = np.argmax(targets, axis=0)
    fold = fold_numbers(label, options.folds, rng)
    p = np.empty_like(targets)
    for k in np.unique(fold):
        held = fold == k
        try:
            p[:, held] = fit_sites(sites, options, ~held).model_.distributions(sites.values[held])
        except DataError as error:
            raise DataError(f"fold {k + 1} of {options.folds}: {error}") from error
    return measure_classes(p, targets)


def _numbers(
    sites: Sites, fitted: ConditionalMaxent, tested: dict[str, ClassMeasures], train: NDArray[np.bool_]
) -> dict[str, Any]:
    solution, model = fitted.solution_, fitted.model_
    used = model.weights.shape[1]
    return {
        "title": sites.title,
        "version": __version__,
        "classes": list(model.labels),
        "sites": len(sites.values),
        "training_sites": int(train.sum()),
        "variables": list(model.names),
        **({"lambda": fitted.lam_, "beta": fitted.beta_} if hasattr(fitted, "lam_") else {}),
        "status": solution.status,
        "gap": solution.gap,
        "iterations": solution.iterations,
        "objective": solution.objective,
        "order": model.alpha,
        "feature_classes": str(fitted.features),
        "features": fitted.feature_set_.size - 1,
        "features_with_weight": used,
        "measures": {
            name: {
                "sites": round(float(m.confusion.sum())),
                "log_loss": m.log_loss,
                "accuracy": m.accuracy,
                "kappa": m.kappa,
                "mean_auc": float(np.nanmean(m.auc)) if np.isfinite(m.auc).any() else float("nan"),
                "auc": dict(zip(model.labels, m.auc.tolist())),
                "sites_given_no_probability": m.zeros,
            }
            for name, m in tested.items()
        },
    }


# ------------------------------------------------------------------------------------------------------ writing


def _write(
    stage: Path,
    sites: Sites,
    model: ClassModel,
    targets: Array,
    tested: dict[str, ClassMeasures],
    importance: Sequence[Any],
    numbers: dict[str, Any],
    options: ClassifyOptions,
    command: str,
    progress: Progress | None,
) -> dict[str, str]:
    """Write everything into a folder; return the files by what they are."""
    from sdm.report.class_figures import (
        class_colours,
        draw_class_importance,
        draw_class_profile,
        draw_confusion,
    )
    from sdm.report.class_page import write_class_page

    name, labels = safe_name(sites.title), model.labels
    files = {"run": "run.yaml", "command": "command.txt", "model": f"{name}.npz", "numbers": f"{name}.json"}
    save_classes(model, stage / files["model"])
    colours = [sites.colours.get(label, colour) for label, colour in zip(labels, class_colours(len(labels)))]
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
        files |= _write_maps(stage, name, sites, model, colours, options, numbers, progress)
    head = f"# Repeat with: sdm classify {files['run']} -o FOLDER\n"
    (stage / files["run"]).write_text(head + dump_classify_yaml(options), encoding="utf-8")
    (stage / files["command"]).write_text(command + "\n", encoding="utf-8")
    files["page"] = f"{name}.html"
    numbers["files"], numbers["notices"] = files, sites.notices
    (stage / files["numbers"]).write_text(to_json(numbers) + "\n", encoding="utf-8")
    write_class_page(stage, files["numbers"], files["page"])
    return files


def _write_maps(
    stage: Path,
    name: str,
    sites: Sites,
    model: ClassModel,
    colours: Sequence[Colour],
    options: ClassifyOptions,
    numbers: dict[str, Any],
    progress: Progress | None,
) -> dict[str, str]:
    """Write the maps of the layers and of the projections, with the pictures of the former."""
    from sdm.report.class_figures import draw_class_map, draw_entropy

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
            colours=colours,
            clamp=options.clamp,
            study_area=None if title else sites.area,
            threads=options.threads,
            tags={"title": sites.title, **({"projection": title} if title else {})},
            progress=progress,
        )
        shares = dict(zip(labels, maps.shares.tolist()))
        said = {"cells": maps.cells, "mean_entropy": maps.mean_entropy, "shares": shares}
        if title:
            numbers.setdefault("projections", {})[title] = said
        else:
            numbers["map"] = said
        files |= {f"{what} {f'projection {title}' if title else 'map'}": path.name for what, path in paths.items()}
    tif, undecided = stage / f"{name}.tif", stage / f"{name}_entropy.tif"
    codes = class_codes(labels)
    draw_class_map(tif, tif.with_suffix(".png"), title=sites.title, labels=labels, codes=codes, colours=colours)
    draw_entropy(undecided, undecided.with_suffix(".png"), title=sites.title, classes=len(labels))
    return {**files, "picture": f"{name}.png", "entropy picture": f"{name}_entropy.png"}


def _write_classes(
    path: Path, model: ClassModel, targets: Array, colours: Sequence[Colour], kind: str, measures: ClassMeasures
) -> str:
    """Write the legend of the map, and what is known of every class."""
    rows = [
        {
            "code": code,
            "class": label,
            "colour": "#{:02x}{:02x}{:02x}".format(*colour),
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
