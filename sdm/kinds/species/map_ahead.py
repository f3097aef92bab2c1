"""The map of the only species of a run, made while its model is measured."""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from sdm.data.rasters.stack import Stack
from sdm.executors.painter import Painter
from sdm.kinds.species.inputs import SpeciesPrepared
from sdm.kinds.species.pictures import draw_map_picture
from sdm.kinds.species.plan import SpeciesPlan
from sdm.kinds.task import Ahead
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.rasters import RasterSummary
from sdm.maps.species import predict_raster
from sdm.models.species import Model
from sdm.options.definitions import RunOptions
from sdm.storage.files import safe_name

MOST_CELLS = 8_000_000  # a larger map takes long enough to show how far it is


class MapAhead:
    """A map in the making, and its picture. If what goes on meanwhile (in its `with` block) fails, the map is waited
    for and left."""

    def __init__(
        self, plan: SpeciesPlan, prepared: SpeciesPrepared, options: RunOptions, path: Path, painter: Painter
    ) -> None:
        self._plan, self._prepared, self._options, self._path = plan, prepared, options, path
        self._painter = painter
        self._pool = ThreadPoolExecutor(1)
        self._made: Future[tuple[RasterSummary, dict[str, Any]]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._pool.shutdown(wait=error is not None)

    def begin(self, model: Model) -> None:
        """Begin the map of a model."""
        self._made = self._pool.submit(self._make, model)

    def take(self) -> tuple[RasterSummary, dict[str, Any]]:
        """Wait for the map; return it, and what was counted on it."""
        if self._made is None:
            raise RuntimeError("the map was not begun")
        return self._made.result()

    def _make(self, model: Model) -> tuple[RasterSummary, dict[str, Any]]:
        """Make the map, and have it drawn."""
        stack, own, counted = cast(Stack, self._prepared.stack), self._options.predict, NoveltyMaps(model)
        table, test = self._plan.table, self._plan.test
        area = self._prepared.area_of(table.species)
        made = predict_raster(
            model,
            stack,
            self._path,
            scale=own.scale,
            extrapolation=own.extrapolation,
            threads=self._options.threads,
            tags=map_tags(table.species, self._options),
            study_area=area,
            novelty=counted,
        )
        places = None if test is None else test[1:]
        draw_map_picture(self._painter, self._path, model, table, places, self._options, area)
        return made, counted.numbers


def map_ahead(plan: SpeciesPlan, prepared: SpeciesPrepared, options: RunOptions, ahead: Ahead) -> MapAhead | None:
    """Return the map of a species, to be begun when its model is fitted; None if it is not asked for, or too large."""
    stack = prepared.stack
    if stack is None or not options.output.map or stack.height * stack.width > MOST_CELLS:
        return None
    return MapAhead(plan, prepared, options, ahead.place / f"{safe_name(plan.table.species)}.tif", ahead.painter)


def map_tags(species: str, options: RunOptions) -> dict[str, str]:
    """Return what maps of a species say of it, and of the rule of their cutoff."""
    rule = options.predict.threshold
    return {"species": species} | ({"threshold_rule": rule} if isinstance(rule, str) else {})
