"""Model files: a zip of plain arrays (`.npz`) with a JSON header, without executable content.

Entries have a fixed date and order, so the same model gives the same bytes. The header has a digest of the content.
"""

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sdm.errors import ModelFileError, OutputError
from sdm.storage.reading import special
from sdm.types import AnyArray, Numbers

if TYPE_CHECKING:  # imported only when a file is read or written
    from zipfile import ZipFile

LIMIT = 64 << 20  # bytes; valid models are far smaller
HEADER_LIMIT = 16 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)
LEVEL = 4  # of compression: level 6 takes four times as long and saves a thirtieth
T = TypeVar("T")


@dataclass(frozen=True)
class Archive:
    """A file format."""

    format: str  # name of the format in the header, such as `sdm-model`
    version: int  # plus one with optional arrays, plus two for newer headers: earlier programs refuse them
    header: str  # name of the header's entry, such as `model.json`
    title: str  # its name in messages, such as `model file`

    @property
    def newest(self) -> int:
        """Return the newest version that this program reads."""
        return self.version + 2

    def pack(
        self,
        fields: Mapping[str, object],
        arrays: Mapping[str, AnyArray],
        optional: Mapping[str, AnyArray] | None = None,
    ) -> bytes:
        """Return the content of a file: `fields` (JSON values) in the header, the arrays, and optional arrays.

        Raise if the content is larger than `load` accepts.
        """
        version = self.version + bool(optional)
        arrays = {**arrays, **(optional or {})}
        if (size := sum(array.nbytes for array in arrays.values())) > LIMIT // 2:  # so that `load` accepts the file
            raise OutputError(f"the {self.title} has {size >> 20} MB of weights, expected at most {LIMIT >> 21}")
        from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

        contents = {self.header: _json(self._header(version, fields, arrays))}
        for name, array in sorted(arrays.items()):
            body = io.BytesIO()
            np.lib.format.write_array(body, np.ascontiguousarray(array), allow_pickle=False)
            contents[f"{name}.npy"] = body.getvalue()
        out = io.BytesIO()
        archive = ZipFile(out, "w")
        try:
            for name, content in contents.items():
                entry = ZipInfo(name, _EPOCH)
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, content, ZIP_DEFLATED, LEVEL)
            archive.close()
        except BaseException:
            archive.fp = None  # otherwise closing within an entry would raise and hide an interrupt
            raise
        return out.getvalue()

    def identity(self, fields: Mapping[str, object], arrays: Mapping[str, AnyArray]) -> str:
        """Return a short identifier of the content, independent of its compression."""
        return str(self._header(self.version, fields, arrays)["digest"])[:16]

    def _header(self, version: int, fields: Mapping[str, object], arrays: Mapping[str, AnyArray]) -> Numbers:
        header: Numbers = {"format": self.format, "version": version, **fields}
        return {**header, "digest": digest(header, arrays)}

    def load(
        self,
        path: str | os.PathLike[str],
        names: Sequence[str],
        build: Callable[[Numbers, dict[str, AnyArray]], T],
        optional: Sequence[str] = (),
    ) -> T:
        """Read the header, the arrays `names` and those `optional` arrays that exist, and return the result of `build`.

        An exception of `build` means a damaged file. Every fault of the file raises a ModelFileError.
        """
        path = Path(path)
        if kind := special(path):
            raise ModelFileError(f"{path} is {kind}: expected a {self.title} (.npz) written by sdm")
        from zipfile import ZipFile

        try:
            with ZipFile(path) as archive:
                return build(*self._read(archive, path, names, optional))
        except FileNotFoundError as error:
            raise ModelFileError(f"{path} does not exist: expected a {self.title} (.npz) written by sdm") from error
        except ModelFileError:
            raise
        except Exception as error:  # zipfile, zlib, json and numpy raise many types for damaged or hostile files
            raise ModelFileError(
                f"{path} is not a readable {self.title}, or is damaged ({type(error).__name__}): copy it, or fit again"
            ) from error

    def _read(
        self, archive: "ZipFile", path: Path, names: Sequence[str], optional: Sequence[str]
    ) -> tuple[Numbers, dict[str, AnyArray]]:
        _check_size(archive, path)
        entries = set(archive.namelist())
        if self.header not in entries:
            raise ModelFileError(f"{path} has no {self.header}: expected a {self.title} (.npz) written by sdm")
        header: Numbers = json.loads(_entry(archive, self.header, HEADER_LIMIT))
        if header.get("format") != self.format:
            format_found = header.get("format")
            raise ModelFileError(f"{path} is not a {self.title}: its format is {format_found!r}, not '{self.format}'")
        if int(header["version"]) > self.newest:
            newer = f"{self.title.split()[0]} format {header['version']}"
            raise ModelFileError(f"{path} has {newer}, and this version reads up to {self.newest}: update sdm")
        arrays = {
            name: np.lib.format.read_array(io.BytesIO(_entry(archive, f"{name}.npy")), allow_pickle=False)
            for name in (*names, *(name for name in optional if f"{name}.npy" in entries))
        }
        if digest(header, arrays) != header["digest"]:
            raise ModelFileError(f"{path} was modified after it was written: copy it again, or fit again")
        return header, arrays


def format_of(path: str | os.PathLike[str]) -> str | None:
    """Return the format in the header of an archive; None if it cannot be read."""
    path = Path(path)
    if special(path):
        return None
    from zipfile import ZipFile

    try:
        with ZipFile(path) as archive:
            _check_size(archive, path)
            headers = [name for name in archive.namelist() if name.endswith(".json")]
            file_format = json.loads(_entry(archive, headers[0], HEADER_LIMIT))["format"]
    except Exception:  # a damaged or hostile file: `load` reports its fault
        return None
    return file_format if isinstance(file_format, str) else None


def digest(header: Mapping[str, object], arrays: Mapping[str, AnyArray]) -> str:
    """Hash a header (without its digest), and the arrays' names, types, shapes and bytes."""
    total = hashlib.sha256(_json({key: value for key, value in header.items() if key != "digest"}))
    for name, array in sorted(arrays.items()):
        total.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


def _check_size(archive: "ZipFile", path: Path) -> None:
    if sum(entry.file_size for entry in archive.infolist()) > LIMIT:
        raise ModelFileError(f"{path} unpacks to more than {LIMIT >> 20} MB: it is not a model file of sdm")


def _entry(archive: "ZipFile", name: str, limit: int = LIMIT) -> bytes:
    """Unpack an entry, up to its declared size."""
    size = archive.getinfo(name).file_size
    if size > limit:
        raise ValueError(f"{name} has {size:,} bytes")
    with archive.open(name) as entry:
        return entry.read(size + 1)


def _json(header: Mapping[str, object]) -> bytes:
    """Encode a header with sorted keys."""
    return json.dumps(header, indent=1, sort_keys=True).encode()
