"""Maps of many species at once: bounded memory, the same values however windows are cut, nothing where layers end."""

import itertools
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rasterio
from hypothesis import given
from hypothesis import strategies as st
from rasterio import Affine
from terminal import read

from sdm.data.rasters.layers import open_stack
from sdm.data.rasters.stack import Stack
from sdm.errors import DataError
from sdm.estimators.community import JointModel
from sdm.maps.passes import MapPass
from sdm.maps.several import OF_ONE_MODEL, RICHNESS, JointMaps, JointPlaces, write_maps
from sdm.models.community import FittedJoint

SPECIES = 25


@pytest.fixture(scope="module")
def models() -> tuple[FittedJoint, FittedJoint]:
    rng = np.random.default_rng(2)
    x = pd.DataFrame(rng.normal(size=(120, 2)), columns=["heat", "rain"])
    y = pd.DataFrame(
        {f"sp {s}": (x["heat"] * rng.normal() + rng.logistic(size=120) > 0).astype(int) for s in range(SPECIES)}
    )
    joint, stacked = (JointModel("crf-l2", graph, "l").fit(x, y).model_ for graph in ("chain", "none"))
    return joint, stacked


def places(folder: Path, joint: FittedJoint, richness: Sequence[str] = RICHNESS) -> JointPlaces:
    (folder / "maps").mkdir(exist_ok=True)
    return JointPlaces.within(folder, joint.species, richness)


@pytest.fixture(scope="module")
def written(stack: Stack, models, tmp_path_factory: pytest.TempPathFactory) -> tuple[JointPlaces, JointMaps]:
    """All maps of both models: where they are, and what is known of them."""
    own = places(tmp_path_factory.mktemp("written"), models[0])
    return own, write_maps(*models, stack, own)


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_number_of_species(stack: Stack, models, tmp_path: Path, monkeypatch) -> None:
    """All maps of this raster together have more bytes than the prediction may take."""
    content = {}
    # The first two compile, which takes memory too.
    for name, budget in (("whole", 1 << 30), ("warm", 200_000), ("small", 200_000)):
        monkeypatch.setattr("sdm.maps.rasters.WINDOW_BYTES", budget)
        monkeypatch.setattr("sdm.maps.several.NUMBERS", 100_000)
        (tmp_path / name).mkdir()
        if name == "small":  # watching is slow
            tracemalloc.start()
        try:
            # One thread: how many windows are at work at once must not depend on the load of the machine.
            found = write_maps(*models, stack, places(tmp_path / name, models[0]), MapPass(threads=1))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        if name == "small":
            assert peak < 8_000_000 < stack.width * stack.height * 4 * SPECIES, f"{peak:,} bytes"
        content[name] = [path.read_bytes() for path in sorted((tmp_path / name).rglob("*.tif"))]
    assert content["small"] == content["whole"]
    assert len(content["small"]) == 2 * SPECIES + len(RICHNESS)
    assert found["richness"]["richness"].cells == stack.width * stack.height - 30 * 40


def test_richness_is_the_sum_of_the_maps(written) -> None:
    own, found = written
    total = sum(read(path).astype(np.float64) for path in own.species.values())
    np.testing.assert_allclose(read(own.richness["richness"]), total, atol=1e-4)
    assert read(own.richness["richness"])[:30, :40].mask.all()
    count = sum(read(path).astype(int) for path in own.present.values())
    labeled = read(own.richness["labeled richness"])
    assert (labeled == count).all()
    assert labeled[:30, :40].mask.all()
    assert labeled.dtype == np.int16
    assert found["species"]["sp 3"].path == own.species["sp 3"]
    assert found["present"]["sp 3"].mean == pytest.approx(read(own.present["sp 3"]).mean())


