"""A model file of any kind on records that it has not seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdm.data.nodata import NodataGiven
from sdm.errors import OptionError
from sdm.models.file import load_model
from sdm.options.reading import make_options
from sdm.workflow.model_inputs import chosen_options
from sdm.workflow.registry import task_for

_RECORDS = ("crs", "x_column", "y_column", "layer", "drop_suspicious")  # options that say how records are read


@dataclass(frozen=True)
class Evaluation:
    """What was measured: the kind of model, every number (JSON values), the same in lines of text, and what to tell."""

    kind: str
    numbers: dict[str, Any]
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
    crs: str | None = None,
    x_column: str | None = None,
    y_column: str | None = None,
    layer: str | None = None,
    drop_suspicious: Sequence[str] | None = None,
    nodata: NodataGiven = None,
    align: str | None = None,
    rename: Mapping[str, str] | Sequence[str] | None = None,
    truth: str | Path | None = None,
    seed: int | None = None,
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
    crs, x_column, y_column, layer, drop_suspicious, nodata, align, rename
        How coordinates and layers are read, as for `sdm fit`; `rename` as for `predict_files`.

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
    given = dict(locals())  # the arguments by their names
    if seed is not None and seed < 0:
        raise OptionError(f"seed={seed}: expected a number of at least 0")
    loaded = load_model(given.pop("model"))
    task = task_for(loaded.kind)
    records = {"occurrences": {name: given.pop(name) for name in _RECORDS}}
    read = {"layers": {name: given.pop(name) for name in ("nodata", "align", "rename")}}
    found = {"occurrences.file": str(given.pop("presences")), "layers.files": given.pop("layers")}
    options = make_options(records, read, found)
    numbers = task.evaluate(loaded, options, **chosen_options(loaded, given, task.evaluates_with))
    notices, warnings = numbers.pop("notices"), numbers.pop("warnings", [])
    return Evaluation(loaded.kind, numbers, task.evaluation_lines(numbers), notices, warnings)
