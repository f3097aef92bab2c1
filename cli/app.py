"""The commands of `sdm`. Only the standard library and typer are imported here; commands are imported when called."""

import signal
import sys
from functools import cache
from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.main import get_command

from sdm._version import __version__
from sdm_cli.exit_codes import Terminated
from sdm_cli.help_text import FIRST_COLUMN, WIDTH, PlainCommand, PlainGroup, PlainHelp, bold
from sdm_cli.plain import plain

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Model": {
        "fit": ("runs", "Fit a model: map, response curves, accuracy, model file."),
        "tune": ("runs", "Choose settings by cross-validation, and fit the best."),
        "path": ("runs", "Fit a path over the multiplier, or over strata."),
        "classify": ("runs", "Model classes, such as habitats, from labelled sites."),
        "joint": ("runs", "Fit a joint model of several species."),
        "curve": ("runs", "Draw learning curves, or the sensitivity to the penalty."),
    },
    "Prepare": {
        "check": ("runs", "List the problems of a run before fitting."),
        "variables": ("runs", "Compute correlations, and suggest variables to keep."),
        "example": ("starting", "Copy sample data and a run file to a folder."),
        "init": ("starting", "Write a commented run file with every option."),
        "simulate": ("starting", "Simulate a landscape and a species with a known niche."),
    },
    "Project and test": {
        "project": ("applying", "Project models to other climates, times and places."),
        "predict": ("applying", "Map a model on other layers."),
        "evaluate": ("applying", "Measure the accuracy of a model on independent records."),
    },
    "Results": {
        "report": ("stored", "Write the HTML report again from stored results."),
        "status": ("stored", "Show the progress of a run over several species."),
        "info": ("stored", "Show the contents of a model file."),
    },
    "Exchange": {
        "convert": ("stored", "Convert models to and from Java Maxent."),
        "maxent": ("stored", "Run the command line of maxent.jar."),
        "schema": ("starting", "Print the JSON Schema of run files or answers."),
    },
    "Help": {
        "help": ("starting", "Show a page, an option or a term."),
        "cite": ("starting", "Print how to cite sdm."),
        "version": ("starting", "Print the version."),
    },
}
"""Commands by group: the module, and the line in the first help."""
COMMANDS = {name: module for group in GROUPS.values() for name, (module, _) in group.items()}


class Commands(PlainGroup):
    """The group of all commands; each is imported when it is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast(Any, dict.fromkeys(COMMANDS))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name, or None."""
        return _command(cmd_name) if cmd_name in COMMANDS else None

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options before a command, and the commands by group."""
        PlainHelp.format_options(self, ctx, formatter)
        for title, commands in GROUPS.items():
            with formatter.section(bold(title)):
                formatter.write_dl([(name, line) for name, (_, line) in commands.items()], col_max=FIRST_COLUMN)


@cache
def _command(name: str) -> Any:
    """Return the command of a function, or of a group of functions."""
    function = getattr(import_module(f"sdm_cli.commands.{COMMANDS[name]}"), name)
    if not isinstance(function, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        alone.command(name, cls=PlainCommand, context_settings=getattr(function, "settings", None))(function)
        function = alone
    command = get_command(function)
    command.name = name
    return command


app = typer.Typer(
    name="sdm",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH},
    help="""Fit, test and map species distribution models by maximum entropy.

    Examples:

      sdm example
      sdm fit run.yaml
      sdm fit occurrences.csv layers/ --categorical landcover -o species
    """,
)


def whole_app() -> Commands:
    """Return the group with all commands imported, for documentation and tests."""
    group = cast(Commands, get_command(app))
    group.commands = {name: _command(name) for name in COMMANDS}
    return group


def _version(requested: bool) -> None:
    if requested:
        print(f"sdm {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version, and exit.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Options before a command."""


def run_app() -> int:
    """Run the command line. An invalid command prints one line, and has exit code 2."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return int(app(prog_name="sdm", standalone_mode=False) or 0)
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # typer has ended after it
            raise stop.__context__ from None
        raise
    except Exception as error:
        # Errors of typer; the module of their classes depends on its version.
        if not hasattr(error, "format_message"):
            raise
        return _explain(error)


def _terminate(*_: object) -> None:
    """End as after Ctrl-C."""
    raise Terminated


def _explain(error: Any) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message())
        return 0
    hint = f" (see {context.command_path} --help)" if context is not None else ""
    print(f"error: {plain(error.format_message().rstrip('.'))}{hint} [E002]", file=sys.stderr)
    return int(error.exit_code)
