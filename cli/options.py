"""Command-line options, made from the options of a run in `sdm.options.definitions`."""

import inspect
import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sdm.errors import MissingInputError
from sdm.options.applies import STUDIES, applies, refuse_other_studies
from sdm.options.definitions import RunOptions
from sdm.options.reading import PATHS, Leaf, leaves
from sdm_cli.console import Console
from sdm_cli.flags import command_flags, run_flags
from sdm_cli.help_text import COMMON

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
    "occurrences.species", "layers.categorical", "background.kind", "background.points", "background.area",
    "background.bias", "preset", "fit.model", "fit.features", "fit.multiplier", "test.percent", "test.folds",
    "test.split", "test.block_size", "predict.threshold", "output.folder", "output.overwrite", "seed",
)  # fmt: skip
"""Options in the short help of every command that they apply to, in addition to the section of the command."""

OF_ONE = (*STUDIES, "classes", "joint")  # sections of one command, or one kind of model
OF_PROJECT = ("project.models", "project.area")  # options of `sdm project` alone
INPUTS = "OCCURRENCES LAYERS | RUN.YAML"

Typed = dict[str, Any]
"""The options of a run that the user typed, by their dotted names."""

Inputs = Annotated[
    list[str] | None,
    typer.Argument(help="Occurrence records and layers, or a run file.", metavar=INPUTS),
]

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]

_message = partial(typer.Option, rich_help_panel="Messages")
_MESSAGES: dict[str, object] = {
    "quiet": Annotated[bool, _message("--quiet", "-q", help="Print only warnings and errors.")],
    "verbose": Annotated[bool, _message("--verbose", "-v", help="Print more information.")],
    "as_json": Annotated[bool, _message("--json", help="Print the result as JSON on standard output.")],
    "debug": Annotated[bool, _message("--debug", help="Show the traceback of an error.")],
    "log_file": Annotated[
        Path | None,
        _message("--log-file", help="Append messages and progress to this file, with times.", metavar="FILE"),
    ],
}
BRIEF = ("as_json", "debug")  # for commands that print little


def with_console(
    function: Callable[..., None],
    common: Collection[str] = tuple(_MESSAGES),
    name: str | None = None,
    settings: dict[str, Any] | None = None,
) -> Callable[..., None]:
    """Return a command that calls `function(console, **values)`, with the `common` options after its other options.

    `settings` are the settings of its context.
    """
    own_parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "console"]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own_parameters]
    parameters += [_keyword(key, _MESSAGES[key], None if key == "log_file" else False) for key in common]

    def command(**values: Any) -> None:
        console = Console(name or function.__name__, **{key: values.pop(key) for key in common})
        console.flags = run_flags(leaves()) | command_flags(own_parameters)
        with console.guard():
            function(console, **values)

    command.settings = {"help_option_names": ["-h", "--help"]} | (settings or {})  # type: ignore[attr-defined]
    return _signed(command, function, parameters)


def _show_all(context: typer.Context, requested: bool) -> None:
    if requested:
        context.obj = {}  # no short help
        typer.echo(context.get_help())
        raise typer.Exit


def with_run_options(
    function: Callable[..., None],
    sections: Collection[str] = (),
    kinds: Collection[str] = ("species", "classes"),
    name: str | None = None,
    only: Collection[str] | None = None,
    short: str | None = None,
    needs: str = "occurrence records and layers, or a run file",
) -> Callable[..., None]:
    """Return a command with the options of a run (all, or `only` some) after its other parameters.

    It calls `function(console, typed, **values)`, where `typed` are the options that the user typed. Its help has the
    options that apply to its `kinds` of models; a section of one command is included if it is in `sections`. Its short
    help has the most frequent options, and the section `short`. Without any word, its error states what it `needs`.
    """
    chosen = [leaf for leaf in leaves() if only is None or leaf.dotted in only]
    options = {leaf.dotted.replace(".", "__"): leaf for leaf in chosen}
    own_parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in ("console", "typed")]
    foreign = {key for key, leaf in options.items() if _hidden(leaf, sections, kinds)}
    brief = {key for key, leaf in options.items() if leaf.dotted in USED_MOST or leaf.section == short}
    more = options.keys() - foreign - brief
    others = COMMON if short else "Options"
    panels = {key: PANELS[short] if short and options[key].section == short else others for key in brief}
    parameters = [*own_parameters, *(_parameter(key, leaf, hidden=key in foreign) for key, leaf in options.items())]
    text = f"Show all options in full, {len(more)} more."
    shown = typer.Option("--help-all", help=text, is_eager=True, callback=_show_all, show_default=False)
    parameters += [_keyword("help_all", Annotated[bool, shown], False)]

    def command(console: Console, **values: Any) -> None:
        del values["help_all"]
        chosen_values = {leaf.dotted: values.pop(key) for key, leaf in options.items()}
        typed = {dotted: value for dotted, value in chosen_values.items() if value not in (None, [], ())}
        if any(isinstance(words, list) and _is_run_file(words[:1]) for words in values.values()):
            console.flags = run_flags(leaf for leaf in chosen if leaf.dotted in typed) | command_flags(own_parameters)
        if not typed and not any(values.values()):
            raise MissingInputError(f"'sdm {console.command}' needs {needs}: {_first_example(function)}")
        if console.command != "check":  # it may check a run of any command
            words = [f"--{leaf.shown.replace('_', '-')}" for leaf in chosen if leaf.dotted in typed]
            refuse_other_studies(words, sections, f"sdm {console.command}")
        function(console, typed, **values)

    settings = {"token_normalize_func": normalize, "obj": {"short": dict.fromkeys(more) | panels}}
    return with_console(_signed(command, function, parameters), name=name, settings=settings)


