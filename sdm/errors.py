"""Errors of the user's input: each message has the fault, the expected input, and advice."""

import errno
import re
from collections.abc import Iterable, Iterator

HIDDEN = "***"
"""Replacement of a secret."""
# A scheme is longer than a drive letter. Only its last two letters are matched: a search for the first one would take
# quadratic time in texts without addresses.
_ADDRESS = re.compile(r"(?:(?<=[a-z0-9+.\-]{2}):/+|/vsi[a-z0-9_]+(?=[/?]))[^\s'\"<>]*", re.IGNORECASE)
_USER = re.compile(r"(:/+)([^/?]*)@")
_NO_SECRET = re.compile(r"(?:\$\{\w+\}|:)*")


def hide_secrets(text: str) -> str:
    """Hide users, passwords and query values of addresses in a text; names of environment variables remain.

    Examples
    --------
    >>> hide_secrets("no file at https://bob:pw@host/x.tif?token=abc&user=${USER}")
    'no file at https://***@host/x.tif?token=***&user=${USER}'
    """
    return _ADDRESS.sub(lambda match: hide_address(match[0]), text)


def hide_address(address: str) -> str:
    """Return one complete address, with any characters, without its secrets."""
    bare, question, query = address.partition("?")
    bare = _USER.sub(lambda match: f"{match[1]}{_hidden(match[2])}@", bare)
    parts = (part.partition("=") for part in re.split("[&#;]", query))
    values = "&".join(f"{key}={_hidden(value)}" if sign else _hidden(key) for key, sign, value in parts)
    return f"{bare}{question}{values}"


def _hidden(value: str) -> str:
    return value if _NO_SECRET.fullmatch(value) else HIDDEN


def name_list(names: Iterable[object], most: int = 12, between: str = ", ") -> str:
    """Return names in a row for a message: the first ones, and the number of the others."""
    texts = [str(name) for name in names]
    more = f"{between}… ({len(texts) - most:,} more)" if len(texts) > most else ""
    return between.join(texts[:most]) + more


class SdmError(Exception):
    """A mistake in the data, options or files of the user.

    The command line prints it in one line with its code, without a traceback. `sdm help E010` explains a code. The text
    hides the secrets of addresses.

    Attributes
    ----------
    code : str
        The code of the error, such as E010. Codes do not change between versions.

    Examples
    --------
    >>> from sdm import Maxent, SdmError
    >>> try:
    ...     Maxent("lq").fit([[1.0], [2.0]], [1, 1])
    ... except SdmError as error:
    ...     print(error.code, error)
    E020 y has no background: one class alone ([1]) is among its labels; expected 1 for presences and 0 for background
    """

    code = "E010"

    def __init_subclass__(cls, code: str | None = None) -> None:
        super().__init_subclass__()
        if code is not None:
            cls.code = code

    def __init__(self, *parts: object, code: str | None = None) -> None:
        super().__init__(*(hide_secrets(part) if isinstance(part, str) else part for part in parts))
        if code is not None:
            self.code = code


class OptionError(SdmError, ValueError, code="E001"):
    """An option has a value that is not valid."""


class UnknownOptionError(OptionError, code="E002"):
    """A command, an option or a topic is unknown, or an argument is missing."""


class ConflictError(OptionError, code="E003"):
    """Options contradict each other, or one needs another."""


class InapplicableError(OptionError, code="E004"):
    """An option does not apply to this model or command."""


class MissingInputError(OptionError, code="E005"):
    """An input or the output folder is missing."""


class RunFileError(OptionError, code="E006"):
    """The run file cannot be read."""


class UnknownNameError(OptionError, code="E007"):
    """A species, scenario, map or measure of this name does not exist."""


class DataError(SdmError, ValueError, code="E010"):
    """The data cannot be used as they are."""


class MissingFileError(DataError, code="E011"):
    """A file or folder does not exist."""


class FileFormatError(DataError, code="E012"):
    """A file is damaged, or has an unexpected format."""


class ColumnError(DataError, code="E013"):
    """A column is missing."""


class UnknownColumnError(OptionError, code="E013"):
    """An option names a column that is missing."""


class NoRecordsError(DataError, code="E014"):
    """A table has no usable row."""


class BadValueError(DataError, code="E015"):
    """A table contains a value that is not valid."""


class NumberTypeError(BadValueError, TypeError, code="E015"):
    """A value in a column of numbers is neither a number nor a text."""


class BadRowsError(DataError, code="E016"):
    """Too many rows of a table cannot be read."""


class UnusableRecordsError(DataError, code="E017"):
    """None of the records of a species can be used."""


