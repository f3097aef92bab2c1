"""`sdm maxent`: a command of maxent.jar on the sample data, whose results are compared with Java Maxent's."""

import csv
import os
import re
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import rasterio
from conftest import ROOT
from terminal import fail, sdm, succeed

from sdm.models.file import load_model

SAMPLE = ROOT / "sample_data"
JAVA = ROOT / "tests" / "models" / "java"
NAME = "Virtualis_montanus"
INPUTS = (
    "-e",
    SAMPLE / "layers",
    "-s",
    SAMPLE / "occurrences.csv",
    "-t",
    "landcover",
    "-E",
    "Virtualis_s",
    "-E",
    "Virtualis_a",
)


@dataclass(frozen=True)
class Done:
    folder: Path
    said: str


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Done:
    """The default run of Java Maxent, with a projection, a threshold rule and predictions at the background."""
    folder = tmp_path_factory.mktemp("maxent") / "out"
    flags = ("-a", "-z", "nowarnings", "writebackgroundpredictions", "polyhedral", "perspeciesresults")
    rule = "applythresholdrule=10 percentile training presence"
    said = succeed("maxent", *INPUTS, "-o", folder, "-j", SAMPLE / "warmer", *flags, rule).output
    return Done(folder, said)


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def grid(path: Path) -> np.ndarray:
    with rasterio.open(path) as source:
        return source.read(1, masked=True)


def test_files_have_javas_names(done):
    maps = ["", "_thresholded", "_warmer", "_warmer_clamping", "_warmer_novel", "_warmer_novel_limiting",
            "_warmer_thresholded"]  # fmt: skip
    tables = ["_omission", "_samplePredictions", "_sampleAverages", "_backgroundPredictions", "Results"]
    expected = {f"{NAME}{word}.asc" for word in maps} | {f"{NAME}{word}.csv" for word in tables}
    expected |= {f"{NAME}.lambdas", f"{NAME}.html", "maxentResults.csv", "maxent.log", "plots", "sdm"}
    assert expected <= {path.name for path in done.folder.iterdir()}
    assert not [path for path in done.folder.iterdir() if path.name.startswith(".sdm-") and path.name.endswith(".part")]
    assert (done.folder / "plots" / f"{NAME}.png").is_file()
    places = done.folder, done.folder / "sdm" / NAME
    page, own = ((place / f"{NAME}.html").read_text(encoding="utf-8") for place in places)
    assert f'href="sdm/{NAME}/{NAME}.npz"' in page
    scripts = [re.findall(r"<script.*?</script>", text, re.DOTALL) for text in (page, own)]
    assert scripts[0] == scripts[1], "the policy of the page knows their digests"


def test_what_does_not_act_is_said(done):
    assert "polyhedral=true has no effect" in done.said
    assert "autorun, visible, warnings" in done.said
    assert "polyhedral" in (done.folder / "maxent.log").read_text()


def test_results_are_those_of_java(done):
    """Java Maxent stops some hundredths of a nat before its optimum, and draws another background."""
    (ours,), (java,) = rows(done.folder / "maxentResults.csv"), rows(JAVA / "default_maxentResults.csv")
    assert list(ours) == list(java), "columns, in Java Maxent's order"
    assert ours["Species"] == java["Species"]
    assert ours["#Training samples"] == java["#Training samples"]
    assert abs(float(ours["#Background points"]) - float(java["#Background points"])) < 15
    for name, near in (("Regularized training gain", 0.03), ("Training AUC", 0.01), ("Entropy", 0.05)):
        assert float(ours[name]) == pytest.approx(float(java[name]), abs=near), name
    for name in (name for name in java if name.endswith(" contribution")):
        assert float(ours[name]) == pytest.approx(float(java[name]), abs=2), name
    averages = {row["Predictor variable"]: row for row in rows(done.folder / f"{NAME}_sampleAverages.csv")}
    assert float(averages["elevation"]["Sample average"]) == pytest.approx(1132.36)
    assert (averages["landcover"]["Categorical"], float(averages["landcover"]["Sample average"])) == ("true", 2.0)


def test_the_model_predicts_the_maps_and_tables(done):
    model = load_model(done.folder / f"{NAME}.lambdas")
    again = load_model(done.folder / "sdm" / NAME / f"{NAME}.npz")
    columns = [grid(SAMPLE / "layers" / f"{name}.tif").astype(float).filled(np.nan).ravel() for name in model.names]
    values = model.predict_columns(columns).reshape(120, 120)
    found = grid(done.folder / f"{NAME}.asc")
    np.testing.assert_allclose(values[~found.mask], found.compressed(), rtol=1e-5)
    samples = rows(done.folder / f"{NAME}_samplePredictions.csv")
    assert len(samples) == 150
    raw = [float(row["Raw prediction"]) for row in samples]
    percent = [float(row["Cumulative prediction"]) for row in samples]
    np.testing.assert_allclose(model.predict_columns(columns), again.predict_columns(columns), rtol=1e-9)
    np.testing.assert_allclose(model.from_raw(raw, "cumulative"), percent, atol=0.3)
    table = rows(done.folder / f"{NAME}_omission.csv")
    assert list(table[0]) == [
        "Raw value", "Corresponding cumulative value", "Corresponding Cloglog value", "Fractional area",
        "Training omission", "Test omission",
    ]  # fmt: skip
    background = rows(done.folder / f"{NAME}_backgroundPredictions.csv")
    assert list(background[0]) == ["x", "y", "raw", "cumulative", "Cloglog"]
    assert len(background) == 10_000


