"""Messages, progress, errors in one line and exit codes of every command."""

import io
import logging
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from sdm import _jit
from sdm._version import __version__
from sdm.errors import OptionError, OutputError, SdmError, code_of, hide_address, hide_secrets, shortage
from sdm.progress.stages import SHORT, Stage, Stages, duration_text
from sdm.storage.files import to_json
from sdm_cli.exit_codes import CUT_OFF, exit_code
from sdm_cli.flags import Flags, with_flags
from sdm_cli.log_file import LogFile
from sdm_cli.plain import plain
from sdm_cli.progress_lines import ProgressLines, ticking

if TYPE_CHECKING:
    from sdm.types import Progress

LOG_EVERY, JOB_EVERY = 10.0, 30.0
"""Seconds between two lines about one stage: in a log, and in the output of a job without a terminal."""

LONGEST = 2_000
"""Characters of an error that are printed; JSON has the complete text."""


class Console:
    """Output of a command: results to standard output (one JSON object if `as_json`), messages to standard error."""

    def __init__(
        self,
        command: str,
        quiet: bool = False,
        verbose: bool = False,
        as_json: bool = False,
        debug: bool = False,
        log_file: Path | None = None,
    ) -> None:
        for stream in (sys.stdout, sys.stderr):  # names may have letters that the terminal's encoding lacks
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        self.command, self.quiet, self.verbose, self.as_json, self.debug = command, quiet, verbose, as_json, debug
        self.log_path, self.file = log_file, None  # type: Path | None, LogFile | None
        self.flags: Flags = {}
        self.handler = _Lines()
        self.handler.setLevel(logging.WARNING if quiet else logging.DEBUG if verbose else logging.INFO)
        self.log = logging.getLogger("sdm")
        self.log.handlers, self.log.propagate = [self.handler], False
        self.handler.addFilter(self._reword)
        self.log.setLevel(self.handler.level if log_file is None else logging.DEBUG)
        _jit.when_compiling[:] = [self._compiling]

    def _compiling(self) -> None:
        """Report the compilation in the first run on a machine, on a terminal or with --verbose."""
        level = logging.INFO if sys.stderr is not None and sys.stderr.isatty() else logging.DEBUG
        self.log.log(level, "first run on this machine: compiling, once, for some seconds")

    def reworded(self, text: str, *, error: bool = True) -> str:
        """Return a message with flags in place of the names of options."""
        return with_flags(text, self.flags, error=error)

    def _reword(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self.reworded(record.getMessage(), error=record.levelno >= logging.ERROR), ()
        return True

    def say(self, text: str = "") -> None:
        """Print a line of the result, unless the result is JSON."""
        if self.file is not None:
            self.file.line(text)
        if not self.as_json and not self.quiet:
            _print(text)

    def lines(self, lines: Iterable[str]) -> None:
        """Print lines of the result, unless the result is JSON."""
        for line in lines:
            self.say(line)

    def result(
        self, lines: Iterable[str], notices: Sequence[str] = (), warnings: Sequence[str] = (), **answer: Any
    ) -> None:
        """Print the result of a command: notices, lines and warnings as text, or everything as JSON."""
        for notice in notices:
            self.log.info(notice)
        self.lines(lines)
        self.warn(warnings)
        self.answer(notices=notices, warnings=warnings, **answer)

    def warn(self, texts: Iterable[str]) -> None:
        """Print warnings."""
        for text in texts:
            self.log.warning("warning: %s", text)

    def answer(self, **answer: Any) -> None:
        """Print the machine-readable result with --json; its fields are defined in `sdm.run.outcome`."""
        if self.as_json:
            from sdm.run.outcome import Outcome

            for key in ("notices", "warnings"):
                answer[key] = [self.reworded(text, error=False) for text in answer.get(key, ())]
            _print(to_json(Outcome(command=self.command, **answer).model_dump()))

    @contextmanager
    def progress(self, output: str | Path | None = None) -> "Iterator[Progress | None]":
        """Yield a progress function: bars on a terminal, lines in a log and in the output of a job.

        Yield None if progress is not shown. `output` is the folder of results: a log in it is refused.
        """
        if self.file is not None and output is not None:
            self.file.refuse_inside(Path(output))
        if self.quiet and self.file is None:
            yield None
            return
        lines, stages = list[ProgressLines](), Stages()
        with ExitStack() as shown:
            if self.file is not None:
                lines.append(ProgressLines(self.file.line, LOG_EVERY, starts=True))
            if not self.quiet and not self._watched(stages, shown):
                lines.append(ProgressLines(_print_aside, JOB_EVERY, ends=not self.verbose))
            stages.listeners = [*lines, self]
            shown.enter_context(ticking(stages, lines))
            yield stages

    def _watched(self, stages: Stages, shown: ExitStack) -> bool:
        """Show bars, and return True, if there is a terminal that supports them."""
        if self.as_json or sys.stderr is None or not sys.stderr.isatty():
            return False
        from rich.console import Console as Terminal

        terminal = Terminal(stderr=True)
        if not terminal.is_terminal or terminal.is_dumb_terminal:
            return False
        from rich.live import Live

        from sdm_cli.bars import Bars

        bars = Bars(stages, terminal)
        shown.enter_context(
            Live(
                get_renderable=bars.table,
                console=terminal,
                transient=True,
                refresh_per_second=8,
                redirect_stdout=False,
            )
        )
        return True

    def began(self, stage: Stage) -> None:
        """Do nothing at the start of a stage."""

    def ended(self, stage: Stage) -> None:
        """Log the end of a stage; if it is one of several models, only if it took long."""
        if not stage.inner or stage.seconds(stage.updated) >= SHORT:
            self.log.debug("%s", stage.line(stage.updated))

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Turn errors into a line and an exit code: 2 for options, 1 for others, 130 or 143 for signals.

        The log is open in the block, and its last line is the result.
        """
        code, began = 1, monotonic()
        try:
            with self._explained():
                self._open_log()
                yield
            code = 0
        except typer.Exit as stop:
            code = stop.exit_code
            raise
        finally:
            if self.file is not None:
                self.file.line(f"ended after {duration_text(monotonic() - began)} with exit code {code}")
                self.log.removeHandler(self.file)
                self.file.close()

    def _open_log(self) -> None:
        if self.log_path is not None:
            self.file = LogFile(self.log_path, lambda text: _print_aside(f"warning: {text}"))
            self.file.line(f"sdm {__version__}: {command_line()}")
            self.file.addFilter(self._reword)
            self.log.addHandler(self.file)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:  # the reader of the output, such as `head`, has ended
            raise typer.Exit(CUT_OFF) from None
        except KeyboardInterrupt as interrupt:
            notes = getattr(interrupt, "__notes__", None) or ["nothing half-written was kept"]
            self._last_word(f"interrupted: {notes[0]}")
            raise typer.Exit(exit_code(interrupt)) from None
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            scarce = shortage(error)
            message, code = scarce or self.reworded(_sentence(error)), code_of(error)
            self._fail(message, code, 2 if isinstance(error, OptionError) and scarce is None else 1)

    def _fail(self, message: str, code: str, exit_with: int) -> NoReturn:
        if self.debug:
            self._last_word(traceback.format_exc().rstrip("\n"), hide_secrets)
        if self.as_json:
            with suppress(OSError, OutputError):  # the output itself may have failed
                self.answer(error=message, code=code)
        shown = message if len(message) <= LONGEST else f"{message[:LONGEST]}… ({len(message):,} characters)"
        self._last_word(f"error: {' '.join(shown.split(chr(10)))} [{code}]")
        raise typer.Exit(exit_with) from None

    def _last_word(self, text: str, shown: Callable[[str], str] = plain) -> None:
        if self.file is not None:
            self.file.line(text)
        print(shown(text), file=sys.stderr)


class _Lines(logging.Handler):
    """Print messages to standard error, above the bars."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record of the logger."""
        _print_aside(self.format(record))


def _print_aside(text: str) -> None:
    """Print a line to standard error, without control characters."""
    if sys.stderr is not None:
        with suppress(OSError):  # standard error may be closed
            print(plain(text), file=sys.stderr, flush=True)


def _sentence(error: Exception) -> str:
    if isinstance(error, SdmError):
        return str(error)
    if isinstance(error, OSError):
        return f"{f'{error.filename}: ' if error.filename else ''}{error.strerror or error}"
    return f"unexpected {type(error).__name__}: {error} (this is a bug in sdm; --debug shows where)"


def _print(text: str) -> None:
    try:
        print(plain(text))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard output cannot be written ({error.strerror or error})") from error


def _typed(word: str) -> str:
    """Return a word of the command without the secrets of an address, also in NAME=ADDRESS."""
    address = r"([a-z][a-z0-9+.\-]+://|/vsi).*"
    return re.sub(address, lambda match: hide_address(match[0]), word, count=1, flags=re.IGNORECASE | re.DOTALL)


def command_line() -> str:
    """Return the command as it was typed."""
    typed = shlex.join(["sdm", *(_typed(word) for word in sys.argv[1:])])
    return typed.encode(errors="backslashreplace").decode()  # names of files may not be text
