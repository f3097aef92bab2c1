"""Errors of the user's input: each message says what happened, what was found and expected, and what to do."""


class SdmError(Exception):
    """A mistake that the user can mend; the command line prints it in one line, without a traceback."""


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
