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
    findings = Findings()
    task = task_of(options)
    findings.attempt(lambda: findings.problems.extend(map(with_code, task.problems(options))))
    findings.problems += map(with_code, broken(OUTPUT, options, task.options_of))
    findings.attempt(lambda: task.check_extrapolation(options.predict.extrapolation))
    findings.attempt(lambda: task.check_model(options))
    sound = not findings.problems
    _check_output(options, findings, task.command)
    task.check(options, findings)
    check_scenarios(options, findings)
    if findings.bad_rows:  # already reported: continue with the others
        options, again = options.with_values(occurrences={"max_bad_rows": 100.0}), Findings()
        task.check(options, again)
        for name in ("problems", "warnings", "facts"):
            value = getattr(findings, name)
            value += [text for text in getattr(again, name) if text not in value]
    if sound:  # inconsistent options define no partition
        _check_splits(task, options, findings)
    return findings


def _check_splits(task: AnyTask, options: RunOptions, findings: Findings) -> None:
    """Divide the records or sites of every model as a run would; unreadable inputs were reported before."""
    earlier = list(findings.problems)
    try:
        prepared = task.prepare(options)
    except SdmError as error:
        findings.problems += [] if earlier else [with_code(error)]
        return
    findings.problems += [] if earlier else map(with_code, prepared.failures.values())
    planned = []
    for name in prepared.tables:
        plan = findings.attempt(partial(task.plan, prepared, name, options))
        planned += [] if plan is None else [name]
        of = "" if prepared.single else f"{name}: "
        if plan is not None and options.layers.chooses:
            facts = findings.attempt(partial(foresee_choice, plan.table, options))
            findings.facts += [f"{of}{text}" for text in facts or ()]
        if plan is not None and plan.split is not None:
            blocks = "" if plan.split.blocks is None else f" of {plan.split.blocks.text}"
            findings.facts.append(f"{of}{len(plan.split.folds)} folds, divided by: {plan.split.method}{blocks}")
    findings.attempt(lambda: task.check_gathered(prepared, planned, options))


def _check_output(options: RunOptions, findings: Findings, command: str) -> None:
    if options.output.folder is None:
        findings.warnings.append(f"no output folder: '{command}' needs one (-o)")
        return
    target = Path(options.output.folder)
    findings.attempt(lambda: refuse_existing(target, overwrite=options.output.overwrite))
    place = target
    while not place.exists() and place != place.parent:
        place = place.parent
    if (not place.is_dir() and place != target) or not os.access(place, os.W_OK):
        findings.problems.append(f"{place} cannot be written: choose another output folder")
