"""The layers of another time have other names: the variables of a model are found there, or the run stops."""

import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
from climate import chelsa, netcdf, worldclim, worldclim_future
from terminal import as_json, fail, model_answer, read, scenario_file, sdm, succeed

PLAIN = ("--fc", "lq", "--no-curves", "--no-report", "--no-importance", "--dpi", 50)


@pytest.fixture(scope="module")
def variables(world) -> dict[str, dict[int, Path]]:
    """Three continuous layers of the world as bioclimatic variables 1, 10 and 12, at present and when it is warmer."""
    names = sorted((path.stem for path in world.layers.glob("*.tif") if path.stem != "landcover"), reverse=True)[:3]
    places = {"present": world.layers, "future": world.folder / "warmer"}
    return {when: {n: folder / f"{name}.tif" for n, name in zip((1, 10, 12), names)} for when, folder in places.items()}


@pytest.fixture(scope="module")
def plain(world, variables, tmp_path_factory) -> Path:
    """A fit on WorldClim's present, with a projection to layers of the very same names."""
    folder = tmp_path_factory.mktemp("plain")
    present = worldclim(folder / "present", variables["present"])
    future = worldclim(folder / "future", variables["future"])
    succeed("fit", world.records, present, *PLAIN, "--projections", f"then={future}", "-o", folder / "out")
    return folder


def scenario_map(folder: Path, title: str) -> np.ndarray:
    return read(scenario_file(folder, title))


def names_of(model: Path) -> list[str]:
    return sorted(one["name"] for one in as_json("info", model)["models"][0]["numbers"]["variables"])


@pytest.mark.thorough
def test_the_futures_of_worldclim_and_chelsa_are_found(world, variables, plain, tmp_path: Path) -> None:
    expected = scenario_map(plain / "out", "then")
    described = worldclim_future(tmp_path / "a", variables["future"])
    bare = worldclim_future(tmp_path / "b", variables["future"], described=False)
    words = ("--projections", f"described={described}", "--projections", f"bare={bare}")
    answer = model_answer("fit", world.records, plain / "present", *PLAIN, *words, "-o", tmp_path / "wc")
    for title, name in (("described", "bio10"), ("bare", f"{bare.stem}_10")):
        np.testing.assert_array_equal(scenario_map(tmp_path / "wc", title), expected)
        (said,) = [text for text in answer["notices"] if text.startswith(f"scenario {title}: 3 layers are")]
        assert f"{name} as wc2.1_10m_bio_10" in said
    present = chelsa(tmp_path / "now", variables["present"])
    future = chelsa(tmp_path / "later", variables["future"], "2041-2070_gfdl-esm4_ssp126")
    model_answer("fit", world.records, present, *PLAIN, "--projections", f"later={future}", "-o", tmp_path / "ch")
    np.testing.assert_array_equal(scenario_map(tmp_path / "ch", "later"), expected)


@pytest.mark.thorough
def test_rename_in_the_terminal_yaml_and_all_commands(world, variables, plain, tmp_path: Path) -> None:
    rule = "wc2.1_10m_bio_{n}=bio{n}"
    words = ("--rename", rule, "--projections", f"then={plain / 'future'}", "-o", tmp_path / "out")
    answer = model_answer("fit", world.records, plain / "present", *PLAIN, *words)
    assert any(text.startswith("3 layers are renamed by --rename") for text in answer["notices"])
    np.testing.assert_array_equal(scenario_map(tmp_path / "out", "then"), scenario_map(plain / "out", "then"))
    (model,) = (tmp_path / "out").glob("*.npz")
    assert names_of(model) == ["bio1", "bio10", "bio12"]
    # a run file has the rule, and repeats it
    succeed("fit", tmp_path / "out" / "run.yaml", "-o", tmp_path / "again")
    assert next((tmp_path / "again").glob("*.npz")).read_bytes() == model.read_bytes()
    # without the rule the names are found all the same; a model of other names needs one
    for more in ((), ("--rename", rule)):
        succeed("predict", model, plain / "future", *more, "-o", tmp_path / "map.tif", "--overwrite")
        np.testing.assert_array_equal(read(tmp_path / "map.tif"), scenario_map(plain / "out", "then"))
    other = tmp_path / "other"
    other.mkdir()
    for n, path in variables["future"].items():
        (other / f"fut-{n}-x.tif").write_bytes(path.read_bytes())
    assert "--rename 'fut-{name}-x=bio{name}'" in fail("predict", model, other, "-o", tmp_path / "no.tif")
    succeed("predict", model, other, "--rename", "fut-{n}-x=bio{n}", "-o", tmp_path / "map.tif", "--overwrite")
    np.testing.assert_array_equal(read(tmp_path / "map.tif"), scenario_map(plain / "out", "then"))
    measured = [
        model_answer("evaluate", model, "--presences", world.survey, "--layers", layers, *more)["auc"]
        for layers, more in ((plain / "future", ()), (other, ("--rename", "fut-{n}-x=bio{n}")))
    ]
    assert measured[0] == measured[1]
    assert "fields of the pattern" in fail("predict", model, other, "--rename", "a{n}=b{m}", "-o", "x.tif", code=2)


