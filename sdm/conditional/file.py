"""Files of class models: as those of single species, a zip of plain arrays with a JSON header; nothing that can run."""

import io
import json
import os
import tempfile
import zipfile
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from sdm.conditional.model import ClassModel
from sdm.errors import ModelFileError, OutputError
from sdm.features.shapes import Shapes
from sdm.features.terms import KINDS, PRODUCT, Terms
from sdm.modelfile import _HEADER, _LIMIT, _all_scaled, _digest, _entry, _json, _variable, _write

FORMAT = "sdm-classes"
VERSION = 1


def save_classes(model: ClassModel, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a class model: first beside its place, then moved there in one step.

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
                out.write(class_bytes(model))
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror or error})") from error
    return path


def class_bytes(model: ClassModel) -> bytes:
    """Return the content of a file; the same model gives the same bytes."""
    arrays = {"intercept": model.intercept, "weights": model.weights}
    arrays |= {f"terms_{column.name}": getattr(model.terms, column.name) for column in fields(Terms)}
    arrays |= {f"shapes_{name}": array for name, array in model.shapes.to_arrays().items()}
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "classes": list(model.classes),
        "variables": [asdict(variable) for variable in model.variables],
        "alpha": model.alpha,
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


def load_classes(path: str | os.PathLike[str]) -> ClassModel:
    """Read a class model.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, not a class model, or was written by a newer version.
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, path)
    except FileNotFoundError as error:
        raise ModelFileError(f"{path} does not exist: expected a class model (.npz) written by sdm") from error
    except ModelFileError:
        raise
    except Exception as error:  # a damaged or hostile file makes zipfile, zlib, json and numpy raise all sorts of them
        raise ModelFileError(
            f"{path} is not a readable class model, or is damaged ({type(error).__name__}): copy or fit it again"
        ) from error


def _read(archive: zipfile.ZipFile, path: Path) -> ClassModel:
    if sum(entry.file_size for entry in archive.infolist()) > _LIMIT:
        raise ModelFileError(f"{path} claims to unpack to more than a gigabyte: it is no model file of ours")
    if _HEADER not in archive.namelist():
        raise ModelFileError(f"{path} has no {_HEADER}: expected a class model (.npz) written by sdm")
    header: dict[str, Any] = json.loads(_entry(archive, _HEADER))
    if header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a class model: its header says {header.get('format')!r}, not '{FORMAT}'")
    if int(header["version"]) > VERSION:
        raise ModelFileError(
            f"{path} has class-model format {header['version']}, this program reads up to {VERSION}: update sdm"
        )
    shapes = [f"shapes_{name}" for name in Shapes().to_arrays()]
    names = ("intercept", "weights", *(f"terms_{column.name}" for column in fields(Terms)), *shapes)
    arrays = {
        name: np.lib.format.read_array(io.BytesIO(_entry(archive, f"{name}.npy")), allow_pickle=False) for name in names
    }
    if _digest(header, arrays) != header["digest"]:
        raise ModelFileError(
            f"{path} was changed after it was written (its digest does not match): copy or fit it again"
        )
    model = ClassModel(
        tuple(header["classes"]),
        tuple(_variable(record) for record in header["variables"]),
        arrays["intercept"],
        Terms(**{column.name: arrays[f"terms_{column.name}"] for column in fields(Terms)}),
        Shapes.from_arrays({name.removeprefix("shapes_"): arrays[name] for name in shapes}),
        arrays["weights"],
        float(header["alpha"]),
        header["meta"],
    )
    _check(model)
    return model


def _check(model: ClassModel) -> None:
    """Refuse what no fit writes (a `ValueError` here is reported as a damaged file)."""
    terms, n, classes = model.terms, len(model.variables), len(model.classes)
    empty = Terms.build(0, np.empty(0, dtype=np.int64))
    columns = [column.name for column in fields(Terms)]
    good = (
        classes >= 2
        and len(set(model.classes)) == classes
        and all(isinstance(label, (str, int, float)) for label in model.classes)
        and len({getattr(terms, name).shape for name in columns}) == 1
        and terms.kind.ndim == 1
        and all(getattr(terms, name).dtype == getattr(empty, name).dtype for name in columns)
        and np.all((terms.kind >= 0) & (terms.kind < len(KINDS)))
        and np.all((terms.var >= 0) & (terms.var < n))
        and np.all((terms.other >= np.where(terms.kind == PRODUCT, 0, -1)) & (terms.other < n))
        and all(np.all(np.isfinite(getattr(terms, name))) for name in ("knot", "lo", "hi"))
        and _all_scaled(terms)
        and all(np.all((var >= 0) & (var < n)) for var in model.shapes.variables())
        and model.intercept.shape == (classes,)
        and model.weights.shape == (classes, len(terms) + len(model.shapes))
        and model.intercept.dtype == model.weights.dtype == np.float64
        and np.all(np.isfinite(model.intercept))
        and np.all(np.isfinite(model.weights))
        and 1.0 <= model.alpha <= 2.0
        and isinstance(model.meta, dict)
    )
    if not good:
        raise ValueError("values that no class model has")
