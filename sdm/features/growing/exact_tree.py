"""Exact oracles for trees with one and two internal nodes: every threshold, every pair of them.

Pairs are those of `pairs`, over all cells and all values. Sets of classes at the root are enumerated, so categorical
variables may have at most ten classes here.
"""

from sdm.errors import OptionError
from sdm.features.domain import Domain
from sdm.features.growing.pairs import Start, best_pair
from sdm.features.growing.tree import TreeOracle
from sdm.types import Array

MOST_CLASSES = 10
MOST_VALUES = 4096


class ExactTreeOracle(TreeOracle):
    """`trees:1` or `trees:2` over the whole class: a gap of zero here is zero over every such tree. Variables are not
    binned, so they may have at most 4,096 distinct values (and categorical ones ten classes)."""

    def __init__(self, domain: Domain, largest: int = 2) -> None:
        if largest not in (1, 2):
            raise OptionError(f"exact trees have 1 or 2 internal nodes, got {largest}")
        for variable in domain.variables:
            most = MOST_CLASSES if variable.categorical else MOST_VALUES
            if variable.values.size > most:
                raise OptionError(
                    f"variable '{variable.name}' has {variable.values.size:,} values: exact trees take up to {most:,}"
                )
        super().__init__(domain, largest, bins=MOST_VALUES)
        self.name = f"exacttrees:{largest}"

    def _pairs(self, g: Array) -> list[Start]:
        """Return the best pair of all there are."""
        start = best_pair(self.bins, self.counts, self.categorical, g, MOST_CLASSES)
        return [] if start is None else [start]
