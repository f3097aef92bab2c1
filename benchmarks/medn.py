"""Joint models: the chains of Zhu and Xing's paper (§7.1), and real communities against single-species models.

`python -m benchmarks.medn` runs all; with `chains`, `sensitivity`, `communities` (random folds) or `blocks` (spatial
ones) behind it, one of them.
`SDM_BENCH_SETS` sets how many data sets of each kind are drawn (2 by default; 10 in the paper).
"""

import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.inputs.chains import chain_discriminant
from benchmarks.tools.harness import ROOT, save, shared, table
from sdm.assess.measures.community import measure_community
from sdm.assess.splits.spatial import blocks
from sdm.data.encode import Encoder
from sdm.estimators.community import JointModel
from sdm.estimators.glm import RIDGE, fit_glm
from sdm.joint.discriminant import Discriminant, LabelledSites
from sdm.joint.graph import chain
from sdm.joint.learners.registry import C_RANGE, Learner
from sdm.joint.learners.tuning import choose_regularization, hamming, predict_labels
from sdm.models.community import FittedJoint

LENGTH, INPUTS, SAMPLES = 8, 100, 1000
SIZES = (50, 150)
KINDS = {"10 relevant": (10, False), "30 relevant": (30, False), "50 relevant": (50, False), "correlated": (30, True)}
LEARNERS = ("CRF", "L1-CRF", "L2-CRF", "M3N", "L1-M3N", "LapMEDN")
# Constants to choose from, from strong regularisation to weak. With a large λ Laplace MEDN is L1-M³N with C/(2√λ), so C
# is given as a multiple of that; the strengths around the best of most settings are inside.
STRENGTHS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.3)
SHRINKAGES = (256.0, 16384.0)
LAPLACE = [(2.0 * lam**0.5 * c, lam) for lam in SHRINKAGES for c in STRENGTHS[1:5]]
CRF_C = (0.01, 0.03, *C_RANGE[:5])
M3N_C = (0.003, 0.01, 0.03, *C_RANGE[:4])
CHOICE_FOLDS = 3
FOLDS = 5
# Real communities, and the columns that are coordinates.
COMMUNITIES = {
    "frogs_jsdm": ("x", "y"),
    "mosquitos_jsdm": ("x", "y"),
    "eucalypts_sjsdm": ("longitude", "latitude"),
    "butterflies": ("x", "y"),
}
PICTURE = ROOT / "docs" / "pictures" / "medn.png"
WEIGHTS_PICTURE = ROOT / "docs" / "pictures" / "medn_weights.png"


