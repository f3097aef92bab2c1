"""The command `sdm` as a process: signals and streams. It imports next to nothing: `sdm_cli.app` does the work."""

import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

INTERRUPTED, TERMINATED, CUT_OFF = 130, 143, 141
"""Exit codes after Ctrl-C, after SIGTERM, and where whoever read our output, such as `head`, had seen enough."""
PATIENCE = 1.0  # seconds that threads and workers have to end after a signal


def main() -> None:
    """Run the command line. However it ends, there is no traceback and the exit code says how."""
    _on_ctrl_c(_leave)  # nothing is open yet
    code = 1
    try:
        from sdm_cli.app import run

        _on_ctrl_c(signal.default_int_handler)
        code = run()
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = CUT_OFF
    except OSError as error:
        code = _say(f"error: standard output cannot be written ({error.strerror or error})")
    finally:
        _on_ctrl_c(_leave)
    if code in (INTERRUPTED, TERMINATED):
        last = threading.Timer(PATIENCE, os._exit, (code,))
        last.daemon = True
        last.start()
    _discard_rest()
    sys.exit(code)


def _on_ctrl_c(handler: Any) -> None:
    """Set what Ctrl-C does, unless whoever started us wants it to be ignored."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)


def _leave(*_: Any) -> None:
    os._exit(INTERRUPTED)


def _say(message: str) -> int:
    with suppress(OSError):  # it may not be writable either
        print(message, file=sys.stderr, flush=True)
    return 1


def _discard_rest() -> None:
    """Keep Python from complaining, when it closes them, of streams that cannot be written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
