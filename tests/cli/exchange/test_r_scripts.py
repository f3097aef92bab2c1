"""Command lines that R packages write for maxent.jar, run as they are but for the program's name; and an R script."""

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rasterio
from conftest import ROOT
from terminal import rows, succeed

SAMPLE = ROOT / "sample_data"
NAME = "Virtualis_montanus"
# As `kuenm_cal` of kuenm 1.1 writes its candidate models, one line each.
KUENM = (
    "java -Xmx500m -jar ./maxent.jar environmentallayers=./M_variables/Set_1 samplesfile=./Sp_joint.csv "
    "outputdirectory=./Candidate_models/M_0.1_F_lq_Set_1_all betamultiplier=0.1 autofeature=false linear=true "
    "quadratic=true product=false threshold=false hinge=false extrapolate=false doclamp=false replicates=1 "
    "replicatetype=Crossvalidate responsecurves=false jackknife=false plots=false pictures=false outputformat=raw "
    "warnings=false visible=false redoifexists autorun"
)
# As `BIOMOD_Modeling` of biomod2 calls it, with samples in tables, and all options of its default.
BIOMOD2 = (
    'java -mx512m -jar maxent.jar environmentallayers="m/Back_swd.csv" samplesfile="m/Presence_swd.csv" '
    'projectionlayers="m/Predictions_swd.csv" outputdirectory="m/outputs" outputformat=logistic redoifexists '
    "visible=FALSE linear=TRUE quadratic=TRUE product=TRUE threshold=FALSE hinge=FALSE lq2lqptthreshold=80 "
    "l2lqthreshold=10 hingethreshold=15 beta_threshold=-1 beta_categorical=-1 beta_lqp=-1 beta_hinge=-1 "
    "betamultiplier=1 defaultprevalence=0.5 maximumiterations=200 togglelayertype=soil autorun nowarnings notooltips "
    "noaddsamplestobackground"
)
# As `maxent` of dismo calls it, with tables that have no ending; the words after them are those of SDMtune.
DISMO = (
    "java -cp maxent.jar density.MaxEnt autorun -e run/absence -o run -s run/presence -z noaddsamplestobackground "
    "removeduplicates=false betamultiplier=2 noautofeature linear quadratic noproduct nohinge nothreshold "
    "maximumiterations=500 -P -J"
)


def run(command: str) -> str:
    """Run a command line of maxent.jar with another program's name."""
    words = shlex.split(
        re.sub(r"^java .*?(maxent\.jar|density\.MaxEnt) ", "", command.replace("density.MaxEnt", "", 1))
    )
    return succeed("maxent", *words).output


def tables(folder: Path) -> dict[str, np.ndarray]:
    """Samples with data of a species of two variables and a category."""
    folder.mkdir()
    rng = np.random.default_rng(2)
    here, there = (
        np.column_stack([rng.normal(mean, 1, (n, 2)), rng.integers(1, 4, n)]) for mean, n in ((1, 40), (0, 300))
    )
    return {"presence": here, "background": there}


def write(path: Path, name: str, values: np.ndarray) -> None:
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["species", "longitude", "latitude", "heat", "rain", "soil"])
        writer.writerows([name, k, k % 7, *row] for k, row in enumerate(values))


