"""Occurrence files of other forms that Java Maxent reads: NCEAS's columns, and species that are replicates already."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from sdm.data.records.textfile import TextTable
from sdm.errors import DataError
from sdm.java.command import JavaCommand
from sdm.storage.files import write_text

# Places of the species, x, y and the first variable in a file of the NCEAS group (Elith et al. 2006), from 0.
_SPECIES, _X, _Y, _FIRST = 1, 4, 5, 7
_REPLICATE = re.compile(r"(?P<base>.+)_(?P<number>\d+)$")


def with_plain_columns(command: JavaCommand) -> JavaCommand:
    """Return a command whose tables have the columns species, x, y and variables: where NCEAS's columns are meant
    (`nceas`), with copies in the output folder.

    Raises
    ------
    DataError
        If a table does not exist, or has fewer columns.
    """
    if not command["nceas"]:
        return command
    values = dict(command.values)
    for name in ("samplesfile", "testsamplesfile", "environmentallayers"):
        source = Path(values[name])
        if values[name] and (name != "environmentallayers" or source.is_file()):
            values[name] = str(_write_plain(source, Path(command["outputdirectory"])))
    return replace(command, values=values)


def _write_plain(source: Path, folder: Path) -> Path:
    """Write a table of NCEAS's columns with plain ones beside the results."""
    if not source.is_file():
        raise DataError(f"{source} does not exist: check the path")
    table = TextTable(source)
    if len(table.header) <= _Y:
        raise DataError(
            f"{source} has {len(table.header)} columns, and nceas means the species in column {_SPECIES + 1}, x in "
            f"column {_X + 1} and y in column {_Y + 1}: leave nceas out, or give such a file"
        )
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(["species", "x", "y", *table.header[_FIRST:]])
    for _, row in table.texts():
        writer.writerow([row[_SPECIES], row[_X], row[_Y], *row[_FIRST:]])
    folder.mkdir(parents=True, exist_ok=True)
    return write_text(folder / f"{source.stem}_columns.csv", made.getvalue(), overwrite=True)


def replicates_by_name(models: dict[str, Any], count: int) -> dict[str, list[Any]]:
    """Gather models of species called `<species>_0`, `<species>_1`, … by species (`manualreplicates`); those of which
    not all `count` are there stay by themselves."""
    if count < 2:
        return {name: [model] for name, model in models.items()}
    numbers = {name: _REPLICATE.fullmatch(name) for name in models}
    bases = dict.fromkeys(found["base"] for found in numbers.values() if found)
    whole = {base: [f"{base}_{k}" for k in range(count)] for base in bases}
    whole = {base: names for base, names in whole.items() if all(name in models for name in names)}
    taken = {name for names in whole.values() for name in names}
    gathered = {base: [models[name] for name in names] for base, names in whole.items()}
    return gathered | {name: [models[name]] for name in models if name not in taken}
