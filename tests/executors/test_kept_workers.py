"""Processes that a run keeps from one piece of work to the next."""

import os
import sys

import pytest

from sdm.errors import SdmError
from sdm.executors.opening import Processes, kept_workers, workers

MODULES = ("sdm.assess.tuning",)
TWO = Processes(2)


def loaded(module: str) -> tuple[int, bool]:
    """Return the process, and whether it has loaded a module."""
    return os.getpid(), module in sys.modules


def die() -> None:
    os._exit(9)


def ask(wanted: Processes = TWO) -> set[tuple[int, bool]]:
    """Return what the processes of some work say."""
    with workers(wanted) as pool:
        return {future.result() for future in [pool.submit(loaded, *MODULES) for _ in range(12)]}


def test_the_same_processes_do_one_piece_of_work_after_the_other() -> None:
    with kept_workers(TWO, MODULES):
        first, found = ask(), set[tuple[int, bool]]()
        while not any(known for _, known in found):  # none of the work needs what they load
            found = ask()
    pids = {pid for pid, _ in first | found}
    assert len(pids) <= 2
    assert os.getpid() not in pids
    assert not pids & {pid for pid, _ in ask()}, "they ended with the run"


@pytest.mark.thorough
def test_after_the_last_work_they_have_ended() -> None:
    with kept_workers(TWO, MODULES):
        with workers(TWO, last=True) as pool:
            pids = {future.result()[0] for future in [pool.submit(loaded, *MODULES) for _ in range(12)]}
        assert all(process.poll() is not None for process in pool._workers.values())
        assert not pids & {pid for pid, _ in ask()}


@pytest.mark.thorough
def test_another_number_of_processes_has_its_own() -> None:
    with kept_workers(TWO, MODULES):
        kept = {pid for pid, _ in ask()}
        assert not kept & {pid for pid, _ in ask(Processes(3))}


@pytest.mark.thorough
def test_work_that_fails_ends_them_and_the_next_has_others() -> None:
    with kept_workers(TWO, MODULES):
        before = {pid for pid, _ in ask()}
        with pytest.raises(SdmError, match="one of 2 worker processes was killed"), workers(TWO) as pool:
            pool.submit(die).result()
        assert not before & {pid for pid, _ in ask()}
        with pytest.raises(KeyError), workers(TWO):
            raise KeyError
        ask()


@pytest.mark.thorough
def test_one_process_is_this_one() -> None:
    with kept_workers(Processes(1), MODULES):
        assert {pid for pid, _ in ask(Processes(1))} == {os.getpid()}
