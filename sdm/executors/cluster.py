"""A Dask cluster as an executor: one that is there already, or jobs of SLURM that are started for the run."""

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
from sdm.executors.remote import look_around, version_fault, versions_here, work
from sdm.executors.slurm import slurm_cluster

log = logging.getLogger("sdm")

ANSWERS = 8.0  # seconds that a scheduler has to answer a new client
SILENT = 30.0  # seconds without an answer after which a scheduler is lost; a closed connection is noticed at once
ABANDONED = 60.0  # seconds without a heartbeat after which the tasks of a worker are done by others
PATIENCE = 300.0  # seconds without any worker after which a run fails
CLOSING = 5.0  # seconds for farewells
LOOK = 0.5  # seconds between looks at who is there
_LOUD = ("distributed", "tornado")
_MUTE = logging.CRITICAL + 1


class Addressed(Protocol):
    """Where a cluster is, or how to start one: `sdm.options.writing`."""

    address: str | None  # `slurm`, a scheduler file, or an address; None for no cluster
    workers: int  # how many to start
    settings: dict[str, str]  # how jobs are started
    patience: float | None  # seconds without any worker after which the run fails; None: that of the kind of cluster


@contextmanager
def open_cluster(cluster: Addressed) -> Iterator["ClusterExecutor"]:
    """Give an executor whose tasks are done by the workers of a cluster. A cluster that was there before stays;
    one that was started here ends with the block, without waiting for tasks."""
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
    """Keep Dask from writing to standard error: users read sentences of ours. A log that Dask had before comes back."""
    known = "distributed" in sys.modules
    import distributed  # noqa: F401 - sets up its log

    loggers = [log for name, log in logging.root.manager.loggerDict.items() if name.split(".")[0] in _LOUD]
    levels = [(log, log.level) for log in loggers if isinstance(log, logging.Logger) and log.level]
    for log, _ in levels:
        log.setLevel(_MUTE)
    with warnings.catch_warnings():
        for name in (*_LOUD, "dask", "dask_jobqueue"):
            warnings.filterwarnings("ignore", module=name)
        yield
    for log, level in levels if known else ():
        log.setLevel(level)


