"""Exit codes of the process, for scripts."""

INTERRUPTED, TERMINATED, CUT_OFF = 130, 143, 141
"""Exit codes after Ctrl-C, after SIGTERM, and after the reader of the output, such as `head`, has ended."""


class Terminated(KeyboardInterrupt):
    """The process received SIGTERM, for example at the time limit of a job."""


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """Return 130 after Ctrl-C, 143 after SIGTERM."""
    return TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED
