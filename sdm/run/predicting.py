"""A model file on a folder of layers."""

from collections.abc import Sequence
from pathlib import Path

from sdm.data.area import StudyArea
from sdm.data.layers import Stack, open_stack
from sdm.errors import OptionError, OutputError
from sdm.files import refuse_existing
from sdm.model import SCALES, Model
from sdm.modelfile import load_model
from sdm.predict import Progress, RasterSummary, predict_raster

MAP_SCALES = tuple(scale for scale in SCALES if scale != "link")


def predict_files(
    model: str | Path,
    layers: Sequence[str],
    output: str | Path,
    *,
    scale: str = "cloglog",
    clamp: bool = True,
    threshold: str | float | None = None,
    area: str | Path | None = None,
    nodata: float | None = None,
    align: str | None = None,
    threads: int = 2,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> tuple[RasterSummary, list[str]]:
    """Write a map of a model file over layers; return what was written and what the user should be told."""
    if scale not in MAP_SCALES:
        raise OptionError(f"scale={scale!r}: expected one of {', '.join(MAP_SCALES)}")
    output = Path(output)
    refuse_existing(output, overwrite=overwrite)
    if output.is_dir():
        raise OutputError(f"{output} is a folder: give the name of a file, such as {output / 'map.tif'}")
    if not output.parent.is_dir():
        raise OutputError(f"the folder {output.parent} does not exist: make it, or choose another name")
    loaded = load_model(model)
    stack = open_for(loaded, layers, nodata=nodata, align=align)
    study_area = None if area is None else StudyArea.read(area, stack.crs)
    if study_area is not None:
        study_area.check(stack)
    summary = predict_raster(
        loaded,
        stack,
        output,
        scale=scale,
        clamp=clamp,
        threshold=None if threshold is None else threshold_on_scale(loaded, threshold, scale),
        study_area=study_area,
        threads=threads,
        tags={"species": str(loaded.meta.get("species", ""))},
        progress=progress,
    )
    return summary, list(stack.notices)


def open_for(model: Model, layers: Sequence[str], *, nodata: float | None = None, align: str | None = None) -> Stack:
    """Open the layers that a model needs, in its order."""
    return open_stack(
        list(layers) if len(layers) > 1 else layers[0],
        categorical=[variable.name for variable in model.variables if variable.categorical],
        nodata=nodata,
        align=align,
        names=model.names,
    )


def threshold_on_scale(model: Model, threshold: str | float, scale: str) -> float:
    """Return a threshold on an output scale: a number as it is, a name as the model's fit defined it."""
    try:
        return float(threshold)
    except ValueError:
        pass
    known = model.meta.get("thresholds", {})
    if threshold not in known:
        listed = ", ".join(known) or "none (the model was not fitted by 'sdm fit')"
        raise OptionError(f"threshold={threshold!r}: expected a number, or one that the model has: {listed}")
    return float(model.from_raw(known[threshold], scale))
