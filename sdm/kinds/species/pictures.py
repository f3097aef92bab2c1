"""Which pictures a species has, and what they are drawn from."""

from pathlib import Path
from typing import TYPE_CHECKING

from sdm.assess.structure import Structure
from sdm.executors.painter import Painter
from sdm.kinds import assessment_tables as shared
from sdm.kinds.species.fit import MeasuredSpecies
from sdm.options.definitions import RunOptions
from sdm.report.paper import paper_of
from sdm.report.titled import Titled, draw_species_curves, draw_titled
from sdm.storage.files import safe_name, safe_names

if TYPE_CHECKING:
    from sdm.data.rasters.stack import Stack

PICTURES = ("effects", "families", "interactions", "prices", *shared.PICTURES)  # in `plots/` that are not a variable's


def draw_measured(
    painter: Painter, measured: MeasuredSpecies, stack: "Stack | None", options: RunOptions, folder: Path
) -> None:
    """Have the pictures of the measures drawn."""
    pictures = [*_structure_pictures(measured.structure), *shared.assessment_pictures(measured, stack, options)]
    if pictures:
        painter.draw(draw_titled, pictures, folder, paper_of(options.output))


def draw_curves_later(painter: Painter, measured: MeasuredSpecies, options: RunOptions, folder: Path) -> None:
    """Have the responses to variables drawn, which the page draws by itself."""
    variables = measured.model.names
    names = safe_names(variables, taken=[*PICTURES, *(f"{safe_name(one)}_only" for one in variables)])
    order, paper = shared.variable_order(measured.assessed), paper_of(options.output)
    painter.draw_later(draw_species_curves, measured.profiles, folder, measured.curve_scale, names, paper, order)


def _structure_pictures(structure: Structure | None) -> list[Titled]:
    """Return the pictures of what a structural model is made of."""
    if structure is None:
        return []
    parts = {"families": structure.families, "interactions": structure.interactions, "prices": structure.search}
    return [Titled(name, f"structure.draw_{name}", (structure,)) for name, part in parts.items() if part]
