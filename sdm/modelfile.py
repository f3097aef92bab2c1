"""Model files: reading every kind of them, and archives of one species' model (`sdm.archive`); nothing that can run."""

import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdm.archive import Archive, format_of
from sdm.features.shapes import Shapes
from sdm.features.terms import Terms, bounded
from sdm.files import write_bytes
from sdm.model import SCALES, UNSEEN, Model, ModelVariable

if TYPE_CHECKING:  # the files of the other kinds build on this one
    from sdm.conditional.model import ClassModel
    from sdm.joint.fitted import FittedJoint

FORMAT = "sdm-model"
VERSION = 1
ARCHIVE = Archive(FORMAT, VERSION, "model.json", "model file")
_SCALARS = ("alpha", "tau", "n_domain", "entropy", "prevalence", "unseen")


def save_model(model: Model, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a model file: first beside its place, then moved there in one step.

    Raises
    ------
    OutputError
        If the file exists and `overwrite` is not set, or the folder cannot be written.
    """
    return write_bytes(Path(path), model_bytes(model), overwrite=overwrite)


def model_bytes(model: Model) -> bytes:
    """Return the content of a model file."""
    arrays = {"cumulative": model.cumulative}
    arrays |= {f"terms_{column.name}": getattr(model.terms, column.name) for column in fields(Terms)}
    arrays |= {f"shapes_{name}": array for name, array in model.shapes.to_arrays().items()}
    header: dict[str, Any] = {
        "variables": [asdict(variable) for variable in model.variables],
        **{name: getattr(model, name) for name in _SCALARS},
        "meta": model.meta,
    }
    return ARCHIVE.pack(header, arrays)


def load_model(path: str | os.PathLike[str]) -> "Model | ClassModel | FittedJoint":
    """Read a model file of any kind: of one species, of classes, or of several species together.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, not a model, or was written by a newer version.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from sdm import Maxent, load_model
    >>> rng = np.random.default_rng(1)
    >>> x, y = rng.normal(size=(60, 2)), np.repeat([1, 0], [20, 40])
    >>> place = os.path.join(tempfile.mkdtemp(), "model.npz")
    >>> Maxent("l").fit(x, y).save(place)
    >>> load_model(place).predict({"x1": [0.0], "x0": [1.0]}).shape
    (1,)
    """
    found = format_of(path)
    if found == "sdm-classes":
        from sdm.conditional.file import load_classes

        return load_classes(path)
    if found == "sdm-joint":
        from sdm.joint.file import load_joint

        return load_joint(path)
    return load_species(path)


def load_species(path: str | os.PathLike[str]) -> Model:
    """Read a model of one species; other kinds are refused, and the rest is as for `load_model`."""
    names = ("cumulative", *(f"terms_{column.name}" for column in fields(Terms)), *_shapes())
    return ARCHIVE.load(path, names, _build)


def _shapes() -> list[str]:
    return [f"shapes_{name}" for name in Shapes().to_arrays()]


def _build(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Model:
    model = Model(
        tuple(_variable(record) for record in header["variables"]),
        Terms(**{column.name: arrays[f"terms_{column.name}"] for column in fields(Terms)}),
        cumulative=arrays["cumulative"],
        shapes=Shapes.from_arrays({name.removeprefix("shapes_"): arrays[name] for name in _shapes()}),
        meta=header["meta"],
        **{name: header[name] for name in _SCALARS},
    )
    _check(model)
    return model


def _variable(record: dict[str, Any]) -> ModelVariable:
    labels, lo, hi = record["labels"], float(record["lo"]), float(record["hi"])
    if not (bounded(np.array([lo, hi])) and lo <= hi):
        raise ValueError(f"a variable from {lo} to {hi}")
    return ModelVariable(
        str(record["name"]),
        bool(record["categorical"]),
        lo,
        hi,
        tuple(float(value) for value in record["classes"]),
        None if labels is None else tuple(str(label) for label in labels),
    )


def _check(model: Model) -> None:
    """Refuse what no fit writes (a `ValueError` here is reported as a damaged file)."""
    terms, n = model.terms, len(model.variables)
    good = (
        terms.sound(n)
        and _all_scaled(terms)
        and all(np.all((var >= 0) & (var < n)) for var in model.shapes.variables())
        and model.cumulative.ndim == 2
        and model.cumulative.shape[1] == 2
        and model.cumulative.size > 0
        and bounded(model.shapes.weight, model.cumulative, np.array([model.tau, model.entropy], dtype=np.float64))
        and np.all(np.diff(model.cumulative, axis=0) >= 0)
        and 1.0 <= model.alpha <= 2.0
        and model.n_domain > 0
        and 0.0 < model.prevalence < 1.0
        and model.unseen in UNSEEN
        and isinstance(model.meta, dict)
    )
    if not good:
        raise ValueError(f"values outside what {', '.join(SCALES)} can be computed from")


def _all_scaled(terms: Terms) -> bool:
    """Tell whether every term has a range to be scaled by."""
    with np.errstate(divide="ignore"):
        slopes = terms.slopes()
    return bool(np.all(np.isfinite(slopes) & (slopes > 0)))
