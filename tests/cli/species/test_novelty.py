"""`sdm predict` where a model extrapolates: how much is said first, `--novelty` maps it, `--extrapolation` decides."""

import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
from terminal import fail, files, model_answer, read, scenario_file, succeed

from sdm import load_model
from sdm.novelty.mess import Similarity

EARLIER = Path(__file__).parents[2] / "models" / "earlier"
ALL = "mess,exdet,mop,clamping,limiting"


def test_how_much_is_outside_is_said_first(fit, world, tmp_path: Path) -> None:
    words = ("predict", fit.model, world.folder / "warmer", "-o", tmp_path / "map.tif")
    said = succeed(*words).stdout
    assert said.startswith("outside the training range: ")
    assert files(tmp_path) == ["map.qml", "map.sld", "map.tif"], "no map of novelty is made unasked"
    outside = model_answer(*words, "--overwrite")["outside"]
    assert 0 < outside["cells"] < outside["of_cells"]
    assert f"{outside['cells']:,} of {outside['of_cells']:,} cells" in said
    assert outside["share"] == outside["cells"] / outside["of_cells"]
    low, high = load_model(fit.model).reference.low, load_model(fit.model).reference.high
    for k, name in enumerate(load_model(fit.model).names):
        band = read(world.folder / "warmer" / f"{name}.tif").astype(float)
        if name != "landcover":
            beyond = np.ma.filled((band < low[k]) | (band > high[k]), False)
            assert outside["variables"][name]["cells"] == beyond.sum(), name


def test_novelty_is_mapped_beside_the_map(fit, world, tmp_path: Path) -> None:
    plain = succeed("predict", fit.model, world.folder / "warmer", "-o", tmp_path / "plain.tif")
    found = model_answer("predict", fit.model, world.folder / "warmer", "--novelty", ALL, "-o", tmp_path / "map.tif")
    assert plain.exit_code == 0
    np.testing.assert_array_equal(read(tmp_path / "map.tif"), read(tmp_path / "plain.tif"))
    ends = ["mess", "mod", "exdet", "exdet_variable", "mop", "mop_strict", "clamping", "limiting"]
    assert {name: Path(found["files"][name]).name for name in ends} == {name: f"map_{name}.tif" for name in ends}
    model = load_model(fit.model)
    columns = [
        read(world.folder / "warmer" / f"{name}.tif").astype(float).filled(np.nan).ravel() for name in model.names
    ]
    mess, which = Similarity.of(model.reference).measure(columns)
    band = read(tmp_path / "map_mess.tif")
    np.testing.assert_array_equal(band.compressed(), mess[~band.mask.ravel()])
    np.testing.assert_array_equal(read(tmp_path / "map_mod.tif").compressed(), which[~band.mask.ravel()] + 1)
    assert (band < 0).sum() == found["outside"]["cells"]
    with rasterio.open(tmp_path / "map_limiting.tif") as data:
        assert [data.tags()[f"variable_{k}"] for k, _ in enumerate(model.names, 1)] == list(model.names)


def test_a_fit_counts_what_its_own_map_extrapolates_alone_and_in_a_batch(world, tmp_path: Path) -> None:
    """The background is a sample: cells of the same layers can be outside it, and unseen categories too."""
    quick = ("--categorical", "landcover", "--background-points", 60, "--no-curves", "--no-report", "--no-map-picture")
    said = succeed("fit", world.records, world.layers, "-o", tmp_path / "one", *quick).stdout
    (numbers,) = (json.loads(path.read_text()) for path in (tmp_path / "one").glob("*.json"))
    (model,) = (tmp_path / "one").glob("*.npz")
    again = model_answer("predict", model, world.layers, "-o", tmp_path / "map.tif")["outside"]
    assert numbers["outside"] == again
    assert 0 < again["cells"] < again["of_cells"]
    assert f"outside the training range: {again['cells']:,} of {again['of_cells']:,} cells" in said
    succeed("fit", world.both, world.layers, "-o", tmp_path / "both", *quick)
    for folder in (path.parent for path in (tmp_path / "both").glob("*/*.npz")):
        (counted,) = (json.loads(path.read_text())["outside"] for path in folder.glob("*.json"))
        (model,) = folder.glob("*.npz")
        assert counted == model_answer("predict", model, world.layers, "-o", folder / "map.tif")["outside"]


