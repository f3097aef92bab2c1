"""The tutorial, done once as a newcomer does it: every command of its blocks, in order."""

import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from documents.commands import ROOT, blocks
from terminal import succeed


@dataclass
class Tutorial:
    """The folder that the tutorial was done in, and what each command said."""

    folder: Path
    said: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="package")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> Tutorial:
    """Type every line of docs/first_model.md, in an empty folder."""
    before, start = Path.cwd(), tmp_path_factory.mktemp("newcomer")
    done = Tutorial(start)
    os.chdir(start)
    try:
        for line in blocks(ROOT / "docs" / "first_model.md", "sh"):
            words = shlex.split(line)
            if words[0] == "cd":
                os.chdir(words[1])
            else:
                assert words[0] == "sdm", line
                done.said[line] = succeed(*words[1:]).output
        done.folder = Path.cwd()
    finally:
        os.chdir(before)
    return done


@pytest.fixture(scope="package")
def example(tutorial: Tutorial) -> Path:
    """The folder of `sdm example`, after `sdm fit run.yaml`."""
    return tutorial.folder
