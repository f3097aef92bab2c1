"""Results to make pages of: a small virtual world with everything, with trees, from tables, and with bad names."""

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import rasterio
from browser import Browser, find_chromium
from evil import EVIL, EVIL_CLASS, EVIL_LAYER
from report_runs import DPI, fit
from terminal import succeed
from zoo import community_run, once, small_world

from sdm.options.reading import make_options
from sdm.run.run import run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a browser where there is none, before anything is made for it."""
    if find_chromium() is None:
        for item in items:
            if "chromium" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.skip(reason="no Chromium found (set SDM_CHROMIUM, or install chromium)"))


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_world(tmp_path_factory)


@pytest.fixture(scope="session")
def full(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of one species with nearly everything that a run can measure."""
    options = {
        "test.percent": 25,
        "test.folds": 3,
        "test.jackknife": True,
        "test.null_models": 3,
        "output.uncertainty": True,
        "predict.threshold": "maxsss",
        "predict.projections": {"warmer": str(world / "warmer")},
    }

    def make(folder: Path) -> None:
        fit(folder / "results", world / "one.csv", world / "layers", **options)

    return once(tmp_path_factory, "report-full", make) / "results"


@pytest.fixture(scope="session")
def bare(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results without a map, curves, tests or importance, of a table of samples; names in it are hostile."""

    def make(folder: Path) -> None:
        rng = np.random.default_rng(3)
        for name, n, shift in (("presences", 30, 1.0), ("background", 200, 0.0)):
            with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as out:
                rows = csv.writer(out)
                rows.writerow(["species", "x", "y", EVIL_LAYER, "class"])
                for k in range(n):
                    label = EVIL_CLASS if k % 3 else "dry"
                    species = EVIL if name == "presences" else "background"
                    rows.writerow([species, k * 0.1, k * 0.2, round(rng.normal(shift), 3), label])
        options = {"fit.features": "lq", "layers.categorical": ["class"], "test.importance": False, "output.dpi": DPI}
        options |= {"occurrences.file": str(folder / "presences.csv"), "layers.files": [str(folder / "background.csv")]}
        run(make_options(options | {"output.folder": str(folder / "results")}), command=f"sdm fit '{EVIL}'")

    return once(tmp_path_factory, "report-bare", make) / "results"


@pytest.fixture(scope="session")
def hostile(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a species and a layer whose names would run a script in a careless page."""

    def make(folder: Path) -> None:
        shutil.copytree(world / "layers", folder / "layers")
        first = next(path for path in sorted((folder / "layers").glob("*.tif")) if path.stem != "landcover")
        first.rename(first.with_name(f"{EVIL_LAYER}.tif"))
        with (world / "one.csv").open(newline="") as source:
            rows = list(csv.reader(source))
        with (folder / "one.csv").open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([rows[0], *([EVIL, *row[1:]] for row in rows[1:])])
        options = {"test.percent": 25, "predict.projections": {EVIL_LAYER: str(folder / "layers")}}
        fit(folder / "results", folder / "one.csv", folder / "layers", **options)

    return once(tmp_path_factory, "report-hostile", make) / "results"


@pytest.fixture(scope="session")
def structural(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a structural model."""

    def make(folder: Path) -> None:
        options = {"fit.model": "structural", "fit.families": "l,trees:3", "fit.lam": 0.05, "fit.beta": 0.02}
        options |= {"fit.features": "auto", "output.map": False}
        fit(folder / "results", world / "one.csv", world / "layers", **options)

    return once(tmp_path_factory, "report-structural", make) / "results"


@pytest.fixture(scope="session")
def many(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two species, and a third that could not be fitted."""

    def make(folder: Path) -> None:
        lines = (world / "occurrences.csv").read_text().splitlines()
        (folder / "three.csv").write_text("\n".join([*lines, f"lost & <b>gone</b>,{lines[1].split(',', 1)[1]}"]) + "\n")
        fit(folder / "results", folder / "three.csv", world / "layers", **{"output.curves": False})

    return once(tmp_path_factory, "report-batch", make) / "results"


@pytest.fixture(scope="session")
def surveyed(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Presence and absence of one species."""

    def make(folder: Path) -> None:
        with (world / "presence_absence.csv").open() as source:
            species = next(csv.DictReader(source))["species"]
        words = ("fit", world / "presence_absence.csv", world / "layers", "--response", "presence")
        words += ("--species", species, "--categorical", "landcover", "--features", "l", "--test-percent", 25)
        succeed(*words, "--dpi", DPI, "-o", folder / "results")

    return once(tmp_path_factory, "report-response", make) / "results"


@pytest.fixture(scope="session")
def habitats(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three classes by temperature; the name of one would run a script in a careless page."""

    def make(folder: Path) -> None:
        with rasterio.open(world / "layers" / "temperature.tif") as source:
            band = source.read(1, masked=True)
            cells = np.argwhere(~np.ma.getmaskarray(band))[::5]
            x, y = rasterio.transform.xy(source.transform, cells[:, 0], cells[:, 1])
            level = np.digitize(band[cells[:, 0], cells[:, 1]], np.quantile(band.compressed(), [0.4, 0.7]))
        names = ("bare", EVIL, "meadow")
        with (folder / "plots.csv").open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([("x", "y", "habitat"), *((a, b, names[k]) for a, b, k in zip(x, y, level))])
        words = ("classify", folder / "plots.csv", world / "layers", "--class-column", "habitat", "--fc", "l")
        words += ("--categorical", "landcover", "--penalty-folds", 2, "--dpi", DPI)
        succeed(*words, "--projections", f"warmer={world / 'warmer'}", "-o", folder / "results")

    return once(tmp_path_factory, "report-classes", make) / "results"


@pytest.fixture(scope="session")
def community(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a community of two species, with maps, folds and a scenario."""
    return community_run(tmp_path_factory) / "out"


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all files of tests."""
    with Browser(str(find_chromium()), tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def browser(chromium: Browser) -> Browser:
    """A page of its own for every file of tests."""
    chromium.new_page()
    return chromium
