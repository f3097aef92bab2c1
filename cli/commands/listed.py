"""Every command: its first sentence, and the module that has it. A command is loaded when it is called."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typer import Typer

COMMANDS = {
    "fit": "Fit a model, and write its map, curves, numbers and model file.",
    "tune": "Try settings by cross-validation, choose one, and fit it; what was tried is in tune.csv.",
    "path": "Follow the whole path: every multiplier of a model, or every tolerance over strata, "
    "chosen by held-out loss.",
    "classify": "Model classes from the environment, and write probabilities, the class map, its entropy, tests "
    "and the model.",
    "joint": "Learn several species at the same sites together: what each asks of the environment, and who is "
    "found with whom.",
    "check": "Look for everything that would go wrong in a run of any kind, and list it all at once, without fitting.",
    "variables": "Correlate the variables over the background (or the sites), and suggest which to keep.",
    "project": "Project models to other climates, times and places: where it will be, how far that extrapolates, what "
    "changes.",
    "predict": "Map a model on layers that have its variables: another time, another place.",
    "evaluate": "Measure a model on other records: AUC, log loss, Boyce index, omission; with absences "
    "also correlation, Brier score, precision-recall-gain, skill and calibration.",
    "report": "Make the page of a model again from its stored results, without fitting: `sp.html`, "
    "which opens offline.",
    "status": "Say how far a run over several species is: done, failed and why, running, seconds "
    "per species, time left.",
    "info": "Show what is in a model file: data, settings, features, weights, certificate, seed, versions.",
    "convert": "Write a model of one species for Java Maxent (`.lambdas`), or a model of Java Maxent for sdm (`.npz`).",
    "cite": "Print how to cite sdm, with entries for BibTeX: of the program, and of the method (docs/references.md has "
    "more).",
    "init": "Write a commented run file with every option and its default.",
    "schema": "Print a JSON Schema: of run files, or of the answers that all commands give with --json.",
    "simulate": "Make a virtual landscape with a virtual species whose niche is known.",
    "example": "Copy the sample data and a run file into a folder, to try everything without data of your own.",
    "help": "Show a page of the documentation in the terminal: how to do something, what a file or a word means.",
    "maxent": "Do what maxent.jar does, from its own command line, and write files with its names.",
    "version": "Print the version.",
    "curve": "Draw how good models are on held-out records: with more and more records, or with a growing penalty.",
}
"""The first sentence of every command."""

HOMES = {
    "runs": ("fit", "tune", "path", "classify", "joint", "curve"),
    "applying": ("predict", "evaluate", "project"),
    "before": ("check", "variables"),
    "stored": ("info", "status", "report"),
    "exchange": ("convert", "maxent"),
    "starting": ("cite", "init", "schema", "example", "simulate", "help", "version"),
}
"""The modules of commands."""


def home_of(name: str) -> str:
    """Return the module of a command."""
    module = next(module for module, names in HOMES.items() if name in names)
    return f"sdm_cli.commands.{module}"


def loaded(name: str) -> "Callable[..., None] | Typer":
    """Return the function of a command, or the group of them."""
    command: Callable[..., None] | Typer = getattr(import_module(home_of(name)), name)
    return command
