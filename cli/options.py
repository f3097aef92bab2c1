"""Command-line options made from the options of a run: one definition, in `sdm.options.definitions`."""

import inspect
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sdm.errors import OptionError
from sdm.options.applies import STUDIES, applies, refuse_other_studies
from sdm.options.definitions import RunOptions
from sdm.options.reading import PATHS, Leaf, leaves
from sdm_cli.console import Console

PANELS = {
    "occurrences": "Occurrences",
    "layers": "Layers",
    "background": "Background",
    "fit": "Model",
    "test": "Testing",
    "predict": "Map",
    "project": "Scenarios",
    "output": "Output",
    "tune": "Tuning",
    "curve": "Curves",
    "path": "Path",
    "classes": "Classes",
    "joint": "Joint model",
    "cluster": "Cluster",
    "": "General",
}
USED_MOST = (
    "occurrences.species", "layers.categorical", "background.bias", "fit.features", "fit.multiplier",
    "test.folds", "test.split", "predict.threshold", "project.scenarios", "output.folder", "output.overwrite",
    "processes",
)  # fmt: skip
"""Options that the short help of a command shows, where they apply, besides those of its own section."""

COMPLETING = "_SDM_COMPLETE" in os.environ
"""Whether a shell asks how a word can be completed: it is offered every option, also those that `--help` leaves out."""

OF_ONE = (*STUDIES, "classes", "joint")  # sections of one command, or one kind of model
OF_PROJECT = ("project.models", "project.area")  # options of `sdm project` alone
INPUTS = "OCCURRENCES LAYERS | RUN.YAML"

Given = dict[str, Any]
"""The options of a run that were typed, by their dotted names."""

Inputs = Annotated[
    list[str] | None,
    typer.Argument(help="As for 'sdm fit': an occurrence file and layers, or a run file.", metavar=INPUTS),
]

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that are there already.")]

_message = partial(typer.Option, rich_help_panel="Messages")
_COMMON: dict[str, object] = {
    "quiet": Annotated[bool, _message("--quiet", "-q", help="Print warnings and errors only.")],
    "verbose": Annotated[bool, _message("--verbose", "-v", help="Print more.")],
    "as_json": Annotated[bool, _message("--json", help="Print one machine-readable result on stdout.")],
    "debug": Annotated[bool, _message("--debug", help="Show the traceback of an error.")],
    "log_file": Annotated[
        Path | None,
        _message(
            "--log-file",
            help="Append the messages of -v and the progress to this file, with the time of every line.",
            metavar="FILE",
        ),
    ],
}
BRIEF = ("as_json", "debug")  # of a command that prints little


def with_console(
    function: Callable[..., None],
    common: Collection[str] = tuple(_COMMON),
    name: str | None = None,
    settings: dict[str, Any] | None = None,
) -> Callable[..., None]:
    """Give a command a console (it is called as `function(console, **own)`), and after its own options those of it.
    `settings` say how its words are read."""
    own = [p for p in inspect.signature(function).parameters.values() if p.name != "console"]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    parameters += [_keyword(key, _COMMON[key], None if key == "log_file" else False) for key in common]

    def command(**values: Any) -> None:
        console = Console(name or function.__name__, **{key: values.pop(key) for key in common})
        with console.guard():
            function(console, **values)

    command.settings = settings or {}  # type: ignore[attr-defined]
    return _signed(command, function, parameters)


def help_all(more: Collection[str]) -> inspect.Parameter:
    """Make the option `--help-all` of a command: it shows the parameters of these names too."""

    def show(context: typer.Context, wanted: bool) -> None:
        if not wanted:
            return
        others: list[Any] = [parameter for parameter in context.command.params if parameter.name in more]
        for parameter in others:
            parameter.hidden = False
        typer.echo(context.get_help())
        for parameter in others:
            parameter.hidden = True
        raise typer.Exit

    text = f"Show all options: {len(more)} more."
    option = typer.Option("--help-all", help=text, is_eager=True, callback=show, show_default=False)
    return _keyword("help_all", Annotated[bool, option], False)


