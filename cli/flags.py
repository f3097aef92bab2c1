"""Messages with flags in place of the names of options: `--folds 5` for `test.folds=5`."""

import inspect
import re
from collections.abc import Iterable
from typing import get_args

from typer.models import OptionInfo

from sdm.options.reading import Leaf, leaves

Flags = dict[str, str]
"""Flags by the names of options: `--folds `, `--map /--no-map`, or `betamultiplier=`. A name without a dot is replaced
only in errors, where a value follows it: notices may contain conditions such as `species=Acer`."""

# The value of an option: quoted, a list or mapping, or without spaces.
_VALUE = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{[^}]*\}|[^\s,:;()]*[^\s,:;().'"]"""
_OPTION = re.compile(rf"(?<![\w./?&-])([a-z]\w*(?:\.[a-z]\w*)?)(?!\w|\.\w)(?:=({_VALUE}))?")


def run_flags(options: Iterable[Leaf]) -> Flags:
    """Return the flags of options of a run, by each of their names."""
    words = {leaf: f"--{leaf.shown.replace('_', '-')} " for leaf in options}
    flags = {leaf: f"{word}/--no-{word[2:-1]}" if leaf.flag else word for leaf, word in words.items()}
    return {name: flag for leaf, flag in flags.items() for name in leaf.spellings}


def command_flags(parameters: Iterable[inspect.Parameter]) -> Flags:
    """Return the flags of the options that a command has in addition, by the names of its parameters."""
    flags = {}
    for parameter in parameters:
        for setting in get_args(parameter.annotation)[1:]:
            if isinstance(setting, OptionInfo):
                words = map(str, [setting.default, *(setting.param_decls or ()), f"--{parameter.name}"])
                flags[parameter.name] = next(word for word in words if word.startswith("--")).replace("_", "-") + " "
    return flags


def java_flags() -> Flags:
    """Return the flags of maxent.jar for the options of a run that have one."""
    from sdm.java.flags import FLAGS

    return {leaf.dotted: f"{name}=" for leaf in leaves() if leaf.section for name in leaf.aliases if name in FLAGS}


def with_flags(text: str, flags: Flags, *, error: bool = True) -> str:
    """Return a message with flags in place of the names of options."""

    def typed(match: re.Match[str]) -> str:
        name, value = match.groups()
        on, _, off = flags.get(name, "").partition("/")
        if not on or ("." not in name and (value is None or not error)):
            return match[0]
        if value is None or value.lower() == "true":
            return on.rstrip(" =")
        return off if off and value.lower() == "false" else on + _typed(value)

    return _OPTION.sub(typed, text)


def _typed(value: str) -> str:
    """Return a value as it is typed: quoted only if it has spaces, lists with commas."""
    plain = re.sub(r"[\[\]{}'\"]", "", value).replace(": ", "=").replace(", ", ",")
    return value if re.search(r"\s", plain) else plain
