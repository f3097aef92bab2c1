"""Independent surveys for a joint model: known labels are measured, or inform the other species."""

from collections.abc import Hashable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sdm.data.crs import WGS84
from sdm.data.rasters.stack import Stack
from sdm.data.records.clean import locate
from sdm.data.records.columns import PRESENCE, SPECIES, coordinate_pair, first_of
from sdm.data.records.occurrences import Occurrences, as_text
from sdm.data.records.textfile import TextTable, column_key, to_numbers
from sdm.data.site_folds import SITE
from sdm.data.sites import NamedColumns, SiteTable, read_site_table
from sdm.errors import ColumnError, DataError, MismatchError, NoRecordsError, UnusableRecordsError
from sdm.joint.labels import read_labels
from sdm.kinds.community.inputs import NAME, Community, read_community
from sdm.kinds.community.testing import measure
from sdm.kinds.inputs import check_categories, check_columns, is_swd, open_text
from sdm.kinds.model_task import EvaluationOptions, RowPredictor, SurveyFile
from sdm.maps.several import SurveyedCells
from sdm.models.community import FittedJoint
from sdm.options.definitions import RunOptions
from sdm.types import Array, Index, Numbers, Row

Keys = dict[int, Hashable]
"""The name of a site, its coordinates or its number, by row number."""


def species_columns(model: FittedJoint, text: TextTable) -> list[str]:
    """Return the species of a model that are columns of a table; empty if it has one row per species and site."""
    names = [name for name in model.species if name in text.header]
    if not names and (first_of(text.header, SPECIES) is None or first_of(text.header, PRESENCE) is None):
        raise no_species(model, f"it has {', '.join(text.header)}")
    return names


def presence_above(model: FittedJoint) -> float | None:
    """Return the threshold of counts or cover for presence in the fit of a model; None for labels 0 and 1."""
    stored = model.meta.get("presence_above")
    return float(stored) if isinstance(stored, float | int) else None


def level_column(model: FittedJoint, text: TextTable) -> str | None:
    """Return the column of the random effect in a table; None without one."""
    if model.random is None:
        return None
    name = model.random.column
    return name if name in text.header else first_of(text.header, [column_key(name)])


def row_levels(model: FittedJoint, text: TextTable, row: Index, notices: list[str]) -> NDArray[np.str_] | None:
    """Return the levels of the rows of a table; None without a random effect in the model or the table."""
    column, levels = level_column(model, text), None
    if column is not None:
        frame, rows = text.read(as_text={column})
        by_row = dict(zip(rows.tolist(), as_text(frame[column]).tolist()))
        levels = np.array([by_row.get(number, "") for number in row.tolist()], dtype=str)
    notices += said_levels(model, levels, len(row))
    return levels


def said_levels(model: FittedJoint, levels: np.ndarray | None, rows: int) -> list[str]:
    """Report the rows with levels that are not in the model."""
    if model.random is None:
        return []
    if levels is None:
        return [f"the table has no column '{model.random.column}': the mean of its levels is used"]
    new = model.random.unknown(levels)
    text = f"random effect of '{model.random.column}' used at {rows - new:,} of {rows:,} rows"
    return [f"{text}; the others have a new level and use the mean" if new else text]


def no_species(model: FittedJoint, hint: str) -> DataError:
    """Return the error for a table without species of a model."""
    listed = ", ".join(model.species[:10]) + (", …" if len(model.species) > 10 else "")
    return ColumnError(f"the table of sites has none of the species of the model ({listed}): {hint}")


def read_known(model: FittedJoint, survey: SurveyFile, *, places: bool) -> tuple[SiteTable, Array]:
    """Return the sites of a survey and their labels, NaN if unknown; with `places` coordinates are required."""
    text = open_text(survey.path)
    species = species_columns(model, text)
    x, y = (survey.x_column, survey.y_column) if places else (None, None)
    named = NamedColumns(species=species, x=x, y=y, presence_above=presence_above(model))
    sites = read_site_table(survey.path, named, layers=places, labels_only=not places)
    names = [name for name in model.species if name in sites.labels.columns]
    if not names:
        raise no_species(model, f"it has {', '.join(sites.labels.columns)}")
    labels = read_labels(sites.labels[names], model.species, len(sites))
    if not (labels >= 0).any():
        raise NoRecordsError(f"no site of '{Path(survey.path).name}' has a known label of a species of the model")
    return sites, np.where(labels < 0, np.nan, labels)