def with_run_options(
    function: Callable[..., None],
    sections: Collection[str] = (),
    kinds: Collection[str] = ("species", "classes"),
    name: str | None = None,
    only: Collection[str] | None = None,
    short: str | None = None,
    needs: str = "occurrence records and layers, or a run file",
) -> Callable[..., None]:
    """Give a command a console, and every option of a run (or `only` some), after its own parameters.

    The function is called as `function(console, given, **own)`: `given` holds the options that were typed. The help of
    the command shows the options that apply to its `kinds` of models; sections that belong to one command are shown
    only if they are among its `sections`. Its short help has those that are used most, and the section `short`. A
    command without a single word says what it `needs`.
    """
    chosen = [leaf for leaf in leaves() if only is None or leaf.dotted in only]
    options = {leaf.dotted.replace(".", "__"): leaf for leaf in chosen}
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in ("console", "given")]
    foreign = {key for key, leaf in options.items() if _hidden(leaf, sections, kinds)}
    brief = {key for key, leaf in options.items() if leaf.dotted in USED_MOST or leaf.section == short}
    more = options.keys() - foreign - brief
    parameters += [help_all(more)]
    hidden = foreign if COMPLETING else foreign | more
    parameters += [_parameter(key, leaf, hidden=key in hidden) for key, leaf in options.items()]

    def command(console: Console, **values: Any) -> None:
        del values["help_all"]
        typed = {leaf.dotted: values.pop(key) for key, leaf in options.items()}
        given = {dotted: value for dotted, value in typed.items() if value not in (None, [], ())}
        console.reworded = partial(as_typed, leaves=_typed(chosen, given, values))
        if not given and not any(values.values()):
            raise OptionError(f"'sdm {console.command}' needs {needs}: {_first_example(function)}")
        if console.command != "check":  # which may be asked about any command
            words = [f"--{leaf.shown.replace('_', '-')}" for leaf in chosen if leaf.dotted in given]
            refuse_other_studies(words, sections, f"sdm {console.command}")
        function(console, given, **values)

    settings = {"token_normalize_func": normalize}
    return with_console(_signed(command, function, parameters), name=name, settings=settings)


def _typed(leaves: Collection[Leaf], given: Given, values: Mapping[str, Any]) -> dict[str, Leaf]:
    """Return the options to call by their flags in messages: all, or beside a run file those that were typed."""
    from_file = any(isinstance(words, list) and _is_run_file(words[:1]) for words in values.values())
    return {leaf.dotted: leaf for leaf in leaves if leaf.dotted in given or not from_file}


def _is_run_file(words: Sequence[str]) -> bool:
    return bool(words) and words[0].lower().endswith((".yaml", ".yml"))


def as_typed(text: str, leaves: Mapping[str, Leaf]) -> str:
    """Return a message with flags in place of the dotted names of options: `--folds 5` for `test.folds=5`."""

    def flag(match: re.Match[str]) -> str:
        leaf, value = leaves.get(match[1]), match[2]
        if leaf is None or (value is None and not leaf.section):
            return match[0]
        word = leaf.shown.replace("_", "-")
        if leaf.flag and value is not None:
            return f"--no-{word}" if value.lower() == "false" else f"--{word}"
        shown = value if value is None or re.search(r"\s", value) else re.sub(r"[\[\]']", "", value)
        return f"--{word}" if value is None else f"--{word} {shown}"

    return _OPTION.sub(flag, text)


_OPTION = re.compile(
    rf"(?<![\w./-])({'|'.join(sorted((leaf.dotted for leaf in leaves()), key=len, reverse=True))})(?![\w.])"
    r"(?:=('(?:[^'\\]|\\.)*'|\[[^\]]*\]|[^\s,:;()]+))?"
)


