"""`sdm fit --axes group.npz`: new species on the axes of an earlier run, from layers and from tables."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared_axes.runs import Group, write_records
from terminal import PLAIN, fail, sdm, succeed, write_table

from sdm import load_model
from sdm.kinds.species.inputs import prepare_species
from sdm.kinds.species.methods.shared import place_all
from sdm.options.reading import make_options

HEAD = ["species", "x", "y", "warmth", "slope", "soil"]
SOILS = ("clay soil", "loam", "sand")


@pytest.fixture
def axes(out: Path) -> tuple[Any, ...]:
    return ("--model", "shared", "--axes", out / "group" / "group.npz", "--categorical", "landcover")


@pytest.fixture
def rare(group: Group, tmp_path: Path) -> Path:
    """Three records of a new species."""
    return write_records(tmp_path / "rare.csv", [("Nova rara", *group.body[i][1:]) for i in (0, 5, 9)])


def test_three_records_are_enough(group: Group, out: Path, rare: Path, axes, tmp_path: Path) -> None:
    succeed("fit", rare, group.layers, *axes, "--no-curves", "--dpi", 50, "-o", tmp_path / "new")
    numbers = json.loads((tmp_path / "new" / "Nova_rara.json").read_text())
    assert len(numbers["shared"]["places"]) == load_model(out / "group" / "group.npz").rank
    assert numbers["status"] == "converged"
    assert (tmp_path / "new" / "Nova_rara.html").exists()
    assert not (tmp_path / "new" / "group").exists(), "the axes are not of this run"


def test_several_species_are_placed_and_one_fails_alone(group: Group, rare: Path, axes, tmp_path: Path) -> None:
    rows = [("Nova rara", *group.body[i][1:]) for i in (0, 5, 9)] + [
        ("Nova altera", *row[1:]) for row in group.body[:9]
    ]
    both = write_records(tmp_path / "both.csv", [*rows, group.body[-1]])
    bare = ("--no-curves", "--no-map", *PLAIN)
    result = sdm("fit", both, group.layers, *axes, *bare, "-o", tmp_path / "both")
    assert result.exit_code == 1
    assert "2 of 3 species fitted" in result.output
    succeed("fit", rare, group.layers, *axes, *bare, "-o", tmp_path / "one")
    places = [
        json.loads((tmp_path / where / "Nova_rara.json").read_text())["shared"]["places"]
        for where in ("both/Nova_rara", "one")
    ]
    assert places[0] == places[1], "whoever else is placed"
    changed = sdm(
        "fit", rare, group.layers, *axes, *bare, "-o", tmp_path / "both", "--species", "Nova rara", "--overwrite"
    )
    assert changed.exit_code == 0, "placed species know nothing of each other"


def test_every_species_has_the_variables_of_the_group_where_there_are_more_layers(
    group: Group, out: Path, world, tmp_path: Path
) -> None:
    layers = shutil.copytree(group.layers, tmp_path / "layers")
    shutil.copy(world.layers / "elevation.tif", layers)
    axes = out / "group" / "group.npz"
    names = [f"Nova {word}" for word in ("rara", "altera", "tertia")]
    body = [(name, *row[1:]) for name, first in zip(names, (0, 5, 9)) for row in group.body[first : first + 4]]
    options = {"occurrences": {"file": str(write_records(tmp_path / "three.csv", body))}}
    options |= {"layers": {"files": str(layers), "categorical": "landcover"}, "fit": {"model": "shared"}}
    placed = place_all(prepare_species(make_options(options)), str(axes))
    assert {name: tuple(table.names) for name, table in placed.tables.items()} == dict.fromkeys(
        names, tuple(load_model(axes).names)
    )
    assert all(table.presence.shape[1] == len(table.names) for table in placed.tables.values())


@pytest.mark.parametrize(
    ("more", "said", "code"),
    [
        (("--spatial",), "no spatial features: remove --spatial", 2),
        (("--strength", 2), "--strength was set in the group", 2),
        (("--own", 1), "--own was set in the group", 2),
        (("--features", "h"), "--features was set in the group", 2),
        (("--drop-vif", 5), "need the same variables", 2),
        (("--exclude", "temperature"), "the layers lack variables of the group's axes: temperature", 1),
        (("--axes", "nothing.npz"), "'nothing.npz' (--axes) does not exist", 1),
        (("--model", "maxent"), "add --model shared", 2),
    ],
)
def test_what_cannot_be_is_refused_and_foreseen(
    group: Group, rare: Path, axes, tmp_path: Path, more, said: str, code: int
) -> None:
    assert said in fail("fit", rare, group.layers, *axes, *more, "-o", tmp_path / "no", code=code)
    assert not (tmp_path / "no").exists()
    found = sdm("check", rare, group.layers, *axes, *more)
    assert found.exit_code == 1
    assert said in found.output


def test_files_of_another_kind_are_refused(group: Group, out: Path, rare: Path, tmp_path: Path) -> None:
    one = out / "Planta_numerus000" / "Planta_numerus000.npz"
    words = ("fit", rare, group.layers, "--model", "shared", "-o", tmp_path / "no", "--axes")
    assert "expected the group.npz of a run with --model shared" in fail(*words, one, code=2)
    assert "is not a readable model file" in fail(*words, group.records)


def samples(species: int, soils: tuple[str, ...] = SOILS, seed: int = 1) -> list[tuple[Any, ...]]:
    """Rows of species that like warm or cold places on some soils, and of a background."""
    rng = np.random.default_rng(seed)

    def row(name: str) -> tuple[Any, ...]:
        number = [round(float(value), 3) for value in (*rng.uniform(0, 5, 2), *rng.normal(size=2))]
        return (name, *number, soils[rng.integers(len(soils))])

    likes = {f"Species {k}": (1 if k % 2 else -1, SOILS[k % 3]) for k in range(species)}
    body = [row("background") for _ in range(200)]
    for name, (sign, soil) in likes.items():
        drawn = [row(name) for _ in range(80)]
        body += [one for one in drawn if sign * one[3] > 0.2 and (one[5] == soil or one[4] > 0.5)]
    return body


def fit_samples(body: list[tuple[Any, ...]], place: Path, *more: Any, head: list[str] = HEAD) -> Path:
    own = () if "--axes" in more else ("--features", "lq", "--strength", 1)
    records = write_table(place.with_suffix(".csv"), head, body)
    model = () if "--model" in more else ("--model", "shared")
    bare = ("--categorical", "soil", *PLAIN, "--no-curves", "-o", place)
    succeed("fit", records, *model, *own, *bare, *more)
    return place


def numbers_of(folder: Path, name: str) -> dict[str, Any]:
    return dict(json.loads((folder / f"{name}.json").read_text()))


def test_classes_as_text_have_one_code_in_all_tables_of_a_group(tmp_path: Path) -> None:
    """A class that only one species was found on comes first in its table, and shifts the codes of the others."""
    body = samples(3)
    k = next(i for i, row in enumerate(body) if row[0] == "Species 1")
    body[k] = (*body[k][:5], "alluvium")
    here = load_model(fit_samples(body, tmp_path / "text") / "group" / "group.npz")
    assert here.encoder.labels["soil"] == ("alluvium", *SOILS)
    codes = {word: number for number, word in enumerate(("alluvium", *SOILS))}
    coded = load_model(
        fit_samples([(*row[:5], codes[row[5]]) for row in body], tmp_path / "code") / "group" / "group.npz"
    )
    np.testing.assert_allclose(here.axes @ here.places, coded.axes @ coded.places, atol=1e-8)
    for s in range(3):
        text, code = (numbers_of(tmp_path / way / f"Species_{s}", f"Species_{s}") for way in ("text", "code"))
        assert text["log_loss_train"] == pytest.approx(code["log_loss_train"], abs=1e-9)
    table = write_table(tmp_path / "points.csv", HEAD[3:], [row[3:] for row in body[:30]])
    succeed("predict", tmp_path / "text" / "group" / "group.npz", table, "-o", tmp_path / "predicted.csv")


@pytest.mark.parametrize("model", ["shared", "ensemble"])
def test_a_new_species_has_the_columns_and_codes_of_the_group_whatever_its_table(tmp_path: Path, model: str) -> None:
    group = fit_samples(samples(4), tmp_path / "group_run") / "group" / "group.npz"
    body = [row for row in samples(2, seed=2) if row[0] in ("background", "Species 1")]
    words = ("--model", model, "--axes", group)
    plain = numbers_of(fit_samples(body, tmp_path / "plain", *words), "Species_1")
    turned = [(a, x, y, soil, slope, warmth, 1.5 * x) for a, x, y, warmth, slope, soil in body]
    other = ["species", "x", "y", "soil", "slope", "warmth", "extra"]
    mixed = numbers_of(fit_samples(turned, tmp_path / "mixed", *words, head=other), "Species_1")
    assert mixed["shared"]["places"] == pytest.approx(plain["shared"]["places"])
    for key in ("log_loss_train", "auc_train", "entropy"):
        assert mixed[key] == pytest.approx(plain[key]), key
    new = [(*row[:5], "alluvium") if i == 3 else row for i, row in enumerate(body)]
    shifted = numbers_of(fit_samples(new, tmp_path / "new", *words), "Species_1")
    assert shifted["log_loss_train"] == pytest.approx(plain["log_loss_train"], abs=0.05), "one site is on another soil"
    assert load_model(tmp_path / "new" / "Species_1.npz").encoder.labels["soil"] == (*SOILS, "alluvium")
    if model == "shared":
        numbers = [(*row[:5], SOILS.index(row[5])) for row in body]
        table = write_table(tmp_path / "numbers.csv", HEAD, numbers)
        said = fail("fit", table, *words, "--categorical", "soil", "-o", tmp_path / "no")
        assert "the classes of 'soil' are numbers here and text in the group" in said
