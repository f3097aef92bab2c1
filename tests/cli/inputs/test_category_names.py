"""Names that a raster's file has for its values come along into models, curves, tables, pages and maps."""

from pathlib import Path

import numpy as np
import pytest
import rasterio
from inputs.reading import inputs_of, options_of
from terminal import PLAIN, as_json, fail, model_answer, rows, succeed

from sdm import load_model
from sdm.models.interface import ModelVariable
from sdm.run.checking import check_run

NAMES = {1: "water", 2: "forest", 3: "meadow", 4: "bog", 5: "rock", 6: "rock", 7: "town"}


def name_values(raster: Path, names: dict[int, str] = NAMES) -> Path:
    """Write GDAL's file of names beside a raster."""
    words = "".join(f"<Category>{names.get(code, '')}</Category>" for code in range(max(names) + 1))
    band = f'<PAMRasterBand band="1"><CategoryNames>{words}</CategoryNames></PAMRasterBand>'
    Path(f"{raster}.aux.xml").write_text(f"<PAMDataset>{band}</PAMDataset>")
    return raster


@pytest.fixture
def named(own):
    name_values(own.layers / "landcover.tif")
    return own


def classes_of(raster: Path) -> list[int]:
    with rasterio.open(raster) as data:
        return np.unique(data.read(1, masked=True).compressed()).tolist()


def test_a_named_layer_that_is_not_categorical_gets_a_strong_hint(named, tmp_path: Path) -> None:
    said = "layer 'landcover' has names for its values (1 water, 2 forest, 3 meadow, and 4 more): they are classes"
    words = (named.records, named.layers, "--fc", "lq", "--no-curves", "--no-map", *PLAIN)
    assert any(said in text for text in check_run(options_of(*words)).warnings)
    assert any(said in text for text in as_json("fit", *words, "-o", tmp_path / "a")["warnings"])
    assert inputs_of(*words, "--categorical", "landcover").warnings == []


def test_names_in_the_results_of_a_species(named, tmp_path: Path) -> None:
    words = (
        "--fc",
        "lq",
        "--categorical",
        "landcover",
        "--replicates",
        "3",
        "--no-map",
        "--no-importance",
        "--dpi",
        50,
    )
    answer = model_answer("fit", named.records, named.layers, *words, "-o", tmp_path / "out")
    codes = classes_of(named.layers / "landcover.tif")
    expected = {f"{NAMES[code]} ({code})" if NAMES[code] == "rock" else NAMES[code] for code in codes}
    folder = Path(answer["folder"])
    curves = [row for row in rows(folder / answer["files"]["curves"]) if row["variable"] == "landcover"]
    seen = {row["class"] if "class" in row else row["category"] for row in curves}
    assert seen
    assert seen <= expected
    assert "forest" in (folder / answer["files"]["page"]).read_text()
    model = load_model(folder / answer["files"]["model"])
    cover = next(variable for variable in model.variables if variable.name == "landcover")
    assert set(cover.category_names) <= expected
    assert all(code in cover.classes for code in map(float, cover.names_by_code or {}))
    features = [name for name in model.feature_names if name.startswith("(landcover=")]
    assert features
    assert not any(name.removeprefix("(landcover=").rstrip(")").isdigit() for name in features)
    assert any(name in succeed("info", folder / answer["files"]["model"]).output for name in features)


def test_names_change_no_number(named, world, tmp_path: Path) -> None:
    words = ("--fc", "lq", "--categorical", "landcover", "--no-map", "--no-curves", *PLAIN)
    with_names = model_answer("fit", named.records, named.layers, *words, "-o", tmp_path / "a")
    without = model_answer("fit", world.records, world.layers, *words, "-o", tmp_path / "b")
    assert with_names["gain"] == without["gain"]


def test_names_in_a_class_model(named, tmp_path: Path) -> None:
    words = ("--response", "presence", "--categorical", "landcover", "--features", "lq", "--multiplier", "1")
    words += ("--no-map", "--no-curves", *PLAIN)
    answer = as_json("fit", named.survey, named.layers, *words, "-o", tmp_path / "out")["models"][0]
    weights = rows(Path(answer["folder"]) / answer["files"]["weights"])
    features = [row["feature"] for row in weights if row["feature"].startswith("(landcover=")]
    assert features
    assert not any(name.removeprefix("(landcover=").rstrip(")").isdigit() for name in features)


def test_names_in_a_joint_model(named, tmp_path: Path) -> None:
    words = (
        "--categorical",
        "landcover",
        "--cost",
        "1",
        "--no-map",
        "--no-report",
        "--dpi",
        50,
        "-o",
        tmp_path / "out",
    )
    answer = model_answer("joint", named.survey, named.layers, *words)
    model = load_model(Path(answer["folder"]) / answer["files"]["model"])
    features = [name for name in model.feature_names if name.startswith("(landcover=")]
    assert features
    assert not any(name.removeprefix("(landcover=").rstrip(")").isdigit() for name in features)


def test_target_classes_of_a_named_raster(named, tmp_path: Path) -> None:
    """The map keeps the raster's values; legends, tables and curves have its names."""
    raster, codes = named.layers / "landcover.tif", classes_of(named.layers / "landcover.tif")
    words = ("--classes", raster, "--features", "lq", "--multiplier", "1", "--least", "2", "-o", tmp_path / "out")
    answer = model_answer("classify", named.layers, *words, *PLAIN)
    folder = Path(answer["folder"])
    legend = {int(row["code"]): row["class"] for row in rows(folder / answer["files"]["classes"])}
    assert set(legend) <= set(codes)
    assert all(name.split(" (")[0] == NAMES[code] for code, name in legend.items())
    assert sum(name.startswith("rock") for name in legend.values()) in (1, 2)
    assert set(answer["map"]["shares"]) == set(legend.values())
    with rasterio.open(folder / answer["files"]["class map"]) as data:
        tags = {int(key[6:]): text for key, text in data.tags().items() if key.startswith("class_")}
        values = set(np.unique(data.read(1, masked=True).compressed()).tolist())
    assert tags == legend
    assert values <= set(legend)
    assert any(text.startswith("names of the classes, from the raster: ") for text in answer["notices"])
    model = folder / answer["files"]["model"]
    points = tmp_path / "points.csv"  # the model knows its classes by name and by value
    sites = rows(folder / answer["files"]["sites"])[:60]
    codes_of = {name: code for code, name in legend.items()}
    lines = [f"{row['x']},{row['y']},{row['class']},{codes_of[row['class']]}" for row in sites]
    points.write_text("x,y,habitat,code\n" + "\n".join(lines) + "\n")
    found = [
        model_answer("evaluate", model, "--sites", points, "--class-column", column, "--layers", named.layers)
        for column in ("habitat", "code")
    ]
    assert found[0]["log_loss"] == found[1]["log_loss"]
    assert "have the class" in fail(
        *("evaluate", model, "--sites", points, "--class-column", "x", "--layers", named.layers)
    )


def test_variables_of_earlier_files_have_no_names() -> None:
    record = {"name": "cover", "categorical": True, "lo": 1.0, "hi": 3.0, "classes": [1, 3], "labels": None}
    variable = ModelVariable.from_record(record)
    assert variable.category_names == ("1", "3")
    assert variable.titled({3.0: "bog"}).category_names == ("1", "bog")
    with pytest.raises(ValueError, match="2 categories with 1 names"):
        ModelVariable.from_record({**record, "titles": ["bog"]})