def _signed(
    command: Callable[..., None], function: Callable[..., None], parameters: list[inspect.Parameter]
) -> Callable[..., None]:
    """Let a command look as the function that it is made of, with other parameters."""
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def _first_example(function: Callable[..., None]) -> str:
    """Return what to type, from the help of a command."""
    found = re.search(r"\bsdm [a-z]+ .*?(?=[`\n]|   )", f"{function.__doc__}\n")
    example = f"type, for example: {found[0]} " if found else ""
    return f"{example}(data to try it on: sdm example)"


def _hidden(leaf: Leaf, sections: Collection[str], kinds: Collection[str]) -> bool:
    """Whether an option is not in the help of a command."""
    if leaf.dotted in OF_PROJECT:
        return "project" not in sections
    if leaf.section in OF_ONE:
        return leaf.section not in sections
    return not any(applies(leaf, kind) for kind in kinds)


def normalize(token: str) -> str:
    """Bring any spelling of an option to the one shown: --fit.multiplier, --betamultiplier, --rm to --multiplier."""
    word = token.replace("-", "_")
    if word.startswith("no_") and word[3:] in _SHOWN:
        return f"no-{_SHOWN[word[3:]]}"
    return _SHOWN.get(word, token)


_SHOWN: dict[str, str] = {word: leaf.shown.replace("_", "-") for leaf in leaves() for word in leaf.spellings}
_KINDS = {int: "N", float: "X", str: "TEXT", list: "TEXT", dict: "NAME=VALUE"}


def _parameter(name: str, leaf: Leaf, *, hidden: bool) -> inspect.Parameter:
    """Make one option: its name, and what it does."""
    default = leaf.field.get_default()
    word = leaf.shown.replace("_", "-")
    text = str(leaf.field.description)
    others = [f"--{alias.replace('_', '-')}" for alias in leaf.aliases if alias != leaf.shown]
    listed = " ".join(map(str, default)) if isinstance(default, list) else default
    notes = [] if default in (None, [], {}) or leaf.flag else [f"default: {listed}"]
    notes += [f"also {', '.join(others)}"] if others else []
    text += f" ({'; '.join(notes)})" if notes else ""
    panel = PANELS[leaf.section]
    escaped = text.replace("_", r"\_")  # a help text is Markdown, where _words_ would lose their underscores
    common: Given = {"help": escaped, "rich_help_panel": panel, "show_default": False, "hidden": hidden}
    if leaf.flag:
        return _keyword(name, Annotated[bool | None, typer.Option(f"--{word}/--no-{word}", **common)])
    short = ["-o"] if leaf.dotted == "output.folder" else []
    option = typer.Option(*short, f"--{word}", metavar=value_words(leaf), **common)
    kind: Any = list[str] | None if leaf.multiple else str | None
    return _keyword(name, Annotated[kind, option])


def value_words(leaf: Leaf) -> str:
    """Return what may stand after an option: a path, a number, one of some words."""
    if leaf.dotted in PATHS and not leaf.multiple:
        return "PATH"
    return "|".join([*leaf.choices, *(_KINDS[kind] for kind in leaf.kinds if kind in _KINDS)])


def _keyword(name: str, annotation: object, default: object = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def from_words(words: list[str] | None, given: Given, meant: str = "layers.files") -> RunOptions:
    """Make the options of a run from the command's words and what was typed.

    The words are a run file; or records and layers; or layers alone, where points are drawn from a raster of classes;
    or what the option `meant` takes.
    """
    from sdm.options.reading import make_options, read_yaml

    sources: list[Given] = []
    words = list(words or [])
    if _is_run_file(words):
        sources.append(read_yaml(words.pop(0)))
    elif words and meant == "layers.files" and "classes.raster" not in given:
        sources.append({"occurrences.file": words.pop(0)})
    if words:
        sources.append({meant: words})
    return make_options(*sources, given)
