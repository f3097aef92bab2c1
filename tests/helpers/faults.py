"""Faults put into a command: its k-th call that changes the disk kills the process, fails as a broken disk does, or
meets Ctrl-C; or the process stops before every such call, where the disk is as a kill would leave it.

Children are forked from a process that has everything loaded, so that a command can be tried hundreds of times. That
process (`Commands`) never writes a raster itself: the threads that do would be missing in its children.
"""

import errno
import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import sdm.storage.commit
from sdm.errors import SdmError

CALLS = ("replace", "rename", "unlink", "remove", "rmdir", "link", "fsync", "mkdir")
KILL, BROKEN, INTERRUPT, STOP = "kill", "EIO", "SIGINT", "stop"
FAULTS = (KILL, BROKEN)
UNEXPECTED = 99
INTERRUPTED, NOTED = 130, 131  # after Ctrl-C; with a note that the results are in place


def with_fault(
    work: Callable[[], Any],
    at: int,
    how: str,
    look: Callable[[], Any] = lambda: None,
    calls: Sequence[str] = CALLS,
) -> tuple[int, int]:
    """Do something in a child whose call number `at` goes wrong; 0 for none. With STOP the child stands still before
    every call, while somebody may `look` at the disk. Without `calls` only the exchange and the moves count.

    The moments after two folders were exchanged and after a file was moved count as calls too.

    Returns
    -------
    int
        How many calls there were.
    int
        The child's exit code; below 0 for a signal.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads of the test runner do not matter to the child
        pid = os.fork()
    if pid == 0:
        os.close(reader)
        _break(writer, at, how, calls)
        os._exit(_do(work))
    os.close(writer)
    _, status = os.waitpid(pid, os.WUNTRACED)
    while os.WIFSTOPPED(status):
        look()
        os.kill(pid, signal.SIGCONT)
        _, status = os.waitpid(pid, os.WUNTRACED)
    count = 0
    while part := os.read(reader, 4096):
        count += len(part)
    os.close(reader)
    return count, os.waitstatus_to_exitcode(status)


def in_small_process(work: Callable[..., None], *words: str) -> None:
    """Call a function of a test module in a process that has loaded little: it makes a child in two thousandths of a
    second, where that of pytest, with all that its tests have loaded, takes a tenth."""
    module = Path(inspect.getfile(work))
    places = [str(module.parent), str(Path(__file__).parent)]
    code = f"import sys\nsys.path[:0] = {places!r}\nfrom {module.stem} import {work.__name__} as work\nwork(*{words!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _do(work: Callable[[], Any]) -> int:
    try:
        work()
    except SdmError:
        return 1
    except SystemExit as stop:
        return int(stop.code or 0)
    except KeyboardInterrupt as interrupt:
        return NOTED if getattr(interrupt, "__notes__", ()) else INTERRUPTED
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return UNEXPECTED
    return 0


def _break(writer: int, at: int, how: str, calls: Sequence[str]) -> None:
    """Let the calls of this process be counted, and one of them go wrong."""
    turn = threading.Lock()
    count = 0

    def hit() -> None:
        nonlocal count
        with turn:
            count += 1
            os.write(writer, b".")
            if how == STOP:
                os.kill(os.getpid(), signal.SIGSTOP)
            if count != at:
                return
        if how == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        if how == INTERRUPT:
            raise KeyboardInterrupt
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def guarded(call: Any) -> Any:
        def wrapped(*args: Any, **options: Any) -> Any:
            hit()
            done = call(*args, **options)
            if call in moves:
                hit()
            return done

        return wrapped

    moves = (sdm.storage.commit.exchange_folders, sdm.storage.commit.rename_new)
    for name in calls:
        setattr(os, name, guarded(getattr(os, name)))
    for call in moves:
        setattr(sdm.storage.commit, call.__name__, guarded(call))


class Commands:
    """A process that runs commands with faults."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, words: Any, at: int = 0, how: str = KILL) -> tuple[int, int]:
        """Run a command; see `with_fault`."""
        self._say([[str(word) for word in words], at, how, {}])
        calls, code = self._hear()
        return calls, code

    def tell(self, words: Any, out: Path, err: str, env: dict[str, str]) -> int:
        """Run a command whose output goes to a file, and its messages to a file or a terminal; return its exit code."""
        self._say([[str(word) for word in words], 0, KILL, {"out": str(out), "err": err, "env": env}])
        _, code = self._hear()
        return int(code)

    def watch(self, words: Any, look: Callable[[int], Any]) -> tuple[int, int]:
        """Run a command that stands still before every call, while its number is told to `look`; see `with_fault`."""
        self._say([[str(word) for word in words], 0, STOP, {}])
        calls, wrong = 0, None
        while (heard := self._hear()) == STOP:
            calls += 1
            if wrong is None:
                try:
                    look(calls)
                except AssertionError as error:  # told when the command has come to its end
                    wrong = error
            self._say("go on")
        if wrong is not None:
            raise wrong
        return heard[0], heard[1]

    def _say(self, what: Any) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(what) + "\n")
        self._server.stdin.flush()

    def _hear(self) -> Any:
        assert self._server.stdout is not None
        return json.loads(self._server.stdout.readline())

    def close(self) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait(timeout=60)


def _load() -> None:
    """Import what commands import, make the commands, and load the compiled kernels that they use: by a run without
    layers, which writes no raster."""
    import gc
    from importlib import import_module

    import numpy as np

    import sdm

    modules = (
        "sdm_cli.app",
        "sdm_cli.commands.runs",
        "sdm_cli.commands.applying",
        "sdm.report.figures.maps.drawn",
        "geopandas",
    )
    for name in (*modules, "sdm.run.predicting", "sdm.maps.single"):
        import_module(name)
    rng = np.random.default_rng(0)
    lines = (
        f"{species},{x:.2f},{y:.2f},{a:.3f},{k % 3}"
        for k, (x, y, a) in enumerate(rng.normal(size=(200, 3)))
        for species in ("background" if k < 100 else f"sp{k % 2}",)
    )
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "swd.csv"
        table.write_text("\n".join(["species,longitude,latitude,a,c", *lines]) + "\n", encoding="utf-8")
        sdm.fit(table, output=Path(folder) / "out", features="lq", categorical="c", curves=False, report=False)
    _app()
    gc.collect()
    gc.freeze()  # children need not look through what is here already


@cache
def _app() -> Any:
    """All commands; children find them made."""
    from sdm_cli.app import whole_app

    return whole_app()


def _command(words: list[str], where: dict[str, Any]) -> None:
    app = _app()
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(where.get(name, os.devnull), os.O_WRONLY | os.O_CREAT | os.O_NOCTTY), stream)
    new = {"mode": "w", "buffering": 1, "encoding": "utf-8", "closefd": False}  # those of the parent may be files
    sys.stdout, sys.stderr = (open(stream, **new) for stream in (1, 2))  # noqa: SIM115 - as long as the process
    os.environ.update(where.get("env", {}))
    try:
        sys.exit(app(words, standalone_mode=False))
    finally:
        sys.stdout.flush()


def serve() -> None:
    """Run the commands that come as lines of JSON, each in a child."""
    _load()

    def say(what: Any) -> None:
        print(json.dumps(what), flush=True)

    def look() -> None:
        say(STOP)
        sys.stdin.readline()

    while line := sys.stdin.readline():
        words, at, how, where = json.loads(line)
        say(with_fault(lambda words=words, where=where: _command(words, where), at, how, look))  # type: ignore[misc]


if __name__ == "__main__":
    serve()
