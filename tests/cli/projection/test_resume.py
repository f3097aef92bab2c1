"""A projection that was killed goes on where it was, and its results have the same bytes."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
import rasterio
from projection.futures import Futures, Models, bytes_of, numbers, project
from shapely.geometry import box
from terminal import change_raster, fail, files, read, sdm, succeed

from sdm import load_model
from sdm.models.file import save_model

KILLED = Path(__file__).parents[2] / "helpers" / "projection" / "killed.py"
SAID = (".sdm-files", "command.txt", "run.yaml")  # what was typed, with --resume or without
TITLES = [
    "reference",
    "ssp126_2050",
    "ssp585_2050",
    "ssp126_2070",
    "ssp585_2070",
]  # those of a period need those before


@pytest.fixture(scope="module")
def kill() -> Iterator[Callable[..., None]]:
    """Runs a command that kills itself at the K-th time that it is at a moment."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    server = subprocess.Popen([sys.executable, str(KILLED)], env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, **pipes)

    def run(moment: str, times: int, *words: Any) -> None:
        server.stdin.write(json.dumps([moment, times, *map(str, words)]) + "\n")
        server.stdin.flush()
        assert int(server.stdout.readline()) == -signal.SIGKILL

    with server:  # which ends with its standard input
        yield run


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Which files they are, and when they were written."""
    found = {}
    for path in folder.rglob("*.tif"):
        state = path.stat()
        found[path.relative_to(folder).as_posix()] = state.st_ino, state.st_mtime_ns
    return found


def kept(said: str) -> list[str]:
    """The scenarios that were not computed again."""
    return [line.split(" (")[0] for line in said.splitlines() if line.endswith("kept, because nothing has changed")]


@pytest.fixture(scope="module")
def words(world, models: Models, futures: Futures) -> tuple[Any, ...]:
    there = ("--scenarios", futures.some(gcm="MIROC6"), "--reference", world.layers)
    return (models.species, *there, "--dispersal", 20, "--over", "ssp")


@pytest.fixture(scope="module")
def whole(words: tuple[Any, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A projection that nobody killed."""
    out = tmp_path_factory.mktemp("whole") / "out"
    succeed(*project(*words, "-o", out))
    return out


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("moment", "times", "done"),
    [("scenario", 1, []), ("scenario", 4, TITLES[:3]), ("numbers", 2, TITLES[:1]), ("commit", 3, TITLES[:2]),
     ("over", 2, TITLES)],
)  # fmt: skip
def test_a_killed_run_goes_on_where_it_was(
    kill: Callable[..., None],
    moment: str,
    times: int,
    done: list[str],
    words: tuple[Any, ...],
    whole: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    kill(moment, times, *project(*words, "-o", out))
    left = stamps(out)
    assert sorted({Path(name).parts[0] for name in left if not name.startswith(".")}) == sorted(done)
    said = succeed(*project(*words, "-o", out, "--resume")).output
    assert kept(said) == done
    now = stamps(out)
    assert all(now[name] == stamp for name, stamp in left.items() if not name.startswith(".")), "they were not touched"
    assert bytes_of(out, SAID) == bytes_of(whole, SAID)
    assert not list(tmp_path.rglob(".sdm-*.part")), "what was left behind is gone"


def test_a_run_that_is_finished_is_kept(words: tuple[Any, ...], whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    said = succeed(*project(*words, "-o", out, "--resume")).output
    assert kept(said) == TITLES
    assert bytes_of(out, SAID) == bytes_of(whole, SAID)


def redone(out: Path, *words: Any) -> list[str]:
    """Which scenarios are computed again with --resume."""
    there = kept(succeed(*project(*words, "-o", out, "--resume")).output)
    return [title for title in TITLES if title not in there]


@pytest.fixture
def copied(futures: Futures, whole: Path, words: tuple[Any, ...], tmp_path: Path) -> tuple[Path, list[Any]]:
    """A finished run over layers that a test may change."""
    shutil.copytree(futures.folder, tmp_path / "future")
    changed = [str(word).replace(str(futures.folder), str(tmp_path / "future")) for word in words]
    out = tmp_path / "out"
    succeed(*project(*changed, "-o", out))
    assert redone(out, *changed) == []
    return out, changed


@pytest.mark.thorough
def test_what_depends_on_a_layer_is_done_again(copied: tuple[Path, list[Any]], tmp_path: Path) -> None:
    """And with dispersal by periods, also the periods after it."""
    out, words = copied
    layer = tmp_path / "future" / "MIROC6_ssp126_2050" / "temperature.tif"
    change_raster(layer, layer.with_suffix(".new"), lambda band: band + (band != -9999)).rename(layer)
    assert redone(out, *words) == ["ssp126_2050", "ssp126_2070"]
    succeed(*project(*words, "-o", tmp_path / "fresh"))
    assert bytes_of(out, SAID) == bytes_of(tmp_path / "fresh", SAID)
    layer = tmp_path / "future" / "MIROC6_ssp585_2070" / "slope.tif"
    change_raster(layer, layer.with_suffix(".new"), lambda band: band * 0.5).rename(layer)
    assert redone(out, *words) == ["ssp585_2070"], "nothing comes after it"
    assert redone(out, *words) == []


@pytest.mark.thorough
def test_what_depends_on_an_option_or_a_model_is_done_again(
    words: tuple[Any, ...], whole: Path, models: Models, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    assert redone(out, *words[:-1], "period") == [], "maps over scenarios are made in any case"
    titles = [group["title"] for group in numbers(out, models.species.stem)["across"]]
    assert titles == ["ssp126", "ssp585"]
    assert sorted(path.name.split("_")[-2] for path in (out / "across").glob("*_mean.tif")) == titles, "and no others"
    assert redone(out, *words, "--thresholds", "10p") == TITLES
    assert numbers(out, models.species.stem)["rule"] == "10p"
    assert redone(out, *words, "--thresholds", "10p", "--dispersal", 40) == TITLES[1:], "not the reference"
    more = ("--thresholds", "10p", "--dispersal", 40, "--novelty", "exdet")
    assert redone(out, *words, *more) == TITLES[1:], "the reference has no novelty"
    other = load_model(models.species)
    other.meta["thresholds"]["10p"] *= 1.5
    save_model(other, tmp_path / "other.npz")
    assert redone(out, tmp_path / "other.npz", *words[1:], *more) == TITLES, "another cutoff"
    assert redone(out, tmp_path / "other.npz", *words[1:], *more) == []


@pytest.mark.thorough
@pytest.mark.parametrize("harm", ["gone", "cut", "bit", "numbers"])
def test_a_file_that_is_gone_or_damaged_is_made_again(
    harm: str, words: tuple[Any, ...], whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    path = sorted((out / "ssp585_2070").glob("*_change.tif"))[0]
    if harm == "gone":
        path.unlink()
    elif harm == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    elif harm == "bit":
        content = bytearray(path.read_bytes())
        content[-9] ^= 4
        path.write_bytes(content)
    else:
        (out / "ssp585_2070" / "scenario.json").write_text('{"digest": ')
    assert redone(out, *words) == ["ssp585_2070"]
    assert bytes_of(out, SAID) == bytes_of(whole, SAID)


def test_a_folder_with_results_is_refused_or_replaced(words: tuple[Any, ...], whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    (out / "notes.txt").write_text("mine")
    (out / "ssp126_2050" / "notes.txt").write_text("mine too")
    before = bytes_of(out)
    text = fail(*project(*words, "-o", out))
    assert "--resume" in text
    assert "--overwrite" in text
    assert "use one of them" in fail(*project(*words, "-o", out, "--resume", "--overwrite"), code=2)
    assert bytes_of(out) == before
    fewer = [str(word).replace("{ssp}", "ssp126") for word in words[:-1]] + ["period"]
    assert sdm(*project(*fewer, "-o", out, "--overwrite")).exit_code == 0
    assert (out / "notes.txt").read_text() == "mine"
    assert (out / "ssp126_2050" / "notes.txt").read_text() == "mine too"
    assert not (out / "ssp585_2050").exists()
    assert (out / "2050" / "scenario.json").is_file()


@pytest.mark.thorough
def test_files_of_the_user_stay(words: tuple[Any, ...], whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    (out / "notes.txt").write_text("mine")
    (out / "ssp126_2050" / "notes.txt").write_text("mine too")
    (out / "ssp126_2050" / "scenario.json").unlink()
    assert redone(out, *words) == ["ssp126_2050"]
    assert (out / "notes.txt").read_text() == "mine"
    assert (out / "ssp126_2050" / "notes.txt").read_text() == "mine too"
    # a file of the user's is never replaced, and that is said before the work
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    (fresh / "scenarios.csv").write_text("mine")
    text = fail(*project(*words, "-o", fresh, "--resume"))
    assert "scenarios.csv was not written by sdm" in text
    assert files(fresh) == ["scenarios.csv"]
    assert (fresh / "scenarios.csv").read_text() == "mine"


@pytest.mark.thorough
def test_results_do_not_depend_on_threads(words: tuple[Any, ...], whole: Path, tmp_path: Path) -> None:
    for threads in (1, 4):
        out = tmp_path / str(threads)
        succeed(*project(*words, "-o", out, "--threads", threads))
        assert bytes_of(out, SAID) == bytes_of(whole, SAID)


@pytest.mark.thorough
def test_the_run_file_repeats_the_projection(words: tuple[Any, ...], whole: Path, tmp_path: Path) -> None:
    succeed("project", whole / "run.yaml", "-o", tmp_path / "again")
    assert bytes_of(tmp_path / "again", SAID) == bytes_of(whole, SAID)


@pytest.mark.thorough
def test_a_study_area_that_changes_is_taken_anew(world, models: Models, futures: Futures, tmp_path: Path) -> None:
    """Nothing is mapped or counted outside of it."""
    left, bottom, right, top = rasterio.open(world.layers / "slope.tif").bounds
    area, out = tmp_path / "area.geojson", tmp_path / "out"
    words = ("--scenarios", futures.some(gcm="MIROC6", ssp="ssp585", period="2050"), "--reference", world.layers)
    words = (models.species, *words, "--projection-area", area, "-o", out)
    seen = []
    for share in (0.5, 0.8):
        shape = box(left, bottom, left + share * (right - left), top)
        geopandas.GeoDataFrame(geometry=[shape], crs="EPSG:4326").to_file(area)
        said = succeed(*project(*words, "--resume")).output
        assert kept(said) == []
        found = numbers(out, models.species.stem)["scenarios"][0]
        band = read(out / found["files"]["suitability"])
        columns = np.flatnonzero(~np.ma.getmaskarray(band).all(axis=0))
        assert columns.max() == round(share * band.shape[1]) - 1
        assert (
            found["outside"]["of_cells"]
            == band.count()
            == sum(found["change"][code]["cells"] for code in ("stable_absent", "stable_present", "gain", "loss"))
        )
        seen.append(band.count())
    assert seen[0] < seen[1]
    assert len(kept(succeed(*project(*words, "--resume")).output)) == 2


@pytest.mark.thorough
def test_pages_and_pictures_are_the_same_after_a_kill(
    kill: Callable[..., None], world, models: Models, futures: Futures, tmp_path: Path
) -> None:
    words = ("project", models.species, "--scenarios", futures.some(gcm="MIROC6", ssp="ssp585"))
    words += ("--reference", world.layers, "--dpi", "50")
    succeed(*words, "-o", tmp_path / "whole")
    kill("over", 1, *words, "--over", "period", "-o", tmp_path / "out")
    succeed(*words, "-o", tmp_path / "out", "--resume")
    found, truth = bytes_of(tmp_path / "out", SAID), bytes_of(tmp_path / "whole", SAID)
    stem = models.species.stem
    page = f"{stem}.html"  # which says where the results are
    truth[page] = truth[page].replace(str(tmp_path / "whole").encode(), str(tmp_path / "out").encode())
    assert found == truth
    assert {f"{stem}.html", f"{stem}_scenarios.png", f"{stem}_change.png"} <= set(found)
