"""Groups of species over layers, written as a run writes them."""

from pathlib import Path
from typing import Any

import numpy as np
from evil import EVIL
from shared_axes.groups import group

from sdm.data.rasters.stack import Stack
from sdm.kinds.group.outputs import write_group
from sdm.kinds.task import Destination
from sdm.models.group import GroupModel
from sdm.options.reading import make_options

NAMES = [EVIL, "Quote \"double\" & 'single'", *(f"Genus{s % 4} epithet{s}" for s in range(18))]


def model_of(stack: Stack, species: list[str] | int = 12, **ways: Any) -> GroupModel:
    """A group over the cells of some layers."""
    rows, cols = np.divmod(np.arange(stack.height * stack.width), stack.width)
    values = stack.sample(rows, cols).astype(np.float64)
    sites = values[np.isfinite(values).all(axis=1)][::3]
    return group(sites, species, names=stack.names, category=stack.names.index("landcover"), **ways)


def written(model: GroupModel, stack: Stack | None, folder: Path, **options: Any) -> dict[str, Any]:
    """Write a group into a new folder, with small pictures, and return the names of its files."""
    folder.mkdir(parents=True)
    to = Destination(folder, make_options({"output.dpi": 72} | options))
    write_group(model, stack, to, command="sdm fit …")
    return to.files
