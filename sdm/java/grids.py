"""Maps under Java Maxent's names and in its formats: of the model, of projections, and over replicates."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.errors import RasterioError

from sdm.data.opening.rasters import open_local
from sdm.errors import OutputError
from sdm.kinds.inputs import is_swd
from sdm.maps.gis.formats import copy_map, map_format
from sdm.maps.rasters import BINARY_NODATA
from sdm.models.file import load_model
from sdm.run.predicting import predict_files
from sdm.run.projecting.tables import PredictionSettings
from sdm.types import Array

SUMMARIES = ("avg", "stddev", "median", "min", "max")
_NODATA = -9999.0
_BESIDE = (".aux.xml",)  # files of GDAL that nobody needs


@dataclass(frozen=True)
class GridWriter:
    """Writes maps into a folder, in the format of their ending."""

    folder: Path
    ending: str  # such as `.asc`
    settings: PredictionSettings
    clamping: bool = True
    novelty: bool = True

    def copy(self, source: Path, name: str) -> Path:
        """Copy a map; what its format has beside it, such as `.prj`, goes with it."""
        target = self.folder / f"{name}{self.ending}"
        try:
            with tempfile.TemporaryDirectory(prefix=".sdm-", suffix=".part", dir=self.folder) as place:
                copy_map(source, Path(place) / target.name, map_format(target))
                for file in sorted(Path(place).iterdir()):
                    if not file.name.endswith(_BESIDE):
                        os.replace(file, self.folder / file.name)
        except (RasterioError, OSError) as error:
            raise OutputError(f"{target} cannot be written ({error})") from error
        return target

    def write(self, grid: "GridValues", name: str, nodata: float = _NODATA, dtype: str = "float32") -> Path:
        """Write numbers as a map."""
        filled = np.where(np.isnan(grid.values), nodata, grid.values).astype(dtype)
        shape = {"height": filled.shape[0], "width": filled.shape[1], "count": 1, "dtype": dtype}
        place = {"crs": grid.crs, "transform": grid.transform}
        with tempfile.TemporaryDirectory(prefix=".sdm-", suffix=".part", dir=self.folder) as folder:
            path = Path(folder) / "plain.tif"
            with rasterio.open(path, "w", driver="GTiff", nodata=nodata, **shape, **place) as out:
                out.write(filled, 1)
            return self.copy(path, name)

    def predict(
        self, model: Path, layers: str, name: str, threshold: float | None = None, keep: bool = True
    ) -> "GridValues | None":
        """Map a model on layers, with clamping and novelty beside if they are wanted; return the map, which is not
        written unless it is to be kept. Of a table, write the table with its predictions."""
        if is_swd([layers]):
            predict_files(model, [layers], self.folder / f"{name}.csv", replace(self.settings, overwrite=True))
            return None
        wanted = (("mess", self.novelty and keep), ("clamping", self.clamping and keep))
        measures = [word for word, asked in wanted if asked]
        with tempfile.TemporaryDirectory(prefix=".sdm-", suffix=".part", dir=self.folder) as place:
            here = Path(place) / "map.tif"
            predict_files(model, [layers], here, replace(self.settings, novelty=measures or None))
            if keep:
                self.copy(here, name)
            if "clamping" in measures:
                self.copy(Path(place) / "map_clamping.tif", f"{name}_clamping")
            if "mess" in measures:
                self.copy(Path(place) / "map_mess.tif", f"{name}_novel")
                mess, which = (read_grid(Path(place) / f"map_{word}.tif") for word in ("mess", "mod"))
                numbers = limiting_numbers(mess.values, which.values, load_model(model).names)
                self.write(replace(mess, values=numbers), f"{name}_novel_limiting")
            grid = read_grid(here)
        if threshold is not None and keep:
            self.cut(grid, name, threshold)
        return grid

    def cut(self, grid: "GridValues", name: str, threshold: float) -> None:
        """Write where a map has at least a threshold: 1, and 0 elsewhere."""
        present = np.where(np.isnan(grid.values), np.nan, grid.values >= np.float32(threshold))
        self.write(replace(grid, values=present), f"{name}_thresholded", BINARY_NODATA, "uint8")

    def summarise(self, maps: Sequence["GridValues"], name: str) -> None:
        """Write what the maps of replicates have in common: average, deviation, median, least and greatest."""
        for word, values in summaries(np.stack([one.values for one in maps])).items():
            self.write(replace(maps[0], values=values), f"{name}_{word}")


@dataclass(frozen=True)
class GridValues:
    """A map as numbers, NaN where there is no data, and where it is."""

    values: Array
    crs: object
    transform: object


def read_grid(path: Path) -> GridValues:
    """Read a map."""
    with open_local(path) as source:
        values = source.read(1, masked=True).astype(np.float64).filled(np.nan)
        return GridValues(values, source.crs, source.transform)


def limiting_numbers(mess: Array, which: Array, names: Sequence[str]) -> Array:
    """Return Java Maxent's numbers of the most dissimilar variables: places in alphabetical order from 0, and the
    number of variables where all are inside their training ranges.

    `which` numbers them from 1 in the order of the model.
    """
    order = np.argsort(np.argsort(np.array(names))).astype(np.float64)
    known = np.isfinite(which) & (which >= 1) & (which <= len(names))
    place: NDArray[np.int64] = np.where(known, which, 1).astype(np.int64) - 1
    out: Array = np.where(known & (mess < 0), order[place], float(len(names)))
    out[np.isnan(mess)] = np.nan
    return out


def summaries(maps: Array) -> dict[str, Array]:
    """Return what Java Maxent writes of replicates `(k, rows, columns)`; its median is the upper one of two in the
    middle, and its deviation divides by their number."""
    middle = np.sort(maps, axis=0)[len(maps) // 2]
    found = (maps.mean(axis=0), maps.std(axis=0), middle, maps.min(axis=0), maps.max(axis=0))
    return dict(zip(SUMMARIES, found))
