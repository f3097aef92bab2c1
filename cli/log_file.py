"""The log of a command (`--log-file`): messages line by line, each with the time."""

import logging
import os
import re
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from sdm.errors import OptionError
from sdm.storage.reading import special
from sdm_cli.plain import plain

_OURS = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d(:\d\d)? sdm ")


class LogFile(logging.Handler):
    """A log to append to, which is opened before work begins.

    If it cannot be written later, for example on a full disk, there is a warning, and the command continues.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        super().__init__(logging.DEBUG)
        self.path, self._warn, self._writing = path, warn, threading.Lock()
        if kind := special(path):
            raise OptionError(f"--log-file {path} is {kind}: use the name of a file")
        try:
            self.new = not path.exists()
            if path.is_dir():
                raise OptionError(f"--log-file {path} is a folder: add the name of a file")
            if not path.parent.is_dir():
                raise OptionError(f"--log-file {path}: the folder {path.parent} does not exist")
            self._file: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            begin = os.read(self._file, 80)
        except OSError as error:
            reason = error.strerror or error
            raise OptionError(f"--log-file {path} cannot be written ({reason}): choose another place") from error
        if begin and not _OURS.match(begin):
            os.close(self._file)
            raise OptionError(f"--log-file {path} exists and is not a log of sdm: choose another name")

    def refuse_inside(self, output: Path) -> None:
        """Raise OptionError if the log is in the folder of results, which is replaced completely."""
        place, results = (Path(os.path.realpath(path)) for path in (self.path, output))
        if not place.is_relative_to(results):
            return
        self.close()
        if self.new:
            self.path.unlink(missing_ok=True)
        raise OptionError(f"--log-file {self.path} is in the results ({output}): choose a place outside them")

    def line(self, text: str) -> None:
        """Write a text with the time before each line."""
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        lines = "".join(f"{now} {line}\n" for line in plain(text).split("\n") if line.strip())
        with self._writing:
            if self._file is None or not lines:
                return
            rest = lines.encode(errors="backslashreplace")
            try:
                while rest:
                    rest = rest[os.write(self._file, rest) :]
            except OSError as error:
                os.close(self._file)
                self._file = None
                reason = error.strerror or str(error)
            else:
                return
        self._warn(f"the log {self.path} cannot be written any more ({reason}): the command goes on without it")

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record of the logger."""
        self.line(self.format(record))

    def close(self) -> None:
        """Close the file; later messages are not written."""
        with self._writing:
            if self._file is not None:
                os.close(self._file)
                self._file = None
        super().close()
