"""Who does the work of a run: processes that end with it, or this one."""

import os
import pickle

import pytest

from sdm.errors import SdmError
from sdm.executors.opening import workers
from sdm.executors.remote import local_versions, work
from sdm.options.definitions import RunOptions

TWO = RunOptions(processes=2)


def die() -> None:
    os._exit(9)


def test_processes_end_with_the_work() -> None:
    with workers(TWO) as pool:
        pids = {future.result() for future in [pool.submit(os.getpid) for _ in range(12)]}
        running = list(pool._workers.values())
    assert os.getpid() not in pids
    assert len(pids) <= len(running) == 2
    assert all(process.poll() is not None for process in running)


@pytest.mark.thorough
def test_work_that_fails_ends_them() -> None:
    with pytest.raises(SdmError, match="one of 2 workers was killed"), workers(TWO) as pool:
        pool.submit(die).result()
    assert all(process.poll() is not None for process in pool._workers.values())


def test_one_process_is_this_one() -> None:
    with workers(RunOptions(processes=1)) as pool:
        assert pool.submit(os.getpid).result() == os.getpid()


def test_a_worker_with_another_version_refuses_the_work() -> None:
    """Results of one run must not come from two versions of the program."""
    task = pickle.dumps((len, ("four",), {}))
    assert pickle.loads(work(task, local_versions())) == (True, 4)  # noqa: S301 - from this test
    done, error = pickle.loads(work(task, {**local_versions(), "sdm": "0.0.0"}))  # noqa: S301 - from this test
    assert not done
    assert "and this machine sdm 0.0.0: install the same versions" in str(error)
