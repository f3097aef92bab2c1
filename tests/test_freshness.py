"""Figures in documents know with which code they were measured, and say so when that code changed."""

import json
from pathlib import Path

import pytest
from conftest import ROOT

from benchmarks.tools import harness
from benchmarks.tools.freshness import check_figures, code_at_work, code_digest, main, stamp
from benchmarks.tools.unnamed import main as tell_unnamed
from benchmarks.tools.unnamed import results_of_no_page

CODE = '"""A module."""\n\n\ndef double(x):\n    """Twice."""\n    return 2 * x  # exactly\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A page with figures of a benchmark, which measured one file in two parts."""
    for folder in ("docs", "sdm", "benchmarks/results"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "docs" / "page.md").write_text("Measured by `python -m benchmarks demo`.\n")
    (tmp_path / "sdm" / "double.py").write_text(CODE)
    measure(tmp_path, {"fast": [1.5], "large": [2.5]})
    return tmp_path


def measure(root: Path, results: dict, kept: tuple[str, ...] = ()) -> None:
    results_folder = root / "benchmarks" / "results"
    code = {"sdm/double.py": code_digest(root / "sdm" / "double.py")}
    stamp("demo", results, kept, results_folder, code)
    (results_folder / "demo.json").write_text(json.dumps({"machine": {}, **results}))


def change(root: Path, text: str) -> None:
    (root / "sdm" / "double.py").write_text(text)
    code_digest.cache_clear()


def test_figures_are_current_until_the_code_does_something_else(project, capsys):
    (found,) = check_figures(project)
    assert (found.name, found.pages, found.state) == ("demo", ("docs/page.md",), "current")
    change(project, CODE.replace("A module", "Another text").replace("  # exactly", ""))
    assert main(project) == 0, "comments and docstrings change no result"
    change(project, CODE.replace("2 * x", "3 * x"))
    (found,) = check_figures(project)
    assert found.state == "older"
    assert "sdm/double.py changed" in found.text
    assert main(project) == 1
    assert "OLDER THAN THE CODE  demo" in capsys.readouterr().out


def test_a_part_that_was_not_measured_again_stays_old(project):
    change(project, CODE.replace("2 * x", "3 * x"))
    measure(project, {"fast": [1.1], "large": [2.5]}, ("large",))
    (found,) = check_figures(project)
    assert found.state == "older", "the other part is from before"
    measure(project, {"fast": [1.1], "large": [2.5]})
    assert check_figures(project)[0].state == "current", "the same figure, measured again"


def test_parts_that_were_read_and_saved_again_are_not_new(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    monkeypatch.setattr(harness, "ROOT", tmp_path)
    told = []
    monkeypatch.setattr(harness, "stamp", lambda name, results, kept: told.append(list(kept)))
    harness.save("demo", {"fast": [1.5], "large": {"rows": [1]}})
    found = harness.earlier("demo")
    harness.save("demo", {"fast": [1.5], "large": found["large"]})
    found = harness.earlier("demo")
    found["large"]["rows"].append(2)
    harness.save("demo", {"fast": found["fast"], "large": found["large"]})
    assert told == [[], ["large"], ["fast"]]


def test_results_that_do_not_say_their_code_are_of_unknown_age(project):
    for path in (project / "benchmarks" / "results" / "measured").iterdir():
        path.unlink()
    (found,) = check_figures(project)
    assert found.state == "unknown"
    assert main(project) == 1
    (project / "docs" / "page.md").write_text("No figures.\n")
    assert main(project) == 0


def test_the_code_at_work_is_what_the_process_has_loaded():
    code = code_at_work()
    assert "benchmarks/tools/freshness.py" in code
    assert code["benchmarks/tools/freshness.py"] == code_digest(ROOT / "benchmarks" / "tools" / "freshness.py")
    assert not [name for name in code if name.startswith("tests/")]


def test_pages_of_this_project_name_their_benchmarks():
    names = {figures.name for figures in check_figures()}
    assert {"engine", "edges", "nceas", "bias"} <= names


def test_results_that_no_page_names_are_told(project, capsys):
    assert tell_unnamed(project) == 0
    for name in ("demo_small.json", "other.json", "rows.csv"):
        (project / "benchmarks" / "results" / name).write_text("{}")
    assert results_of_no_page(project) == ["other", "rows"]
    assert tell_unnamed(project) == 1
    assert "On no page: other, rows." in capsys.readouterr().out


def test_a_page_of_this_project_shows_every_result():
    assert results_of_no_page() == []
