"""A Dask cluster does the work as this process would, and a fault of it is a sentence."""

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, wait
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from clusters.machines import Machines, machines, on_cluster, until
from clusters.tasks import divide, fail_with_advice, process_id, square, wait_for_go
from distributed import Client

from sdm.assess.fits import run_all
from sdm.errors import ClusterError, DataError, MissingPackageError, OptionError, SchedulerLost
from sdm.executors import cluster as cluster_room
from sdm.executors.opening import SerialExecutor, workers
from sdm.options.writing import ClusterOptions


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A scheduler and two workers, which no test harms."""
    with machines(tmp_path_factory.mktemp("standing"), 2) as started:
        yield started


@pytest.fixture
def executor(standing: Machines) -> Iterator[Executor]:
    with workers(on_cluster(standing.file)) as opened:
        until(lambda: opened.size == 2)
        yield opened


@pytest.mark.thorough
def test_results_are_those_of_this_process(executor: Executor) -> None:
    jobs = [(k,) for k in range(30)]
    assert run_all(square, jobs, executor) == run_all(square, jobs, SerialExecutor())
    assert executor.submit(process_id).result() != os.getpid()


@pytest.mark.thorough
def test_what_a_task_raises_comes_back_as_it_was(executor: Executor) -> None:
    advice = executor.submit(fail_with_advice, "bio1").exception()
    assert type(advice) is DataError
    assert str(advice) == "layer 'bio1' has no cells: use another"
    error = executor.submit(divide, 1).exception()
    assert isinstance(error, ZeroDivisionError)
    assert "in divide" in "".join(error.__notes__)  # where, for --debug


@pytest.mark.thorough
def test_a_task_that_was_cancelled_is_never_begun(standing: Machines, executor: Executor, tmp_path: Path) -> None:
    held = [executor.submit(wait_for_go, str(tmp_path), f"held{k}") for k in range(2)]
    until(lambda: len(list(tmp_path.glob("*.began"))) == 2)
    queued = [executor.submit(wait_for_go, str(tmp_path), f"queued{k}") for k in range(6)]
    for future in queued:
        assert future.cancel()
    with Client(scheduler_file=str(standing.file), set_as_default=False) as client:
        until(lambda: client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) == 2)
        client.run(process_id)  # the workers have heard of it too
    (tmp_path / "go").touch()
    assert [future.result() for future in held] == ["held0", "held1"]
    assert executor.submit(square, 3).result() == square(3)
    assert not list(tmp_path.glob("queued*"))


def tasks_of_workers(standing: Machines) -> list[int]:
    """Return how many tasks each worker knows of."""
    with Client(scheduler_file=str(standing.file), set_as_default=False) as client:
        return sorted(client.run(lambda dask_worker: len(dask_worker.state.tasks)).values())


@pytest.mark.thorough
def test_ctrl_c_drops_what_was_not_begun_and_leaves_the_cluster(standing: Machines, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), workers(on_cluster(standing.file)) as opened:  # noqa: PT012
        for k in range(8):
            opened.submit(wait_for_go, str(tmp_path), str(k))
        until(lambda: len(list(tmp_path.glob("*.began"))) == 2)
        raise KeyboardInterrupt
    until(lambda: tasks_of_workers(standing) == [1, 1])  # what is dropped is told to them without waiting for an answer
    (tmp_path / "go").touch()
    with workers(on_cluster(standing.file)) as opened:
        assert run_all(square, [(k,) for k in range(6)], opened) == [square(k) for k in range(6)]
    assert len(list(tmp_path.glob("*.began"))) == 2
    assert all(process.poll() is None for process in standing.processes)


@pytest.mark.thorough
def test_all_workers_are_asked_whether_they_can_do_the_work(executor: Executor, tmp_path: Path) -> None:
    executor.check(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (
            "old",
            r"^worker tcp://127\.0\.0\.1:\d+ on \S+ has sdm 0\.0\.1, and this machine sdm [\d.]+: install the same",
        ),
        ("none", r"^worker tcp://127\.0\.0\.1:\d+ cannot do the work \(.*ModuleNotFoundError.*install sdm [\d.]+ and"),
        ("blind", r"^worker tcp://127\.0\.0\.1:\d+ on \S+ does not see the files of .*: use a folder that all"),
    ],
)
def test_a_worker_that_cannot_do_the_work_is_named(tmp_path: Path, fault: str, sentence: str, capfd) -> None:
    with machines(tmp_path, 0) as started:
        started.add_worker(fault)
        with pytest.raises(ClusterError, match=sentence), workers(on_cluster(started.file)) as opened:
            opened.check(tmp_path)
        if fault == "old":  # one that comes later is found by its first task
            with (
                pytest.raises(ClusterError, match=r"has sdm 0\.0\.1"),
                workers(on_cluster(started.file)) as opened,
            ):
                opened.submit(square, 2).result()
    assert capfd.readouterr().err == ""


@pytest.mark.thorough
def test_the_task_of_a_worker_that_is_killed_is_done_by_another(tmp_path: Path) -> None:
    """And a cluster without workers is waited for."""
    with machines(tmp_path, 2) as started, workers(on_cluster(started.file)) as opened:
        futures = [opened.submit(wait_for_go, str(tmp_path), name) for name in "abcd"]
        until(lambda: len(list(tmp_path.glob("*.began"))) == 2)
        victim = started.processes[1]
        at = next(path.name[0] for path in tmp_path.glob(f"*.{victim.pid}.began"))
        victim.kill()
        until(lambda: opened.size == 1)
        (tmp_path / "go").touch()
        assert [future.result(timeout=60) for future in futures] == list("abcd")
        assert len(list(tmp_path.glob(f"{at}.*.began"))) == 2


@pytest.mark.thorough
def test_workers_that_come_later_are_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with machines(tmp_path, 0) as started, caplog.at_level("INFO", "sdm"):

        def come_later() -> None:
            until(lambda: "waiting for workers of" in caplog.text)
            started.add_worker()

        helper = threading.Thread(target=come_later)
        helper.start()
        with workers(on_cluster(started.file)) as opened:
            assert opened.submit(square, 4).result() == square(4)
        helper.join()


class OwnScheduler:
    """What a client calls to take a worker out of a cluster."""

    def __init__(self) -> None:
        self.removed: list[str] = []

    async def unregister(self, address: str, stimulus_id: str) -> None:
        self.removed.append(address)

    def remove(self, address: str) -> None:
        assert self.removed == [address]


@pytest.mark.thorough
def test_a_worker_without_heartbeats_is_named_and_then_removed(caplog: pytest.LogCaptureFixture) -> None:
    """Otherwise a run waits for a paused worker for as long as the scheduler does: five minutes, without a word."""
    scheduler = OwnScheduler()
    opened: Any = cluster_room.ClusterExecutor(ClusterOptions(address="tcp://there:8786"))
    link = SimpleNamespace(closed=lambda: False)
    opened._client = SimpleNamespace(scheduler=scheduler, rpc=scheduler, status="running", scheduler_comm=link)
    opened._workers = {"tcp://a": 1, "tcp://b": 1}
    heartbeats = {"tcp://a": 5.0, "tcp://b": 1e9}  # clocks of machines differ

    async def attend(workers: dict[str, Any], seconds: float) -> None:
        opened._loop = asyncio.get_running_loop()
        await opened._abandon_silent(workers, seconds)

    def look(seconds: float) -> None:
        heartbeats["tcp://b"] += seconds
        workers = {address: {"last_seen": heartbeats[address], "host": "node"} for address in opened._workers}
        asyncio.run(attend(workers, seconds))

    for _ in range(30):
        look(1.0)
    assert not caplog.text
    look(1.0)
    assert caplog.messages == [
        "worker tcp://a on node has not answered for 30 s: after 60 s other workers take over its work"
    ]
    for _ in range(29):
        look(1.0)
    assert not scheduler.removed
    look(1.0)
    assert caplog.messages[1:] == ["worker tcp://a on node has not answered for 60 s: other workers take over its work"]
    assert scheduler.removed == ["tcp://a"]
    assert opened.size == 1
    for _ in range(100):
        look(1.0)
    assert len(caplog.messages) == 2


@pytest.mark.thorough
def test_the_work_of_a_paused_worker_is_done_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its scheduler is the user's, which waits for it for five minutes; a check of all workers waits for it too."""
    monkeypatch.setattr(cluster_room, "ABANDONED", 5.0)
    with machines(tmp_path, 2) as started, workers(on_cluster(started.file)) as opened:
        until(lambda: opened.size == 2)
        futures = [opened.submit(wait_for_go, str(tmp_path), name) for name in "abcd"]
        until(lambda: len(list(tmp_path.glob("*.began"))) == 2)
        paused = started.processes[1]
        at = next(path.name[0] for path in tmp_path.glob(f"*.{paused.pid}.began"))
        paused.send_signal(signal.SIGSTOP)
        opened.check(tmp_path)
        (tmp_path / "go").touch()
        assert [future.result(timeout=60) for future in futures] == list("abcd")
        assert len(list(tmp_path.glob(f"{at}.*.began"))) == 2


