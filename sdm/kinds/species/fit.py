"""Fit of one species: partition, fit, tests, and all numbers, curves and thresholds."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sdm._version import __version__
from sdm.assess import fits
from sdm.assess.importance import Contribution, percent_contribution, permutation_importance
from sdm.assess.measures.basic import auc, auc_deviation, log_loss
from sdm.assess.measures.presence_absence import measure_survey
from sdm.assess.measures.presence_only import measure_support
from sdm.assess.measures.thresholds import TOPS, Curve, Threshold
from sdm.assess.profiles import Profile, effect, marginal, only
from sdm.assess.steps import ROUNDS, contribution_by_steps
from sdm.data.table import SampleTable
from sdm.errors import TooFewError
from sdm.estimators.species import SpeciesEstimator
from sdm.kinds.assessing import (
    Assessed,
    AssessedFit,
    AssessedModel,
    assess,
    make_bands,
    make_surfaces,
    read_pairs,
    varying,
)
from sdm.kinds.inputs import check_features
from sdm.kinds.species.inputs import SpeciesPrepared
from sdm.kinds.species.methods.method import Additions, method_of, species_estimator
from sdm.kinds.splitting import RecordPlan, make_split, set_aside
from sdm.models.interface import name_categories
from sdm.models.species import Model
from sdm.options.definitions import RunOptions
from sdm.progress.telling import going_on, step_by_step
from sdm.types import Array, Numbers, Progress

if TYPE_CHECKING:
    from sdm.kinds.species.methods.axes import GroupFits


@dataclass(frozen=True)
class SpeciesFit(AssessedFit[SampleTable, Array, SpeciesEstimator, Model]):
    """The model of one species with its certificate."""

    test_xy: tuple[Array, Array] | None  # the coordinates of the test records
    numbers: Numbers
    curve: Curve
    added: Additions


@dataclass(kw_only=True)
class MeasuredSpecies(AssessedModel[SpeciesFit]):
    """A fitted species, measured."""

    options: RunOptions
    omission: list[dict[str, float]]  # omission and area against the cumulative threshold
    roc: list[dict[str, float]]  # the same against thresholds on the scale of the map, at a resolution for charts
    profiles: list[Profile] = field(default_factory=list)


def plan_species(prepared: SpeciesPrepared, name: str, options: RunOptions) -> RecordPlan:
    """Divide the records of one species; raise for invalid folds and pairs before any work.

    If variables were dropped, folds depend on all of them.
    """
    table, points = prepared.tables[name], prepared.tests.get(name)
    if table.n_presences < 2:
        raise TooFewError(f"{table.species}: one usable presence, expected at least 2 (better 10 or more)")
    if points is None:
        table, test = set_aside(table, options)
    else:
        test = np.asarray(points.values, dtype=np.float64), points.x, points.y
    read_pairs(options.output.surfaces, table.names)
    divided = prepared.chosen[name].table if name in prepared.chosen else table
    check_features(options, divided.names)
    return RecordPlan(table, test, make_split(divided, options, prepared.stack))


def fit_species(
    prepared: SpeciesPrepared, name: str, options: RunOptions, progress: Progress | None = None
) -> SpeciesFit:
    """Fit one species, and find its thresholds."""
    with going_on(progress, "dividing the records"):  # blocks from variograms take a while
        plan = plan_species(prepared, name, options)
    table, test, places = plan.table, None, None
    if plan.test is not None:
        test, places = plan.test[0], plan.test[1:]
    method, group = method_of(options), prepared.group
    placed = () if group is None else group.placed(table.species, options)
    base = method.estimator(options, table.categorical, placed)
    with going_on(progress, "fitting"):
        fitted = fits.fit_table(table, base, progress=progress)
    added = method.additions(fitted, options)
    model = _with_record(fitted.model_, table, options)
    numbers, curve = _measure(table, fitted, model, test)
    thresholds = curve.thresholds(model.entropy)
    model = model.with_meta(thresholds={t.key: t.raw for t in thresholds})
    if added.structure is not None:
        certificate = added.structure.completed(model.meta["certificate"])
        model = model.with_meta(structure=added.structure.summary(), certificate=certificate)
    if added.bound is not None:
        model = model.with_meta(performance_bound=added.bound)
    certified = (table.species, table, test, plan.split, base, fitted, model, thresholds)
    return SpeciesFit(*certified, places, numbers, curve, added)


def measure_species(
    fit: SpeciesFit,
    prepared: SpeciesPrepared,
    options: RunOptions,
    progress: Progress | None = None,
) -> MeasuredSpecies:
    """Measure a fitted species, including the sites of a survey."""
    table, model, fitted, chosen = fit.table, fit.model, fit.fitted, _chosen_options(fit, options)
    survey, group = prepared.surveys.get(fit.name), prepared.group
    single = species_estimator(chosen, table.categorical)
    assessed = assess(fit, single, prepared, options, progress, start=fitted.warm_start())
    if options.test.importance:
        assessed.permutation = permutation_importance(
            model,
            table.presence,
            table.background,
            repeats=options.test.repeats,
            seed=options.seed,
            progress=progress,
        )
        if group is None:
            assessed.contribution = _contributions(fitted, options)
    if survey is not None:
        assessed.survey = measure_survey(model, survey)
    scale, clamped = options.predict.scale, options.predict.clamped
    shown = options.output.curve_scale(scale)
    measured = MeasuredSpecies(
        fit=fit,
        options=options,
        numbers=_all_numbers(fit, assessed, group),
        omission=fit.curve.table(),
        roc=fit.curve.sweep(lambda raw: model.from_raw(raw, scale), TOPS.get(scale)),
        notes=[*table.notes, *fitted.notes_],
        assessed=assessed,
        scale=scale,
    )
    if "temperature_note" in model.meta:
        measured.notes.append(model.meta["temperature_note"])
    if options.output.curves:
        measured.profiles = _profiles(table, model, None if group else chosen, options, progress)
        measured.bands = make_bands(model, assessed.replicates, table.presence, shown, clamped)
    measured.surfaces = make_surfaces(model, options.output.surfaces, table.presence, scale, clamped)
    return measured


def _chosen_options(fit: SpeciesFit, options: RunOptions) -> RunOptions:
    """Return the options with the selected settings, for fits to one variable."""
    chosen = method_of(options).chosen(fit.fitted, options)
    return options.with_values(fit=chosen) if chosen else options


def _all_numbers(fit: SpeciesFit, assessed: Assessed, group: "GroupFits | None") -> Numbers:
    """Return all measures, for the file of numbers."""
    numbers = fit.numbers | assessed.as_dict() | {"warnings": list(fit.table.warnings)}
    numbers["certificate"] = fit.model.meta["certificate"]
    numbers["thresholds"] = {t.key: _threshold_numbers(t, fit.model) for t in fit.thresholds}
    if fit.added.structure is not None:
        numbers["structure"] = fit.added.structure.as_dict()
    if fit.added.bound is not None:
        numbers["performance_bound"] = fit.added.bound
    if group is not None:
        numbers["shared"] = group.numbers(fit.name, fit.fitted)
    return numbers


def _contributions(fitted: Any, options: RunOptions) -> list[Contribution]:
    """Partition the gain of a model among its variables."""
    if options.test.contribution == "shares":
        return percent_contribution(fitted.problem_, fitted.coef_)
    return contribution_by_steps(fitted.problem_, options.fit.max_iterations or ROUNDS)


def fit_variables(
    table: SampleTable, options: RunOptions, columns: list[int] | None = None, progress: Progress | None = None
) -> SpeciesEstimator:
    """Fit the model of the options to a table, or to some of its columns."""
    return fits.fit_table(table, species_estimator(options, table.categorical), columns, progress=progress)


def _with_record(model: Model, table: SampleTable, options: RunOptions) -> Model:
    """Add the origin of the data to a model."""
    variables = name_categories(model.variables, table.levels, table.titles)
    record = {"species": table.species, "seed": options.seed, "background_points": table.n_background}
    record["sampling"] = table.sampling
    if table.region is not None:
        record["region"] = table.region.as_dict()
    return replace(model, variables=variables, meta={**model.meta, **record})


def _measure(table: SampleTable, fitted: SpeciesEstimator, model: Model, test: Array | None) -> tuple[Numbers, Curve]:
    """Compute the numbers of a fit, and its omission curve."""
    solution, domain = fitted.solution_, fitted.domain_
    # Predicted, not taken from the solution: presences are part of the domain and must be exactly equal to themselves.
    columns = [domain.spread(v, a.values)[: domain.n_base] for v, a in enumerate(domain.variables)]
    raw_domain = model.predict_columns(columns, "raw")
    raw = model.predict(table.presence, "raw")
    raw_test = None if test is None else model.predict(test, "raw")

    numbers: Numbers = {
        "species": table.species,
        "version": __version__,
        "training_presences": table.n_presences,
        "background_points": domain.n_base,
        "sampling": table.sampling,
        "status": solution.status,
        "gap": solution.gap,
        "iterations": solution.iterations,
        "features": model.meta["n_features"],
        "features_with_weight": solution.n_nonzero,
        "classes": model.meta["classes"],
        "regularized_gain": solution.gain,
        "gain": float(np.log(domain.n_base)) - log_loss(raw),
        "log_loss_train": log_loss(raw),
        "entropy": model.entropy,
        "auc_train": auc(raw, raw_domain),
        "mean_cloglog": float(np.mean(model.from_raw(raw_domain, "cloglog"))),
    }
    if "members" in model.meta:
        numbers["members"] = model.meta["members"]
    if model.alpha > 1.0:
        numbers |= measure_support(model, table.presence, "train")
    if raw_test is not None:
        numbers |= {
            "test_presences": len(raw_test),
            "log_loss_test": log_loss(raw_test),
            "test_gain": float(np.log(domain.n_base)) - log_loss(raw_test),
            "auc_test": auc(raw_test, raw_domain),
            "auc_test_deviation": auc_deviation(raw_test, raw_domain),
        }
        if test is not None and model.alpha > 1.0:
            numbers |= measure_support(model, test, "test")
    return numbers, Curve(raw, raw_domain, lambda values: model.from_raw(values, "cumulative"), raw_test)


def _profiles(
    table: SampleTable, model: Model, single: RunOptions | None, options: RunOptions, progress: Progress | None
) -> list[Profile]:
    """Compute the curves of every variable. Constant variables have no model of their own, and models on shared axes
    have no models of single variables (`single` None)."""
    scale, clamp = options.output.curve_scale(options.predict.scale), options.predict.clamped
    out = []
    for v in step_by_step(varying(model), progress, "response curves"):
        out.append(marginal(model, v, table.presence, scale, clamp))
        if single is not None:
            out.append(only(fit_variables(table, single, [v]).model_, model, v, scale, clamp))
        out.append(effect(model, v, table.background, clamp))
    return out


def _threshold_numbers(threshold: Threshold, model: Model) -> Numbers:
    """Return the numbers of a threshold; None for test measures without tests."""
    names = ("name", "raw", "cumulative", "area", "training_omission", "test_omission", "binomial")
    numbers = {name: getattr(threshold, name) for name in names}
    numbers |= {name: None for name in names[-2:] if np.isnan(numbers[name])}
    return numbers | {scale: float(model.from_raw(threshold.raw, scale)) for scale in ("cloglog", "logistic")}
