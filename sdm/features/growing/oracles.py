"""The oracles of the growing families."""

from sdm.errors import DataError
from sdm.features.domain import Domain
from sdm.features.growing.exact_tree import ExactTreeOracle
from sdm.features.growing.grown import Oracle
from sdm.features.growing.monomial import MonomialOracle
from sdm.features.growing.tree import TreeOracle


def make_oracles(domain: Domain, growing: dict[str, int]) -> list[Oracle]:
    """Return the oracles of the growing families."""
    makers = {"trees": TreeOracle, "mono": MonomialOracle, "exacttrees": ExactTreeOracle}
    varying = [variable for variable in domain.variables if variable.values.size > 1]
    usable = {name: any(not v.categorical for v in varying) if name == "mono" else bool(varying) for name in growing}
    if not any(usable.values()):
        raise DataError(f"there is no variable that varies for {', '.join(growing)}: add layers or other families")
    return [makers[name](domain, size) for name, size in growing.items() if usable[name]]
