"""Files of joint models: archives as those of single models (`sdm.archive`); nothing that can run."""

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm.archive import Archive
from sdm.encode import Encoder
from sdm.features.terms import Terms, bounded
from sdm.files import write_bytes
from sdm.joint.features import SiteFeatures
from sdm.joint.fitted import FittedJoint
from sdm.joint.graph import Forest, given

FORMAT = "sdm-joint"
VERSION = 2
ARCHIVE = Archive(FORMAT, VERSION, "joint.json", "joint model")
_FEATURES = ("lo", "hi", "centre", "width", "mean", "spread")
_ARRAYS = (*_FEATURES, "edges", "weights", "variance")


def save_joint(model: FittedJoint, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a joint model: first beside its place, then moved there in one step.

    Raises
    ------
    OutputError
        If the file exists and `overwrite` is not set, or the folder cannot be written.
    """
    return write_bytes(Path(path), joint_bytes(model), overwrite=overwrite)


def joint_bytes(model: FittedJoint) -> bytes:
    """Return the content of a file."""
    features = model.features
    arrays = {name: getattr(features, name) for name in _FEATURES}
    arrays |= {"edges": model.forest.edges, "weights": model.weights, "variance": model.variance}
    arrays |= {f"terms_{column.name}": getattr(features.terms, column.name) for column in fields(Terms)}
    header: dict[str, Any] = {
        "variables": list(model.encoder.names),
        "categorical": list(model.encoder.categorical),
        "labels": {name: list(labels) for name, labels in model.encoder.labels.items()},
        "species": list(model.species),
        "scale": model.scale,
        "meta": model.meta,
    }
    return ARCHIVE.pack(header, arrays)


def load_joint(path: str | os.PathLike[str]) -> FittedJoint:
    """Read a joint model.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, not a joint model, or was written by a newer version.
    """
    return ARCHIVE.load(path, (*_ARRAYS, *(f"terms_{column.name}" for column in fields(Terms))), _build)


def _build(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> FittedJoint:
    encoder = Encoder(
        tuple(map(str, header["variables"])),
        tuple(map(str, header["categorical"])),
        {str(name): tuple(map(str, labels)) for name, labels in header["labels"].items()},
    )
    terms = Terms(**{column.name: arrays[f"terms_{column.name}"] for column in fields(Terms)})
    species = tuple(map(str, header["species"]))
    features = SiteFeatures(terms, **{name: arrays[name] for name in _FEATURES})
    forest = Forest(len(species), given(arrays["edges"].tolist(), species).edges)
    model = FittedJoint(
        encoder,
        features,
        species,
        forest,
        arrays["weights"],
        arrays["variance"],
        float(header["scale"]),
        header["meta"],
    )
    _check(model)
    return model


def _check(model: FittedJoint) -> None:
    """Refuse what no fit writes (a `ValueError` here is reported as a damaged file)."""
    features, terms, n = model.features, model.features.terms, len(model.encoder.names)
    good = (
        terms.sound(n)
        and terms.kind.shape == features.mean.shape == features.spread.shape
        and features.lo.shape == features.hi.shape == features.centre.shape == features.width.shape == (n,)
        and np.all(features.lo <= features.hi)
        and np.all(features.spread > 0)
        and np.all(features.width > 0)
        and bounded(features.centre, features.width)
        and model.weights.shape == (model.discriminant.size,)
        and model.variance.shape in ((0,), model.weights.shape)
        and np.all(model.variance >= 0)
        and bounded(features.mean, features.spread, model.weights, model.variance, np.array([model.scale]))
        and model.scale > 0.0
        and isinstance(model.meta, dict)
    )
    if not good:
        raise ValueError("values that no joint model has")
