"""ODMAP and RMM tables beside a page, and the page of a bare `.lambdas` of Java Maxent."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import ROOT
from terminal import fail, rows, succeed

SAMPLE = ROOT / "sample_data"
JAVA = ROOT / "tests" / "models" / "java"
NAME = "Virtualis_montanus"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("metadata") / "run"
    ways = ("--species", "Virtualis montanus", "--fc", "lq", "--no-curves", "--points", "300", "--folds", "2")
    inputs = (SAMPLE / "occurrences.csv", SAMPLE / "layers", "--categorical", "landcover", "--no-report")
    succeed("fit", *inputs, *ways, "--no-map-picture", "--threshold", "10p", "--metadata", "-o", folder)
    return folder


def odmap(path: Path) -> dict[tuple[str, str, str], str]:
    return {(row["section"], row["subsection"], row["element"]): row["Value"] for row in rows(path)}


def test_odmap_has_every_element_of_the_protocol(run):
    table = rows(run / f"{NAME}_odmap.csv")
    assert list(table[0]) == ["section", "subsection", "element", "Value"], "as the ODMAP application reads it"
    assert len(table) == 84
    found = odmap(run / f"{NAME}_odmap.csv")
    assert found["Overview", "Focal Taxon", "Focal Taxon"] == "Virtualis montanus"
    assert "occurrences.csv" in found["Data", "Biodiversity data", "Data sources"]
    assert "Validation AUC" in found["Assessment", "Performance statistics", "Performance on validation data"]
    assert "2 folds" in found["Data", "Data partitioning", "Validation data"]
    assert "linear, quadratic" in found["Model", "Model settings", "Model settings (fitting)"]
    assert found["Overview", "Authorship", "Author names"] == "", "to be completed by the authors"
    assert "author" not in " ".join(found.values()).replace("to be assessed by the authors", "")
    whole = json.loads((run / f"{NAME}_odmap.json").read_text(encoding="utf-8"))
    assert [entry["value"] for entry in whole["entries"]] == [row["Value"] for row in table]


def test_rmm_has_the_names_of_enmeval(run):
    table = rows(run / f"{NAME}_rmm.csv")
    assert list(table[0]) == ["field1", "field2", "field3", "entity", "value"]
    places = [[row[f"field{k}"] for k in (1, 2, 3)] for row in table]
    found = {"$".join([*(part for part in place if part != "NA"), row["entity"]]): row["value"]
             for place, row in zip(places, table)}  # fmt: skip
    assert found["model$algorithm$maxent$featureSet"] == "LQ"
    assert found["model$algorithm$maxent$regularizationMultiplierSet"] == "1"
    assert found["data$occurrence$presenceSampleSize"] == "150"
    assert found["model$partition$numberFolds"] == "2"
    assert found["prediction$binary$thresholdRule"] == "10p"
    assert 0.5 < float(found["assessment$trainingDataStats$AUC"]) < 1
    layers = sorted(path.stem for path in (SAMPLE / "layers").glob("*.tif"))
    assert found["data$environment$variableNames"].split("; ") == layers


def test_metadata_of_stored_results(run, tmp_path):
    copy = shutil.copytree(run, tmp_path / "copy")
    first = (copy / f"{NAME}_odmap.csv").read_text()
    (copy / f"{NAME}_odmap.csv").unlink()
    said = succeed("report", copy, "--metadata").output
    assert f"{NAME}_odmap.csv" in said
    assert (copy / f"{NAME}_odmap.csv").read_text() == first


def test_the_page_of_a_model_of_java_maxent(tmp_path):
    """Java's own page stays; what its tables tell is shown, and nothing is said of what they do not tell."""
    for path in JAVA.glob("default*"):
        name = path.name.replace("default_maxentResults", "maxentResults").replace("default", NAME)
        shutil.copyfile(path, tmp_path / name)
    (tmp_path / f"{NAME}.html").write_text("Java's page")
    head, java = (JAVA / "default_maxentResults.csv").read_text().splitlines()[:2]
    averages = "Predictor variable,Categorical,Sample average\nelevation,false,1132.36\nlandcover,true,2.0\n"
    averages += "precipitation,false,1000\nseasonality,false,5\nslope,false,3\ntemperature,false,8\nwetness,false,6\n"
    (tmp_path / f"{NAME}_sampleAverages.csv").write_text(averages)
    model = tmp_path / f"{NAME}.lambdas"
    said = succeed("report", model, "--metadata").output.splitlines()
    assert [Path(line).name for line in said][:2] == [f"{NAME}_sdm.html", f"{NAME}_sdm_curves.csv"]
    assert (tmp_path / f"{NAME}.html").read_text() == "Java's page"
    page = (tmp_path / f"{NAME}_sdm.html").read_text(encoding="utf-8")
    assert "fitted by Java Maxent" in page
    assert "Response to temperature" in page
    assert "10 percentile training presence" in page
    contribution = dict(zip(head.split(","), java.split(",")))["temperature contribution"]
    assert f"{float(contribution):.3g}" in page
    found = odmap(tmp_path / f"{NAME}_sdm_odmap.csv")
    assert found["Data", "Biodiversity data", "Cleaning"] == ""
    assert found["Model", "Model settings", "Model settings (extrapolation)"] == ""
    assert len({row["variable"] for row in rows(tmp_path / f"{NAME}_sdm_curves.csv")}) == 7
    (tmp_path / "bad.lambdas").write_text("no model")
    assert "bad.lambdas" in fail("report", tmp_path / "bad.lambdas")
