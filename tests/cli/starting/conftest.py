"""The sample data as `sdm example` copies them, and the model of their run file: fitted once for all tests here."""

from pathlib import Path

import pytest
from terminal import succeed


@pytest.fixture(scope="package")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `sdm example`, after `sdm fit run.yaml`."""
    folder = tmp_path_factory.mktemp("newcomer") / "example"
    said = succeed("example", folder).stdout
    assert f"now: sdm fit {folder / 'run.yaml'}" in said
    succeed("fit", folder / "run.yaml", "-q")
    return folder
