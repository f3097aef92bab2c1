"""What a kernel is made of: its own file, and every file of this package that it imports from, directly or not.

A compiled kernel holds the code of the kernels that it calls and the constants that it uses, wherever they stand. It is
kept under a digest of all these files, so that a change anywhere else leaves it as it is, and two copies of the same
sources share it.
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
    """Return the content of a file, and the files of the package that it imports from."""
    content = path.read_bytes()
    found = set[Path]()
    for home, listed, line in _IMPORT.findall(content):
        parts = home.decode().split(".")
        place = PACKAGE.joinpath(*parts[1:])
        names = re.findall(r"\w+", (listed or line).decode())
        found |= {place.with_suffix(".py"), place / "__init__.py", *(place / f"{name}.py" for name in names)}
    return content, frozenset(file for file in found if file.is_file())


@cache
def kernel_digest(path: Path) -> str:
    """Return a digest of a file and of everything that it imports from this package."""
    todo, seen = [path], {path}
    while todo:
        new = _read(todo.pop())[1] - seen
        seen |= new
        todo += new
    whole = hashlib.sha256()
    for file in sorted(seen):
        content = _read(file)[0]
        whole.update(hashlib.sha256(content).digest())
    return whole.hexdigest()[:16]
