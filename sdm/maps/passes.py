"""One pass over layers for the maps of all kinds of model, with maps of novelty."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.stack import Stack
from sdm.maps.gis.tags import RasterSummary
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.rasters import Raster, check_variables, write_rasters
from sdm.models.extrapolation import EXTRAPOLATIONS, check_extrapolation, required_range
from sdm.models.interface import FittedModel
from sdm.types import AnyArray, Array, Progress

Mask = NDArray[np.bool_]
Compute = Callable[[Window, AnyArray, Mask], tuple[Sequence[AnyArray], Array | None]]
"""Return the bands of a window, from one row of values per variable and a mask of cells; and the predictions of the
model, if novelty can use them."""


@dataclass(frozen=True)
class MapPass:
    """Settings of a pass.

    Attributes
    ----------
    extrapolation : str
        One of `sdm.models.extrapolation.EXTRAPOLATIONS`.
    study_area : StudyArea, optional
        Cells outside it are nodata.
    threads : int
    progress : callable, optional
        Called with windows done, windows in all, and the name of the stage.
    """

    extrapolation: str = "clamp"
    study_area: StudyArea | None = None
    threads: int = 2
    progress: Progress | None = None

    @property
    def clamped(self) -> bool:
        """Whether variables are clamped to their training ranges."""
        return self.extrapolation != "free"

    def part(self, names: Sequence[str], stack: Stack) -> Stack:
        """Return the part of the layers to map; raise if they are not the variables of the model in its order."""
        check_variables(names, stack)
        return stack.within(None if self.study_area is None else self.study_area.bounds)

    def write(
        self,
        model: FittedModel,
        stack: Stack,
        rasters: Sequence[Raster],
        tags: Sequence[dict[str, str]],
        compute: Compute,
        novelty: NoveltyMaps | None = None,
        *,
        about: Mapping[str, str] | None = None,
        doing: str = "map",
    ) -> list[RasterSummary]:
        """Write the maps of a model and the maps of novelty: all, or none. Return the summaries of the model's maps;
        `about` are additional tags of the maps of novelty."""
        check_extrapolation(self.extrapolation, EXTRAPOLATIONS[:3])
        part = self.part(model.names, stack)
        if novelty is not None:
            novelty.start(part)

        def bands(window: Window, values: AnyArray) -> list[AnyArray]:
            cells = values.reshape(len(values), -1)
            valid = np.asarray(np.isfinite(cells).all(axis=0))
            if self.study_area is not None:
                valid &= self.study_area.mask(part, window).ravel()
            mapped = valid & ~required_range(model).outside(list(cells)) if self.extrapolation == "none" else valid
            made, predicted = compute(window, cells, mapped)
            beside = [] if novelty is None else novelty.bands(window, list(cells), valid, predicted, self.clamped)
            return [*(band.reshape(-1, *values.shape[1:]) for band in made), *beside]

        files, file_tags = list(rasters), list(tags)
        if novelty is not None:
            files += novelty.rasters
            file_tags += [{**novelty_tags, **(about or {})} for novelty_tags in novelty.tags]
        summaries = write_rasters(
            part, files, bands, file_tags, threads=self.threads, progress=self.progress, doing=doing
        )
        if novelty is None:
            return summaries
        novelty.wrote(summaries)
        return summaries[: len(summaries) - len(novelty.rasters)]


DEFAULT = MapPass()
