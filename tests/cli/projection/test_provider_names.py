"""Layers of scenarios under the names that providers give them, in tables, and on other grids."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from climate import chelsa, worldclim, worldclim_future
from projection.futures import Futures, Models, numbers, project
from rasterio.enums import Resampling
from rasterio.warp import reproject
from terminal import files, read, rows, succeed

PLAIN = ("--fc", "lq", "--no-curves", "--no-report", "--no-map")
ONE, TWO = "BCC-CSM2-MR", "MPI-ESM1-2-HR"
WARM = {(ONE, "ssp126"): "ACCESS-CM2_ssp126_2050", (TWO, "ssp126"): "MIROC6_ssp126_2050",
        (ONE, "ssp585"): "ACCESS-CM2_ssp585_2050", (TWO, "ssp585"): "MIROC6_ssp585_2050"}  # fmt: skip


def variables(folder: Path) -> dict[int, Path]:
    """Temperature and precipitation as bioclimatic variables 1 and 12."""
    return {1: folder / "temperature.tif", 12: folder / "precipitation.tif"}


@pytest.fixture(scope="module")
def plain(world, futures: Futures, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of WorldClim's present, and one of CHELSA's; futures by both providers in a folder each."""
    folder = tmp_path_factory.mktemp("providers")
    worldclim(folder / "wc now", variables(world.layers))
    chelsa(folder / "ch now", variables(world.layers))
    for name in ("wc", "ch"):
        succeed("fit", world.records, folder / f"{name} now", *PLAIN, "-o", folder / name)
    for (gcm, ssp), title in WARM.items():
        layers = variables(futures.folder / title)
        path = worldclim_future(folder / "wc later", layers, described=gcm == TWO)
        path.rename(path.with_name(f"wc2.1_10m_bioc_{gcm}_{ssp}_2041-2060.tif"))
        chelsa(folder / "ch later", layers, f"2041-2070_{gcm.lower()}_{ssp}")
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("provider", "pattern", "titles"),
    [
        (
            "wc",
            "wc2.1_10m_bioc_{gcm}_{ssp}_{period}.tif",
            ["{g}_{s}_2041-2060", "wc2.1_10m_bioc_{g}_{s}_2041-2060.tif"],
        ),
        (
            "ch",
            "CHELSA_{variable}_{period}_{gcm}_{ssp}_V.2.1.tif",
            ["2041-2070_{l}_{s}", "CHELSA_bio1_2041-2070_{l}_{s}_V.2.1.tif"],
        ),
    ],
)
def test_futures_work_without_renaming(
    provider: str, pattern: str, titles: list[str], plain: Path, futures: Futures, tmp_path: Path
) -> None:
    (model,) = (plain / provider).glob("*.npz")
    now = plain / f"{provider} now"
    words = ("--scenarios", plain / f"{provider} later" / pattern, "--reference", now, "-o", tmp_path / "out")
    said = succeed(*project(model, *words)).output
    assert "4 scenarios more: every variable found; see mapping.csv" in said
    found = numbers(tmp_path / "out", model.stem)
    assert [group["cases"] for group in found["across"]] == [2, 2], "over the climate models"
    table = {(row["scenario"], row["variable"]): row for row in rows(tmp_path / "out" / "mapping.csv")}
    for (gcm, ssp), title in WARM.items():
        name = titles[0].format(g=gcm, l=gcm.lower(), s=ssp)
        layers = futures.folder / title
        rename = [
            *("--rename", f"temperature={model_names(model)[0]}"),
            *("--rename", f"precipitation={model_names(model)[1]}"),
        ]
        pair = [layers / "temperature.tif", layers / "precipitation.tif"]
        succeed("predict", model, *pair, *rename, "-o", tmp_path / "map.tif", "--overwrite")
        np.testing.assert_array_equal(read(tmp_path / "out" / name / f"{model.stem}.tif"), read(tmp_path / "map.tif"))
        row = table[name, model_names(model)[0]]
        assert Path(row["file"]).name == titles[1].format(g=gcm, l=gcm.lower(), s=ssp)
        assert row["band"] == "1"
        other = table[name, model_names(model)[1]]
        assert other["band"] == ("12" if provider == "wc" else "1")


def model_names(model: Path) -> list[str]:
    """The names of variables 1 and 12."""
    stem = "wc2.1_10m_bio_{}" if model.parent.name == "wc" else "CHELSA_bio{}_1981-2010_V.2.1"
    return [stem.format(n) for n in (1, 12)]


