"""What would go wrong in a run of presence and absence (`sdm fit --response`), found without fitting."""

import numpy as np

from sdm.conditional.targets import read_targets
from sdm.maps.classes import presence_class
from sdm.options.classes import ClassifyOptions
from sdm.options.definitions import RunOptions
from sdm.workflow.checking import Findings, check_layers, check_output
from sdm.workflow.classes.fitting import divide_classes
from sdm.workflow.classes.inputs import read_sites
from sdm.workflow.classes.response import response_runs
from sdm.workflow.species.inputs import open_layers


def check_response(options: RunOptions) -> Findings:
    """Check options, the response column, species, records, layers and the output folder of a run."""
    found = Findings()
    check_output(options, found)
    runs = found.attempt(lambda: response_runs(options))
    stack = found.attempt(lambda: open_layers(options)) if options.layers.files else None
    if stack is not None:
        found.facts.append(f"{len(stack.names)} layers of {stack.width:,} × {stack.height:,} cells")
        found.attempt(lambda: check_layers(stack, options, found))
    if runs is None:
        return found
    found.facts += runs.notices
    found.problems += runs.failures.values()
    if stack is not None:
        for species, own in runs.options.items():
            found.attempt(lambda species=species, own=own: _count(species, own, found))  # type: ignore[misc]
    return found


def _count(species: str, options: ClassifyOptions, found: Findings) -> None:
    """Say how many presences and absences of a species can be used."""
    sites = read_sites(options)
    labels, counts = np.unique(sites.target, return_counts=True)
    found.attempt(
        lambda: divide_classes(sites, read_targets(sites.target, len(sites.x))[1], list(map(str, labels)), options)
    )
    here = presence_class([str(label) for label in labels]) or 0
    found.facts.append(f"{species}: {counts[here]:,} presences and {counts[1 - here]:,} absences ({sites.notices[-1]})")
