"""Help for a newcomer: short help, all options, examples, pages, options and terms in the terminal."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from documents.commands import ROOT, understood
from terminal import fail, succeed

from sdm_cli.app import GROUPS, whole_app
from sdm_cli.commands.starting import GUIDE, NOT_FOR_USERS, NOT_TOPICS, shipped, title, topics
from sdm_cli.options import USED_MOST


def commands(group: Any, *names: str) -> Iterator[tuple[str, ...]]:
    """The words of every command."""
    for name, command in getattr(group, "commands", {}).items():
        yield (*names, name)
        yield from commands(command, *names, name)


COMMANDS = list(commands(whole_app()))
PATTERNS = {"gcm", "ssp", "period", "variable", "multiplier"}  # fields in braces that the documentation explains
OTHER_DATA = {
    *("plots.csv", "cover.csv", "sites.csv", "environment.csv", "edges.csv", "found.csv", "absent.csv"),
    *("results/sp.npz", "scenarios.csv", "runs/{multiplier}/sp.npz", "future/{gcm}/", "new.yaml"),
    *("future/{gcm}_{ssp}_{period}/", "wc2.1_10m_bioc_{gcm}_{ssp}_{period}.tif"),
}
"""Files in examples that the sample data do not have: surveys of habitats, and climates of several models."""


def rows(*words: str) -> dict[str, str]:
    """The rows of a help: the first column, and the text after it."""
    found: dict[str, str] = {}
    for line in succeed(*words).stdout.splitlines():
        row = re.match(r"  (\S.*?)(?:  +(.*))?$", line)
        if row and re.match(r"-|[A-Zr|]+\b", row[1]):
            found[row[1]] = row[2] or ""
        elif found and re.match(r" {5,}\S", line):
            found[[*found][-1]] += f" {line.strip()}"
    return found


def shown(*words: str) -> set[str]:
    """The options that a help names at the beginning of a line."""
    return set(re.findall(r"(?m)^  (?:-[a-z], )?(--[a-z-]+)", succeed(*words).stdout))


def count(text: str) -> int:
    """The number of words of a text, without the default in brackets."""
    return len([word for word in re.sub(r" *\[.*", "", text).split() if re.search(r"\w", word)])


def examples(*words: str) -> list[str]:
    """The commands in a help that can be pasted."""
    return re.findall(r"(?m)^    (sdm .*)$", succeed(*words, "--help").stdout)


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_the_first_help_fits_on_a_screen() -> None:
    text = succeed("--help").stdout
    assert [name for group in GROUPS.values() for name in group] == [*whole_app().commands]
    for group, members in GROUPS.items():
        section = text.partition(f"\n{group}:\n")[2].partition("\n\n")[0]
        lines = dict(line.split(maxsplit=1) for line in section.splitlines())
        assert list(lines) == list(members)
        assert not {name: line for name, line in lines.items() if count(line) > 10}
    assert len(examples()) == 3
    assert len(text.splitlines()) <= 60


def test_short_help_has_the_options_that_people_use() -> None:
    brief, whole = shown("fit", "--help"), shown("fit", "--help-all")
    needed = "species categorical background study-area bias preset features multiplier test-percent folds split"
    assert {f"--{word}" for word in f"{needed} block-size seed output".split()} <= brief
    assert len(brief) == len(USED_MOST) + 7  # those of messages, and of help itself
    assert brief < whole
    assert f"Show all options in full, {len(whole - brief)} more" in succeed("fit", "--help").stdout
    assert shown("fit", "--help") == brief, "showing all once does not change the short help"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_shows_no_types_or_ranges_of_the_code(words: tuple[str, ...]) -> None:
    """Such as `[x>=0]`, `INTEGER` and `list[str]`, which typer writes for some parameters."""
    for word in ("--help", "--help-all") if "--help-all" in shown(*words, "--help") else ("--help",):
        text = succeed(*words, word).stdout
        leak = re.search(r"[<>]=|\[\w+[<>]|\w\[\w|\b(INTEGER|FLOAT|BOOLEAN|None|True|False)\b", text)
        assert leak is None, leak


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_short_help_has_a_short_sentence_for_everything(words: tuple[str, ...]) -> None:
    text = succeed(*words, "--help").stdout
    assert succeed(*words, "-h").stdout == text
    for name, line in rows(*words, "--help").items():
        assert count(re.split(r"(?<=\.) ", line)[0]) <= 12, (name, line)
    assert "<" not in text
    assert set(re.findall(r"\{(.*?)\}", text)) <= PATTERNS
    assert not re.search(r"[`*_]{2}|`", text), "signs of Markdown"
    if "--help-all" in shown(*words, "--help"):
        whole = succeed(*words, "--help-all").stdout
        assert "<" not in whole
        assert set(re.findall(r"\{(.*?)\}", whole)) <= PATTERNS | {"n"}


def test_examples_can_be_pasted_in_the_folder_of_the_sample_data() -> None:
    """Every example is understood, on one line; its inputs are sample data, or written by another example."""
    every = [line for words in [(), *COMMANDS] for line in examples(*words)]
    assert len(every) > 60
    made = {path.name for path in (ROOT / "sample_data").iterdir()} | {"results", "Virtualis_montanus.npz"}
    for line in every:
        assert len(line) <= 110, line
        understood(re.sub(r" > \S+$", "", line))
        made |= set(re.findall(r"(?:-o |> )(\S+)", line)) | set(re.findall(r"sdm convert \S+ (\S+)", line))
    for line in every:
        for word in shlex.split(re.sub(r"(-o|>) \S+", "", line)):
            if re.search(r"(\.(csv|npz|tif|yaml|lambdas)|/)$", word):
                name = word.partition("=")[2] or word
                assert name in OTHER_DATA or name.split("/")[0] in made, line


@pytest.mark.parametrize(
    "words", [words for words in COMMANDS if words not in (("curve",), ("version",))], ids=" ".join
)
def test_help_teaches_by_example(words: tuple[str, ...]) -> None:
    assert any(line.startswith(f"sdm {' '.join(words)}") for line in examples(*words))


@pytest.mark.parametrize(
    ("command", "own"),
    [("tune", "--multipliers"), ("path", "--epsilon"), ("classify", "--class-column"), ("joint", "--learner")],
)
def test_short_help_of_a_command_has_its_own_options(command: str, own: str) -> None:
    assert own in shown(command, "--help")
    assert "--dpi" not in shown(command, "--help")
    assert "--dpi" in shown(command, "--help-all")


def test_all_options_are_explained_in_full() -> None:
    """Also values that do not fit beside the name, other names, and the default."""
    text = rows("fit", "--help-all")["--split KIND"]
    assert "With leave-one-out, each record is a fold." in text
    assert "--fold-column contains the folds" in text
    assert text.endswith("[default: random]")
    assert "(also --rm, --betamultiplier)" in rows("fit", "--help-all")["--multiplier auto|NUMBER"]


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        (
            "fit",
            "needs occurrence records and layers, or a run file: type, for example: sdm fit occurrences.csv layers/",
        ),
        ("tune", "sdm tune occurrences.csv layers/"),
        ("curve learning", "sdm curve learning occurrences.csv layers/"),
        ("project", "needs models and the layers of scenarios: type, for example: sdm project results --scenarios"),
    ],
)
def test_a_command_alone_says_what_it_needs(command: str, needs: str) -> None:
    said = fail(*command.split(), code=2)
    assert needs in said
    assert "sdm example" in said


def test_help_lists_every_page() -> None:
    listed = {line.split()[0] for line in succeed("help").stdout.splitlines() if line and "sdm help " not in line}
    assert listed == set(topics())
    assert {"bias", "glossary", "scenarios"} <= listed
    assert all(title(page) and not title(page).startswith("#") for page in topics().values())


def test_help_shows_a_page() -> None:
    page = topics()["bias"].read_text(encoding="utf-8")
    assert succeed("help", "bias").stdout.strip() == page.strip()
    assert succeed("help", "Many-Species").stdout.startswith("# ")


def test_a_page_is_laid_out_on_a_terminal() -> None:
    ours, theirs = pytest.importorskip("pty").openpty()
    command = [sys.executable, "-m", "sdm_cli.main", "help", "explained"]
    with subprocess.Popen(command, stdout=theirs, env={**os.environ, "TERM": "xterm", "COLUMNS": "90"}) as started:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # how Linux says that the other end is closed
            while part := os.read(ours, 65536):
                shown += part
    os.close(ours)
    assert started.returncode == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode())
    assert "Maximum entropy in plain words" in text
    assert "engine.md" in text, "what the next topic is called"
    assert "## " not in text
    assert "|---|" not in text


@pytest.mark.parametrize("name", ["multiplier", "--rm", "fit.multiplier", "betamultiplier"])
def test_help_finds_options_under_every_name(name: str) -> None:
    said = succeed("help", name).stdout
    assert said.startswith("--multiplier auto|NUMBER (fit.multiplier)\n  Regularisation multiplier;")
    assert "also --rm, --betamultiplier" in said


def test_help_finds_terms_and_lists_other_entries() -> None:
    said = succeed("help", "multiplier").stdout.splitlines()
    assert any(line.startswith("--multipliers N,… (tune.multipliers): Regularisation multipliers") for line in said)
    assert any(line.startswith("regularisation multiplier (glossary): ") for line in said)
    assert re.match(r"\w+, absence \(glossary\)\n  \w", succeed("help", "absence").stdout)
    assert "--split KIND" not in succeed("help", "split").stdout, "all values are shown where there is space"


def test_an_unknown_topic_says_which_are_near() -> None:
    assert "there is no page, option or term 'glosary': did you mean glossary?" in fail("help", "glosary", code=2)
    assert "'sdm help' lists all pages" in fail("help", "qqqq", code=2)
    assert "there is no page" in fail("help", "../README", code=2)
    assert "there is no page" in fail("help", "", code=2)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("sdm proj", "project"), ("sdm fit --categ", "--categorical"), ("sdm fit --max-unc", "--max-uncertainty")],
)
def test_the_shell_completes_commands_and_options(typed: str, offered: str) -> None:
    """Also options that the short help leaves out."""
    position = str(len(typed.split()) - 1)
    asked = {**os.environ, "_SDM_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": position}
    done = subprocess.run([sys.executable, "-m", "sdm_cli.main"], env=asked, capture_output=True, text=True)
    assert done.stdout.split() == [offered], done.stderr


def test_the_shell_is_told_how_to_complete() -> None:
    asked = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [sys.executable, "-m", "sdm_cli.main", "--show-completion", "bash"]
    done = subprocess.run(command, env=asked, capture_output=True, text=True)
    assert "_SDM_COMPLETE=complete_bash" in done.stdout, done.stderr


def test_help_shows_the_entry_of_an_error() -> None:
    """Whoever reads a code at the end of a message types it."""
    shown = succeed("help", "e013").stdout
    assert shown.startswith("## E013: A column is missing\n")
    assert "**Solution.** Name the columns: `--x-column east" in shown
    assert "E014" not in shown
    assert "there is no page, option or term 'E998'" in fail("help", "E998", code=2)


def test_every_page_has_a_topic_of_its_own() -> None:
    """Two pages of one name would hide each other."""
    pages = [page for page in shipped(GUIDE).glob("*/*.md") if page.parent.name not in NOT_FOR_USERS]
    assert len(topics()) == len([page for page in pages if page.stem not in NOT_TOPICS])
