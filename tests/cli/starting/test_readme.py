"""The commands, figures and badges of README: each command is run, each figure is compared with its source."""

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents.commands import ROOT, blocks, small_pictures
from terminal import files, succeed

import sdm
from sdm.simulate.world import simulate
from tools import front_page
from tools.docs_figures import DRAWN, PICTURES
from tools.front_page import PEERS

README = ROOT / "README.md"
RESULT = {"check": "0 problems", "project": "first/future/Virtualis_montanus.html"}
"""A part of the output of a command."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the records and layers that README names."""
    folder = tmp_path_factory.mktemp("readme")
    simulate(folder, size=32, layers=3, species=1, records=36, sites=0, seed=4)
    os.rename(folder / "occurrences.csv", folder / "records.csv")
    return folder


@pytest.mark.thorough
def test_every_command_does_its_work(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    lines = blocks(README, "sh")
    assert len(lines) >= 5
    for line in lines:
        words = shlex.split(line, comments=True)
        assert words[0] == "sdm", line
        before = set(files(place))
        output = succeed(*small_pictures(words[1:])).output
        assert RESULT.get(words[1], "") in output, line
        assert words[1] == "check" or set(files(place)) - before, f"{line} writes nothing"
    reports = ("first/results/Virtualis_montanus.html", "first/future/Virtualis_montanus.html")
    assert all((place / path).is_file() for path in reports)
    assert list((place / "results").glob("*.html"))


@pytest.mark.thorough
def test_the_lines_of_python_work(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    rng = np.random.default_rng(1)
    x = np.vstack([rng.normal(1, 1, (30, 2)), rng.normal(size=(100, 2))])
    known = {"X": x, "y": np.repeat([1, 0], [30, 100])}
    exec("\n".join(blocks(README, "python")), known)  # noqa: S102  # as a reader would type them
    assert isinstance(known["run"], sdm.api.run.Run)
    assert known["model"].solution_.gap <= 1e-6


def peers() -> list[dict[str, Any]]:
    """The measured run times of this program and of others."""
    rows: list[dict[str, Any]] = json.loads(PEERS.read_text(encoding="utf-8"))["bradypus"]
    return rows


def test_the_chart_starts_at_zero_and_shows_every_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    monkeypatch.setattr(front_page, "save", lambda figure, picture: drawn.append(figure))
    front_page.peers(tmp_path / "peers.png")
    (axes,) = drawn[0].axes
    assert axes.get_xlim()[0] == 0
    assert [bar.get_width() for bar in axes.patches] == [row["seconds"] for row in peers() if row["shown"]]


def test_the_badges_state_what_the_project_states(tmp_path: Path) -> None:
    """Licence of pyproject.toml, versions of Python and systems of the workflow; the files are up to date."""
    for name in ("licence", "python", "tests"):
        picture = tmp_path / f"badge_{name}.svg"
        DRAWN[picture.name](picture)
        assert picture.read_bytes() == (PICTURES / picture.name).read_bytes(), "make docs-figures"
    text = (PICTURES / "badge_python.svg").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"Python: {' | '.join(re.findall(r'Python :: (3[.][0-9]+)', project))}" in text
