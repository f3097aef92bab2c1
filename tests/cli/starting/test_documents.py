"""What documents say is what happens: the tutorial, the files of a run and their columns, commands, options, links."""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import yaml
from documents.commands import ROOT, blocks, indented, inline, page_of, understood

from benchmarks.__main__ import FOLDERS
from sdm.options.reading import leaves
from sdm.storage.written_files import LISTED
from sdm_cli.app import whole_app
from sdm_cli.options import normalize
from tools import api_reference, option_reference
from tools.docs_figures import COPIED, DRAWN, NOTES, OF_BENCHMARKS, OF_COMMANDS, PHOTOGRAPHED, PICTURES

DOCS = ROOT / "docs"
FROM_CODE = {
    "reference/api.md": api_reference,
    "reference/options.md": option_reference,
}
WRITTEN = [
    ROOT / "README.md",
    *(path for path in sorted(DOCS.rglob("*.md")) if path.relative_to(DOCS).as_posix() not in FROM_CODE),
]
OUTPUTS = page_of("outputs").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of documentation as `make docs` has it: with the pages that are made from the code."""
    folder: Path = tmp_path_factory.mktemp("docs")
    for path in DOCS.rglob("*"):
        if path.is_file() and (name := path.relative_to(DOCS).as_posix()) not in FROM_CODE:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(path)
    for name in FROM_CODE:
        (folder / name).write_text(text_from_code(name), encoding="utf-8")
    return folder


@pytest.mark.thorough
def test_the_tutorial_says_what_a_newcomer_sees(tutorial) -> None:
    """The block of its third step is what the program prints, but for last digits."""
    (fitted,) = (said for line, said in tutorial.said.items() if line == "sdm fit run.yaml")
    numbers = re.compile(r"\d[\d.,e+-]*")
    shown = [line for line in blocks(page_of("first_model"), "text") if line.startswith(("Virtualis", "  "))]
    printed = {numbers.sub("#", line): line for line in fitted.splitlines()}
    assert len(shown) == 6
    for line in shown:
        assert numbers.sub("#", line) in printed
        for ours, theirs in zip(numbers.findall(line), numbers.findall(printed[numbers.sub("#", line)]), strict=True):
            value = float(ours.replace(",", ""))
            assert value < 1e-6 or float(theirs.replace(",", "")) == pytest.approx(value, rel=0.02), line
    assert "0 problems" in tutorial.said["sdm check run.yaml"]
    (evaluated,) = (said for line, said in tutorial.said.items() if line.startswith("sdm evaluate"))
    assert "AUC          0.96" in evaluated
    assert "correlation 0.94" in evaluated or "correlation 0.93" in evaluated


@pytest.mark.thorough
def test_the_study_shows_what_it_says(study) -> None:
    """Correcting for where people looked brings the map nearer to the truth, though the AUC of folds falls."""
    said = list(study.said.values())
    naive, corrected = (text for line, text in study.said.items() if line.startswith("sdm evaluate"))
    found = [float(re.search(r"correlation ([\d.]+) of the map", text)[1]) for text in (naive, corrected)]
    assert found[1] > found[0] + 0.02
    folds = [float(re.search(r"5 folds +AUC ([\d.]+)", text)[1]) for text in said if "5 folds" in text]
    assert folds[1] < folds[0]
    assert {"results.gpkg", "run.yaml", "Virtualis_montanus.html"} <= {
        path.name for path in (study.folder / "final").iterdir()
    }
    assert list((study.folder / "final").glob("*_sd.tif"))


def patterns(section: str) -> list[re.Pattern[str]]:
    """What the first column of the tables of a section names, or the lists before their colons, as patterns."""
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    rows += [line.partition(": ")[0] for line in section.splitlines() if line.startswith("- `")]
    words = [word for row in rows for word in re.findall(r"`([^`]+)`", row)]
    return [re.compile(re.sub(r"<\w+>", ".+", re.escape(word))) for word in words]


def part(title: str) -> str:
    """The section of the page of output files with a title, as far as the next title of its level."""
    level = title.split(" ")[0]
    return OUTPUTS.split(f"\n{title}\n", 1)[1].split(f"\n{level} ", 1)[0]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("folder", "title"), [("results", "## `sdm fit`, one species"), ("future", "## `sdm project`")]
)
def test_every_file_and_every_column_of_a_run_is_in_the_reference(tutorial, folder, title) -> None:
    files, _, _ = part(title).partition("\n### ")
    known = patterns(files)
    home: Path = tutorial.folder / folder
    names = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file() and path.name != LISTED}
    assert not [name for name in names if not any(each.fullmatch(name) for each in known)]
    for name in sorted(names):
        if name.endswith(".csv"):
            general = name.replace("Virtualis_montanus", "<species>")
            (heading,) = (line for line in OUTPUTS.splitlines() if line.startswith("### ") and f"`{general}`" in line)
            columns = patterns(part(heading))
            there = pd.read_csv(home / name, nrows=1).columns
            assert not [word for word in there if not any(each.fullmatch(word) for each in columns)], name


def test_every_option_is_in_the_reference(site: Path) -> None:
    text = (site / "reference" / "options.md").read_text(encoding="utf-8")
    for leaf in leaves():
        (row,) = (line for line in text.splitlines() if f"<br>`{leaf.dotted}` |" in line)
        assert f"`--{leaf.shown.replace('_', '-')}`" in row
        java = option_reference.java_names(leaf)
        named = [f"`{alias}`" if alias in java else f"`--{alias.replace('_', '-')}`" for alias in leaf.aliases]
        assert all(alias in row for alias in named), leaf.dotted
        assert normalize(leaf.dotted) == leaf.shown.replace("_", "-"), "the full name works in the terminal"
    assert set(option_reference.IN_R) <= {leaf.dotted for leaf in leaves()}
    (row,) = (line for line in text.splitlines() if "<br>`fit.multiplier` |" in line)
    assert row.endswith("| `betamultiplier`; `rm` (ENMeval), `regmult` (maxnet), `reg` (SDMtune) |")


def test_pages_have_the_present_names_of_options(site: Path) -> None:
    """Earlier names still work, but are not what `--help` shows."""
    former = {word for leaf in leaves() for word in (leaf.field.json_schema_extra or {}).get("formerly", [])}
    assert "price_grid" in former
    words = [word for name in former for word in (f"--{name.replace('_', '-')}", f"`{name}`")]
    for page in (ROOT / "README.md", *site.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        assert not [word for word in words if re.search(rf"{re.escape(word)}(?![\w-])", text)], page.name


OTHERS = {"break-system-packages", "mem", "part", "setting", "summary", "nworkers", "name", "no-name", "help"}
"""Options on pages that are not options of our commands: of benchmarks, of Dask, of pip, of SLURM; a name for all."""


def test_options_that_pages_speak_of_exist(site: Path) -> None:
    known = {f"--{word}" for word in OTHERS}
    todo = [whole_app()]
    while todo:
        command = todo.pop()
        todo += getattr(command, "commands", {}).values()
        known |= {word for each in command.params for word in (*each.opts, *each.secondary_opts)}
    for leaf in leaves():
        known |= {f"--{sign}{word.replace('_', '-')}" for word in leaf.spellings for sign in ("", "no-")}
    for page in (ROOT / "README.md", *site.rglob("*.md")):
        spoken = re.findall(r"`(--[a-z][\w.-]*)", page.read_text(encoding="utf-8"))
        assert not [word for word in spoken if word not in known], page.name


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_commands_in_blocks_are_understood(page: Path) -> None:
    """Nobody types a command from a page, and is told that an option does not exist."""
    understand_commands(page)


def test_examples_of_the_reference_of_commands_are_understood(site: Path) -> None:
    understand_commands(site / "reference" / "options.md")


def understand_commands(page: Path) -> None:
    """Read every command of a page as the program would."""
    lines = [*blocks(page, "sh"), *blocks(page, "text"), *indented(page), *inline(page)]
    for line in lines:
        if re.match(r"sdm [a-z]", line) and "--help" not in line and "…" not in line:
            for one in re.sub(r"   \(.*\)$| > \S+$", "", line).split(" && "):
                understood(one)


def test_names_of_other_programs_are_understood() -> None:
    """The left columns of the table of Java Maxent: every name of an option of a run works."""
    text = page_of("coming_from").read_text(encoding="utf-8")
    table = text.partition("## Java Maxent")[2].partition("```")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    pairs = [(row[k], row[k + 1]) for row in rows for k in (1, 3)]
    assert len(pairs) == 28
    for theirs, ours in pairs:
        for old, new in zip(re.findall(r"`(\w+)`", theirs), re.findall(r"`--([a-z-]+)`", ours), strict=False):
            assert normalize(old) == new


def test_the_readme_begins_with_a_picture() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert "![" in "".join(lines[:12])


def words_in(text: str) -> int:
    """The number of words, as `wc -w` counts them."""
    return len(text.split())


@pytest.mark.parametrize(("page", "limit"), [("README.md", 600), ("CONTRIBUTING.md", 700)])
def test_a_first_page_is_short(page: str, limit: int) -> None:
    assert words_in((ROOT / page).read_text(encoding="utf-8")) <= limit


def test_the_pages_that_people_write_are_short() -> None:
    """Each topic once. The pages of developers, and those made from the code, are not counted."""
    pages = [page for page in WRITTEN[1:] if DOCS / "development" not in page.parents]
    assert sum(words_in(page.read_text(encoding="utf-8")) for page in pages) <= 48_000


def test_the_changelog_is_short() -> None:
    """The first version in a paragraph of each topic, the versions after it in lines: old detail is in git."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    later, _, first = text.partition("\n## 0.1.0")
    assert 0 < words_in(first) <= 300
    assert later.count("\n## ") > 1 or words_in(text) <= 400, "until the next version"
    items = re.findall(r"^- (.+(?:\n  .+)*)", later, re.MULTILINE)
    assert items
    assert not [item for item in items if words_in(item) > 15]


