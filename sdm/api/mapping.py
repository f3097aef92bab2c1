"""Maps of a model: the maps of its run, predictions for other layers or tables, and the range as polygons."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from sdm.api.inputs import ObjectFiles
from sdm.api.rasters import Map, RasterMap, as_map, choose_raster, named_rasters, read_raster, stacked
from sdm.api.saving import PrivateFolder
from sdm.data.vectors import read_vector
from sdm.errors import InapplicableError, OptionError, ResultsError, UnknownNameError
from sdm.maps.several import PRESENT
from sdm.report.results import Results
from sdm.types import Numbers

if TYPE_CHECKING:
    import geopandas

    from sdm.models.interface import FittedModel

MAIN = ("map", "probability map")  # the main map of each kind; a joint model has one per species


def raster_places(results: Results) -> dict[str, Path]:
    """Return the paths of the maps of a model by name, the main one first."""
    places = named_rasters(results.folder, results.numbers["files"])
    return dict(sorted(places.items(), key=lambda item: item[0] not in MAIN))


def place_of_map(results: Results, name: str | None = None) -> Path:
    """Return the path of a map of a model by its name, by default the main one."""
    none = f"there is no map of {results.title}: fit with layers, and without map=False"
    return choose_raster(raster_places(results), name, results.title, none)


def stored_map(results: Results, name: str | None = None) -> RasterMap:
    """Return a map of a model by its name, by default the main one."""
    place = place_of_map(results, name)
    if name is not None:
        return read_raster(place, f"{results.title}, {name}")
    places = {key.partition(" ")[2]: path for key, path in raster_places(results).items() if key[:8] == "species "}
    if results.species_maps and places:
        return stacked([read_raster(path) for path in places.values()], list(places), results.title)
    return _of_presence(read_raster(place, results.title), results)


def _of_presence(raster: RasterMap, results: Results) -> RasterMap:
    """Return the band of presence of a presence-absence model; other maps are unchanged."""
    band = results.presence_band
    if band is None or raster.values.ndim == 2:
        return raster
    return replace(raster, values=raster.values[band], profile={**raster.profile, "count": 1}, bands=())


def fitted_model(results: Results) -> "FittedModel":
    """Return the model of results; raise if its file is missing."""
    if results.model is None:
        raise ResultsError(f"{results.folder} contains no model file: run the command again")
    return results.model


def predict_model(results: Results, data: Any, scale: str | None, layers_crs: object, settings: Numbers) -> Any:
    """Return predictions for the rows of a table, or a map for layers."""
    import pandas as pd

    model = fitted_model(results)
    if isinstance(data, pd.DataFrame) or (hasattr(data, "keys") and not hasattr(data, "dims")):
        if settings:
            raise InapplicableError(f"{next(iter(settings))} does not apply to predictions for a table: remove it")
        if scale not in (None, *model.scales):
            raise OptionError(f"scale={scale!r}: expected one of {', '.join(model.scales)}")
        values = model.values(data, scale)
        index = data.index if isinstance(data, pd.DataFrame) else None
        band = results.presence_band
        if band is not None:
            return pd.Series(values[:, band], index=index, name="presence")
        if values.shape[1] == 1:
            return pd.Series(values[:, 0], index=index, name=model.bands[0] or "prediction")
        return pd.DataFrame(values, index=index, columns=list(model.bands))
    return predict_layers(results, data, scale, layers_crs, settings)


def predict_layers(results: Results, layers: object, scale: str | None, layers_crs: object, settings: Numbers) -> Map:
    """Return the map of a model over other layers."""
    from sdm.run.predicting import predict_files
    from sdm.run.projecting.tables import PredictionSettings

    made = ObjectFiles(PrivateFolder(), layers_crs)  # these inputs are not inputs of the run
    places = made.rasters(layers, "layers")
    area = made.table(settings.pop("area"), "area") if settings.get("area") is not None else None
    with TemporaryDirectory(prefix="sdm-") as folder:
        place = Path(folder) / ("maps" if results.species_maps else "map.tif")
        prediction = PredictionSettings(scale=scale, area=area, **settings)
        result = predict_files(results.folder / results.files["model"], places, place, prediction)
        if not results.species_maps:
            return as_map(_of_presence(read_raster(place, results.title), results), made.private.axes)
        rows = {key: row for key, row in result.numbers["maps"].items() if "species" in row and row["what"] != PRESENT}
        maps = [read_raster(result.files[key]) for key in rows]
    return as_map(stacked(maps, [row["species"] for row in rows.values()], results.title), made.private.axes)


def range_of(results: Results, threshold: str | float | None) -> "geopandas.GeoDataFrame":
    """Return the range as one polygon per patch, with its area in km²."""
    stored = results.path("range")
    if stored is not None and threshold is None:
        return read_vector(stored)[0]
    if threshold is None:
        threshold = results.option("predict.threshold") or "maxsss"
    return polygons_above(stored_map(results), cutoff_value(results, threshold), results.title)


def cutoff_value(results: Results, threshold: str | float) -> float:
    """Return a threshold on the scale of the map: a number unchanged, or the value of a rule."""
    if not isinstance(threshold, str):
        return float(threshold)
    rules = results.tree("thresholds")
    row = rules.get(threshold)
    if not isinstance(row, dict) or results.scale not in row:
        raise UnknownNameError(f"threshold={threshold!r}: expected a number, or one of {', '.join(rules)}")
    return float(row[results.scale])


def polygons_above(raster: RasterMap, cutoff: float, species: str) -> "geopandas.GeoDataFrame":
    """Return the patches of a map at or above a threshold as polygons."""
    import rasterio

    from sdm.maps.ranges import write_range

    if raster.values.ndim != 2:
        raise OptionError(f"the map of {species} has {len(raster.bands)} bands: expected the map of one species")
    with TemporaryDirectory(prefix="sdm-") as folder:
        place = Path(folder) / "range.tif"
        with rasterio.open(place, "w", **{**raster.profile, "dtype": "uint8", "nodata": None}) as out:
            # The threshold of a rule is the prediction at a record: it is rounded as the map is.
            out.write((np.nan_to_num(raster.values, nan=-np.inf) >= np.float32(cutoff)).astype(np.uint8), 1)
        write_range(place, place.with_suffix(".gpkg"), species=species)
        return read_vector(place.with_suffix(".gpkg"))[0]
