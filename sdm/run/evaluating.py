"""A model file on records that it has not seen."""

from pathlib import Path
from typing import Any

import numpy as np

from sdm.assess.measures import auc, auc_deviation, log_loss
from sdm.data.background import sample_background
from sdm.data.clean import clean
from sdm.data.columns import PRESENCE, first_of
from sdm.data.layers import Stack, open_stack
from sdm.data.occurrences import Occurrences, read_occurrences, read_swd
from sdm.errors import DataError, OptionError
from sdm.features.domain import Array
from sdm.model import Model
from sdm.modelfile import load_model


def evaluate_files(
    model: str | Path,
    presences: str | Path,
    *,
    layers: list[str] | None = None,
    absences: str | Path | None = None,
    background: str | None = None,
    species: str | None = None,
    crs: str | None = None,
    truth: str | Path | None = None,
    seed: int = 1,
) -> dict[str, Any]:
    """Measure a model file on records; return every number.

    Presences are compared with absences where there are any (a file, or rows of `presences` whose 0/1 column says 0),
    else with background: a file, or points drawn from the layers. `truth` is a raster of the true suitability, which a
    virtual species has: the prediction is correlated with it over cells drawn from the layers.
    """
    if absences is not None and background is not None:
        raise OptionError("give --absences or --background, not both: presences are compared with one of them")
    loaded = load_model(model)
    notices: list[str] = []
    if layers:
        stack = open_stack(
            list(layers) if len(layers) > 1 else layers[0],
            categorical=[variable.name for variable in loaded.variables if variable.categorical],
            names=loaded.names,
        )
        notices += stack.notices
        present, others, against = _from_layers(stack, presences, absences, background, species, crs, seed)
    else:
        present, others, against = _from_tables(loaded, presences, absences or background, species)
        against = "background" if background else against
    numbers = {"species": loaded.meta.get("species"), "notices": notices, **_measure(loaded, present, others, against)}
    if truth is not None:
        if not layers:
            raise OptionError("--truth needs --layers: the prediction is compared with it cell by cell")
        numbers["truth_correlation"] = _against_truth(loaded, stack, truth, seed)
    return numbers


def _from_layers(
    stack: Stack,
    presences: str | Path,
    absences: str | Path | None,
    background: str | None,
    species: str | None,
    crs: str | None,
    seed: int,
) -> tuple[Array, Array, str]:
    """Look the records up in the layers."""
    records = read_occurrences(presences, crs=crs)
    if species is not None:
        if species not in records.species_names:
            raise OptionError(f"species '{species}' is not in {presences}; there are {', '.join(records.species_names[:10])}")
        records = records.take(records.species.astype(str) == species)
    label = first_of(list(records.extra.columns), PRESENCE)
    if label is not None:
        found = records.extra[label].to_numpy(dtype=np.float64) == 1
        absent = _values(stack, records.take(~found)) if not found.all() else np.empty((0, len(stack.names)))
        present = _values(stack, records.take(found))
    else:
        present, absent = _values(stack, records), np.empty((0, len(stack.names)))
    if absences is not None:
        absent = np.vstack([absent, _values(stack, read_occurrences(absences, crs=crs))])
    if len(absent):
        return present, absent, "absence"
    if background is not None and not background.isdigit():
        return present, _values(stack, read_occurrences(background, crs=crs)), "background"
    drawn = sample_background(stack, n=int(background or 10_000), seed=seed)
    return present, np.asarray(drawn.values, dtype=np.float64), "background"


def _against_truth(model: Model, stack: Stack, truth: str | Path, seed: int) -> float:
    """Return the correlation of the prediction with the true suitability, over cells drawn at random."""
    known = open_stack(truth)
    if (known.width, known.height) != (stack.width, stack.height):
        raise DataError(f"{truth} has {known.width:,} × {known.height:,} cells, the layers have {stack.width:,} × {stack.height:,}")
    cells = sample_background(stack, n=10_000, seed=seed)
    true = known.sample(cells.rows, cells.cols)[:, 0].astype(np.float64)
    valid = np.isfinite(true)
    predicted = model.predict(np.asarray(cells.values, dtype=np.float64)[valid])
    return float(np.corrcoef(predicted, true[valid])[0, 1])


def _values(stack: Stack, records: Occurrences) -> Array:
    """Return the layers' values at records, each record by itself."""
    points, _ = clean(records, stack, remove_duplicates=False)
    return np.vstack([np.asarray(part.values, dtype=np.float64) for part in points.values()])


def _from_tables(
    model: Model, presences: str | Path, others: str | Path | None, species: str | None
) -> tuple[Array, Array, str]:
    """Take the variables from the columns of the files."""
    categorical = [variable.name for variable in model.variables if variable.categorical]
    table = read_swd(presences, categorical=categorical, variables=model.names)
    wanted = ~table.is_background if species is None else table.species == species
    present = table.table[wanted]
    if others is not None:
        rest = read_swd(others, categorical=categorical, variables=model.names).table
    else:
        rest = table.table[table.is_background]
    if not len(rest):
        raise OptionError(f"{presences} has no absences or background: give --layers, --absences or --background")
    from sdm.encode import Encoder

    labels = {variable.name: variable.labels for variable in model.variables if variable.labels}
    encoder = Encoder(model.names, tuple(categorical), labels)
    return encoder.encode(present), encoder.encode(rest), "absence or background"


def _measure(model: Model, present: Array, others: Array, against: str) -> dict[str, Any]:
    """Compute the numbers."""
    present, others = (part[np.isfinite(part).all(axis=1)] for part in (present, others))
    if not len(present) or not len(others):
        raise DataError(f"{len(present):,} presences and {len(others):,} {against} points have values: expected some of each")
    raw, raw_others = model.predict(present, "raw"), model.predict(others, "raw")
    loss = log_loss(raw)
    known = model.meta.get("thresholds", {})
    numbers: dict[str, Any] = {
        "presences": len(present),
        "others": len(others),
        "against": against,
        "auc": auc(raw, raw_others),
        "auc_deviation": auc_deviation(raw, raw_others),
        "log_loss": loss,
        "gain": float(np.log(model.n_domain)) - loss,
        "omission": {key: float(np.mean(raw < known[key])) for key in ("mtp", "10p", "maxsss") if key in known},
    }
    if against == "absence":
        predicted = model.from_raw(np.concatenate([raw, raw_others]), "cloglog")
        observed = np.repeat([1.0, 0.0], [len(raw), len(raw_others)])
        numbers["correlation"] = float(np.corrcoef(predicted, observed)[0, 1]) if np.ptp(predicted) > 0 else float("nan")
        level = known.get("maxsss", float("nan"))
        numbers["tss"] = float(np.mean(raw >= level) + np.mean(raw_others < level) - 1.0)
    return numbers