@pytest.mark.thorough
def test_candidate_models_of_kuenm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    layers = tmp_path / "M_variables" / "Set_1"
    layers.mkdir(parents=True)
    for name in ("temperature", "precipitation"):
        with rasterio.open(SAMPLE / "layers" / f"{name}.tif") as source:
            profile = {**source.profile, "driver": "AAIGrid", "dtype": "float32", "nodata": -9999.0}
            values = source.read(1, masked=True).astype("float32").filled(-9999.0)
        for key in ("tiled", "blockxsize", "blockysize", "compress", "interleave", "photometric", "predictor"):
            profile.pop(key, None)
        with rasterio.open(layers / f"{name}.asc", "w", **profile) as out:
            out.write(values, 1)
    lines = (SAMPLE / "occurrences.csv").read_text().splitlines()
    own = [line for line in lines[1:] if line.startswith("Virtualis montanus")]
    (tmp_path / "Sp_joint.csv").write_text("\n".join([lines[0], *own]) + "\n")
    run(KUENM)
    made = tmp_path / "Candidate_models" / "M_0.1_F_lq_Set_1_all"
    expected = {f"{NAME}.asc", f"{NAME}.lambdas", f"{NAME}_omission.csv", f"{NAME}_samplePredictions.csv"}
    assert {*expected, "maxentResults.csv"} <= {path.name for path in made.iterdir()}, "what kuenm_ceval reads"
    with rasterio.open(made / f"{NAME}.asc") as source:
        raw = source.read(1, masked=True)
    assert 0 < raw.max() < 1
    (row,) = rows(made / "maxentResults.csv")
    assert int(row["#Training samples"]) == 150
    assert len([line for line in (made / f"{NAME}.lambdas").read_text().splitlines() if "^2" in line]) == 2


@pytest.mark.thorough
def test_maxent_of_biomod2(tmp_path, monkeypatch):
    """What it reads afterwards: predictions for the table of all points, on the logistic scale."""
    monkeypatch.chdir(tmp_path)
    own = tables(tmp_path / "m")
    write(tmp_path / "m" / "Presence_swd.csv", "Ursus", own["presence"])
    write(tmp_path / "m" / "Back_swd.csv", "background", own["background"])
    write(tmp_path / "m" / "Predictions_swd.csv", "predict", np.vstack([*own.values()]))
    run(BIOMOD2)
    made = tmp_path / "m" / "outputs"
    predicted = rows(made / "Ursus_Predictions_swd.csv")
    assert len(predicted) == 340
    values = np.array([float(list(row.values())[-1]) for row in predicted])
    assert np.all((values > 0) & (values < 1))
    assert values[:40].mean() > values[40:].mean() + 0.2
    (row,) = rows(made / "maxentResults.csv")
    assert row["#Background points"] == "300", "presences do not join the background"
    assert "Maximum training sensitivity plus specificity Logistic threshold" in row


@pytest.mark.thorough
def test_maxent_of_dismo_and_sdmtune(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = tables(tmp_path / "run")
    write(tmp_path / "run" / "presence", "species", own["presence"])
    write(tmp_path / "run" / "absence", "background", own["background"])
    run(DISMO)
    assert {"species.lambdas", "maxentResults.csv", "species.html", "plots"} <= {
        p.name for p in (tmp_path / "run").iterdir()
    }
    (row,) = rows(tmp_path / "run" / "maxentResults.csv")
    names = [name for name in row if name.startswith("Training gain with")]
    assert names == [
        f"Training gain {word} {name}" for word in ("without", "with only") for name in ("heat", "rain", "soil")
    ]
    assert list(row).index(names[0]) < list(row).index("Entropy"), "where Java Maxent has them"
    assert float(row["heat contribution"]) > 0


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed (Rscript)")
def test_the_r_script_of_the_documentation_runs(tmp_path):
    """It calls sdm, and reads its tables; base R alone."""
    (script,) = re.findall(
        r"```r\n(.*?)```", (ROOT / "docs" / "how-to" / "coming_from.md").read_text(encoding="utf-8"), re.DOTALL
    )
    shutil.copyfile(SAMPLE / "occurrences.csv", tmp_path / "records.csv")
    shutil.copytree(SAMPLE / "layers", tmp_path / "layers")
    (tmp_path / "script.R").write_text(script)
    paths = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["Rscript", "script.R"], cwd=tmp_path, env=paths, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "chosen: fc.L" in done.stdout
    assert "temperature" in done.stdout, "the most important variable"
    assert (tmp_path / "tuned" / "tune.csv").is_file()
