"""`sdm joint --traits`: the table of the fourth corner, its picture and page, and tables that cannot be used."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from terminal import fail, picture, rows, sdm, succeed

OWN = ("--environment", "heat,rain", "--cost", "0.1", "--features", "l", "--graph", "none")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with eight species, of which the large ones like heat."""
    home = tmp_path_factory.mktemp("traits")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(150, 2))
    size = np.linspace(-1, 1, 8)
    labels = (2 * np.outer(x[:, 0], size) + rng.logistic(size=(150, 8)) > 0).astype(int)
    names = [f"sp {k}" for k in range(8)]
    frame = pd.DataFrame(labels, columns=names).assign(heat=x[:, 0], rain=x[:, 1])
    frame.to_csv(home / "sites.csv", index=False)
    table = pd.DataFrame({"name": names, "size": size, "diet": ["seed", "meat"] * 4})
    table.to_csv(home / "traits.csv", index=False)
    words = ("joint", home / "sites.csv", *OWN, "--traits", home / "traits.csv", "--folds", 2)
    succeed(*words, "--dpi", 50, "-o", home / "out")
    return home


def test_the_trait_that_matters_is_in_table_picture_and_page(run: Path) -> None:
    found = rows(run / "out" / "fourth_corner.csv")
    assert [(row["trait"], row["feature"]) for row in found[:1]] == [("size", "heat")]
    assert {row["trait"] for row in found} == {"size", "diet=seed"}
    assert len(found) == 4
    assert float(found[0]["low"]) > 0.5
    assert picture(run / "out" / "fourth_corner.png").std() > 0
    page = (run / "out" / "joint.html").read_text()
    assert "The 95 % interval excludes zero for 1 of 4 products" in page
    assert "size with heat" in succeed("info", run / "out" / "joint.npz").output


def test_the_run_file_finds_the_table_again(run: Path) -> None:
    again = run / "again"
    succeed("joint", run / "out" / "run.yaml", "-o", again, "--no-report")
    assert (again / "fourth_corner.csv").read_bytes() == (run / "out" / "fourth_corner.csv").read_bytes()


def test_tables_that_cannot_be_used_are_refused(run: Path) -> None:
    sites = run / "sites.csv"
    (run / "one.csv").write_text("species\nsp 0\n")
    (run / "other.csv").write_text("species,size\noak,1\nelm,2\n")
    said = {
        "nowhere.csv": ("does not exist", 2),
        "one.csv": ("has one column", 1),
        "other.csv": ("0 of the 8 species", 1),
    }
    for name, (words, code) in said.items():
        assert words in fail("joint", sites, *OWN, "--traits", run / name, "-o", run / "no", code=code)
    assert "0 of the 8 species" in sdm("check", sites, *OWN, "--traits", run / "other.csv").output