@given(st.integers(0, 2**32 - 1), st.sampled_from(["chain", "tree", "none"]))
def test_the_labeling_on_the_maps_is_the_best_of_all(tmp_path_factory, seed: int, graph: str) -> None:
    """At every cell no other of the 2⁴ labelings scores higher, by a sum over species and edges written out."""
    rng = np.random.default_rng(seed)
    folder = tmp_path_factory.mktemp("best")
    values = rng.normal(size=(2, 6, 7)).astype("float32")
    values[0, 0, 0] = -9999
    for name, band in zip(("heat", "rain"), values):
        profile = {"width": 7, "height": 6, "count": 1, "dtype": "float32", "nodata": -9999, "crs": "EPSG:4326"}
        with rasterio.open(
            folder / f"{name}.tif", "w", driver="GTiff", transform=Affine(1, 0, 0, 0, -1, 50), **profile
        ) as out:
            out.write(band, 1)
    x = pd.DataFrame(rng.normal(size=(40, 2)), columns=["heat", "rain"])
    y = pd.DataFrame({name: (x["heat"] + rng.logistic(size=40) > 0).astype(int) for name in "abcd"})
    y.iloc[0], y.iloc[1] = 0, 1
    start = JointModel("crf-l2", graph, "l", c=1.0).fit(x, y).model_
    model = replace(start, weights=start.weights + rng.normal(size=start.weights.size))
    own = places(folder, model, OF_ONE_MODEL)
    write_maps(model, None, open_stack([folder / "heat.tif", folder / "rain.tif"]), own)
    maps = [read(own.present[name]) for name in model.species]
    assert all(band.mask[0, 0] and not band.mask.ravel()[1:].any() for band in maps)
    effects = {(row["species"], row["feature"]): row["weight"] for row in model.effects()}
    edges = [
        (model.species.index(e["first"]), model.species.index(e["second"]), e["weight"]) for e in model.associations()
    ]
    terms = model.features
    for i, j in list(np.ndindex(6, 7))[1:]:
        cell = (np.clip(values[:, i, j].astype(float), terms.lo, terms.hi) - x.mean()) / x.std(ddof=0)
        f = dict(
            zip(
                model.feature_names,
                [*((terms.terms.evaluate(cell.to_numpy()[None])[0] - terms.mean) / terms.spread), 1.0],
            )
        )
        unary = [sum(effects[name, what] * f[what] for what in f) for name in model.species]

        def score(labels: Sequence[int], unary: list[float] = unary) -> float:
            pairs = sum(weight * (1 if labels[s] == labels[t] else -1) for s, t, weight in edges)
            return sum(u for u, label in zip(unary, labels) if label) + pairs

        best = max(score(labels) for labels in itertools.product((0, 1), repeat=4))
        assert score([int(band[i, j]) for band in maps]) == pytest.approx(best, abs=1e-9)


def test_bands_have_names_and_say_what_they_hold(written) -> None:
    own, _ = written
    expected = {
        own.species["sp 3"]: ("sp 3", "probability"),
        own.present["sp 3"]: ("sp 3, best joint labelling", "presence"),
        own.richness["richness"]: ("expected number of species", "species"),
        own.richness["labeled richness"]: ("number of species in the best joint labelling", "species"),
        own.richness["richness difference"]: ("expected number of species, joint minus stacked", "species"),
    }
    for path, (name, scale) in expected.items():
        with rasterio.open(path) as data:
            assert data.descriptions == (name,)
            assert data.tags()["scale"] == scale


def test_names_of_species_never_share_a_file(tmp_path: Path) -> None:
    """`owl_present` is a species' probability, or the presence of `owl`, but not both."""
    names = ["owl", "owl_present", "OWL", "richness", "owl present"]
    own = JointPlaces.within(tmp_path, names, RICHNESS)
    paths = [*own.species.values(), *own.present.values(), *own.richness.values()]
    assert len({str(path).casefold() for path in paths}) == len(paths) == 2 * len(names) + len(RICHNESS)
    assert own.species["richness"] == tmp_path / "maps" / "richness.tif"
    assert own.richness["richness"] == tmp_path / "richness.tif"


def test_layers_in_another_order_are_refused(stack: Stack, models, tmp_path: Path) -> None:
    other = open_stack(list(stack.paths), names=["rain", "heat"])
    with pytest.raises(DataError, match="the model needs heat, rain"):
        write_maps(*models, other, places(tmp_path, models[0]))


def test_one_model_alone_has_its_richness_and_no_difference(stack: Stack, models, written, tmp_path: Path) -> None:
    own = places(tmp_path, models[0])
    with pytest.raises(DataError, match="also need the model without edges"):
        write_maps(models[0], None, stack, own)
    assert list(tmp_path.rglob("*.tif")) == []
    write_maps(models[0], None, stack, places(tmp_path, models[0], OF_ONE_MODEL))
    both, _ = written
    assert both.richness["richness"].read_bytes() == own.richness["richness"].read_bytes()
