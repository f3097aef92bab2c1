"""A joint model on sites that it has not seen."""

from pathlib import Path

import numpy as np

from sdm.errors import DataError
from sdm.joint.labels import read_labels
from sdm.kinds.community.inputs import read_community
from sdm.kinds.community.known import level_column, no_species, presence_above, said_levels, species_columns
from sdm.kinds.community.testing import measure
from sdm.kinds.inputs import is_swd
from sdm.kinds.model_inputs import check_categories, check_columns, open_text
from sdm.kinds.model_task import EvaluationOptions
from sdm.models.community import FittedJoint
from sdm.options.definitions import RunOptions
from sdm.types import Numbers


def evaluate_joint(model: FittedJoint, options: RunOptions, given: EvaluationOptions) -> Numbers:
    """Measure a joint model on a table of sites: as `sdm joint` tests its own."""
    file, layers = str(options.occurrences.file), options.layers
    text = open_text(file)
    known = species_columns(model, text)
    if not layers.files:
        check_columns(model, text)
    elif is_swd(layers.files):
        check_columns(model, open_text(layers.files[0]))
    else:
        check_categories(model)
    tables = [text, *([open_text(layers.files[0])] if layers.files and is_swd(layers.files) else [])]
    random = next((name for part in tables if (name := level_column(model, part))), None)
    update = {
        "occurrences": options.occurrences.model_copy(update={"species": known, "site_column": given.site_column}),
        "layers": layers.model_copy(update={"categorical": list(model.encoder.categorical)}),
        "joint": options.joint.model_copy(update={"presence_above": presence_above(model), "random_effect": random}),
    }
    options = options.model_copy(update=update)
    community = read_community(options, model.encoder.names)
    labels = community.sites.labels
    found = [name for name in model.species if name in labels.columns]
    if not found:
        raise no_species(model, f"it has {', '.join(labels.columns)}")
    notices = [*community.notes, *said_levels(model, community.sites.level, len(labels))]
    if absent := [name for name in model.species if name not in found]:
        notices.append(f"species of the model that are not in the table, and not measured: {', '.join(absent)}")
    states = read_labels(labels.reindex(columns=list(model.species)), model.species, len(labels))
    some = (states >= 0).any(axis=1)
    if not some.any():
        raise DataError(f"no site of '{Path(file).name}' has a known label of the model's species: expected 0 and 1")
    if not some.all():
        notices.append(f"{np.count_nonzero(~some):,} sites without a known label left out")
    values, levels = model.encode(community.environment), community.sites.level
    return {
        "learner": model.meta.get("learner"),
        "sites": int(np.count_nonzero(some)),
        "labels": int(np.count_nonzero(states >= 0)),
        "notices": notices,
        **measure(model, values[some], states[some], _at_training(model), None if levels is None else levels[some]),
    }


def _at_training(model: FittedJoint) -> dict[str, list[float]] | None:
    """Return what a model's file says of its training sites; None if it says nothing, or nothing of use."""
    stored = model.meta.get("at_training")
    if not isinstance(stored, dict):
        return None
    found = {name: stored.get(name) for name in ("shares", "cutoffs")}
    good = all(isinstance(part, list) and len(part) == len(model.species) for part in found.values())
    numbers = good and all(isinstance(value, float | int) for part in found.values() for value in part)  # type: ignore[union-attr]
    return found if numbers else None  # type: ignore[return-value]
