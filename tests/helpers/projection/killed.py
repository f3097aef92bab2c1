"""Run a command of sdm that kills itself: `python killed.py MOMENT K WORD…`, at the K-th time that it is there.

The moments: `scenario` begins to be mapped; `commit`, when a finished folder is about to take its place; `numbers`,
when those of a scenario are about to be written; `over`, when maps over scenarios begin.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import sdm.commit
from sdm.workflow.projecting import joining, projection
from sdm_cli.main import main

MOMENT, TIMES = sys.argv[1], int(sys.argv[2])
WHERE = {
    "scenario": (projection.ScenarioPass, "write"),
    "commit": (sdm.commit, "_commit"),
    "numbers": (projection, "to_json"),
    "over": (joining, "write_agreement"),
}


def killing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which ends the process at its K-th call."""
    left = TIMES

    def call(*arguments: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **named)

    return call


if __name__ == "__main__":
    owner, name = WHERE[MOMENT]
    setattr(owner, name, killing(getattr(owner, name)))
    sys.argv = ["sdm", *sys.argv[3:]]
    main()
