"""Files of class models: archives as those of single species (`sdm.archive`); nothing that can run."""

import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm.archive import Archive
from sdm.conditional.model import ClassModel
from sdm.features.shapes import Shapes
from sdm.features.terms import Terms, bounded
from sdm.files import write_bytes
from sdm.modelfile import _all_scaled, _shapes, _variable

FORMAT = "sdm-classes"
VERSION = 1
ARCHIVE = Archive(FORMAT, VERSION, "model.json", "class model")


def save_classes(model: ClassModel, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a class model: first beside its place, then moved there in one step.

    Raises
    ------
    OutputError
        If the file exists and `overwrite` is not set, or the folder cannot be written.
    """
    return write_bytes(Path(path), class_bytes(model), overwrite=overwrite)


def class_bytes(model: ClassModel) -> bytes:
    """Return the content of a file; the same model gives the same bytes."""
    arrays = {"intercept": model.intercept, "weights": model.weights}
    arrays |= {f"terms_{column.name}": getattr(model.terms, column.name) for column in fields(Terms)}
    arrays |= {f"shapes_{name}": array for name, array in model.shapes.to_arrays().items()}
    header: dict[str, Any] = {
        "classes": list(model.classes),
        "variables": [asdict(variable) for variable in model.variables],
        "alpha": model.alpha,
        "meta": model.meta,
    }
    return ARCHIVE.pack(header, arrays)


def load_classes(path: str | os.PathLike[str]) -> ClassModel:
    """Read a class model.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, not a class model, or was written by a newer version.
    """
    names = ("intercept", "weights", *(f"terms_{column.name}" for column in fields(Terms)), *_shapes())
    return ARCHIVE.load(path, names, _build)


def _build(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ClassModel:
    model = ClassModel(
        tuple(header["classes"]),
        tuple(_variable(record) for record in header["variables"]),
        arrays["intercept"],
        Terms(**{column.name: arrays[f"terms_{column.name}"] for column in fields(Terms)}),
        Shapes.from_arrays({name.removeprefix("shapes_"): arrays[name] for name in _shapes()}),
        arrays["weights"],
        float(header["alpha"]),
        header["meta"],
    )
    _check(model)
    return model


def _check(model: ClassModel) -> None:
    """Refuse what no fit writes (a `ValueError` here is reported as a damaged file)."""
    terms, n, classes = model.terms, len(model.variables), len(model.classes)
    good = (
        classes >= 2
        and len(set(model.classes)) == classes
        and all(isinstance(label, (str, int, float)) for label in model.classes)
        and terms.sound(n)
        and _all_scaled(terms)
        and all(np.all((var >= 0) & (var < n)) for var in model.shapes.variables())
        and model.intercept.shape == (classes,)
        and model.weights.shape == (classes, len(terms) + len(model.shapes))
        and model.intercept.dtype == model.weights.dtype == np.float64
        and bounded(model.intercept, model.weights, model.shapes.weight)
        and 1.0 <= model.alpha <= 2.0
        and isinstance(model.meta, dict)
    )
    if not good:
        raise ValueError("values that no class model has")
