"""A cluster of SLURM jobs, which start and end with a run."""

import asyncio
import difflib
import inspect
import logging
import shlex
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from pydantic import PositiveInt, TypeAdapter

from sdm.errors import ClusterError, ConflictError, OptionError, UnknownOptionError
from sdm.executors.local import WORKER_SETTINGS

log = logging.getLogger("sdm")

_OURS = {
    "self",
    "scheduler",
    "name",
    "loop",
    "asynchronous",
    "n_workers",
    "job_cls",
    "scheduler_cls",
    "scheduler_options",
}
_OURS |= {"silence_logs", "dashboard_address", "host", "base_class_kwargs", "job_kwargs"}
_OLD = {"project", "extra", "job_extra", "env_extra", "header_skip"}  # renamed in dask-jobqueue
_ABSENT = 30.0  # seconds without workers after which a job is replaced
_CLOSING = 10.0  # seconds for cancelling all jobs


def read_settings(settings: Mapping[str, str]) -> dict[str, Any]:
    """Return the keywords of dask-jobqueue's `SLURMCluster` for settings as text; semicolons separate the values."""
    names = _setting_names()
    return {name: _read(names, name, text) for name, text in settings.items()}


def _setting_names() -> list[str]:
    from dask_jobqueue.core import Job, JobQueueCluster
    from dask_jobqueue.slurm import SLURMJob

    names = {name for part in (SLURMJob, Job, JobQueueCluster) for name in inspect.signature(part.__init__).parameters}
    return sorted(names - _OURS - _OLD)


def _read(names: list[str], name: str, text: str) -> Any:
    if name not in names:
        near = difflib.get_close_matches(name, names, 1, 0.5)
        meant = f"'{near[0]}'" if near else f"one of {', '.join(names)}"
        raise UnknownOptionError(f"--cluster-settings: unknown setting '{name}' of SLURM jobs: expected {meant}")
    kind, expected = _KINDS.get(name, (str, "text"))
    try:
        return kind(text)
    except ValueError:
        raise OptionError(f"--cluster-settings: {name}={text}: expected {expected}") from None


def _size(text: str) -> str:
    from dask.utils import parse_bytes

    if parse_bytes(text) < 2**20:
        raise ValueError(text)
    return text


def _time(text: str) -> str:
    if text.isdecimal():  # YAML reads 12:00:00 as the number 43200, which SLURM would take as minutes
        raise ValueError(text)
    return text


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split(";") if line.strip()]


def _arguments(text: str) -> list[str]:
    return [word for line in _lines(text) for word in shlex.split(line)]


_NUMBER = (TypeAdapter(PositiveInt).validate_python, "a whole number, 1 or more")
_CHOICE = (TypeAdapter(bool).validate_python, "true or false")
_KINDS: dict[str, tuple[Callable[[str], Any], str]] = {
    "cores": _NUMBER,
    "processes": _NUMBER,
    "job_cpu": _NUMBER,
    "memory": (_size, "memory, as in 8GB"),
    "walltime": (_time, "hours, minutes and seconds, in YAML with quotation marks, as in '12:00:00'"),
    "death_timeout": (float, "seconds"),
    "nanny": _CHOICE,
    "security": _CHOICE,
    "worker_extra_args": (_arguments, "words as in a command"),
    "job_extra_directives": (_lines, "text"),
    "job_script_prologue": (_lines, "text"),
    "job_directives_skip": (_lines, "text"),
}


def make_jobs(settings: Mapping[str, str]) -> Any:
    """Return dask-jobqueue's `SLURMCluster` without jobs; each job will have one worker process per core."""
    import dask
    from dask_jobqueue.slurm import SLURMCluster

    keywords = read_settings(settings)
    configured = dask.config.get("jobqueue.slurm")
    keywords.setdefault("cores", configured.get("cores") or 1)
    keywords.setdefault("processes", configured.get("processes") or keywords["cores"])
    if not keywords.get("memory", configured.get("memory")):
        raise ConflictError("--cluster slurm needs the memory of a job: add --cluster-settings memory=8GB")
    exports = "export " + " ".join(f"{name}={value}" for name, value in WORKER_SETTINGS.items())
    prologue = keywords.get("job_script_prologue", configured.get("job-script-prologue") or [])
    keywords["job_script_prologue"] = [exports, *prologue]
    options = {**configured.get("scheduler-options", {}), "dashboard": False, "dashboard_address": None}
    return SLURMCluster(asynchronous=True, silence_logs=False, scheduler_options=options, **keywords)


@asynccontextmanager
async def slurm_cluster(workers: int, settings: Mapping[str, str]) -> AsyncIterator[Any]:
    """Yield a `SLURMCluster` with at least the required number of workers, rounded up to complete jobs.

    Jobs that end are replaced. All are cancelled at the end, also running ones.
    """
    jobs = make_jobs(settings)
    try:
        await jobs
        await _fill(jobs, workers)
        keeper = asyncio.create_task(_replace(jobs, workers))
        try:
            yield jobs
        finally:
            keeper.cancel()
    finally:
        await asyncio.wait({asyncio.ensure_future(jobs.close())}, timeout=_CLOSING)


async def _fill(jobs: Any, workers: int) -> None:
    jobs.scale(workers)
    try:
        await jobs
    except FileNotFoundError as error:
        raise ClusterError(
            f"--cluster slurm: the command '{error.filename}' does not exist on this machine: start the run on a login "
            "node of SLURM"
        ) from error
    except RuntimeError as error:  # with the output of sbatch
        output = [line for line in str(error).splitlines() if line.strip()]
        raise ClusterError(f"--cluster slurm: SLURM refused the job: {output[-1] if output else error}") from error


async def _replace(jobs: Any, workers: int) -> None:
    """Start a job for each job that has ended or was lost."""
    now = asyncio.get_running_loop().time
    seen: dict[str, float] = {}  # time of the last worker of each job
    while True:
        await asyncio.sleep(1)
        present = [str(state.name) for state in jobs.scheduler.workers.values()]
        for job in list(jobs.worker_spec):
            if any(name == job or name.startswith(f"{job}-") for name in present):
                seen[job] = now()
            elif job in seen and now() - seen[job] > _ABSENT:
                del jobs.worker_spec[job], seen[job]
                log.info("a SLURM job has ended: another one is started")
        try:
            if len(jobs.worker_spec) * jobs.new_spec["options"]["processes"] < workers:
                await _fill(jobs, workers)
        except ClusterError as error:
            log.warning("%s", error)
            await asyncio.sleep(_ABSENT)
