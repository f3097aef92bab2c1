"""What every command shares: messages, progress, errors in one line, exit codes."""

import io
import logging
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import typer

from sdm.errors import OptionError, OutputError, SdmError, hide_address, hide_secrets
from sdm.files import to_json
from sdm_cli.exit_codes import CUT_OFF, INTERRUPTED, TERMINATED


class Terminated(KeyboardInterrupt):
    """The system asked the process to end, as a queue does when the time of a job is over."""


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """Return 130 after Ctrl-C, 143 after SIGTERM."""
    return TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED


class Console:
    """Where a command speaks: results to standard output (one JSON object if `as_json`), all else to standard error."""

    def __init__(
        self, command: str, quiet: bool = False, verbose: bool = False, as_json: bool = False, debug: bool = False
    ) -> None:
        for stream in (sys.stdout, sys.stderr):  # a species' name may have letters that a terminal has not
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        self.command, self.quiet, self.as_json, self.debug = command, quiet, as_json, debug
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Plain("%(message)s"))
        self.log = logging.getLogger("sdm")
        self.log.handlers, self.log.propagate = [handler], False
        self.log.setLevel(logging.WARNING if quiet else logging.DEBUG if verbose else logging.INFO)

    def say(self, text: str = "") -> None:
        """Print a line of the result, unless the result is JSON."""
        if not self.as_json and not self.quiet:
            _print(text)

    def lines(self, lines: Iterable[str]) -> None:
        """Print lines of the result, unless the result is JSON."""
        for line in lines:
            self.say(line)

    def result(self, **answer: Any) -> None:
        """Print the machine-readable result, if it was asked for; its fields are those of `sdm.workflow.outcome`."""
        if self.as_json:
            from sdm.workflow.outcome import Outcome

            _print(to_json(Outcome(command=self.command, **answer).model_dump()))

    @contextmanager
    def progress(self) -> Iterator[Callable[[int, int, str], None] | None]:
        """Give a function that moves a progress bar; nothing when not attached to a terminal."""
        if self.quiet or self.as_json or not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console as RichConsole
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f}%"))
        with Progress(*columns, TimeRemainingColumn(), console=RichConsole(stderr=True), transient=True) as bar:
            task = bar.add_task("working")
            yield lambda done, total, text: bar.update(task, completed=done, total=total, description=plain(text))

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Turn what goes wrong into a line and an exit code: 2 for options, 1 for the rest, 130 or 143 for signals."""
        try:
            yield
        except BrokenPipeError:  # whoever read our output, such as `head`, has seen enough
            raise typer.Exit(CUT_OFF) from None
        except KeyboardInterrupt as interrupt:
            print("interrupted: nothing half-written was kept", file=sys.stderr)
            raise typer.Exit(exit_code(interrupt)) from None
        except (typer.Exit, typer.Abort):
            raise
        except SdmError as error:
            self._fail(str(error), 2 if isinstance(error, OptionError) else 1)
        except MemoryError:
            self._fail("not enough memory: use fewer background points or features, or smaller layers")
        except OSError as error:
            self._fail(f"{f'{error.filename}: ' if error.filename else ''}{error.strerror or error}")
        except Exception as error:
            self._fail(f"unexpected {type(error).__name__}: {error} (this is a fault of sdm; --debug shows where)")

    def _fail(self, message: str, code: int = 1) -> NoReturn:
        if self.debug:
            print(hide_secrets(traceback.format_exc()), end="", file=sys.stderr)
        if self.as_json:
            with suppress(OSError, OutputError):  # it may be the output that failed
                self.result(error=message)
        print(f"error: {plain(' '.join(message.split(chr(10))))}", file=sys.stderr)
        raise typer.Exit(code) from None


class _Plain(logging.Formatter):
    """Lines of text, and nothing that a terminal obeys."""

    def format(self, record: logging.LogRecord) -> str:
        return plain(super().format(record))


def plain(text: str) -> str:
    """Show what a terminal would obey (colours, moves of the cursor, text turned round) as \\x1b and the like, and no
    secrets of addresses."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), hide_secrets(text))


_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _print(text: str) -> None:
    try:
        print(plain(text))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard output cannot be written ({error.strerror or error})") from error


def _typed(word: str) -> str:
    """Return a word of the command without the secrets of an address, also in NAME=ADDRESS."""
    place = re.search(r"[a-z][a-z0-9+.\-]+://|/vsi", word, re.IGNORECASE)
    return word if place is None else word[: place.start()] + hide_address(word[place.start() :])


def command_line() -> str:
    """Return the command as it was typed."""
    typed = shlex.join(["sdm", *(_typed(word) for word in sys.argv[1:])])
    return typed.encode(errors="backslashreplace").decode()  # names of files need not be text
