"""Every command of README does what it says there, in order, on small data of the names that README uses."""

import os
import shlex
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from documents.commands import ROOT, blocks, small_pictures
from terminal import files, succeed

import sdm
from sdm.simulate.world import simulate

README = ROOT / "README.md"
FIRST = "sdm fit records.csv layers/ --categorical landcover"  # what `results` holds for most commands
READS = {"project": FIRST, "predict": FIRST, "evaluate": FIRST, "status": "sdm fit birds.csv layers/ --model shared"}
"""Which command made the folder `results` that a command reads."""
FEWER = {"curve": ("--partitions", "2", "--sizes", "10,20"), "path": ("--points", "200")}
"""What makes a command quicker, that README leaves as it is."""
SAID = {
    "project": "projected/Species.html",
    "predict": "future.tif",
    "evaluate": "AUC",
    "status": "3 of 3 species",
    "check": "records",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that README speaks of."""
    folder = tmp_path_factory.mktemp("readme")
    simulate(folder, size=32, layers=3, species=3, records=36, sites=60, seed=4, warming=2)
    os.rename(folder / "occurrences.csv", folder / "birds.csv")
    birds = pd.read_csv(folder / "birds.csv")
    one = birds[birds["species"] == birds["species"][0]].assign(species="Species")
    one.to_csv(folder / "records.csv", index=False)
    one[::3].to_csv(folder / "survey.csv", index=False)
    one[:3].assign(species="New species").to_csv(folder / "new.csv", index=False)
    downloaded = pd.DataFrame(
        {
            "gbifID": np.arange(len(one)),
            "species": one["species"],
            "decimalLongitude": one["longitude"],
            "decimalLatitude": one["latitude"],
            "year": 1990,
            "coordinateUncertaintyInMeters": 100,
        }
    )
    with zipfile.ZipFile(folder / "gbif.zip", "w") as archive:
        archive.writestr("occurrence.txt", downloaded.to_csv(index=False, sep="\t"))
    sites = pd.read_csv(folder / "presence_absence.csv")
    sites.to_csv(folder / "sites.csv", index=False)
    plots = sites[sites["species"] == sites["species"][0]].drop(columns="species")
    plots.assign(habitat=plots.pop("presence").map({0: "heath", 1: "forest"})).to_csv(folder / "plots.csv", index=False)
    shutil.copytree(folder / "warmer", folder / "future_layers")
    for name in ("gfdl_ssp126_2050", "gfdl_ssp585_2050"):
        shutil.copytree(folder / "warmer", folder / "future" / name)
    return folder


def make_room(words: list[str], kept: dict[str, Path]) -> None:
    """Put into `results` what a command reads, and take away what it would write over."""
    out = Path(words[words.index("-o") + 1]) if "-o" in words else None
    if words[1] in READS:
        shutil.rmtree("results", ignore_errors=True)
        shutil.copytree(next(place for made, place in kept.items() if made.startswith(READS[words[1]])), "results")
    if out is not None and out.is_dir() and not any(word.startswith(f"{out}/") for word in words):
        shutil.rmtree(out)


@pytest.mark.thorough
def test_every_command_does_its_work(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    kept: dict[str, Path] = {}
    lines = blocks(README, "sh")
    assert len(lines) > 20
    for line in lines:
        words = shlex.split(line, comments=True)
        assert words[0] == "sdm", line
        make_room(words, kept)
        before = set(files(place))
        said = succeed(*small_pictures(words[1:]), *FEWER.get(words[1], ())).output
        assert SAID.get(words[1], "") in said, line
        assert words[1] in ("check", "evaluate", "status") or set(files(place)) - before, f"{line} writes something"
        if line.startswith((FIRST, READS["status"])):
            kept[line] = Path(shutil.copytree("results", f"kept{len(kept)}"))
    assert (place / "first" / "results" / "Virtualis_montanus.html").exists(), "as README says"


@pytest.mark.thorough
def test_the_lines_of_python_work(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    rng = np.random.default_rng(1)
    x = np.vstack([rng.normal(1, 1, (30, 2)), rng.normal(size=(100, 2))])
    known = {"records": "records.csv", "layers": "layers", "X": x, "y": np.repeat([1, 0], [30, 100])}
    exec("\n".join(blocks(README, "python")), known)  # noqa: S102  # as a reader would type them
    assert isinstance(known["run"], sdm.api.run.Run)
    assert known["model"].solution_.gap <= 1e-5
