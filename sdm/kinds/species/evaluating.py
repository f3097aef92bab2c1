"""Evaluation of a species model at independent records."""

from functools import partial
from pathlib import Path

import numpy as np

from sdm.assess.measures.basic import auc, auc_deviation, boyce, log_loss
from sdm.assess.measures.presence_absence import measure_survey
from sdm.assess.measures.presence_only import measure_support
from sdm.data.background import sample_background
from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.data.records.occurrences import Occurrences, read_occurrences
from sdm.data.records.rows import RowRules
from sdm.data.records.samples import read_swd
from sdm.data.table import Survey
from sdm.data.variables import variables_line
from sdm.errors import ConflictError, GridError, MissingInputError, NoRecordsError, UnknownNameError
from sdm.kinds.inputs import check_region, check_species, open_for, row_rules, values_at
from sdm.kinds.model_task import EvaluationOptions
from sdm.models.species import Model
from sdm.options.definitions import RunOptions
from sdm.types import Array, Numbers


def evaluate_species(model: Model, options: RunOptions, evaluation: EvaluationOptions) -> Numbers:
    """Measure a model at records, compared with absences, if any, else with background."""
    occurrences, layers, truth = options.occurrences, options.layers, evaluation.truth
    if evaluation.absences is not None and evaluation.background is not None:
        raise ConflictError("--absences and --background exclude each other: use one of them")
    if truth is not None and not layers.files:
        raise ConflictError("--truth needs --layers: the prediction is compared with it cell by cell")
    notices: list[str] = []
    if layers.files:
        stack = open_for(model, layers)
        check_region(model, stack)
        notices += stack.notices
        every = read_occurrences(
            str(occurrences.file),
            crs=occurrences.crs,
            named=(None, occurrences.x_column, occurrences.y_column),
            layer=occurrences.layer,
            rules=row_rules(options),
        )
        notices += every.notes
        records = _of_species(every, evaluation.species, model)
        present = values_at(stack, records.take(~records.absent), "presences", notices, occurrences.drop_suspicious)[0]
        others, against = _others(stack, records, evaluation, occurrences.crs, notices)
    else:
        present, others, against = _from_tables(model, options, evaluation, notices)
    numbers = {"species": model.meta.get("species"), "notices": notices, **_measure(model, present, others, against)}
    if truth is not None:
        numbers["truth_correlation"] = _against_truth(model, stack, truth, evaluation.seed)
    return numbers


def _of_species(records: Occurrences, species: str | None, model: Model) -> Occurrences:
    """Return the records of the requested species, or of the species of the model; a file of one species needs no
    name."""
    names, name = records.species_names, str(model.meta.get("species"))
    check_species([] if species is None else [species], names, records.source)
    if species is None and len(names) > 1 and name not in names:
        hint = f"choose one with --species ({', '.join(names[:10])})"
        raise UnknownNameError(f"{records.source} contains several species, but not '{name}': {hint}")
    chosen = species or (name if name in names else names[0])
    return records.take(records.species.astype(str) == chosen)


def _others(
    stack: Stack, records: Occurrences, evaluation: EvaluationOptions, crs: str | None, notices: list[str]
) -> tuple[Array, str]:
    """Return the values at the points of comparison, and their type."""
    background = evaluation.background
    absent = values_at(stack, records.take(records.absent), "absences", notices)[0]
    if evaluation.absences is not None:
        away = read_occurrences(evaluation.absences, crs=crs)
        notices += away.extra_notes
        more = values_at(stack, away, "absences", notices)[0]
        return np.vstack([absent, more]), "absence"
    if background is None and len(absent):
        return absent, "absence"
    if background is not None and not background.isdigit():
        points = read_occurrences(background, crs=crs)
        notices += points.extra_notes
        return values_at(stack, points, "background points", notices)[0], "background"
    drawn = sample_background(stack, n=int(background or 10_000), seed=evaluation.seed)
    notices += drawn.notices
    return np.asarray(drawn.values, dtype=np.float64), "background"


def _against_truth(model: Model, stack: Stack, truth: str | Path, seed: int) -> float:
    """Return the correlation of the prediction with the true suitability, over random cells."""
    true_stack = open_stack(truth)
    if (true_stack.width, true_stack.height) != (stack.width, stack.height):
        sizes = [f"{grid.width:,} × {grid.height:,}" for grid in (true_stack, stack)]
        raise GridError(f"{truth} has {sizes[0]} cells, the layers have {sizes[1]}: expected the same grid")
    cells = sample_background(stack, n=10_000, seed=seed)
    true = true_stack.sample(cells.rows, cells.cols)[:, 0].astype(np.float64)
    valid = np.isfinite(true)
    predicted = model.predict(np.asarray(cells.values, dtype=np.float64)[valid])
    return float(np.corrcoef(predicted, true[valid])[0, 1])


def _from_tables(
    model: Model, options: RunOptions, evaluation: EvaluationOptions, notices: list[str]
) -> tuple[Array, Array, str]:
    """Take the variables from the columns of the files; add messages to `notices`."""
    background, species = evaluation.background, evaluation.species
    if background is not None and background.isdigit():
        hint = "needs --layers to draw points from; or give a table of background"
        raise MissingInputError(f"--background {background} {hint}")
    presences, rules = str(options.occurrences.file), row_rules(options)
    read = partial(read_swd, categorical=list(model.categorical), variables=model.names, nodata=options.layers.nodata)
    table = read(presences, rules=rules)
    check_species([] if species is None else [species], table.species_names, presences)
    present = table.table[~table.is_background if species is None else table.species == species]
    others = evaluation.absences or background
    second = None if others is None else read(others, rules=RowRules(most_bad=rules.most_bad))
    rest = table.table[table.is_background] if second is None else second.table
    notices += dict.fromkeys([*table.notes, *(() if second is None else second.notes)])
    notices.append(variables_line(model.names, model.categorical))
    if not len(rest):
        raise MissingInputError(f"{presences} has no absences or background: give --layers, --absences or --background")
    against = "absence" if evaluation.absences else "background" if background else "absence or background"
    return model.encoder.encode(present), model.encoder.encode(rest), against


def _measure(model: Model, present: Array, others: Array, against: str) -> Numbers:
    present, others = (part[np.isfinite(part).all(axis=1)] for part in (present, others))
    if not len(present) or not len(others):
        counts = f"{len(present):,} presences and {len(others):,} {against} points"
        raise NoRecordsError(f"{counts} have values: expected some of each")
    raw, raw_others = model.predict(present, "raw"), model.predict(others, "raw")
    loss = log_loss(raw)
    levels = model.meta.get("thresholds", {})
    numbers: Numbers = {
        "presences": len(present),
        "others": len(others),
        "against": against,
        "auc": auc(raw, raw_others),
        "auc_deviation": auc_deviation(raw, raw_others),
        "log_loss": loss,
        "gain": float(np.log(model.n_domain)) - loss,
        "omission": {key: float(np.mean(raw < levels[key])) for key in ("mtp", "10p", "maxsss") if key in levels},
    }
    if model.alpha > 1.0:
        numbers |= measure_support(model, present)
    if against == "absence":
        survey = measure_survey(model, Survey(present, others))
        numbers |= {"correlation": survey["cor"], "tss": survey["tss"], "presence_absence": survey}
    else:
        numbers["cbi"] = boyce(model.from_raw(raw, "cloglog"), model.from_raw(raw_others, "cloglog")).index
    return numbers
