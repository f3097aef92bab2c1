"""The oracles of the growing families, including exact trees with one and two internal nodes.

Exact trees use the pairs of splits of `pairs`, over all cells and all values. All sets of classes at the root are
enumerated, so categorical variables may have at most ten classes.
"""

from sdm.errors import NoFeatureError, OptionError
from sdm.features.domain import Domain
from sdm.features.growing.grown import Oracle
from sdm.features.growing.monomial import MonomialOracle
from sdm.features.growing.pairs import Start, best_pair
from sdm.features.growing.tree import TreeOracle
from sdm.types import Array

MOST_CLASSES = 10
MOST_VALUES = 4096


class ExactTreeOracle(TreeOracle):
    """`trees:1` or `trees:2` with an exhaustive search: a gap of zero covers every such tree.

    Variables are not binned, so they may have at most 4,096 distinct values (categorical ones ten classes).
    """

    def __init__(self, domain: Domain, largest: int = 2) -> None:
        if largest not in (1, 2):
            raise OptionError(f"exact trees have 1 or 2 internal nodes, got {largest}")
        for variable in domain.variables:
            most = MOST_CLASSES if variable.categorical else MOST_VALUES
            if variable.values.size > most:
                raise OptionError(
                    f"variable '{variable.name}' has {variable.values.size:,} values, exact trees allow {most:,}"
                )
        super().__init__(domain, largest, bins=MOST_VALUES)
        self.name = f"exacttrees:{largest}"

    def _pairs(self, g: Array) -> list[Start]:
        """Return the best pair of all pairs."""
        start = best_pair(self.bins, self.counts, self.categorical, g, MOST_CLASSES)
        return [] if start is None else [start]


def make_oracles(domain: Domain, growing: dict[str, int]) -> list[Oracle]:
    """Return the oracles of the growing families."""
    makers = {"trees": TreeOracle, "mono": MonomialOracle, "exacttrees": ExactTreeOracle}
    varying = [variable for variable in domain.variables if variable.values.size > 1]
    usable = {name: any(not v.categorical for v in varying) if name == "mono" else bool(varying) for name in growing}
    if not any(usable.values()):
        raise NoFeatureError(f"no variable varies for {', '.join(growing)}: add layers or other families")
    return [makers[name](domain, size) for name, size in growing.items() if usable[name]]
