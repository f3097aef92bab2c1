"""A fourth kind of model is one task, one model and one estimator: the commands serve it as they are.

CONTRIBUTING.md shows this example. Counts of animals at sites, log-linear in the layers.
"""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from terminal import as_json, read, succeed, write_table

from sdm.data.encode import Encoder
from sdm.data.records.occurrences import read_occurrences
from sdm.errors import DataError
from sdm.estimators.params import Parameters
from sdm.kinds import registry
from sdm.kinds.inputs import open_layers
from sdm.kinds.model_inputs import open_for, values_at
from sdm.kinds.task import Findings, MapResult, ModelMaps, ModelResult, Prepared, Task
from sdm.maps.rasters import NODATA, write_cog
from sdm.models import file as model_files
from sdm.models.file import save_model
from sdm.models.interface import Arrays, FittedModel, Header
from sdm.options.definitions import RunOptions
from sdm.options.reading import make_options
from sdm.run.run import run
from sdm.storage.archive import Archive
from sdm.storage.commit import publishing


@dataclass(frozen=True)
class CountModel(FittedModel):
    kind: ClassVar[str] = "counts"
    called: ClassVar[str] = "model of counts"
    archive: ClassVar[Archive] = Archive("sdm-counts", 1, "model.json", "model of counts")

    scales: ClassVar[tuple[str, ...]] = ("count",)

    encoder: Encoder
    weights: np.ndarray
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def feature_names(self) -> list[str]:
        return ["(constant)", *self.names]

    def predict(self, x: Any) -> np.ndarray:
        values = self.encoder.encode(x)
        return np.exp(np.column_stack([np.ones(len(values)), values]) @ self.weights)

    @property
    def bands(self) -> tuple[str, ...]:
        return ("count",)

    def column_values(self, columns, scale: str | None = None) -> np.ndarray:
        return self.predict(np.column_stack(columns))[None]

    def description(self) -> dict[str, Any]:
        return {"weights": dict(zip(self.feature_names, self.weights.tolist()))}

    @classmethod
    def array_names(cls) -> list[str]:
        return ["weights"]

    def to_file(self) -> tuple[Header, Arrays]:
        return {"names": list(self.names), "meta": self.meta}, {"weights": self.weights}

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays) -> "CountModel":
        if arrays["weights"].shape != (1 + len(header["names"]),):
            raise ValueError("weights that no model of counts has")
        return cls(Encoder(tuple(header["names"]), (), {}), arrays["weights"], header["meta"])


class CountRegression(Parameters):
    """Poisson regression by Newton's method."""

    def __init__(self, ridge: float = 1e-6) -> None:
        self.ridge = ridge

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "CountRegression":
        encoder = Encoder.learn(X, [])
        a = np.column_stack([np.ones(len(X)), encoder.encode(X)])
        a[:, 1:] /= (scale := np.abs(a[:, 1:]).max(axis=0))
        w = np.zeros(a.shape[1])
        w[0] = np.log(y.mean())
        for _ in range(50):
            mean = np.exp(a @ w)
            w += np.linalg.solve(
                a.T @ (a * mean[:, None]) + self.ridge * np.eye(len(w)), a.T @ (y - mean) - self.ridge * w
            )
        w[1:] /= scale
        self.model_ = CountModel(encoder, w, {"status": "converged", "sites": len(X)})
        return self


@dataclass
class CountFit:
    name: str
    model: CountModel
    numbers: dict[str, Any]
    notes: list[str]


