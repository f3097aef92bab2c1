"""How the process ends, for scripts that ask."""

INTERRUPTED, TERMINATED, CUT_OFF = 130, 143, 141
"""Exit codes after Ctrl-C, after SIGTERM, and where whoever read our output, such as `head`, had seen enough."""
