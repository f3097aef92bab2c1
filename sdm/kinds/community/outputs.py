"""Outputs of a joint model, and its maps of scenarios."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from sdm.assess.measures.community import ASSOCIATIONS
from sdm.assess.variables.variogram import Autocorrelation
from sdm.data.rasters.stack import Stack
from sdm.kinds.community.fit import JointFit, MeasuredCommunity, prevalence
from sdm.kinds.community.testing import MEASURES, WHAT
from sdm.kinds.model_task import Artefact, MapOptions
from sdm.kinds.task import Destination, Files, ModelMaps, Prepared
from sdm.maps.novelty import NoveltyMaps
from sdm.maps.projection.targets import Present, ProjectedTargets
from sdm.maps.rasters import NODATA, Raster
from sdm.maps.several import MAPS, OF_ONE_MODEL, PRESENT, RICHNESS, JointPlaces, write_maps
from sdm.models.community import FittedJoint
from sdm.models.extrapolation import extrapolated
from sdm.models.file import save_model
from sdm.options.definitions import RunOptions
from sdm.report.paper import Paper, paper_of
from sdm.types import AnyArray, Array, Numbers, Progress, Row


def write_joint(measured: MeasuredCommunity, prepared: Prepared, to: Destination) -> list[str]:
    """Write the model and its figures into a folder, and register their names."""
    paper, fit, folder = paper_of(to.options.output), measured.fit, to.folder
    drawn = draw_community(fit.joint, prevalence(fit.community), measured.variance, folder, paper)
    model = save_model(fit.joint, folder / "joint.npz").name
    to.files.update({"model": model, **drawn, **_draw_tables(measured, folder, paper)})
    return []


def _blocks(measured: MeasuredCommunity) -> Autocorrelation | None:
    """Return the size of the blocks of sites, if it is from variograms."""
    return None if measured.testing is None else measured.testing.blocks


def _tuning_rows(measured: MeasuredCommunity) -> list[Row]:
    """Return the values of C in cross-validation."""
    return [{"model": name, **row} for name, rows in measured.tuning.items() for row in rows]


def _level_rows(measured: MeasuredCommunity) -> list[Row]:
    """Return the effects of the levels on every species."""
    fit, random = measured.fit, measured.fit.joint.random
    return [] if random is None else random.rows(fit.joint.species, fit.labels, fit.community.sites.level)


def _spread_rows(measured: MeasuredCommunity) -> list[Row]:
    """Return the standard deviation of the effects of the levels."""
    joint = measured.fit.joint
    return [] if joint.random is None else joint.random.by_species(joint.species)


def evaluation_rows(run: MeasuredCommunity) -> list[Row]:
    """Return the measures of the models: held-out means, each fold, and training sites."""
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


JOINT_TABLES: tuple[Artefact[MeasuredCommunity], ...] = (
    Artefact(
        "associations",
        "associations.csv",
        lambda m: m.numbers["associations"],
        ("first", "second", "weight", "sd"),
    ),
    Artefact("effects", "effects.csv", lambda m: m.effects),
    Artefact("evaluation", "evaluation.csv", evaluation_rows),
    Artefact("tuning", "tuning.csv", _tuning_rows),
    Artefact("variance", "variance.csv", lambda m: m.variance),
    Artefact("random effects", "random_effects.csv", _level_rows),
    Artefact("random spread", "random_spread.csv", _spread_rows),
    Artefact("fourth corner", "fourth_corner.csv", lambda m: m.numbers.get("fourth corner", [])),
    Artefact("all associations", "all_associations.csv", lambda m: m.pairs.rows() if m.pairs else []),
    Artefact("variograms", "variograms.csv", lambda m: blocks.rows() if (blocks := _blocks(m)) else []),
)


def draw_community(
    joint: FittedJoint, prevalence: Mapping[str, float], variance: list[Row], folder: Path, paper: Paper
) -> Files:
    """Draw the network of associations, variance partitioning, random effects and traits; return the names of the
    files."""
    from sdm.report.figures import associations

    species, edges = joint.species, joint.associations()
    common = [prevalence[name] for name in species]
    parts = [*joint.encoder.names, *([] if joint.random is None else [joint.random.column]), ASSOCIATIONS]
    drawn = {
        "network": associations.draw_network(species, joint.forest, edges, common, folder / "network.png", paper),
        "variance picture": associations.draw_partition(variance, parts, folder / "variance.png", paper),
    }
    if joint.random is not None:
        place = folder / "random_effects.png"
        drawn["random picture"] = associations.draw_levels(joint.random, species, place, paper)
    if "fourth_corner" in joint.meta:
        place = folder / "fourth_corner.png"
        drawn["fourth corner picture"] = associations.draw_corner(joint.meta["fourth_corner"], place, paper)
    return {key: path.name for key, path in drawn.items()}


def _draw_tables(measured: MeasuredCommunity, folder: Path, paper: Paper) -> Files:
    """Draw the figures that need more than the stored results: associations of all pairs, and variograms."""
    drawn, pairs, blocks = dict[str, Path](), measured.pairs, _blocks(measured)
    if pairs is not None:
        from sdm.report.figures.associations import draw_matrix

        matrices = pairs.matrix(), pairs.q_matrix()
        drawn["matrix"] = draw_matrix(pairs.species, *matrices, folder / "all_associations.png", paper)
    if blocks is not None:
        from sdm.report.figures.variables import draw_variograms

        drawn["variogram picture"] = draw_variograms(blocks, folder / "variograms.png", paper)
    return {key: path.name for key, path in drawn.items()}


def map_joint(
    fit: JointFit, prepared: Prepared, options: RunOptions, folder: Path, progress: Progress | None
) -> ModelMaps:
    """Write the maps on the layers."""
    map_options = MapOptions.of_run(options, None, progress)
    (folder / MAPS).mkdir()
    titles = RICHNESS if fit.joint is not fit.stacked else OF_ONE_MODEL
    places = JointPlaces.within(folder, fit.joint.species, titles)
    counted = NoveltyMaps(fit.joint)
    made = write_maps(fit.joint, fit.stacked, cast(Stack, prepared.stack), places, map_options.how, novelty=counted)
    numbers = {kind: {name: one.numbers for name, one in maps.items()} for kind, maps in made.items()}
    files: Files = {
        kind: {name: path.relative_to(folder).as_posix() for name, path in those.items()}
        for kind, those in (("species", places.species), (PRESENT, places.present))
    }
    files |= {name: path.name for name, path in places.richness.items()}
    return ModelMaps(folder, {"maps": files}, {"maps": {"layers": numbers}, **counted.numbers})


def draw_joint_maps(fit: JointFit, maps: ModelMaps, prepared: Prepared, options: RunOptions) -> Files:
    """Draw the richness with the sites."""
    files, sites = maps.files["maps"], fit.community.sites
    picture = draw_richness_maps(maps.folder, files, sites.x, sites.y, paper_of(options.output))
    return {"maps": {**files, "picture": picture.name}}


def draw_richness_maps(folder: Path, files: Files, x: Array, y: Array, paper: Paper) -> Path:
    """Draw the maps of richness, with sites on the first."""
    from sdm.report.figures.maps.drawn import draw_richness

    rasters = {name: folder / file for name, file in files.items() if isinstance(file, str) and file.endswith(".tif")}
    return draw_richness(rasters, folder / "richness.png", x, y, paper)


NUMBERS = 1 << 22  # features and marginals in memory, per thread


class ProjectedCommunity(ProjectedTargets):
    """A joint model."""

    rule: ClassVar[str] = "labeled"

    @property
    def together(self) -> dict[str, Raster]:
        """The richness, expected and in the best labelling."""
        return {"richness": Raster(Path()), "labeled_richness": Raster(Path(), "int16", NODATA)}

    def compute(self, columns: Sequence[AnyArray], valid: NDArray[np.bool_]) -> tuple[Array, Array, list[Present]]:
        """Return the probability of every species, the values of the map, and the best labelling."""
        joint = cast("FittedJoint", self.model)
        values = np.full((len(self.targets), len(valid)), np.nan)
        present = np.zeros(values.shape, dtype=bool)
        step = max(1, NUMBERS // (joint.features.size + 8 * len(self.targets)))
        where = np.flatnonzero(valid)
        for first in range(0, len(where), step):
            cells = where[first : first + step]
            x = np.column_stack([np.asarray(column[cells], dtype=np.float64) for column in columns])
            labels, probability = joint.predict_both(x, clamp=self.extrapolation != "free")
            values[:, cells], present[:, cells] = probability.T, labels.T.astype(bool)
        shown = extrapolated(joint, values, lambda: values, columns, self.extrapolation)
        return values, shown, [present]

    def together_values(self, shown: Array, present: Sequence[Present]) -> dict[str, AnyArray]:
        """Return the sums over species."""
        return {"richness": shown.sum(axis=0), "labeled_richness": present[0].sum(axis=0)}
