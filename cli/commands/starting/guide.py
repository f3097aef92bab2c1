"""`sdm help`: the pages of the documentation, without a browser and without the internet."""

import difflib
import sys
from functools import partial
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import with_console
from sdm_cli.shipped import GUIDE, shipped

NOT_TOPICS = ("index", "api")  # the first page of the site, and the reference of Python (help() of Python shows it)


def topics() -> dict[str, str]:
    """Return the title of every page that can be shown, by its topic."""
    found = {}
    for path in sorted(shipped(GUIDE).glob("*.md")):
        if path.stem not in NOT_TOPICS:
            with path.open(encoding="utf-8") as lines:
                found[path.stem] = lines.readline().lstrip("# ").strip()
    return found


@partial(with_console, common=["debug"], name="help")
def help_command(
    console: Console,
    topic: Annotated[str | None, typer.Argument(help="The topic; without one, all topics are listed.")] = None,
) -> None:
    """Show a page of the documentation in the terminal: how to do something, what a file or a word means.

    **Examples**

    sdm help

    sdm help bias

    sdm help glossary
    """
    from sdm.errors import OptionError

    known = topics()
    if topic is None:
        width = max(map(len, known))
        console.lines(f"{name:<{width}}  {title}" for name, title in known.items())
        console.say("\nnow: sdm help TOPIC; for the options of a command: sdm fit --help")
        return
    name = topic.lower().removesuffix(".md").replace("-", "_")
    if name not in known:
        near = difflib.get_close_matches(name, known, 3)
        like = f"did you mean {' or '.join(near)}?" if near else "'sdm help' lists all topics"
        raise OptionError(f"there is no topic {topic!r}: {like} (for the options of a command: sdm fit --help)")
    text = (shipped(GUIDE) / f"{name}.md").read_text(encoding="utf-8")
    if sys.stdout is None or not sys.stdout.isatty():
        console.say(text)
        return
    from rich.console import Console as Terminal
    from rich.markdown import Markdown

    Terminal().print(Markdown(text, hyperlinks=False))  # links are names of other topics
