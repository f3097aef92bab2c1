"""The catalogue of the tables of every kind: pages and Python read them by their keys, and all are documented."""

import re
from pathlib import Path

import pytest

from sdm.kinds.registry import model_task

ROOT = Path(__file__).parents[2]
KINDS = ("species", "classes", "community", "group")
OF_A_RUN = {"records", "fate of records", "tune", "mapping"}  # tables of every kind, and of tuning and scenarios


@pytest.mark.parametrize("kind", KINDS)
def test_keys_and_files_are_distinct(kind: str) -> None:
    catalogue = model_task(kind).artefacts
    assert len({one.key for one in catalogue}) == len({one.file for one in catalogue}) == len(catalogue)


def test_tables_are_read_by_keys_of_the_catalogue() -> None:
    keys = {one.key for kind in KINDS for one in model_task(kind).artefacts} | OF_A_RUN
    read = set()
    for room in ("report", "api", "kinds"):
        for path in (ROOT / "sdm" / room).rglob("*.py"):
            read |= set(re.findall(r'(?:results|self|_results)\.table\("([^"]+)"\)', path.read_text(encoding="utf-8")))
    assert len(read) > 20
    assert read <= keys


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_is_in_the_documentation(kind: str) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    files = [one.file.partition("}_")[2] or one.file for one in model_task(kind).artefacts]
    assert not [file for file in files if file not in text]
