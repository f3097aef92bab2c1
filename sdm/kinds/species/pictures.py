"""Which pictures a species has, and what they are drawn from."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdm.assess.structure import Structure
from sdm.data.rasters.area import StudyArea
from sdm.data.table import SampleTable
from sdm.executors.painter import Painter
from sdm.kinds import assessment_tables as shared
from sdm.kinds.species.fit import SpeciesFit
from sdm.models.species import Model
from sdm.options.definitions import RunOptions
from sdm.report.paper import paper_of
from sdm.report.titled import Titled, draw_species_curves, draw_species_map, draw_titled
from sdm.storage.files import safe_name, safe_names
from sdm.types import Array

if TYPE_CHECKING:
    from sdm.data.rasters.stack import Stack

PICTURES = ("effects", "families", "interactions", "prices", *shared.PICTURES)  # in `plots/` that are not a variable's


def draw_map_picture(
    painter: Painter,
    raster: Path,
    model: Model,
    table: SampleTable,
    test: tuple[Array, Array] | None,
    options: RunOptions,
    area: StudyArea | None,
) -> None:
    """Have the picture of a map drawn, with the records and the places of test records, if it is asked for."""
    if not options.output.map_picture:
        return
    points: dict[str, Any] = {"x": table.presence_x, "y": table.presence_y, "test": test, "title": table.species}
    ways = {"edges": model.alpha > 1.0, **points, "species": True, "area": area, "paper": paper_of(options.output)}
    painter.draw(draw_species_map, raster, options.predict.scale, ways)


def draw_measured(
    painter: Painter, fitted: SpeciesFit, stack: "Stack | None", options: RunOptions, folder: Path
) -> None:
    """Have the pictures of what was measured until now drawn, those left out that were drawn before."""
    wanted = [*_structure_pictures(fitted.structure), *shared.assessment_pictures(fitted, stack, options)]
    if pictures := [picture for picture in wanted if picture.title not in fitted.drawn]:
        painter.draw(draw_titled, pictures, folder, paper_of(options.output))
        fitted.drawn |= {picture.title for picture in pictures}


def draw_curves_later(painter: Painter, fitted: SpeciesFit, options: RunOptions, folder: Path) -> None:
    """Have the responses to variables drawn, which the page draws by itself."""
    variables = fitted.model.names
    names = safe_names(variables, taken=[*PICTURES, *(f"{safe_name(one)}_only" for one in variables)])
    order, paper = shared.variable_order(fitted.assessed), paper_of(options.output)
    painter.draw_later(draw_species_curves, fitted.profiles, folder, fitted.curve_scale, names, paper, order)


def _structure_pictures(structure: Structure | None) -> list[Titled]:
    """Return the pictures of what a structural model is made of."""
    if structure is None:
        return []
    parts = {"families": structure.families, "interactions": structure.interactions, "prices": structure.search}
    return [Titled(name, f"structure.draw_{name}", (structure,)) for name, part in parts.items() if part]
