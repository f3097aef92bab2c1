"""Archives that models are kept in: a zip of plain arrays (`.npz`) with a JSON header; nothing that can run.

Entries have a fixed date and order, so the same model gives the same bytes. The header holds a digest of everything.
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

if TYPE_CHECKING:  # only those who read or write a file load it
    from zipfile import ZipFile

LIMIT = 64 << 20  # bytes; no honest model has that many weights
HEADER_LIMIT = 16 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)
LEVEL = 4  # of deflating: 6 would take four times as long for a thirtieth less
T = TypeVar("T")


@dataclass(frozen=True)
class Archive:
    """A kind of file."""

    format: str  # the format that its header names, such as `sdm-model`
    version: int  # of files without optional arrays; with them it is one more, which earlier programs refuse; and two
    # more where the header says so, since it has what programs before that do not know
    header: str  # the entry of the header, such as `model.json`
    title: str  # its name in messages, such as `model file`

    @property
    def newest(self) -> int:
        """The newest version that this program reads."""
        return self.version + 2

    def pack(
        self,
        fields: Mapping[str, object],
        arrays: Mapping[str, AnyArray],
        optional: Mapping[str, AnyArray] | None = None,
    ) -> bytes:
        """Return the content of a file: `fields` (JSON values) in the header, and the arrays, also optional ones; no
        more than `load` reads."""
        version = self.version + bool(optional)
        arrays = {**arrays, **(optional or {})}
        if (size := sum(array.nbytes for array in arrays.values())) > LIMIT // 2:  # what is written can be read again
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
            archive.fp = None  # else its refusal to be closed within an entry would take the place of an interrupt
            raise
        return out.getvalue()

    def identity(self, fields: Mapping[str, object], arrays: Mapping[str, AnyArray]) -> str:
        """Return a short name for exactly this content, however it would be deflated."""
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
        """Read the header and the arrays called `names`, and those of the `optional` ones that are there; check them,
        and return the result of `build`. Whatever that raises means a damaged file, and every mistake of the file is
        a ModelFileError."""
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
        except Exception as error:  # a damaged or hostile file makes zipfile, zlib, json and numpy raise all sorts
            raise ModelFileError(
                f"{path} is not a readable {self.title}, or is damaged ({type(error).__name__}): copy it, or fit again"
            ) from error

    def _read(
        self, archive: "ZipFile", path: Path, names: Sequence[str], optional: Sequence[str]
    ) -> tuple[Numbers, dict[str, AnyArray]]:
        _check_size(archive, path)
        there = set(archive.namelist())
        if self.header not in there:
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
            for name in (*names, *(name for name in optional if f"{name}.npy" in there))
        }
        if digest(header, arrays) != header["digest"]:
            raise ModelFileError(f"{path} was modified after it was written: copy it again, or fit again")
        return header, arrays


def format_of(path: str | os.PathLike[str]) -> str | None:
    """Return the format that the header of an archive names; None where that cannot be read."""
    path = Path(path)
    if special(path):
        return None
    from zipfile import ZipFile

    try:
        with ZipFile(path) as archive:
            _check_size(archive, path)
            headers = [name for name in archive.namelist() if name.endswith(".json")]
            named = json.loads(_entry(archive, headers[0], HEADER_LIMIT))["format"]
    except Exception:  # a damaged or hostile file: whoever loads it says what is wrong
        return None
    return named if isinstance(named, str) else None


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
    """Unpack an entry, and no more of it than its size says."""
    size = archive.getinfo(name).file_size
    if size > limit:
        raise ValueError(f"{name} has {size:,} bytes")
    with archive.open(name) as entry:
        return entry.read(size + 1)


def _json(header: Mapping[str, object]) -> bytes:
    """Write a header, keys sorted."""
    return json.dumps(header, indent=1, sort_keys=True).encode()