def draw_chains(relevant: int, correlated: bool, rng: np.random.Generator) -> tuple[LabelledSites, np.ndarray]:
    """Draw a linear-chain CRF, inputs, and labels from its exact conditional distribution; return also its weights.

    Weights of relevant inputs and transitions are standard normal, which the paper does not say.
    """
    d = chain_discriminant(chain(LENGTH), INPUTS)
    weights = rng.normal(size=d.size)
    d.split(weights)[0][:, relevant:] = 0.0
    x = rng.normal(size=(SAMPLES, LENGTH, INPUTS))
    if correlated:
        groups = np.repeat(rng.normal(size=(SAMPLES, LENGTH, relevant // 3)), 3, axis=2)
        x[:, :, :relevant] = groups + 0.05 * rng.normal(size=groups.shape)
    labelings = ((np.arange(2**LENGTH)[:, None] >> np.arange(LENGTH)) & 1).astype(np.int8)
    steps = d.table(weights)[0][labelings[:, :-1], labelings[:, 1:]].sum(axis=1)
    score = d.unary(weights, x) @ labelings.T + steps
    gumbel = rng.gumbel(size=score.shape)
    return LabelledSites(x, labelings[np.argmax(score + gumbel, axis=1)]), weights


def wrong_labels(learner: Learner, d: Discriminant, weights: np.ndarray, test: LabelledSites) -> float:
    """Return how many labels are wrong: what the constants of all learners are chosen by here."""
    return float(np.count_nonzero(test.labels != predict_labels(d, weights, test.x)))


def error_of(name: str, d: Discriminant, train: LabelledSites, test: LabelledSites) -> tuple[float, str]:
    """Choose a learner's constants by cross-validation, fit, and return its share of wrong labels, and C and λ."""
    free = np.zeros(d.size, dtype=bool)
    quick: dict[str, Any] = {"tolerance": 1e-2 * LENGTH, "max_iterations": 50}
    final: dict[str, Any] = {"tolerance": 2e-3 * LENGTH, "max_iterations": 200}
    if name == "CRF":
        # A penalty of 1/1000: without any, separable labels have no finite optimum.
        learner = Learner("crf-l2", c=1000.0)
    else:
        plain, grid = GRIDS[name]
        learner, _ = choose_regularization(
            replace(plain, **quick), grid, d, train, free, folds=CHOICE_FOLDS, loss=wrong_labels
        )
    weights = replace(learner, **final).fit(d, train, free).weights
    return hamming(test.labels, predict_labels(d, weights, test.x)), f"{learner.c:.3g}, {learner.lam:g}"


GRIDS: dict[str, tuple[Learner, list[tuple[float, float]]]] = {
    "L1-CRF": (Learner("crf-l1"), [(c, 1.0) for c in CRF_C]),
    "L2-CRF": (Learner("crf-l2"), [(c, 1.0) for c in CRF_C]),
    "M3N": (Learner("m3n"), [(c, 1.0) for c in M3N_C]),
    "L1-M3N": (Learner("l1-m3n"), [(c, 1.0) for c in STRENGTHS]),
    "LapMEDN": (Learner("laplace"), LAPLACE),
    "LapMEDN, 3 rounds": (Learner("laplace", rounds=3), LAPLACE),
}


def chains(sets: int) -> list[dict[str, Any]]:
    """Return the mean error of every learner, for every kind of data and training size."""
    d = chain_discriminant(chain(LENGTH), INPUTS)
    rows = []
    for kind, (relevant, correlated) in KINDS.items():
        errors = np.zeros((sets, len(SIZES), len(LEARNERS)))
        truth = np.zeros((sets, len(SIZES)))
        chosen: dict[tuple[int, str], list[str]] = {}
        for k in range(sets):
            rng = np.random.default_rng([relevant, correlated, k])
            sites, weights = draw_chains(relevant, correlated, rng)
            order = rng.permutation(sites.n)
            for i, size in enumerate(SIZES):
                train, test = sites.take(order[:size]), sites.take(order[size:])
                truth[k, i] = hamming(test.labels, predict_labels(d, weights, test.x))
                for j, name in enumerate(LEARNERS):
                    errors[k, i, j], constants_of = error_of(name, d, train, test)
                    chosen.setdefault((size, name), []).append(constants_of)
        for i, size in enumerate(SIZES):
            means = dict(zip(LEARNERS, errors[:, i].mean(axis=0).tolist()))
            spread = errors[:, i].std(axis=0, ddof=1).tolist() if sets > 1 else [float("nan")] * len(LEARNERS)
            row = {"data": kind, "training": size, "generating model": float(truth[:, i].mean()), **means}
            rows.append({**row, "sd": spread, "C, λ": {name: chosen[size, name] for name in GRIDS if name in LEARNERS}})
        table(f"Chains, {kind}: share of wrong labels, {sets} data sets", [_shown(r) for r in rows[-len(SIZES) :]])
    return rows


def sensitivity(size: int = 80) -> list[dict[str, Any]]:
    """Return errors on the test set for every constant of the sparse learners, as in the paper's Fig. 9, and which
    constant is best: what a better choice could reach."""
    d = chain_discriminant(chain(LENGTH), INPUTS)
    free = np.zeros(d.size, dtype=bool)
    rng = np.random.default_rng([10, False, 0])
    sites, _ = draw_chains(10, False, rng)
    order = rng.permutation(sites.n)
    train, test = sites.take(order[:size]), sites.take(order[size:])
    rows = []
    for name, (learner, grid) in GRIDS.items():
        if name in ("L1-CRF", "L1-M3N", "LapMEDN", "LapMEDN, 3 rounds"):
            for c, lam in grid:
                own = replace(learner, c=c, lam=lam, tolerance=2e-3 * LENGTH, max_iterations=200)
                fitted = own.fit(d, train, free)
                error = hamming(test.labels, predict_labels(d, fitted.weights, test.x))
                kept = np.abs(fitted.weights) > 0.01 * np.abs(fitted.weights).max()
                rows.append(
                    {"learner": name, "C": c, "λ": lam, "error": error, "weights": int(kept.sum()), "gap": fitted.gap}
                )
    return rows


def recovered(size: int = 150) -> dict[str, Any]:
    """Return weights and variances of one fit to correlated inputs, as in the paper's Figures 5 and 6."""
    d = chain_discriminant(chain(LENGTH), INPUTS)
    rng = np.random.default_rng([30, True, 0])
    sites, truth = draw_chains(30, True, rng)
    train = sites.take(rng.permutation(sites.n)[:size])
    free = np.zeros(d.size, dtype=bool)
    limits: dict[str, Any] = {"tolerance": 2e-3 * LENGTH, "max_iterations": 200}
    laplace = Learner("laplace", 2.0 * 16.0 * 0.05, 256.0, **limits).fit(d, train, free)
    absolute = Learner("l1-m3n", 0.05, **limits).fit(d, train, free)
    return {
        "generating weights": truth[:INPUTS].tolist(),
        "LapMEDN weights": laplace.weights[:INPUTS].tolist(),
        "LapMEDN variances": np.asarray(laplace.variance)[:INPUTS].tolist(),
        "L1-M3N weights": absolute.weights[:INPUTS].tolist(),
    }


def findings(rows: list[dict[str, Any]]) -> list[str]:
    """Compare the ordering with the paper's, statement by statement."""

    def held(text: str, holds: list[bool]) -> str:
        return f"{text}: {'as' if all(holds) else 'NOT always as'} in the paper ({sum(holds)} of {len(holds)} settings)"

    return [
        held("LapMEDN below M3N", [r["LapMEDN"] < r["M3N"] for r in rows]),
        held("LapMEDN comparable with L1-M3N (within 0.02)", [abs(r["LapMEDN"] - r["L1-M3N"]) <= 0.02 for r in rows]),
        held("LapMEDN comparable with L1-CRF (within 0.02)", [abs(r["LapMEDN"] - r["L1-CRF"]) <= 0.02 for r in rows]),
        held("L1-CRF below CRF", [r["L1-CRF"] < r["CRF"] for r in rows]),
        held("L2-CRF below CRF", [r["L2-CRF"] < r["CRF"] for r in rows]),
        held("M3N comparable with L2-CRF (within 0.02)", [abs(r["M3N"] - r["L2-CRF"]) <= 0.02 for r in rows]),
    ]


def picture(rows: list[dict[str, Any]], sets: int) -> None:
    """Draw the errors like the paper's Figures 3 and 4."""
    figure = drawing(3.5)
    for k, kind in enumerate(KINDS):
        axes = figure.add_subplot(1, len(KINDS), k + 1)
        own = [r for r in rows if r["data"] == kind]
        axes.plot([r["training"] for r in own], [r["generating model"] for r in own], "k:", label="generating model")
        for name, mark in zip(LEARNERS, "xsdo*^"):
            axes.plot([r["training"] for r in own], [r[name] for r in own], marker=mark, markersize=4, label=name)
        axes.set_title(kind, fontsize=10)
        axes.set_xlabel("training samples")
        axes.grid(alpha=0.3)
        if k == 0:
            axes.set_ylabel(f"share of wrong labels ({sets} data sets)")
    figure.legend(*axes.get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=8)
    save_picture(figure, PICTURE)


def weights_picture(found: dict[str, Any]) -> None:
    """Draw weights and variances like the paper's Figures 5 and 6."""
    figure = drawing(2.8)
    for k, (name, values) in enumerate(found.items()):
        axes = figure.add_subplot(1, len(found), k + 1)
        axes.vlines(range(INPUTS), 0, values, linewidth=1)
        axes.axvspan(-0.5, 29.5, alpha=0.12)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("input (the first 30 are relevant)")
    save_picture(figure, WEIGHTS_PICTURE)


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


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in ("data", "sd", "C, λ")}


PARTS = ("chains", "sensitivity", "communities", "blocks")


def main() -> None:
    began = time.perf_counter()
    sets = int(os.environ.get("SDM_BENCH_SETS", "2"))
    parts = [part for part in PARTS if part in sys.argv] or PARTS
    logging.getLogger("sdm").setLevel(logging.ERROR)  # fits that only choose a constant are rough on purpose
    if "chains" in parts:
        rows = chains(sets)
        stated = findings(rows)
        print("\n" + "\n".join(stated))
        picture(rows, sets)
        save("medn", {"data sets": [sets], "chains": rows, "findings": stated})
    if "sensitivity" in parts:
        tried, found = sensitivity(), recovered()
        table("Share of wrong labels by constants, on the test set; 10 relevant, 80 samples", tried)
        weights_picture(found)
        save("medn", {"sensitivity": tried, "weights": found})
    for part, kind in (("communities", "random"), ("blocks", "blocks")):
        if part in parts:
            save("communities", {part: communities(kind)})
    print(f"medn: {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
