"""Outputs of a class model, and its maps of scenarios."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from sdm.assess.class_assessor import targets_of
from sdm.data.rasters.stack import Stack
from sdm.kinds.assessment_tables import write_assessment
from sdm.kinds.classes.fit import ClassFit, MeasuredClasses
from sdm.kinds.mapping import Tags, write_value_map, write_value_maps
from sdm.kinds.model_task import Artefact, MapOptions
from sdm.kinds.task import REPLICATES, Destination, Files, ModelMaps, Prepared
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.projection.targets import Present, ProjectedModel, ProjectedTargets
from sdm.maps.rasters import Raster
from sdm.maps.single import map_codes, no_class, threshold_on_scale, write_class_maps
from sdm.models.classes import ClassModel, shannon
from sdm.models.colours import hex_colour
from sdm.models.extrapolation import extrapolated
from sdm.models.presence import PresenceOf, shown_class
from sdm.options.definitions import RunOptions
from sdm.report.paper import Paper, paper_of
from sdm.report.tables import curve_rows
from sdm.storage.files import safe_name, safe_names
from sdm.types import AnyArray, Array, Progress, Row


def write_classes(measured: MeasuredClasses, prepared: Prepared, to: Destination) -> list[str]:
    """Write a class model, its figures and other maps into a folder, and register their names."""
    from sdm.report.figures.assessment import draw_confusion

    name, model = safe_name(measured.name), measured.fit.model
    write_assessment(measured, model, prepared.stack, to)
    kind, measures = list(measured.measures.items())[-1]
    picture, title, paper = to.folder / f"{name}_confusion.png", f"Confusion ({kind})", paper_of(to.options.output)
    drawn = draw_confusion(measures.confusion, model.labels, picture, title=title, paper=paper)
    to.files["confusion picture"] = drawn.name
    if "class map" in to.files:
        _write_other_maps(measured, prepared, to)
    return []


def map_classes(
    fit: ClassFit, prepared: Prepared, options: RunOptions, folder: Path, progress: Progress | None
) -> ModelMaps:
    """Write the maps of a class model: the most probable class, the probabilities and the entropy."""
    map_options, counted = MapOptions.of_run(options, prepared.study_area, progress), NoveltyMaps(fit.model)
    paths, tags = _class_paths(folder / f"{safe_name(fit.name)}.tif"), _map_tags(fit)
    made = write_class_maps(fit.model, cast(Stack, prepared.stack), paths, map_options.how, novelty=counted, tags=tags)
    files = {f"{kind} map": path.name for kind, path in paths.items()}
    return ModelMaps(folder, files, {**counted.numbers, "map": made})


def _class_paths(raster: Path) -> dict[str, Path]:
    """Return the files of the maps of classes: the most probable class first."""
    others = {kind: raster.with_name(f"{raster.stem}_{kind}.tif") for kind in ("probability", "entropy")}
    return {"class": raster, **others}


def _map_tags(fit: ClassFit) -> Tags:
    """Return the tags of the maps of a class model."""
    return {"title": fit.name} | ({} if fit.presence is None else {"species": fit.name})


def _write_other_maps(measured: MeasuredClasses, prepared: Prepared, to: Destination) -> None:
    """Write presence and absence with a threshold, and the maps of the replicates."""
    folder, options, files = to.folder, to.options, to.files
    stack, raster, replicates = cast(Stack, prepared.stack), folder / files["class map"], measured.assessed.replicates
    model, presence, tags = measured.fit.model, measured.fit.presence, _map_tags(measured.fit)
    map_options = replace(MapOptions.of_run(options, prepared.study_area, to.progress), scale=PresenceOf.scale)
    if presence is not None:
        with_rule = replace(map_options, threshold=options.predict.threshold)
        if with_rule.threshold is not None:
            measured.numbers["map_threshold"] = threshold_on_scale(presence, with_rule.threshold, presence.scale)
        models = [PresenceOf(one, presence.c) for one in replicates]
        files |= write_value_maps(presence, models, stack, raster, "map", with_rule, tags)
    else:
        for c, (label, safe) in enumerate(safe_names(model.labels).items()):
            models, path = [PresenceOf(one, c) for one in replicates], folder / f"{raster.stem}_{safe}.tif"
            files |= write_value_maps(PresenceOf(model, c), models, stack, path, f"{label} map", map_options, tags)
    for k, one in enumerate(replicates if options.output.replicate_maps else (), start=1):
        place = folder / REPLICATES / f"{raster.stem}_{k}.tif"
        if presence is not None:
            write_value_map(PresenceOf(one, presence.c), stack, place, map_options, tags)
        else:
            write_class_maps(one, stack, _class_paths(place), map_options.how, tags=tags)


def draw_class_maps(fit: ClassFit, maps: ModelMaps, prepared: Prepared, options: RunOptions) -> Files:
    """Draw the maps of classes and entropy; for two classes also a probability."""
    labels, paper = fit.model.labels, paper_of(options.output)
    return draw_rasters(maps.folder, maps.files, labels, fit.name, paper, species=fit.presence is not None)


def draw_rasters(
    folder: Path, files: Mapping[str, str], labels: Sequence[str], title: str, paper: Paper, *, species: bool
) -> Files:
    """Draw the rasters of classes and entropy, and for two classes a probability, each next to its raster."""
    from sdm.report.figures.maps.drawn import draw_map
    from sdm.report.figures.maps.plan import UNNAMED, entropy, probability

    c, shown = shown_class(labels) if len(labels) == 2 else (0, "")
    rasters = [("class", UNNAMED, 1), ("entropy", entropy(len(labels)), 1)]
    if shown:
        rasters.append(("probability", probability(shown), c + 1))
    drawn = Files()
    for key, shades, band in rasters:
        raster = folder / files[f"{key} map"]
        picture = draw_map(
            raster, raster.with_suffix(".png"), band=band, shades=shades, title=title, species=species, paper=paper
        )
        drawn["picture" if key == "class" else f"{key} picture"] = picture.name
    return drawn


def _class_rows(measured: MeasuredClasses) -> list[Row]:
    """Return the legend of the map, and the measures of every class."""
    fit, model = measured.fit, measured.fit.model
    kind, measures = list(measured.measures.items())[-1]
    samples = [sample for sample in (fit.table, fit.test) if sample is not None]
    targets = np.hstack([targets_of(sample, model.classes) for sample in samples])
    columns: dict[str, Iterable[object]] = {
        "code": map_codes(model),
        "class": model.labels,
        "colour": map(hex_colour, model.colours),
        "sites": targets.sum(axis=1).tolist(),
    }
    columns |= {f"{name} ({kind})": getattr(measures, name).tolist() for name in ("auc", "recall", "precision")}
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def _confusion_rows(measured: MeasuredClasses) -> list[Row]:
    """Return the confusion matrices: one row per observed class, one column per predicted class."""
    labels = measured.fit.model.labels
    return [
        {"data": kind, "class on record": label, **dict(zip((f"predicted {other}" for other in labels), row.tolist()))}
        for kind, measures in measured.measures.items()
        for label, row in zip(labels, measures.confusion)
    ]


def _weight_rows(measured: MeasuredClasses) -> list[Row]:
    """Return the weights of every feature for every class."""
    model = measured.fit.model
    rows = [("(constant)", model.intercept), *zip(model.feature_names, model.weights.T)]
    return [{"feature": name, **dict(zip(model.labels, weights.tolist()))} for name, weights in rows]


def _site_rows(measured: MeasuredClasses) -> list[Row]:
    """Return the sites with their targets and the predicted probabilities."""
    rows, model = [], measured.fit.model
    for part, sample in (("train", measured.fit.table), ("test", measured.fit.test)):
        if sample is None:
            continue
        p = model.distributions(sample.values)
        best = np.argmax(p, axis=0)
        labelled = isinstance(sample.target, np.ndarray)
        for i in range(len(sample)):
            row: Row = {"x": float(sample.x[i]), "y": float(sample.y[i]), "test or train": part}
            if labelled:
                row["class"] = sample.target[i]
            else:
                row |= {f"share {name}": float(sample.target[name].iloc[i]) for name in sample.target.columns}
            row["predicted"] = model.labels[best[i]]
            row |= {f"p {label}": float(p[c, i]) for c, label in enumerate(model.labels)}
            rows.append(row)
    return rows


def _profile_rows(measured: MeasuredClasses) -> list[Row]:
    """Return the response profiles of all classes in long form."""
    return [
        {
            "variable": profile.variable,
            "value": float(value),
            "category": profile.classes[k] if profile.classes else "",
            "class": label,
            "probability": float(profile.y[c, k]),
            "in training range": bool(profile.classes) or profile.lo <= value <= profile.hi,
        }
        for profile in measured.profiles
        for c, label in enumerate(measured.fit.model.labels)
        for k, value in enumerate(profile.x)
    ]


CLASS_TABLES: tuple[Artefact[MeasuredClasses], ...] = (
    Artefact("classes", "{name}_classes.csv", _class_rows),
    Artefact("confusion", "{name}_confusion.csv", _confusion_rows),
    Artefact("multipliers", "{name}_multipliers.csv", lambda m: m.numbers["multiplier_search"]),
    Artefact("weights", "{name}_weights.csv", _weight_rows),
    Artefact("sites", "{name}_sites.csv", _site_rows),
    Artefact("roc", "{name}_roc.csv", lambda m: m.fit.roc),
    # Presence has separate curves, as a species, in addition to the curves of all classes.
    Artefact("curves", "{name}_curves.csv", lambda m: curve_rows(m.curves) or _profile_rows(m)),
    Artefact("class curves", "{name}_classCurves.csv", lambda m: _profile_rows(m) if m.curves else []),
)


class ProjectedPresence(ProjectedModel):
    """A model of presence and absence."""

    shown_scale: ClassVar[str] = "probability"

    @cached_property
    def value_model(self) -> PresenceOf:
        """The probability of presence."""
        return PresenceOf.of(cast("ClassModel", self.model))

    @property
    def band(self) -> int:
        """The band of presence."""
        return self.value_model.c


class ProjectedClasses(ProjectedTargets):
    """A model of several classes; presence is the most probable class."""

    rule: ClassVar[str] = "most_probable"

    @cached_property
    def codes(self) -> list[int]:
        """The codes of the classes in a map."""
        return list(map_codes(cast("ClassModel", self.model)))

    def compute(self, columns: Sequence[AnyArray], valid: NDArray[np.bool_]) -> tuple[Array, Array, list[Present]]:
        """Return the probabilities, the values of the map, and the mask of the most probable class."""
        base = self.model.column_values(columns, None, self.extrapolation != "free")
        shown = extrapolated(self.model, base, lambda: base, columns, self.extrapolation)
        best = np.where(np.isnan(shown).any(axis=0), -1, np.argmax(np.nan_to_num(shown, nan=-1.0), axis=0))
        return base, shown, [best == np.arange(len(shown))[:, None]]

    @cached_property
    def together(self) -> dict[str, Raster]:
        """The most probable class, and the entropy."""
        colours = dict(zip(self.codes, cast("ClassModel", self.model).colours))
        most = Raster(Path(), "uint8", no_class(self.codes), colours=colours)
        return {"class": most, "entropy": Raster(Path())}

    def together_tags(self, name: str) -> dict[str, str]:
        """Return the meaning of the values of such a map."""
        labels = self.model.bands if name == "class" else ()
        return {"what": name, **{f"class_{code}": label for code, label in zip(self.codes, labels)}}

    def together_values(self, shown: Array, present: Sequence[Present]) -> dict[str, AnyArray]:
        """Return the codes of the most probable classes, and the entropies."""
        codes = np.array(self.codes, dtype=np.uint8)
        return {"class": codes[np.argmax(present[0], axis=0)], "entropy": shannon(shown)}
