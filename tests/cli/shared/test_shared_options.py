"""Options of runs over species on shared axes, odd names, and what such runs cannot do."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared_axes.runs import HEAD, Group, write_records
from terminal import PLAIN, fail, read, sdm, succeed, write_table

from sdm import load_model

NAME = "Planta_numerus000"


@pytest.fixture(scope="module")
def three(group: Group, tmp_path_factory: pytest.TempPathFactory) -> Group:
    """Three species, all of which can be fitted."""
    return replace(group, records=write_records(tmp_path_factory.mktemp("three") / "records.csv", group.body[:63]))


@pytest.fixture(scope="module")
def plain(three: Group, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their run without other options."""
    place = tmp_path_factory.mktemp("plain") / "out"
    succeed(*three.bare(place))
    return place


def numbers_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / NAME / f"{NAME}.json").read_text()))


def axes_of(folder: Path) -> Any:
    return load_model(folder / "group" / "group.npz")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "holds"),
    [
        (
            ("--own", 1, "--test-percent", 20),
            lambda new, old, numbers: (
                np.any(new.own)
                and not np.any(old.own)
                and numbers["shared"]["own"] > 0
                and numbers["test_presences"] == 4
                and sum(new.records) < sum(old.records)
            ),
        ),
        (
            ("--strength", 4, "--study-area", "buffer", "--buffer", 50),
            lambda new, old, _: new.penalty == pytest.approx(4 * old.penalty) and new.rank <= old.rank,
        ),
        (("--strength", 1000), lambda new, old, numbers: new.rank == 0 and numbers["auc_train"] == 0.5),
        (
            ("--strength", "auto", "--features", "lqh,relu:20"),
            lambda new, old, _: len(new.meta["path"]) > 1 and new.meta["classes"] == "lqh,relu:20",
        ),
        (("--spatial",), lambda new, old, _: new.names[-2:] == ("place_x", "place_y")),
        (("--background", "target-group"), lambda new, old, numbers: new.n_domain > numbers["background_points"]),
        (
            ("--background", "target-group", "--random-share", 0),
            lambda new, old, numbers: new.n_domain <= numbers["background_points"],
        ),
    ],
    ids=lambda words: "-".join(map(str, words)).strip("-") if isinstance(words, tuple) else "",
)
def test_options_change_the_axes_as_they_say(
    three: Group, plain: Path, tmp_path: Path, words: tuple[Any, ...], holds: Callable[..., bool]
) -> None:
    succeed(*three.bare(tmp_path / "out", *words))
    assert holds(axes_of(tmp_path / "out"), axes_of(plain), numbers_of(tmp_path / "out"))


def test_a_record_of_weight_two_counts_as_two(three: Group, plain: Path, tmp_path: Path) -> None:
    body = [(*row, 2 if k % 3 else 1) for k, row in enumerate(three.body)]
    weighted = replace(three, records=write_table(tmp_path / "weighted.csv", [*HEAD, "count"], body))
    succeed(*weighted.bare(tmp_path / "weighted", "--record-weights", "count"))
    twice = [row[:3] for row in body for _ in range(row[3])]
    copied = replace(three, records=write_records(tmp_path / "copied.csv", twice))
    succeed(*copied.bare(tmp_path / "copied", "--keep-duplicates"))
    one, two, old = (axes_of(folder) for folder in (tmp_path / "weighted", tmp_path / "copied", plain))
    np.testing.assert_allclose(one.axes @ one.places, two.axes @ two.places, atol=0.02)
    assert not np.allclose(one.axes @ one.places, old.axes @ old.places, atol=0.02)


@pytest.mark.thorough
def test_uncertainty_scenarios_and_richness(three: Group, world, tmp_path: Path) -> None:
    out, warmer = tmp_path / "out", world.folder / "warmer"
    more = (
        "--no-curves",
        *PLAIN,
        "--no-map-picture",
        "--folds",
        2,
        "--uncertainty",
        "--scenarios",
        warmer,
        "--stack",
        "sum",
    )
    succeed(*three.words(out, *more))
    maps = [read(out / f"Planta_numerus{k:03d}" / f"Planta_numerus{k:03d}.tif") for k in range(3)]
    np.testing.assert_allclose(read(out / "richness_sum.tif").compressed(), sum(maps).compressed(), atol=1e-5)
    assert (out / "scenarios" / "warmer" / f"{NAME}.tif").exists()
    assert not (out / "scenarios" / "warmer" / "group.tif").exists()
    assert list((out / NAME).glob("*_sd.tif")) or list((out / NAME).glob("*stddev*.tif"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--jackknife",), "shared axes need a group"),
        (("--folds", 3, "--null-models", 5), "shared axes need a group"),
        (("--drop-correlated", 0.7), "need the same variables"),
        (("--drop-vif", 5), "need the same variables"),
        (("--reduce",), "need the same variables"),
        (("--reduce-to", 3), "need the same variables"),
        (("--multiplier", 2), "does not apply to a shared model"),
        (("--strength", 0), "expected 'auto' or a number above 0"),
        (("--own", -1), "expected a number above 0"),
        (("--random-share", 1), "expected a number below 1"),
        (("--random-share", 0.2), "needs --model shared and --background target-group"),
        (("--features", "relu:0"), "needs a number from 1 to 10,000"),
    ],
)
def test_what_does_not_go_with_axes_is_refused_before_any_work(three: Group, tmp_path: Path, words, said: str) -> None:
    assert said in fail(*three.bare(tmp_path / "no", *words), code=2)
    assert not (tmp_path / "no").exists()


def test_species_that_share_axes_are_not_tuned_one_by_one(three: Group, tmp_path: Path) -> None:
    for words in (("--model", "shared"), ("--preset", "best")):
        said = fail("tune", three.records, three.layers, *words, "-o", tmp_path / "no", code=2)
        assert "is not tuned per species" in said


def test_one_species_is_told_what_to_do_also_by_check(world, tmp_path: Path) -> None:
    words = (world.records, world.layers, "--model", "shared", "--categorical", "landcover")
    said = fail("fit", *words, "-o", tmp_path / "no", code=2)
    assert "shared axes need two species" in said
    assert "--axes group.npz" in said
    found = sdm("check", *words)
    assert found.exit_code == 1
    assert "shared axes need two species" in found.output
    assert "0 problems" in succeed("check", world.both, *words[1:]).output


def test_names_of_species_lead_nowhere(group: Group, tmp_path: Path) -> None:
    odd = ["../../evil", "<script>alert(1)</script>", "group", "Group", "scenarios"]
    known = list(dict.fromkeys(row[0] for row in group.body[:-1]))
    body = [(odd[known.index(row[0])], *row[1:]) for row in group.body[:-1]]
    place = Group(write_records(tmp_path / "odd.csv", body), group.layers)
    succeed(*place.words(tmp_path / "deep" / "er" / "out", "--no-curves", "--no-map", "--no-importance", "--dpi", 50))
    out = tmp_path / "deep" / "er" / "out"
    assert list(axes_of(out).species) == odd
    folders = {path.parent.name for path in out.glob("*/*.npz")} - {"group"}
    assert len({name.casefold() for name in folders} | {"group", "scenarios"}) == 7, "seven folders on any disk"
    assert {path.name for path in tmp_path.iterdir()} == {"odd.csv", "deep"}
    for page in [out / "index.html", *out.glob("*/*.html")]:
        assert "<script>alert" not in page.read_text(), page
    succeed("report", out)