class DuplicateNameError(DataError, code="E018"):
    """Two columns, layers, sites or scenarios have the same name."""


class TooFewError(DataError, code="E019"):
    """There are too few records, sites or points."""


class LabelError(DataError, code="E020"):
    """Presences, absences or classes are not as expected."""


class MismatchError(DataError, code="E021"):
    """Tables or arrays do not match each other."""


class LayerError(DataError, code="E030"):
    """A layer cannot be read."""


class GridError(DataError, code="E031"):
    """Layers have different grids."""


class NoCellError(DataError, code="E032"):
    """No cell has a value in every layer."""


class CrsError(DataError, code="E033"):
    """The coordinate reference system is missing or unknown."""


class UnknownCrsError(OptionError, code="E033"):
    """An option names an unknown coordinate reference system."""


class UntaggedNodata(DataError, code="E034"):
    """A number may stand for missing values."""


class VariableError(DataError, code="E035"):
    """A variable is missing."""


class UnknownVariableError(OptionError, code="E035"):
    """An option names a variable that does not exist."""


class StudyAreaError(DataError, code="E036"):
    """The study area cannot be used."""


class UnseenCategoryError(DataError, code="E037"):
    """A category does not occur in the training data."""


class RegionError(DataError, code="E038"):
    """A model with spatial features is used outside its region."""


class FoldsError(DataError, code="E040"):
    """The folds cannot be made."""


class NoFeatureError(DataError, code="E041"):
    """No feature can be fitted."""


class BackgroundError(DataError, code="E042"):
    """The background is empty or too small."""


class SdmNotFittedError(DataError, AttributeError, code="E043"):
    """The estimator is not fitted."""


class ModelFileError(SdmError, code="E050"):
    """The model file is damaged, of another program, or of a newer version."""


class IncompleteModelError(DataError, code="E051"):
    """The model file lacks information."""


class ResultsError(DataError, code="E052"):
    """Results are missing or damaged."""


class OutputError(SdmError, code="E060"):
    """A file cannot be written."""


class OutputExistsError(OutputError, code="E061"):
    """The output exists already."""


class RunExistsError(OutputError, code="E062"):
    """The output folder contains another run."""


class RunEnded(OutputError, code="E062"):
    """The run of a worker has ended: the worker writes nothing more."""


class WorkerDied(SdmError, code="E070"):
    """A worker process was killed."""


class ClusterError(SdmError, code="E071"):
    """The cluster cannot be used."""


class SchedulerLost(ClusterError, code="E072"):
    """The connection to the cluster was lost."""


class MissingPackageError(DataError, code="E073"):
    """An optional package is not installed."""


class ScenarioError(OptionError, code="E008"):
    """The scenarios are ambiguous."""


class ScenarioFilesError(DataError, code="E008"):
    """The files of the scenarios are ambiguous."""


DISK_FULL, UNEXPECTED = "E063", "E099"
"""The codes of a full disk, and of a bug in the program."""
NO_MEMORY = "not enough memory: use fewer background points or features, smaller layers, or a higher limit (ulimit -v)"
TOO_MANY_FILES = "too many open files: raise the limit of open files of this process, for instance with ulimit -n 4096"
_NO_MEMORY_TEXT = re.compile(
    "start new thread|failed to map segment|cannot allocate memory|out of memory", re.IGNORECASE
)


def shortage(error: BaseException | None) -> str | None:
    """Return advice on a lack of memory or of open files, if that caused an error.

    Threads and libraries also need memory and fail with errors of other classes.
    """
    for one in _chain(error):
        number, text = getattr(one, "errno", None), "" if isinstance(one, SdmError) else str(one)
        if isinstance(one, MemoryError) or number == errno.ENOMEM or _NO_MEMORY_TEXT.search(text):
            return NO_MEMORY
        if number == errno.EMFILE or "Too many open files" in text:
            return TOO_MANY_FILES
    return None


def code_of(error: Exception) -> str:
    """Return the code of an error, also of the system or a library."""
    if shortage(error):
        return WorkerDied.code
    if any(getattr(one, "errno", None) == errno.ENOSPC for one in _chain(error)):
        return DISK_FULL
    unknown = OutputError.code if isinstance(error, OSError) else UNEXPECTED
    return error.code if isinstance(error, SdmError) else unknown


def expect_one_of(name: str, value: object, expected: Iterable[object]) -> None:
    """Raise OptionError unless a value is one of the expected words."""
    if value not in (words := list(expected)):
        raise OptionError(f"{name}={value!r}: expected one of {name_list(words)}")


def with_code(error: SdmError) -> str:
    """Return the text of an error with its code, as the command line prints it."""
    return f"{error} [{error.code}]"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
