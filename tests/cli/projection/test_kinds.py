"""`sdm project` for every kind of model: its maps are those of `sdm predict`, cell by cell."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from projection.futures import Futures, Models, numbers, project
from terminal import as_json, fail, files, read, rows, succeed

from sdm import load_model
from sdm.models.file import save_model

HOT = "MIROC6_ssp585_2070"
ALL = {
    "mess": ("mess", "mod"),
    "exdet": ("exdet", "exdet_variable"),
    "mop": ("mop", "mop_strict"),
    "clamping": ("clamping",),
    "limiting": ("limiting",),
}


def same(one: Path, other: Path, band: int = 1) -> None:
    """Both rasters have the same values, and none at the same cells."""
    first, second = read(one), read(other, band)
    np.testing.assert_array_equal(np.ma.getmaskarray(first), np.ma.getmaskarray(second), err_msg=one.name)
    np.testing.assert_array_equal(first.compressed(), second.compressed().astype(first.dtype), err_msg=one.name)
    assert first.count() > 0


def both(model: Path, futures: Futures, folder: Path, *words: Any, novelty: str = "none") -> tuple[Path, Path]:
    """Project to a scenario, and predict on its layers with the same words."""
    out = folder / "out"
    succeed(*project(model, "--scenarios", futures.folder / HOT, "-o", out, "--novelty", novelty, *words))
    beside = () if novelty == "none" else ("--novelty", novelty)
    words = tuple("--threshold" if word == "--thresholds" else word for word in words)
    succeed("predict", model, futures.folder / HOT, "-o", folder / "map.tif", *beside, *words)
    return out / HOT, folder / "map.tif"


@pytest.mark.parametrize(
    ("extrapolation", "scale"),
    [("clamp", "cloglog"), ("free", "logistic"), ("none", "raw"), ("fade", "cumulative"), ("lower", "cloglog")],
)
def test_a_species(extrapolation: str, scale: str, models: Models, futures: Futures, tmp_path: Path) -> None:
    words = ("--extrapolation", extrapolation, "--scale", scale)
    found, expected = both(models.species, futures, tmp_path, *words, novelty=",".join(ALL))
    same(found / f"{models.species.stem}.tif", expected)
    for name in (name for measure in ALL.values() for name in measure):
        same(found / f"{name}.tif", tmp_path / f"map_{name}.tif")
    (tmp_path / "cut").mkdir()
    found, expected = both(models.species, futures, tmp_path / "cut", *words, "--thresholds", "10p")
    same(found / f"{models.species.stem}_10p.tif", expected)


@pytest.mark.thorough
def test_presence_and_absence(models: Models, futures: Futures, tmp_path: Path) -> None:
    for word in ("clamp", "free", "none"):
        (tmp_path / word).mkdir()
        words = ("--extrapolation", word)
        found, expected = both(models.presence, futures, tmp_path / word, *words, novelty=",".join(ALL))
        which = list(load_model(models.presence).bands).index("1") + 1
        same(found / "owl.tif", expected, which)
        for name in (name for measure in ALL.values() for name in measure):
            same(found / f"{name}.tif", tmp_path / word / f"map_{name}.tif")
    (tmp_path / "cut").mkdir()
    found, expected = both(models.presence, futures, tmp_path / "cut", "--thresholds", "maxsss")
    same(found / "owl_maxsss.tif", expected)


def test_three_classes(models: Models, futures: Futures, tmp_path: Path) -> None:
    for word in ("clamp", "free", "none"):
        (tmp_path / word).mkdir()
        words = ("--extrapolation", word)
        found, expected = both(models.habitat, futures, tmp_path / word, *words, novelty="mess,clamping")
        for band, name in enumerate(("bare", "forest", "meadow"), start=1):
            same(found / f"{name}.tif", expected, band)
            best = read(tmp_path / word / "map_class.tif")
            there = read(found / f"{name}_most_probable.tif")
            np.testing.assert_array_equal(there.filled(9), np.where(best.mask, 9, best.data == band))
        for name in ("mess", "mod", "clamping"):
            same(found / f"{name}.tif", tmp_path / word / f"map_{name}.tif")
        same(found / "class.tif", tmp_path / word / "map_class.tif")
    assert "limiting needs one output" in fail(
        *project(models.habitat, "--scenarios", futures.folder / HOT, "-o", tmp_path / "no", "--novelty", "limiting"),
        code=2,
    )
    assert "does not apply" in fail(
        *project(models.habitat, "--scenarios", futures.folder / HOT, "-o", tmp_path / "no", "--thresholds", "10p"),
        code=2,
    )
    assert "--extrapolation fade does not apply to a class model" in fail(
        *project(models.habitat, "--scenarios", futures.folder / HOT, "-o", tmp_path / "no", "--extrapolation", "fade"),
        code=2,
    )
    assert not (tmp_path / "no").exists()


@pytest.mark.thorough
def test_a_joint_model(models: Models, futures: Futures, tmp_path: Path) -> None:
    for word in ("clamp", "free", "none"):
        (tmp_path / word).mkdir()
        out, hot = tmp_path / word / "out", futures.folder / HOT
        words = ("--extrapolation", word, "--novelty", "mess,clamping")
        succeed(*project(models.joint, "--scenarios", hot, "-o", out, *words))
        succeed("predict", models.joint, hot, "-o", tmp_path / word / "maps", *words)
        inner = tmp_path / word / "maps"
        for name in ("fox", "hen", "owl"):
            same(out / HOT / f"{name}.tif", inner / "maps" / f"{name}.tif")
            same(out / HOT / f"{name}_labeled.tif", inner / "maps" / f"{name}_present.tif")
        for name in ("richness", "labeled_richness", "mess", "mod", "clamping"):
            same(out / HOT / f"{name}.tif", inner / f"{name}.tif")
        assert numbers(out, "owl")["rule"] == "labeled"


@pytest.mark.thorough
def test_models_of_different_variables_in_one_pass(world, models: Models, futures: Futures, tmp_path: Path) -> None:
    """Each has the map that it has alone, and measures of novelty of its own environment."""
    few = ("--fc", "lq", "--no-curves", "--no-map", "--no-report")
    layers = [world.layers / "temperature.tif", world.layers / "slope.tif"]
    succeed("fit", world.records, *layers, *few, "-o", tmp_path / "small")
    small = tmp_path / "small" / models.species.name
    (tmp_path / "runs").mkdir()
    for name, model in (("small", small), ("whole", models.species)):
        (tmp_path / "runs" / f"{name}.npz").write_bytes(model.read_bytes())
    pattern = tmp_path / "runs" / "{variables}.npz"
    words = ("--scenarios", futures.folder / HOT, "--reference", world.layers, "-o", tmp_path / "out")
    succeed(*project(pattern, models.habitat, *words))
    stem, folder = models.species.stem, tmp_path / "out" / HOT
    for name in ("small", "whole"):
        model = tmp_path / "runs" / f"{name}.npz"
        succeed("predict", model, futures.folder / HOT, "-o", tmp_path / f"{name}.tif", "--novelty", "mess")
        same(folder / f"{stem}_{name}.tif", tmp_path / f"{name}.tif")
        same(folder / f"{stem}_{name}_mess.tif", tmp_path / f"{name}_mess.tif")
    found = numbers(tmp_path / "out", stem)
    assert [case["fields"] for case in found["scenarios"]] == [{"variables": "small"}, {"variables": "whole"}]
    assert set(found["scenarios"][0]["variables"]) == {"temperature", "slope"}
    assert found["across"][0]["cases"] == 2, "several models of one species are averaged over"
    assert numbers(tmp_path / "out", "forest")["scenarios"][0]["fields"] == {}


@pytest.mark.thorough
def test_a_folder_of_a_batch(world, models: Models, futures: Futures, tmp_path: Path) -> None:
    words = ("--scenarios", futures.folder / HOT, "--reference", world.layers)
    answer = as_json(*project(models.batch, *words, "-o", tmp_path / "out"))
    stems = [models.species.stem, models.other.stem]
    assert [model["name"].replace(" ", "_") for model in answer["models"]] == stems
    for model in (models.species, models.other):
        succeed("predict", model, futures.folder / HOT, "-o", tmp_path / f"{model.stem}.tif")
        same(tmp_path / "out" / HOT / f"{model.stem}.tif", tmp_path / f"{model.stem}.tif")
        succeed(*project(model, *words, "-o", tmp_path / f"alone {model.stem}"))
        alone, among = numbers(tmp_path / f"alone {model.stem}", model.stem), numbers(tmp_path / "out", model.stem)
        for one in (*alone["scenarios"], *among["scenarios"], alone["reference"], among["reference"]):
            one.pop("files")
        assert alone["scenarios"] == among["scenarios"]
        assert alone["reference"] == among["reference"]
    table = rows(tmp_path / "out" / "scenarios.csv")
    assert {row["species"] for row in table} == {model["name"] for model in answer["models"]}
    assert list(table[0]) == ["species", "scenario", "measure", "of", "value", "unit"]


def test_models_of_one_environment_share_maps_of_novelty(models: Models, futures: Futures, tmp_path: Path) -> None:
    """One map of MESS for all, which is that of each; what depends on predictions is apart."""
    words = ("--scenarios", futures.folder / HOT, "-o", tmp_path / "out", "--novelty", "mess,clamping")
    succeed(*project(models.pattern, *words))
    stem = models.species.stem
    made = [f"{stem}_{m}{end}.tif" for m in (1, 4) for end in ("", "_clamping", "_maxsss")]
    assert [name for name in files(tmp_path / "out" / HOT) if not name.endswith((".qml", ".sld"))] == sorted(
        [*made, "mess.tif", "mod.tif", "scenario.json"]
    )
    for multiplier in (1, 4):
        model = next((models.folder / "runs" / str(multiplier)).glob("*.npz"))
        words = ("--novelty", "mess,clamping", "--overwrite")
        succeed("predict", model, futures.folder / HOT, "-o", tmp_path / "map.tif", *words)
        same(tmp_path / "out" / HOT / f"{stem}_{multiplier}.tif", tmp_path / "map.tif")
        same(tmp_path / "out" / HOT / "mess.tif", tmp_path / "map_mess.tif")
        same(tmp_path / "out" / HOT / f"{stem}_{multiplier}_clamping.tif", tmp_path / "map_clamping.tif")


def test_two_models_of_one_name_are_told_apart(models: Models, futures: Futures, tmp_path: Path) -> None:
    words = ("--scenarios", futures.folder / HOT, "-o", tmp_path / "out")
    said = fail(*project(models.presence, models.joint, *words), code=2)
    assert "two models are of 'owl'" in said
    assert not (tmp_path / "out").exists()


def test_two_models_of_one_title_are_refused(models: Models, futures: Futures, tmp_path: Path) -> None:
    """Whose classes differ, and whose maps of novelty would be one file."""
    model = load_model(models.habitat)
    save_model(replace(model, classes=("p", "q", "r")), tmp_path / "other.npz")
    words = ("--scenarios", futures.folder / HOT, "-o", tmp_path / "out")
    assert "two models are of 'habitat'" in fail(*project(models.habitat, tmp_path / "other.npz", *words), code=2)
    (tmp_path / "runs").mkdir()
    for name, path in (("a", models.habitat), ("b", tmp_path / "other.npz")):
        (tmp_path / "runs" / f"{name}.npz").write_bytes(path.read_bytes())
    succeed(*project(tmp_path / "runs" / "{place}.npz", *words))
    assert {"bare_a.tif", "p_b.tif", "habitat_a_class.tif", "habitat_b_class.tif"} <= set(files(tmp_path / "out" / HOT))
