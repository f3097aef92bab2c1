"""The commands of `sdm`. Only the standard library, typer and the options are imported here; the rest when needed."""

import signal
import sys
from typing import Annotated, Any

import typer

from sdm._version import __version__
from sdm_cli.commands.check import check
from sdm_cli.commands.classify import classify
from sdm_cli.commands.evaluate import evaluate
from sdm_cli.commands.exchange.cite import cite
from sdm_cli.commands.exchange.convert import convert
from sdm_cli.commands.exchange.maxent import SETTINGS, maxent
from sdm_cli.commands.fit import fit
from sdm_cli.commands.info import info
from sdm_cli.commands.init import init, schema
from sdm_cli.commands.joint import joint
from sdm_cli.commands.predict import predict
from sdm_cli.commands.project import project_command
from sdm_cli.commands.report import report
from sdm_cli.commands.simulate import simulate
from sdm_cli.commands.starting.example import example
from sdm_cli.commands.starting.guide import help_command
from sdm_cli.commands.status import status
from sdm_cli.commands.studies.curve import curve
from sdm_cli.commands.studies.path import path
from sdm_cli.commands.studies.tune import tune
from sdm_cli.commands.variables import variables
from sdm_cli.console import Terminated, exit_code
from sdm_cli.options import normalize
from sdm_cli.plain import plain

app = typer.Typer(
    name="sdm",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Species distribution models by maximum entropy, each with a proof of how near it is to the optimum.

    Start with:  sdm fit records.csv layers/ -o results

    Without data of your own:  sdm example, then  sdm fit run.yaml

    How to do something, page by page:  sdm help

    Before a long run:  sdm check records.csv layers/

    Which variables to keep:  sdm variables records.csv layers/

    How far a run over many species is:  sdm status results/

    Other climates and places:  sdm project results/ --scenarios 'future/{gcm}_{ssp}/' --reference layers/ -o out
    """,
)
for command in (fit, tune, path, classify, joint, check, variables):
    app.command(context_settings={"token_normalize_func": normalize})(command)
app.command("project", context_settings={"token_normalize_func": normalize})(project_command)
for command in (predict, evaluate, report, status, info, convert, cite, init, schema, simulate, example):
    app.command()(command)
app.command("help")(help_command)
app.command(context_settings=SETTINGS)(maxent)


@app.command()
def version() -> None:
    """Print the version."""
    print(f"sdm {__version__}")


def _version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version, and exit.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """What comes before a command."""


app.add_typer(curve, name="curve")


def run_app() -> int:
    """Run the command line; a command that cannot be understood is one line too, and exit code 2."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return int(app(prog_name="sdm", standalone_mode=False) or 0)
    except KeyboardInterrupt as interrupt:
        return exit_code(interrupt)
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # typer's way to end then
            raise stop.__context__ from None
        raise
    except Exception as error:
        # typer's own errors; their classes have moved between its versions.
        if not hasattr(error, "format_message"):
            raise
        return _explain(error)


def _terminate(*_: Any) -> None:
    """End as after Ctrl-C: tidily."""
    raise Terminated


def _explain(error: Any) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message())
        return 0
    hint = f" (see {context.command_path} --help)" if context is not None else ""
    print(f"error: {plain(error.format_message().rstrip('.'))}{hint}", file=sys.stderr)
    return int(error.exit_code)
