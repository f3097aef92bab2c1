"""Where results may go."""

from pathlib import Path

from sdm.errors import OutputError
from sdm.reading import special


def check_output(path: Path) -> None:
    """Raise if a result cannot have this place, whatever may be overwritten.

    Raises
    ------
    OutputError
        For a device, pipe or socket, which would be replaced by a file, and for a name that is not text: maps and pages
        are written by programs that take names as UTF-8.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = str(path).encode(errors="backslashreplace").decode()
        raise OutputError(f"{shown} is not a name in UTF-8: choose another one for results") from None
    if "\0" in str(path):
        raise OutputError("the name of the results has a zero byte in it: choose another one")
    if kind := special(path):
        raise OutputError(f"{path} is {kind}, and results are files: choose another name")
