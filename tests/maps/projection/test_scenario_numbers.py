"""Everything that is mapped and counted in a scenario, against loops over its cells, on all sorts of grids."""

from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
from projection.cells import (
    GRIDS,
    TIE,
    Place,
    Trained,
    code_of,
    count_codes,
    draw_values,
    flat,
    middle,
    open_layers,
    train,
    weighted_means,
    write_layers,
)
from pyproj import Geod
from shapely.geometry import Point, Polygon

from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.stack import Stack
from sdm.maps.projection.change import shift
from sdm.maps.projection.scenario import ScenarioFiles, ScenarioPass
from sdm.maps.projection.targets import ProjectedModel

TITLE = "Species"


@pytest.fixture(scope="module")
def trained() -> Trained:
    return train()


@pytest.fixture(scope="module")
def cutoffs(trained: Trained) -> tuple[str, str]:
    """Two cutoffs; the first is exactly what many cells have."""
    x = [np.array([value], "float32") for value in TIE]
    return repr(float(trained.model.predict_columns(x, "cloglog")[0])), "0.3"


@pytest.fixture
def many_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stack.windows, "__kwdefaults__", {"budget": 2_000})


def passes(trained: Trained, rules: tuple[str, ...], **ways: Any) -> ScenarioPass:
    models = [ProjectedModel(trained.model, TITLE, rules=rules, extrapolation=ways.pop("extrapolation", "clamp"))]
    return ScenarioPass(models, ScenarioFiles.of(models, ("mess",)), ("mess",), threads=3, **ways)


def expected(trained: Trained, values: np.ndarray, cutoffs: tuple[str, str], inside: np.ndarray) -> dict[str, Any]:
    """What the cells have: known, predicted, present by each cutoff."""
    cells = values.reshape(3, -1)
    known = np.isfinite(cells).all(axis=0) & inside
    predicted = trained.model.predict_columns(list(cells), "cloglog")
    present = [np.where(known, predicted >= float(cutoff), 255).astype(np.uint8) for cutoff in cutoffs]
    return {"cells": cells, "known": known, "predicted": predicted, "present": present}


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("dispersal", [True, False])
def test_a_scenario_is_what_loops_over_cells_find(
    grid: str, dispersal: bool, trained: Trained, cutoffs: tuple[str, str], many_windows: None, tmp_path: Path
) -> None:
    place, rng = GRIDS[grid], np.random.default_rng(list(GRIDS).index(grid))
    today, later = draw_values(place, rng), draw_values(place, rng, 0.8)
    areas, everywhere = place.areas(), np.ones(place.height * place.width, dtype=bool)
    area = None
    if grid in ("north", "metres"):  # a study area of a third of the cells
        area, everywhere = study_area(place, tmp_path, write_layers(tmp_path / "now", place, today))
    work = passes(trained, cutoffs, dispersal=dispersal, study_area=area)
    for name, values in (("now", today), ("then", later)):
        write_layers(tmp_path / name, place, values)
        (tmp_path / f"out {name}").mkdir()
    stack = open_layers(tmp_path / "now")
    assert len(stack.windows()) > 5
    reference = work.write(stack, tmp_path / "out now", novelty=False)
    rule = {TITLE: tmp_path / "out now" / f"{TITLE}_{cutoffs[0]}.tif"}
    found = work.write(open_layers(tmp_path / "then"), tmp_path / "out then", before=rule)

    was, now = (expected(trained, values, cutoffs, everywhere) for values in (today, later))
    assert 0 < now["known"].sum() < everywhere.sum()
    for numbers, truth, folder in ((reference, was, "out now"), (found, now, "out then")):
        check_maps(numbers["targets"][TITLE], truth, cutoffs, areas, tmp_path / folder)
        check_means(numbers, truth, trained, areas)
    codes = np.array([code_of(a, b, dispersal) for a, b in zip(was["present"][0].tolist(), now["present"][0].tolist())])
    np.testing.assert_array_equal(flat(tmp_path / "out then" / f"{TITLE}_change.tif"), codes)
    change = found["targets"][TITLE]["change"]
    for name, part in count_codes(codes, areas).items():
        assert change[name]["cells"] == part["cells"], name
        assert change[name]["km2"] == pytest.approx(part["km2"], rel=1e-6), name
    before = areas[(codes == 1) | (codes == 3)].sum()
    gain, loss = areas[codes == 2].sum(), areas[codes == 3].sum()
    for name, km2 in (("gain", gain), ("loss", loss), ("net", gain - loss)):
        assert change[f"{name}_percent"] == pytest.approx(100 * km2 / before, rel=1e-6, abs=1e-9), name
    assert (codes == (2 if dispersal else 4)).any()
    assert not (codes == (4 if dispersal else 2)).any()
    check_centroids(place, reference["targets"][TITLE], was["present"][0] == 1)
    check_centroids(place, found["targets"][TITLE], np.isin(codes, (1, 2)))


def study_area(place: Place, folder: Path, layers: Path) -> tuple[StudyArea, np.ndarray]:
    x, y = place.centres()
    left, right, low, high = x.min(), x.max(), y.min(), y.max()
    shape = Polygon([(left, low), (right, low + 0.01 * (high - low)), (left, high)])
    geopandas.GeoDataFrame(geometry=[shape], crs=place.crs).to_file(folder / "area.gpkg")
    stack = open_layers(layers)
    inside = np.array([shape.contains(Point(a, b)) for a, b in zip(x, y)])
    return StudyArea.read(str(folder / "area.gpkg"), stack.crs, grid=stack), inside


