"""Errors of the user's input: each message says what happened, what was found and expected, and what to do."""

import errno
import re
from collections.abc import Iterable

HIDDEN = "***"
"""What stands for a secret."""
# A scheme is longer than a drive letter. Its last two letters are enough: a search for its first one costs the square
# of the length of a text without addresses.
_ADDRESS = re.compile(r"(?:(?<=[a-z0-9+.\-]{2}):/+|/vsi[a-z0-9_]+(?=[/?]))[^\s'\"<>]*", re.IGNORECASE)
_USER = re.compile(r"(:/+)([^/?]*)@")
_NO_SECRET = re.compile(r"(?:\$\{\w+\}|:)*")


def hide_secrets(text: str) -> str:
    """Return a text in which addresses show neither users and passwords nor the values that they ask with; names of
    environment variables stay.

    Examples
    --------
    >>> hide_secrets("no file at https://bob:pw@host/x.tif?token=abc&user=${USER}")
    'no file at https://***@host/x.tif?token=***&user=${USER}'
    """
    return _ADDRESS.sub(lambda found: hide_address(found[0]), text)


def hide_address(address: str) -> str:
    """Return one whole address, whatever letters it has, without its secrets."""
    bare, question, query = address.partition("?")
    bare = _USER.sub(lambda found: f"{found[1]}{_hidden(found[2])}@", bare)
    parts = (part.partition("=") for part in re.split("[&#;]", query))
    values = "&".join(f"{key}={_hidden(value)}" if sign else _hidden(key) for key, sign, value in parts)
    return f"{bare}{question}{values}"


def _hidden(value: str) -> str:
    return value if _NO_SECRET.fullmatch(value) else HIDDEN


def name_list(names: Iterable[object], most: int = 12, between: str = ", ") -> str:
    """Return names in a row for a message: the first ones, and how many more there are."""
    texts = [str(name) for name in names]
    more = f"{between}… ({len(texts) - most:,} more)" if len(texts) > most else ""
    return between.join(texts[:most]) + more


class SdmError(Exception):
    """A mistake that the user can mend; the command line prints it in one line, without a traceback. Its text shows no
    secret of an address. All errors of the package that are about data, options or files are of this class.

    Examples
    --------
    >>> from sdm import Maxent, SdmError
    >>> try:
    ...     Maxent("lq").fit([[1.0], [2.0]], [1, 1])
    ... except SdmError as error:
    ...     print(error)
    y has no background: one class alone ([1]) is among its labels; expected 1 for presences and 0 for background
    """

    def __init__(self, *parts: object) -> None:
        super().__init__(*(hide_secrets(part) if isinstance(part, str) else part for part in parts))


class DataError(SdmError, ValueError):
    """Occurrences, layers or a table that cannot be used as they are."""


class BadRowsError(DataError):
    """A file with more rows that cannot be read than may be left out."""


class OptionError(SdmError, ValueError):
    """An option with a value that makes no sense."""


class ModelFileError(SdmError):
    """A model file that is damaged, is not ours, or was written by a newer version."""


class OutputError(SdmError):
    """A result that cannot be written: it exists already, or the folder does not let us."""


class ClusterError(SdmError):
    """A cluster that cannot do the work: it is not there, or its machines differ from this one."""


class SchedulerLost(ClusterError):
    """A cluster that was there and is not any more; what it had not done can be done again."""


NO_MEMORY = "not enough memory: use fewer background points or features, smaller layers, or a higher limit (ulimit -v)"
TOO_MANY_FILES = "too many open files: raise the limit of open files of this process, for instance with ulimit -n 1024"
_NO_MEMORY_TEXT = re.compile(
    "start new thread|failed to map segment|cannot allocate memory|out of memory", re.IGNORECASE
)


def shortage(error: BaseException | None) -> str | None:
    """Return what to do about a lack of memory or of open files, if an error or one before it comes from that.

    Threads and libraries need memory too, and fail with errors of other classes.
    """
    while error is not None:
        code, text = getattr(error, "errno", None), "" if isinstance(error, SdmError) else str(error)
        if isinstance(error, MemoryError) or code == errno.ENOMEM or _NO_MEMORY_TEXT.search(text):
            return NO_MEMORY
        if code == errno.EMFILE or "Too many open files" in text:
            return TOO_MANY_FILES
        error = error.__cause__ or error.__context__
    return None
