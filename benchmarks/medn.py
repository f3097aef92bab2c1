"""Joint models: real communities against single-species models.

`python -m benchmarks.medn` runs all; with `communities` (random folds) or `blocks`
(spatial ones) behind it, one of them.
"""

import logging
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tools.harness import ROOT, save, shared, table
from sdm.assess.measures.community import measure_community
from sdm.assess.splits.spatial import blocks
from sdm.data.encode import Encoder
from sdm.estimators.community import JointModel
from sdm.estimators.glm import RIDGE, fit_glm
from sdm.models.community import FittedJoint

FOLDS = 5
# Real communities, and the columns that are coordinates.
COMMUNITIES = {
    "frogs_jsdm": ("x", "y"),
    "mosquitos_jsdm": ("x", "y"),
    "eucalypts_sjsdm": ("longitude", "latitude"),
    "butterflies": ("x", "y"),
}


def drawing(height: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_picture(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    print(f"written: {path.relative_to(ROOT)}")


def folds_of(places: np.ndarray, kind: str) -> np.ndarray:
    """Return every site's fold: by chance, or in spatial blocks of a sixth of the area's longer side."""
    if kind == "random":
        return np.random.default_rng(1).permutation(len(places)) % FOLDS
    return np.asarray(blocks(places, places, size=float(np.ptp(places, axis=0).max() / 6), k=FOLDS).group)


def community(name: str, kind: str, learners: Sequence[str]) -> list[dict[str, Any]]:
    """Fit joint and stacked models, C chosen within the training folds, and GLMs; measure on the fold left out."""
    import pandas as pd

    folder = shared() / "joint" / name
    env = pd.read_csv(folder / "env.csv").drop(columns="site")
    labels = pd.read_csv(folder / "presence_absence.csv").drop(columns="site")
    drop = list(COMMUNITIES[name])
    part, env = folds_of(env[drop].to_numpy(), kind), env.drop(columns=drop)
    models: dict[tuple[str, str], Callable[[Any, Any], FittedJoint]] = {}
    for learner in learners:
        for graph, title in (("tree", "joint"), ("none", "stacked")):
            models[learner, title] = lambda x, y, a=learner, g=graph: JointModel(a, g).fit(x, y).model_  # type: ignore[misc]
    models["GLM", ""] = partial(_glm, ridge=RIDGE)
    models["GLM, ridge 1", ""] = partial(_glm, ridge=1.0)
    rows = []
    for (learner, title), fit in models.items():
        found, seconds, chosen = [], 0.0, []
        for fold in range(FOLDS):
            train, test = part != fold, part == fold
            seen = labels[train].nunique() > 1
            began = time.process_time()
            model = fit(env[train], labels.loc[train, seen])
            seconds += time.process_time() - began
            chosen.append(model.meta.get("C"))
            values = model.encode(env[test])
            found.append(measure_community(model, values, labels.loc[test, seen].to_numpy().astype(np.int8)))
        means = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
        row = {"data": name, "folds": kind, "learner": learner, "model": title, **means}
        rows.append({**row, "C": " ".join(f"{c:g}" for c in chosen if c), "CPU seconds per fold": seconds / FOLDS})
    return rows


def _glm(x: Any, y: Any, ridge: float) -> FittedJoint:
    encoder = Encoder.learn(x, ())
    return fit_glm(encoder.encode(x), y.to_numpy().astype(np.int8), encoder, tuple(y.columns), ridge)


def communities(kind: str) -> list[dict[str, Any]]:
    """Joint models by default, stacked ones and GLMs on held-out sites of four communities; max margin on three."""
    rows = []
    for name in COMMUNITIES:
        if name == "mosquitos_jsdm" and kind == "blocks":
            continue  # its sites lie in four blocks
        learners = ("crf-l2",) if name == "butterflies" or kind == "blocks" else ("crf-l2", "m3n", "l1-m3n", "laplace")
        rows += community(name, kind, learners)
        table(f"Held-out sites of {name}, folds: {kind}", [row for row in rows if row["data"] == name])
    return rows


PARTS = ("communities", "blocks")


def main() -> None:
    began = time.perf_counter()
    parts = [part for part in PARTS if part in sys.argv] or PARTS
    logging.getLogger("sdm").setLevel(logging.ERROR)  # fits that only choose a constant are rough on purpose
    for part, kind in (("communities", "random"), ("blocks", "blocks")):
        if part in parts:
            save("communities", {part: communities(kind)})
    print(f"medn: {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
