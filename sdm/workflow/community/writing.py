"""Everything that a run of a joint model leaves behind."""

from pathlib import Path
from typing import Any

import numpy as np

from sdm.files import safe_name, safe_names, to_json
from sdm.maps.community import MAPS, OF_ONE_MODEL, PRESENT, RICHNESS, JointPlaces, write_maps
from sdm.models.community import FittedJoint
from sdm.models.file import save_model
from sdm.options.definitions import JOINT_SECTIONS, RunOptions
from sdm.options.reading import dump_yaml
from sdm.report.tables import table_text, write_rows
from sdm.types import Progress
from sdm.workflow.community.fitting import Community, JointRun
from sdm.workflow.community.testing import MEASURES, WHAT
from sdm.workflow.species.writing import versions

KEPT = 0.01  # a weight below so much of the largest was shrunk away


def write_joint(
    run: JointRun, options: RunOptions, folder: Path, command: str, progress: Progress | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write the results into a folder that is there and empty; return the numbers, and the files by what they are."""
    from sdm.report.figures.community import draw_network

    joint, labels = run.joint, run.community.sites.labels
    files: dict[str, Any] = {"run": "run.yaml", "command": "command.txt"}
    files["model"] = save_model(joint, folder / "joint.npz").name
    edges, effects = joint.associations(), survivors(joint)
    files["associations"] = "associations.csv"
    text = table_text(edges) if edges else "first,second,weight,sd\n"
    (folder / files["associations"]).write_text(text, encoding="utf-8", newline="")
    files["effects"] = write_rows(folder / "effects.csv", effects).name
    files["evaluation"] = write_rows(folder / "evaluation.csv", evaluation_rows(run)).name
    tried = [{"model": name, **row} for name, rows in run.tuning.items() for row in rows]
    if tried:
        files["tuning"] = write_rows(folder / "tuning.csv", tried).name
    prevalence = labels.mean(skipna=True).to_dict()
    picture = folder / "network.png"
    draw_network(joint.species, joint.forest, edges, [prevalence[name] for name in joint.species], picture)
    files["network"] = picture.name
    maps = _write_all_maps(run, options, folder, files, progress) if options.output.map else {}
    _write_run(options, folder, command, files)
    files["numbers"] = "joint.json"
    if options.output.report:
        files["page"] = "joint.html"
    numbers = {
        "kind": run.joint.kind,
        **describe(run, options),
        "prevalence": prevalence,
        "associations": edges,
        "maps": maps,
    }
    numbers |= {"effects": effects, "versions": versions(), "command": command, "files": files}
    numbers["notes"] = run.community.notes
    (folder / files["numbers"]).write_text(to_json(numbers) + "\n", encoding="utf-8")
    if options.output.report:
        from sdm.report.pages.registry import write_page
        from sdm.report.results import read_results

        write_page(read_results(folder / files["numbers"]))
    return numbers, files


def describe(run: JointRun, options: RunOptions) -> dict[str, Any]:
    """Return the numbers of a run: data, models, and their measures."""
    joint, stacked = run.joint, run.stacked
    keys = ("learner", "C", "lambda", "gap", "status", "iterations")
    tested = run.testing
    return {
        **{key: joint.meta[key] for key in (*keys, "sites", "missing", "graph", "features", "seed", "version")},
        "species": list(joint.species),
        "variables": list(joint.encoder.names),
        "categorical": list(joint.encoder.categorical),
        "edges": len(joint.forest.edges),
        "stacked": {key: stacked.meta[key] for key in keys},
        "training": run.training,
        "test": None if tested is None else {"method": tested.method, "folds": tested.folds, "mean": tested.mean},
        "tuning": run.tuning,
        "kept": {"share": KEPT, "weights": sum(row["kept"] for row in survivors(joint))},
        "settings": options.joint.model_dump(),
    }


def survivors(model: FittedJoint) -> list[dict[str, Any]]:
    """Return every species' weights, which share of the largest each is, and whether that is more than nothing.

    The bias of a species is no feature, and is not counted.
    """
    rows = model.effects()
    top = max((abs(row["weight"]) for row in rows if row["feature"] != "bias"), default=0.0) or 1.0
    shares = [abs(row["weight"]) / top for row in rows]
    return [
        {**row, "share": share, "kept": row["feature"] != "bias" and share >= KEPT} for row, share in zip(rows, shares)
    ]


def evaluation_rows(run: JointRun) -> list[dict[str, Any]]:
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
    run: JointRun, options: RunOptions, folder: Path, files: dict[str, Any], progress: Progress | None
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


def _write_run(options: RunOptions, folder: Path, command: str, files: dict[str, Any]) -> None:
    """Write what repeats the run, and the command that was given."""
    head = "# Repeat with: sdm joint run.yaml -o FOLDER\n"
    (folder / files["run"]).write_text(head + dump_yaml(options, JOINT_SECTIONS), encoding="utf-8")
    (folder / files["command"]).write_text(command + "\n", encoding="utf-8")
