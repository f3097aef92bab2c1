"""Everything that a run of a joint model leaves behind."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdm.assess.measures.partition import ASSOCIATIONS, partition_variance
from sdm.joint.inference import States
from sdm.joint.labels import read_labels
from sdm.joint.levels import RandomEffect
from sdm.joint.pairs import SURE, PairAssociations, pair_associations
from sdm.kinds.artefacts import Artefact, write_artefacts
from sdm.kinds.community.fit import JointFit, MeasuredCommunity, survivors
from sdm.kinds.community.testing import MEASURES, WHAT
from sdm.kinds.task import Files, ModelMaps, Prepared
from sdm.maps.community import MAPS, OF_ONE_MODEL, PRESENT, RICHNESS, JointPlaces, write_maps
from sdm.maps.novelty import NoveltyMaps
from sdm.models.community import FittedJoint
from sdm.models.file import save_model
from sdm.options.definitions import RunOptions
from sdm.report.paper import Paper, paper_of
from sdm.types import Array, Numbers, Progress, Row

MOST_PAIRS = 30  # in the numbers of a run; the table has all


def write_joint(
    measured: MeasuredCommunity,
    prepared: Prepared,
    options: RunOptions,
    folder: Path,
    files: Files,
    progress: Progress | None,
) -> list[str]:
    """Write the model, its tables, pictures and maps into a folder, and note their names."""
    paper = paper_of(options.output)
    joint, labels = measured.joint, measured.community.sites.labels
    files["model"] = save_model(joint, folder / "joint.npz").name
    tables = JointTables.of(measured, options)
    files |= write_artefacts(JOINT_TABLES, tables, folder)
    prevalence = {str(name): float(share) for name, share in labels.mean(skipna=True).items()}
    files |= draw_community(joint, prevalence, tables.variance, folder, paper) | _draw_tables(tables, folder, paper)
    maps = measured.numbers.get("maps", {})
    numbers = {"prevalence": prevalence, "associations": tables.edges, "maps": maps, "effects": tables.effects}
    measured.numbers |= {"variance": tables.variance, **tables.pair_numbers, **numbers}
    return []


@dataclass(frozen=True)
class JointTables:
    """What the tables of a joint model are made from."""

    measured: MeasuredCommunity
    edges: list[Row]
    effects: list[Row]
    variance: list[Row]  # the parts of every species' log-odds
    labels: States
    pairs: PairAssociations | None = None  # of all species, where they were asked for

    @classmethod
    def of(cls, measured: MeasuredCommunity, options: RunOptions) -> "JointTables":
        """Compute what was not measured yet."""
        joint, community, single = measured.joint, measured.community, measured.stacked
        labels = read_labels(community.sites.labels, joint.species, len(community.sites))
        parts = partition_variance(joint, joint.encode(community.environment), labels, community.sites.level)
        pairs = None
        if options.joint.all_associations:
            odds = single.log_odds(community.predictors)
            pairs = pair_associations(single.species, odds, labels, community.sites.group)
        return cls(measured, joint.associations(), survivors(joint), parts, labels, pairs)

    @property
    def random(self) -> RandomEffect | None:
        """The random effect."""
        return self.measured.joint.random

    @property
    def blocks(self) -> Any:
        """The size of the blocks of sites, where it came from variograms."""
        return None if self.measured.testing is None else self.measured.testing.blocks

    @property
    def tuning(self) -> list[Row]:
        """The costs that cross-validation tried."""
        return [{"model": name, **row} for name, rows in self.measured.tuning.items() for row in rows]

    @property
    def pair_numbers(self) -> Numbers:
        """The associations of all pairs, for the file of numbers."""
        if self.pairs is None:
            return {}
        rows = self.pairs.rows()
        sure = sum(row["q"] <= SURE for row in rows)
        return {"pairs": {"number": len(rows), "sure": sure, "gap": self.pairs.gap, "strongest": rows[:MOST_PAIRS]}}

    def level_rows(self) -> list[Row]:
        """Return the effects of the levels on every species."""
        species, sites = self.measured.joint.species, self.measured.community.sites
        return [] if self.random is None else self.random.rows(species, self.labels, sites.level)

    def spread_rows(self) -> list[Row]:
        """Return how far the effects of the levels spread."""
        return [] if self.random is None else self.random.by_species(self.measured.joint.species)


JOINT_TABLES: tuple[Artefact[JointTables], ...] = (
    Artefact(
        "associations", "associations.csv", lambda t: t.edges, ("first", "second", "weight", "sd"), section="network"
    ),
    Artefact("effects", "effects.csv", lambda t: t.effects, section="features"),
    Artefact("evaluation", "evaluation.csv", lambda t: evaluation_rows(t.measured), section="measures"),
    Artefact("tuning", "tuning.csv", lambda t: t.tuning),
    Artefact("variance", "variance.csv", lambda t: t.variance, section="variance"),
    Artefact("random effects", "random_effects.csv", JointTables.level_rows, section="random"),
    Artefact("random spread", "random_spread.csv", JointTables.spread_rows, section="random"),
    Artefact(
        "fourth corner", "fourth_corner.csv", lambda t: t.measured.joint.meta.get("fourth_corner", []), section="traits"
    ),
    Artefact(
        "all associations", "all_associations.csv", lambda t: t.pairs.rows() if t.pairs else [], section="network"
    ),
    Artefact("variograms", "variograms.csv", lambda t: [] if t.blocks is None else t.blocks.rows()),
)


def draw_community(
    joint: FittedJoint, prevalence: Mapping[str, float], variance: list[Row], folder: Path, paper: Paper
) -> Files:
    """Draw the network of associations, the parts of the variance, random effects and effects of traits; return the
    names of the pictures."""
    from sdm.report.figures.community import associations
    from sdm.report.figures.community.network import draw_network

    species, edges = joint.species, joint.associations()
    common = [prevalence[name] for name in species]
    parts = [*joint.encoder.names, *([] if joint.random is None else [joint.random.column]), ASSOCIATIONS]
    drawn = {
        "network": draw_network(species, joint.forest, edges, common, folder / "network.png", paper),
        "variance picture": associations.draw_partition(variance, parts, folder / "variance.png", paper),
    }
    if joint.random is not None:
        place = folder / "random_effects.png"
        drawn["random picture"] = associations.draw_levels(joint.random, species, place, paper)
    if "fourth_corner" in joint.meta:
        place = folder / "fourth_corner.png"
        drawn["fourth corner picture"] = associations.draw_corner(joint.meta["fourth_corner"], place, paper)
    return {what: path.name for what, path in drawn.items()}


def _draw_tables(tables: JointTables, folder: Path, paper: Paper) -> Files:
    """Draw what stored results do not hold: the associations of all pairs, and variograms."""
    drawn, pairs = dict[str, Path](), tables.pairs
    if pairs is not None:
        from sdm.report.figures.community.associations import draw_matrix

        matrices = pairs.matrix(), pairs.q_matrix()
        drawn["matrix"] = draw_matrix(pairs.species, *matrices, folder / "all_associations.png", paper)
    if tables.blocks is not None:
        from sdm.report.figures.variables import draw_variograms

        drawn["variogram picture"] = draw_variograms(tables.blocks, folder / "variograms.png", paper)
    return {key: path.name for key, path in drawn.items()}


def evaluation_rows(run: MeasuredCommunity) -> list[Row]:
    """Return the measures of the models side by side: held-out means, each fold, and training sites."""
    rows: list[Row] = []
    if run.testing is not None:
        rows += _side_by_side("held out", "mean", run.testing.mean)
        if len(run.testing.folds) > 1:
            for row in run.testing.folds:
                rows += _side_by_side("held out", row["fold"], row)
    return rows + _side_by_side("training", "", run.training)


def _side_by_side(sites: str, fold: str, models: Numbers) -> list[Row]:
    measured = [(key, "", {name: models[name][key] for name in WHAT}) for key in MEASURES]
    for species in models["joint"]["species"]:
        measured.append(("auc", species, {name: models[name]["species"][species] for name in WHAT}))
    return [{"sites": sites, "fold": fold, "measure": key, "species": species, **row} for key, species, row in measured]


def map_joint(
    fit: JointFit | MeasuredCommunity, prepared: Prepared, options: RunOptions, folder: Path, progress: Progress | None
) -> ModelMaps:
    """Write the maps on the layers; there are none of tables."""
    stack = fit.community.stack
    if stack is None or not options.output.map:
        return ModelMaps(folder, {}, {})
    common: Numbers = {
        "extrapolation": options.predict.extrapolation,
        "threads": options.threads,
        "progress": progress,
    }
    (folder / MAPS).mkdir()
    wanted = RICHNESS if fit.joint is not fit.stacked else OF_ONE_MODEL
    places = JointPlaces.within(folder, fit.joint.species, wanted)
    counted = NoveltyMaps(fit.joint)
    numbers = write_maps(fit.joint, fit.stacked, stack, places, novelty=counted, **common).numbers
    files: Files = {
        kind: {name: path.relative_to(folder).as_posix() for name, path in those.items()}
        for kind, those in (("species", places.species), (PRESENT, places.present))
    }
    files |= {name: path.name for name, path in places.richness.items()}
    return ModelMaps(folder, {"maps": files}, {"maps": {"layers": numbers}, **counted.numbers})


def draw_joint_maps(
    fit: JointFit | MeasuredCommunity, maps: ModelMaps, prepared: Prepared, options: RunOptions
) -> Files:
    """Draw the richness with the sites."""
    if "maps" not in maps.files:
        return {}
    files, sites = maps.files["maps"], fit.community.sites
    picture = draw_richness_maps(maps.folder, files, sites.x, sites.y, paper_of(options.output))
    return {"maps": {**files, "picture": picture.name}}


def draw_richness_maps(folder: Path, files: Files, x: Array, y: Array, paper: Paper) -> Path:
    """Draw the maps of richness, with sites on the first."""
    from sdm.report.figures.maps.drawn import draw_richness

    rasters = {name: folder / file for name, file in files.items() if isinstance(file, str) and file.endswith(".tif")}
    return draw_richness(rasters, folder / "richness.png", x, y, paper)
