"""What would go wrong in a run of a joint model, found without fitting."""

from pathlib import Path

import numpy as np

from sdm.errors import SdmError
from sdm.joint import graph as graphs
from sdm.joint.inference import States
from sdm.joint.labels import check_labels, read_labels
from sdm.joint.traits import Traits
from sdm.kinds.community.inputs import Community, read_community
from sdm.kinds.task import FEW, CheckedVariables, Findings
from sdm.options.definitions import RunOptions


def check_community(options: RunOptions, found: Findings) -> None:
    """Check sites, environment and graph of a joint model."""
    community = found.attempt(lambda: read_community(options))
    if community is None:
        return
    found.facts += community.notes
    found.warnings += community.warnings
    labels, names = community.sites.labels, tuple(community.sites.labels.columns)
    found.facts.append(f"{Path(community.sites.source).name}: {len(labels):,} usable sites")
    edges = community.edges
    if not isinstance(edges, str):
        found.attempt(lambda: graphs.forest_of_edges(edges, names))
        found.facts.append(f"graph: {len(edges)} edges")
    if (traits := community.traits) is not None:
        found.facts += found.attempt(lambda: Traits.learn(traits).check(names)) or []
        found.facts.append(f"traits: {', '.join(map(str, traits.columns))}")
    states = found.attempt(lambda: read_labels(labels, names, len(labels)))
    if states is not None:
        _check_species(states, names, found)
    found.attempt(lambda: _check_environment(community, options, found))
    names_of = list(community.environment.columns)
    found.variables = CheckedVariables(names_of, community.categorical, community.notes)


def _check_species(states: States, names: tuple[str, ...], found: Findings) -> None:
    """Look at the labels of one species after the other: every one that cannot be learned is listed."""
    for s, name in enumerate(names):
        try:
            check_labels(states[:, [s]], [name])
        except SdmError as error:
            found.problems.append(str(error))
            continue
        present, absent = (int(np.count_nonzero(states[:, s] == label)) for label in (1, 0))
        if min(present, absent) < FEW:
            few = f"{present:,} presences and {absent:,} absences"
            found.warnings.append(f"{name}: only {few}; results will be rough below {FEW} of either")


def _check_environment(community: Community, options: RunOptions, found: Findings) -> None:
    """Look for constant variables."""
    sample = community.sample()
    for name, column in zip(sample.names, sample.values.T):
        if (column == column[0]).all():
            found.warnings.append(f"variable '{name}' has one value at all sites: it cannot tell them apart")
