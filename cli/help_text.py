"""The help of commands as plain text, formatted without rich, which takes longer to import than all other modules."""

import inspect
import re
import sys
from typing import Any

from typer.core import TyperCommand, TyperGroup

WIDTH = 110
FIRST_COLUMN = 34
COMMON = "Common options"


def bold(text: str) -> str:
    """Return a title, bold on a terminal."""
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout is not None and sys.stdout.isatty() else text


def first_sentence(text: str) -> str:
    """Return the first sentence of a help text, with the default in brackets at its end."""
    return re.sub(r"(?<=\.) (?!\[).*?(?= +\[|$)", "", text, count=1)


def _place(topic: str) -> int:
    """Return the position of a topic: first the topics of the command, last the topics of all commands."""
    return 0 if topic in ("Arguments", "Options") else 2 if topic in ("General", COMMON, "Messages") else 1


class PlainHelp:
    """Writes the help of a command, or of a group of commands."""

    help: str | None
    get_params: Any

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the paragraphs of a help text. Indented ones are examples, which are not wrapped: users copy them."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(re.sub(r"\n\n(?= )", "\n\n\b\n", inspect.cleandoc(self.help or "")))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options by topic. A short help has its own topics, and only first sentences."""
        short = (ctx.obj or {}).get("short", {})
        topics: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            argument = parameter.param_type_name == "argument"
            panel = getattr(parameter, "rich_help_panel", None) or ("Arguments" if argument else "Options")
            if record is not None and (topic := short.get(parameter.name, panel)):
                text = first_sentence(record[1]) if short else record[1]
                topics.setdefault(topic, []).append((parameter.metavar if argument else record[0], text))
        for topic in sorted(topics, key=_place):
            with formatter.section(bold(topic)):
                formatter.write_dl(topics[topic], col_max=FIRST_COLUMN)


class PlainCommand(PlainHelp, TyperCommand):
    """A command with plain help."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line, without braces."""
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]


class PlainGroup(PlainHelp, TyperGroup):
    """A group of commands with plain help."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options before a command, and all commands."""
        super().format_options(ctx, formatter)
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section(bold("Commands")):
            formatter.write_dl([(name, (one.help or "").partition("\n")[0]) for name, one in commands.items() if one])