class CountTask(Task):
    kind: ClassVar[str] = "counts"
    options_of: ClassVar[str] = "species"
    called: ClassVar[str] = "a model of counts"
    command: ClassVar[str] = "sdm fit"

    def prepare(self, options: RunOptions) -> Prepared:
        stack = open_layers(options)
        records = read_occurrences(str(options.occurrences.file), columns=["count"])
        notices: list[str] = []
        values, index = values_at(stack, records, "sites", notices)
        table = pd.DataFrame(values, columns=list(stack.names)).assign(count=records.numbers("count")[index])
        parts = dict(tuple(table.groupby(records.species[index])))
        return Prepared(parts, stack=stack, notices=notices)

    def plan(self, prepared: Prepared, name: str, options: RunOptions) -> pd.DataFrame:
        if prepared.tables[name]["count"].sum() == 0:
            raise DataError(f"{name}: all counts are 0: expected some above 0")
        return prepared.tables[name]

    def fit(self, prepared: Prepared, name: str, options: RunOptions, progress: Any) -> CountFit:
        table = self.plan(prepared, name, options)
        model = CountRegression().fit(table.drop(columns="count"), table["count"].to_numpy()).model_
        return CountFit(name, model, {"status": "converged", "sites": len(table)}, [])

    def measure(self, fit: CountFit, prepared: Prepared, options: RunOptions, progress: Any) -> CountFit:
        table = prepared.tables[fit.name]
        errors = table["count"] - fit.model.predict(table.drop(columns="count"))
        return replace(fit, numbers={**fit.numbers, "deviance": float(np.var(errors))})

    def make_maps(self, fit: CountFit, prepared: Prepared, options, folder: Path, progress: Any) -> ModelMaps:
        made = self.map(fit.model, prepared.stack, folder / f"{self.file_name(fit.name)}.tif", False)
        return ModelMaps(folder, {"map": made.files["map"].name}, {"map": made.numbers})

    def write(self, measured: CountFit, prepared, options, folder: Path, files: dict[str, Any], progress) -> list[str]:
        files["model"] = save_model(measured.model, folder / f"{self.file_name(measured.name)}.npz").name
        return []

    def lines(self, result: ModelResult) -> list[str]:
        return [result.name, result.line("counts", f"{result.numbers['sites']} sites"), *result.file_lines(["map"])]

    def summary_row(self, numbers: dict[str, Any]) -> dict[str, Any]:
        return {"sites": numbers.get("sites")}

    def check(self, options: RunOptions, found: Findings) -> None:
        found.attempt(lambda: open_layers(options))

    def map_places(self, output: Path) -> list[Path]:
        return [output]

    def map(self, model: CountModel, stack, output: Path, overwrite: bool, **ways: Any) -> MapResult:
        def band(window, values):
            flat = values.reshape(len(values), -1).astype(np.float64)
            out = np.full(flat.shape[1], NODATA, dtype=np.float32)
            whole = np.isfinite(flat).all(axis=0)
            out[whole] = model.predict(flat[:, whole].T)
            return out.reshape(values.shape[1:])

        with publishing([output]) as (place,):
            summary = write_cog(stack, place, band, nodata=NODATA, dtype="float32", tags={})
        return MapResult({"map": output}, summary.numbers, [f"written: {output}"])

    def evaluate(self, model: CountModel, options: RunOptions, **ways: Any) -> dict[str, Any]:
        notices: list[str] = []
        records = read_occurrences(str(options.occurrences.file), columns=["count"])
        values, index = values_at(open_for(model, options.layers.files), records, "sites", notices)
        errors = records.numbers("count")[index] - model.predict(values)
        return {"error": float(np.sqrt(np.mean(errors**2))), "notices": notices}

    def evaluation_lines(self, numbers: dict[str, Any]) -> list[str]:
        return [f"error {numbers['error']:.4f}"]

    def info_lines(self, model: CountModel, features: int) -> list[str]:
        return [f"{name} {weight:.3g}" for name, weight in list(model.description()["weights"].items())[:features]]


@pytest.fixture
def survey(world, tmp_path: Path, monkeypatch) -> Path:
    """Counts of two species at sites; the new kind is in the two tables of kinds."""
    monkeypatch.setitem(registry.HOMES, "counts", (__name__, "CountTask"))
    monkeypatch.setattr(registry, "import_module", lambda name: __import__("sys").modules[name])
    monkeypatch.setitem(model_files.KINDS, "sdm-counts", (__name__, "CountModel"))
    monkeypatch.setattr(model_files, "import_module", lambda name: __import__("sys").modules[name])
    registry.task_for.cache_clear()
    rng = np.random.default_rng(3)
    from terminal import rows

    places = rows(world.survey)
    body = [(row["species"], row["longitude"], row["latitude"], rng.poisson(3)) for row in places]
    return write_table(tmp_path / "counts.csv", ("species", "longitude", "latitude", "count"), body)


@pytest.fixture
def names(world) -> list[str]:
    return [path.stem for path in sorted(world.layers.glob("*.tif")) if path.stem != "landcover"]


def test_a_fourth_kind_runs_in_a_batch_and_every_command_serves_it(survey, world, names, tmp_path: Path) -> None:
    files = [str(world.layers / f"{name}.tif") for name in names]
    options = make_options(
        {"occurrences.file": str(survey), "layers.files": files, "output.folder": str(tmp_path / "out")},
        {"output.report": False},
    )
    result = run(options, task=CountTask())
    assert [model.kind for model in result.models] == ["counts", "counts"]
    assert (tmp_path / "out" / "summary.csv").read_text().startswith("species,status,sites,folder,page,preview,error")
    first = result.models[0]
    assert first.folder is not None
    assert (first.folder / "run.yaml").is_file()
    model = first.folder / first.files["model"]
    assert "(constant)" in succeed("info", model).output
    succeed("predict", model, *files, "-o", tmp_path / "again.tif")
    np.testing.assert_array_equal(read(tmp_path / "again.tif"), read(first.folder / first.files["map"]))
    found = as_json("evaluate", model, "--sites", survey, *(word for file in files for word in ("--layers", file)))
    assert found["models"][0]["kind"] == "counts"
    assert found["models"][0]["numbers"]["error"] > 0


def test_options_of_other_kinds_are_refused_for_it(survey, world, names) -> None:
    model = CountRegression().fit(pd.DataFrame({"a": [1.0, 2.0, 3.0]}), np.array([1.0, 2.0, 4.0])).model_
    assert asdict(model)["weights"].shape == (2,)
    from sdm.errors import OptionError
    from sdm.kinds.model_inputs import chosen_options

    with pytest.raises(OptionError, match="--truth does not apply to a model of counts"):
        chosen_options(model, {"truth": "a.tif"}, CountTask.evaluates_with)