def _is_run_file(words: Sequence[str]) -> bool:
    return bool(words) and words[0].lower().endswith((".yaml", ".yml"))


def _signed(
    command: Callable[..., None], function: Callable[..., None], parameters: list[inspect.Parameter]
) -> Callable[..., None]:
    """Return a command with the name and docstring of a function, and other parameters."""
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def _first_example(function: Callable[..., None]) -> str:
    """Return the first example in the help of a command."""
    match = re.search(r"\bsdm [a-z]+ .*", function.__doc__ or "")
    example = f"type, for example: {match[0]} " if match else ""
    return f"{example}(data to try it on: sdm example)"


def _hidden(leaf: Leaf, sections: Collection[str], kinds: Collection[str]) -> bool:
    """Return whether an option is absent from the help of a command."""
    if leaf.dotted in OF_PROJECT:
        return "project" not in sections
    if leaf.section in OF_ONE:
        return leaf.section not in sections
    return not any(applies(leaf, kind) for kind in kinds)


def normalize(token: str) -> str:
    """Return the spelling that is shown for any spelling: --multiplier for --fit.multiplier or --betamultiplier."""
    word = token.replace("-", "_")
    if word.startswith("no_") and word[3:] in _SHOWN:
        return f"no-{_SHOWN[word[3:]]}"
    return _SHOWN.get(word, token)


_SHOWN: dict[str, str] = {word: leaf.shown.replace("_", "-") for leaf in leaves() for word in leaf.spellings}
_KINDS = {int: "N", float: "NUMBER", str: "TEXT", dict: "NAME=VALUE"}
_VALUES = {
    "output.folder": "FOLDER", "layers.files": "FILE", "project.reference": "FILE", "project.models": "FILE",
    "project.scenarios": "PATTERN", "background.area": "FILE|buffer|hull", "background.bias": "FILE|target-group",
    "occurrences.species": "NAME", "occurrences.layer": "NAME", "occurrences.crs": "CRS", "layers.align": "LAYER",
    "occurrences.max_uncertainty": "LENGTH", "occurrences.years": "YEARS", "occurrences.where": "CONDITION",
    "occurrences.record_weights": "COLUMN", "occurrences.response": "COLUMN", "joint.random_effect": "COLUMN",
    "joint.graph": "tree|chain|none|FILE", "path.strata": "LAYER|grid:LENGTH", "fit.axes": "FILE",
    "fit.features": "CLASSES", "fit.families": "FAMILIES", "layers.rename": "OLD=NEW", "output.figure_width": "LENGTH",
    "layers.nodata": "VALUE,…", "cluster.address": "ADDRESS|slurm", "layers.bounds": "auto|X1,Y1,X2,Y2",
    "output.surfaces": "NAME:NAME,…",
}  # fmt: skip
"""Values of options that have a specific word for them."""
WIDEST = 22  # values in the help of a command


def _parameter(name: str, leaf: Leaf, *, hidden: bool) -> inspect.Parameter:
    """Make an option of a command from an option of a run."""
    word, values, help_text = leaf.shown.replace("_", "-"), value_words(leaf), option_text(leaf)
    common: dict[str, Any] = {
        "help": help_text,
        "rich_help_panel": PANELS[leaf.section],
        "show_default": False,
        "hidden": hidden,
    }
    if leaf.flag:
        return _keyword(name, Annotated[bool | None, typer.Option(f"--{word}/--no-{word}", **common)])
    short = ["-o"] if leaf.dotted == "output.folder" else []
    metavar = values if len(values) <= WIDEST else "|".join(["KIND", *values.split("|")[len(leaf.choices) :]])
    option = typer.Option(*short, f"--{word}", metavar=metavar, **common)
    kind: Any = list[str] | None if leaf.multiple else str | None
    return _keyword(name, Annotated[kind, option])


def option_text(leaf: Leaf) -> str:
    """Return the description of an option with its other names and default."""
    others = [f"--{alias.replace('_', '-')}" for alias in leaf.aliases if alias != leaf.shown]
    text = leaf.text + (f" (also {', '.join(others)})" if others else "")
    default = leaf.field.get_default()
    if leaf.flag or default in (None, [], {}):
        return text
    listed = default if isinstance(default, list) else [default]
    return f"{text} [default: {','.join(f'{one:g}' if isinstance(one, float) else str(one) for one in listed)}]"


def value_words(leaf: Leaf) -> str:
    """Return the values of an option: a file, a number, one of several words."""
    if leaf.dotted in _VALUES or leaf.name.endswith("column"):
        return _VALUES.get(leaf.dotted, "COLUMN")
    if leaf.dotted in PATHS:
        return "FILE"
    if "list[" in (annotation := str(leaf.field.annotation)):
        return "N,…" if re.search(r"\b(int|float)\b", annotation) else "NAME,…"
    return "|".join([*leaf.choices, *(_KINDS[kind] for kind in leaf.kinds if kind in _KINDS)])


def _keyword(name: str, annotation: object, default: object = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def from_words(words: list[str] | None, typed: Typed, meant: str = "layers.files") -> RunOptions:
    """Return the options of a run from the words of a command and the options that the user typed.

    The words are a run file; or records and layers; or only layers, with a raster of classes; or values of `meant`.
    """
    from sdm.options.reading import make_options, read_yaml

    sources: list[Typed] = []
    words = list(words or [])
    if _is_run_file(words):
        sources.append(read_yaml(words.pop(0)))
    elif words and meant == "layers.files" and "classes.raster" not in typed:
        sources.append({"occurrences.file": words.pop(0)})
    if words:
        sources.append({meant: words})
    return make_options(*sources, typed)
