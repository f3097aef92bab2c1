"""A Dask cluster as an executor: an existing one, or SLURM jobs that are started for the run."""

import asyncio
import json
import logging
import pickle
import secrets
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, Protocol, cast

from sdm.errors import ClusterError, MissingPackageError, OptionError, SchedulerLost, SdmError
from sdm.executors.remote import describe_worker, local_versions, version_fault, work
from sdm.executors.slurm import slurm_cluster

log = logging.getLogger("sdm")

ANSWERS = 8.0  # seconds for the first answer of a scheduler
SILENT = 30.0  # seconds without an answer after which a scheduler is lost; a closed connection is noticed at once
ABANDONED = 60.0  # seconds without a heartbeat after which other workers do the tasks of a worker
PATIENCE = 300.0  # seconds without any worker after which a run fails
CLOSING = 5.0  # seconds for closing connections
LOOK = 0.5  # seconds between queries of the workers
_LOUD = ("distributed", "tornado")
_MUTE = logging.CRITICAL + 1


class Addressed(Protocol):
    """Address of a cluster, or settings for starting one: `sdm.options.writing`."""

    address: str | None  # `slurm`, a scheduler file, or an address; None for no cluster
    workers: int  # number of workers to start
    settings: dict[str, str]  # settings of the jobs
    patience: float | None  # seconds without any worker after which the run fails; None: the default of the kind


@contextmanager
def open_cluster(cluster: Addressed) -> Iterator["ClusterExecutor"]:
    """Yield an executor whose tasks run on the workers of a cluster.

    An existing cluster remains; one that was started here ends with the block, without waiting for tasks.
    """
    _need_extra(cluster.address)
    with quiet_dask():
        executor = ClusterExecutor(cluster)
        try:
            executor.start()
            yield executor
        except BrokenExecutor as error:
            raise ClusterError(
                f"the workers of the cluster at {executor.name} were killed at the same task, "
                "probably by a lack of memory: use fewer workers per machine, or more memory for each"
            ) from error
        finally:
            executor.close()
        if executor.lost_work is not None:
            raise executor.lost_work


@contextmanager
def quiet_dask() -> Iterator[None]:
    """Prevent Dask from writing to standard error, and restore the levels of existing loggers at the end."""
    imported = "distributed" in sys.modules
    import distributed  # noqa: F401 - sets up its log

    loggers = [log for name, log in logging.root.manager.loggerDict.items() if name.split(".")[0] in _LOUD]
    levels = [(log, log.level) for log in loggers if isinstance(log, logging.Logger) and log.level]
    for log, _ in levels:
        log.setLevel(_MUTE)
    with warnings.catch_warnings():
        for name in (*_LOUD, "dask", "dask_jobqueue"):
            warnings.filterwarnings("ignore", module=name)
        yield
    for log, level in levels if imported else ():
        log.setLevel(level)


def check_cluster(address: str) -> None:
    """Raise for an invalid address, or if Dask is not installed; nothing is opened."""
    _need_extra(address)
    if address != "slurm":
        read_address(address)


def _need_extra(address: str | None) -> None:
    if address == "local":
        raise OptionError("--cluster local: use --processes for processes of this machine, as in --processes 2")
    try:
        import distributed

        if address == "slurm":
            import dask_jobqueue  # noqa: F401
    except ImportError as error:
        missing = "dask-jobqueue" if "jobqueue" in str(error) else "Dask"
        raise MissingPackageError(f"--cluster {address} needs {missing}: pip install 'sdm-maxent[cluster]'") from error
    del distributed


