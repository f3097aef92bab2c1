"""The help of commands, as plain text: options by topic, written without a library for it, which would take longer to
load than all the rest."""

import inspect
import re
import sys
import textwrap
from typing import Any

from typer.core import TyperCommand, TyperGroup

WIDTH = 110
FIRST_COLUMN = 34


def bold(text: str) -> str:
    """Return a title, bold on a terminal."""
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout is not None and sys.stdout.isatty() else text


def unmarked(text: str) -> str:
    """Return the text of a help without the signs of Markdown."""
    return re.sub(r"\*\*(.+?)\*\*", r"\1", text).replace(r"\_", "_")


def _example(text: str, indent: int, width: int) -> str:
    """Return what to type; where it takes several lines, those after the first stand further to the right."""
    first, rest = " " * indent, " " * (indent + 4)
    return textwrap.fill(text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False) + "\n"


def _place(topic: str) -> int:
    """Return where a topic stands: what is of the command first, what all commands have last."""
    return 0 if topic in ("Arguments", "Options") else 2 if topic in ("General", "Messages") else 1


class PlainHelp:
    """Writes the help of a command, or of a group of commands."""

    help: str | None
    get_params: Any

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what a command does in paragraphs; examples stand below each other."""
        example = False
        with formatter.indentation():
            for paragraph in inspect.cleandoc(self.help or "").split("\n\n"):
                before, example = example, paragraph.startswith("sdm ")
                if not (before and example):
                    formatter.write_paragraph()
                text = unmarked(" ".join(paragraph.split("\n")))
                if example:
                    formatter.write(_example(text, formatter.current_indent, formatter.width))
                else:
                    formatter.write_text(text)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the words that a command takes, topic by topic."""
        topics: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            argument = parameter.param_type_name == "argument"
            topic = getattr(parameter, "rich_help_panel", None) or ("Arguments" if argument else "Options")
            word = parameter.metavar or str(parameter.name).upper() if argument else record[0]
            topics.setdefault(topic, []).append((word, unmarked(record[1])))
        for topic in sorted(topics, key=_place):
            with formatter.section(bold(topic)):
                formatter.write_dl(topics[topic], col_max=FIRST_COLUMN)


class PlainCommand(PlainHelp, TyperCommand):
    """A command with plain help."""


class PlainGroup(PlainHelp, TyperGroup):
    """A group of commands with plain help."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options before a command, and all commands."""
        super().format_options(ctx, formatter)
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = [(name, unmarked(one.help or "").strip().split("\n\n")[0]) for name, one in commands.items() if one]
        with formatter.section(bold("Commands")):
            formatter.write_dl([(name, " ".join(text.split())) for name, text in rows])
