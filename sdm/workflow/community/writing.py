"""Everything that a run of a joint model leaves behind."""

from pathlib import Path
from typing import Any

import numpy as np

from sdm.files import safe_name, safe_names
from sdm.maps.community import MAPS, OF_ONE_MODEL, PRESENT, RICHNESS, JointPlaces, write_maps
from sdm.models.file import save_model
from sdm.options.definitions import RunOptions
from sdm.report.tables import table_text, write_rows
from sdm.types import Progress
from sdm.workflow.community.fitting import JointFit, survivors
from sdm.workflow.community.inputs import Community
from sdm.workflow.community.testing import MEASURES, WHAT


def write_joint(
    fitted: JointFit, options: RunOptions, folder: Path, files: dict[str, Any], progress: Progress | None = None
) -> None:
    """Write the model, its tables, pictures and maps into a folder, and note their names."""
    from sdm.report.figures.community import draw_network

    joint, labels = fitted.joint, fitted.community.sites.labels
    files["model"] = save_model(joint, folder / "joint.npz").name
    edges, effects = joint.associations(), survivors(joint)
    files["associations"] = "associations.csv"
    text = table_text(edges) if edges else "first,second,weight,sd\n"
    (folder / files["associations"]).write_text(text, encoding="utf-8", newline="")
    files["effects"] = write_rows(folder / "effects.csv", effects).name
    files["evaluation"] = write_rows(folder / "evaluation.csv", evaluation_rows(fitted)).name
    tried = [{"model": name, **row} for name, rows in fitted.tuning.items() for row in rows]
    if tried:
        files["tuning"] = write_rows(folder / "tuning.csv", tried).name
    prevalence = labels.mean(skipna=True).to_dict()
    picture = folder / "network.png"
    draw_network(joint.species, joint.forest, edges, [prevalence[name] for name in joint.species], picture)
    files["network"] = picture.name
    maps = _write_all_maps(fitted, options, folder, files, progress) if options.output.map else {}
    fitted.numbers |= {"prevalence": prevalence, "associations": edges, "maps": maps, "effects": effects}


def evaluation_rows(run: JointFit) -> list[dict[str, Any]]:
    """Return the measures of the models side by side: held-out means, each fold, and training sites."""
    rows: list[dict[str, Any]] = []
    if run.testing is not None:
        rows += _side_by_side("held out", "mean", run.testing.mean)
        if len(run.testing.folds) > 1:
            for row in run.testing.folds:
                rows += _side_by_side("held out", row["fold"], row)
    return rows + _side_by_side("training", "", run.training)


def _side_by_side(sites: str, fold: str, models: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [
        {"sites": sites, "fold": fold, "measure": key, "species": "", **{name: models[name][key] for name in WHAT}}
        for key in MEASURES
    ]
    names = models["joint"]["species"]
    return rows + [
        {
            "sites": sites,
            "fold": fold,
            "measure": "auc",
            "species": species,
            **{name: models[name]["species"][species] for name in WHAT},
        }
        for species in names
    ]


def _write_all_maps(
    run: JointFit, options: RunOptions, folder: Path, files: dict[str, Any], progress: Progress | None
) -> dict[str, Any]:
    """Write the maps on the layers and on every projection, with a picture of richness each."""
    community = run.community
    stacks = {"": community.stack} if community.stack is not None else {}
    # richness_difference is a map of the layers, not the richness of a projection called 'difference'
    taken = ["difference", *(f"difference_{safe_name(title)}" for title in community.projections)]
    titles = safe_names(community.projections, taken=taken)
    found: dict[str, Any] = {}
    if not stacks and not community.projections:
        return found
    for title, stack in {**stacks, **community.projections}.items():
        end = f"_{titles[title]}" if title else ""
        (folder / f"{MAPS}{end}").mkdir()
        wanted = RICHNESS if run.joint is not run.stacked else OF_ONE_MODEL
        places = JointPlaces.within(folder, run.joint.species, wanted, end)
        maps = write_maps(
            run.joint,
            run.stacked,
            stack,
            places,
            clamp=options.predict.clamp,
            threads=options.threads,
            progress=progress,
        )
        picture = _draw_richness(places.richness, folder / f"richness{end}.png", community, title)
        own = {
            **{
                kind: {name: path.relative_to(folder).as_posix() for name, path in those.items()}
                for kind, those in (("species", places.species), (PRESENT, places.present))
            },
            **{name: path.name for name, path in places.richness.items()},
            "picture": picture.name,
        }
        files[f"maps {title}".strip()] = own
        found[title or "layers"] = maps.numbers
    return found


def _draw_richness(richness: dict[str, Path], path: Path, community: Community, title: str) -> Path:
    from sdm.report.figures.maps import draw_richness

    nowhere = np.empty(0)
    x, y = (nowhere, nowhere) if title else (community.sites.x, community.sites.y)
    return draw_richness(richness, path, x, y)
