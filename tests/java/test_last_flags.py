"""Flags of maxent.jar that few people know: what each does is what Java Maxent 3.4.4 does with it."""

import csv
from pathlib import Path

import numpy as np
import pytest
import rasterio
from conftest import ROOT

from sdm.errors import DataError, OptionError
from sdm.java.flags import read_command
from sdm.java.outputs import average_curves
from sdm.java.run import run_java
from sdm.java.translation import replicates_by_name, run_options, sampling_effort, square_root_beta, with_plain_columns
from sdm.models.file import load_model
from sdm.report.results import read_rows

SAMPLE = ROOT / "sample_data"
NAME = "Virtualis_montanus"
INPUTS = (f"environmentallayers={SAMPLE / 'layers'}", f"samplesfile={SAMPLE / 'occurrences.csv'}", "outputdirectory=o")
SMALL = [
    "maximumbackground=400",
    "noautofeature",
    "nohinge",
    "noproduct",
    "nopictures",
    "-t",
    "landcover",
    "noaskoverwrite",
]


def write_nceas(path: Path, species: dict[str, list[tuple[str, str]]]) -> Path:
    """Write records with the columns of the NCEAS group: two before the place, one after it."""
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["number", "spid", "group", "date", "x", "y", "note"])
        writer.writerows(
            [k, name, "plants", "1999", *place, ""] for name, own in species.items() for k, place in enumerate(own)
        )
    return path


@pytest.fixture(scope="module")
def effort(tmp_path_factory) -> Path:
    """Effort that falls from west to east."""
    path = tmp_path_factory.mktemp("effort") / "effort.tif"
    with rasterio.open(SAMPLE / "layers" / "elevation.tif") as source:
        profile = source.profile | {"dtype": "float32", "nodata": -9999.0}
        values = np.tile(np.linspace(4, 1, source.width, dtype=np.float32), (source.height, 1))
    with rasterio.open(path, "w", **profile) as out:
        out.write(values, 1)
    return path


@pytest.fixture(scope="module")
def done(tmp_path_factory, effort):
    """Two replicates that come as species of their own, in NCEAS's columns, with test records; everything else too."""
    folder = tmp_path_factory.mktemp("flags")
    places = [
        (row["longitude"], row["latitude"])
        for row in read_rows(SAMPLE / "occurrences.csv")
        if row["species"] == "Virtualis montanus"
    ]
    train = {"Virtualis montanus_0": places[:45], "Virtualis montanus_1": places[45:90]}
    test = {"Virtualis montanus_0": places[45:90], "Virtualis montanus_1": places[:45]}
    words = [
        f"environmentallayers={SAMPLE / 'layers'}", f"outputdirectory={folder / 'out'}", "nceas",
        f"samplesfile={write_nceas(folder / 'train.csv', train)}",
        f"testsamplesfile={write_nceas(folder / 'test.csv', test)}",
        *["manualreplicates", "replicates=2", "responsecurves", "responsecurvesexponent", "writeplotdata"],
        *["minclamping", "dosqrtcat", f"debiasaverages={effort}", f"projectionlayers={SAMPLE / 'warmer'}", *SMALL],
    ]  # fmt: skip
    return run_java(read_command(words))


@pytest.mark.thorough
def test_manual_replicates_are_replicates(done):
    """Species called `_0` and `_1` are models of their own, with a row of averages and maps over both."""
    table = read_rows(done.folder / "maxentResults.csv")
    assert [row["Species"] for row in table] == [f"{NAME}_0", f"{NAME}_1", f"{NAME} (average)"]
    assert [(row["#Training samples"], row["#Test samples"]) for row in table[:2]] == [("45", "45")] * 2
    made = {path.name for path in done.folder.iterdir()}
    assert {f"{NAME}_{word}.asc" for word in ("0", "1", "avg", "stddev", "warmer_avg")} <= made
    assert not done.warnings
    models = {name: name for name in ("a_0", "a_1", "b_0", "c", "a_2")}
    assert replicates_by_name(models, 3) == {"a": ["a_0", "a_1", "a_2"], "b_0": ["b_0"], "c": ["c"]}
    assert replicates_by_name(models, 1)["a_0"] == ["a_0"], "replicates are asked for by their number"
    options = [run_options(read_command([*INPUTS, "randomtestpoints=20", "replicates=2", *more.split()]))
               for more in ("manualreplicates", "manualreplicates subsample", "subsample")]  # fmt: skip
    assert [one.test.percent for one in options] == [0, 20, 0], "folds have tests of their own"