def check_cluster(address: str) -> None:
    """Raise for an address that cannot be meant, or if Dask is not installed; nothing is opened."""
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
    """An executor whose tasks are done by the workers of a Dask cluster. Dask gives the task of a worker that dies to
    another, so that a task may be begun more than once; when it gives up, the future fails with BrokenExecutor. When
    the scheduler is lost all futures fail with `SchedulerLost`."""

    def __init__(self, cluster: Addressed) -> None:
        self.name = str(cluster.address)
        self.lost_work: SdmError | None = None  # why futures failed, if the cluster was lost
        self._cluster, self._versions = cluster, versions_here()
        self._client: Any = None
        self._workers: dict[str, int] = {}  # threads of each
        # The last heartbeat of each by the clock of the scheduler, and the seconds since then: clocks differ.
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
        """How many workers there are now. One task at a time is done by each, whatever threads it has."""
        return len(self._workers)

    @property
    def ahead(self) -> int:
        """How many tasks to hold at a time: those at work, and the next of each worker."""
        return 2 * max(self.size, 1)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Have a function called by the next worker that is free; it is sent by its name."""
        return asyncio.run_coroutine_threadsafe(self._answer(pickle.dumps((fn, args, kwargs))), self._loop)

    def check(self, folder: str | Path) -> None:
        """Find out whether all workers have the versions of this machine, and see the files of a folder. A
        `ClusterError` names the first that does not."""
        content = secrets.token_hex(16)
        probe = Path(folder).resolve() / f".sdm_probe_{content[:8]}"
        probe.write_text(content, encoding="utf-8")
        try:
            answers = asyncio.run_coroutine_threadsafe(self._ask_all(str(probe), content), self._loop).result()
        finally:
            probe.unlink(missing_ok=True)
        for address, answer in sorted(answers.items()):
            if isinstance(answer, Exception) and address not in self._workers:
                continue  # it left the cluster meanwhile
            if isinstance(answer, Exception):
                raise ClusterError(f"worker {address} {self._cannot(answer)}")
            host, versions, view_fault = answer
            if fault := version_fault(f"{address} on {host}", versions, self._versions):
                raise ClusterError(fault)
            if view_fault:
                raise ClusterError(f"worker {address} on {host} {view_fault}: use a folder that all machines share")

    def start(self) -> None:
        """Connect, and wait for the first worker: a queue may give the others much later."""
        self._thread.start()
        self._opened.result()

    def close(self) -> None:
        """Leave the cluster, or end it if it was started here; tasks that were not done are cancelled."""
        if self._thread.is_alive() and self._begun.wait(CLOSING):
            self._loop.call_soon_threadsafe(self._end)
            self._thread.join(4 * CLOSING)

    def _end(self) -> None:
        self._ended.set()
        self._life.cancel()

    def _live(self) -> None:
        """Be the thread that talks to the cluster."""
        with suppress(asyncio.CancelledError):
            asyncio.run(self._attend())

    async def _attend(self) -> None:
        """Enter the cluster, look after it until this task is cancelled, and leave it."""
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(lambda *_: None)  # of Dask's tasks; ours are in futures
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
        client: Any = Client  # which has no types
        self._client = client(
            place, asynchronous=True, set_as_default=False, timeout=ANSWERS, name="sdm", direct_to_workers=True
        )
        stack.push_async_callback(self._leave)
        try:
            async with asyncio.timeout(ANSWERS + 1):
                await self._client
        except ImportError:  # other versions
            raise
        except Exception as error:  # nobody, or somebody who is no scheduler
            raise ClusterError(
                f"no Dask scheduler answers at {self.name}{'' if place == self.name else f' ({place})'}: check that it "
                "runs, and its address"
            ) from error

    async def _leave(self) -> None:
        await asyncio.wait({asyncio.ensure_future(self._client.close())}, timeout=CLOSING)

    async def _watch(self) -> None:
        """Observe the workers. Raise `SchedulerLost` if the scheduler does not answer, `ClusterError` if there has been
        no worker for too long."""
        waiting = warned = False
        absent = 0.0  # seconds without any worker
        while True:
            asked = self._loop.time()
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
            # A process that was stopped itself, or a computer that slept, has not waited all that time.
            seconds = min(self._loop.time() - asked, 2 * LOOK)
            absent = 0.0 if self._workers else absent + seconds
            if absent > self._patience:
                raise ClusterError(
                    f"the cluster at {self.name} has had no worker for {self._patience:g} s (--cluster-patience): "
                    "start workers, and give the same command again with --resume"
                )
            await self._abandon_silent(workers, seconds)

    async def _abandon_silent(self, workers: dict[str, Any], seconds: float) -> None:
        """Name workers that send no heartbeat, and later remove them from the cluster, so that Dask gives their tasks
        to others. The scheduler may be the user's, whose `worker-ttl` cannot be set from here."""
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
                self._client.rpc.remove(address)  # a result that was on its way from there is computed again
                del self._silence[address], self._workers[address]

    async def _ask(self, question: str, **details: str) -> Any:
        """Return the answer of the scheduler. Raise `SchedulerLost` if it does not answer."""
        asked = asyncio.ensure_future(getattr(self._client.scheduler, question)(**details))
        since = self._loop.time()
        try:
            while not asked.done():
                await asyncio.wait({asked}, timeout=LOOK)
                if not self._connected() or self._loop.time() - since > SILENT:
                    raise self._loss()
            return asked.result()
        except OSError as error:
            raise self._loss() from error
        finally:
            asked.cancel()

    def _connected(self) -> bool:
        link = self._client.scheduler_comm
        return self._client.status == "running" and link is not None and not link.closed()

    @property
    def _patience(self) -> float:
        """Jobs of SLURM wait in a queue, for hours and longer."""
        chosen = self._cluster.patience
        return chosen if chosen is not None else float("inf") if self.name == "slurm" else PATIENCE

    def _loss(self) -> SchedulerLost:
        return SchedulerLost(f"the cluster at {self.name} was lost: give the same command again with --resume")

    def _lose(self, error: SdmError) -> None:
        """Let all futures fail, those to come too."""
        self._lost = self._lost or error
        for task in self._tasks:
            task.cancel()
        if not self._opened.done():
            self._opened.set_exception(error)

    async def _answer(self, task: bytes) -> Any:
        """Have a task done by one worker; return or raise what comes back."""
        me = cast("asyncio.Task[Any]", asyncio.current_task())
        self._tasks.add(me)
        me.add_done_callback(self._tasks.discard)
        try:
            went_well, answer = pickle.loads(await self._sent(task))  # noqa: S301 - from the user's own cluster
        except asyncio.CancelledError:
            if self._lost is None:
                raise
            raise self._failure(self._lost) from None
        if went_well:
            return answer
        raise answer

    async def _sent(self, task: bytes) -> bytes:
        """Return the answer of a worker to a task."""
        from distributed import KilledWorker

        if self._lost is not None:
            raise self._failure(self._lost)
        remote = self._client.submit(work, task, self._versions, pure=False, retries=0)
        try:
            answer: bytes = await remote
        except KilledWorker as error:
            killed = f"the workers that began a task were killed ({error.allowed_failures})"
            raise BrokenExecutor(killed) from error
        except CancelledError:  # Dask has dropped it
            self._lose(self._loss())
            raise self._failure(self._loss()) from None
        except Exception as error:
            raise ClusterError(f"a worker of the cluster at {self.name} {self._cannot(error)}") from error
        finally:
            remote.release()
        return answer

    def _failure(self, error: SdmError) -> SdmError:
        """Note that work was lost; return the error for one future."""
        self.lost_work = error
        return type(error)(*error.args)

    async def _ask_all(self, path: str, content: str) -> dict[str, Any]:
        answers: dict[str, Any] = await self._client.run(look_around, path, content, on_error="return")
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