def test_every_picture_of_the_site_can_be_made_again() -> None:
    """A picture that no command makes shows, one day, a page that no longer looks so."""
    folders = {DOCS: PICTURES, ROOT / "benchmarks" / "notes": NOTES}
    there = {each.name for one in folders.values() for each in one.iterdir() if not each.name.startswith("notebook_")}
    assert there == {*COPIED, *DRAWN, *OF_BENCHMARKS, *OF_COMMANDS, *PHOTOGRAPHED}
    for picture, name in OF_BENCHMARKS.items():
        folder = ROOT / "benchmarks" / FOLDERS.get(name, "").rstrip(".")
        sources = (folder / f"{name}.py").read_text() + (ROOT / "benchmarks/tools/figures.py").read_text()
        assert picture in sources, f"python -m benchmarks {name}"
    for pages, pictures in folders.items():
        text = "".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *pages.rglob("*.md")])
        assert not [path.name for path in pictures.iterdir() if f"pictures/{path.name}" not in text], "no page shows it"
    text = "".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *DOCS.rglob("*.md")])
    for picture in {*COPIED, *DRAWN, *PHOTOGRAPHED}:
        assert re.search(rf"pictures/{picture}", text)
    for picture, page in OF_COMMANDS.items():
        assert picture in (DOCS / page).read_text(encoding="utf-8")