def combined_labels(labels: Array, group: Index, size: int) -> Array:
    """Return the labels of groups of sites: present if any site has the species, absent if all searched sites lack it,
    NaN if unknown."""
    out = np.full((size, labels.shape[1]), np.nan)
    np.fmax.at(out, group, labels)
    return out


def known_cells(model: FittedJoint, survey: SurveyFile, stack: Stack) -> tuple[SurveyedCells, list[str]]:
    """Return the cells of layers with known labels, and a report."""
    sites, labels = read_known(model, survey, places=True)
    name = Path(survey.path).name
    searched: NDArray[np.bool_] = np.asarray(np.isfinite(labels).any(axis=1))
    nobody = np.full(len(sites), "", dtype=object)
    records = Occurrences(nobody, sites.x, sites.y, survey.crs or WGS84, sites.row, source=sites.source)
    located = locate(records, stack)
    used = searched[located.record]
    if not used.any():
        raise UnusableRecordsError(f"no site of '{name}' with a known label is on the layers: check --crs")
    cells, cell = np.unique(located.cell[used], return_inverse=True)
    held = combined_labels(labels[located.record[used]], cell, len(cells))
    species = int(np.isfinite(held).any(axis=0).sum())
    lines = [
        f"known labels of {int(used.sum()):,} sites of '{name}' used in {len(cells):,} cells: "
        f"{int(np.isfinite(held).sum()):,} labels of {species} species"
    ]
    if away := int(searched.sum() - used.sum()):
        lines.append(f"{away:,} sites of '{name}' are outside the layers and were dropped")
    return SurveyedCells(located.rows[cells], located.cols[cells], held), lines


def known_rows(
    model: FittedJoint, survey: SurveyFile, points: TextTable, row: Index, notices: list[str]
) -> NDArray[np.float64]:
    """Return the known labels of the rows of a table, `(n, S)`. The survey is the table, or is joined to it by names of
    sites, by coordinates, or row by row."""
    sites, labels = read_known(model, survey, places=False)
    text = open_text(survey.path)
    theirs, ours, how = _keys(survey, text, points)
    if how == "row by row" and len(theirs) != len(ours):
        raise MismatchError(
            f"'{text.path.name}' has {len(theirs):,} rows and '{points.path.name}' {len(ours):,}, without a common "
            "column of sites: add a column 'site' to both, or coordinates"
        )
    place = {key: k for k, key in enumerate(dict.fromkeys(theirs.values()))}
    named = [k for k, number in enumerate(sites.row.tolist()) if number in theirs]
    site = np.array([place[theirs[sites.row[k]]] for k in named], dtype=np.int64)
    held = combined_labels(labels[named], site, len(place) + 1)  # the last entry: rows outside the survey
    out = held[[place.get(ours.get(number), len(place)) for number in row.tolist()]]
    informed = int(np.isfinite(out).any(axis=1).sum())
    if not informed:
        raise MismatchError(f"no row of '{points.path.name}' has a known label in '{text.path.name}' (joined {how})")
    notices.append(f"known labels of '{text.path.name}' (joined {how}) used at {informed:,} of {len(row):,} rows")
    return out


class SurveyedRows(RowPredictor[FittedJoint]):
    """Predictions for the rows of a table, with known labels of a survey and levels of the random effect."""

    def __init__(
        self, model: FittedJoint, known: SurveyFile | None, text: TextTable, row: Index, notices: list[str]
    ) -> None:
        super().__init__(model)
        self.row = row
        self.labels = None if known is None else known_rows(model, known, text, row, notices)
        self.levels = row_levels(model, text, row, notices)

    def values(self, columns: Sequence[Array], scale: str | None, clamp: bool) -> Array:
        """Return the probability of every species."""
        x = np.column_stack(columns).astype(np.float64)
        return self.model.predict_proba(x, self.labels, clamp, self.levels).T

    def communities(self, columns: Sequence[Array], clamp: bool) -> list[Row]:
        """Return one row per possible community of every row of the table, with its probability and species."""
        x, species = np.column_stack(columns).astype(np.float64), self.model.species
        possible = self.model.communities(x, self.labels, clamp, self.levels)
        return [
            {
                "row": int(number),
                "community": k + 1,
                "probability": float(p),
                "richness": int(present.sum()),
                "species": "; ".join(name for name, label in zip(species, present) if label),
            }
            for number, listed in zip(self.row, possible)
            if listed is not None
            for k, (present, p) in enumerate(zip(listed.labels, listed.probability))
        ]


