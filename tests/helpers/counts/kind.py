"""The task of counts of animals."""

from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from counts.fit import CountFit, fit_counts, measure_counts
from counts.inputs import read_counts
from counts.model import CountModel
from counts.outputs import evaluate_counts, map_counts
from counts.words import count_evaluation_lines, count_info_lines, count_lines
from sdm.errors import DataError
from sdm.kinds.inputs import open_layers
from sdm.kinds.model_task import EvaluationOptions, MapOptions, MapResult
from sdm.kinds.task import Destination, Findings, ModelMaps, Prepared, Task
from sdm.models.file import save_model
from sdm.options.definitions import RunOptions
from sdm.storage.files import safe_name


class CountTask(Task[CountModel, Prepared, pd.DataFrame, CountFit, CountFit]):
    kind: ClassVar[str] = "counts"
    options_of: ClassVar[str] = "species"
    called: ClassVar[str] = "a model of counts"
    command: ClassVar[str] = "sdm fit"
    prepare = staticmethod(read_counts)
    lines = staticmethod(count_lines)
    evaluation_lines = staticmethod(count_evaluation_lines)
    info_lines = staticmethod(count_info_lines)

    def plan(self, prepared: Prepared, name: str, options: RunOptions) -> pd.DataFrame:
        if prepared.tables[name]["count"].sum() == 0:
            raise DataError(f"{name}: all counts are 0: expected some above 0")
        return prepared.tables[name]

    def fit(self, prepared: Prepared, name: str, options: RunOptions, progress: Any) -> CountFit:
        return fit_counts(name, self.plan(prepared, name, options))

    def measure(self, fit: CountFit, prepared: Prepared, options: RunOptions, progress: Any) -> CountFit:
        return measure_counts(fit, prepared.tables[fit.name])

    def make_maps(self, fit: CountFit, prepared: Prepared, options, folder: Path, progress: Any) -> ModelMaps:
        made = map_counts(fit.model, prepared.stack, folder / f"{safe_name(fit.name)}.tif")
        return ModelMaps(folder, {"map": made.files["map"].name}, {"map": made.numbers})

    def write(self, measured: CountFit, prepared: Prepared, to: Destination) -> list[str]:
        to.files["model"] = save_model(measured.model, to.folder / f"{safe_name(measured.name)}.npz").name
        return []

    def summary_row(self, numbers: dict[str, Any]) -> dict[str, Any]:
        return {"sites": numbers.get("sites")}

    def check(self, options: RunOptions, findings: Findings) -> None:
        findings.attempt(lambda: open_layers(options))

    def map_places(self, output: Path) -> list[Path]:
        return [output]

    def map(self, model: CountModel, stack, output: Path, given: MapOptions) -> MapResult:
        return map_counts(model, stack, output)

    def evaluate(self, model: CountModel, options: RunOptions, given: EvaluationOptions) -> dict[str, Any]:
        return evaluate_counts(model, options)


TASK = CountTask