DESERTED = (
    r"^the cluster at \S+scheduler\.json has had no worker for 1 s \(--cluster-patience\): start workers, and give the "
    "same command again with --resume$"
)


@pytest.mark.thorough
def test_a_cluster_that_never_has_a_worker_exhausts_patience(tmp_path: Path) -> None:
    """Otherwise a run whose workers were all killed never ends."""
    with (
        machines(tmp_path, 0) as started,
        pytest.raises(ClusterError, match=DESERTED),
        workers(on_cluster(started.file, patience=1.0)),
    ):
        pass


@pytest.mark.thorough
def test_a_cluster_whose_workers_were_all_killed_exhausts_patience(tmp_path: Path) -> None:
    with machines(tmp_path, 1) as started, suppress(ClusterError), workers(on_cluster(started.file)) as opened:
        opened._cluster = ClusterOptions(address=str(started.file), patience=1.0)
        future = opened.submit(wait_for_go, str(tmp_path), "a")
        until(lambda: list(tmp_path.glob("*.began")))
        started.processes[1].kill()
        with pytest.raises(ClusterError, match=DESERTED):
            future.result(timeout=60)


@pytest.mark.thorough
def test_jobs_that_wait_in_a_queue_do_not_exhaust_patience() -> None:
    assert cluster_room.ClusterExecutor(ClusterOptions(address="tcp://there:8786"))._patience == 300
    assert cluster_room.ClusterExecutor(ClusterOptions(address="slurm"))._patience == float("inf")
    assert cluster_room.ClusterExecutor(ClusterOptions(address="slurm", patience=60.0))._patience == 60


