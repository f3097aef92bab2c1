"""The table of a run over several species: the main numbers of each, whatever became of it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sdm.files import write_text
from sdm.report.tables import table_text
from sdm.workflow.running.journal import Record
from sdm.workflow.task import ModelResult, Task


def summary_row(task: Task, result: ModelResult) -> dict[str, Any]:
    """Return the row of one model."""
    row: dict[str, Any] = {"species": result.name, "status": "failed" if result.error else result.numbers["status"]}
    row |= {key: value for key, value in task.summary_row(result.numbers).items() if value is not None}
    return row | {"folder": result.folder.name if result.folder else "", "error": result.error or ""}


def summary_rows(record: Record) -> list[dict[str, Any]]:
    """Return the rows of all species of a journal, in the order of the run."""
    return [record.entries[name].row for name in record.planned if name in record.entries]


def write_summary(folder: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write the table into the folder of a run."""
    write_text(folder / "summary.csv", table_text(list(rows)), overwrite=True)
