"""Commands of the documentation: found in its blocks, run as a reader would, or read without running."""

import re
import shlex
from functools import cache
from pathlib import Path

from sdm.options.reading import leaves, make_options
from sdm.options.rules import TESTING, refuse_broken
from sdm_cli.app import whole_app
from sdm_cli.commands.starting import topics

ROOT = Path(__file__).parents[3]


def page_of(topic: str) -> Path:
    """The page of the documentation that `sdm help` shows for a topic."""
    return topics()[topic]


def blocks(page: Path, language: str) -> list[str]:
    """The lines of all blocks of a page in a language, in order."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [line for block in found for line in block.splitlines() if line.strip()]


def indented(page: Path) -> list[str]:
    """The commands of a page that stand in indented blocks."""
    return re.findall(r"^    (sdm [a-z].*)$", page.read_text(encoding="utf-8"), re.MULTILINE)


def inline(page: Path) -> list[str]:
    """The commands with arguments that stand in the text and in the tables of a page; not bare names, and no help."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = [line.replace("\\|", "|") for line in re.findall(r"`(sdm [a-z][^`]*)`", text)]
    return [
        line for line in found if len(line.split()) > 2 and not line.split()[-1].startswith("--") and "…" not in line
    ]


_command = cache(lambda: whole_app())


def small_pictures(words: list[str]) -> list[str]:
    """A command without the `sdm` before it, with small pictures if it draws any: large ones take most of its time."""
    command = _command()
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    draws = any(each.name == "output__dpi" for each in command.params)
    return [*words, "--dpi", "72"] if draws else words


def understood(line: str) -> None:
    """Read a command, the values of its options, and whether those about testing agree; nothing is run."""
    words = shlex.split(line, comments=True)
    assert words.pop(0) == "sdm", line
    command, name = _command(), "sdm"
    while hasattr(command, "commands") and words:
        name = words.pop(0)
        command = command.commands[name]
    # What ends the program while it reads, such as --help, is not asked for here.
    context = command.make_context(name, words)
    keys = {leaf.dotted.replace(".", "__"): leaf.dotted for leaf in leaves()}
    given = {keys[key]: value for key, value in context.params.items() if key in keys}
    options = make_options({dotted: value for dotted, value in given.items() if value not in (None, [], ())})
    refuse_broken(TESTING, options, options.kind or "species")
