"""The figures at the top of pages are the stored numbers, in their units."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sdm.kinds.group.page import axes_section, group_figures
from sdm.kinds.group.page import species_section as group_species
from sdm.kinds.projection.page import projection_figures
from sdm.kinds.strata.page import path_section, strata_figures
from sdm.report.pages.frame import KeyFigure
from sdm.report.results import Results

AREA = {"km2": 2400.0}


def results(folder: Path, tables: dict[str, list[str]] | None = None, **numbers: Any) -> Results:
    """Stored results with some numbers and tables; files of other names in `files` exist too."""
    files = {key: f"{key}.csv" for key in tables or {}} | numbers.pop("files", {})
    for key, lines in (tables or {}).items():
        (folder / f"{key}.csv").write_text("\n".join(lines) + "\n")
    for name in files.values():
        (folder / name).touch()
    return Results(folder, "one", "", {"files": files} | numbers, {}, "", "")


def texts(figures: Sequence[KeyFigure]) -> list[tuple[str, str, str]]:
    return [(figure.name, figure.value, figure.note) for figure in figures]


def test_strata(tmp_path: Path) -> None:
    strata = {"strata": 12, "strata_with_records": 7, "tolerance": 0.03125, "choice": "one_se", "folds": 4}
    strata |= {"segments": 31, "method": "block", "prior": "area"}
    stored = results(tmp_path, training_presences=1234, strata=strata, status="converged", files={"mu picture": "mu.png"})
    assert texts(strata_figures(stored)) == [
        ("Training records", "1,234", "prior: area"),
        ("Strata", "12", "7 with records"),
        ("Tolerance", "0.03125", "selected by: one_se"),
        ("Folds", "4", "block"),
        ("Segments of the path", "31", "converged"),
    ]