def test_a_table_with_any_columns(world, models: Models, futures: Futures, tmp_path: Path) -> None:
    lines = [
        "Folder;Scenario;Model;Year;Note",
        *(f"{futures.folder / t};s{k};m{k % 2};{2050 + 20 * (k // 2)};x, y" for k, t in enumerate(futures.titles[:4])),
    ]
    (tmp_path / "scenarios.csv").write_text("\n".join(lines) + "\n")
    words = ("--scenarios", tmp_path / "scenarios.csv", "--reference", world.layers, "-o", tmp_path / "out")
    succeed(*project(models.species, *words))
    found = numbers(tmp_path / "out", models.species.stem)
    assert found["fields"] == ["Model", "Year", "Note"]
    assert [(case["title"], case["fields"]) for case in sorted(found["scenarios"], key=lambda one: one["title"])] == [
        (f"s{k}", {"Model": f"m{k % 2}", "Year": str(2050 + 20 * (k // 2)), "Note": "x, y"}) for k in range(4)
    ]
    assert [group["over"] for group in found["across"]] == [["Model"], ["Model"]]
    assert rows(tmp_path / "out" / "scenarios.csv")[0]["Note"] == ""  # the reference has no fields


def test_fields_called_as_columns_of_the_table(models: Models, futures: Futures, tmp_path: Path) -> None:
    words = ("--scenarios", futures.folder / "{value}_{scenario}_{unit}", "-o", tmp_path / "out")
    succeed(*project(models.species, *words))
    table = rows(tmp_path / "out" / "scenarios.csv")
    assert list(table[0])[:5] == ["species", "scenario", "field_value", "field_scenario", "field_unit"]
    assert {row["scenario"] for row in table} == set(futures.titles)
    assert {row["field_scenario"] for row in table} == {"ssp126", "ssp585"}
    assert {row["unit"] for row in table if row["measure"] == "suitable area"} == {"km2"}


def test_align_maps_on_the_grid_of_the_reference(world, models: Models, futures: Futures, tmp_path: Path) -> None:
    """As if the layers had been resampled beforehand: bilinear for numbers, the nearest for categories."""
    source = futures.folder / futures.titles[0]
    for layer in sorted(source.glob("*.tif")):
        shifted(layer, tmp_path / "other" / layer.name)
        aligned(tmp_path / "other" / layer.name, world.layers / layer.name, tmp_path / "before" / layer.name)
    words = ("--reference", world.layers, "--align", "first")
    succeed(*project(models.species, "--scenarios", f"x={tmp_path / 'other'}", *words, "-o", tmp_path / "out"))
    succeed(*project(models.species, "--scenarios", f"x={tmp_path / 'before'}", *words[:2], "-o", tmp_path / "same"))
    stem = models.species.stem
    for name in files(tmp_path / "out" / "x"):
        if name.endswith(".tif"):
            one, two = read(tmp_path / "out" / "x" / name), read(tmp_path / "same" / "x" / name)
            np.testing.assert_array_equal(np.ma.getmaskarray(one), np.ma.getmaskarray(two))
            np.testing.assert_allclose(one.compressed(), two.compressed(), rtol=1e-6, atol=1e-6, err_msg=name)
    with rasterio.open(tmp_path / "out" / "x" / f"{stem}_change.tif") as data, rasterio.open(layer_of(world)) as ours:
        assert (data.transform, data.shape, data.crs) == (ours.transform, ours.shape, ours.crs)
    change = numbers(tmp_path / "out", stem)["scenarios"][0]["change"]
    assert change == numbers(tmp_path / "same", stem)["scenarios"][0]["change"]


def layer_of(world: Any) -> Path:
    return world.layers / "temperature.tif"


def shifted(source: Path, target: Path) -> None:
    """Write a layer with cells of another size that begin elsewhere."""
    with rasterio.open(source) as data:
        profile, band = data.profile, data.read(1)
    t = profile["transform"]
    scale = rasterio.Affine.translation(t.c + t.a * 1.3, t.f + t.e * 0.8) @ rasterio.Affine.scale(t.a * 0.7, t.e * 0.7)
    other = {**profile, "transform": scale, "width": 60, "height": 62}
    out = np.full((62, 60), profile["nodata"], dtype=band.dtype)
    nearest = source.stem == "landcover"
    way = Resampling.nearest if nearest else Resampling.bilinear
    reproject(band, out, src_transform=t, dst_transform=scale, src_crs=profile["crs"], dst_crs=profile["crs"],
              src_nodata=profile["nodata"], dst_nodata=profile["nodata"], resampling=way)  # fmt: skip
    target.parent.mkdir(exist_ok=True)
    with rasterio.open(target, "w", **other) as made:
        made.write(out, 1)


def aligned(source: Path, like: Path, target: Path) -> None:
    """Resample a layer to the grid of another one."""
    with rasterio.open(source) as data, rasterio.open(like) as grid:
        out = np.full(grid.shape, data.nodata, dtype=data.dtypes[0])
        way = Resampling.nearest if source.stem == "landcover" else Resampling.bilinear
        reproject(rasterio.band(data, 1), out, dst_transform=grid.transform, dst_crs=grid.crs,
                  dst_nodata=data.nodata, resampling=way)  # fmt: skip
        profile = {**grid.profile, "nodata": data.nodata}
    target.parent.mkdir(exist_ok=True)
    with rasterio.open(target, "w", **profile) as made:
        made.write(out, 1)
