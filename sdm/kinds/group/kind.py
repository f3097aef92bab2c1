"""The task of groups: the file of species on shared axes that a run over species writes."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, NoReturn

from sdm.data.rasters.stack import Stack
from sdm.errors import InapplicableError, expect_one_of
from sdm.kinds.group.tables import GROUP_TABLES
from sdm.kinds.group.words import group_info_lines
from sdm.kinds.mapping import Tags, publish_maps, refuse_one_map
from sdm.kinds.model_task import Catalogue, EvaluationOptions, MapOptions, MapResult, ModelTask
from sdm.maps.gis.tags import RasterSummary
from sdm.maps.novelty import NoveltyMaps, novelty_places
from sdm.maps.several import write_group_maps
from sdm.models.group import GroupModel
from sdm.options.definitions import RunOptions
from sdm.storage.files import safe_names
from sdm.types import Array, Numbers

MAP_SCALES = tuple(scale for scale in GroupModel.scales if scale != "link")


class GroupTask(ModelTask[GroupModel]):
    """Species on shared axes. Runs over species write these files (`sdm fit --model shared`); no command fits this kind
    alone."""

    kind: ClassVar[str] = "group"
    options_of: ClassVar[str] = "species"
    called: ClassVar[str] = "a model of a group of species"
    command: ClassVar[str] = "sdm fit"
    artefacts: ClassVar[Catalogue] = GROUP_TABLES
    maps_with: ClassVar[tuple[str, ...]] = ("scale", "extrapolation", "novelty")
    info_lines = staticmethod(group_info_lines)

    def map_places(self, output: Path) -> list[Path]:
        """Return an empty list: maps go to a folder."""
        refuse_one_map(output, "a model of a group makes one per species")
        return []

    def map(self, model: GroupModel, stack: Stack, output: Path, settings: MapOptions) -> MapResult:
        """Write one map per species into a folder."""
        scale = settings.scale or MAP_SCALES[0]
        expect_one_of("scale", scale, MAP_SCALES)
        names = safe_names(model.species, taken=[*novelty_places(settings.novelty, output)])

        def write(stage: Path, novelty: NoveltyMaps) -> list[tuple[Tags, RasterSummary]]:
            places = {species: stage / f"{safe}.tif" for species, safe in names.items()}
            maps = write_group_maps(model, stack, places, settings.how, scale=scale, novelty=novelty)
            return [({"what": scale, "species": name}, one) for name, one in maps.items()]

        return publish_maps(model, output, settings, write, scale)

    def projected(self, model: GroupModel, name: str) -> NoReturn:
        """Refuse: species are projected one by one."""
        raise InapplicableError(
            f"{name} contains the axes of a group, which are not projected: use the folder of the run, or models of "
            "its species; 'sdm predict' maps all species of a group.npz"
        )

    def table_columns(self, model: GroupModel, values: Array, scale: str | None) -> dict[str, Sequence[object]]:
        """Return one column per species, named after the scale and the species."""
        return {f"{scale or MAP_SCALES[0]} {name}": row.tolist() for name, row in zip(model.species, values)}

    def evaluate(self, model: GroupModel, options: RunOptions, evaluation: EvaluationOptions) -> NoReturn:
        """Refuse: every species of a group has its own model to evaluate."""
        raise InapplicableError("'sdm evaluate' needs the model of one species, such as results/Species/Species.npz")

    def evaluation_lines(self, numbers: Numbers) -> list[str]:
        """Return no lines, because there are no evaluations."""
        return []


TASK = GroupTask
