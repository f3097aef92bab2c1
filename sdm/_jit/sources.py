"""The sources of a kernel: its file, and every file of this package that it imports from, directly or not.

A compiled kernel holds the code of the kernels that it calls and the constants that it uses, wherever they are defined.
It is kept under a digest of all these files, so a change in another file does not compile it again.
"""

import hashlib
import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
_IMPORT = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+(sdm(?:\.\w+)*)(?:[ \t]+import[ \t]+(?:\(([^)]*)\)|([^\n]*)))?", re.MULTILINE
)


@cache
def _read(path: Path) -> tuple[bytes, frozenset[Path]]:
    """Return the digest of a file, and the files of the package that it imports from."""
    content = path.read_bytes()
    imported = set[Path]()
    for module, in_brackets, on_line in _IMPORT.findall(content):
        place = PACKAGE.joinpath(*module.decode().split(".")[1:])
        names = re.findall(r"\w+", (in_brackets or on_line).decode())
        imported |= {place.with_suffix(".py"), place / "__init__.py", *(place / f"{name}.py" for name in names)}
    return hashlib.sha256(content).digest(), frozenset(file for file in imported if file.is_file())


@cache
def kernel_digest(path: Path) -> str:
    """Return a digest of a file and of everything that it imports from this package."""
    to_read, sources = [path], {path}
    while to_read:
        new = _read(to_read.pop())[1] - sources
        sources |= new
        to_read += new
    return hashlib.sha256(b"".join(_read(file)[0] for file in sorted(sources))).hexdigest()[:16]
