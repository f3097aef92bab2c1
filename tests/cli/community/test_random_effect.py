"""`sdm joint --random-effect`: tables, page, and predictions with and without the column."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from community import SPECIES, draw_community
from terminal import fail, picture, rows, succeed

OWN = ("--environment", "heat,rain", "--species", ",".join(SPECIES), "--cost", "1", "--features", "l")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on eight reserves, of which one has almost all the owls."""
    home = tmp_path_factory.mktemp("reserves")
    rng = np.random.default_rng(1)
    frame = draw_community()
    frame["reserve"] = rng.choice(list("ABCDEFGH"), len(frame))
    frame.loc[(frame["reserve"] == "A"), "owl"] = 1
    frame.loc[(frame["reserve"] == "B"), "owl"] = 0
    frame.to_csv(home / "sites.csv", index=False)
    succeed(
        "joint", home / "sites.csv", *OWN, "--random-effect", "reserve", "--folds", 2, "--dpi", 50, "-o", home / "out"
    )
    return home


def test_every_species_and_level_has_an_effect(run: Path) -> None:
    found = {(row["species"], row["level"]): row for row in rows(run / "out" / "random_effects.csv")}
    assert len(found) == 4 * 8
    assert float(found["owl", "A"]["low"]) > 0 > float(found["owl", "B"]["high"])
    assert int(found["owl", "A"]["sites"]) == int(found["owl", "A"]["presences"]) > 5
    spread = rows(run / "out" / "random_spread.csv")
    assert (spread[0]["species"], spread[0]["highest"], spread[0]["lowest"]) == ("owl", "A", "B")
    assert {float(row["random spread"]) for row in rows(run / "out" / "tuning.csv")} >= {0.1, 0.2, 0.4}
    share = pd.read_csv(run / "out" / "variance.csv").set_index("species")
    assert share.loc["owl", "reserve"] > share.loc["hen", "reserve"]
    np.testing.assert_allclose(share[["heat", "rain", "reserve", "associations"]].sum(axis=1), 1)
    assert picture(run / "out" / "random_effects.png").std() > 0
    page = (run / "out" / "joint.html").read_text()
    assert "Each of the 8 levels of <i>reserve</i>" in page
    assert "random       reserve: 8 levels" in succeed("info", run / "out" / "joint.npz").output
    tested = json.loads((run / "out" / "joint.json").read_text())["test"]["mean"]
    assert tested["stacked"]["species"]["owl"] > tested["glm"]["species"]["owl"], "a GLM knows no reserves"


def test_a_table_with_the_column_uses_it_and_others_have_the_mean(run: Path) -> None:
    frame = pd.read_csv(run / "sites.csv")
    frame.drop(columns="reserve").to_csv(run / "bare.csv", index=False)
    frame.assign(reserve="Z").to_csv(run / "new.csv", index=False)
    model, owl = run / "out" / "joint.npz", {}
    for name in ("sites", "bare", "new"):
        said = succeed("predict", model, run / f"{name}.csv", "-o", run / f"{name}_out.csv").stderr
        owl[name] = pd.read_csv(run / f"{name}_out.csv")["probability owl"]
        assert {"sites": "used at 160 of 160", "bare": "no column 'reserve'", "new": "used at 0 of 160"}[name] in said
    np.testing.assert_array_equal(owl["bare"], owl["new"])
    assert (owl["sites"] - owl["bare"])[frame["reserve"] == "A"].min() > 0
    better = [
        json.loads(succeed("evaluate", model, "--sites", run / f"{name}.csv", "--json").stdout)["models"][0]["numbers"][
            "log loss"
        ]
        for name in ("sites", "bare")
    ]
    assert better[0] < better[1]


def test_what_does_not_go_together_is_refused(run: Path) -> None:
    sites = run / "sites.csv"
    assert "crf-l2" in fail(
        "joint", sites, *OWN, "--random-effect", "reserve", "--learner", "m3n", "-o", run / "no", code=2
    )
    assert "--random-effect" in fail("joint", sites, *OWN, "--random-spread", "1", "-o", run / "no", code=2)
    assert "park" in fail("joint", sites, *OWN, "--random-effect", "park", "-o", run / "no", code=2)
    assert "also a variable of the environment" in fail(
        "joint", sites, *OWN[2:], "--environment", "heat,rain", "--random-effect", "heat", "-o", run / "no", code=2
    )
