"""The page of a joint model: one file that opens offline, made from what a run stored. It draws what was computed."""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from sdm.errors import DataError
from sdm.files import write_text
from sdm.reading import load_json
from sdm.report.pages.chart import bar_chart
from sdm.report.pages.live_map import embed, thumbnail
from sdm.report.pages.species import render
from sdm.report.results import number

MOST_EDGES = 30
MOST_FEATURES = 25
LEARNERS = {
    "laplace": "Laplace maximum entropy discrimination Markov network",
    "m3n": "Maximum-margin Markov network",
    "crf-l2": "Conditional random field, penalty on squares",
    "crf-l1": "Conditional random field, penalty on absolute values",
}
MEASURES = {
    "hamming": "Hamming error of the best labeling",
    "hamming of marginals": "Hamming error of marginals above ½",
    "auc": "Mean AUC",
    "log loss": "Joint log loss, nats per site",
    "marginal log loss": "Log losses of single species, summed, nats per site",
    "richness error": "Richness error, species",
}


def write_joint_page(folder: Path) -> Path:
    """Write `joint.html` from the stored results of a folder; one that is there already is made anew.

    Raises
    ------
    DataError
        If the results cannot be read.
    """
    path = folder / "joint.json"
    try:
        numbers = load_json(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}): make the results again with `sdm joint`") from error
    try:
        page = joint_page(folder, numbers)
    except (OSError, LookupError, TypeError, ValueError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise DataError(
            f"the page of {path} cannot be made ({what}): make the results again with `sdm joint`"
        ) from error
    return write_text(folder / "joint.html", page, overwrite=True)


def joint_page(folder: Path, n: dict[str, Any]) -> str:
    """Return the page."""
    tested = n["test"]
    both = n["training"] if tested is None else tested["mean"]
    maps = n["files"].get("maps") or {}
    edges = sorted(n["associations"], key=lambda row: -abs(row["weight"]))
    context = {
        "n": n,
        "algorithm": LEARNERS.get(n["learner"], n["learner"]),
        "unit": "nats" if n["learner"].startswith("crf") else "wrong labels",
        "measures": [{"name": text, **{key: both[key][name] for key in both}} for name, text in MEASURES.items()],
        "species": [_species(folder, name, n, both, maps) for name in n["species"]],
        "has_maps": bool(maps),
        "network": embed(_inside(folder, n["files"]["network"])),
        "edges": [{**row, "unsure": _unsure(row)} for row in edges[:MOST_EDGES]],
        "has_spread": any(row["sd"] is not None for row in edges),
        "edges_left_out": max(0, len(edges) - MOST_EDGES),
        "features": _features(n),
        "richness": [
            (title.removeprefix("maps").strip(), embed(_inside(folder, own["picture"])))
            for title, own in n["files"].items()
            if title.startswith("maps")
        ],
        "settings": {**n["settings"], "features": n["features"], "seed": n["seed"]},
    }
    return render("joint.html", "index.js", context)


def _inside(folder: Path, name: str) -> Path:
    """Return where a file of the results is; a name that leads out of them was not written by a run."""
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError(f"'{name}' is no file in the results")
    return folder / name


def _unsure(row: dict[str, Any]) -> bool:
    """Whether an association is smaller than its standard error, or the deviation of its posterior."""
    return row["sd"] is not None and abs(row["weight"]) < row["sd"]


def _species(folder: Path, name: str, n: dict[str, Any], both: dict[str, Any], maps: dict[str, Any]) -> dict[str, Any]:
    """Return what the table shows of one species."""
    kept = [row for row in n["effects"] if row["species"] == name and row["kept"]]
    strongest = max(kept, key=lambda row: abs(row["weight"]), default=None)
    place = maps.get("species", {}).get(name)
    return {
        "name": name,
        "prevalence": n["prevalence"].get(name),
        "joint": number(both["joint"]["species"].get(name)),
        "stacked": number(both["stacked"]["species"].get(name)),
        "glm": number(both["glm"]["species"].get(name)),
        "kept": len(kept),
        "strongest": "–" if strongest is None else f"{strongest['feature']} ({strongest['weight']:+.2f})",
        "picture": None if place is None else thumbnail(_inside(folder, place), 1.0),
    }


def _features(n: dict[str, Any]) -> Markup | None:
    """Draw how many species keep a weight for which feature."""
    counts: dict[str, int] = {}
    for row in n["effects"]:
        if row["feature"] != "bias":
            counts[row["feature"]] = counts.get(row["feature"], 0) + bool(row["kept"])
    ranked = sorted(counts.items(), key=lambda item: -item[1])[:MOST_FEATURES]
    if not ranked:
        return None
    what = "Species with a weight for it"
    return bar_chart([name for name, _ in ranked], [(what, [float(k) for _, k in ranked])], title=what, x_label=what)
