"""Processes that a run keeps from one piece of work to the next."""

import os

import pytest

from sdm.errors import SdmError
from sdm.executors.opening import kept_workers, workers
from sdm.options.definitions import RunOptions

TWO = RunOptions(processes=2)


def die() -> None:
    os._exit(9)


def ask(wanted: RunOptions = TWO) -> set[int]:
    """Return the processes that do some work."""
    with workers(wanted) as pool:
        return {future.result() for future in [pool.submit(os.getpid) for _ in range(12)]}


def test_the_same_processes_do_one_piece_of_work_after_the_other() -> None:
    with kept_workers(TWO):
        pids = ask() | ask() | ask()
    assert len(pids) <= 2
    assert os.getpid() not in pids
    assert not pids & ask(), "they ended with the run"


@pytest.mark.thorough
def test_after_the_last_work_they_have_ended() -> None:
    with kept_workers(TWO):
        with workers(TWO, last=True) as pool:
            pids = {future.result() for future in [pool.submit(os.getpid) for _ in range(12)]}
        assert all(process.poll() is not None for process in pool._workers.values())
        assert not pids & ask()


@pytest.mark.thorough
def test_another_number_of_processes_has_its_own() -> None:
    with kept_workers(TWO):
        kept = ask()
        assert not kept & ask(RunOptions(processes=3))


@pytest.mark.thorough
def test_work_that_fails_ends_them_and_the_next_has_others() -> None:
    with kept_workers(TWO):
        before = ask()
        with pytest.raises(SdmError, match="one of 2 worker processes was killed"), workers(TWO) as pool:
            pool.submit(die).result()
        assert not before & ask()
        with pytest.raises(KeyError), workers(TWO):
            raise KeyError
        ask()


@pytest.mark.thorough
def test_one_process_is_this_one() -> None:
    with kept_workers(RunOptions(processes=1)):
        assert ask(RunOptions(processes=1)) == {os.getpid()}
