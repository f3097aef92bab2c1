"""Python objects as files and options of a run: tables, points, rasters, keyword arguments."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdm.api.grids import dataset_place, is_dataset, is_xarray, write_dataset, write_xarray
from sdm.api.saving import PrivateFolder
from sdm.errors import DataError, NoRecordsError
from sdm.options.reading import WHERE, plain_values
from sdm.storage.files import has_parquet, safe_name
from sdm.types import Numbers

if TYPE_CHECKING:
    import pandas as pd

# Options that accept a table or points, and options that accept rasters, with the names of their files.
TABLES = {
    "occurrences.file": "records", "background.file": "background", "background.target_group": "target_group",
    "background.area": "study_area", "test.file": "test", "project.area": "projection_area",
}  # fmt: skip
RASTERS = {
    "layers.files": "layers", "background.bias": "effort", "classes.raster": "classes", "project.reference": "reference"
}  # fmt: skip
LISTS = ("layers.files", "project.reference")


class ObjectFiles:
    """Writes objects as files in a private folder; paths are unchanged."""

    def __init__(self, private: PrivateFolder, layers_crs: object = None) -> None:
        self.private, self.layers_crs = private, layers_crs

    def options(self, values: Mapping[str, object]) -> Numbers:
        """Return options by their dotted names, with files instead of objects."""
        return {WHERE.get(name, name): self.option(WHERE.get(name, name), value) for name, value in values.items()}

    def option(self, dotted: str, value: object) -> object:
        """Return the value of one option."""
        if value is None:
            return None
        if dotted in TABLES:
            return self.table(value, TABLES[dotted])
        if dotted in RASTERS:
            places = self.rasters(value, RASTERS[dotted])
            return places if dotted in LISTS else self._single(places, dotted)
        if dotted == "project.scenarios" and isinstance(value, Mapping):
            return {str(title): self.scenario(str(title), one) for title, one in value.items()}
        return plain_values(value)

    def table(self, value: object, name: str) -> str:
        """Return a table, or points or polygons, as a file."""
        import pandas as pd

        if type(value).__module__.partition(".")[0] == "geopandas":
            return str(_write_shapes(value, self.private.place(f"{name}.parquet")))
        if isinstance(value, pd.DataFrame):
            return str(_write_table(value, self.private.place(f"{name}.csv")))
        return _path(value, "a path, a DataFrame or a GeoDataFrame")

    def rasters(self, value: object, name: str) -> list[str]:
        """Return layers as files or folders: paths unchanged, objects as a folder of GeoTIFFs."""
        import pandas as pd

        parts = list(value) if isinstance(value, list | tuple) else [value]
        if len(parts) == 1 and isinstance(parts[0], pd.DataFrame):  # for samples with data, a table of the background
            return [self.table(parts[0], name)]
        places: list[str] = []
        folder: Path | None = None
        for number, part in enumerate(parts, start=1):
            place = dataset_place(part) if is_dataset(part) else None
            if place is not None:
                places.append(place)
            elif is_dataset(part) or is_xarray(part):
                if folder is None:
                    folder = self.private.place(name)
                    folder.mkdir()
                    places.append(str(folder))
                if is_dataset(part):
                    write_dataset(part, folder, number)
                else:
                    write_xarray(part, folder, self.layers_crs, self.private.axes)
            else:
                places.append(_path(part, "a path, an open rasterio dataset, or an xarray Dataset or DataArray"))
        return places

    def scenario(self, title: str, value: object) -> str:
        """Return the layers of a scenario as one path."""
        return self._single(self.rasters(value, safe_name(title)), f"scenario '{title}'")

    def _single(self, places: list[str], subject: str) -> str:
        if len(places) != 1:
            raise DataError(f"{subject} has {len(places)} places: expected one folder, file or xarray Dataset")
        return places[0]


def _path(value: object, expected: str) -> str:
    if not isinstance(value, str | Path):
        raise DataError(f"got a {type(value).__module__.partition('.')[0]} {type(value).__name__}: expected {expected}")
    return str(value)


def _write_table(frame: "pd.DataFrame", path: Path) -> Path:
    """Write a table as text, with the index if it has a name."""
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise DataError("the DataFrame has columns of several levels: expected one name per column")
    if not len(frame):
        raise NoRecordsError("the DataFrame has no rows: expected one per record")
    frame.to_csv(path, index=any(frame.index.names), lineterminator="\n")
    return path


def _write_shapes(frame: Any, path: Path) -> Path:
    """Write points or polygons as GeoParquet, which stores their coordinate system unchanged; without pyarrow as
    GeoPackage."""
    import geopandas

    if isinstance(frame, geopandas.GeoSeries):
        frame = frame.to_frame("geometry")
    if not len(frame):
        raise NoRecordsError("the GeoDataFrame has no rows: expected one per record")
    other = [name for name in frame.columns[frame.dtypes == "geometry"] if name != frame.geometry.name]
    frame = (frame.reset_index() if any(frame.index.names) else frame).drop(columns=other)
    frame = frame.rename(columns=str)
    if not has_parquet():
        path = path.with_suffix(".gpkg")
        _as_text(frame).to_file(path, driver="GPKG", index=False)
        return path
    import pyarrow

    try:
        frame.to_parquet(path, index=False)
    except (pyarrow.ArrowException, TypeError, ValueError):  # columns of mixed types become text
        _as_text(frame).to_parquet(path, index=False)
    return path


def _as_text(frame: Any) -> Any:
    """Return shapes with columns of mixed types as text."""
    frame = frame.copy()
    for name in frame.columns:
        if frame[name].dtype == object and name != frame.geometry.name:
            frame[name] = [None if value is None else str(value) for value in frame[name]]
    return frame