def links(page: Path) -> list[str]:
    """The links of a page to other files, and to places in them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [link for link in re.findall(r"\]\(([^)\s]+)", text) if "://" not in link]


@cache
def text_from_code(name: str) -> str:
    """A page that is made from the code, as it is now."""
    return str(FROM_CODE[name].reference())


def leads_somewhere(page: Path, link: str) -> bool:
    """Whether the file of a link is there, and in it the title or the mark that the link names."""
    name, _, place = link.partition("#")
    target = page.parent / name if name else page
    made = f"{target.parent.name}/{target.name}"
    if not place or not (target.exists() or made in FROM_CODE):
        return target.exists() or made in FROM_CODE
    text = text_from_code(made) if made in FROM_CODE else target.read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    slugs = {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}
    return place in slugs or f'id="{place}"' in text


@pytest.mark.parametrize(
    "page",
    [*sorted(ROOT.glob("*.md")), *WRITTEN[1:], *sorted((ROOT / "benchmarks" / "notes").glob("*.md"))],
    ids=lambda page: f"{page.parent.name}-{page.stem}",
)
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    """Offline, and without the program that builds the site."""
    assert not [link for link in links(page) if not leads_somewhere(page, link)]


def test_links_of_the_pages_that_are_made_from_the_code_lead_somewhere(site: Path) -> None:
    for page in (site / name for name in FROM_CODE):
        assert not [link for link in links(page) if not leads_somewhere(page, link)]


def test_a_link_that_leads_nowhere_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One thing\n[a](page.md#one-thing) [b](page.md#another) [c](none.md) [d](#one-thing)\n")
    assert [link for link in links(page) if not leads_somewhere(page, link)] == ["page.md#another", "none.md"]


@pytest.mark.thorough
def test_the_site_is_built_without_a_warning(site: Path, tmp_path: Path) -> None:
    """With all links and places in pages; offline."""
    pytest.importorskip("mkdocs", reason="the extra 'docs' is not installed")
    (tmp_path / "mkdocs.yml").write_bytes((ROOT / "mkdocs.yml").read_bytes())
    shutil.copytree(site, tmp_path / "docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "site" / "tutorials" / "future.html").is_file()


def pages_in(part: object) -> list[str]:
    """The pages that a part of the navigation names."""
    if isinstance(part, str):
        return [part]
    inner = part.values() if isinstance(part, dict) else part
    return [name for each in inner for name in pages_in(each)]


def test_every_page_is_in_the_navigation_of_the_site(site: Path) -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").replace("!!python/object/apply:pymdownx.slugs.slugify", "")
    named = pages_in(yaml.safe_load(text)["nav"])
    assert sorted(named) == sorted(path.relative_to(site).as_posix() for path in site.rglob("*.md"))