@pytest.mark.thorough
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_a_scheduler_that_is_lost_ends_the_run_with_a_sentence(tmp_path: Path, sign: int, capfd) -> None:
    with machines(tmp_path, 1) as started:
        said = r"^the cluster at \S+scheduler\.json was lost: give the same command again with --resume$"
        with pytest.raises(SchedulerLost, match=said), workers(on_cluster(started.file)) as opened:  # noqa: PT012
            futures = [opened.submit(wait_for_go, str(tmp_path), str(k)) for k in range(5)]
            until(lambda: list(tmp_path.glob("*.began")))
            started.scheduler.send_signal(sign)
            assert not wait(futures, timeout=30).not_done
            for future in [*futures, opened.submit(square, 1)]:
                assert isinstance(future.exception(timeout=30), SchedulerLost)
            # and whoever takes these for failures of the tasks is told at the end
    assert capfd.readouterr().err == ""


@pytest.mark.thorough
def test_a_loss_after_the_last_result_harms_nothing(tmp_path: Path) -> None:
    with machines(tmp_path, 1) as started, workers(on_cluster(started.file)) as opened:
        assert opened.submit(square, 1).result() == square(1)
        started.scheduler.kill()
        until(lambda: opened._lost)


@pytest.mark.parametrize("who", ["nobody", "deaf", "web server"])
def test_an_address_where_no_scheduler_answers_is_a_sentence(who: str, monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    monkeypatch.setattr(cluster_room, "ANSWERS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"

        def answer() -> None:
            with suppress(OSError):
                while True:
                    with server.accept()[0] as guest:
                        guest.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        if who == "nobody":
            server.close()
        elif who == "web server":
            threading.Thread(target=answer, daemon=True).start()
        said = f"^no Dask scheduler answers at {address}: check that it runs, and its address$"
        with pytest.raises(ClusterError, match=said), workers(on_cluster(address)):
            pass
        if who != "nobody":
            server.shutdown(socket.SHUT_RDWR)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "kind", "sentence"),
    [
        ("slrum", OptionError, r"^--cluster slrum: expected an address \(tcp://host:8786\), a file"),
        (
            "none.json",
            ClusterError,
            "^scheduler file .*none.json does not exist: start a scheduler with 'dask",
        ),
        ("empty.json", ClusterError, "empty.json is not a scheduler file of Dask, or is incomplete$"),
        ("other.json", ClusterError, "other.json is not a scheduler file of Dask, or is incomplete$"),
    ],
)
def test_what_is_no_cluster_is_a_sentence(tmp_path: Path, text: str, kind: type, sentence: str) -> None:
    (tmp_path / "empty.json").touch()
    (tmp_path / "other.json").write_text("[1, 2]")
    place = tmp_path / text if text.endswith("json") else text
    with pytest.raises(kind, match=sentence), workers(on_cluster(place)):
        pass


@pytest.mark.parametrize(("missing", "address"), [("distributed", "tcp://127.0.0.1:1"), ("dask_jobqueue", "slurm")])
def test_without_the_extra_the_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, missing: str, address: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    said = rf"^--cluster {address} needs .*: pip install 'sdm-maxent\[cluster\]'$"
    with pytest.raises(MissingPackageError, match=said), workers(on_cluster(address)):
        pass
