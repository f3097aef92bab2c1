"""Check of a run of any kind: find all problems within seconds, and list them."""

import os
from functools import partial
from pathlib import Path

from sdm.errors import SdmError, with_code
from sdm.kinds.choosing import foresee_choice
from sdm.kinds.registry import task_of
from sdm.kinds.task import AnyTask, Findings
from sdm.options.definitions import RunOptions
from sdm.options.rules import OUTPUT, broken
from sdm.run.projecting.projection import check_scenarios
from sdm.storage.files import refuse_existing


def check_run(options: RunOptions) -> Findings:
    """Check options, files, grids, records, layers, splits and the output folder of a run, without fitting."""
    found = Findings()
    task = task_of(options)
    found.attempt(lambda: found.problems.extend(map(with_code, task.problems(options))))
    found.problems += map(with_code, broken(OUTPUT, options, task.options_of))
    found.attempt(lambda: task.check_extrapolation(options.predict.extrapolation))
    found.attempt(lambda: task.check_model(options))
    sound = not found.problems
    _check_output(options, found, task.command)
    task.check(options, found)
    check_scenarios(options, found)
    if found.bad_rows:  # already reported: continue with the others
        options, again = options.with_values(occurrences={"max_bad_rows": 100.0}), Findings()
        task.check(options, again)
        for name in ("problems", "warnings", "facts"):
            known = getattr(found, name)
            known += [text for text in getattr(again, name) if text not in known]
    if sound:  # inconsistent options define no partition
        _check_splits(task, options, found)
    return found


def _check_splits(task: AnyTask, options: RunOptions, found: Findings) -> None:
    """Divide the records or sites of every model as a run would; unreadable inputs were reported before."""
    known = list(found.problems)
    try:
        prepared = task.prepare(options)
    except SdmError as error:
        found.problems += [] if known else [with_code(error)]
        return
    found.problems += [] if known else map(with_code, prepared.failures.values())
    planned = []
    for name in prepared.tables:
        plan = found.attempt(partial(task.plan, prepared, name, options))
        planned += [] if plan is None else [name]
        of = "" if prepared.single else f"{name}: "
        if plan is not None and options.layers.chooses:
            facts = found.attempt(partial(foresee_choice, plan.table, options))
            found.facts += [f"{of}{text}" for text in facts or ()]
        if plan is not None and plan.split is not None:
            blocks = "" if plan.split.blocks is None else f" of {plan.split.blocks.text}"
            found.facts.append(f"{of}{len(plan.split.folds)} folds, divided by: {plan.split.method}{blocks}")
    found.attempt(lambda: task.check_gathered(prepared, planned, options))


def _check_output(options: RunOptions, found: Findings, command: str) -> None:
    if options.output.folder is None:
        found.warnings.append(f"no output folder: '{command}' needs one (-o)")
        return
    target = Path(options.output.folder)
    found.attempt(lambda: refuse_existing(target, overwrite=options.output.overwrite))
    place = target
    while not place.exists() and place != place.parent:
        place = place.parent
    if (not place.is_dir() and place != target) or not os.access(place, os.W_OK):
        found.problems.append(f"{place} cannot be written: choose another output folder")
