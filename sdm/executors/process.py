"""Worker process of `local.py`: run the tasks from standard input, and end with it."""

import os
import pickle
import sys
import traceback
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO


def serve() -> None:
    """Answer every task with a pair (success, result or exception), in order."""
    source, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of a task does not mix with answers
    tasks: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(source, tasks), daemon=True).start()
    task = tasks.get()
    while True:
        answers.write(answer_task(task))
        answers.flush()
        task = tasks.get()


def _listen(source: BinaryIO, tasks: "SimpleQueue[bytes]") -> None:
    """Read tasks. The stream ends with the parent process, and this process with it."""
    try:
        while True:
            sys.path[:], task = pickle.load(source)  # noqa: S301 - from the process that started this one
            tasks.put(task)
    finally:
        os._exit(0)


def answer_task(task: bytes) -> bytes:
    """Call a pickled function; return the pickled pair (success, result or exception)."""
    answer: tuple[bool, Any]
    try:
        function, args, options = pickle.loads(task)  # noqa: S301
        answer = True, function(*args, **options)
    except Exception as error:
        error.add_note(traceback.format_exc())  # for --debug, since frames cannot be pickled
        answer = False, error
    try:
        return pickle.dumps(answer)
    except Exception as error:
        return pickle.dumps((False, TypeError(f"{answer[1]!r} cannot be sent: {error}")))


if __name__ == "__main__":
    serve()
