"""Dispersal over periods: each begins where the species was in the one before."""

from pathlib import Path

import numpy as np
import pytest
import rasterio
from projection.cells import Place, apart_km, code_of, count_codes, flat, limited
from projection.futures import Futures, Models, case, make_future, numbers, project
from terminal import fail, succeed


def place_of(path: Path) -> Place:
    with rasterio.open(path) as data:
        return Place(data.crs.to_string(), data.transform, data.height, data.width)


def codes_of(out: Path, title: str, stem: str) -> np.ndarray:
    """The change of the cells, if everything can be reached."""
    before, now = flat(out / "reference" / f"{stem}_0.3.tif"), flat(out / title / f"{stem}_0.3.tif")
    return np.array([code_of(*pair) for pair in zip(before.tolist(), now.tolist())])


@pytest.mark.thorough
@pytest.mark.parametrize("km", ["none", "8", "30"])
def test_reach_is_from_the_period_before(world, models: Models, tmp_path: Path, km: str) -> None:
    """In 2050 it is far too warm, so that most is lost; in 2070 it is as now, and only a part is reached again."""
    degrees = {"a_2050": 1.5, "a_2070": 0.2, "a_2090": 2.5, "b_2050": -1.5, "b_2070": -3.0}
    for name, warmer in degrees.items():
        make_future(world, tmp_path / "future" / name, warmer)
    out, stem = tmp_path / "out", models.species.stem
    words = ("--reference", world.layers, "--dispersal", km, "--thresholds", "0.3", "-o", out)
    succeed(*project(models.species, "--scenarios", f"{tmp_path}/future/{{gcm}}_{{period}}", *words))
    place = place_of(world.layers / "temperature.tif")
    apart, areas, found = apart_km(place), place.areas(), numbers(out, stem)
    assert found["dispersal"] == ("none" if km == "none" else f"at most {km} km per period")
    again = 0
    for gcm in "ab":
        occupied = flat(out / "reference" / f"{stem}_0.3.tif") == 1
        for title in sorted(name for name in degrees if name.startswith(gcm)):
            reachable = codes_of(out, title, stem)
            truth = limited(reachable, occupied, apart, 0.0 if km == "none" else float(km))
            np.testing.assert_array_equal(flat(out / title / f"{stem}_change.tif"), truth, err_msg=title)
            again += ((reachable == 1) & (truth == 3)).sum()
            occupied = np.isin(truth, (1, 2))
            change = case(found, title)["change"]
            for code, part in count_codes(truth, areas).items():
                assert change[code] == {"cells": part["cells"], "km2": pytest.approx(part["km2"], rel=1e-6)}
    assert again > 0, "suitable as today, and lost all the same: it was gone in between, and too far away"


def test_without_dispersal_nothing_is_gained(world, models: Models, futures: Futures, tmp_path: Path) -> None:
    made, stem = {}, models.species.stem
    for word in ("none", "unlimited"):
        out = tmp_path / word
        words = ("--reference", world.layers, "--dispersal", word, "--thresholds", "0.3", "-o", out)
        succeed(*project(models.species, "--scenarios", futures.some(gcm="MIROC6", ssp="ssp585"), *words))
        made[word] = case(numbers(out, stem), "2070")["change"]
        codes = codes_of(out, "2070", stem)
        codes[codes == 2] = 4 if word == "none" else 2
        np.testing.assert_array_equal(flat(out / "2070" / f"{stem}_change.tif"), codes)
        with rasterio.open(out / "2070" / f"{stem}_change.tif") as data:
            assert ("class_4" in data.tags()) == (word == "none")
            assert set(data.colormap(1)) >= {0, 1, 2, 3, 4}
    assert made["none"]["out_of_reach"] == made["unlimited"]["gain"]
    assert made["none"]["gain"] == {"cells": 0, "km2": 0.0}
    assert made["none"]["net_percent"] == -made["none"]["loss_percent"]


def test_dispersal_needs_a_reference(models: Models, futures: Futures, tmp_path: Path) -> None:
    for word in ("none", "20"):
        words = ("--scenarios", futures.pattern, "-o", tmp_path / "out", "--dispersal", word)
        assert "add --reference" in fail(*project(models.species, *words), code=2)
    for word in ("0", "-3", "far"):
        words = ("--scenarios", futures.pattern, "-o", tmp_path / "out", "--dispersal", word)
        assert "dispersal" in fail(*project(models.species, *words), code=2)
    assert not (tmp_path / "out").exists()
