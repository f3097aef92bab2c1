"""Evaluation of a model file of any kind at independent records."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from sdm.errors import OptionError, UnknownOptionError
from sdm.kinds.inputs import chosen_options
from sdm.kinds.model_task import EvaluationOptions
from sdm.kinds.registry import model_task
from sdm.models.file import load_model
from sdm.options.applies import READING
from sdm.options.reading import make_options
from sdm.types import Numbers


@dataclass(frozen=True)
class Evaluation:
    """Results of an evaluation: the kind of model, all numbers (JSON values), the same as lines of text, and
    messages."""

    kind: str
    numbers: Numbers
    lines: list[str]
    notices: list[str]
    warnings: list[str]


def evaluate_files(
    model: str | Path,
    presences: str | Path,
    layers: list[str] | None = None,
    options: Mapping[str, object] | None = None,
) -> Evaluation:
    """Measure a model file on records or sites.

    Parameters
    ----------
    model : path
        Written by `sdm fit`, `sdm classify` or `sdm joint`, or by `save` in Python.
    presences : path
        Records of a species; points with a class, or with proportions of classes; or a table of sites with one 0/1
        column per species.
    layers : list of str, optional
        The layers of the model; by default, the files have its variables. For a joint model also one table.
    options : mapping, optional
        Options by name: options that read records and layers (`READING`: `crs`, `where` and others), and the following.

        For a model of one species: `absences`, `background`, `species`, `truth` and `seed`. Presences are compared with
        absences if there are any (a file, or rows of `presences` with 0 in the 0/1 column), otherwise with background:
        a file, or points drawn from the layers. `truth` is a raster of the true suitability of a virtual species, with
        which the prediction is correlated.

        For a class model: `class_column`, `proportions` and `select`, as in `sdm classify`; default: as in the fit. For
        a joint model with the variables in a second table: `site_column`, the column of sites in both tables.

    Raises
    ------
    OptionError
        If an option does not apply to a model of this kind, or does not fit the files.
    SdmError
        If the model, the records or the layers cannot be used.

    Examples
    --------
    >>> evaluate_files("results/habitat.npz", "new_plots.csv", layers=["layers/"]).numbers["log_loss"]  # doctest: +SKIP
    0.412
    """
    values = dict(options or {})
    reading = {dotted.rpartition(".")[2]: dotted for dotted in READING}
    measuring = [field.name for field in fields(EvaluationOptions)]
    if strange := [name for name in values if name not in (*reading, *measuring)]:
        raise UnknownOptionError(
            f"unknown option '{strange[0]}' of an evaluation: expected one of {', '.join(reading)}"
        )
    seed = values.get("seed")
    if isinstance(seed, int) and seed < 0:
        raise OptionError(f"seed={seed}: expected a number of at least 0")
    loaded = load_model(model)
    task = model_task(loaded.kind)
    files = {"occurrences.file": str(presences), "layers.files": layers}
    chosen = {name: values[name] for name in measuring if name in values}
    settings = EvaluationOptions(**chosen_options(loaded, chosen, task.evaluates_with))
    run_options = make_options({dotted: values[name] for name, dotted in reading.items() if name in values}, files)
    numbers = task.evaluate(loaded, run_options, settings)
    notices, warnings = numbers.pop("notices"), numbers.pop("warnings", [])
    return Evaluation(loaded.kind, numbers, task.evaluation_lines(numbers), notices, warnings)
