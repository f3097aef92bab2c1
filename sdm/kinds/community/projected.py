"""Joint models on scenarios: every species is a target, and the best labeling says which are present."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from sdm.maps.projection.targets import Present, ProjectedTargets
from sdm.maps.rasters import NODATA, Raster
from sdm.models.community import FittedJoint
from sdm.models.extrapolation import extrapolated
from sdm.types import AnyArray, Array

NUMBERS = 1 << 22  # features and marginals that are held at once, in each thread


class ProjectedCommunity(ProjectedTargets):
    """A joint model."""

    rule: ClassVar[str] = "labeled"

    @property
    def together(self) -> dict[str, Raster]:
        """The richness, expected and in the best labeling."""
        return {"richness": Raster(Path()), "labeled_richness": Raster(Path(), "int16", NODATA)}

    def compute(self, columns: Sequence[AnyArray], known: NDArray[np.bool_]) -> tuple[Array, Array, list[Present]]:
        """Return the probability of every species, the same on the map, and whether it is in the best labeling."""
        joint = cast("FittedJoint", self.model)
        values = np.full((len(self.targets), len(known)), np.nan)
        present = np.zeros(values.shape, dtype=bool)
        step = max(1, NUMBERS // (joint.features.size + 8 * len(self.targets)))
        where = np.flatnonzero(known)
        for first in range(0, len(where), step):
            cells = where[first : first + step]
            x = np.column_stack([np.asarray(column[cells], dtype=np.float64) for column in columns])
            labels, probability = joint.predict_both(x, clamp=self.extrapolation != "free")
            values[:, cells], present[:, cells] = probability.T, labels.T.astype(bool)
        shown = extrapolated(joint, values, lambda: values, columns, self.extrapolation)
        return values, shown, [present]

    def together_values(self, shown: Array, present: Sequence[Present]) -> dict[str, AnyArray]:
        """Return the sums over species."""
        return {"richness": shown.sum(axis=0), "labeled_richness": present[0].sum(axis=0)}
