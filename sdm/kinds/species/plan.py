"""Divide the records of one species into training, test and folds."""

from dataclasses import dataclass

from sdm.assess.splits.folds import Split
from sdm.data.rasters.stack import Stack
from sdm.data.table import SampleTable
from sdm.errors import DataError
from sdm.kinds.assessing import read_pairs
from sdm.kinds.inputs import check_features
from sdm.kinds.splitting import make_split, set_aside
from sdm.options.definitions import RunOptions
from sdm.types import Array


@dataclass(frozen=True)
class SpeciesPlan:
    """The records of one species, divided: what trains, values, x and y of what tests, and the folds."""

    table: SampleTable
    test: tuple[Array, Array, Array] | None
    split: Split | None


def plan_species(
    table: SampleTable,
    options: RunOptions,
    test: tuple[Array, Array, Array] | None = None,
    stack: Stack | None = None,
    every: SampleTable | None = None,
) -> SpeciesPlan:
    """Divide the records of one species; what is wrong with folds and pairs is said before any work.

    `test` are values, x and y of test records, if `test.percent` does not set some aside; splits that need distances or
    cells need the layers (`stack`). `every` is the training part with all variables, where some were left out: folds
    depend on all of them.
    """
    if table.n_presences < 2:
        raise DataError(f"{table.species}: one usable presence only, expected at least 2 (better 10 or more)")
    if test is None:
        table, test = set_aside(table, options)
    read_pairs(options.output.surfaces, table.names)
    divided = table if every is None else every
    check_features(options, divided.names)
    return SpeciesPlan(table, test, make_split(divided, options, stack))
