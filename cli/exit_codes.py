"""How the process ends, for scripts that ask."""

INTERRUPTED, TERMINATED, CUT_OFF = 130, 143, 141
"""Exit codes after Ctrl-C, after SIGTERM, and where whoever read our output, such as `head`, had seen enough."""


class Terminated(KeyboardInterrupt):
    """The system asked the process to end, as a queue does when the time of a job is over."""


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """Return 130 after Ctrl-C, 143 after SIGTERM."""
    return TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED
