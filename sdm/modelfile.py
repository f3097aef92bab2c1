"""Model files: a zip of plain arrays (`.npz`) with a JSON header; no pickle, nothing that can run.

Entries have a fixed date and order, so the same model gives the same bytes. The header holds a digest of everything.
"""

import hashlib
import io
import json
import os
import tempfile
import zipfile
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdm.errors import ModelFileError, OutputError
from sdm.features.shapes import Shapes
from sdm.features.terms import KINDS, PRODUCT, Terms
from sdm.model import SCALES, UNSEEN, Model, ModelVariable

FORMAT = "sdm-model"
VERSION = 1
_HEADER = "model.json"
_LIMIT = 1 << 30  # no honest model has a gigabyte of weights
_EPOCH = (1980, 1, 1, 0, 0, 0)


def save_model(model: Model, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a model file: first beside its place, then moved there in one step.

    Raises
    ------
    OutputError
        If the file exists and `overwrite` is not set, or the folder cannot be written.
    """
    path = Path(path)
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists already: choose another name, or allow overwriting")
    content = model_bytes(model)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(content)
            os.chmod(temporary, 0o644)  # a temporary file is private, a result is not
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror or error})") from error
    return path


def model_bytes(model: Model) -> bytes:
    """Return the content of a model file."""
    arrays = {"cumulative": model.cumulative}
    arrays |= {f"terms_{column.name}": getattr(model.terms, column.name) for column in fields(Terms)}
    arrays |= {f"shapes_{name}": array for name, array in model.shapes.to_arrays().items()}
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "variables": [asdict(variable) for variable in model.variables],
        **{name: getattr(model, name) for name in _SCALARS},
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


_SCALARS = ("alpha", "tau", "n_domain", "entropy", "prevalence", "unseen")


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, not a model, or was written by a newer version.
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, path)
    except FileNotFoundError as error:
        raise ModelFileError(f"{path} does not exist: expected a model file (.npz) written by sdm") from error
    except ModelFileError:
        raise
    except Exception as error:  # a damaged or hostile file makes zipfile, zlib, json and numpy raise all sorts of them
        raise ModelFileError(
            f"{path} is not a readable model file, or is damaged ({type(error).__name__}): copy or fit it again"
        ) from error


def _read(archive: zipfile.ZipFile, path: Path) -> Model:
    if sum(entry.file_size for entry in archive.infolist()) > _LIMIT:
        raise ModelFileError(f"{path} claims to unpack to more than a gigabyte: it is no model file of ours")
    if _HEADER not in archive.namelist():
        raise ModelFileError(f"{path} has no {_HEADER}: expected a model file (.npz) written by sdm")
    header: dict[str, Any] = json.loads(_entry(archive, _HEADER))
    if header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a model file: its header says {header.get('format')!r}, not '{FORMAT}'")
    if int(header["version"]) > VERSION:
        raise ModelFileError(
            f"{path} has model format {header['version']}, this program reads up to {VERSION}: update sdm to open it"
        )
    arrays = {}
    shapes = [f"shapes_{name}" for name in Shapes().to_arrays()]
    for name in ("cumulative", *(f"terms_{column.name}" for column in fields(Terms)), *shapes):
        arrays[name] = np.lib.format.read_array(io.BytesIO(_entry(archive, f"{name}.npy")), allow_pickle=False)
    if _digest(header, arrays) != header["digest"]:
        raise ModelFileError(
            f"{path} was changed after it was written (its digest does not match): copy or fit it again"
        )
    terms = Terms(**{column.name: arrays[f"terms_{column.name}"] for column in fields(Terms)})
    variables = tuple(_variable(record) for record in header["variables"])
    model = Model(
        variables,
        terms,
        cumulative=arrays["cumulative"],
        shapes=Shapes.from_arrays({name.removeprefix("shapes_"): arrays[name] for name in shapes}),
        meta=header["meta"],
        **{name: header[name] for name in _SCALARS},
    )
    _check(model)
    return model


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    """Unpack an entry, and no more of it than its size says."""
    with archive.open(name) as entry:
        return entry.read(archive.getinfo(name).file_size + 1)


def _variable(record: dict[str, Any]) -> ModelVariable:
    labels = record["labels"]
    return ModelVariable(
        str(record["name"]),
        bool(record["categorical"]),
        float(record["lo"]),
        float(record["hi"]),
        tuple(float(value) for value in record["classes"]),
        None if labels is None else tuple(str(label) for label in labels),
    )


def _check(model: Model) -> None:
    """Refuse what no fit writes (a `ValueError` here is reported as a damaged file)."""
    terms, n = model.terms, len(model.variables)
    sizes = {getattr(terms, column.name).shape for column in fields(Terms)}
    empty = Terms.build(0, np.empty(0, dtype=np.int64))
    good = (
        len(sizes) == 1
        and terms.kind.ndim == 1
        and all(getattr(terms, column.name).dtype == getattr(empty, column.name).dtype for column in fields(Terms))
        and np.all((terms.kind >= 0) & (terms.kind < len(KINDS)))
        and np.all((terms.var >= 0) & (terms.var < n))
        and np.all((terms.other >= np.where(terms.kind == PRODUCT, 0, -1)) & (terms.other < n))
        and all(np.all((var >= 0) & (var < n)) for var in model.shapes.variables())
        and np.all(np.isfinite(model.shapes.weight))
        and all(np.all(np.isfinite(getattr(terms, name))) for name in ("knot", "lo", "hi", "weight"))
        and _all_scaled(terms)
        and model.cumulative.ndim == 2
        and model.cumulative.shape[1] == 2
        and model.cumulative.size > 0
        and np.all(np.isfinite(model.cumulative))
        and np.all(np.diff(model.cumulative, axis=0) >= 0)
        and 1.0 <= model.alpha <= 2.0
        and np.isfinite(model.tau)
        and np.isfinite(model.entropy)
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


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add an entry with a fixed date and plain permissions."""
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content, compresslevel=6)


def _json(header: dict[str, Any]) -> bytes:
    """Write a header, keys sorted."""
    return json.dumps(header, indent=1, sort_keys=True).encode()


def _digest(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    """Hash the header and the arrays' names, types, shapes and bytes."""
    digest = hashlib.sha256(_json({key: value for key, value in header.items() if key != "digest"}))
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
