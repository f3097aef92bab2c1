"""Command-line options made from the options of a run: one definition, in `sdm.config`."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from sdm_cli.console import Console
from sdm.config import Leaf, RunOptions, leaves

PANELS = {
    "occurrences": "Occurrences",
    "layers": "Layers",
    "background": "Background",
    "fit": "Model",
    "test": "Testing",
    "predict": "Map",
    "output": "Output",
    "": "General",
}
COMMON_PANEL = "Messages"

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say only what went wrong.", rich_help_panel=COMMON_PANEL)]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more.", rich_help_panel=COMMON_PANEL)]
Json = Annotated[
    bool, typer.Option("--json", help="Print one machine-readable result on stdout.", rich_help_panel=COMMON_PANEL)
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=COMMON_PANEL)]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that are there already.")]

_COMMON: dict[str, Any] = {"quiet": Quiet, "verbose": Verbose, "as_json": Json, "debug": Debug}


def with_run_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command every option of a run, after its own parameters.

    The function is called as `function(console, given, **own)`: `given` holds the options that were typed.
    """
    own = [p for p in inspect.signature(function).parameters.values() if p.name not in ("console", "given")]
    options = {leaf.dotted.replace(".", "__"): leaf for leaf in leaves()}
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    parameters += [_parameter(name, leaf) for name, leaf in options.items()]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=False)
        for name, annotation in _COMMON.items()
    ]

    def command(**values: Any) -> None:
        console = Console(*(values.pop(name) for name in _COMMON))
        typed = {leaf.dotted: values.pop(name) for name, leaf in options.items()}
        given = {dotted: value for dotted, value in typed.items() if value not in (None, [], ())}
        with console.guard():
            function(console, given, **values)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def normalize(token: str) -> str:
    """Bring any spelling of an option to the one that is shown: --fit.multiplier, --betamultiplier, --rm to --multiplier."""
    return _SHOWN.get(token.replace("-", "_"), token)


_SHOWN = {word: leaf.shown.replace("_", "-") for leaf in leaves() for word in (*leaf.spellings, leaf.shown)}


def _parameter(name: str, leaf: Leaf) -> inspect.Parameter:
    """Make one option: its name, and what it does."""
    default = leaf.field.get_default()
    text = str(leaf.field.description)
    if not isinstance(default, (bool, list, dict)) and default is not None:
        text += f" [default: {default}]"
    panel = PANELS[leaf.dotted.rpartition(".")[0]]
    word = leaf.shown.replace("_", "-")
    if leaf.flag:
        words = f"--{word}/--no-{word}" if default else f"--{word}"
        return _keyword(name, bool | None, typer.Option(words, help=text, rich_help_panel=panel, show_default=False))
    short = ["-o"] if leaf.dotted == "output.folder" else []
    metavar = "|".join(leaf.choices) if leaf.choices else None
    option = typer.Option(*short, f"--{word}", help=text, rich_help_panel=panel, metavar=metavar, show_default=False)
    return _keyword(name, list[str] | None if leaf.multiple else str | None, option)


def _keyword(name: str, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, option], default=None)


def from_words(words: list[str], given: dict[str, Any]) -> RunOptions:
    """Make the options of a run from the command's words (a run file, or records and layers) and what was typed."""
    from sdm.config import make_options, read_yaml

    sources: list[dict[str, Any]] = []
    if words and words[0].lower().endswith((".yaml", ".yml")):
        sources.append(read_yaml(words[0]))
        words = words[1:]
        if words:
            sources.append({"layers.files": words})
    elif words:
        sources.append({"occurrences.file": words[0]})
        if words[1:]:
            sources.append({"layers.files": words[1:]})
    return make_options(*sources, given)
