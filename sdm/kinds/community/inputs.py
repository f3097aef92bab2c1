"""Inputs of a joint model: sites with several species, their environment, and the graph of species."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sdm.data.crs import WGS84, reproject
from sdm.data.encode import Encoder
from sdm.data.nodata import NodataCodes
from sdm.data.rasters.stack import Stack
from sdm.data.records.frames import pd
from sdm.data.records.occurrences import Occurrences, as_text
from sdm.data.records.rows import with_fate, with_left_out
from sdm.data.records.textfile import TextTable
from sdm.data.site_sample import CommunitySample
from sdm.data.sites import NamedColumns, SiteTable, read_site_table
from sdm.data.untagged import blank_codes, refuse_codes
from sdm.data.variables import hint_columns, variables_line
from sdm.errors import (
    BadValueError,
    ColumnError,
    ConflictError,
    DataError,
    InapplicableError,
    MissingInputError,
    NoRecordsError,
    OptionError,
    SdmError,
    with_code,
)
from sdm.joint import graph as graphs
from sdm.joint.inference import States
from sdm.joint.labels import check_labels, read_labels, species_names
from sdm.joint.traits import Traits
from sdm.kinds.inputs import is_swd, open_layers, points_at, row_rules
from sdm.kinds.task import FEW, CheckedVariables, Findings, Prepared
from sdm.options.definitions import GRAPH_WORDS, RunOptions
from sdm.report.tables import unquoted

NAME = "joint"  # name of the only model of a run, and of its files
Graph = str | list[tuple[str, str]]
"""The name of a graph, or its edges."""


@dataclass
class Community:
    """Inputs of a joint model."""

    sites: SiteTable  # with a value of every variable
    environment: pd.DataFrame
    edges: Graph = "tree"  # the graph, as `JointModel` takes it
    categorical: tuple[str, ...] = ()  # categorical variables
    random: str | None = None  # column of the random effect, if any
    traits: pd.DataFrame | None = None  # one row per species, which the index names

    @property
    def predictors(self) -> pd.DataFrame:
        """The environment, and the levels of the random effect, if any: the X of `JointModel`."""
        return self.environment if self.random is None else self.environment.assign(**{self.random: self.sites.level})

    def sample(self) -> CommunitySample:
        """Return the sites as numbers, for partitioning."""
        sites, names, categorical = self.sites, tuple(map(str, self.environment.columns)), self.categorical
        values = Encoder.learn(self.environment, categorical).encode(self.environment)
        return CommunitySample(
            "sites", names, categorical, values, sites.labels, sites.x, sites.y, sites.group, sites.fold
        )


def read_community(options: RunOptions, names: Sequence[str] | None = None) -> Prepared:
    """Read the sites, their environment and the graph as a `Community`. `names` are the variables of an existing
    model."""
    if names is not None:
        options = options.with_values(layers={"variables": list(names), "exclude": []})
    if options.occurrences.file is None:
        raise MissingInputError("no table of sites: give it first, as in 'sdm joint sites.csv layers/ -o results'")
    files, joint = options.layers.files, options.joint
    layers = bool(files) and not is_swd(files)
    stack = open_layers(options, names=names) if layers else None
    named = NamedColumns(
        species=options.occurrences.species,
        environment=() if layers else options.layers.variables,
        exclude=() if layers else options.layers.exclude,
        categorical=() if layers else options.layers.categorical,
        site=options.occurrences.site_column,
        x=options.occurrences.x_column,
        y=options.occurrences.y_column,
        fold=options.test.fold_column,
        level=joint.random_effect,
        presence_above=joint.presence_above,
    )
    table = files[0] if files and not layers else None
    rules = row_rules(options, absences=True)
    sites = read_site_table(options.occurrences.file, named, table=table, layers=layers, rules=rules)
    notes = [*sites.notes, *(stack.notices if stack else ())]
    if options.occurrences.layer is not None:
        raise InapplicableError("occurrences.layer does not apply to tables of sites, which are text: remove it")
    if stack is None and options.occurrences.drop_suspicious:
        raise InapplicableError("occurrences.drop_suspicious needs layers, and tables were given: remove it")
    if stack is not None:
        sites, environment, fate = _look_up(sites, stack, options, notes)
    else:
        codes = NodataCodes.read(options.layers.nodata)
        cleaned, blanked = blank_codes(sites.environment, codes)
        refuse_codes(cleaned, codes, Path(table or sites.source).name)
        notes += blanked
        sites, environment, fate = _complete(replace(sites, environment=cleaned), notes)
        if options.occurrences.crs is not None:  # distances between sites of a table are computed from degrees
            x, y = reproject(sites.x, sites.y, options.occurrences.crs, WGS84)
            sites = replace(sites, x=x, y=y)
    species_names(sites.labels, list(environment.columns))
    names_of_classes = stack.categorical if stack is not None else options.layers.categorical
    categorical = tuple(name for name in names_of_classes if name in environment.columns)
    notes.append(variables_line(list(environment.columns), categorical))
    warnings = hint_columns(environment, categorical) if stack is None else list(stack.warnings)
    text = [f"'{name}'" for name in categorical if environment[name].dtype == object]
    if options.project.scenarios and text:
        raise DataError(f"variable {text[0]} has classes of text, which layers cannot contain: remove --scenarios")
    if joint.random_effect in environment.columns:
        raise ConflictError(
            f"joint.random_effect={joint.random_effect!r} is also a variable of the environment: add --exclude "
            f"{joint.random_effect}, or name another column"
        )
    if joint.random_effect is not None and sites.level is not None:
        notes.append(_said_levels(joint.random_effect, sites.level))
    graph = read_graph(joint.graph)
    traits = None if joint.traits is None else read_traits(joint.traits)
    community = Community(sites, environment, graph, categorical, joint.random_effect, traits)
    return Prepared({NAME: community}, stack=stack, notices=notes, warnings=warnings, fate=fate)


def _said_levels(column: str, level: np.ndarray) -> str:
    """Report the number of levels of a random effect."""
    missing = int(np.count_nonzero(level == ""))
    more = f"; {missing:,} sites have no level and use the mean" if missing else ""
    return f"random effect of '{column}': {len(np.unique(level[level != ''])):,} levels{more}"


def _complete(sites: SiteTable, notes: list[str]) -> tuple[SiteTable, pd.DataFrame, pd.DataFrame]:
    """Drop sites without a value of every variable."""
    complete = pd.DataFrame(sites.environment).notna().all(axis=1).to_numpy()
    if not complete.any():
        raise NoRecordsError(f"no site of '{Path(sites.source).name}' has a value of every variable")
    if not complete.all():
        notes.append(f"{np.count_nonzero(~complete):,} sites without a value of every variable dropped")
    remaining = sites.take(complete)
    fate = _records(sites, WGS84).leave_out(~complete, "without a value of every variable")
    lines = with_fate(fate.lines(), np.zeros(len(fate), dtype=np.int64), [""])
    return remaining, pd.DataFrame(remaining.environment), with_left_out(lines, fate.left_out).drop(columns="species")


def _records(sites: SiteTable, crs: str) -> Occurrences:
    """Return the sites as records of one name."""
    name = np.full(len(sites), "sites", dtype=object)
    return Occurrences(name, sites.x, sites.y, crs, sites.row, source=sites.source, left_out=sites.left_out)


def _look_up(
    sites: SiteTable, stack: Stack, options: RunOptions, notes: list[str]
) -> tuple[SiteTable, pd.DataFrame, pd.DataFrame]:
    """Read the environment from layers; several sites in a cell count separately."""
    occ = options.occurrences
    located, ledger = points_at(stack, _records(sites, occ.crs or WGS84), "sites", notes, occ.drop_suspicious, occ.snap)
    remaining = replace(sites.take(located.index), x=located.x, y=located.y)
    environment = pd.DataFrame(np.asarray(located.values, dtype=np.float64), columns=list(stack.names))
    return remaining, environment, ledger.fate.drop(columns="species")


def read_traits(place: str) -> pd.DataFrame:
    """Return a table of traits by species, whose names are in the first column."""
    path = Path(place)
    if not path.is_file():
        raise OptionError(f"joint.traits={place!r} does not exist: expected a table with one row per species")
    text = TextTable(path)
    if len(text.header) < 2:
        raise ColumnError(f"file '{path.name}' has one column: expected names of species, and one column per trait")
    frame, row = text.read(as_text={text.header[0]})
    names = as_text(frame[text.header[0]])
    if (blank := np.flatnonzero(names == "")).size:
        raise BadValueError(
            f"file '{path.name}', row {row[blank[0]]}: expected a species in the first column, got a blank"
        )
    table = pd.DataFrame({name: frame[name] for name in text.header[1:]})
    return table.set_index(pd.Index([unquoted(name) for name in names]))


def read_graph(graph: str) -> Graph:
    """Return a graph by its name, or the edges in the first two columns of a table."""
    if graph in GRAPH_WORDS:
        return graph
    path = Path(graph)
    if not path.is_file():
        raise OptionError(f"joint.graph={graph!r}: expected one of {', '.join(GRAPH_WORDS)}, or a table of edges")
    text = TextTable(path)
    if len(text.header) < 2:
        raise ColumnError(f"file '{path.name}' has one column: expected two names of species per row, one row per edge")
    names = text.header[:2]
    frame, row = text.read(as_text=set(names))
    bad = np.flatnonzero(frame[names].isna().any(axis=1).to_numpy())
    if bad.size:
        raise BadValueError(f"file '{path.name}', row {row[bad[0]]}: expected two names of species, got one")
    return [(unquoted(str(a).strip()), unquoted(str(b).strip())) for a, b in frame[names].itertuples(index=False)]


def check_community(options: RunOptions, findings: Findings) -> None:
    """Check sites, environment and graph of a joint model."""
    prepared = findings.attempt(lambda: read_community(options))
    if prepared is None:
        return
    community: Community = prepared.tables[NAME]
    findings.facts += prepared.notices
    findings.warnings += prepared.warnings
    labels, names = community.sites.labels, tuple(community.sites.labels.columns)
    findings.facts.append(f"{Path(community.sites.source).name}: {len(labels):,} usable sites")
    edges = community.edges
    if not isinstance(edges, str):
        findings.attempt(lambda: graphs.forest_of_edges(edges, names))
        findings.facts.append(f"graph: {len(edges)} edges")
    if (traits := community.traits) is not None:
        findings.facts += findings.attempt(lambda: Traits.learn(traits).check(names)) or []
        findings.facts.append(f"traits: {', '.join(map(str, traits.columns))}")
    states = findings.attempt(lambda: read_labels(labels, names, len(labels)))
    if states is not None:
        _check_species(states, names, findings)
    findings.attempt(lambda: _check_environment(community, options, findings))
    names_of = list(community.environment.columns)
    findings.variables = CheckedVariables(names_of, community.categorical, prepared.notices)


def _check_species(states: States, names: tuple[str, ...], findings: Findings) -> None:
    """Check the labels of all species, and list every one that cannot be modelled."""
    for s, name in enumerate(names):
        try:
            check_labels(states[:, [s]], [name])
        except SdmError as error:
            findings.problems.append(with_code(error))
            continue
        present, absent = (int(np.count_nonzero(states[:, s] == label)) for label in (1, 0))
        if min(present, absent) < FEW:
            few = f"{present:,} presences and {absent:,} absences"
            findings.warnings.append(f"{name}: only {few}; results will be rough below {FEW} of either")


def _check_environment(community: Community, options: RunOptions, findings: Findings) -> None:
    """Find constant variables."""
    sample = community.sample()
    for name, column in zip(sample.names, sample.values.T):
        if (column == column[0]).all():
            findings.warnings.append(f"variable '{name}' has one value at all sites: it is uninformative")