def test_categorical_layers_and_the_one_to_align_to_may_be_spelt_otherwise(world, fit, tmp_path: Path) -> None:
    words = ("fit", world.records, world.layers, *PLAIN)
    then = ("--projections", f"then={world.folder / 'warmer'}", "--align", "ELEVATION")
    for name, out in (("landcover", "a"), ("Land_Cover", "b")):
        answer = model_answer(*words, *then, "--categorical", name, "-o", tmp_path / out)
        assert any("landcover as Land_Cover" in text for text in answer["notices"]) == (out == "b")
    for path in (tmp_path / "a").glob("*.tif"):
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    assert (tmp_path / "a" / f"{fit.name}.npz").read_bytes() == (tmp_path / "b" / f"{fit.name}.npz").read_bytes()


def test_ambiguous_names_stop_every_command(world, plain, variables, tmp_path: Path) -> None:
    (model,) = (plain / "out").glob("*.npz")
    layers = tmp_path / "layers"
    layers.mkdir()
    for name, n in (("BIO1", 1), ("bio_01", 1), ("bio10", 10), ("bio12", 12)):
        (layers / f"{name}.tif").write_bytes(variables["future"][n].read_bytes())
    said = fail("predict", model, layers, "-o", tmp_path / "map.tif")
    assert "'wc2.1_10m_bio_1' does not exist, and several may be meant ('BIO1' or 'bio_01')" in said
    words = ("check", world.records, plain / "present", "--projections", f"then={layers}")
    (layers / "bio10.tif").rename(layers / "Bio_010.tif")
    assert "may be meant ('BIO1' or 'bio_01')" in " ".join(as_json_problems(*words))
    (layers / "BIO1.tif").unlink()
    told = [text for text in as_json(*words)["warnings"] if "matched although" in text]
    assert "Bio_010 as wc2.1_10m_bio_10" in told[0], as_json(*words)["warnings"]


def as_json_problems(*words) -> list[str]:
    result = sdm(*words, "--json")
    assert result.exit_code == 1
    return [*json.loads(result.stdout)["problems"]]


def months(world, variable: str, folder: Path) -> np.ndarray:
    """Twelve months made of a layer, warmer in summer."""
    with rasterio.open(folder / f"{variable}.tif") as data:
        values = data.read(1, masked=True).astype("float32").filled(np.nan)
    return values + np.arange(12, dtype="float32")[:, None, None] % 7


def test_present_and_future_netcdf_match(world, tmp_path: Path) -> None:
    with rasterio.open(world.layers / "elevation.tif") as data:
        left, bottom, cell = data.bounds.left, data.bounds.bottom, data.res[0]
    place = {"x0": left, "y0": bottom, "cell": cell}
    now = months(world, "elevation", world.layers)
    kept = {"present": (now, 53_000), "future": (now + 2, 75_000)}
    for name, (values, start) in kept.items():
        netcdf(tmp_path / f"{name}.nc", {"tas": values}, times=[start + 30.4 * k for k in range(12)], **place)
    words = ("--projections", tmp_path / "future.nc", "-o", tmp_path / "out")
    answer = model_answer("fit", world.records, tmp_path / "present.nc", *PLAIN, *words)
    known = names_of(next((tmp_path / "out").glob("*.npz")))
    assert {"tas_jan", "tas_dec"} <= set(known)
    assert len(known) == 12
    assert any("variable 'tas' has 12 times from 1995-02 to 1996-01" in text for text in answer["notices"])
    assert (tmp_path / "out" / "scenarios" / "future.nc").is_dir()
    # two files of one variable in one run are called after the files
    netcdf(tmp_path / "a.nc", {"tas": now[0]}, **place)
    netcdf(tmp_path / "b.nc", {"tas": now[3] ** 2}, **place)
    said = as_json("check", world.records, tmp_path / "a.nc", tmp_path / "b.nc")
    assert "2 variables: a, b" in said["notices"]
    assert any("2 files have a variable of the same name: 2 layers are named" in text for text in said["warnings"])
