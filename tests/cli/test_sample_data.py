"""The shipped sample is what the documented command makes; otherwise nobody could trust its truth."""

import csv
from pathlib import Path

import numpy as np
import pytest
import rasterio
from typer.testing import CliRunner

from sdm.storage.written_files import LISTED
from sdm_cli.app import app

SAMPLE = Path(__file__).parents[2] / "sample_data"
ADDED = ("README.md", "run.yaml")  # what the command does not write
# The command of sample_data/README.md.
COMMAND = ["--size", "120", "--species", "3", "--records", "150", "--sites", "400", "--warming", "2", "--seed", "1"]


@pytest.mark.thorough
def test_the_command_reproduces_the_sample(tmp_path):
    """Pixels, tables and truth; not the bytes of TIFF files, which depend on the build of GDAL."""
    assert " ".join(COMMAND) in (SAMPLE / "README.md").read_text()
    result = CliRunner().invoke(app, ["simulate", str(tmp_path / "made"), *COMMAND, "-q"])
    assert result.exit_code == 0, result.output
    made = tmp_path / "made"
    shipped = sorted(path.relative_to(SAMPLE) for path in SAMPLE.rglob("*") if path.is_file())
    assert [path for path in shipped if path.name not in ADDED] == sorted(
        path.relative_to(made) for path in made.rglob("*") if path.is_file() and path.name != LISTED
    )
    for path in shipped:
        if path.suffix == ".tif":
            with rasterio.open(SAMPLE / path) as ours, rasterio.open(made / path) as new:
                assert ours.profile == new.profile
                np.testing.assert_array_equal(ours.read(1), new.read(1))
        elif path.name not in ADDED:
            assert (SAMPLE / path).read_text() == (made / path).read_text()


@pytest.mark.thorough
def test_the_sample_is_small_and_whole():
    files = [path for path in SAMPLE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 2_000_000
    with open(SAMPLE / "occurrences.csv") as file:
        species = {row["species"] for row in csv.DictReader(file)}
    assert len(species) == 3
    assert {f"{name.replace(' ', '_')}.tif" for name in species} == {p.name for p in (SAMPLE / "truth").iterdir()}
