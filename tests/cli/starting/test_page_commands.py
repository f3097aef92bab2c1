"""The commands of how-to pages run, page by page and in order, on small virtual data with the file names of the page.

The other tests of this folder run the tutorials. Every line that begins with `sdm` is at least parsed.
"""

import contextlib
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from documents.commands import blocks, indented, inline, small_pictures
from documents.inventory import PAGES
from terminal import sdm

from sdm.simulate.world import simulate
from sdm_cli.app import COMMANDS

ELSEWHERE = {
    "gbif.zip": "tests/cli/inputs/test_records_in.py", "study.gpkg": "tests/data/test_vectors.py",
    "wc2.1": "tests/cli/projection/test_provider_names.py", "chelsa": "tests/cli/projection/test_provider_names.py",
    "fut-": "tests/api/test_inputs.py", "https://": "tests/cli/inputs/test_remote_layers.py",
    "slurm": "tests/executors", "/shared/": "tests/executors", "--processes 16": "a workstation",
    "flora.yaml": "a workstation",
    **dict.fromkeys(("flora/", "simulate flora", "results/group/group.npz"), "test_numbers.py"),
}  # fmt: skip
"""Parts of commands that need other machines or other files, and where such runs are tested."""
PAGES_WITH_COMMANDS = ("coming_from", "figures", "joint")
"""Pages whose commands are run; those of the other pages are parsed."""
FIRST = {
    "scenarios": ["fit owl.csv layers/ --folds 2 --uncertainty -o results"],
    "methods_section": ["fit records.csv layers/ -o final"],
}
"""Commands that a page presumes."""
FEWER = {"--null-models 100": "--null-models 2", "--replicates 20": "--replicates 2"}
"""Numbers that take minutes."""
COPIES = {
    "results/sp.npz": "results/Species.npz", "runs/{multiplier}/owl.npz": "results/owl.npz",
    "group/group/group.npz": "results/group/group.npz",
}  # fmt: skip


@pytest.fixture(scope="module")
def landscape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A landscape with a file under each name of the pages."""
    folder: Path = tmp_path_factory.mktemp("pages")
    simulate(folder / "world", size=40, layers=6, species=6, records=40, sites=150, seed=3, warming=2, bias=True)
    for old, new in (("layers", "layers"), ("warmer", "future_layers"), ("warmer", "future/gcm_ssp_2050"),
                     ("layers/landcover.tif", "landcover.tif"), ("layers/landcover.tif", "ecoregions.tif"),
                     ("effort.tif", "effort.tif")):  # fmt: skip
        (folder / new).parent.mkdir(exist_ok=True)
        (shutil.copytree if (folder / "world" / old).is_dir() else shutil.copy)(folder / "world" / old, folder / new)
    for layers in ("layers", "future_layers"):
        (folder / "joint" / layers).mkdir(parents=True)
        for name, source in (("heat", "temperature"), ("rain", "precipitation")):
            shutil.copy(folder / layers / f"{source}.tif", folder / "joint" / layers / f"{name}.tif")
    records, survey = (pd.read_csv(folder / "world" / f"{name}.csv") for name in ("occurrences", "presence_absence"))
    names = records["species"].unique()
    first = records[records["species"] == names[0]]
    for name, species in (("records", "Species"), ("samples", "Species"), ("owl", "owl")):
        first.assign(species=species).to_csv(folder / f"{name}.csv", index=False)
    for name in ("birds", "flora"):
        records.replace({names[0]: "Turdus torquatus"}).to_csv(folder / f"{name}.csv", index=False)
    records.groupby("species").head(3).iloc[:9].assign(species="Rara avis").to_csv(folder / "new.csv", index=False)
    two = survey[survey["species"].isin(names[:2])].replace({names[0]: "Species", names[1]: "Quercus robur"})
    two.to_csv(folder / "survey.csv", index=False)
    wide = survey.pivot_table(index=["longitude", "latitude"], columns="species", values="presence").reset_index()
    wide.columns = [*wide.columns[:2], *(f"sp_{k}" for k in range(1, len(wide.columns) - 1))]
    tables(folder, wide)
    return folder


def tables(folder: Path, wide: pd.DataFrame) -> None:
    """Write the tables of sites, plots and points; those of a page alone are in a folder of its name."""
    rng = np.random.default_rng(1)
    places, n = wide[["longitude", "latitude"]], len(wide)
    values = pd.DataFrame({"heat": rng.normal(size=n), "rain": rng.normal(size=n)})
    habitat = np.select([wide["sp_1"] == 1, wide["sp_2"] == 1], ["forest", "meadow"], "bog")
    shares = rng.dirichlet([1, 1, 1], n)
    files = {
        "sites": wide, "new_sites": wide, "species": wide, "plots": places.assign(habitat=habitat),
        "new_plots": places.assign(habitat=habitat), "table": values.assign(habitat=habitat),
        "cover": places.assign(forest=shares[:, 0], meadow=shares[:, 1], bog=shares[:, 2]),
        "environment": values, "points": pd.DataFrame({"x": rng.uniform(0, 1000, 80), "y": rng.uniform(0, 800, 80)}),
        "accidents": pd.DataFrame({"hour": rng.uniform(0, 24, 80), "km": rng.uniform(0, 60, 80)}),
        "joint/survey": wide.join(values).assign(reserve=np.arange(n) % 5),
        "joint/new_survey": wide.join(values).assign(reserve=np.arange(n) % 5),
        "edges": pd.DataFrame({"species": ["sp_1", "sp_2"], "other": ["sp_2", "sp_3"]}),
        "traits": pd.DataFrame({"species": [f"sp_{k}" for k in range(1, 7)], "size": range(6)}),
    }  # fmt: skip
    for name, table in files.items():
        table.to_csv(folder / f"{name}.csv", index=False)


def prepared(words: list[str]) -> list[str]:
    """A command with small pictures that may replace results, after copies of models under the names of the page."""
    for word in words:
        if word in COPIES and not Path(word).exists():
            target = Path(word.replace("{multiplier}", "1"))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(COPIES[word], target)
    replaces = words[0] not in ("check", "evaluate", "report", "status", "cite", "info") and "--resume" not in words
    return [*small_pictures(words), *(["--overwrite"] if replaces else [])]


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS)
def test_commands_of_a_page_run(page: str, landscape: Path, tmp_path: Path) -> None:
    shutil.copytree(landscape, tmp_path, dirs_exist_ok=True)
    if (tmp_path / page).is_dir():
        shutil.copytree(tmp_path / page, tmp_path, dirs_exist_ok=True)
    lines = [f"sdm {line}" for line in FIRST.get(page, [])]
    lines += [line for line in [*blocks(PAGES[page], "text"), *indented(PAGES[page])] if line.startswith("sdm ")]
    with contextlib.chdir(tmp_path):
        for line in lines:
            if not any(part in line for part in ELSEWHERE):
                for many, few in FEWER.items():
                    line = line.replace(many, few)
                done = sdm(*prepared(shlex.split(re.sub(r" > \S+$", "", line))[1:]))
                assert done.exit_code == 0, f"{line}\n{done.output}"


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_is_read(page: str) -> None:
    """What test_documents.py parses are all lines that begin with the name of the program."""
    path = PAGES[page]
    read = {*blocks(path, "sh"), *blocks(path, "text"), *indented(path), *inline(path)}
    lines = re.findall(rf"^[ >$]*(sdm (?:{'|'.join(COMMANDS)}) .*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert not [line for line in lines if line not in read]
