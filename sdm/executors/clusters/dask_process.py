"""A worker of `--cluster local`: joins the scheduler that its standard input names, and ends with that input."""

import asyncio
import json
import os
import shutil
import sys
from threading import Thread
from typing import Any, TextIO


def join_scheduler() -> None:
    """Work for a scheduler; tell the process that started this one, with a line, when it has begun."""
    order = json.loads(sys.stdin.readline())
    sys.path[:] = order["path"]
    Thread(target=_end_with_input, args=(order["scratch"],), daemon=True).start()
    ready = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a task prints is not mistaken for the line
    asyncio.run(_serve_scheduler(order, ready))


def _end_with_input(scratch: str) -> None:
    """End at once when the process at the other end of the pipe has ended, however that was."""
    try:
        sys.stdin.read()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os._exit(0)


async def _serve_scheduler(order: dict[str, str], ready: TextIO) -> None:
    from sdm.executors.clusters.quiet import CALM, quiet_dask

    with quiet_dask():
        import dask
        from distributed import Worker

        dask.config.set(CALM)
        options: dict[str, Any] = {"nthreads": 1, "memory_limit": 0, "host": "127.0.0.1", "dashboard": False}
        async with Worker(order["address"], local_directory=order["scratch"], **options) as worker:
            print("ready", file=ready, flush=True)
            await worker.finished()


if __name__ == "__main__":
    join_scheduler()