def test_projections_are_as_javas(done, shared):
    """Java's grids are of its own model; novelty depends on the training data alone."""
    java = np.load(shared / "reference" / "sample" / "default" / "grids.npz")
    novel, which = (grid(done.folder / f"{NAME}_warmer_novel{word}.asc") for word in ("", "_limiting"))
    known = ~novel.mask
    theirs = java[f"{NAME}_warmer_novel"]
    outside = known & (theirs < -1) & (novel.filled(0) < -1)
    assert np.mean((theirs < 0)[known] == (novel < 0).filled(False)[known]) > 0.995
    limiting = java[f"{NAME}_warmer_novel_limiting"]
    assert np.mean(which.filled(-1)[outside] == limiting[outside]) > 0.99
    assert np.all(which.filled(-1)[known & (novel.filled(-1) >= 0)] == 7)
    suitable = grid(done.folder / f"{NAME}_warmer.asc")
    assert np.abs(suitable.filled(0) - java[f"{NAME}_warmer"])[known].mean() < 0.03
    clamping = grid(done.folder / f"{NAME}_warmer_clamping.asc")
    assert 0 <= clamping.min() <= clamping.max() < 1


def test_results_are_replaced_only_when_asked(done):
    said = fail("maxent", *INPUTS, "-o", done.folder, "-a")
    assert "redoifexists" in said
    skipped = succeed("maxent", *INPUTS, "-o", done.folder, "-a", "-S").output
    assert "skipped" in skipped


def test_replicates_have_maps_and_rows(tmp_path):
    """Three models with their maps, what the maps have in common, and a row per model; small, to be quick."""
    records = (SAMPLE / "occurrences.csv").read_text().splitlines()[:41]
    (tmp_path / "few.csv").write_text("\n".join(records) + "\n")
    words = ("samplesfile=" + str(tmp_path / "few.csv"), f"environmentallayers={SAMPLE / 'layers'}", "replicates=3")
    small = (
        "maximumbackground=500",
        "noautofeature",
        "nohinge",
        "noproduct",
        "logistic",
        "nopictures",
        "writebackgroundpredictions",
    )
    succeed("maxent", *words, *small, "-t", "landcover", f"outputdirectory={tmp_path / 'out'}", "autorun")
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert {f"{NAME}_{k}.{end}" for k in range(3) for end in ("lambdas", "asc")} <= made
    assert {f"{NAME}_{word}.asc" for word in ("avg", "stddev", "median", "min", "max")} <= made
    assert f"{NAME}.asc" not in made
    maps = [grid(tmp_path / "out" / f"{NAME}_{k}.asc") for k in range(3)]
    np.testing.assert_allclose(np.ma.mean(maps, axis=0), grid(tmp_path / "out" / f"{NAME}_avg.asc"), atol=1e-5)
    table = rows(tmp_path / "out" / "maxentResults.csv")
    assert [row["Species"] for row in table] == [f"{NAME}_{k}" for k in range(3)] + [f"{NAME} (average)"]
    assert float(table[-1]["Test AUC"]) == pytest.approx(np.mean([float(row["Test AUC"]) for row in table[:-1]]))
    assert any(column.endswith("Logistic threshold") for column in table[0])
    assert [row["#Training samples"] for row in table[:-1]] == ["26", "27", "27"]
    assert all(row["Regularized training gain"] for row in table)
    assert (tmp_path / "out" / f"{NAME}_2.html").is_file()
    (first, *_) = rows(tmp_path / "out" / f"{NAME}_0_backgroundPredictions.csv")
    assert list(first) == ["x", "y", "raw", "cumulative", "Logistic"]
    assert 0 < float(first["Logistic"]) < 1


def test_the_shim_passes_maxent_to_sdm_and_the_rest_to_java(tmp_path):
    real, shim = tmp_path / "real", tmp_path / "shim"
    real.mkdir()
    shim.mkdir()
    (real / "java").write_text('#!/bin/sh\necho "real java: $*"\n')
    (real / "java").chmod(0o755)
    succeed("maxent", "--shim", shim)
    assert [path.name for path in shim.iterdir()] == ["java"]
    assert stat.S_IMODE((shim / "java").stat().st_mode) & 0o111
    paths = {**os.environ, "PATH": f"{shim}:{real}:{os.environ['PATH']}"}

    def java(*words: str) -> str:
        done = subprocess.run(["java", *words], env=paths, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert "real java: -jar other.jar -e x" in java("-jar", "other.jar", "-e", "x")
    assert "real java: -cp maxent.jar density.Project a b c" in java(
        "-cp", "maxent.jar", "density.Project", "a", "b", "c"
    )
    assert "for MaxEnt version 3.4.4" in java("-mx512m", "-jar", "/opt/maxent/maxent.jar", "printversion")
    assert "for MaxEnt version 3.4.4" in java("-cp", "maxent.jar", "density.MaxEnt", "printversion")
    assert "exists already" in fail("maxent", "--shim", shim)


def test_mistakes_are_one_line(tmp_path):
    assert "samplesfile is missing" in fail("maxent", code=2)
    assert "'maximumbackgroud=3'" in fail("maxent", "maximumbackgroud=3", code=2)
    assert sdm("maxent", "--help").exit_code == 0
