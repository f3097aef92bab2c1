"""Model files of Java Maxent: its own predictions come back, and models of ours go there and back."""

import csv
from pathlib import Path

import numpy as np
import pytest
import rasterio
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from java import java_raw
from strategies import seeds

from sdm import ConditionalMaxent, Maxent, StructMaxent, load_model, save_model
from sdm.errors import ModelFileError, OptionError, OutputError
from sdm.features.terms import KINDS, Terms
from sdm.models import lambdas
from sdm.models.file import convert_model, kind_of
from sdm.models.interface import ModelVariable
from sdm.models.lambdas import lambdas_text, parse_lambdas
from sdm.models.species import SCALES, Model

JAVA = Path(__file__).parent / "java"
SAMPLE = ROOT / "sample_data"


def at_points(names, folder, xy):
    """Values of the sample layers at coordinates, one array per variable, in Java's single precision."""
    columns = []
    for name in names:
        with rasterio.open(SAMPLE / folder / f"{name}.tif") as layer:
            columns.append(np.array([value[0] for value in layer.sample(xy)], dtype=np.float32))
    return columns


def everywhere(names, folder):
    """Values of the sample layers at all cells."""
    columns = []
    for name in names:
        with rasterio.open(SAMPLE / folder / f"{name}.tif") as layer:
            columns.append(layer.read(1, masked=True).astype(np.float32).filled(np.nan).ravel())
    return columns


@pytest.mark.parametrize("run, scale", [("default", "Cloglog"), ("lqpht", "Cloglog"), ("logistic", "Logistic")])
def test_predictions_at_the_samples_are_javas(run, scale):
    model = load_model(JAVA / f"{run}.lambdas")
    rows = list(csv.DictReader((JAVA / f"{run}_samplePredictions.csv").read_text().splitlines()))
    columns = at_points(model.names, "layers", [(float(row["X"]), float(row["Y"])) for row in rows])
    raw = [float(row["Raw prediction"]) for row in rows]
    np.testing.assert_allclose(model.predict_columns(columns, "raw"), raw, rtol=1e-9)
    shown = [float(row[f"{scale} prediction"]) for row in rows]
    np.testing.assert_allclose(model.predict_columns(columns, scale.lower()), shown, rtol=0, atol=1e-9)


def test_the_cumulative_scale_is_read_from_the_table_beside(tmp_path):
    model = load_model(JAVA / "lq.lambdas")
    rows = list(csv.DictReader((JAVA / "lq_samplePredictions.csv").read_text().splitlines()))
    columns = at_points(model.names, "layers", [(float(row["X"]), float(row["Y"])) for row in rows])
    expected = [float(row["Cumulative prediction"]) for row in rows]
    # Java interpolates here in the whole distribution, and in the table, which is thinned, when it projects
    np.testing.assert_allclose(model.predict_columns(columns, "cumulative"), expected, atol=0.6)
    table = model.cumulative
    np.testing.assert_allclose(model.from_raw(table[:, 0], "cumulative"), table[:, 1])
    assert model.from_raw(table[1, 0] / 2, "cumulative") == pytest.approx(table[1, 1] / 2)  # as Java below the first
    alone = tmp_path / "alone.lambdas"
    alone.write_bytes((JAVA / "lq.lambdas").read_bytes())
    with pytest.raises(OptionError, match=r"_omission\.csv"):
        load_model(alone).predict_columns(columns, "cumulative")


def test_thresholds_are_read_from_the_tables_beside(tmp_path):
    """Two exactly, from the predictions at training records; the others as Java writes them, with four digits."""
    for ending in (".lambdas", "_samplePredictions.csv"):
        (tmp_path / f"Virtualis_montanus{ending}").write_bytes((JAVA / f"default{ending}").read_bytes())
    path = tmp_path / "Virtualis_montanus.lambdas"
    assert list(load_model(path).meta["thresholds"]) == ["mtp", "10p"]
    (tmp_path / "maxentResults.csv").write_bytes((JAVA / "default_maxentResults.csv").read_bytes())
    model = load_model(path)
    cloglog = {key: float(model.from_raw(raw, "cloglog")) for key, raw in model.meta["thresholds"].items()}
    assert cloglog == pytest.approx({"mtp": 0.0529, "10p": 0.2414, "equal": 0.4656, "maxsss": 0.2785}, abs=6e-5)
    assert cloglog["mtp"] == pytest.approx(0.05293695354357186, rel=1e-12)
    (tmp_path / "maxentResults.csv").write_text("nothing")
    assert list(load_model(path).meta["thresholds"]) == ["mtp", "10p"]


