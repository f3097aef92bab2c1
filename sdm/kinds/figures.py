"""The figures of stored results: the charts of a kind, and its other pictures, drawn again for print."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sdm.kinds.classes.outputs import draw_rasters
from sdm.kinds.community.outputs import draw_community, draw_joint_richness
from sdm.kinds.group.charts import group_charts
from sdm.kinds.group.outputs import draw_axis_maps
from sdm.maps.group import axis_title
from sdm.options.kinds import read_width
from sdm.report.chart_files import write_charts
from sdm.report.model_figures import has_range, record_places, write_figures
from sdm.report.paper import DPI, Paper
from sdm.report.results import (
    GROUP,
    SCENARIOS,
    Results,
    find_projections,
    find_results,
    number,
    read_results,
    rows_of,
)

if TYPE_CHECKING:
    from sdm.models.community import FittedJoint
    from sdm.models.group import GroupModel


def draw_figures(places: Iterable[Path], formats: Sequence[str]) -> list[Path]:
    """Draw the figures of stored results of any kind again, in some formats; return their files.

    The places are as for `make_pages`. Figures have the resolution and the width of their run. What results do not hold
    is not drawn: the outline of a study area on a map, the lines between blocks, responses to two variables at a time,
    and the pictures of a path.
    """
    drawn = []
    for place in map(Path, places):
        found = [read_results(path) for path in find_results(place)]
        folders = dict.fromkeys([place, *(results.folder for results in found)]) if place.is_dir() else {}
        found += [read_results(path) for folder in folders for path in find_projections(folder / SCENARIOS)]
        if (place / GROUP / f"{GROUP}.json").is_file():
            found.append(read_results(place / GROUP))
        for results in found:
            draw_again(results, _paper(results, formats))
            for folder in (results.folder, results.folder / "plots"):
                drawn += [path for path in sorted(folder.glob("*")) if path.suffix[1:] in formats]
    return list(dict.fromkeys(drawn))


def _paper(results: Results, formats: Sequence[str]) -> Paper:
    """Return what the figures of stored results are made for."""
    dpi, width = number(results.option("output.dpi")), results.option("output.figure_width")
    return Paper(tuple(formats), int(dpi or DPI), None if width is None else read_width(str(width)), pictures_as=())


def draw_again(results: Results, paper: Paper) -> None:
    """Draw the figures of one model, or of one projection, from its stored results."""
    if results.kind == "group":
        write_charts(group_charts(results), results.folder, paper)
    else:
        write_figures(results, paper)
    if results.kind in PICTURES:
        PICTURES[results.kind](results, paper)


def _draw_species(results: Results, paper: Paper) -> None:
    """Draw the map, the folds, the choice of settings, and responses to two variables."""
    raster = results.path("map")
    if raster is not None:
        from sdm.report.figures.maps.drawn import draw_map
        from sdm.report.figures.maps.plan import suitability

        x, y = (records := record_places(results)).get("train", (None, None))
        picture, shades = raster.with_suffix(".png"), suitability(results.scale)
        places: dict[str, Any] = {"x": x, "y": y, "test": records.get("test"), "edges": has_range(results)}
        draw_map(raster, picture, title=results.title, species=True, shades=shades, paper=paper, **places)
    _draw_stored(results, paper)


def _draw_stored(results: Results, paper: Paper) -> None:
    if results.table("folds") or results.table("tune"):
        from sdm.report.figures.stored import draw_stored

        draw_stored(results, paper)


def _draw_classes(results: Results, paper: Paper) -> None:
    """Draw the maps of classes, the folds, and the choice of settings."""
    if results.path("class map") is not None:
        draw_rasters(results.folder, results.files, results.classes, results.title, paper, species=results.of_species)
    _draw_stored(results, paper)


def _draw_community(results: Results, paper: Paper) -> None:
    """Draw the network, the parts of the variance, random effects, effects of traits, and the richness."""
    joint, files = cast("FittedJoint", results.model), results.numbers["files"].get("maps")
    draw_community(joint, results.tree("prevalence"), rows_of(results.numbers.get("variance")), results.folder, paper)
    if isinstance(files, dict):
        draw_joint_richness(results.folder, files, np.empty(0), np.empty(0), paper)


def _draw_group(results: Results, paper: Paper) -> None:
    """Draw the path of strengths, and the maps of the axes."""
    if results.table("path"):
        from sdm.report.figures.axes import draw_strengths

        draw_strengths(results.table("path"), results.folder / "path.png", paper)
    if "colours" in results.files:
        model, axes = cast("GroupModel", results.model), sum(key.startswith("map of axis") for key in results.files)
        titles = [axis_title(model, k) for k in range(axes)]
        draw_axis_maps(results.folder, results.files, titles, paper)


def _draw_projection(results: Results, paper: Paper) -> None:
    """Draw the maps of all scenarios, and what changes."""
    from sdm.report.figures.projection.shifts import draw_projection

    draw_projection(results.folder, results.numbers, results.folder, results.name, paper)


PICTURES: dict[str, Callable[[Results, Paper], None]] = {
    "species": _draw_species,
    "strata": _draw_species,
    "classes": _draw_classes,
    "community": _draw_community,
    "group": _draw_group,
    "projection": _draw_projection,
}
