"""A model file of any kind on records that it has not seen."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from sdm.errors import OptionError
from sdm.models.classes import ClassModel
from sdm.models.community import FittedJoint
from sdm.models.file import load_model
from sdm.models.species import Model
from sdm.workflow.classes.evaluating import evaluate_classes
from sdm.workflow.community.evaluating import evaluate_joint
from sdm.workflow.model_inputs import refuse_options
from sdm.workflow.species.evaluating import evaluate_species


def evaluate_files(
    model: str | Path,
    presences: str | Path,
    *,
    layers: list[str] | None = None,
    absences: str | Path | None = None,
    background: str | None = None,
    species: str | None = None,
    class_column: str | None = None,
    proportions: Sequence[str] = (),
    select: Mapping[str, str] | Sequence[str] = (),
    site_column: str | None = None,
    crs: str | None = None,
    x_column: str | None = None,
    y_column: str | None = None,
    nodata: float | None = None,
    align: str | None = None,
    truth: str | Path | None = None,
    seed: int | None = None,
) -> dict[str, Any]:
    """Measure a model file on records or sites; return every number.

    Parameters
    ----------
    model : path
        Written by `sdm fit`, `sdm classify` or `sdm joint`, or by `save` in Python.
    presences : path
        Records of a species; points with a class, or with proportions of classes; or a table of sites with a 0/1 column
        a species.
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
    crs, x_column, y_column, nodata, align
        How coordinates and layers are read.

    Raises
    ------
    OptionError
        If an option says nothing to a model of this kind, or does not fit the files.
    SdmError
        If the model, the records or the layers cannot be used.

    Examples
    --------
    >>> evaluate_files("results/habitat.npz", "new_plots.csv", layers=["layers/"])["log_loss"]  # doctest: +SKIP
    0.412
    """
    if seed is not None and seed < 0:
        raise OptionError(f"seed={seed}: expected a number of at least 0")
    loaded = load_model(model)
    crs = f"EPSG:{crs}" if crs is not None and crs.isdigit() else crs
    own: dict[str, Any] = {"absences": absences, "background": background, "species": species, "truth": truth}
    of_classes: dict[str, Any] = {"class_column": class_column, "proportions": proportions, "select": select}
    of_sites: dict[str, Any] = {"site_column": site_column}
    common: dict[str, Any] = {"layers": layers, "crs": crs, "x_column": x_column, "y_column": y_column}
    common |= {"nodata": nodata, "align": align}
    if isinstance(loaded, Model):
        refuse_options(loaded, _typed(of_classes, of_sites))
        return evaluate_species(loaded, presences, **own, seed=1 if seed is None else seed, **common)
    if isinstance(loaded, ClassModel):
        refuse_options(loaded, _typed(own, {"seed": seed}, of_sites))
        return evaluate_classes(loaded, presences, **of_classes, **common)
    refuse_options(loaded, _typed(own, {"seed": seed}, of_classes))
    return evaluate_joint(cast(FittedJoint, loaded), presences, **of_sites, **common)


def _typed(*options: dict[str, Any]) -> dict[str, Any]:
    """Return options under the names that they have at the terminal."""
    return {f"--{name.replace('_', '-')}": value for some in options for name, value in some.items()}
