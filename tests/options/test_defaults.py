"""An option has one default wherever it appears: in every command, in every estimator, in Python and in run files."""

import inspect
from typing import Any

import pytest

from sdm import Committee, ConditionalMaxent, JointModel, Maxent, StructMaxent
from sdm.maps.passes import MapPass
from sdm.maps.single import predict_raster
from sdm.options.applies import applies
from sdm.options.fitting import FitOptions
from sdm.options.reading import leaves
from sdm.run.evaluating import evaluate_files
from sdm.run.predicting import predict_files
from sdm_cli.app import whole_app

OPTIONS = {leaf.name: leaf for leaf in leaves() if leaf.section in ("", "fit", "predict", "output", "layers")}
# What differs on purpose, and why.
REASONS = {
    ("Committee", "solver"): "a committee's members are solved by newton alone",
    ("JointModel", "features"): "'auto' of a run is lq for communities, as the option says",
    ("JointModel", "seed"): "the seed of a run is handed on",
    ("JointModel", "max_iterations"): "a limit of its own; the option has none unless it is given",
    ("ConditionalMaxent", "tolerance"): "None: by the kind of features",
}
KINDS = {
    Maxent: "species",
    StructMaxent: "species",
    Committee: "species",
    ConditionalMaxent: "classes",
    JointModel: "community",
}
OTHER_NAMES = {"penalty_folds": ("folds",), "penalty_repeats": ("repeats",), "penalty_grid": ("grid",)}


def defaults_of(function: Any) -> dict[str, Any]:
    found = inspect.signature(function).parameters.items()
    return {name: p.default for name, p in found if p.default is not inspect.Parameter.empty}


@pytest.mark.parametrize("estimator", KINDS)
def test_estimators_and_runs_have_the_same_defaults(estimator: type) -> None:
    """An option without a value is left out of the estimator's arguments, so that its default counts."""
    known = defaults_of(estimator)
    kind = KINDS[estimator]
    for leaf in leaves():
        default = leaf.field.get_default()
        if leaf.section != "fit" or not applies(leaf, kind) or default is None:
            continue
        for word in (leaf.name, *OTHER_NAMES.get(leaf.name, ())):
            if word in known and (estimator.__name__, word) not in REASONS:
                assert known[word] == default, f"{estimator.__name__}({word}=…) and {leaf.dotted}"


@pytest.mark.parametrize("function", [predict_files, evaluate_files, predict_raster, MapPass], ids=lambda f: f.__name__)
def test_functions_and_runs_have_the_same_defaults(function: Any) -> None:
    for name, value in defaults_of(function).items():
        if name in OPTIONS and value is not None:
            assert value == OPTIONS[name].field.get_default(), name


@pytest.mark.parametrize("name", ["predict", "evaluate", "report", "simulate", "info", "init"])
def test_commands_and_runs_have_the_same_defaults(name: str) -> None:
    """What a command asks for beside run files: None stands for the run's default."""
    command = whole_app().commands[name]  # type: ignore[attr-defined]
    for parameter in command.params:
        if parameter.name in OPTIONS and parameter.default is not None and name != "simulate":
            assert parameter.default == OPTIONS[parameter.name].field.get_default(), parameter.name


@pytest.mark.parametrize("name", ["fit", "classify", "joint", "tune", "path", "check"])
def test_commands_that_run_take_every_default_from_the_options(name: str) -> None:
    command = whole_app().commands[name]  # type: ignore[attr-defined]
    own = {leaf.dotted.replace(".", "__") for leaf in leaves()}
    taken = [parameter for parameter in command.params if parameter.name in own]
    assert len(taken) == len(own)
    assert all(parameter.default is None for parameter in taken), "what is not typed is not chosen"


@pytest.mark.parametrize(
    "name", [name for name, field in FitOptions.model_fields.items() if field.get_default() is None]
)
def test_an_option_without_a_default_says_what_counts_instead(name: str) -> None:
    text = str(FitOptions.model_fields[name].description)
    assert "default" in text.lower() or name in ("max_iterations",), text
