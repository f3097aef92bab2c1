"""Worker processes end with their run, at once and without a word, whatever ends it.

Their tasks never end by themselves, so none of this depends on how fast the machine is.
"""

import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from clusters.machines import HELPERS, alive
from terminal import hearing_ctrl_c

from sdm.assess.fits import run_all
from sdm.errors import SdmError
from sdm.executors import process
from sdm.executors.local import LocalProcesses
from sdm.executors.opening import workers
from sdm.options.definitions import RunOptions

SCRIPT = """
import sys
from pathlib import Path
from sdm.assess.fits import run_all
from sdm.executors.opening import workers
from sdm.options.definitions import RunOptions
from clusters.tasks import busy

if __name__ == "__main__":
    try:
        with workers(RunOptions(processes=2)) as pool:
            run_all(busy, [(sys.argv[1],)] * 8, pool)
    except KeyboardInterrupt:
        sys.exit(130)
"""


def die(_: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def run(tmp_path: Path):
    """A process with two workers at work, in a process group of its own as in a terminal, and their ids."""
    (tmp_path / "script.py").write_text(SCRIPT)
    paths = os.pathsep.join([str(HELPERS), os.environ.get("PYTHONPATH", "")])
    with hearing_ctrl_c():
        child = subprocess.Popen(
            [sys.executable, tmp_path / "script.py", tmp_path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,
        )
    try:
        while len(began := list(tmp_path.glob("*.began"))) < 2 and child.poll() is None:
            time.sleep(0.01)
        yield child, [int(path.stem) for path in began]
    finally:
        for pid in [child.pid, *(int(path.stem) for path in began)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        child.communicate()


@pytest.mark.thorough
def test_ctrl_c_in_a_terminal_ends_all_of_them(run) -> None:
    """A terminal sends it to every process of the group; a script or a notebook only to the first."""
    child, pids = run
    assert len(pids) == 2
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=60)  # returns when the last of them has closed its streams
    assert (child.returncode, out, err) == (130, "", "")
    assert not any(map(alive, pids))


@pytest.mark.thorough
def test_ctrl_c_to_the_first_process_alone_ends_all_of_them(run) -> None:
    child, pids = run
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (130, "", "")
    assert not any(map(alive, pids))


@pytest.mark.thorough
def test_killing_the_first_process_ends_its_workers(run) -> None:
    child, _ = run
    child.kill()
    out, err = child.communicate(timeout=60)
    assert (out, err) == ("", "")


def test_a_worker_that_is_killed_is_an_error_that_says_what_to_do() -> None:
    said = r"one of 2 workers was killed.*--processes 1"
    with pytest.raises(SdmError, match=said), workers(RunOptions(processes=2)) as pool:
        run_all(die, [("",)], pool)


def test_after_a_worker_was_killed_another_does_the_next_tasks() -> None:
    """A species that takes too much memory must not end the other species of a batch."""
    pool = LocalProcesses(1)
    try:
        with pytest.raises(BrokenExecutor):
            pool.submit(die, "").result(timeout=60)
        assert [pool.submit(len, word).result(timeout=60) for word in ("four", "sixsix")] == [4, 6]
    finally:
        pool.kill()


def test_a_process_starts_without_knowing_where_the_program_is() -> None:
    """It is told with its first task: the program may be where only the first process looks."""
    command = [sys.executable, "-I", "-S", process.__file__]
    done = subprocess.run(command, capture_output=True, input=b"", timeout=60, check=False)
    assert (done.returncode, done.stderr.count(b"No module named")) == (0, 0), done.stderr
    task = pickle.dumps((list(sys.path), pickle.dumps((len, ("four",), {}))))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        child.stdin.write(task)
        child.stdin.flush()
        assert pickle.load(child.stdout) == (True, 4)  # noqa: S301 - from the process that was started here
        child.stdin.close()


MAPPED = """
import ctypes, sys
from sdm.executors.local import give_memory_back

class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "abcdhijklm"]  # mallinfo2: h is what large blocks have

library = ctypes.CDLL(None)
library.mallinfo2.restype = Info
library.malloc.restype = ctypes.c_void_p
library.malloc.argtypes = [ctypes.c_size_t]
library.free.argtypes = [ctypes.c_void_p]
give_memory_back()
library.free(library.malloc(8 << 20))
before = library.mallinfo2().h
library.malloc(2 << 20)
print((library.mallinfo2().h - before) >> 20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only the C library of Linux keeps what is freed")
def test_a_batch_in_this_process_gives_memory_back() -> None:
    """Otherwise freed arrays leave holes among small blocks, and the memory of a batch grows with its species."""
    done = subprocess.run([sys.executable, "-c", MAPPED], capture_output=True, text=True, check=True)
    assert done.stdout == "2\n"
