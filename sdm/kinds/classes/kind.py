"""The task of classes: a target class, or presence and absence, at every site."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from sdm.assess.assessor import Assessor
from sdm.assess.class_assessor import CLASSES
from sdm.data.rasters.stack import Stack
from sdm.estimators.classes import ConditionalMaxent
from sdm.features.classes import refuse_rectified
from sdm.kinds.assessment_tables import ASSESSMENT
from sdm.kinds.classes.evaluating import evaluate_classes
from sdm.kinds.classes.fit import (
    ClassFit,
    ClassPlan,
    MeasuredClasses,
    check_cutoff,
    class_estimator,
    fit_classes,
    measure_class_model,
    plan_classes,
)
from sdm.kinds.classes.inputs import ClassPrepared, prepare_classes
from sdm.kinds.classes.outputs import (
    CLASS_TABLES,
    ProjectedClasses,
    ProjectedPresence,
    draw_class_maps,
    map_classes,
    write_classes,
)
from sdm.kinds.classes.words import class_evaluation_lines, class_info_lines, class_result_lines
from sdm.kinds.inputs import check_layers, narrowed, open_layers
from sdm.kinds.mapping import publish_value_map
from sdm.kinds.model_task import Catalogue, MapOptions, MapResult
from sdm.kinds.task import FEW, CheckedVariables, Findings, Task
from sdm.maps.gis.styles import publishing_maps
from sdm.maps.novelty import NoveltyMaps, novelty_places
from sdm.maps.projection.targets import ProjectedModel
from sdm.maps.single import write_class_maps
from sdm.models.classes import ClassModel
from sdm.models.presence import PresenceOf, presence_class
from sdm.options.definitions import RunOptions
from sdm.types import Array, Numbers, Row

BESIDE = ("class", "entropy")  # additional maps of `sdm predict`
LISTED = 12  # largest number of classes with printed shares
IN_SUMMARY = (
    "sites", "features_with_weight", "tested_on", "auc", "log_loss", "constant_log_loss", "multiplier", "kappa", "gap",
)  # fmt: skip


class ClassTask(Task[ClassModel, ClassPrepared, ClassPlan, ClassFit, MeasuredClasses]):
    """A target class, or presence and absence, at every site; with a response, one model per species."""

    kind: ClassVar[str] = "classes"
    called: ClassVar[str] = "a class model"
    command: ClassVar[str] = "sdm classify"
    artefacts: ClassVar[Catalogue] = (*CLASS_TABLES, *ASSESSMENT)
    assessor: ClassVar[Assessor] = CLASSES
    maps_with: ClassVar[tuple[str, ...]] = ("threshold", "extrapolation", "novelty")
    evaluates_with: ClassVar[tuple[str, ...]] = ("class_column", "proportions", "select")
    lines = staticmethod(class_result_lines)
    evaluation_lines = staticmethod(class_evaluation_lines)
    info_lines = staticmethod(class_info_lines)
    prepare = staticmethod(prepare_classes)
    plan = staticmethod(plan_classes)
    fit = staticmethod(fit_classes)
    measure = staticmethod(measure_class_model)
    estimator = staticmethod(class_estimator)
    make_maps = staticmethod(map_classes)
    draw_maps = staticmethod(draw_class_maps)
    write = staticmethod(write_classes)
    evaluate = staticmethod(evaluate_classes)

    def check_model(self, options: RunOptions) -> None:
        """Raise for invalid options of the estimator."""
        refuse_rectified(options.fit.features)
        class_estimator(options, []).check_options()

    def narrow(self, prepared: ClassPrepared, name: str, variables: Sequence[str]) -> ClassPrepared:
        """Return the inputs with some of the variables of one model."""
        tables, tests = (
            {title: one.pick(variables) if title == name else one for title, one in part.items()}
            for part in (prepared.tables, prepared.tests)
        )
        return replace(prepared, tables=tables, tests=tests, stack=narrowed(prepared.stack, variables))

    def single_estimator(self, options: RunOptions, categorical: Sequence[str]) -> ConditionalMaxent:
        """Return the estimator without trees; selected penalties are l1 with the tables of Maxent."""
        fit, changed = options.fit, dict[str, object]()
        if fit.model == "structural" or ":" in fit.features:
            changed |= {"model": "maxent", "features": "auto"}
        changed |= {"multiplier": 1.0} if fit.multiplier in (None, "auto") else {}
        changed |= {"regularization": "l1"} if fit.regularization in (None, "auto") else {}
        return class_estimator(options.model_copy(update={"fit": fit.model_copy(update=changed)}), categorical)

    def repeat(self, options: RunOptions, name: str) -> RunOptions:
        """Return the options with one species, if there are several."""
        if options.occurrences.response is None or not options.occurrences.species:
            return options
        return options.with_values(occurrences={"species": [name]})

    def records(self, prepared: ClassPrepared, name: str) -> tuple[list[Row], dict[str, int]] | None:
        """Return the record cleaning summary, one row per class."""
        ledger = prepared.ledgers.get(name)
        if ledger is None:
            return None
        rows = [{"class": row["species"], **{k: v for k, v in row.items() if k != "species"}} for row in ledger.rows()]
        return rows, ledger.total()

    def summary_row(self, numbers: Numbers) -> Numbers:
        """Return the main numbers of a model."""
        if not numbers:
            return {}
        kind, best = list(numbers["measures"].items())[-1]
        row = {**numbers, **best, "sites": numbers["sites"], "tested_on": kind, "auc": best["mean_auc"]}
        return {key: row[key] for key in IN_SUMMARY}

    def check(self, options: RunOptions, findings: Findings) -> None:
        """Find the problems of layers and sites."""
        if options.layers.files:
            stack = findings.attempt(lambda: open_layers(options, refuse=False))
            if stack is not None:
                findings.facts.append(f"{len(stack.names)} layers of {stack.width:,} × {stack.height:,} cells")
                findings.attempt(lambda: check_layers(stack, options, findings))
                findings.variables = CheckedVariables(stack.names, stack.categorical, stack.notices)
        prepared = findings.attempt(lambda: prepare_classes(options))
        if prepared is None:
            return
        findings.facts += prepared.notices
        findings.warnings += [text for text in prepared.warnings if text not in findings.warnings]
        for title, sample in prepared.tables.items():
            counts = sample.shares.sum(axis=1)
            listed = ", ".join(f"{count:,.6g} {name}" for count, name in zip(counts[:LISTED], sample.class_names))
            findings.facts.append(f"{title}: {len(sample):,} usable sites ({listed})")
            if counts.min() < FEW:
                rare = sample.class_names[int(counts.argmin())]
                findings.warnings.append(f"{title}: class '{rare}' has fewer than {FEW} sites; results will be rough")

    def map_places(self, output: Path) -> list[Path]:
        """Return the probabilities, the most probable class and the entropy."""
        return [output, *(output.with_name(f"{output.stem}_{kind}.tif") for kind in BESIDE)]

    def projected(self, model: ClassModel, name: str) -> ProjectedModel:
        """Return the probability of presence, or every class."""
        return ProjectedClasses(model, name) if presence_class(model.labels) is None else ProjectedPresence(model, name)

    def table_columns(self, model: ClassModel, values: Array, scale: str | None) -> dict[str, Sequence[object]]:
        """Return the probability of every class, and the most probable class."""
        has_value = ~np.isnan(values).any(axis=0)
        best = np.where(has_value, np.argmax(np.where(has_value, values, 0.0), axis=0), -1)
        chosen = ["" if c < 0 else model.labels[c] for c in best]
        return {**super().table_columns(model, values, scale), "class": chosen}

    def map(self, model: ClassModel, stack: Stack, output: Path, settings: MapOptions) -> MapResult:
        """Write the probabilities, the most probable class and the entropy; or presence and absence with a
        threshold."""
        tags, places = {"title": str(model.meta.get("title", ""))}, novelty_places(settings.novelty, output)
        if settings.threshold is not None:
            check_cutoff(model.labels, "--threshold")
            return publish_value_map(PresenceOf.of(model), model, stack, output, settings, tags)
        files = dict(zip(("probability", *BESIDE), self.map_places(output)))
        with publishing_maps([*files.values(), *places.values()]) as staged:
            novelty = NoveltyMaps(model, dict(zip(places, staged[len(files) :])), settings.novelty)
            paths = dict(zip(files, staged))
            numbers = write_class_maps(model, stack, paths, settings.how, novelty=novelty, tags=tags)
        shares = sorted(numbers["shares"].items(), key=lambda item: -item[1])
        listed = ", ".join(f"{name} {share:.1%}" for name, share in shares[:LISTED])
        more = f" ({len(shares) - LISTED} more)" if len(shares) > LISTED else ""
        lines = [f"written: {path} ({name})" for name, path in files.items()]
        entropy = f"mean entropy {numbers['mean_entropy']:.4f} nats"
        lines.append(f"classes: {listed}{more} of {numbers['cells']:,} cells; {entropy}")
        return MapResult(dict(files), numbers, lines).with_novelty(novelty, places)


TASK = ClassTask
