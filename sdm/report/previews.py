"""The preview of a model: a small picture of its main map, which the index of a batch shows."""

from pathlib import Path

from sdm.files import write_bytes
from sdm.report.charts import TOP
from sdm.report.pages.live_map import MapLayer, map_layers
from sdm.report.pictures import small_picture
from sdm.report.results import Results


def write_preview(results: Results) -> Path | None:
    """Write the preview of a model into its folder, and return its place; None where there is no map."""
    layer = _main_map(results)
    if layer is None:
        return None
    top = None if results.kind == "community" else TOP.get(results.scale)
    picture = small_picture(layer.path, top, band=layer.band)
    return write_bytes(results.folder / f"{results.name}_preview.png", picture, overwrite=True)


def _main_map(results: Results) -> MapLayer | None:
    """Return the map that the page of a model begins with; of a community, the number of species."""
    if results.kind == "community":
        maps = results.tree("files").get("maps")
        path = results.folder / str(maps["richness"]) if isinstance(maps, dict) and "richness" in maps else None
        return MapLayer("richness", path, "Number of species") if path is not None and path.is_file() else None
    return next(iter(map_layers(results)), None)