def test_extrapolation_none_leaves_out_what_is_outside_and_fade_reduces_it(fit, world, tmp_path: Path) -> None:
    maps = {}
    for word in ("clamp", "free", "none", "fade"):
        words = ("predict", fit.model, world.folder / "warmer", "-o", tmp_path / f"{word}.tif")
        outside = model_answer(*words, "--extrapolation", word)["outside"]
        maps[word] = read(tmp_path / f"{word}.tif").astype(float)
    assert maps["clamp"].count() - maps["none"].count() == outside["cells"] > 0
    np.testing.assert_array_equal(maps["none"].compressed(), maps["clamp"][~maps["none"].mask])
    np.testing.assert_allclose(
        maps["fade"].compressed(),
        np.maximum(maps["clamp"] - abs(maps["clamp"] - maps["free"]), 0).compressed(),
        atol=1e-6,
    )
    assert (maps["fade"] < maps["clamp"]).any()
    succeed("predict", fit.model, world.folder / "warmer", "-o", tmp_path / "earlier.tif", "--no-clamp")
    np.testing.assert_array_equal(read(tmp_path / "earlier.tif"), read(tmp_path / "free.tif"))


def test_a_fit_maps_with_its_extrapolation(world, tmp_path: Path) -> None:
    words = ("--fc", "lq", "--no-curves", "--categorical", "landcover", "--no-report")
    words = (world.records, world.layers, *words, "--projections", f"warmer={world.folder / 'warmer'}")
    for word in ("clamp", "none"):
        succeed("fit", *words, "--extrapolation", word, "-o", tmp_path / word)
    clamped, none = (read(scenario_file(tmp_path / word, "warmer")) for word in ("clamp", "none"))
    assert none.count() < clamped.count()
    np.testing.assert_array_equal(none.compressed(), clamped[~none.mask])


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("--novelty", "mes"), 2, "--novelty mes: expected some of mess, exdet, mop, clamping, limiting"),
        (
            ("--extrapolation", "stop"),
            2,
            "--extrapolation stop: expected 'clamp', 'free', 'none', 'fade' or 'lower'",
        ),
        (("--extrapolation", "none", "--no-clamp"), 2, "use one of them"),
    ],
)
def test_mistakes(fit, world, tmp_path: Path, words, code: int, part: str) -> None:
    assert part in fail("predict", fit.model, world.layers, *words, "-o", tmp_path / "map.tif", code=code)
    assert files(tmp_path) == []


def test_a_map_of_novelty_is_not_overwritten_unasked(fit, world, tmp_path: Path) -> None:
    (tmp_path / "map_mod.tif").write_text("mine")
    words = ("predict", fit.model, world.layers, "--novelty", "mess", "-o", tmp_path / "map.tif")
    assert "map_mod.tif" in fail(*words)
    assert files(tmp_path) == ["map_mod.tif"]
    succeed(*words, "--overwrite")
    assert read(tmp_path / "map_mod.tif").count() > 0


def test_an_earlier_model_counts_what_is_outside_but_has_no_mess(world, tmp_path: Path) -> None:
    words = ("predict", EARLIER / "species.npz", "sample_data/warmer", "-o", tmp_path / "map.tif")
    assert "fit it again" in fail(*words, "--novelty", "mess")
    assert files(tmp_path) == []
    assert model_answer(*words, "--novelty", "clamping")["outside"]["cells"] > 0
    assert [name for name in files(tmp_path) if not name.endswith((".qml", ".sld"))] == ["map.tif", "map_clamping.tif"]
