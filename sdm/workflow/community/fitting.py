"""A joint model of several species at the same sites: read, fit with and without edges, test, write."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from sdm._version import __version__
from sdm.commit import claim, staging
from sdm.data.encode import Encoder
from sdm.data.rasters.stack import Stack
from sdm.data.records.clean import clean
from sdm.data.records.occurrences import WGS84, Occurrences, project
from sdm.data.records.textfile import TextTable
from sdm.data.sites import NamedColumns, SiteTable, read_site_table
from sdm.errors import DataError, OptionError
from sdm.estimators.community import JointModel
from sdm.estimators.glm import fit_glm
from sdm.files import output_folder
from sdm.joint.labels import read_labels, species_names
from sdm.models.community import FittedJoint
from sdm.options.definitions import GRAPH_WORDS, JOINT_USES, RunOptions
from sdm.options.reading import leaves
from sdm.report.tables import unquoted
from sdm.types import Progress
from sdm.workflow.community.testing import (
    WHAT,
    HeldOut,
    check_site_testing,
    divide_sites,
    hushed,
    measure,
    measure_folds,
)
from sdm.workflow.species.inputs import is_swd, open_layers, open_projections

log = logging.getLogger("sdm")

FEATURES = "lq"  # what 'auto' means to a joint model


@dataclass
class Community:
    """What a joint model is fitted on.

    Attributes
    ----------
    sites : SiteTable
        Sites with a value of every variable.
    environment : DataFrame
    stack : Stack or None
        The layers, where the environment comes from layers.
    projections : dict
        Other layers to map on, by name.
    edges : str or list of pairs
        The graph, as `JointModel` takes it.
    notes : list of str
    """

    sites: SiteTable
    environment: pd.DataFrame
    stack: Stack | None = None
    projections: dict[str, Stack] = field(default_factory=dict)
    edges: str | list[tuple[str, str]] = "tree"
    notes: list[str] = field(default_factory=list)


@dataclass
class JointRun:
    """A joint model, the same without edges, and how good both and a GLM are.

    Attributes
    ----------
    joint, stacked : FittedJoint
        One object where the graph has no edge.
    training : dict
        Measures of every model at the sites that it was fitted on, by name.
    testing : HeldOut or None
        Measures at held-out sites.
    tuning : dict
        What cross-validation tried, for the two that have a C.
    """

    community: Community
    joint: FittedJoint
    stacked: FittedJoint
    training: dict[str, dict[str, Any]]
    testing: HeldOut | None
    tuning: dict[str, list[dict[str, Any]]]


@dataclass
class JointResult:
    """What a run left behind."""

    folder: Path
    numbers: dict[str, Any]
    files: dict[str, Any]
    notes: list[str]


def join(options: RunOptions, *, command: str = "", progress: Progress | None = None) -> JointResult:
    """Fit a joint model of the species of a site table, test it beside single models and a GLM, and write everything.

    Raises
    ------
    SdmError
        If options, sites, layers or the graph cannot be used, or results cannot be written.
    """
    check_joint(options)
    target = output_folder(options.output.folder)
    with claim(target, overwrite=options.output.overwrite):
        community = read_community(options)
        for note in community.notes:
            log.info(note)
        run = fit_community(community, options, progress)
        from sdm.workflow.community.writing import write_joint

        with staging(target, overwrite=options.output.overwrite) as stage:
            numbers, files = write_joint(run, options, stage, command, progress)
    return JointResult(target, numbers, files, community.notes)


def check_joint(options: RunOptions) -> None:
    """Raise for options that do not apply to a joint model, or contradict each other."""
    for leaf in leaves():
        if leaf.dotted in JOINT_USES or leaf.section == "joint":
            continue
        home = getattr(options, leaf.section) if leaf.section else options
        if getattr(home, leaf.name) != leaf.field.get_default():
            raise OptionError(f"{leaf.dotted} says nothing to a joint model: leave it out")
    own, default = options.joint, type(options.joint)()
    for name in ("shrinkage", "posterior", "rounds"):
        if own.learner != "laplace" and getattr(own, name) != getattr(default, name):
            raise OptionError(f"joint.{name} is that of the learner laplace, not of {own.learner}: leave it out")
    check_site_testing(options)


def read_community(options: RunOptions) -> Community:
    """Read the sites, their environment, and the graph."""
    if options.occurrences.file is None:
        raise OptionError("no table of sites: give it first, as in 'sdm joint sites.csv layers/ -o results'")
    files, own = options.layers.files, options.joint
    layers = bool(files) and not is_swd(files)
    stack = _open(options) if layers else None
    wanted = NamedColumns(
        species=options.occurrences.species,
        environment=() if layers else own.environment,
        categorical=() if layers else options.layers.categorical,
        site=options.occurrences.site_column,
        x=options.occurrences.x_column,
        y=options.occurrences.y_column,
        fold=options.test.fold_column,
    )
    table = files[0] if files and not layers else None
    sites = read_site_table(options.occurrences.file, wanted, table=table, layers=layers)
    notes = [*sites.notes, *(stack.notices if stack else ())]
    if stack is None:
        sites, environment = _whole(sites, notes)
        if options.occurrences.crs is not None:  # distances between sites of a table are measured from degrees
            x, y = project(sites.x, sites.y, options.occurrences.crs, WGS84)
            sites = replace(sites, x=x, y=y)
    else:
        sites, environment = _look_up(sites, stack, options, notes)
    species_names(sites.labels, list(environment.columns))
    categorical = [name for name in options.layers.categorical if environment[name].dtype == object]
    if options.predict.projections and categorical:
        raise DataError(
            f"variable '{categorical[0]}' has classes of text, which layers cannot hold: leave out --projections"
        )
    projections = open_projections(options, list(environment.columns))
    for title, other in projections.items():
        notes += [f"projection {title}: {text}" for text in other.notices]
    return Community(sites, environment, stack, projections, read_graph(own.graph), notes)


def _open(options: RunOptions) -> Stack:
    """Open the layers, or those that were named as the environment."""
    return open_layers(options, names=options.joint.environment or None)


def _whole(sites: SiteTable, notes: list[str]) -> tuple[SiteTable, pd.DataFrame]:
    """Leave out sites without a value of every variable."""
    whole = pd.DataFrame(sites.environment).notna().all(axis=1).to_numpy()
    if not whole.any():
        raise DataError(f"no site of '{Path(sites.source).name}' has a value of every variable of the environment")
    if not whole.all():
        notes.append(f"{np.count_nonzero(~whole):,} sites without a value of every variable left out")
    kept = sites.take(whole)
    return kept, pd.DataFrame(kept.environment)


def _look_up(sites: SiteTable, stack: Stack, options: RunOptions, notes: list[str]) -> tuple[SiteTable, pd.DataFrame]:
    """Take the environment from layers; sites that lie in one cell each count."""
    records = Occurrences(
        species=np.full(len(sites), "sites", dtype=object),
        x=sites.x,
        y=sites.y,
        crs=options.occurrences.crs or WGS84,
        row=sites.row,
        source=sites.source,
    )
    points, ledger = clean(records, stack, snap=options.occurrences.snap, remove_duplicates=False)
    found = points["sites"]
    if ledger.describe("sites"):
        notes.append(f"sites left out: {ledger.describe('sites')}")
    kept = replace(sites.take(found.index), x=found.x, y=found.y)
    return kept, pd.DataFrame(np.asarray(found.values, dtype=np.float64), columns=list(stack.names))


def read_graph(graph: str) -> str | list[tuple[str, str]]:
    """Return a graph by its name, or the edges of a table: its first two columns, one row an edge."""
    if graph in GRAPH_WORDS:
        return graph
    path = Path(graph)
    if not path.is_file():
        raise OptionError(f"joint.graph={graph!r}: expected one of {', '.join(GRAPH_WORDS)}, or a table of edges")
    text = TextTable(path)
    if len(text.header) < 2:
        raise DataError(f"file '{path.name}' has one column: expected two names of species a row, an edge each")
    names = text.header[:2]
    frame, row = text.read(as_text=set(names))
    bad = np.flatnonzero(frame[names].isna().any(axis=1).to_numpy())
    if bad.size:
        raise DataError(f"file '{path.name}', row {row[bad[0]]}: expected two names of species, got one")
    return [(unquoted(str(a).strip()), unquoted(str(b).strip())) for a, b in frame[names].itertuples(index=False)]


def make_model(options: RunOptions, graph: Any, categorical: Sequence[str]) -> JointModel:
    """Return the model that the options ask for, not fitted."""
    own, fit = options.joint, options.fit
    limits: dict[str, Any] = {"tolerance": fit.tolerance, "max_iterations": fit.max_iterations}
    return JointModel(
        own.learner,
        graph,
        FEATURES if fit.features == "auto" else fit.features,
        c=own.cost,
        lam=own.shrinkage,
        method=own.posterior,
        knots=fit.knots,
        categorical=list(categorical),
        rounds=own.rounds,
        seed=options.seed,
        **{name: value for name, value in limits.items() if value is not None},
    )


def fit_community(community: Community, options: RunOptions, progress: Progress | None = None) -> JointRun:
    """Fit with edges, without, and a GLM to all sites, and test all on held-out ones."""
    began = perf_counter()
    x, y, categorical = community.environment, community.sites.labels, options.layers.categorical
    values, group = Encoder.learn(x, categorical).encode(x), community.sites.group
    split = divide_sites(community.sites, values, list(x.columns), categorical, options, community.stack)
    joint = make_model(options, community.edges, categorical).fit(x, y, WHAT["joint"], group)
    community.notes += joint.notes_
    log.debug("joint model fitted in %.1f s", perf_counter() - began)
    stacked = joint
    if len(joint.forest_.edges):
        with hushed():
            stacked = make_model(options, "none", categorical).fit(x, y, WHAT["stacked"], group)
    labels = read_labels(y, joint.species_, len(y))
    for model in (joint, stacked):
        model.fitted_.meta.update(_meta(options, community))
    glm = fit_glm(values, labels, joint.fitted_.encoder, joint.species_)
    own = {"joint": joint.fitted_, "stacked": stacked.fitted_, "glm": glm}
    training = {name: measure(model, values, labels) for name, model in own.items()}
    testing = None
    if split is not None:
        if 0 < len(split.folds) < options.test.folds:
            community.notes.append(f"{options.test.folds} folds were asked for, the sites make {len(split.folds)}")
            log.info(community.notes[-1])

        def fit(name: str, graph: Any, train: np.ndarray, species: list[str], what: str) -> FittedJoint:
            if name == "glm":
                at = [joint.species_.index(one) for one in species]
                return fit_glm(values[train], labels[train][:, at], joint.fitted_.encoder, tuple(species))
            model = make_model(options, graph, categorical)
            return model.fit(x.iloc[train], y.iloc[train][species], what, group[train]).fitted_

        testing = measure_folds(split, fit, community.edges, values, labels, joint.species_, progress)
        community.notes += testing.notes
        for note in testing.notes:
            log.info(note)
    tuning = {name: model.tuning_ for name, model in (("joint", joint), ("stacked", stacked)) if model.tuning_}
    return JointRun(community, joint.fitted_, stacked.fitted_, training, testing, tuning)


def _meta(options: RunOptions, community: Community) -> dict[str, Any]:
    """Return what the model file says of the run."""
    graph = options.joint.graph if options.joint.graph in GRAPH_WORDS else Path(options.joint.graph).name
    return {
        "version": __version__,
        "seed": options.seed,
        "graph": graph,
        "features": options.fit.features if options.fit.features != "auto" else FEATURES,
        "source": Path(community.sites.source).name,
    }