def test_tables_of_the_nceas_group_are_read_by_place(done, tmp_path):
    """Species in column 2, x and y in columns 5 and 6; variables from column 8."""
    plain = read_rows(done.folder / "train_columns.csv")
    assert list(plain[0]) == ["species", "x", "y"]
    assert len(plain) == 90
    table = tmp_path / "swd.csv"
    table.write_text("a,spid,b,c,x,y,d,heat\n1,Ursus,?,?,2.5,3,?,7\n")
    command = with_plain_columns(read_command([f"samplesfile={table}", f"outputdirectory={tmp_path}", "-f"]))
    assert read_rows(Path(command["samplesfile"])) == [{"species": "Ursus", "x": "2.5", "y": "3", "heat": "7"}]
    with pytest.raises(DataError, match="has 3 columns, and nceas needs"):
        with_plain_columns(read_command([f"samplesfile={SAMPLE / 'occurrences.csv'}", "nceas", "outputdirectory=o"]))


def test_curves_of_the_exponent(done):
    """The score at every value less that at the left end, and of a category less that of an unknown one."""
    model = load_model(done.folder / f"{NAME}_0.lambdas")
    averages = {row["Predictor variable"]: float(row["Sample average"])
                for row in read_rows(done.folder / f"{NAME}_0_sampleAverages.csv")}  # fmt: skip
    for variable, start in (("temperature", None), ("landcover", -1.0)):
        curve = read_rows(done.folder / "plots" / f"{NAME}_0_{variable}.dat")
        x, y = (np.array([float(row[key]) for row in curve]) for key in "xy")
        rows = {name: np.full(x.size + 1, averages[name]) for name in model.names}
        rows[variable] = np.append(x, x[0] if start is None else start)
        link = model.predict(rows, "link")
        np.testing.assert_allclose(y, link[:-1] - link[-1], atol=1e-6)
        assert np.ptp(y) > 0.1
    assert float(read_rows(done.folder / "plots" / f"{NAME}_0_temperature_only.dat")[0]["y"]) == 0


def test_numbers_of_curves_are_written(done):
    """One table per variable and model, and the mean over replicates."""
    names = {path.name for path in (done.folder / "plots").glob("*.dat")}
    variables = [path.stem for path in (SAMPLE / "layers").glob("*.tif")]
    expected = {f"{NAME}{k}_{name}{only}.dat" for k in ("_0", "_1", "") for name in variables for only in ("", "_only")}
    assert names == expected
    lines = (done.folder / "plots" / f"{NAME}_slope.dat").read_text().splitlines()
    assert (lines[0], len(lines)) == ("variable,x,y", 1002)
    one, other = (
        (np.array([0.0, 2.0]), np.array([0.0, 1.0]), False),
        (np.array([1.0, 3.0]), np.array([1.0, 2.0]), False),
    )
    (x, y, _) = average_curves([{("v", ""): one}, {("v", ""): other}])["v", ""]
    np.testing.assert_allclose(np.interp([0, 1, 2, 3], x, y), [0.5, 0.75, 1.25, 1.5], atol=1e-3)
    classes = [{("v", ""): (np.array(codes), np.array(codes) * 2.0, True)} for codes in ([1, 2], [2, 4])]
    assert average_curves(classes)["v", ""][1].tolist() == [2, 4, 8]


