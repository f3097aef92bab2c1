"""The preview of a model: a small picture of its main map, which the index of a batch shows."""

from pathlib import Path

from sdm.report.charts import TOP
from sdm.report.pictures import small_picture
from sdm.report.results import Results
from sdm.storage.files import write_bytes


def write_preview(results: Results) -> Path | None:
    """Write the preview of a model into its folder, and return its place; None where there is no map."""
    layer = next(iter(results.map_layers()), None)
    if layer is None:
        return None
    picture = small_picture(layer.path, None if layer.apart else TOP.get(results.scale), band=layer.band)
    return write_bytes(results.folder / f"{results.name}_preview.png", picture, overwrite=True)
