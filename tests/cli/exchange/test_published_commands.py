"""Command lines of maxent.jar as they stand in documents and scripts that anybody can read; each flag must work here.

Folders are made under the names of the commands; a backslash between them is a slash.
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT
from terminal import rows, succeed

from sdm.java.flags import read_command
from sdm.java.run import run_java
from sdm.java.translation import run_options

SAMPLE = ROOT / "sample_data"
# The help page of Java Maxent, section on batch running: a command, and the same with short forms.
HELP = (
    "java -mx512m -jar maxent.jar environmentallayers=layers samplesfile=samples/bradypus.csv outputdirectory=outputs "
    "togglelayertype=ecoreg redoifexists autorun",
    "java -mx512m -jar maxent.jar -e layers -s samples/bradypus.csv -o outputs -t ecoreg -r -a",
)
# kuenm: `kuenm_mod` (github.com/marlonecobos/kuenm, R/kuenm_mod.R) writes such a line per chosen model into its batch
# file; here with two scenarios, free extrapolation and two replicates (`rep.n`).
KUENM_MOD = (
    "java -mx500m -jar ./maxent.jar environmentallayers=./layers samplesfile=./samples/bradypus.csv "
    "projectionlayers=./G_variables/Set_1/current,./G_variables/Set_1/future "
    "outputdirectory=./Final_Models/M_0.1_F_lq_Set_1_E betamultiplier=0.1 autofeature=false linear=true quadratic=true "
    "product=false threshold=false hinge=false replicates=2 replicatetype=Bootstrap jackknife=false "
    "outputformat=logistic extrapolate=true doclamp=false responsecurves=true writemess=false writeclampgrid=false "
    "warnings=false visible=false redoifexists autorun"
)
# Lines that differ from these by flags of their own.
READ = {
    # `make.args` of ENMeval 0.3.1 (rdocumentation.org), which dismo passes on
    "ENMeval": "autorun -e layers -o outputs -s samples/bradypus.csv -z noaddsamplestobackground noremoveDuplicates "
    "noautofeature nohinge noproduct nothreshold betamultiplier=0.5",
    # the example of `maxent` in dismo (man/maxent.Rd): args=c("-J", "-P")
    "dismo": "autorun -e layers -o outputs -s samples/bradypus.csv -z -J -P",
    # `maxent_call` of ntbox (R/maxent_call.R): its example, with the defaults of all its arguments
    "ntbox": "environmentallayers=layers samplesfile=samples/bradypus.csv outputdirectory=outputs linear=true "
    "quadratic=true product=true threshold=false hinge=false maximumbackground=10000 responsecurves=false "
    "pictures=true jackknife=false outputformat=cloglog randomseed=false logscale=true warnings=true "
    "askoverwrite=false skipifexists=false removeduplicates=true writeclampgrid=false writemess=false "
    "randomtestpoints=0 betamultiplier=0.1 biastype=3 perspeciesresults=false writebackgroundpredictions=false "
    "responsecurvesexponent=false addsamplestobackground=true addallsamplestobackground=false autorun=true "
    "writeplotdata=false fadebyclamping=false extrapolate=false visible=false autofeature=false doclamp=false "
    "outputgrids=true plots=true appendtoresultsfile=false maximumiterations=500 convergencethreshold=1e-05 "
    "adjustsampleradius=0 threads=1 lq2lqptthreshold=80 l2lqthreshold=10 hingethreshold=15 beta_threshold=-1 "
    "beta_categorical=-1 beta_lqp=-1 beta_hinge=-1 logfile=maxent.log cache=true defaultprevalence=0.5 verbose=false "
    "allowpartialdata=false prefixes=true nodata=-9999",
    # a job of a cluster (github.com/SergioBalaguera/EcuadorBats, maxent.sh)
    "EcuadorBats": "nowarnings noprefixes -E EcuadorBats responsecurves outputformat=raw outputdirectory=outputs "
    "outputfiletype=asc samplesfile=samples/bradypus.csv environmentallayers=layers randomseed nowarnings notooltips "
    "noaskoverwrite autorun randomtestpoints=0 jackknife=true biasfile=layers/elevation.tif replicates=100 "
    "replicatetype=crossvalidate nothreshold nohinge noautofeature nodoclamp maximumiterations=10000 biastype=3 "
    "beta_lqp=.95",
    # a batch over climate models (github.com/mjmillerlab/Batch_ENM, another_maxent_batch.sh)
    "Batch_ENM": "replicates=10 replicatetype=crossvalidate pictures=false maximumiterations=20000 -e layers "
    "projectionlayers=layers samplesfile=samples/bradypus.csv -o outputs -z nowarnings notooltips autorun randomseed",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder as the commands expect it: layers, one of them of categories, records, and two scenarios."""
    folder = tmp_path_factory.mktemp("published")
    (folder / "samples").mkdir()
    (folder / "layers").mkdir()
    for name, stem in (("temperature", "temperature"), ("elevation", "elevation"), ("landcover", "ecoreg")):
        shutil.copyfile(SAMPLE / "layers" / f"{name}.tif", folder / "layers" / f"{stem}.tif")
    for name in ("current", "future"):
        shutil.copytree(folder / "layers", folder / "G_variables" / "Set_1" / name)
    lines = (SAMPLE / "occurrences.csv").read_text().splitlines()
    own = [
        line.replace("Virtualis montanus", "bradypus") for line in lines[1:] if line.startswith("Virtualis montanus")
    ]
    (folder / "samples" / "bradypus.csv").write_text("\n".join([lines[0], *own[:60]]) + "\n")
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize("source", READ)
def test_every_flag_works(source, place, monkeypatch):
    """Read without a warning, and made into the options of a run."""
    monkeypatch.chdir(place)
    command = read_command(shlex.split(READ[source]))
    assert command.warnings == []
    assert run_options(command).occurrences.file == "samples/bradypus.csv"


@pytest.mark.thorough
def test_a_batch_of_the_help_page_runs_as_it_is(place):
    """A shell script, with a `java` of sdm first on the PATH: its second line replaces the results of the first."""
    (place / "bin").mkdir()
    succeed("maxent", "--shim", place / "bin")
    (place / "batch.sh").write_text("set -e\n" + "\n".join(HELP) + "\n")
    paths = {**os.environ, "PATH": f"{place / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "batch.sh"], cwd=place, env=paths, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (row,) = rows(place / "outputs" / "maxentResults.csv")
    assert row["Species"] == "bradypus"
    assert int(row["#Training samples"]) == 60
    lambdas = (place / "outputs" / "bradypus.lambdas").read_text()
    assert re.search(r"^\(ecoreg=", lambdas, re.MULTILINE), "a layer of categories"
    assert {"bradypus.asc", "bradypus.html"} <= {path.name for path in (place / "outputs").iterdir()}


@pytest.mark.thorough
def test_final_models_of_kuenm(place, monkeypatch):
    """What `kuenm_modstats` reads: summaries of the replicates for the layers and for every scenario."""
    monkeypatch.chdir(place)
    command = read_command(shlex.split(KUENM_MOD)[4:])
    assert command.warnings == []
    run_java(command)
    made = {path.name for path in (place / "Final_Models" / "M_0.1_F_lq_Set_1_E").iterdir()}
    for scenario in ("", "_current", "_future"):
        assert {f"bradypus{scenario}_{word}.asc" for word in ("avg", "median", "min", "max", "stddev")} <= made
    assert not any("novel" in name or "clamping" in name for name in made)
