"""Every error has a code, which is stable and has an entry with its cause and its solution."""

import ast
import errno
import inspect
import re
from copy import copy
from pathlib import Path

import pytest

from sdm import errors
from sdm.errors import DISK_FULL, UNEXPECTED, ColumnError, DataError, OptionError, OutputError, SdmError, code_of

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "errors.md"
CLASSES = {name: one for name, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, SdmError)}
TITLES = {
    "E001": "An option has a value that is not valid",
    "E002": "A command, an option or a topic is unknown, or an argument is missing",
    "E003": "Options contradict each other, or one needs another",
    "E004": "An option does not apply to this model or command",
    "E005": "An input or the output folder is missing",
    "E006": "The run file cannot be read",
    "E007": "A species, scenario, map or measure of this name does not exist",
    "E008": "The scenarios are ambiguous",
    "E010": "The data cannot be used as they are",
    "E011": "A file or folder does not exist",
    "E012": "A file is damaged, or has an unexpected format",
    "E013": "A column is missing",
    "E014": "A table has no usable row",
    "E015": "A table holds a value that is not valid",
    "E016": "Too many rows of a table cannot be read",
    "E017": "None of the records of a species can be used",
    "E018": "Two columns, layers, sites or scenarios have the same name",
    "E019": "There are too few records, sites or points",
    "E020": "Presences, absences or classes are not as expected",
    "E021": "Tables or arrays do not match each other",
    "E030": "A layer cannot be read",
    "E031": "Layers have different grids",
    "E032": "No cell has a value in every layer",
    "E033": "The coordinate reference system is missing or unknown",
    "E034": "A number may stand for missing values",
    "E035": "A variable is missing",
    "E036": "The study area cannot be used",
    "E037": "A category does not occur in the training data",
    "E038": "A model with spatial features is used outside its region",
    "E040": "The folds cannot be made",
    "E041": "No feature can be fitted",
    "E042": "The background is empty or too small",
    "E043": "The estimator is not fitted",
    "E050": "The model file is damaged, of another program, or of a newer version",
    "E051": "The model file lacks information",
    "E052": "Results are missing or damaged",
    "E060": "A file cannot be written",
    "E061": "The output exists already",
    "E062": "The output folder contains another run",
    "E063": "The disk is full",
    "E070": "There is not enough memory, or too many files are open",
    "E071": "The cluster cannot be used",
    "E072": "The connection to the cluster was lost",
    "E073": "An optional package is not installed",
    "E099": "An error of the program",
}
"""Codes are for ever: a user finds the same entry in every version, and scripts compare them."""


def entries() -> dict[str, str]:
    """The entries of the page by the line of their title."""
    parts = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    return dict(part.split("\n", 1) for part in parts if re.match(r"E\d{3}: ", part))


def test_codes_keep_their_titles() -> None:
    assert dict(line.split(": ", 1) for line in entries()) == TITLES


def test_every_code_of_a_class_has_an_entry_that_names_the_class() -> None:
    assert {one.code for one in CLASSES.values()} | {DISK_FULL, UNEXPECTED} == set(TITLES)
    for line, entry in entries().items():
        named = set(re.findall(r"`(\w+)`", entry.partition("**Cause.**")[0]))
        assert named == {name for name, one in CLASSES.items() if one.code == line[:4]}, line


@pytest.mark.parametrize("line", entries())
def test_every_entry_has_a_cause_and_a_solution(line: str) -> None:
    entry = entries()[line]
    _, cause, solution = re.split(r"\*\*(?:Cause|Solution)\.\*\* ", entry)
    assert len(cause.split()) > 5
    assert len(solution.split()) > 3


def test_entries_have_the_exit_codes_of_their_classes() -> None:
    """A script reads from the page which errors are mistakes in its options."""
    for line, entry in entries().items():
        classes = [one for one in CLASSES.values() if one.code == line[:4]]
        options = [one for one in classes if issubclass(one, OptionError)]
        first = entry.strip().splitlines()[0]
        assert ("exit code 2" in first.lower()) == bool(options), line
        if options and len(options) < len(classes):
            assert all(first.index(f"`{one.__name__}`") > first.index(" and ") for one in options), line


def test_examples_end_with_the_code_of_their_entry() -> None:
    shown = re.compile(r"^    error: .* \[(E\d+)\]$", re.MULTILINE)
    examples = {line: shown.findall(entry) for line, entry in entries().items()}
    assert sum(map(len, examples.values())) >= 16
    assert not [line for line, codes in examples.items() if set(codes) - {line[:4]}]


def test_every_class_is_raised_somewhere() -> None:
    used = set()
    for path in (path for top in ("sdm", "cli") for path in (ROOT / top).rglob("*.py") if path.name != "errors.py"):
        called = (node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call))
        used |= {func.id for func in called if isinstance(func, ast.Name)}
    assert set(CLASSES) - used <= {"SdmError"}


def test_an_error_keeps_its_code_on_the_way_from_a_worker() -> None:
    assert copy(ColumnError("no column")).code == "E013", "by its class, as pickle does"
    assert copy(DataError("no column", code="E013")).code == "E013"
    assert DataError("else").code == "E010"


def test_errors_of_the_system_have_codes_too() -> None:
    full = OutputError("map.tif cannot be written")
    full.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert code_of(full) == "E063"
    assert code_of(OutputError("map.tif cannot be written")) == "E060"
    assert code_of(PermissionError(errno.EACCES, "Permission denied")) == "E060"
    assert code_of(MemoryError()) == "E070"
    assert code_of(ZeroDivisionError()) == "E099"
