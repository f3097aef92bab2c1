"""The table of a run over several species: the main numbers of each, whatever became of it."""

from pathlib import Path

from sdm.kinds.task import AnyTask, ModelResult
from sdm.report.summary import write_summary
from sdm.run.journal import Journal, Record
from sdm.run.run_folder import RunFolder
from sdm.storage.locks import is_locked
from sdm.types import Row


def summary_row(task: AnyTask, result: ModelResult) -> Row:
    """Return the row of one model; page and preview are relative to the folder of the batch."""
    row: Row = {"species": result.name, "status": "failed" if result.error else result.numbers["status"]}
    row |= {key: value for key, value in task.summary_row(result.numbers).items() if value is not None}
    folder = result.folder.name if result.folder else ""
    shown = {key: f"{folder}/{result.files[key]}" if key in result.files else "" for key in ("page", "preview")}
    return row | {"folder": folder, **shown, "error": result.error or ""}


def summary_rows(record: Record) -> list[Row]:
    """Return the rows of all species of a journal, in the order of the run."""
    return [entry.row for entry in record.in_order]


def renew_summary(folder: Path) -> None:
    """Write the table of a run again from its journal, which is ahead of the table if the run was killed; not while it
    is at work, nor where there is no journal."""
    record = Journal(folder).read()
    if record.planned and not is_locked(folder):
        record.entries |= {entry.species: entry for entry in RunFolder(folder).left_over()}
        write_summary(folder, summary_rows(record))
