"""Fit of a joint model, of the same model without associations, and of a GLM, with their tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sdm._version import __version__
from sdm.assess.measures.community import marginal_loss, partition_variance
from sdm.assess.splits.folds import Fold, Split
from sdm.data.encode import Encoder
from sdm.data.site_sample import CommunitySample
from sdm.estimators.community import JointModel
from sdm.estimators.glm import fit_glm
from sdm.joint.inference import States
from sdm.joint.labels import read_labels
from sdm.joint.levels import RandomEffect
from sdm.joint.pairs import SURE, PairAssociations, pair_associations
from sdm.kinds.community.inputs import Community, Graph
from sdm.kinds.community.testing import WHAT, SiteTest, at_training, hushed, mean_of_folds, measure
from sdm.kinds.splitting import Plan, set_sites_aside, split_sites
from sdm.kinds.task import Prepared, estimator_of
from sdm.models.community import FittedJoint
from sdm.models.interface import category_titles
from sdm.options.definitions import GRAPH_WORDS, RunOptions
from sdm.progress.telling import StepCount, going_on, step_by_step
from sdm.types import Numbers, Progress, Row

if TYPE_CHECKING:
    import pandas as pd

KEPT = 0.01  # smallest relevant weight, relative to the largest
MOST_PAIRS = 30  # in the numbers of a run
FEATURES = "lq"  # meaning of 'auto' for a joint model


CommunityPlan = Plan[CommunitySample, CommunitySample]
"""All sites of a joint model, and their partition."""


@dataclass(frozen=True)
class JointFit:
    """A joint model with its certificate, the model without associations, and a GLM."""

    name: str
    community: Community
    plan: CommunityPlan
    estimators: tuple[JointModel, JointModel]  # of the joint and the stacked model
    labels: States
    joint: FittedJoint
    stacked: FittedJoint  # the same object if the graph has no edge
    glm: FittedJoint


@dataclass
class MeasuredCommunity:
    """A joint model, the model without associations, and the measures of both and of a GLM."""

    fit: JointFit
    numbers: Numbers
    notes: list[str]
    training: dict[str, Numbers]  # measures of every model at the training sites, by name
    testing: SiteTest | None  # measures at held-out sites
    tuning: dict[str, list[Row]]  # cross-validation of C, for both models
    effects: list[Row]
    variance: list[Row]  # variance partitioning of the log-odds
    pairs: PairAssociations | None  # of all species, if requested

    @property
    def name(self) -> str:
        """The name of the only model of a run."""
        return self.fit.name


def plan_community(prepared: Prepared, name: str, options: RunOptions) -> CommunityPlan:
    """Divide the sites, with all visits to a site together; raise for impossible options before any fit.

    If variables were dropped, folds depend on all of them.
    """
    sample = prepared.tables[name].sample()
    if not options.test.percent:
        divided = prepared.chosen[name].table if name in prepared.chosen else sample
        return CommunityPlan(sample, None, split_sites(divided, options, prepared.stack))
    train = set_sites_aside(sample, options)
    fold = Fold("1", np.flatnonzero(train), np.flatnonzero(~train))
    return CommunityPlan(sample, None, Split("percent", (fold,), None, None, "full"))


def glm_gains(sample: CommunitySample, names: Sequence[str], progress: Progress | None = None) -> dict[str, float]:
    """Return the gain of a GLM with one continuous variable over the null model, in nats per site."""
    species = tuple(map(str, sample.target.columns))
    labels = read_labels(sample.target, species, len(sample))
    shares = np.array([float(np.mean(species_labels[species_labels >= 0])) for species_labels in labels.T])
    constant = marginal_loss(labels, np.broadcast_to(shares, labels.shape))
    gains = {}
    for name in step_by_step(names, progress, "single variables"):
        x = sample.values[:, [sample.names.index(name)]]
        model = fit_glm(x, labels, Encoder((name,), (), {}), species)
        gains[name] = constant - marginal_loss(labels, model.predict_proba(x))
    return gains


def make_model(
    options: RunOptions, graph: Graph, categorical: Sequence[str], traits: "pd.DataFrame | None" = None
) -> JointModel:
    """Return the unfitted model of the options; `traits` are the traits of its species."""
    joint = options.joint
    values = {
        "learner": joint.learner,
        "graph": graph,
        "features": feature_classes(options),
        "c": joint.cost,
        "lam": joint.shrinkage,
        "method": joint.posterior,
        "rounds": joint.rounds,
        "categorical": list(categorical),
        "traits": traits,
        "random_effect": joint.random_effect,
        "random_spread": None if joint.random_effect is None else joint.random_spread,
        "folds": None,  # the penalties of these learners have another meaning
    }
    return estimator_of(JointModel, options, values)


def feature_classes(options: RunOptions) -> str:
    """Return the feature classes of a joint model."""
    return FEATURES if options.fit.features == "auto" else options.fit.features


def fit_community(prepared: Prepared, name: str, options: RunOptions, progress: Progress | None = None) -> JointFit:
    """Fit the model with associations, the model without them, and a GLM to all sites."""
    community: Community = prepared.tables[name]
    plan = plan_community(prepared, name, options)
    x, y, group, traits = community.predictors, community.sites.labels, community.sites.group, community.traits
    with going_on(progress, f"fitting the {WHAT['joint']}"):
        joint = make_model(options, community.edges, community.categorical, traits)
        joint.fit(x, y, groups=group, title=WHAT["joint"], progress=progress)
    stacked = joint
    if len(joint.forest_.edges):
        with hushed(), going_on(progress, f"fitting {WHAT['stacked']}"):
            stacked = make_model(options, "none", community.categorical, traits)
            stacked.fit(x, y, groups=group, title=WHAT["stacked"], progress=progress)
    labels = read_labels(y, joint.species_, len(y))
    for model in (joint, stacked):
        model.model_.meta.update(_record(options, prepared, community))
    glm = fit_glm(plan.table.values, labels, joint.model_.encoder, joint.species_)
    for model in (joint, stacked):
        model.model_.meta["at_training"] = at_training(model.model_, plan.table.values, labels, community.sites.level)
    return JointFit(name, community, plan, (joint, stacked), labels, joint.model_, stacked.model_, glm)


def measure_joint(
    fit: JointFit, prepared: Prepared, options: RunOptions, progress: Progress | None = None
) -> MeasuredCommunity:
    """Measure the models at the training sites, and fits without each fold at its sites."""
    community, joint, labels, glm = fit.community, fit.joint, fit.labels, fit.glm
    values, levels, split = fit.plan.table.values, community.sites.level, fit.plan.split
    models = {"joint": (joint, joint.meta["at_training"]), "stacked": (fit.stacked, fit.stacked.meta["at_training"])}
    models["glm"] = (glm, at_training(glm, values, labels, levels))
    training = {name: measure(model, values, labels, stats, levels) for name, (model, stats) in models.items()}
    notes, testing = list(fit.estimators[0].notes_), None
    if split is not None:
        if 0 < len(split.folds) < options.test.folds:
            notes.append(f"{len(split.folds)} folds instead of {options.test.folds}, because there are too few sites")
        testing = _measure_folds(fit, split, options, progress)
        notes += testing.notes
    tried = zip(("joint", "stacked"), (one.tuning_ for one in fit.estimators))
    tuning = {name: rows for name, rows in tried if rows}
    variance = partition_variance(joint, joint.encode(community.environment), labels, levels)
    pairs = None
    if options.joint.all_associations:
        odds = fit.stacked.log_odds(community.predictors)
        pairs = pair_associations(joint.species, odds, labels, community.sites.group)
    measured = MeasuredCommunity(fit, {}, notes, training, testing, tuning, survivors(joint), variance, pairs)
    measured.numbers = describe_fit(measured, options)
    return measured


def _measure_folds(fit: JointFit, split: Split, options: RunOptions, progress: Progress | None) -> SiteTest:
    """Fit the three models to the training sites of each fold, and measure them at the held-out sites."""
    labels, values, levels, species = fit.labels, fit.plan.table.values, fit.community.sites.level, fit.joint.species
    out = SiteTest(split.method, blocks=split.blocks)
    fits = StepCount(progress, "cross-validation", len(WHAT) * len(split.folds))
    for fold in split.folds:
        learnt = [s for s in range(len(species)) if {0, 1} <= set(labels[fold.train, s].tolist())]
        if untested := [name for s, name in enumerate(species) if s not in learnt]:
            more = f" and {len(untested) - 1} more" if len(untested) > 1 else ""
            out.notes.append(
                f"fold {fold.name}: '{untested[0]}'{more} not tested: no presence or no absence at its training sites"
            )
        held, train_labels = labels[fold.test][:, learnt], labels[fold.train][:, learnt]
        inside, outside = (None if levels is None else levels[rows] for rows in (fold.train, fold.test))
        row: Row = {"fold": fold.name, "sites": len(fold.test)}
        with hushed():
            for name in WHAT:
                model = _refit(fit, name, fold, learnt, options, progress)
                training = at_training(model, values[fold.train], train_labels, inside)
                row[name] = measure(model, values[fold.test], held, training, outside)
                fits.step()
        out.folds.append(row)
    out.mean = {name: mean_of_folds([row[name] for row in out.folds], species) for name in WHAT}
    return out


def _refit(
    fit: JointFit, name: str, fold: Fold, learnt: list[int], options: RunOptions, progress: Progress | None
) -> FittedJoint:
    """Fit one of the models to some species and the training sites of a fold."""
    community, train, species = fit.community, fold.train, [fit.joint.species[s] for s in learnt]
    if name == "glm":
        values, labels = fit.plan.table.values[train], fit.labels[train][:, learnt]
        return fit_glm(values, labels, fit.joint.encoder, tuple(species))
    graph: Graph = community.edges if name == "joint" else "none"
    if not isinstance(graph, str):
        graph = [(a, b) for a, b in graph if a in species and b in species]
    model = make_model(options, graph, community.categorical, community.traits)
    x, y = community.predictors.iloc[train], community.sites.labels.iloc[train][species]
    title = f"fold {fold.name}, {WHAT[name]}"
    return model.fit(x, y, groups=community.sites.group[train], title=title, progress=progress).model_


def _record(options: RunOptions, prepared: Prepared, community: Community) -> Numbers:
    graph = options.joint.graph if options.joint.graph in GRAPH_WORDS else Path(options.joint.graph).name
    record = {"version": __version__, "seed": options.seed, "graph": graph, "features": feature_classes(options)}
    if options.joint.presence_above is not None:
        record["presence_above"] = options.joint.presence_above
    return {**record, "source": Path(community.sites.source).name, **_category_names(prepared, community)}


def _category_names(prepared: Prepared, community: Community) -> Numbers:
    """Return the names of categories that the layers store, by variable and code."""
    out = {}
    for name, titles in ({} if prepared.stack is None else prepared.stack.titles).items():
        codes = [code for code in np.unique(community.environment[name]).tolist() if code == round(code)]
        if any(code in titles for code in codes):
            out[name] = dict(zip((str(int(code)) for code in codes), category_titles(codes, titles)))
    return {"category_names": out} if out else {}


def describe_fit(run: MeasuredCommunity, options: RunOptions) -> Numbers:
    """Return the numbers of a run: data, models, and measures."""
    joint, stacked = run.fit.joint, run.fit.stacked
    keys = ("learner", "C", "lambda", "gap", "certificate", "status", "iterations")
    tested = run.testing
    return {
        **{key: joint.meta[key] for key in (*keys, "sites", "missing", "graph", "features", "seed", "version")},
        "species": list(joint.species),
        "variables": list(joint.encoder.names),
        "categorical": list(joint.encoder.categorical),
        "edges": len(joint.forest.edges),
        "stacked": {key: stacked.meta[key] for key in keys},
        **({"bound": joint.meta["bound"]} if "bound" in joint.meta else {}),
        **({"fourth corner": joint.meta["fourth_corner"]} if "fourth_corner" in joint.meta else {}),
        **({} if joint.random is None else {"random": _described(joint.random, joint.species)}),
        "training": run.training,
        "test": None if tested is None else _tested(tested),
        "tuning": run.tuning,
        "kept": {"share": KEPT, "weights": sum(row["kept"] for row in run.effects)},
        "settings": options.joint.model_dump(),
        "variance": run.variance,
        **({} if run.pairs is None else {"pairs": _strongest(run.pairs)}),
        "prevalence": prevalence(run.fit.community),
        "associations": joint.associations(),
        "maps": {},
        "effects": run.effects,
    }


def prevalence(community: Community) -> dict[str, float]:
    """Return the prevalence of each species at its known sites."""
    return {str(name): float(share) for name, share in community.sites.labels.mean(skipna=True).items()}


def _strongest(pairs: PairAssociations) -> Numbers:
    """Return the strongest associations of all pairs; the table contains all."""
    rows = pairs.rows()
    sure = sum(row["q"] <= SURE for row in rows)
    return {"number": len(rows), "sure": sure, "gap": pairs.gap, "strongest": rows[:MOST_PAIRS]}


def _described(random: RandomEffect, species: Sequence[str]) -> Numbers:
    levels = {"column": random.column, "levels": len(random.levels), "spread": random.spread}
    return {**levels, "by species": random.by_species(species)}


def _tested(tested: SiteTest) -> Numbers:
    numbers = {"method": tested.method, "folds": tested.folds, "mean": tested.mean}
    return numbers if tested.blocks is None else {**numbers, "blocks": tested.blocks.numbers()}


def survivors(model: FittedJoint) -> list[Row]:
    """Return the weights of every species, relative to the largest weight, and whether they are relevant.

    The intercept is not a feature.
    """
    rows = model.effects()
    top = max((abs(row["weight"]) for row in rows if row["feature"] != "bias"), default=0.0) or 1.0
    for row in rows:
        row["share"] = abs(row["weight"]) / top
        row["kept"] = row["feature"] != "bias" and row["share"] >= KEPT
    return rows
