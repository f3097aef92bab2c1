"""Messages with flags in place of the names of options: `--folds 5` for `test.folds=5`."""

import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from typer.models import OptionInfo

from sdm.options.reading import Leaf, leaves


@dataclass(frozen=True)
class Flag:
    """The form of an option in a command."""

    word: str
    switch: bool = False  # without a value
    sign: str = " "  # between the flag and its value


Flags = dict[str, Flag]
"""Flags by the names of options. A name without a dot is replaced only if a value follows it."""

# The value of an option: quoted, a list or mapping, or without spaces.
_VALUE = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{[^}]*\}|[^\s,:;()]*[^\s,:;().'"]"""
_OPTION = re.compile(rf"(?<![\w./?&-])([a-z]\w*(?:\.[a-z]\w*)?)(?!\w|\.\w)(?:=({_VALUE}))?")


def run_flags(options: Iterable[Leaf]) -> Flags:
    """Return the flags of options of a run, by each of their names."""
    flags = {leaf: Flag(f"--{leaf.shown.replace('_', '-')}", leaf.flag) for leaf in options}
    return {name: flag for leaf, flag in flags.items() for name in leaf.spellings}


def command_flags(parameters: Iterable[inspect.Parameter]) -> Flags:
    """Return the flags of the options that a command has in addition, by the names of its parameters."""
    flags = {}
    for parameter in parameters:
        for setting in get_args(parameter.annotation)[1:]:
            if isinstance(setting, OptionInfo):
                words = map(
                    str, [setting.default, *(setting.param_decls or ()), f"--{parameter.name.replace('_', '-')}"]
                )
                flags[parameter.name] = Flag(next(word for word in words if word.startswith("--")))
    return flags


def java_flags() -> Flags:
    """Return the flags of maxent.jar for the options of a run that have one."""
    from sdm.java.flags import FLAGS

    named = [(leaf.dotted, name) for leaf in leaves() if leaf.section for name in leaf.aliases if name in FLAGS]
    return {dotted: Flag(name, sign="=") for dotted, name in named}


def with_flags(text: str, flags: Flags) -> str:
    """Return a message with flags in place of the names of options."""

    def typed(match: re.Match[str]) -> str:
        flag, value = flags.get(match[1]), match[2]
        if flag is None or (value is None and "." not in match[1]):
            return match[0]
        if flag.switch and value is not None:
            return flag.word.replace("--", "--no-") if value.lower() == "false" else flag.word
        return flag.word if value is None else f"{flag.word}{flag.sign}{_typed(value)}"

    return _OPTION.sub(typed, text)


def _typed(value: str) -> str:
    """Return a value as it is typed: quoted only if it has spaces, lists with commas."""
    plain = re.sub(r"[\[\]{}'\"]", "", value).replace(": ", "=").replace(", ", ",")
    return value if re.search(r"\s", plain) else plain