@pytest.mark.parametrize(
    "folder, scale, clamp",
    [("default", "cloglog", True), ("lqpht_converged_raw_noclamp", "raw", False),
     ("replicates4_logistic_rm2", "logistic", True), ("lq_cumulative_noextrapolate_test25", "cumulative", True)],
)  # fmt: skip
def test_predictions_are_the_grids_of_java(shared, folder, scale, clamp):
    """Java writes six digits."""
    grids = np.load(shared / "reference" / "sample" / folder / "grids.npz")
    for path in sorted((shared / "reference" / "sample" / folder).glob("*.lambdas")):
        model = load_model(path)
        for where, ending in (("layers", ""), ("warmer", "_warmer")):
            java, columns = grids[path.stem + ending].ravel(), everywhere(model.names, where)
            ours = model.predict_columns(columns, scale, clamp)
            np.testing.assert_array_equal(np.isnan(ours), java == -9999)
            if "noextrapolate" in folder:
                ours = np.where(model.training_range.outside(columns), 0.0, ours)
            known = java != -9999
            np.testing.assert_allclose(ours[known], java[known], rtol=6e-6, atol=1e-12)


def test_a_reader_of_another_hand_says_the_same(shared):
    for name in ("java_auto", "java_lqph_converged"):
        path = shared / "reference" / f"{name}.lambdas"
        model, rng = load_model(path), np.random.default_rng(3)
        table = {
            a.name: rng.choice(a.classes, 300) if a.categorical else rng.uniform(a.lo, a.hi, 300)
            for a in model.variables
        }
        np.testing.assert_allclose(model.predict(table, "raw", clamp=False), java_raw(path, table), rtol=1e-9)


def random_model(rng, size):
    """A model of all kinds of features, with weights and ranges as a fit has them, and others."""
    lo, hi = rng.normal(size=3) * 10.0 ** rng.integers(-3, 4, 3), np.empty(3)
    hi[:] = lo + rng.uniform(0.1, 5, 3) * 10.0 ** rng.integers(-2, 3, 3)
    parts = []
    for _ in range(size):
        kind, v = int(rng.integers(len(KINDS))), int(rng.integers(3))
        a, b = np.sort(rng.uniform(lo[v], hi[v], 2))
        more = {"weight": np.array([rng.normal() * 3]), "lo": lo[v : v + 1], "hi": hi[v : v + 1]}
        match KINDS[kind]:
            case "quadratic":
                more |= {"lo": np.array([a * a]), "hi": np.array([a * a + b - a + 1e-3])}
            case "product":
                more |= {"other": np.array([(v + 1) % 3]), "lo": np.array([a]), "hi": np.array([b + 1e-3])}
            case "forward":
                more |= {"knot": np.array([a]), "lo": np.array([a])}
            case "reverse":
                more |= {"knot": np.array([b]), "hi": np.array([b])}
            case "threshold":
                more |= {"knot": np.array([a]), "lo": np.zeros(1), "hi": np.ones(1)}
            case "category":
                v, more = 3, {"knot": rng.choice([1.0, 2.0, 7.0], 1), "weight": more["weight"]}
        parts.append(Terms.build(kind, np.array([v]), **more))
    terms = Terms.concatenate(parts) if parts else Terms.build(0, np.empty(0, dtype=int))
    raw = np.sort(rng.random(30)) / 40
    variables = (
        *(ModelVariable(f"bio{v + 1}", False, float(lo[v]), float(hi[v])) for v in range(3)),
        ModelVariable("soil type", True, 1.0, 7.0, (1.0, 2.0, 7.0)),
    )
    table = np.column_stack([raw, 100 * np.cumsum(raw) / raw.sum()])
    return Model(variables, terms, 1.0, rng.normal() * 5, int(rng.integers(1, 20_000)), rng.normal() + 7, 0.5, table)


def same_predictions(model, again, x, scales=SCALES):
    for scale in scales:
        for clamp in (True, False):
            np.testing.assert_allclose(
                again.predict(x, scale, clamp), model.predict(x, scale, clamp), rtol=1e-12, atol=1e-12
            )


