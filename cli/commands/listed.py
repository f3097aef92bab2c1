"""Every command: where it is, and what the list of commands says of it. A command is loaded when it is called."""

from importlib import import_module
from typing import Any, NamedTuple


class Listed(NamedTuple):
    """A command that is not loaded yet: its module in this folder, its function there, and its first sentence."""

    home: str
    function: str
    summary: str


COMMANDS = {
    "fit": Listed("fit", "fit", "Fit a model, and write its map, curves, numbers and model file."),
    "tune": Listed(
        "studies.tune",
        "tune",
        "Try settings by cross-validation, choose one, and fit it; what was tried is in tune.csv.",
    ),
    "path": Listed(
        "studies.path",
        "path",
        "Follow the whole path: every multiplier of a model, or every tolerance over strata, chosen by held-out loss.",
    ),
    "classify": Listed(
        "classify",
        "classify",
        "Model classes from the environment, and write probabilities, the class map, its entropy, tests and the model.",
    ),
    "joint": Listed(
        "joint",
        "joint",
        "Learn several species at the same sites together: what each asks of the environment, and who is found with "
        "whom.",
    ),
    "check": Listed(
        "check",
        "check",
        "Look for everything that would go wrong in a run of any kind, and list it all at once, without fitting.",
    ),
    "variables": Listed(
        "variables",
        "variables",
        "Correlate the variables over the background (or the sites), and suggest which to keep.",
    ),
    "project": Listed(
        "project",
        "project_command",
        "Project models to other climates, times and places: where it will be, how far that extrapolates, what "
        "changes.",
    ),
    "predict": Listed(
        "predict", "predict", "Map a model on layers that have its variables: another time, another place."
    ),
    "evaluate": Listed(
        "evaluate",
        "evaluate",
        "Measure a model on other records: AUC, log loss, Boyce index, omission; with absences also correlation, Brier "
        "score, precision-recall-gain, skill and calibration.",
    ),
    "report": Listed(
        "report",
        "report",
        "Make the page of a model again from its stored results, without fitting: `sp.html`, which opens offline.",
    ),
    "status": Listed(
        "status",
        "status",
        "Say how far a run over several species is: done, failed and why, running, seconds per species, time left.",
    ),
    "info": Listed(
        "info",
        "info",
        "Show what is in a model file: data, settings, features, weights, certificate, seed, versions.",
    ),
    "convert": Listed(
        "exchange.convert",
        "convert",
        "Write a model of one species for Java Maxent (`.lambdas`), or a model of Java Maxent for sdm (`.npz`).",
    ),
    "cite": Listed(
        "exchange.cite",
        "cite",
        "Print how to cite sdm, with entries for BibTeX: of the program, and of the method (docs/references.md has "
        "more).",
    ),
    "init": Listed("init", "init", "Write a commented run file with every option and its default."),
    "schema": Listed(
        "init", "schema", "Print a JSON Schema: of run files, or of the answers that all commands give with --json."
    ),
    "simulate": Listed("simulate", "simulate", "Make a virtual landscape with a virtual species whose niche is known."),
    "example": Listed(
        "starting.example",
        "example",
        "Copy the sample data and a run file into a folder, to try everything without data of your own.",
    ),
    "help": Listed(
        "starting.guide",
        "help_command",
        "Show a page of the documentation in the terminal: how to do something, what a file or a word means.",
    ),
    "maxent": Listed(
        "exchange.maxent",
        "maxent",
        "Do what maxent.jar does, from its own command line, and write files with its names.",
    ),
    "version": Listed("starting.version", "version", "Print the version."),
    "curve": Listed(
        "studies.curve",
        "curve",
        "Draw how good models are on held-out records: with more and more records, or with a growing penalty.",
    ),
}


def loaded(name: str) -> Any:
    """Return the function of a command, or the group of them."""
    listed = COMMANDS[name]
    return getattr(import_module(f"sdm_cli.commands.{listed.home}"), listed.function)