class ClusterExecutor(Executor):
    """An executor whose tasks run on the workers of a Dask cluster.

    Dask moves the tasks of a worker that dies to another worker, so a task may start more than once. When Dask gives
    up, the future fails with BrokenExecutor. When the scheduler is lost, all futures fail with `SchedulerLost`.
    """

    def __init__(self, cluster: Addressed) -> None:
        self.name = str(cluster.address)
        self.lost_work: SdmError | None = None  # reason of failed futures, if the cluster was lost
        self._cluster, self._versions = cluster, local_versions()
        self._client: Any = None
        self._workers: dict[str, int] = {}  # number of threads by address
        # Last heartbeat of each worker by the clock of the scheduler, and the seconds since then: clocks differ.
        self._silence: dict[str, tuple[float, float]] = {}
        self._lost: SdmError | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._begun, self._opened = Event(), Future[None]()
        self._thread = Thread(target=self._live, daemon=True, name="sdm-cluster")
        self._loop: asyncio.AbstractEventLoop
        self._life: asyncio.Task[None]
        self._ended: asyncio.Event

    @property
    def size(self) -> int:
        """The number of workers. Each runs one task at a time, whatever its number of threads."""
        return len(self._workers)

    @property
    def ahead(self) -> int:
        """The number of tasks to submit in advance: the running ones, and the next of each worker."""
        return 2 * max(self.size, 1)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Call a function on the next free worker; the function is pickled by its name."""
        return asyncio.run_coroutine_threadsafe(self._answer(pickle.dumps((fn, args, kwargs))), self._loop)

    def check(self, folder: str | Path) -> None:
        """Raise `ClusterError` unless all workers have the versions of this machine and see the files of a folder."""
        content = secrets.token_hex(16)
        probe = Path(folder).resolve() / f".sdm_probe_{content[:8]}"
        probe.write_text(content, encoding="utf-8")
        try:
            answers = asyncio.run_coroutine_threadsafe(self._ask_all(str(probe), content), self._loop).result()
        finally:
            probe.unlink(missing_ok=True)
        for address, answer in sorted(answers.items()):
            if isinstance(answer, Exception) and address not in self._workers:
                continue  # it has left the cluster since
            if isinstance(answer, Exception):
                raise ClusterError(f"worker {address} {self._cannot(answer)}")
            host, versions, view_fault = answer
            if fault := version_fault(f"{address} on {host}", versions, self._versions):
                raise ClusterError(fault)
            if view_fault:
                raise ClusterError(f"worker {address} on {host} {view_fault}: use a folder that all machines share")

    def start(self) -> None:
        """Connect, and wait for the first worker; a queue may start the others much later."""
        self._thread.start()
        self._opened.result()

    def close(self) -> None:
        """Leave the cluster, or end it if it was started here; pending tasks are cancelled."""
        if self._thread.is_alive() and self._begun.wait(CLOSING):
            self._loop.call_soon_threadsafe(self._end)
            self._thread.join(4 * CLOSING)

    def _end(self) -> None:
        self._ended.set()
        self._life.cancel()

    def _live(self) -> None:
        """Run the event loop of the connection, in its thread."""
        with suppress(asyncio.CancelledError):
            asyncio.run(self._attend())

    async def _attend(self) -> None:
        """Connect to the cluster, watch it until this task is cancelled, and disconnect."""
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(lambda *_: None)  # errors of Dask's tasks; errors of sdm are in futures
        self._life = asyncio.current_task()  # type: ignore[assignment]
        self._ended = asyncio.Event()
        self._begun.set()
        async with AsyncExitStack() as stack:
            try:
                await self._enter(stack)
                await self._watch()
            except SdmError as error:
                self._lose(error)
            except Exception as error:
                self._lose(ClusterError(f"the cluster at {self.name} {self._cannot(error)}"))
            finally:
                for task in self._tasks:
                    task.cancel()
        await self._ended.wait()  # until then futures fail

    async def _enter(self, stack: AsyncExitStack) -> None:
        from distributed import Client

        place: Any
        if self.name == "slurm":
            place = await stack.enter_async_context(slurm_cluster(self._cluster.workers, self._cluster.settings))
        else:
            place = read_address(self.name)
        client: Any = Client  # it has no types
        self._client = client(
            place, asynchronous=True, set_as_default=False, timeout=ANSWERS, name="sdm", direct_to_workers=True
        )
        stack.push_async_callback(self._leave)
        try:
            async with asyncio.timeout(ANSWERS + 1):
                await self._client
        except ImportError:  # different versions
            raise
        except Exception as error:  # no scheduler at the address
            raise ClusterError(
                f"no Dask scheduler answers at {self.name}{'' if place == self.name else f' ({place})'}: check that it "
                "runs, and its address"
            ) from error

    async def _leave(self) -> None:
        await asyncio.wait({asyncio.ensure_future(self._client.close())}, timeout=CLOSING)

    async def _watch(self) -> None:
        """Query the workers. Raise `SchedulerLost` if the scheduler does not answer, and `ClusterError` after too long
        without workers."""
        waiting = warned = False
        absent = 0.0  # seconds without any worker
        while True:
            since = self._loop.time()
            workers = (await self._ask("identity"))["workers"]
            self._workers = {address: worker["nthreads"] for address, worker in workers.items()}
            if not self._workers and not waiting:
                log.info("waiting for workers of %s", self.name)
            waiting = not self._workers
            if self._workers and not self._opened.done():
                self._opened.set_result(None)
            crowded = next((item for item in self._workers.items() if item[1] > 1), None)
            if crowded and not warned:
                warned = True
                log.warning(
                    "worker %s has %d threads, and one of them is used: start workers with --nthreads 1 --nworkers %d",
                    *crowded, crowded[1],
                )  # fmt: skip
            await asyncio.sleep(LOOK if self._opened.done() else LOOK / 10)
            if not self._connected():
                raise self._loss()
            # After a suspended process or computer, the time without workers is unknown.
            seconds = min(self._loop.time() - since, 2 * LOOK)
            absent = 0.0 if self._workers else absent + seconds
            if absent > self._patience:
                raise ClusterError(
                    f"the cluster at {self.name} has had no worker for {self._patience:g} s (--cluster-patience): "
                    "start workers, and give the same command again with --resume"
                )
            await self._abandon_silent(workers, seconds)

    async def _abandon_silent(self, workers: dict[str, Any], seconds: float) -> None:
        """Warn of workers without a heartbeat, and later unregister them, so that Dask moves their tasks to others.

        The scheduler may belong to the user, and its `worker-ttl` cannot be set from here.
        """
        before, self._silence = self._silence, {}
        for address, worker in workers.items():
            last, silent = before.get(address, (None, 0.0))
            now = silent + seconds if last == worker["last_seen"] else 0.0
            self._silence[address] = worker["last_seen"], now
            where = f"worker {address} on {worker['host']}"
            if silent < SILENT <= now:
                log.warning(
                    "%s has not answered for %.0f s: after %.0f s other workers take over its work",
                    where, SILENT, ABANDONED,
                )  # fmt: skip
            if now >= ABANDONED:
                log.warning("%s has not answered for %.0f s: other workers take over its work", where, ABANDONED)
                await self._ask("unregister", address=address, stimulus_id=f"sdm-silent-{address}")
                self._client.rpc.remove(address)  # its pending results are computed again
                del self._silence[address], self._workers[address]

    async def _ask(self, question: str, **details: str) -> Any:
        """Return the answer of the scheduler. Raise `SchedulerLost` if it does not answer."""
        request = asyncio.ensure_future(getattr(self._client.scheduler, question)(**details))
        since = self._loop.time()
        try:
            while not request.done():
                await asyncio.wait({request}, timeout=LOOK)
                if not self._connected() or self._loop.time() - since > SILENT:
                    raise self._loss()
            return request.result()
        except OSError as error:
            raise self._loss() from error
        finally:
            request.cancel()

    def _connected(self) -> bool:
        link = self._client.scheduler_comm
        return self._client.status == "running" and link is not None and not link.closed()

    @property
    def _patience(self) -> float:
        """Return the limit without workers; SLURM jobs may wait in a queue for hours."""
        chosen = self._cluster.patience
        return chosen if chosen is not None else float("inf") if self.name == "slurm" else PATIENCE

    def _loss(self) -> SchedulerLost:
        return SchedulerLost(f"the cluster at {self.name} was lost: give the same command again with --resume")

    def _lose(self, error: SdmError) -> None:
        """Fail all futures, also later ones."""
        self._lost = self._lost or error
        for task in self._tasks:
            task.cancel()
        if not self._opened.done():
            self._opened.set_exception(error)

    async def _answer(self, task: bytes) -> Any:
        """Run a task on one worker; return or raise its answer."""
        me = cast("asyncio.Task[Any]", asyncio.current_task())
        self._tasks.add(me)
        me.add_done_callback(self._tasks.discard)
        try:
            succeeded, answer = pickle.loads(await self._sent(task))  # noqa: S301 - from the user's own cluster
        except asyncio.CancelledError:
            if self._lost is None:
                raise
            raise self._failure(self._lost) from None
        if succeeded:
            return answer
        raise answer

    async def _sent(self, task: bytes) -> bytes:
        """Return the pickled answer of a worker to a task."""
        from distributed import KilledWorker

        if self._lost is not None:
            raise self._failure(self._lost)
        remote = self._client.submit(work, task, self._versions, pure=False, retries=0)
        try:
            answer: bytes = await remote
        except KilledWorker as error:
            killed = f"the workers that began a task were killed ({error.allowed_failures})"
            raise BrokenExecutor(killed) from error
        except CancelledError:  # Dask has dropped the task
            self._lose(self._loss())
            raise self._failure(self._loss()) from None
        except Exception as error:
            raise ClusterError(f"a worker of the cluster at {self.name} {self._cannot(error)}") from error
        finally:
            remote.release()
        return answer

    def _failure(self, error: SdmError) -> SdmError:
        """Store that work was lost; return the error of one future."""
        self.lost_work = error
        return type(error)(*error.args)

    async def _ask_all(self, path: str, content: str) -> dict[str, Any]:
        answers: dict[str, Any] = await self._client.run(describe_worker, path, content, on_error="return")
        return answers

    def _cannot(self, error: Exception) -> str:
        return (
            f"cannot do the work ({type(error).__name__}: {' '.join(str(error).split())}): "
            f"install sdm {self._versions['sdm']} and the same versions of its packages on all machines"
        )


def read_address(text: str) -> str:
    """Return the address of a scheduler, from an address or a scheduler file."""
    if "://" in text:
        return text
    if not text.endswith(".json"):
        raise OptionError(f"--cluster {text}: expected an address (tcp://host:8786), a file (.json), or slurm")
    try:
        return str(json.loads(Path(text).read_text(encoding="utf-8"))["address"])
    except FileNotFoundError:
        raise ClusterError(
            f"scheduler file {text} does not exist: start a scheduler with 'dask scheduler --scheduler-file {text}'"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ClusterError(f"{text} is not a scheduler file of Dask, or is incomplete") from error
