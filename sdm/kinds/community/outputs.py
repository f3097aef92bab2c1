"""Everything that a run of a joint model leaves behind."""

from pathlib import Path
from typing import Any

from sdm.assess.measures.partition import ASSOCIATIONS, partition_variance
from sdm.executors.painter import Painter
from sdm.joint.labels import read_labels
from sdm.joint.levels import RandomEffect
from sdm.joint.pairs import SURE, pair_associations
from sdm.kinds.community.fit import JointFit, MeasuredCommunity, survivors
from sdm.kinds.community.testing import MEASURES, WHAT
from sdm.kinds.task import Files, ModelMaps, Prepared
from sdm.maps.community import MAPS, OF_ONE_MODEL, PRESENT, RICHNESS, JointPlaces, write_maps
from sdm.maps.novelty import NoveltyMaps
from sdm.models.file import save_model
from sdm.options.definitions import RunOptions
from sdm.report.paper import paper_of
from sdm.report.tables import table_text, write_rows
from sdm.types import Progress

MOST_PAIRS = 30  # in the numbers of a run; the table has all


def write_joint(
    measured: MeasuredCommunity,
    prepared: Prepared,
    options: RunOptions,
    folder: Path,
    files: Files,
    painter: Painter,
    progress: Progress | None,
) -> list[str]:
    """Write the model, its tables, pictures and maps into a folder, and note their names."""
    from sdm.report.figures.community.network import draw_network

    paper = paper_of(options.output)
    joint, labels = measured.joint, measured.community.sites.labels
    files["model"] = save_model(joint, folder / "joint.npz").name
    edges, effects = joint.associations(), survivors(joint)
    files["associations"] = "associations.csv"
    text = table_text(edges) if edges else "first,second,weight,sd\n"
    (folder / files["associations"]).write_text(text, encoding="utf-8", newline="")
    tried = [{"model": name, **row} for name, rows in measured.tuning.items() for row in rows]
    tables = {"effects": effects, "evaluation": evaluation_rows(measured), **({"tuning": tried} if tried else {})}
    files |= {what: write_rows(folder / f"{what}.csv", rows).name for what, rows in tables.items()}
    prevalence = labels.mean(skipna=True).to_dict()
    common = [prevalence[name] for name in joint.species]
    files["network"] = draw_network(joint.species, joint.forest, edges, common, folder / "network.png", paper).name
    found = _write_parts(measured, folder, files, paper)
    if joint.random is not None:
        _write_random(joint.random, measured, folder, files, paper)
    if "fourth_corner" in joint.meta:
        from sdm.report.figures.community.associations import draw_corner

        rows = joint.meta["fourth_corner"]
        files["fourth corner"] = write_rows(folder / "fourth_corner.csv", rows).name
        files["fourth corner picture"] = draw_corner(rows, folder / "fourth_corner.png", paper).name
    if options.joint.all_associations:
        found |= _write_pairs(measured, folder, files, paper)
    blocks = None if measured.testing is None else measured.testing.blocks
    if blocks is not None:
        from sdm.report.figures.variables import draw_variograms

        files["variograms"] = write_rows(folder / "variograms.csv", blocks.rows()).name
        files["variogram picture"] = draw_variograms(blocks, folder / "variograms.png", paper).name
    maps = measured.numbers.get("maps", {})
    measured.numbers |= {**found, "prevalence": prevalence, "associations": edges, "maps": maps, "effects": effects}
    return []


def _write_parts(measured: MeasuredCommunity, folder: Path, files: Files, paper: Any) -> dict[str, Any]:
    """Write which part of a species' log-odds comes from which variable, and from the other species."""
    from sdm.report.figures.community.associations import draw_partition

    joint, community = measured.joint, measured.community
    labels = read_labels(community.sites.labels, joint.species, len(community.sites))
    levels = community.sites.level
    rows = partition_variance(joint, joint.encode(community.environment), labels, levels)
    files["variance"] = write_rows(folder / "variance.csv", rows).name
    parts = [*joint.encoder.names, *([] if joint.random is None else [joint.random.column]), ASSOCIATIONS]
    files["variance picture"] = draw_partition(rows, parts, folder / "variance.png", paper).name
    return {"variance": rows}


def _write_random(random: RandomEffect, measured: MeasuredCommunity, folder: Path, files: Files, paper: Any) -> None:
    """Write the effects of the levels on every species, and how far they spread."""
    from sdm.report.figures.community.associations import draw_levels

    sites = measured.community.sites
    labels = read_labels(sites.labels, measured.joint.species, len(sites))
    rows = random.rows(measured.joint.species, labels, sites.level)
    files["random effects"] = write_rows(folder / "random_effects.csv", rows).name
    spread = random.by_species(measured.joint.species)
    files["random spread"] = write_rows(folder / "random_spread.csv", spread).name
    place = folder / "random_effects.png"
    files["random picture"] = draw_levels(random, measured.joint.species, place, paper).name


def _write_pairs(measured: MeasuredCommunity, folder: Path, files: Files, paper: Any) -> dict[str, Any]:
    """Estimate and write the associations of all pairs of species."""
    from sdm.report.figures.community.associations import draw_matrix

    single, community = measured.stacked, measured.community
    labels = read_labels(community.sites.labels, single.species, len(community.sites))
    found = pair_associations(single.species, single.log_odds(community.predictors), labels, community.sites.group)
    rows = found.rows()
    files["all associations"] = write_rows(folder / "all_associations.csv", rows).name
    places = (folder / "all_associations.png", paper)
    files["matrix"] = draw_matrix(found.species, found.matrix(), found.q_matrix(), *places).name
    sure = sum(row["q"] <= SURE for row in rows)
    return {"pairs": {"number": len(rows), "sure": sure, "gap": found.gap, "strongest": rows[:MOST_PAIRS]}}


def evaluation_rows(run: MeasuredCommunity) -> list[dict[str, Any]]:
    """Return the measures of the models side by side: held-out means, each fold, and training sites."""
    rows: list[dict[str, Any]] = []
    if run.testing is not None:
        rows += _side_by_side("held out", "mean", run.testing.mean)
        if len(run.testing.folds) > 1:
            for row in run.testing.folds:
                rows += _side_by_side("held out", row["fold"], row)
    return rows + _side_by_side("training", "", run.training)


def _side_by_side(sites: str, fold: str, models: dict[str, Any]) -> list[dict[str, Any]]:
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
    common: dict[str, Any] = {
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
    from sdm.report.figures.maps.drawn import draw_richness

    files, sites = maps.files["maps"], fit.community.sites
    richness = {name: maps.folder / file for name, file in files.items() if isinstance(file, str)}
    picture = draw_richness(richness, maps.folder / "richness.png", sites.x, sites.y, paper_of(options.output))
    return {"maps": {**files, "picture": picture.name}}
