"""The index of a batch: made of its summary alone, with every species and every failure, and nothing that runs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from evil import EVIL
from PIL import Image
from terminal import succeed

from sdm.errors import DataError
from sdm.kinds.pages import make_pages
from sdm.kinds.registry import read_results
from sdm.report.pages.index import index_page, write_index
from sdm.report.results import read_rows
from sdm.report.summary import write_summary
from sdm.run.journal import Journal

TOP = '<script type="application/json" id="rows">'


def table(text: str) -> dict[str, Any]:
    """The rows inside a page."""
    assert text.count(TOP) == 1
    found = json.loads(text.partition(TOP)[2].partition("</script>")[0])
    return dict(found)


def row(name: str, **more: Any) -> dict[str, Any]:
    folder = name.replace(" ", "_")
    own = {"folder": folder, "page": f"{folder}/{folder}.html", "preview": "", "error": ""}
    return {"species": name, "status": "converged", "training_presences": 12, "auc_train": 0.75, **own, **more}


def lost(name: str, error: str) -> dict[str, Any]:
    return {"species": name, "status": "failed", "folder": "", "page": "", "preview": "", "error": error}


def test_a_run_leaves_a_page_and_a_preview_of_every_species_in_its_summary(many: Path) -> None:
    good, failed = [], []
    for one in read_rows(many / "summary.csv"):
        (failed if one["error"] else good).append(one)
    assert len(good) == 2
    for one in good:
        assert (one["page"], one["preview"]) == tuple(
            f"{one['folder']}/{one['folder']}{e}" for e in (".html", "_preview.png")
        )
        assert (many / one["page"]).is_file()
        with Image.open(many / one["preview"]) as picture:
            assert max(picture.size) <= 160
        results = read_results(many / one["folder"])
        assert results.files["preview"] == Path(one["preview"]).name
    assert [(one["folder"], one["page"], one["preview"]) for one in failed] == [("", "", "")]


def test_the_index_of_a_run_has_every_species_and_the_reasons(many: Path) -> None:
    text = (many / "index.html").read_text(encoding="utf-8")
    assert text == index_page(many)
    rows, data = read_rows(many / "summary.csv"), table(text)
    assert data["species"] == [one["species"] for one in rows]
    assert data["page"] == data["preview"] == data["folder"] == [1, 1, 0], "they follow from the names"
    assert data["statuses"] == ["converged", "failed"]
    aucs = data["values"][[column["key"] for column in data["columns"]].index("auc_train")]
    assert aucs == [float(f"{float(one['auc_train']):.6g}") if one["auc_train"] else None for one in rows]
    assert data["error"] == data["reason"] == [-1, -1, 0]
    assert [f"lost & <b>gone</b>: {data['errors'][0]}", data["errors"][0]].count(rows[2]["error"]) == 1
    assert "lost & <b>" not in text
    assert "2 species distribution models" in text
    assert "1 could not be fitted" in text
    assert "This run is not complete" not in text


def test_only_the_summary_is_read(many: Path, tmp_path: Path) -> None:
    """Ten thousand folders are not opened: their pictures and pages are where the table says."""
    folder = tmp_path / many.name
    folder.mkdir()
    shutil.copy(many / "summary.csv", folder)
    assert "summary.parquet" not in index_page(folder), "which is not there"
    shutil.copy(many / "summary.parquet", folder)
    assert index_page(folder) == index_page(many)
    with pytest.raises(DataError, match=r"has no summary\.csv: expected the output folder of a run over several"):
        index_page(tmp_path)


def test_a_partial_run_says_what_is_missing(tmp_path: Path) -> None:
    write_summary(tmp_path, [row(f"a {k}") for k in range(1200)])
    text = write_index(tmp_path, planned=5000).read_text(encoding="utf-8")
    assert "1,200 of 5,000 species are in this table; 3,800 are not done yet" in text
    assert "--resume" in text
    assert "not complete" not in index_page(tmp_path, planned=1200)
    assert "not complete" not in index_page(tmp_path)


def test_names_and_messages_run_nothing(tmp_path: Path) -> None:
    nasty = [EVIL, "</script><script>hack()</script>", "<!--", "'\"&", "=1+1", "javascript:alert(1)", "\u2028"]
    rows = [row(name, folder=f"f{k}", page=f"f{k}/{name}.html") for k, name in enumerate(nasty)]
    write_summary(tmp_path, [*rows, *(lost(f"x{k}", f"because of {name}") for k, name in enumerate(nasty))])
    text = index_page(tmp_path)
    assert table(text)["species"] == [*nasty, *(f"x{k}" for k in range(len(nasty)))]
    assert text.count("<script") == text.count("</script") == 2, "the rows, and our own"
    assert "hack()</script>" not in text


@pytest.mark.parametrize(
    "path", ["../other/x.html", "/etc/passwd", "//evil.example/x.html", "a/../../x.html", "..\\x.html"]
)
def test_paths_that_lead_out_of_the_folder_are_left_out(tmp_path: Path, path: str) -> None:
    write_summary(tmp_path, [row("a", page=path, preview=path), row("b")])
    data = table(index_page(tmp_path))
    assert (data["page"], data["preview"]) == ([0, 1], [0, 0])
    assert path not in index_page(tmp_path)


def test_failures_come_by_reason_at_the_top(tmp_path: Path) -> None:
    many = [lost(f"few {k}", f"few {k}: {k} usable presences; expected at least 10") for k in range(2, 9)]
    rare = [lost(f"rare {k}", f"a reason of its own: {'x' * k}") for k in range(12)]
    write_summary(tmp_path, [*rare, row("good"), *many])
    text = index_page(tmp_path)
    data = table(text)
    assert data["reasons"][0] == "… usable presences; expected at least 10"
    assert len(data["reasons"]) == 13
    assert "7 species</button> … usable presences; expected at least 10" in text
    assert "<summary>5 more reasons</summary>" in text
    assert [data["reasons"][k] for k in data["reason"] if k >= 0][:2] == [
        "a reason of its own: ",
        "a reason of its own: x",
    ]
    assert data["errors"][data["error"][-1]] == "8 usable presences; expected at least 10", "the table says it in full"


def test_columns_of_other_kinds_are_shown_as_they_are_called(tmp_path: Path) -> None:
    classes = {"sites": 40, "tested_on": "test", "auc": 0.9, "log_loss": 0.3, "multiplier": 0.5, "kappa": -0.1}
    empty = {"training_presences": "", "auc_train": ""}
    write_summary(tmp_path, [row("a", **classes, **empty, own=3.25), row("b", **classes, **empty, own=0.000125)])
    text = index_page(tmp_path)
    shown = [(column["title"], column["kind"]) for column in table(text)["columns"]]
    assert shown == [
        ("Sites", "whole"), ("Evaluated on", "text"), ("AUC", "fixed"), ("Log loss", "fixed"), ("Kappa", "fixed"),
        ("own", "figure"),
    ]  # fmt: skip
    assert "AUC is computed against absences." in text
    write_summary(tmp_path, [{**row("a"), "auc_train": "", "counts": 3}])
    assert "AUC is computed" not in index_page(tmp_path)


def test_the_table_is_short(tmp_path: Path) -> None:
    """What follows from the name of a species is not repeated."""
    count = 2000
    rows = [
        row(f"Genus{k} species{k}", preview=f"Genus{k}_species{k}/Genus{k}_species{k}_preview.png")
        for k in range(count)
    ]
    write_summary(tmp_path, rows)
    empty = tmp_path / "empty"
    empty.mkdir()
    write_summary(empty, rows[:1])
    each = (len(index_page(tmp_path)) - len(index_page(empty))) / count
    assert each < 60


def test_a_report_of_a_partial_run_says_what_is_missing(many: Path, tmp_path: Path) -> None:
    """The journal knows how many species the run was given."""
    folder = tmp_path / "partial"
    shutil.copytree(many, folder)
    succeed("report", folder)
    assert "not complete" not in (folder / "index.html").read_text(encoding="utf-8")
    Journal(folder).begin(["one more", "and another"], "sdm fit …")
    succeed("report", folder)
    said = "3 of 5 species are in this table; 2 are not done yet"
    assert said in (folder / "index.html").read_text(encoding="utf-8")


def test_pages_that_the_summary_does_not_know_are_shown_after_a_report(many: Path, tmp_path: Path) -> None:
    """A run with --no-report has none, and versions before had no such columns."""
    folder = tmp_path / "old"
    shutil.copytree(many, folder)
    rows = read_rows(folder / "summary.csv")
    for one in rows:
        del one["page"], one["preview"]
    lines = [",".join(rows[0]), *(",".join(f'"{value}"' for value in one.values()) for one in rows)]
    (folder / "summary.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for path in (*folder.rglob("*.html"), *folder.rglob("*_preview.png")):
        path.unlink()
    before = (folder / "summary.csv").read_bytes()
    assert table(index_page(folder))["page"] == [0, 0, 0]
    make_pages([folder])
    data = table((folder / "index.html").read_text(encoding="utf-8"))
    assert data["page"] == data["preview"] == [1, 1, 0]
    assert len(list(folder.rglob("*_preview.png"))) == 2
    assert (folder / "summary.csv").read_bytes() == before
    (folder / "summary.csv").unlink()
    make_pages([folder])
    again = table((folder / "index.html").read_text(encoding="utf-8"))
    assert again["species"] == data["species"][:2], "species are found by their folders"
    assert again["page"] == again["preview"] == [1, 1]
    assert "auc_train" in [column["key"] for column in again["columns"]]
