"""What a newcomer is told: short help, all of it, pages in the terminal, and what a command needs."""

import os
import re
import subprocess
import sys
from contextlib import suppress

import pytest
from terminal import fail, succeed

from sdm_cli.commands.starting import GUIDE, NOT_FOR_USERS, NOT_TOPICS, shipped, title, topics
from sdm_cli.options import USED_MOST


def shown(*words: str) -> set[str]:
    """The options that a help names at the beginning of a line."""
    return set(re.findall(r"(?m)^  (?:-[a-z], )?(--[a-z-]+)", succeed(*words).stdout))


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_short_help_has_the_options_that_people_use() -> None:
    brief, whole = shown("fit", "--help"), shown("fit", "--help-all")
    assert {"--species", "--categorical", "--bias", "--features", "--multiplier", "--folds", "--output"} <= brief
    assert len(brief) <= len(USED_MOST) + 7  # those of messages, and of help itself
    assert brief < whole
    assert f"Show all options: {len(whole - brief)} more" in succeed("fit", "--help").stdout
    assert shown("fit", "--help") == brief, "showing all once does not change the short help"


@pytest.mark.parametrize(
    ("command", "own"),
    [("tune", "--multipliers"), ("path", "--epsilon"), ("classify", "--class-column"), ("joint", "--learner")],
)
def test_short_help_of_a_command_has_its_own_options(command: str, own: str) -> None:
    assert own in shown(command, "--help")
    assert "--dpi" not in shown(command, "--help")
    assert "--dpi" in shown(command, "--help-all")


def test_patterns_in_a_help_text_are_whole() -> None:
    """The help is Markdown, where underscores would vanish."""
    assert "future/{gcm}_{ssp}_{period}/" in succeed("fit", "--help").stdout


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        (
            "fit",
            "needs occurrence records and layers, or a run file: type, for example: sdm fit records.csv layers/ -o",
        ),
        ("tune", "sdm tune records.csv layers/"),
        ("curve learning", "sdm curve learning records.csv layers/"),
        ("project", "needs models and the layers of scenarios: type, for example: sdm project results/sp.npz"),
    ],
)
def test_a_command_alone_says_what_it_needs(command: str, needs: str) -> None:
    said = fail(*command.split(), code=2)
    assert needs in said
    assert "sdm example" in said


def test_help_lists_every_page() -> None:
    listed = {line.split()[0] for line in succeed("help").stdout.splitlines() if line and "sdm help" not in line}
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


def test_an_unknown_topic_says_which_are_near() -> None:
    assert "there is no topic 'glosary': did you mean glossary?" in fail("help", "glosary", code=2)
    assert "'sdm help' lists all topics" in fail("help", "qqqq", code=2)
    assert "there is no topic" in fail("help", "../README", code=2)


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


def test_every_page_has_a_topic_of_its_own() -> None:
    """Two pages of one name would hide each other."""
    pages = [page for page in shipped(GUIDE).glob("*/*.md") if page.parent.name not in NOT_FOR_USERS]
    assert len(topics()) == len([page for page in pages if page.stem not in NOT_TOPICS])
