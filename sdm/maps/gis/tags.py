"""Metadata of rasters for a GIS: descriptions of bands, tags, units and statistics.

| tag | what it says |
|---|---|
| `species` | whose map it is |
| `what` | what the values are, such as presence or change; without it, suitability on a `scale` |
| `scale`, `units` | of the values |
| `scenario`, `field_…` | the time or place that was mapped |
| `threshold_rule`, `threshold` | the rule and the value of a cutoff |
| `statistic` | over replicates or scenarios: mean, deviation, lower, upper, … |
| `model_id`, `software` | which model made it, and which program |
| `class_N`, `variable_N`, `value_N` | what the value N stands for |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rasterio.io import DatasetWriter

from sdm.errors import NoCellError
from sdm.types import AnyArray


@dataclass(frozen=True)
class RasterSummary:
    """Number of cells, range, mean and standard deviation of a map."""

    path: Path
    cells: int
    minimum: float
    maximum: float
    mean: float
    deviation: float

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers under the names of the results."""
        return {"cells": self.cells, "min": self.minimum, "max": self.maximum, "mean": self.mean}

    @property
    def text(self) -> str:
        """The numbers as text."""
        return f"{self.cells:,} cells, {self.minimum:.4g} to {self.maximum:.4g}"


class Moments:
    """Running count, sums and range of the values of a band; `nodata` is not counted."""

    def __init__(self, nodata: float) -> None:
        self.nodata, self.sums = nodata, np.zeros(3)
        self.low, self.high = np.inf, -np.inf

    def add(self, band: AnyArray) -> None:
        """Count the values of another window."""
        values = band[band != band.dtype.type(self.nodata)].astype(np.float64)
        self.sums += np.array([values.size, values.sum(), values @ values])
        self.low = min(self.low, float(values.min(initial=np.inf)))
        self.high = max(self.high, float(values.max(initial=-np.inf)))

    def summary(self, path: Path, empty: bool = False) -> RasterSummary:
        """Return the summary of the band of a file. A band without values is an error, unless it may be `empty`."""
        count, total, squares = self.sums
        if not count and empty:
            return RasterSummary(path, 0, np.nan, np.nan, np.nan, np.nan)
        if not count:
            raise NoCellError(f"{path.name} would be empty: no cell of the layers has a value in every layer")
        mean = total / count
        deviation = float(np.sqrt(max(squares / count - mean**2, 0.0)))
        # The last digits depend on the windows, which depend on the maps written together.
        rounded = [float(f"{value:.9g}") for value in (mean, deviation)]
        return RasterSummary(path, int(count), self.low, self.high, *rounded)


UNITS = {
    "cloglog": "0 to 1",
    "logistic": "0 to 1",
    "cumulative": "percent",
    "raw": "share of the training cells",
    "probability": "0 to 1",
    "density": "relative to area",
    "species": "species",
}
PRESENCE_WORDS = {"value_0": "absent", "value_1": "present"}
_OF_WHAT = {"entropy": "nats", "richness": "species", "labeled richness": "species", "clamping": "units of the map"}


def describe_raster(file: DatasetWriter, summaries: Sequence[RasterSummary], tags: Mapping[str, str]) -> None:
    """Write tags, and the description, unit and statistics of every band."""
    unit = units_of(tags)
    file.update_tags(**tags, **({"units": unit} if unit and "units" not in tags else {}))
    for band, name in enumerate(file.descriptions, start=1):
        if not name:
            file.set_band_description(band, band_title(tags))
        if unit:
            file.set_band_unit(band, unit)
    for band, summary in enumerate(summaries, start=1):
        if summary.cells:
            numbers = summary.minimum, summary.maximum, summary.mean, summary.deviation
            names = (f"STATISTICS_{name}" for name in ("MINIMUM", "MAXIMUM", "MEAN", "STDDEV"))
            file.update_tags(band, **{name: f"{value:.9g}" for name, value in zip(names, numbers)})


def units_of(tags: Mapping[str, str]) -> str:
    """Return the unit of the values for tags; empty for values without unit, such as classes."""
    content = tags.get("what", "")
    if content in _OF_WHAT:
        return _OF_WHAT[content]
    return "" if content and content != "suitability" else UNITS.get(tags.get("scale", ""), "")


def band_title(tags: Mapping[str, str]) -> str:
    """Return the title of a band: species, content and scenario.

    Examples
    --------
    >>> band_title({"species": "Quercus robur", "scale": "cloglog", "scenario": "2050"})
    'Quercus robur: suitability (cloglog), 2050'
    """
    scale = tags.get("scale", "")
    content = tags.get("what") or ("probability" if scale == "probability" else "suitability")
    if content == "presence":
        rule, value = tags.get("threshold_rule"), tags.get("threshold")
        cut = [word for word in (rule, f"{scale} ≥ {float(value):.4g}" if value else "") if word]
        content += f" ({', '.join(cut)})" if cut else ""
    elif content == "suitability" and scale:
        content += f" ({scale})"
    if "statistic" in tags:
        content = f"{tags['statistic']} of {content}"
    whose = tags.get("species") or tags.get("title")
    return (f"{whose}: " if whose else "") + content + (f", {tags['scenario']}" if tags.get("scenario") else "")
