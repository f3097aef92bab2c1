"""Files of joint models: as those of single models, a zip of plain arrays with a JSON header; nothing that can run."""

import io
import json
import os
import tempfile
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from sdm.encode import Encoder
from sdm.errors import ModelFileError, OutputError
from sdm.features.terms import KINDS, PRODUCT, Terms
from sdm.joint.features import SiteFeatures
from sdm.joint.fitted import FittedJoint
from sdm.joint.graph import Forest, given
from sdm.modelfile import _digest, _entry, _json, _write

FORMAT = "sdm-joint"
VERSION = 1
_HEADER = "joint.json"
_LIMIT = 1 << 30
_ARRAYS = ("lo", "hi", "mean", "spread", "edges", "weights", "variance")


def save_joint(model: FittedJoint, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a joint model: first beside its place, then moved there in one step.

    Raises
    ------
    OutputError
        If the file exists and `overwrite` is not set, or the folder cannot be written.
    """
    path = Path(path)
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists already: choose another name, or allow overwriting")
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(joint_bytes(model))
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror or error})") from error
    return path


def joint_bytes(model: FittedJoint) -> bytes:
    """Return the content of a file."""
    features = model.features
    arrays = {name: getattr(features, name) for name in ("lo", "hi", "mean", "spread")}
    arrays |= {"edges": model.forest.edges, "weights": model.weights, "variance": model.variance}
    arrays |= {f"terms_{column.name}": getattr(features.terms, column.name) for column in fields(Terms)}
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "variables": list(model.encoder.names),
        "categorical": list(model.encoder.categorical),
        "labels": {name: list(labels) for name, labels in model.encoder.labels.items()},
        "species": list(model.species),
        "scale": model.scale,
        "meta": model.meta,
    }
    header["digest"] = _digest(header, arrays)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        _write(archive, _HEADER, _json(header))
        for name, array in sorted(arrays.items()):
            body = io.BytesIO()
            np.lib.format.write_array(body, np.ascontiguousarray(array), allow_pickle=False)
            _write(archive, f"{name}.npy", body.getvalue())
    return out.getvalue()


def load_joint(path: str | os.PathLike[str]) -> FittedJoint:
    """Read a joint model.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, not a joint model, or was written by a newer version.
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, path)
    except FileNotFoundError as error:
        raise ModelFileError(f"{path} does not exist: expected a joint model (.npz) written by sdm") from error
    except ModelFileError:
        raise
    except Exception as error:  # a damaged or hostile file makes zipfile, zlib, json and numpy raise all sorts of them
        raise ModelFileError(
            f"{path} is not a readable joint model, or is damaged ({type(error).__name__}): copy or fit it again"
        ) from error


def _read(archive: zipfile.ZipFile, path: Path) -> FittedJoint:
    if sum(entry.file_size for entry in archive.infolist()) > _LIMIT:
        raise ModelFileError(f"{path} claims to unpack to more than a gigabyte: it is no model file of ours")
    if _HEADER not in archive.namelist():
        raise ModelFileError(f"{path} has no {_HEADER}: expected a joint model (.npz) written by sdm")
    header: dict[str, Any] = json.loads(_entry(archive, _HEADER))
    if header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a joint model: its header says {header.get('format')!r}, not '{FORMAT}'")
    if int(header["version"]) > VERSION:
        raise ModelFileError(
            f"{path} has joint format {header['version']}, this program reads up to {VERSION}: update sdm to open it"
        )
    names = (*_ARRAYS, *(f"terms_{column.name}" for column in fields(Terms)))
    arrays = {
        name: np.lib.format.read_array(io.BytesIO(_entry(archive, f"{name}.npy")), allow_pickle=False) for name in names
    }
    if _digest(header, arrays) != header["digest"]:
        raise ModelFileError(
            f"{path} was changed after it was written (its digest does not match): copy or fit it again"
        )
    encoder = Encoder(
        tuple(map(str, header["variables"])),
        tuple(map(str, header["categorical"])),
        {str(name): tuple(map(str, labels)) for name, labels in header["labels"].items()},
    )
    terms = Terms(**{column.name: arrays[f"terms_{column.name}"] for column in fields(Terms)})
    species = tuple(map(str, header["species"]))
    features = SiteFeatures(terms, arrays["lo"], arrays["hi"], arrays["mean"], arrays["spread"])
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
    shapes = {getattr(terms, column.name).shape for column in fields(Terms)}
    good = (
        shapes == {features.mean.shape} == {features.spread.shape}
        and features.lo.shape == features.hi.shape == (n,)
        and np.all((terms.kind >= 0) & (terms.kind < len(KINDS)))
        and np.all((terms.var >= 0) & (terms.var < n))
        and np.all((terms.other >= np.where(terms.kind == PRODUCT, 0, -1)) & (terms.other < n))
        and np.all(np.isfinite(features.mean) & (features.spread > 0))
        and model.weights.shape == (model.discriminant.size,)
        and model.variance.shape in ((0,), model.weights.shape)
        and np.all(np.isfinite(model.weights))
        and np.all(model.variance >= 0)
        and 0.0 < model.scale < np.inf
        and isinstance(model.meta, dict)
    )
    if not good:
        raise ValueError("values that no joint model has")
