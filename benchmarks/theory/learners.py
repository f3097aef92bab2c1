"""The learners of joint models on the four communities, as Zhu and Xing (2009) compare theirs in Figures 3, 4 and 9.

`python -m benchmarks.theory.learners` draws training sites, lets every learner choose its C by cross-validation within
them, and counts wrong labels and log loss at other sites; then the same for every C at the larger size, unchosen.
Names of communities behind it run those alone, and keep the others' earlier results. `picture` draws again.
"""

import logging
import sys
import time
from typing import Any

import numpy as np

from benchmarks.medn import COMMUNITIES, drawing, save_picture
from benchmarks.tools.harness import ROOT, earlier, save, shared, table
from sdm.assess.measures.community import measure_community
from sdm.estimators.community import JointModel

LEARNERS = {"crf-l2": "L2-CRF", "crf-l1": "L1-CRF", "m3n": "M3N", "l1-m3n": "L1-M3N", "laplace": "LapMEDN"}
SIZES = {"frogs_jsdm": (30, 60), "mosquitos_jsdm": (50, 100), "eucalypts_sjsdm": (100, 250), "butterflies": (75, 150)}
DRAWS = {"butterflies": 1}
DEFAULT_DRAWS = 3
TESTED = 500  # sites at most
STRENGTHS = (0.01, 0.1, 1.0, 10.0)
MAX_ITERATIONS = 60  # of a fit: what is near its optimum predicts as well
PICTURE = ROOT / "benchmarks" / "notes" / "pictures" / "joint_learners.png"
MEASURES = ("hamming", "hamming of marginals", "log loss", "auc")
TITLES = {"hamming": "share of wrong labels", "log loss": "joint log loss, nats per site"}


def one_community(name: str) -> dict[str, Any]:
    """Return the measures of every learner by training size, and by C at the larger size."""
    import pandas as pd

    folder = shared() / "joint" / name
    env = pd.read_csv(folder / "env.csv").drop(columns=["site", *COMMUNITIES[name]])
    labels = pd.read_csv(folder / "presence_absence.csv").drop(columns="site")
    sizes, tuned, fixed = SIZES[name], [], []
    for draw in range(DRAWS.get(name, DEFAULT_DRAWS)):
        order = np.random.default_rng(draw).permutation(len(env))
        test = order[max(sizes) :][:TESTED]
        for size in sizes:
            train = order[:size]
            seen = labels.columns[labels.iloc[train].nunique() > 1]
            x, y, held = env.iloc[train], labels.iloc[train][seen], labels.iloc[test][seen].to_numpy().astype(np.int8)
            settings: list[tuple[list[dict[str, Any]], float | str]] = [(tuned, "cv")]
            if draw == 0 and size == max(sizes):
                settings += [(fixed, c) for c in STRENGTHS]
            for learner in LEARNERS:
                for into, c in settings:
                    began = time.process_time()
                    model = JointModel(learner, c=c, max_iterations=MAX_ITERATIONS).fit(x, y).model_
                    found = measure_community(model, model.encode(env.iloc[test]), held)
                    row = {"learner": learner, "draw": draw, "training": size, "C": model.meta["C"]}
                    seconds = time.process_time() - began
                    into.append({**row, **{key: found[key] for key in MEASURES}, "CPU seconds": seconds})
    return {"species": len(labels.columns), "sites": len(labels), "tuned": tuned, "by C": fixed}


def means(found: dict[str, Any], size: int) -> list[dict[str, Any]]:
    """Return one row per learner: its mean measures over the draws of one training size."""
    rows = []
    for learner in LEARNERS:
        own = [row for row in found["tuned"] if row["learner"] == learner and row["training"] == size]
        mean = {key: float(np.mean([row[key] for row in own])) for key in (*MEASURES, "CPU seconds")}
        rows.append({"learner": learner, "training": size, **mean})
    return rows


def picture(results: dict[str, Any]) -> None:
    """Draw wrong labels and log loss by training size, and wrong labels by C."""
    figure = drawing(8.0)
    for k, (name, found) in enumerate(results.items()):
        sizes = sorted({row["training"] for row in found["tuned"]})
        for r, key in enumerate(("hamming", "log loss")):
            axes = figure.add_subplot(3, len(results), r * len(results) + k + 1)
            for (learner, title), mark in zip(LEARNERS.items(), "dsox^"):
                values = [m[key] for size in sizes for m in means(found, size) if m["learner"] == learner]
                axes.plot(sizes[: len(values)], values, marker=mark, markersize=4, label=title)
            axes.set_xticks(sizes)
            axes.set_xlabel("training sites")
            axes.grid(alpha=0.3)
            axes.set_ylabel(TITLES[key] if k == 0 else "")
            if r == 0:
                axes.set_title(f"{name.split('_')[0]} ({found['species']} species)", fontsize=10)
        axes = figure.add_subplot(3, len(results), 2 * len(results) + k + 1)
        for (learner, title), mark in zip(LEARNERS.items(), "dsox^"):
            own = [row for row in found["by C"] if row["learner"] == learner]
            axes.plot(
                [row["C"] for row in own], [row["hamming"] for row in own], marker=mark, markersize=4, label=title
            )
        axes.set_xscale("log")
        axes.set_xlabel("C")
        axes.grid(alpha=0.3)
        axes.set_ylabel("share of wrong labels" if k == 0 else "")
    figure.legend(*axes.get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=5)
    save_picture(figure, PICTURE)


def main() -> None:
    began = time.perf_counter()
    logging.getLogger("sdm").setLevel(logging.ERROR)  # fits that only choose a constant are rough on purpose
    named = [name for name in COMMUNITIES if any(word in name for word in sys.argv[1:])]
    for name in () if "picture" in sys.argv else named or COMMUNITIES:
        save("learners", {name: one_community(name)})
    results = earlier("learners")
    results = {name: results[name] for name in COMMUNITIES if name in results}
    for name, found in results.items():
        rows = [row for size in SIZES[name] for row in means(found, size)]
        table(f"{name}: learners by training sites, mean of {DRAWS.get(name, DEFAULT_DRAWS)} draws", rows)
    picture(results)
    print(f"learners: {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
