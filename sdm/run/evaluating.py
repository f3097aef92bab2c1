"""A model file of any kind on records that it has not seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdm.errors import OptionError
from sdm.kinds.inputs import chosen_options
from sdm.kinds.model_task import EvaluationOptions
from sdm.kinds.registry import model_task
from sdm.models.file import load_model
from sdm.options.applies import READING
from sdm.options.reading import make_options
from sdm.types import Numbers


@dataclass(frozen=True)
class Evaluation:
    """What was measured: the kind of model, every number (JSON values), the same in lines of text, and what to tell."""

    kind: str
    numbers: Numbers
    lines: list[str]
    notices: list[str]
    warnings: list[str]


def evaluate_files(
    model: str | Path,
    presences: str | Path,
    *,
    layers: list[str] | None = None,
    absences: str | Path | None = None,
    background: str | None = None,
    species: str | None = None,
    class_column: str | None = None,
    proportions: Sequence[str] | None = None,
    select: Mapping[str, str] | Sequence[str] | None = None,
    site_column: str | None = None,
    truth: str | Path | None = None,
    seed: int | None = None,
    **reading: Any,
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
        The model's layers; unless given, the files have its variables. For a joint model also one table of them.
    absences, background, species, truth, seed
        Of a model of one species. Presences are compared with absences where there are any (a file, or rows of
        `presences` whose 0/1 column says 0), else with background: a file, or points drawn from the layers. `truth` is
        a raster of the true suitability, which a virtual species has: the prediction is correlated with it.
    class_column, proportions, select
        Of a class model, as for `sdm classify`; unless given, those that it was fitted with.
    site_column
        Of a joint model whose variables are in a second table: the column that names sites in both.
    **reading
        Options of a run that say how records and layers are read (`READING`), by name: `crs`, `where` and others.

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
    given = {name: value for name, value in locals().items() if name != "reading"}  # the arguments by their names
    known = {dotted.rpartition(".")[2]: dotted for dotted in READING}
    if strange := [name for name in reading if name not in known]:
        raise OptionError(f"{strange[0]} is no option of an evaluation: there are {', '.join(known)}")
    if seed is not None and seed < 0:
        raise OptionError(f"seed={seed}: expected a number of at least 0")
    loaded = load_model(given.pop("model"))
    task = model_task(loaded.kind)
    found = {"occurrences.file": str(given.pop("presences")), "layers.files": given.pop("layers")}
    options = make_options({known[name]: value for name, value in reading.items()}, found)
    chosen = EvaluationOptions(**chosen_options(loaded, given, task.evaluates_with))
    numbers = task.evaluate(loaded, options, chosen)
    notices, warnings = numbers.pop("notices"), numbers.pop("warnings", [])
    return Evaluation(loaded.kind, numbers, task.evaluation_lines(numbers), notices, warnings)
