"""Figures of a model from its stored results: charts, one figure for a paper, and the preview of the map."""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from sdm.errors import ConflictError
from sdm.report.charts import TOP, Chart
from sdm.report.pages.svg import svg_file
from sdm.report.paper import Paper
from sdm.report.pictures import read_picture, small_picture
from sdm.report.results import Results, column, rows_by
from sdm.report.stored_charts import effect_charts, importance_of, model_charts, response_charts
from sdm.storage.files import write_bytes
from sdm.types import Array, Numbers

Files = Numbers  # names of files in a folder, by content


def write_charts(charts: Mapping[str, Sequence[Chart]], folder: Path, paper: Paper) -> None:
    """Write charts by name into an existing folder; several charts of one name are side by side."""
    for name, parts in charts.items():
        path = folder / f"{name}.svg"
        path.write_text(svg_file(parts), encoding="utf-8")
        if paper.of_charts:
            from sdm.report.figures.charts import draw_charts

            draw_charts(parts, path, paper)


def make_plots(folder: Path, files: Files) -> Path:
    """Create the folder of figures inside a folder of results, and register its name."""
    files["plots"] = "plots"
    (folder / "plots").mkdir(exist_ok=True)
    return folder / "plots"


def write_figures(results: Results, paper: Paper) -> Files:
    """Write the charts of a model, and the figure for a paper if requested; return the names of their files."""
    files: Files = {}
    charts = model_charts(results)
    if charts:
        write_charts(charts, make_plots(results.folder, files), paper)
    if results.option("output.publication"):
        _draw_publication(results, files, paper)
    return files


def _draw_publication(results: Results, files: Files, paper: Paper) -> None:
    """Draw map, curves and importance of a species model as one figure."""
    band = results.presence_band
    raster = results.path("probability map" if results.classes else "map")
    if raster is None or (results.classes and band is None):
        return
    bars, curves = importance_of(results), response_charts(results, {}, ("marginal",)) or effect_charts(results, {})
    if bars is None or not curves:
        raise ConflictError("output.publication needs output.curves and test.importance: remove it")
    from sdm.report.figures.composed import PIXELS, draw_publication
    from sdm.report.figures.maps.plan import Marks

    draw_publication(
        read_picture(raster, PIXELS, 1 if band is None else band + 1),
        make_plots(results.folder, files) / "publication.png",
        species=results.title,
        scale=results.scale,
        curves=list(curves.values()),
        bars=bars,
        marks=Marks(dict(islice(record_places(results).items(), 1)), edges=has_range(results)),
        paper=paper,
    )


def record_places(results: Results) -> dict[str, tuple[Array, Array]]:
    """Return the coordinates of training and test records by their label on a map."""
    rows = rows_by(results.table("sample predictions"), "Test or train")
    nouns = {"train": "training record", "test": "test record"}
    return {
        noun: (np.array(column(rows[kind], "X")), np.array(column(rows[kind], "Y")))
        for kind, noun in nouns.items()
        if kind in rows
    }


def has_range(results: Results) -> bool:
    """Whether a species has a range: the cells where its model is above zero."""
    return float(getattr(results.model, "alpha", 1.0)) > 1.0


def draw_model(results: Results, paper: Paper) -> None:
    """Draw the figures of a species model again: charts, map, folds and tuning."""
    from sdm.report.figures.assessment import draw_stored

    write_figures(results, paper)
    raster = results.path("map")
    if raster is not None:
        from sdm.report.figures.maps.drawn import draw_map
        from sdm.report.figures.maps.plan import Marks, suitability

        picture, marks = raster.with_suffix(".png"), Marks(record_places(results), edges=has_range(results))
        shades = suitability(results.scale)
        draw_map(raster, picture, title=results.title, species=True, shades=shades, marks=marks, paper=paper)
    draw_stored(results, paper)


def write_preview(results: Results) -> Path | None:
    """Write the preview of a model into its folder and return its path; None without a map."""
    layer = next(iter(results.map_layers()), None)
    if layer is None:
        return None
    picture = small_picture(layer.path, None if layer.apart else TOP.get(results.scale), band=layer.band)
    return write_bytes(results.folder / f"{results.name}_preview.png", picture, overwrite=True)
