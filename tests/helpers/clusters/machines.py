"""Schedulers and workers of Dask as processes of their own, over TCP on the loopback address; a SLURM of files."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sdm.options.definitions import RunOptions
from sdm.options.writing import ClusterOptions

HELPERS = Path(__file__).parents[1]
FAULTY = Path(__file__).parent / "faulty"
SLURM = Path(__file__).parent / "slurm"


def on_cluster(address: object, workers: int = 2, patience: float | None = None, **settings: str) -> RunOptions:
    """Return the options of a run that a cluster does."""
    where = ClusterOptions(address=str(address), workers=workers, settings=settings, patience=patience)
    return RunOptions(cluster=where)


def until(ready: Callable[[], object], seconds: float = 60) -> None:
    """Wait for something that will happen."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether a process is there, and not only its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Machines:
    """A scheduler and its workers, in a folder that has its scheduler file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.log = (folder / "log.txt").open("ab")
        place = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        self.scheduler = self._start("scheduler", *place)
        until(lambda: self.file.exists() and self.file.stat().st_size)

    def add_worker(self, fault: str = "") -> "subprocess.Popen[bytes]":
        """Start a worker; `fault` is what is wrong with its machine (see `faulty/sitecustomize.py`)."""
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
        return self._start("worker", *options, "--local-directory", str(self.folder), fault=fault)

    def add_nanny(self) -> "subprocess.Popen[bytes]":
        """Start a worker that is replaced whenever it dies."""
        options = ["--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
        return self._start("worker", *options, "--local-directory", str(self.folder))

    def end(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        self.log.close()

    def _start(self, part: str, *options: str, fault: str = "") -> "subprocess.Popen[bytes]":
        paths = os.pathsep.join([*([str(FAULTY)] if fault else []), str(HELPERS)])
        self.processes.append(
            subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{part}", "--scheduler-file", str(self.file), *options],
                stdout=self.log,
                stderr=self.log,
                # one thread of linear algebra, as the nannies of Dask set it
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": paths, "SDM_TEST_FAULT": fault},
            )
        )
        return self.processes[-1]


@contextmanager
def machines(folder: Path, workers: int) -> Iterator[Machines]:
    """Start a scheduler and workers; end them all."""
    started = Machines(folder)
    try:
        for _ in range(workers):
            started.add_worker()
        yield started
    finally:
        started.end()


@contextmanager
def fake_slurm(folder: Path) -> Iterator[Path]:
    """Commands `sbatch` and `scancel` that run jobs as processes of this machine; their scripts, logs and process ids
    are in the folder. Whatever is left of them at the end is ended."""
    before = {name: os.environ.get(name) for name in ("PATH", "FAKE_SLURM", "PYTHONPATH")}
    os.environ.update(PATH=f"{SLURM}{os.pathsep}{before['PATH']}", FAKE_SLURM=str(folder), PYTHONPATH=str(HELPERS))
    try:
        yield folder
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        for path in folder.glob("*.pid"):
            with suppress(ProcessLookupError):
                os.killpg(int(path.read_text()), signal.SIGKILL)
