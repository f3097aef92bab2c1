"""The tutorials, done once as a newcomer does them: every command of their blocks, in order."""

import contextlib
import json
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from clusters.machines import machines
from documents.commands import blocks, page_of, small_pictures
from terminal import succeed
from zoo import once


@dataclass
class Tutorial:
    """The folder that a tutorial was done in, and what each command said."""

    folder: Path
    said: dict[str, str] = field(default_factory=dict)


def do_tutorial(topic: str, start: Path) -> Tutorial:
    """Type every line of a page, in a folder; pictures are small."""
    done = Tutorial(start)
    with contextlib.chdir(start):
        for line in blocks(page_of(topic), "sh"):
            words = shlex.split(line)
            if words[0] == "cd":
                os.chdir(words[1])
            else:
                assert words[0] == "sdm", line
                done.said[line] = succeed(*small_pictures(words[1:])).output
        done.folder = Path.cwd()
    return done


def done_once(factory: pytest.TempPathFactory, name: str, do: Callable[[Path], Tutorial]) -> Tutorial:
    """Do a tutorial, once for all processes of a session."""

    def make(folder: Path) -> None:
        done = do(folder)
        (folder / "done.json").write_text(json.dumps([str(done.folder), done.said]), encoding="utf-8")

    place, said = json.loads((once(factory, name, make) / "done.json").read_text(encoding="utf-8"))
    return Tutorial(Path(place), said)


@pytest.fixture(scope="package")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> Tutorial:
    """The first model."""

    def do(folder: Path) -> Tutorial:
        (folder / "newcomer").mkdir()
        return do_tutorial("first_model", folder / "newcomer")

    return done_once(tmp_path_factory, "tutorial", do)


@pytest.fixture(scope="package")
def study(tmp_path_factory: pytest.TempPathFactory) -> Tutorial:
    """The study with biased records."""
    return do_tutorial("study", tmp_path_factory.mktemp("student"))


@pytest.fixture(scope="package")
def climates(tutorial: Tutorial, tmp_path_factory: pytest.TempPathFactory) -> Tutorial:
    """Two warmer climates, for the first model."""
    return done_once(tmp_path_factory, "climates", lambda _: do_tutorial("future", tutorial.folder))


@pytest.fixture(scope="package")
def many(tutorial: Tutorial) -> Tutorial:
    """Three species on two processes and on a cluster, in the folder of the first model."""
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    done = do_tutorial("many_species", tutorial.folder)
    line = next(line for line in blocks(page_of("many_species"), "text") if "--cluster scheduler.json" in line)
    with machines(done.folder, 2), contextlib.chdir(done.folder):
        done.said[line] = succeed(*small_pictures(shlex.split(line)[1:])).output
    return done


@pytest.fixture(scope="package")
def tuning(tmp_path_factory: pytest.TempPathFactory) -> Tutorial:
    """The study of the page for R users."""
    return do_tutorial("r_users", tmp_path_factory.mktemp("r_users"))


@pytest.fixture(scope="package")
def sloth(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Tutorial:
    """The real species, on its published data."""
    folder, data = tmp_path_factory.mktemp("sloth"), shared / "data" / "phillips2006"
    for name in ("bradypus.csv", "layers"):
        (folder / name).symlink_to(data / name)
    return do_tutorial("bradypus", folder)


@pytest.fixture(scope="package")
def example(tutorial: Tutorial) -> Path:
    """The folder of `sdm example`, after `sdm fit run.yaml`."""
    return tutorial.folder
