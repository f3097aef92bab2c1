"""Clusters that are started for a run do its work and end with it: jobs of SLURM; workers that die are replaced."""

import asyncio
import pickle
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest
from clusters.machines import alive, fake_slurm, machines, on_cluster, until
from clusters.tasks import process_id, square, square_but_die_at_13, threads_of_algebra

from sdm.assess.fits import run_all
from sdm.errors import ClusterError, OptionError
from sdm.executors.ahead import MANY, threads_for
from sdm.executors.cluster import quiet_dask
from sdm.executors.opening import SerialExecutor, check_workers, workers
from sdm.executors.remote import local_versions, work
from sdm.executors.slurm import make_jobs
from sdm.options.reading import make_options, read_yaml

JOBS = [(k,) for k in range(12)]


def test_processes_of_this_machine_are_no_cluster() -> None:
    """Run files and commands of earlier versions may ask for them."""
    said = "^--cluster local: use --processes for processes of this machine, as in --processes 2$"
    with pytest.raises(OptionError, match=said), workers(on_cluster("local")):
        pass
    with pytest.raises(OptionError, match=said):
        check_workers(make_options({"cluster": "local"}))


@pytest.mark.thorough
def test_a_task_that_kills_its_workers_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd
) -> None:
    """Another worker takes the place of each, and other tasks go on."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with machines(tmp_path, 0) as started:
        started.add_nanny()
        said = "^the workers of the cluster at .* were killed .*: use fewer workers per machine, or more memory"
        with pytest.raises(ClusterError, match=said), workers(on_cluster(started.file)) as opened:  # noqa: PT012
            assert run_all(square_but_die_at_13, JOBS, opened) == run_all(square, JOBS, SerialExecutor())
            futures = [opened.submit(square_but_die_at_13, k) for k in (12, 13, 14)]
            assert isinstance(futures[1].exception(), BrokenExecutor)
            assert [futures[0].result(), futures[2].result()] == [square(12), square(14)]
            assert opened.submit(threads_of_algebra).result() == "1"
            futures[1].result()
    assert capfd.readouterr().err == ""


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[Path]:
    with fake_slurm(tmp_path) as folder:
        yield folder


@pytest.mark.thorough
def test_jobs_of_slurm_do_the_work_and_are_cancelled(slurm: Path, capfd) -> None:
    settings = {"cores": "2", "memory": "1GB", "queue": "long", "interface": "lo", "walltime": "01:00:00"}
    with workers(on_cluster("slurm", 2, **settings, local_directory=str(slurm))) as opened:
        until(lambda: opened.size == 2)
        assert run_all(square, JOBS, opened) == run_all(square, JOBS, SerialExecutor())
        pid = opened.submit(process_id).result()
        opened.check(slurm)
    until(lambda: not alive(pid))
    assert len(list(slurm.glob("*.sh"))) == 1  # one job of two cores has both workers
    assert (slurm / "cancelled").read_text() == "1000\n"
    assert capfd.readouterr().err == ""


@pytest.mark.thorough
def test_a_job_that_slurm_refuses_is_a_sentence(slurm: Path, capfd) -> None:
    (slurm / "refuse").touch()
    said = "^--cluster slurm: SLURM refused the job: sbatch: error: .* Invalid partition name specified$"
    with pytest.raises(ClusterError, match=said), workers(on_cluster("slurm", memory="1GB", interface="lo")):
        pass
    assert capfd.readouterr().err == ""


def test_a_machine_without_slurm_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = "^--cluster slurm: the command 'sbatch' does not exist on this machine: start the run"
    with pytest.raises(ClusterError, match=said), workers(on_cluster("slurm", memory="1GB", interface="lo")):
        pass


def job_script(**settings: str) -> str:
    async def make() -> str:
        return str(make_jobs(settings).job_script())

    with quiet_dask():
        return asyncio.run(make())


RUN_FILE = """
cluster:
  address: slurm
  workers: 16
  settings:
    queue: long
    account: flora
    cores: 4
    memory: 8GB
    walltime: "12:00:00"
    job_script_prologue: [module load proj, ulimit -c 0]
    job_extra_directives: [--qos=low, "--mail-type=END,FAIL"]
    worker_extra_args: --lifetime 11h
"""


def test_the_job_has_what_the_run_file_asks_for(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(RUN_FILE)
    options = make_options(read_yaml(tmp_path / "run.yaml")).cluster
    assert (options.address, options.workers) == ("slurm", 16)
    script = job_script(**options.settings)
    for line in ("-p long", "-A flora", "--cpus-per-task=4", "--mem=8G", "-t 12:00:00", "--qos=low"):
        assert f"#SBATCH {line}\n" in script
    assert "#SBATCH --mail-type=END,FAIL\n" in script
    lines = script.split("\n")
    (exports,) = (k for k, line in enumerate(lines) if line.startswith("export OPENBLAS_NUM_THREADS=1 "))
    assert "SDM_THREADS=1" in lines[exports]
    assert "MALLOC_ARENA_MAX=2" in lines[exports]
    assert lines[exports + 1 : exports + 3] == ["module load proj", "ulimit -c 0"]
    command = lines[exports + 3]
    assert "--nthreads 1 " in command
    assert "--nworkers 4 " in command
    assert command.endswith("--lifetime 11h")


def test_a_scheduler_file_is_found_beside_the_run_file(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("cluster: {address: scheduler.json}")
    assert read_yaml(tmp_path / "run.yaml") == {"cluster.address": str(tmp_path / "scheduler.json")}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"cores": "4"}, "needs the memory of a job: add --cluster-settings memory=8GB"),
        ({"memory": "8GB", "queu": "long"}, "unknown setting 'queu' of SLURM jobs: expected 'queue'"),
        ({"memory": "8GB", "zzz": "1"}, "unknown setting 'zzz' of SLURM jobs: expected one of account, "),
        ({"memory": "much"}, "memory=much: expected memory, as in 8GB"),
        ({"memory": "8GB", "cores": "four"}, "cores=four: expected a whole number, 1 or more"),
        ({"memory": "8GB", "walltime": "43200"}, "walltime=43200: expected hours, minutes and seconds, in YAML with"),
        ({"memory": "8GB", "nanny": "maybe"}, "nanny=maybe: expected true or false"),
    ],
)
def test_settings_that_slurm_jobs_do_not_have_are_a_sentence(settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence), workers(on_cluster("slurm", **settings)):
        pass


def test_a_worker_beside_others_fits_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SDM_THREADS", raising=False)
    answer = work(pickle.dumps((threads_for, (MANY,), {})), local_versions())
    assert pickle.loads(answer) == (True, 1)  # noqa: S301
