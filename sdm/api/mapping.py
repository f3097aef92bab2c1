"""The maps of a model: those of its run, predictions for other layers or tables, and the range as polygons."""

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

MAIN = ("map", "probability map")  # the map of a kind of model; a joint model has one per species


def raster_places(results: Results) -> dict[str, Path]:
    """Return where the maps of a model are, by what they are; the main one first."""
    found = named_rasters(results.folder, results.numbers["files"])
    return dict(sorted(found.items(), key=lambda item: item[0] not in MAIN))


def place_of_map(results: Results, name: str | None = None) -> Path:
    """Return the file of a map of a model by its name; of the main one unless it is named."""
    none = f"there is no map of {results.title}: fit with layers, and without map=False"
    return choose_raster(raster_places(results), name, results.title, none)


def stored_map(results: Results, name: str | None = None) -> RasterMap:
    """Return a map of a model by its name; the main one unless it is named."""
    place = place_of_map(results, name)
    if name is not None:
        return read_raster(place, f"{results.title}, {name}")
    places = {key.partition(" ")[2]: path for key, path in raster_places(results).items() if key[:8] == "species "}
    if results.species_maps and places:
        return stacked([read_raster(path) for path in places.values()], list(places), results.title)
    return _of_presence(read_raster(place, results.title), results)


def _of_presence(found: RasterMap, results: Results) -> RasterMap:
    """Return the band of presence, of a model of presence and absence; other maps as they are."""
    band = results.presence_band
    if band is None or found.values.ndim == 2:
        return found
    return replace(found, values=found.values[band], profile={**found.profile, "count": 1}, bands=())


def fitted_model(results: Results) -> "FittedModel":
    """Return the model of some results; raise where its file is not there."""
    if results.model is None:
        raise ResultsError(f"{results.folder} contains no model file: run the command again")
    return results.model


def predict_model(results: Results, data: Any, scale: str | None, layers_crs: object, ways: Numbers) -> Any:
    """Return predictions for the rows of a table, or a map for layers."""
    import pandas as pd

    model = fitted_model(results)
    if isinstance(data, pd.DataFrame) or (hasattr(data, "keys") and not hasattr(data, "dims")):
        if ways:
            raise InapplicableError(f"{next(iter(ways))} does not apply to predictions for a table: remove it")
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
    return predict_layers(results, data, scale, layers_crs, ways)


def predict_layers(results: Results, layers: object, scale: str | None, layers_crs: object, ways: Numbers) -> Map:
    """Return the map of a model over other layers."""
    from sdm.run.predicting import predict_files
    from sdm.run.projecting.tables import PredictionSettings

    made = ObjectFiles(PrivateFolder(), layers_crs)  # these inputs are not those of the run
    places = made.rasters(layers, "layers")
    area = made.table(ways.pop("area"), "area") if ways.get("area") is not None else None
    with TemporaryDirectory(prefix="sdm-") as folder:
        place = Path(folder) / ("maps" if results.species_maps else "map.tif")
        settings = PredictionSettings(scale=scale, area=area, **ways)
        found = predict_files(results.folder / results.files["model"], places, place, settings)
        if not results.species_maps:
            return as_map(_of_presence(read_raster(place, results.title), results), made.private.axes)
        rows = {key: row for key, row in found.numbers["maps"].items() if "species" in row and row["what"] != PRESENT}
        maps = [read_raster(found.files[key]) for key in rows]
    return as_map(stacked(maps, [row["species"] for row in rows.values()], results.title), made.private.axes)


def range_of(results: Results, threshold: str | float | None) -> "geopandas.GeoDataFrame":
    """Return where a species is, as one polygon per patch with its area in km²."""
    stored = results.path("range")
    if stored is not None and threshold is None:
        return read_vector(stored)[0]
    if threshold is None:
        threshold = results.option("predict.threshold") or "maxsss"
    return polygons_above(stored_map(results), cutoff_value(results, threshold), results.title)


def cutoff_value(results: Results, threshold: str | float) -> float:
    """Return a cutoff on the scale of the map: a number as it is, a rule by its name."""
    if not isinstance(threshold, str):
        return float(threshold)
    rules = results.tree("thresholds")
    row = rules.get(threshold)
    if not isinstance(row, dict) or results.scale not in row:
        raise UnknownNameError(f"threshold={threshold!r}: expected a number, or one of {', '.join(rules)}")
    return float(row[results.scale])


def polygons_above(found: RasterMap, cutoff: float, species: str) -> "geopandas.GeoDataFrame":
    """Return the patches of a map at or above a cutoff as polygons."""
    import rasterio

    from sdm.maps.ranges import write_range

    if found.values.ndim != 2:
        raise OptionError(f"the map of {species} has {len(found.bands)} bands: expected the map of one species")
    with TemporaryDirectory(prefix="sdm-") as folder:
        place = Path(folder) / "range.tif"
        with rasterio.open(place, "w", **{**found.profile, "dtype": "uint8", "nodata": None}) as out:
            # The cutoff of a rule is the prediction at a record: it is rounded as the map is.
            out.write((np.nan_to_num(found.values, nan=-np.inf) >= np.float32(cutoff)).astype(np.uint8), 1)
        write_range(place, place.with_suffix(".gpkg"), species=species)
        return read_vector(place.with_suffix(".gpkg"))[0]
