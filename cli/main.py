"""The command `sdm`. Only the standard library, typer and the options are imported here; the rest when it is needed."""

import typer

from sdm_cli.check import check
from sdm_cli.evaluate import evaluate
from sdm_cli.fit import fit
from sdm_cli.info import info
from sdm_cli.init import init
from sdm_cli.options import normalize
from sdm_cli.predict import predict
from sdm_cli.schema import schema
from sdm_cli.simulate import simulate
from sdm_cli.version import version

app = typer.Typer(
    name="sdm",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Species distribution models by maximum entropy, each with a proof of how near it is to the optimum.

    Start with:  sdm fit records.csv layers/ -o results

    Try it without data of your own:  sdm simulate demo && sdm fit demo/occurrences.csv demo/layers --categorical landcover -o demo/results
    """,
)
for command in (fit, check):
    app.command(context_settings={"token_normalize_func": normalize})(command)
for command in (predict, evaluate, info, init, schema, simulate, version):
    app.command()(command)


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