@given(seeds, st.integers(0, 30))
def test_any_model_comes_back(seed, size):
    """Weights of one category, or the same linear feature twice, are one line each way; predictions are the same."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, size)
    again = parse_lambdas(lambdas_text(model), model.cumulative)
    assert again.names == model.names
    assert again.variables == model.variables
    assert again.n_domain == model.n_domain
    x = np.column_stack([rng.uniform(a.lo - 1, a.hi + 1, 40) for a in model.variables[:3]] + [rng.integers(1, 8, 40)])
    span = np.abs(model.compiled.scores(list(x.T), False)).max(initial=0.0)
    for clamp in (True, False):
        tolerance = 1e-12 * max(1.0, span)
        ours, theirs = (one.predict(x, "link", clamp) for one in (model, again))
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=tolerance)
    assert lambdas_text(again) == lambdas_text(parse_lambdas(lambdas_text(again), model.cumulative))


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(5)
    x = {"heat": rng.normal(size=300) * 9, "rain": rng.random(300) * 900 + 100, "soil": rng.integers(1, 5, 300)}
    y = np.repeat([1, 0], [100, 200])
    return Maxent("lqpht", knots=8, categorical=["soil"]).fit(x, y).model_, x


def test_a_fit_goes_to_java_and_back(fitted, tmp_path):
    model, x = fitted
    save_model(model, tmp_path / "oak.lambdas")
    assert kind_of(tmp_path / "oak.lambdas") == "species"
    again = load_model(tmp_path / "oak.lambdas")
    wide = {"heat": x["heat"] * 1.5, "rain": x["rain"] * 1.2 - 60, "soil": x["soil"] + 1}  # beyond what was seen
    same_predictions(model, again, x)
    same_predictions(model, again, wide)
    assert {"quadratic", "product", "forward", "reverse", "category"} <= {KINDS[k] for k in again.terms.kind}
    last = (tmp_path / "oak.lambdas").read_text().splitlines()[-4:]
    assert [line.split(",")[0] for line in last] == [
        "linearPredictorNormalizer", "densityNormalizer", "numBackgroundPoints", "entropy",
    ]  # fmt: skip
    top = float(last[0].split(",")[1])
    assert top == pytest.approx(model.compiled.scores([np.asarray(x[name]) for name in model.names]).max(), abs=1e-6)


def test_conversion_says_what_is_lost_and_writes_nothing_over(fitted, tmp_path):
    model, x = fitted
    save_model(model, tmp_path / "oak.npz")
    assert any("novelty" in line for line in convert_model(tmp_path / "oak.npz", tmp_path / "oak.lambdas"))
    with pytest.raises(OutputError, match="exists already"):
        convert_model(tmp_path / "oak.npz", tmp_path / "oak.lambdas")
    assert convert_model(tmp_path / "oak.lambdas", tmp_path / "back.npz") == []
    same_predictions(model, load_model(tmp_path / "back.npz"), x)
    with pytest.raises(OutputError, match=r"\.npz or \.lambdas"):
        convert_model(tmp_path / "oak.npz", tmp_path / "oak.txt")


def test_what_java_cannot_hold_is_refused(tmp_path):
    rng = np.random.default_rng(2)
    x = {"heat": rng.normal(size=80), "rain": rng.random(80)}
    y = ((x["heat"] > 0) & (x["rain"] > 0.5)).astype(int)
    soil = rng.choice(["clay", "peat"], 80)
    for model, why in (
        (Maxent("lq", entropy=1.5).fit(x, y), "Tsallis"),
        (StructMaxent("trees:2").fit(x, y), "trees"),
        (Maxent("lq", categorical=["soil"]).fit({**x, "soil": soil}, y), "text"),
        (Maxent("l").fit({"heat*2": x["heat"]}, y), "rename"),
        (ConditionalMaxent("l", folds=2).fit(x, soil), "class"),
    ):
        with pytest.raises(OutputError, match=why):
            save_model(model.model_, tmp_path / "no.lambdas")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text, match",
    [
        ("", "linearPredictorNormalizer"),
        ("rain, 1.0, 0.0\n", "line 1"),
        ("rain, one, 0.0, 2.0\n", "line 1"),
        ("rain^p, 1.0, 0.0, 2.0\n", "polyhedral"),
        ("rain^2, 1.0, 0.0, 2.0\nEND", "range of 'rain'"),
        ("rain, 1.0, 2.0, 2.0\nEND", "computed with"),
        ("rain, 1.0, NaN, 2.0\nEND", "rain"),
        ("(soil=1.0), 1.0, 0.0, 1.0\nsoil, 1.0, 0.0, 1.0\nEND", "categorical"),
        ("rain, 1.0, 0.0, 2.0\nlinearPredictorNormalizer, 0\ndensityNormalizer, 0\nnumBackgroundPoints, 0\nentropy, 1",
         "densityNormalizer"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused_in_one_line(tmp_path, text, match):
    end = "linearPredictorNormalizer, 0.0\ndensityNormalizer, 10.0\nnumBackgroundPoints, 10\nentropy, 2.0\n"
    path = tmp_path / "bad.lambdas"
    path.write_text(text.replace("END", end))
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert "bad.lambdas" in str(caught.value)
    with pytest.raises(ModelFileError, match="does not exist"):
        load_model(tmp_path / "none.lambdas")


def test_a_file_of_many_variables_costs_their_number():
    """A file from anybody must not stop the program: the work is counted in comparisons of names."""
    compared = []

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            compared.append(self)
            return str(self) == other

    features = [lambdas._Feature(lambdas.LINEAR, (Name(f"v{k}"),), 0.1, 0.0, 1.0) for k in range(1000)]
    model = lambdas._model(features, dict.fromkeys(lambdas.CONSTANTS, 1.0), np.empty((0, 2)))
    assert len(model.names) == 1000
    assert len(compared) < 20_000
