"""Fit of one class model: the fit, its tests, and all numbers, curves and thresholds."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sdm._version import __version__
from sdm.assess.assessor import OutOfFold
from sdm.assess.class_assessor import CLASSES, targets_of
from sdm.assess.measures.classes import ClassMeasures, class_profiles, measure_classes, permute_classes
from sdm.assess.measures.presence_absence import measure_predictions
from sdm.assess.measures.thresholds import Curve, Threshold
from sdm.assess.profiles import Profile, marginal
from sdm.data.site_sample import ClassSample
from sdm.errors import InapplicableError
from sdm.estimators.classes import ConditionalMaxent
from sdm.kinds.assessing import AssessedFit, AssessedModel, assess, make_bands, make_surfaces, read_pairs, varying
from sdm.kinds.classes.inputs import ClassPrepared
from sdm.kinds.inputs import check_features
from sdm.kinds.splitting import Plan, set_sites_aside, split_sites
from sdm.kinds.task import estimator_of
from sdm.maxent.solution import CONVERGED
from sdm.models.classes import ClassModel
from sdm.models.interface import name_categories
from sdm.models.presence import PresenceOf, presence_class
from sdm.options.definitions import RunOptions
from sdm.progress.telling import going_on
from sdm.types import Array, Numbers, Progress

log = logging.getLogger("sdm")

# Thresholds of Java Maxent that apply to a probability of presence.
CUTOFFS = ("mtp", "10p", "equal", "maxsss", "equal_test", "maxsss_test")


ClassPlan = Plan[ClassSample, ClassSample]
"""The sites of one model, divided."""


@dataclass(frozen=True)
class ClassFit(AssessedFit[ClassSample, ClassSample, ConditionalMaxent, ClassModel]):
    """A class model with its certificate; its thresholds are probabilities of presence."""

    presence: PresenceOf | None = None  # only for presence and absence
    roc: list[dict[str, float]] = field(default_factory=list)  # omission and false presences against the threshold


@dataclass(kw_only=True)
class MeasuredClasses(AssessedModel[ClassFit]):
    """A fitted class model, measured."""

    measures: dict[str, ClassMeasures]  # of the training sites, the test sites and all folds
    profiles: list[Profile] = field(default_factory=list)  # of all classes
    curves: list[Profile] = field(default_factory=list)  # of presence only


def class_estimator(options: RunOptions, categorical: Sequence[str]) -> ConditionalMaxent:
    """Return the estimator that the options describe."""
    values = {"features": options.fit.feature_text, "categorical": list(categorical)}
    return estimator_of(ConditionalMaxent, options, values)


def plan_classes(prepared: ClassPrepared, name: str, options: RunOptions) -> ClassPlan:
    """Divide the sites; raise for impossible options before any fit.

    If variables were dropped, folds depend on all of them.
    """
    sample, test = prepared.tables[name], prepared.tests.get(name)
    every = prepared.chosen[name].table if name in prepared.chosen else None
    check_features(options, (sample if every is None else every).names)
    if options.predict.threshold is not None:
        check_cutoff(sample.class_names, "predict.threshold")
    if options.output.surfaces:
        check_cutoff(sample.class_names, "output.surfaces")
    read_pairs(options.output.surfaces, sample.names)
    if test is None:
        train = set_sites_aside(sample, options)
        sample, test = sample.take(train), None if train.all() else sample.take(~train)
    return ClassPlan(sample, test, split_sites(sample if every is None else every, options, prepared.stack))


def check_cutoff(labels: Sequence[str], option: str) -> None:
    """Raise if a threshold is requested and the classes are not presence and absence."""
    if presence_class(labels) is None:
        listed = ", ".join(labels)
        raise InapplicableError(f"{option} needs presence and absence, and the classes are {listed}: remove it")


def fit_classes(prepared: ClassPrepared, name: str, options: RunOptions, progress: Progress | None) -> ClassFit:
    """Fit one class model, and find the thresholds of presence and absence."""
    with going_on(progress, "dividing the sites"):
        plan = plan_classes(prepared, name, options)
    table, test = plan.table, plan.test
    log.info("fitting %d classes to %s sites", len(table.class_names), f"{len(table):,}")
    base = class_estimator(options, table.categorical)
    with going_on(progress, f"fitting {len(table.class_names)} classes"):
        fitted = CLASSES.fit(table, base, progress=progress)
    model = _with_record(fitted.model_, table, prepared, options)
    presence = presence_class(model.labels)
    if presence is None:
        return ClassFit(table.title, table, test, plan.split, base, fitted, model, [])
    curve, absences = _presence_curve(PresenceOf(model, presence), table, test)
    thresholds = [cutoff for cutoff in curve.thresholds(0.0) if cutoff.key in CUTOFFS]
    model = replace(model, meta={**model.meta, "thresholds": {cutoff.key: cutoff.raw for cutoff in thresholds}})
    certified = (table.title, table, test, plan.split, base, fitted, model, thresholds)
    return ClassFit(*certified, PresenceOf(model, presence), _roc(curve, absences))


def measure_class_model(
    fit: ClassFit,
    prepared: ClassPrepared,
    options: RunOptions,
    progress: Progress | None,
) -> MeasuredClasses:
    """Measure a class model."""
    table, test, model, fitted = fit.table, fit.test, fit.model, fit.fitted
    notes, solution = list(fitted.notes_), fitted.solution_
    if solution.status != CONVERGED:
        notes.append(f"{solution.status}: {solution.message}")
    if np.isinf(fitted.multiplier_):
        notes.append("no feature improves the prediction of held-out sites: this is the null model")
    single = _as_chosen(fit.base, fitted)
    assessed = assess(fit, single, prepared, options, progress, assessor=CLASSES)
    measures = {
        kind: measure_classes(model.distributions(one.values), targets_of(one, model.classes), model.shares)
        for kind, one in (("training", table), ("test", test))
        if one is not None
    }
    out = None if assessed.validation is None else assessed.validation.out_of_fold
    if out is not None and out.held_out.any():
        mask = out.held_out
        measures["cross-validation"] = measure_classes(out.p[:, mask], out.targets[:, mask], out.constant[:, mask])
        rows = assessed.validation.rows if assessed.validation else []
        notes += [f"fold {row['fold']}: {row['status']}" for row in rows if row["status"] != CONVERGED]
    held = table if test is None else test
    if options.test.importance:
        assessed.permutation = permute_classes(
            model,
            held.values,
            targets_of(held, model.classes),
            repeats=options.test.repeats,
            seed=options.seed,
            progress=progress,
        )
    result = MeasuredClasses(
        fit=fit, measures=measures, numbers={}, notes=notes, assessed=assessed, scale="probability"
    )
    if fit.presence is not None:
        _measure_presence(result, fit.presence, out, options)
    if options.output.curves:
        result.profiles = class_profiles(model, table.values, options.predict.clamped)
    result.numbers = _numbers(result)
    return result


def _as_chosen(base: ConditionalMaxent, fitted: ConditionalMaxent) -> ConditionalMaxent:
    """Return the estimator with the selected penalties, for fits to one variable."""
    chosen: Numbers = {"regularization": fitted.regularization_, "entropy": fitted.entropy_}
    if np.isfinite(fitted.multiplier_):
        chosen["multiplier"] = fitted.multiplier_
    if hasattr(fitted, "lam_"):
        chosen |= {"lam": fitted.lam_, "beta": fitted.beta_}
    return base.changed(**chosen)


def _presence_curve(presence: PresenceOf, table: ClassSample, test: ClassSample | None) -> tuple[Curve, Array | None]:
    """Return the omission curve over the thresholds, and the probabilities at absences among the test sites."""
    p, inside = presence.predict(table.values), _present(presence, table)
    tested = absences = None
    if test is not None:
        at_test, is_present = presence.predict(test.values), _present(presence, test)
        tested, absences = at_test[is_present] if is_present.any() else None, at_test[~is_present]
    return Curve(p[inside], p[~inside], lambda raw: 100.0 * np.asarray(raw), tested), absences


def _present(presence: PresenceOf, sample: ClassSample) -> NDArray[np.bool_]:
    """Return the mask of the sites of a class."""
    return np.asarray(targets_of(sample, presence.model.classes)[presence.c] >= 0.5)


def _measure_presence(
    result: MeasuredClasses, presence: PresenceOf, out: OutOfFold | None, options: RunOptions
) -> None:
    """Add the measures of presence against absence at the best test data, and the curves of presence."""
    fit = result.fit
    kind, sample = ("training", fit.table) if fit.test is None else ("test", fit.test)
    if fit.test is None and out is not None and out.held_out.any():
        kind, values = "cross-validation", out.p[presence.c][out.held_out]
        is_present = out.targets[presence.c][out.held_out] >= 0.5
    else:
        values, is_present = presence.predict(sample.values), _present(presence, sample)
    if is_present.any() and not is_present.all():
        cutoff = next(one.raw for one in fit.thresholds if one.key == "maxsss")
        result.assessed.survey = {"of": kind, **measure_predictions(values[is_present], values[~is_present], cutoff)}
    seen = fit.table.values, "probability", options.predict.clamped
    if options.output.curves:
        result.curves = [marginal(presence, v, *seen) for v in varying(presence)]
        replicates = [PresenceOf(one, presence.c) for one in result.assessed.replicates]
        result.bands = make_bands(presence, replicates, *seen)
    result.surfaces = make_surfaces(presence, options.output.surfaces, *seen)


def _roc(curve: Curve, absences: Array | None) -> list[dict[str, float]]:
    """Return false presences and omission against the threshold, at training sites and at test sites, if any."""
    rows = []
    for row in curve.sweep(lambda raw: np.asarray(raw), 1.0):
        false = {"Training false presences": row.pop("Fractional area")}
        if absences is not None and absences.size:
            false["Test false presences"] = float(np.mean(absences >= row["Threshold"]))
        rows.append({"Threshold": row.pop("Threshold"), **false, **row})
    return rows


def _with_record(model: ClassModel, table: ClassSample, prepared: ClassPrepared, options: RunOptions) -> ClassModel:
    """Add to a model the origin of its data, for later maps and evaluations."""
    titles = {} if prepared.stack is None else prepared.stack.titles
    variables = name_categories(model.variables, prepared.levels, titles)
    colours = {
        label: "#{:02x}{:02x}{:02x}".format(*c) for label, c in prepared.colours.items() if label in model.labels
    }
    classes, column = options.classes, prepared.species_column
    record: Numbers = {
        "title": table.title,
        "seed": options.seed,
        "class_column": options.occurrences.response or classes.column,
        "proportions": classes.proportions,
        "select": {**classes.select, **({column: table.title} if column else {})},
        "colours": colours,
        "codes": {label: code for label, code in prepared.codes.items() if label in model.labels},
    }
    record = {name: value for name, value in record.items() if value or name == "seed"}
    return replace(model, variables=variables, meta={**model.meta, **record})


def _numbers(result: MeasuredClasses) -> Numbers:
    fit, fitted, model = result.fit, result.fit.fitted, result.fit.model
    solution = fitted.solution_
    warnings = [text for kind, measures in result.measures.items() if (text := measures.warning(kind))]
    return {
        "title": fit.name,
        "version": __version__,
        "classes": list(model.labels),
        "sites": len(fit.table) + (0 if fit.test is None else len(fit.test)),
        "training_sites": len(fit.table),
        "variables": list(model.names),
        "regularization": fitted.regularization_,
        "multiplier": fitted.multiplier_,
        "multiplier_search": [] if fitted.multiplier_search_ is None else fitted.multiplier_search_.rows(),
        **({"lambda": fitted.lam_, "beta": fitted.beta_} if hasattr(fitted, "lam_") else {}),
        "status": solution.status,
        "gap": solution.gap,
        "certificate": model.meta["certificate"],
        "iterations": solution.iterations,
        "objective": solution.objective,
        "order": model.alpha,
        "feature_classes": str(fitted.features),
        "features": fitted.feature_set_.size - 1,
        "features_with_weight": model.weights.shape[1],
        "measures": {name: measures.numbers(model.labels) for name, measures in result.measures.items()},
        **result.assessed.as_dict(),
        **({"thresholds": _cutoff_numbers(fit.thresholds)} if fit.thresholds else {}),
        "warnings": warnings,
    }


def _cutoff_numbers(thresholds: Sequence[Threshold]) -> Numbers:
    """Return the probability of every threshold, with its shares of misclassified presences and absences."""
    return {
        cutoff.key: {
            "name": cutoff.name,
            "probability": cutoff.raw,
            "false_presences": cutoff.area,
            "training_omission": cutoff.training_omission,
            "test_omission": None if np.isnan(cutoff.test_omission) else cutoff.test_omission,
        }
        for cutoff in thresholds
    }
