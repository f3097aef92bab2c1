"""The command `sdm` as a process: signals, streams and exit codes. The commands are in `sdm_cli.app`.

Only modules that Python imports at its start are imported here, and `signal`, so that Ctrl-C is handled early.
"""

import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable
from types import FrameType

from sdm_cli.exit_codes import CUT_OFF, INTERRUPTED, exit_code


def main() -> None:
    """Run the command line, without a traceback at its end, and set the exit code."""
    _on_ctrl_c(_leave)  # nothing is open yet
    _use_utf8()
    code = 1
    gc.set_threshold(100_000, 20, 100)  # imported modules are never garbage: a fit is a tenth faster
    # One thread of linear algebra, as in every worker: the last digits of results depend on the number of threads.
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = "1"
    for name in [name for name in os.environ if name.startswith("NUMBA_")]:
        del os.environ[name]  # numba prints tracebacks for invalid values
    os.environ["NUMBA_NUM_THREADS"] = "1"
    os.environ["CPL_LOG"] = os.devnull  # GDAL and PROJ print no errors: sdm reports them
    os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"  # Arrow prints an error where threads cannot start
    if not sys.warnoptions:  # warnings of libraries are for programmers
        os.environ["PYTHONWARNINGS"] = "ignore"
        warnings.simplefilter("ignore")
    os.environ["MPLBACKEND"] = "Agg"  # figures are files, whatever the user's environment
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # pydantic would search every installed package
    try:
        from sdm_cli.app import run_app

        _on_ctrl_c(signal.default_int_handler)
        code = run_app()
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        code = exit_code(interrupt)
    except BrokenPipeError:
        code = CUT_OFF
    except OSError as error:
        from sdm.errors import code_of

        code = _say(f"error: standard output cannot be written ({error.strerror or error}) [{code_of(error)}]")
    except Exception as error:
        from sdm.errors import code_of, shortage

        reason = shortage(error)
        if reason is None:
            raise
        code = _say(f"error: {reason} [{code_of(error)}]")
    finally:
        _on_ctrl_c(_leave)
    _discard_rest()
    if code:  # files are closed; threads that still import or read would delay the exit
        os._exit(code)
    gc.freeze()  # the exit need not search for garbage: a sixth of a short run
    sys.exit()


def _use_utf8() -> None:
    """Restart Python in UTF-8 mode if the locale has only ASCII: names and records are UTF-8."""
    if sys.getfilesystemencoding() == "ascii" and os.environ.get("PYTHONUTF8") != "1":
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - the same Python


def _on_ctrl_c(handler: Callable[[int, FrameType | None], object]) -> None:
    """Set the handler of Ctrl-C, unless the parent process ignores it."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)


def _leave(*_: object) -> None:
    os._exit(INTERRUPTED)


def _say(message: str) -> int:
    from contextlib import suppress

    with suppress(OSError):  # standard error may be closed
        print(message, file=sys.stderr, flush=True)
    return 1


def _discard_rest() -> None:
    """Prevent errors of Python when it closes streams that cannot be written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