def test_clamping_where_it_lowers(done):
    """The projection is nowhere above the clamped or the free prediction, and is one of them everywhere."""
    model = load_model(done.folder / f"{NAME}_1.lambdas")
    columns = []
    for name in model.names:
        with rasterio.open(SAMPLE / "warmer" / f"{name}.tif") as source:
            columns.append(source.read(1, masked=True).astype(float).filled(np.nan).ravel())
    clamped, free = model.predict_columns(columns), model.predict_columns(columns, clamp=False)
    with rasterio.open(done.folder / f"{NAME}_1_warmer.asc") as source:
        found = source.read(1, masked=True).astype(float).filled(np.nan).ravel()
    known = np.isfinite(found)
    np.testing.assert_allclose(found[known], np.minimum(clamped, free)[known], rtol=1e-5)
    assert (free < clamped - 1e-3).any()
    with pytest.raises(OptionError, match="fadebyclamping and minclamping"):
        run_options(read_command([*INPUTS, "minclamping", "fadebyclamping"]))
    assert run_options(read_command([*INPUTS, "minclamping", "nodoclamp"])).predict.extrapolation == "free"


def test_averages_without_bias(done, effort):
    """Records count by one over the effort in their cells, so that the averages are those of unbiased records."""
    model = load_model(done.folder / "sdm" / "Virtualis_montanus_0" / "Virtualis_montanus_0.npz")
    assert model.meta["sampling"]["bias_treatment"] == "records"
    records = [
        row for row in read_rows(done.folder / f"{NAME}_0_samplePredictions.csv") if row["Test or train"] == "train"
    ]
    with rasterio.open(effort) as source, rasterio.open(SAMPLE / "layers" / "temperature.tif") as layer:
        places = [(float(row["X"]), float(row["Y"])) for row in records]
        strength = np.array([value[0] for value in source.sample(places)])
        heat = np.array([value[0] for value in layer.sample(places)], dtype=float)
    typical = model.reference.typical[0, model.names.index("temperature")]
    assert typical == pytest.approx(np.average(heat, weights=1 / strength), rel=1e-6)
    assert abs(typical - heat.mean()) > 1e-3


def test_what_a_bias_file_is():
    assert sampling_effort(read_command(["biasfile=e.asc"])) == ("e.asc", "prior")
    assert sampling_effort(read_command(["biasfile=e.asc", "biastype=3"])) == ("e.asc", "prior")
    assert sampling_effort(read_command(["biasfile=e.asc", "biastype=7"])) == ("e.asc", "records")
    assert sampling_effort(read_command(["biasfile=e.asc", "priordistribution=p.asc"])) == ("p.asc", "prior")
    assert sampling_effort(read_command(["factorbiasout=e.asc", "debiasaverages=d.asc"])) == ("d.asc", "records")
    with pytest.raises(OptionError, match="biastype=1: expected 3"):
        sampling_effort(read_command(["biasfile=e.asc", "biastype=1"]))
    assert "maps of Java Maxent 3.4" in read_command(["biasisbayesianprior"]).warnings[0]
    assert "a weighted sum of the linear and the quadratic feature" in read_command(["polyhedral"]).warnings[0]


def test_square_root_regularisation_of_categories(done):
    """√(β of linear features · a table from 0.2 at 10 records to 0.05 at 30); `beta_categorical` comes first."""
    assert square_root_beta("lq", 45) == pytest.approx(np.sqrt(np.interp(45, [30, 100], [0.25, 0.05]) * 0.05))
    assert square_root_beta("lqp", 5) == pytest.approx(np.sqrt(2.1 * 0.2))
    settings = load_model(done.folder / "sdm" / f"{NAME}_0" / f"{NAME}_0.npz").meta["settings"]
    assert settings["beta_categorical"] == square_root_beta("lq", 45)
