"""A process that runs commands of sdm which kill themselves, each in a child that finds everything loaded.

A command is a line of JSON on standard input, `[MOMENT, K, WORD, …]`: it ends at the K-th time that it is at a moment;
the answer is a line with its exit code. The moments: `scenario` begins to be mapped; `commit`, when a finished folder
is about to take its place; `numbers`, when those of a scenario are about to be written; `over`, when maps over
scenarios begin. This process itself writes no raster: the threads that do would be missing in its children.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import geopandas  # noqa: F401 - so that children need not load it

import sdm.storage.commit
import sdm_cli.commands.applying  # noqa: F401
from sdm.run.projecting import joining, mapping
from sdm_cli.main import main

WHERE = {
    "scenario": (mapping.ScenarioPass, "write"),
    "commit": (sdm.storage.commit, "_commit"),
    "numbers": (mapping, "to_json"),
    "over": (joining, "write_agreement"),
}


def killing(function: Callable[..., Any], times: int) -> Callable[..., Any]:
    """The function, which ends the process at its K-th call."""
    left = times

    def call(*arguments: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **named)

    return call


def run(moment: str, times: int, *words: str) -> None:
    """Run a command in this process, which says nothing."""
    owner, name = WHERE[moment]
    setattr(owner, name, killing(getattr(owner, name), times))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.argv = ["sdm", *words]
    main()


def serve() -> None:
    """Run the commands that come, each in a child."""
    while line := sys.stdin.readline():
        pid = os.fork()
        if pid == 0:
            try:
                run(*json.loads(line))
            finally:
                os._exit(0)  # it was not killed
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
