"""A batch on a cluster: a scheduler and workers over TCP, which die, and a client that is killed."""

import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from clusters.machines import Machines, machines, until
from simulated.flora import BROKEN, Flora, make_flora, result_bytes
from terminal import process, sdm, start

from sdm.run.journal import Journal
from sdm.run.status import read_status

SPECIES = 28


@pytest.fixture(scope="module")
def many(world: Any, tmp_path_factory: pytest.TempPathFactory) -> Flora:
    """Many species, three of them broken."""
    return make_flora(world, tmp_path_factory.mktemp("many") / "records.csv", SPECIES)


@pytest.fixture
def cluster(tmp_path: Path):
    (tmp_path / "machines").mkdir()
    with machines(tmp_path / "machines", 2) as started:
        yield started


def finished(out: Path) -> int:
    """How many species are done, in the journal and in the notes of workers."""
    try:
        return read_status(out).done
    except Exception:
        return 0


@pytest.mark.thorough
def test_workers_and_client_are_killed_and_nothing_is_lost(
    many: Flora, cluster: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["sdm", *map(str, many.words(out))])  # the command, as results repeat it
    alone = sdm(*many.words(out))
    assert alone.exit_code == 1, alone.output
    whole = result_bytes(out)
    out.rename(tmp_path / "alone")

    words = many.words(out, "--cluster", cluster.file)
    with start(*words) as client:
        until(lambda: finished(out) >= 5, 120)
        cluster.processes[1].send_signal(signal.SIGKILL)  # one of the two workers
        cluster.add_worker()
        before = finished(out)
        until(lambda: finished(out) >= before + 5, 120)
        assert client.poll() is None, "it goes on with the other one"
        client.kill()
        client.communicate()
    part = Journal(out).read()
    assert part.planned, "what it was about is known"
    time.sleep(1.0)  # workers may still be at what they had in hand
    result = process(*words, "--resume")
    assert result.returncode == 1, result.stderr
    assert "are finished and unchanged, and are kept" in result.stderr
    for name in BROKEN:
        assert result.stderr.count(f"error: {name}") == 1
    assert result_bytes(out) == whole
    left = [path for path in tmp_path.rglob(".sdm-*") if path.name != ".sdm-files"]
    assert left == []


@pytest.mark.thorough
def test_a_lost_scheduler_ends_the_run_and_it_can_go_on(many: Flora, cluster: Machines, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def kill_it() -> None:
        until(lambda: finished(out) >= 3, 120)
        cluster.scheduler.kill()

    killer = threading.Thread(target=kill_it)
    killer.start()
    result = sdm(*many.words(out, "--cluster", cluster.file))
    killer.join()
    assert result.exit_code == 1, result.output
    assert "--resume" in result.stderr
    assert "Traceback" not in result.output
    there = finished(out)
    assert there >= 3
    assert (out / "summary.csv").read_text().count("\n") > there, "the summary has what is finished"
    result = sdm(*many.words(out, "--resume", "--processes", 2))
    assert f"{SPECIES - 3} of {SPECIES} species fitted" in result.output


@pytest.mark.thorough
def test_workers_that_outlive_a_run_forget_what_it_was_about(flora: Flora, cluster: Machines, tmp_path: Path) -> None:
    """Another background in the same folder, with the same workers: its inputs are not those of the run before."""
    other = ("--seed", 7, "--no-map")
    alone = sdm(*flora.words(tmp_path / "alone" / "out", *other))
    assert alone.exit_code == 1, alone.output
    for words in (("--no-map",), (*other, "--resume")):
        result = sdm(*flora.words(tmp_path / "out", "--cluster", cluster.file, *words))
        assert result.exit_code == 1, result.output
    models = {path.name: path.read_bytes() for path in (tmp_path / "alone").rglob("*.npz")}
    assert models
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").rglob("*.npz")} == models