def _keys(survey: SurveyFile, text: TextTable, points: TextTable) -> tuple[Keys, Keys, str]:
    """Return the keys that identify the rows of two tables, by row number, and their name."""
    same = text.path.resolve() == points.path.resolve()
    site = first_of(text.header, SITE)
    if site is not None and site in points.header and not same:
        return _column_keys(text, [site]), _column_keys(points, [site]), f"by column '{site}'"
    named = [survey.x_column, survey.y_column]
    pairs = [named if set(named) <= {*part.header} else list(coordinate_pair(part.header)) for part in (text, points)]
    first, second = ([name for name in pair if name is not None] for pair in pairs)
    if len(first) == len(second) == 2 and not same:
        return _column_keys(text, first), _column_keys(points, second), "by coordinates"
    numbered: list[Keys] = [{int(n): k for k, n in enumerate(part.read(as_text=set())[1])} for part in (text, points)]
    return numbered[0], numbered[1], "row by row"


def _column_keys(text: TextTable, names: Sequence[str]) -> Keys:
    """Return the name of a site, or its coordinates, by row number; rows without one have no key."""
    if len(names) == 1:
        frame, row = text.read(as_text=set(names))
        return {int(k): word for k, word in zip(row, as_text(frame[names[0]])) if word}
    frame, row = text.read(as_text=set())
    x, y = (to_numbers(frame[name])[0].tolist() for name in names)
    return {int(k): (a, b) for k, a, b in zip(row, x, y) if a == a and b == b}


def evaluate_joint(model: FittedJoint, options: RunOptions, evaluation: EvaluationOptions) -> Numbers:
    """Measure a joint model at a table of sites, as `sdm joint` tests its model."""
    file, layers = str(options.occurrences.file), options.layers
    text = open_text(file)
    names = species_columns(model, text)
    if not layers.files:
        check_columns(model, text)
    elif is_swd(layers.files):
        check_columns(model, open_text(layers.files[0]))
    else:
        check_categories(model)
    tables = [text, *([open_text(layers.files[0])] if layers.files and is_swd(layers.files) else [])]
    random = next((name for part in tables if (name := level_column(model, part))), None)
    options = options.with_values(
        occurrences={"species": names, "site_column": evaluation.site_column},
        layers={"categorical": list(model.encoder.categorical)},
        joint={"presence_above": presence_above(model), "random_effect": random},
    )
    prepared = read_community(options, model.encoder.names)
    community: Community = prepared.tables[NAME]
    labels = community.sites.labels
    labelled = [name for name in model.species if name in labels.columns]
    if not labelled:
        raise no_species(model, f"it has {', '.join(labels.columns)}")
    notices = [*prepared.notices, *said_levels(model, community.sites.level, len(labels))]
    if absent := [name for name in model.species if name not in labelled]:
        notices.append(f"species of the model that the table lacks, not measured: {', '.join(absent)}")
    states = read_labels(labels.reindex(columns=list(model.species)), model.species, len(labels))
    used = (states >= 0).any(axis=1)
    if not used.any():
        raise NoRecordsError(f"no site of '{Path(file).name}' has a known label (0 or 1) of a species of the model")
    if not used.all():
        notices.append(f"{np.count_nonzero(~used):,} sites without a known label dropped")
    values, levels = model.encode(community.environment), community.sites.level
    return {
        "learner": model.meta.get("learner"),
        "sites": int(np.count_nonzero(used)),
        "labels": int(np.count_nonzero(states >= 0)),
        "notices": notices,
        **measure(model, values[used], states[used], _at_training(model), None if levels is None else levels[used]),
    }


def _at_training(model: FittedJoint) -> dict[str, list[float]] | None:
    """Return the statistics of the training sites in a model file; None if they are missing or invalid."""
    stored = model.meta.get("at_training")
    if not isinstance(stored, dict):
        return None
    parts = {name: stored.get(name) for name in ("shares", "cutoffs")}
    good = all(isinstance(part, list) and len(part) == len(model.species) for part in parts.values())
    numbers = good and all(isinstance(value, float | int) for part in parts.values() for value in part)  # type: ignore[union-attr]
    return parts if numbers else None  # type: ignore[return-value]
