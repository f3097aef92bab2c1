"""The map of a model of counts, and its measures elsewhere."""

from pathlib import Path
from typing import Any

import numpy as np

from counts.model import CountModel
from sdm.data.rasters.stack import Stack
from sdm.data.records.occurrences import read_occurrences
from sdm.kinds.inputs import open_for, values_at
from sdm.kinds.model_task import MapResult
from sdm.maps.rasters import NODATA, Raster, write_rasters
from sdm.options.definitions import RunOptions
from sdm.storage.commit import publishing


def map_counts(model: CountModel, stack: Stack, output: Path) -> MapResult:
    def bands(window, values):
        flat = values.reshape(len(values), -1).astype(np.float64)
        out = np.full(flat.shape[1], NODATA, dtype=np.float32)
        whole = np.isfinite(flat).all(axis=0)
        out[whole] = model.predict(flat[:, whole].T)
        return [out.reshape(values.shape[1:])]

    with publishing([output]) as (place,):
        (summary,) = write_rasters(stack, [Raster(place)], bands, [{}])
    return MapResult({"map": output}, summary.numbers, [f"written: {output}"])


def evaluate_counts(model: CountModel, options: RunOptions) -> dict[str, Any]:
    notices: list[str] = []
    records = read_occurrences(str(options.occurrences.file), columns=["count"])
    values, index = values_at(open_for(model, options.layers), records, "sites", notices)
    errors = records.numbers("count")[index] - model.predict(values)
    return {"error": float(np.sqrt(np.mean(errors**2))), "notices": notices}