def check_maps(target: Any, truth: dict[str, Any], cutoffs: tuple[str, str], areas: np.ndarray, folder: Path) -> None:
    band, shown = flat(folder / f"{TITLE}.tif"), truth["predicted"].astype("float32")
    np.testing.assert_array_equal(band, np.where(truth["known"], shown, -9999).astype("float32"))
    assert target["suitability"]["cells"] == truth["known"].sum()
    assert target["suitability"]["mean"] == pytest.approx(truth["predicted"][truth["known"]].mean(), rel=1e-6)
    for cutoff, present in zip(cutoffs, truth["present"]):
        np.testing.assert_array_equal(flat(folder / f"{TITLE}_{cutoff}.tif"), present)
        size = target["rules"][cutoff]
        assert (size["cutoff"], size["cells"]) == (float(cutoff), (present == 1).sum())
        assert size["km2"] == pytest.approx(areas[present == 1].sum(), rel=1e-6)
    ties = (truth["predicted"] == float(cutoffs[0])) & truth["known"]
    assert ties.sum() > 3
    assert (truth["present"][0][ties] == 1).all(), "a cell at the cutoff is suitable"


def check_means(numbers: Any, truth: dict[str, Any], trained: Trained, areas: np.ndarray) -> None:
    here, target = truth["present"][0] == 1, numbers["targets"][TITLE]
    outside = trained.outside(truth["cells"]) & truth["known"]
    model = numbers["models"][TITLE]
    assert (model["outside"]["cells"], model["outside"]["of_cells"]) == (outside.sum(), truth["known"].sum())
    assert model["outside"]["km2"] == pytest.approx(areas[outside].sum(), rel=1e-6)
    assert model["variables"] == pytest.approx(weighted_means(truth["cells"], truth["known"], areas), rel=1e-6)
    assert target["where_suitable"] == pytest.approx(weighted_means(truth["cells"], here, areas), rel=1e-6)
    novel = target["suitable_outside"]
    assert novel["cells"] == (here & outside).sum() > 0
    assert novel["km2"] == pytest.approx(areas[here & outside].sum(), rel=1e-6)
    assert novel["share"] == pytest.approx(areas[here & outside].sum() / areas[here].sum(), rel=1e-6)


def check_centroids(place: Place, target: Any, chosen: np.ndarray) -> None:
    truth, found = middle(place, chosen), target["centroid"]
    assert truth is not None
    assert found is not None
    for name in ("lon", "lat", "x", "y"):
        if name in truth:
            assert found[name] == pytest.approx(truth[name], rel=1e-7, abs=1e-5), name
    left, right = sorted((place.transform.c, place.transform.c + place.width * place.transform.a))
    assert left <= found["x"] <= right, "in the coordinates of the grid, whatever its longitudes are"


def test_a_species_that_is_nowhere(trained: Trained, tmp_path: Path) -> None:
    place = GRIDS["north"]
    write_layers(tmp_path / "now", place, draw_values(place, np.random.default_rng(1)))
    work = passes(trained, ("2",))
    (tmp_path / "out").mkdir()
    (tmp_path / "then").mkdir()
    work.write(open_layers(tmp_path / "now"), tmp_path / "out", novelty=False)
    before = {TITLE: tmp_path / "out" / f"{TITLE}_2.tif"}
    found = work.write(open_layers(tmp_path / "now"), tmp_path / "then", before=before)["targets"][TITLE]
    assert found["centroid"] is None
    assert found["where_suitable"] == {"heat": None, "rain": None}
    assert [found["change"][f"{name}_percent"] for name in ("gain", "loss", "net")] == [None] * 3
    assert found["change"]["stable_absent"]["cells"] == found["suitability"]["cells"]


def test_the_shift_of_a_centroid_is_the_shortest_line() -> None:
    rng = np.random.default_rng(5)
    geod = Geod(ellps="WGS84")
    words = ["N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE", "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW"]
    for _ in range(50):
        one, two = ({"lon": rng.uniform(-180, 180), "lat": rng.uniform(-80, 80)} for _ in range(2))
        found = shift(one, two)
        assert found is not None
        lon, lat, _ = geod.fwd(one["lon"], one["lat"], found["bearing"], found["km"] * 1000)
        assert geod.inv(lon, lat, two["lon"], two["lat"])[2] < 0.01, "there it leads"
        assert 0 <= found["bearing"] < 360
        middle_of = words.index(found["direction"]) * 22.5
        assert abs((found["bearing"] - middle_of + 180) % 360 - 180) <= 11.25
    here = {"lon": 10.0, "lat": 50.0}
    assert shift(here, here) == {"km": 0.0, "bearing": None, "direction": None}
    assert shift({"lon": 179.0, "lat": 0.0}, {"lon": -179.0, "lat": 0.0})["direction"] == "E"  # type: ignore[index]
    assert shift(None, here) is None
    assert shift(here, None) is None
    assert shift({"x": 1.0, "y": 2.0}, here) is None, "without a reference system nothing is known"
