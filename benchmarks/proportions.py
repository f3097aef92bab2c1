"""Proportions of classes by losses from logistic to sparsemax (Blondel et al. 2020, §9.1), and the time of a fit.

Documents as in the paper's synthetic experiment: a few labels each, words from the mixture of the labels' own
distributions; 1,200 documents to fit, 200 to choose the penalty by, 1,000 to test. And the protocol of their Table 4,
where α is chosen too: on survey sites with several species each, on digits, and on documents with 10 and 50 classes.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.tools.harness import ROOT, earlier, once, save, shared, table
from benchmarks.tools.multilabel import Table, community_table, digits_table, document_table, tuned
from sdm import Maxent
from sdm.estimators.classes import ConditionalMaxent
from sdm.types import Array

ALPHAS = (1.0, 1.5, 2.0)
PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
LENGTHS = (200, 600, 2000)
CLASSES, WORDS, SETS = 10, 60, 3
PARTS = (1200, 200, 1000)
TRIED = (1.0, 1.25, 1.5, 1.75, 2.0)  # α to choose from
STRENGTHS = (0.1, 1.0, 10.0, 100.0)  # λ of the paper's objective to choose from
ORDERS = (1.0, 1.25, 1.5, 2.0)  # those that `--entropy auto` chooses from
SPLITS = 5  # of small tables, and of communities
SMALL = ("eucalypts_sjsdm", "frogs_jsdm", "mosquitos_jsdm")  # tables that are divided several times
LARGE = ("digits", *(f"{words} words, {classes} classes" for classes in (10, 50) for words in LENGTHS), "butterflies")


def documents(length: int, seed: int) -> tuple[Array, Array]:
    """Word frequencies and label proportions; most labels of a document have none."""
    rng = np.random.default_rng([seed, length])
    n = sum(PARTS)
    topics = rng.dirichlet(np.full(WORDS, 0.3), size=CLASSES)
    x, y = np.empty((n, WORDS)), np.zeros((n, CLASSES))
    for i in range(n):
        some = rng.choice(CLASSES, min(1 + rng.poisson(1.0), CLASSES), replace=False)
        y[i, some] = rng.multinomial(50, rng.dirichlet(np.ones(some.size))) / 50
        words = rng.multinomial(max(1, rng.poisson(length)), y[i] @ topics)
        x[i] = words / words.sum()
    return x, y


def divergence(p: Array, y: Array) -> float:
    """Mean Jensen–Shannon divergence, in nats."""
    middle = 0.5 * (p + y)

    def kl(a: Array) -> Array:
        return np.sum(a * np.log(np.where(a > 0, a, 1.0) / np.where(a > 0, middle, 1.0)), axis=1)

    return float(np.mean(0.5 * kl(p) + 0.5 * kl(y)))


def squared(p: Array, y: Array) -> float:
    """Mean of half the squared distance."""
    return float(0.5 * np.mean(np.sum((p - y) ** 2, axis=1)))


def compare() -> list[dict[str, float]]:
    rows = []
    for length in LENGTHS:
        found: dict[float, list[tuple[float, float, float]]] = {alpha: [] for alpha in ALPHAS}
        for seed in range(SETS):
            x, y = documents(length, seed)
            fit, choose, test = np.split(np.arange(len(x)), np.cumsum(PARTS)[:2])
            for alpha in ALPHAS:
                best, chosen = np.inf, None
                for penalty_weight in PENALTIES:
                    model = ConditionalMaxent("l", "l2sq", entropy=alpha, beta=penalty_weight, tolerance=1e-5)
                    loss = divergence(model.fit(x[fit], y[fit]).predict_proba(x[choose]), y[choose])
                    if loss < best:
                        best, chosen = loss, model
                if chosen is None:
                    raise AssertionError("some penalty gives a finite divergence")
                p = chosen.predict_proba(x[test])
                found[alpha].append((divergence(p, y[test]), squared(p, y[test]), float(np.mean(p == 0))))
        for alpha in ALPHAS:
            js, mse, zeros = np.mean(found[alpha], axis=0)
            rows.append({"words": length, "alpha": alpha, "Jensen-Shannon": js, "squared": mse, "zeros": zeros})
    table("Label proportions on documents that were not seen", rows)
    return rows


def picture(results: dict[str, Any]) -> None:
    """Draw the divergence by the length of documents, as Fig. 10: of 10 classes, and of 50 with α chosen."""
    from sdm.report.figures.style import new_figure
    from sdm.report.figures.style import save as save_figure
    from sdm.report.paper import PAGE

    figure = new_figure(PAGE, 75.0)
    few, many = figure.subplots(1, 2)
    names = {1.0: "logistic (α = 1)", 1.5: "α = 1.5", 2.0: "sparsemax (α = 2)"}
    by_length = {f"{words} words, 50 classes": words for words in LENGTHS}
    large = {by_length[row["table"]]: row for row in results["table 4"]["rows"] if row["table"] in by_length}
    for alpha, colour in zip(ALPHAS, ("#4477aa", "#ccbb44", "#ee6677")):
        own = [row for row in results["proportions"] if row["alpha"] == alpha]
        line = {"color": colour, "label": names[alpha]}
        few.plot([row["words"] for row in own], [row["Jensen-Shannon"] for row in own], "o-", **line)
        many.plot([*large], [row[f"{alpha:g}"][0] for row in large.values()], "o-", **line)
    many.plot([*large], [row["tuned"][0] for row in large.values()], "k--", label="α chosen by validation")
    for axes, title in ((few, "10 classes"), (many, "50 classes")):
        axes.set(title=title, xlabel="Words in a document", ylabel="Jensen–Shannon divergence (nats)")
        axes.set_ylim(0)
    many.legend()  # of both
    save_figure(figure, ROOT / "benchmarks" / "notes" / "pictures" / "proportions.png")


def timed() -> list[dict[str, object]]:
    """Fits of 8 variables to a gap of 1e-6: with a given multiplier; with l1, whose multiplier is chosen; and by
    default, where the elastic penalty is tried too."""
    rows: list[dict[str, object]] = []
    ConditionalMaxent("lqph", knots=3).fit(*_made_sites(200, 2))  # compiles
    given: dict[str, Any] = {"multiplier": 1.0}
    for sites, classes, features, knots, ways in (
        (10_000, 10, "lq", 30, given),
        (10_000, 10, "lqph", 30, given),
        (10_000, 10, "lqph", "maxent", given),
        (3_000, 5, "lqh", 10, given),
        (3_000, 5, "lqh", 10, {"regularization": "l1"}),
        (3_000, 5, "lqh", 10, {}),
    ):
        x, y = _made_sites(sites, classes)
        seconds, model = once(lambda: ConditionalMaxent(features, knots=knots, **ways).fit(x, y))  # noqa: B023
        rows.append(
            {
                "sites": sites,
                "classes": classes,
                "features": features,
                "knots": knots,
                "chosen": "-" if ways is given else "multiplier" if ways else "multiplier, penalty",
                "weights": model.coef_.size,
                "in use": int(np.count_nonzero(model.coef_)),
                "gap": model.solution_.gap,
                "seconds": seconds,
            }
        )
    table("Time of a fit, and of what is chosen before it", rows)
    return rows


def _made_sites(n: int, classes: int, variables: int = 8) -> Table:
    """Return sites whose classes follow from waves in every variable, and from chance."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, variables))
    theta = x @ rng.normal(size=(variables, classes)) + np.sin(2 * x) @ rng.normal(size=(variables, classes))
    return x, np.argmax(theta + rng.gumbel(size=(n, classes)), axis=1)


def read_table(name: str, split: int) -> tuple[Table, tuple[int, int]]:
    """Return a table in random order, and how many of its rows are to fit and to choose by."""
    if name.endswith("classes"):
        words, classes = (int(part.split()[0]) for part in name.split(", "))
        return document_table(classes, words, sum(PARTS), split), PARTS[:2]
    x, y = digits_table() if name == "digits" else community_table(shared() / "joint" / name)
    order = np.random.default_rng([4, split]).permutation(len(x))
    return (x[order], y[order]), (int(0.6 * len(x)), int(0.2 * len(x)))


def measure_orders(job: tuple[str, int]) -> dict[str, Any]:
    """Fit one table with every α, and with the α that the second part of its rows chooses."""
    name, split = job
    (x, y), sizes = read_table(name, split)
    fit, dev, test = ((x[rows], y[rows]) for rows in np.split(np.arange(len(x)), np.cumsum(sizes)))
    found = tuned((fit, dev, test), TRIED, STRENGTHS, divergence)
    chosen = min(found, key=lambda alpha: found[alpha][1])
    shown = {f"{alpha:g}": found[alpha][2] for alpha in ALPHAS} | {"tuned": found[chosen][2]}
    measures = {key: (divergence(p, test[1]), squared(p, test[1])) for key, p in shown.items()}
    labels = float((y > 0).sum(axis=1).mean())
    return {"table": name, "rows": len(x), "classes": y.shape[1], "labels": labels, "alpha": chosen, **measures}


def protocol(processes: int) -> list[dict[str, Any]]:
    """The protocol of Table 4; print the mean over splits, and the mean rank of each choice of α."""
    jobs = [*((name, split) for name in SMALL for split in range(SPLITS)), *((name, 0) for name in LARGE)]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        found = []
        for item in pool.map(measure_orders, jobs):
            found.append(item)
            print(f"  {item['table']}: α = {item['alpha']:g}", flush=True)
    keys = [*(f"{alpha:g}" for alpha in ALPHAS), "tuned"]
    rows: list[dict[str, Any]] = []
    for name in (*SMALL, *LARGE):
        own = [item for item in found if item["table"] == name]
        row = {key: own[0][key] for key in ("table", "rows", "classes", "labels")}
        row |= {key: [float(part) for part in np.mean([item[key] for item in own], axis=0)] for key in keys}
        rows.append(row | {"chosen": [item["alpha"] for item in own]})
    values = np.array([[row[key] for key in keys] for row in rows])  # tables, α, measures
    ranks = (values[:, :, None] > values[:, None] + 1e-4).sum(axis=2).mean(axis=0) + 1.0
    printed = [row | {key: " / ".join(f"{part:.4f}" for part in row[key]) for key in keys} for row in rows]
    table("Jensen–Shannon divergence / half the squared distance of held-out rows", printed)
    print("mean rank:", {key: [round(float(part), 2) for part in rank] for key, rank in zip(keys, ranks)})
    return rows


def measure_choice(job: tuple[str, int]) -> list[dict[str, Any]]:
    """Fit every species of a community by presence and absence with fixed orders and with the one that is chosen; 70 %
    of the sites to fit. Probabilities below 0.001 count as that, so that a zero has a finite loss."""
    name, split = job
    x, y = (pd.read_csv(shared() / "joint" / name / f"{part}.csv") for part in ("env", "presence_absence"))
    values, labels = x.drop(columns="site").to_numpy(dtype=float), y.drop(columns="site")
    order = np.random.default_rng([5, split]).permutation(len(values))
    fit, test = np.split(order, [int(0.7 * len(order))])
    rows = []
    for species in labels:
        own = labels[species].to_numpy()
        if min(own[fit].sum(), (1 - own[fit]).sum()) < 10 or len(set(own[test])) < 2:
            continue
        row: dict[str, Any] = {"community": name, "species": species}
        for entropy in (*ORDERS, "auto"):
            model = ConditionalMaxent("lq", entropy=entropy, multiplier=1.0).fit(values[fit], own[fit])
            p = np.clip(model.predict_proba(values[test]), 0.001, 1.0)
            p = (p / p.sum(axis=1, keepdims=True))[np.arange(len(test)), own[test]]
            row[str(entropy)] = float(-np.log(p).mean())
        rows.append(row | {"chosen": model.entropy_})
    return rows


def species_choice(splits: int = 5) -> dict[str, Any]:
    """The same for records and background points of Bradypus: the held-out loss less that of a uniform map, where every
    model is mixed with one part in a thousand of the uniform one."""
    table = pd.read_csv(shared() / "bradypus_swd" / "bradypus.csv")
    x, y = table.drop(columns="presence").to_numpy(dtype=float), table["presence"].to_numpy()
    here, base = np.flatnonzero(y == 1), np.flatnonzero(y != 1)
    losses: dict[str, list[float]] = {str(order): [] for order in (*ORDERS, "auto")}
    chosen = []
    for split in range(splits):
        order = np.random.default_rng([6, split]).permutation(here)
        fit, test = np.split(order, [int(0.7 * len(order))])
        rows = np.r_[fit, base]
        for entropy in (*ORDERS, "auto"):
            model = Maxent("lqh", entropy=entropy, categorical=[list(table.columns[1:]).index("ecoreg")])
            raw = model.fit(x[rows], y[rows]).model_
            ratio = raw.predict(x[test], "raw") / raw.predict(x[rows], "raw").mean()
            losses[str(entropy)].append(float(-np.log(0.999 * ratio + 0.001).mean()))
        chosen.append(model.entropy_)
    means = {key: float(np.mean(value)) for key, value in losses.items()}
    return {"community": "Bradypus (records)", "fits": splits, **means, "chosen": _counted(chosen)}


def _counted(chosen: list[float]) -> dict[str, int]:
    return {str(order): chosen.count(order) for order in ORDERS}


def choices(processes: int) -> dict[str, Any]:
    """`--entropy auto` against fixed orders, on the presence and absence of single species."""
    jobs = [(name, split) for name in SMALL for split in range(2)]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        found = [row for part in pool.map(measure_choice, jobs) for row in part]
    keys, rows = [*map(str, ORDERS), "auto"], list[dict[str, Any]]()
    for name in (*dict.fromkeys(row["community"] for row in found), "all"):
        own = [row for row in found if name in (row["community"], "all")]
        means = {key: float(np.mean([row[key] for row in own])) for key in keys}
        rows.append({"community": name, "fits": len(own), **means, "chosen": _counted([row["chosen"] for row in own])})
    rows.append(species_choice())
    table("Log loss at held-out sites, by the order of the entropy", rows)
    return {"rows": rows, "species": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--part", choices=("documents", "protocol", "choices", "time"), help="measure only this part anew"
    )
    given, _ = parser.parse_known_args()
    results: dict[str, Any] = {}
    if given.part in (None, "documents"):
        results |= {"data sets": SETS, "proportions": compare()}
    if given.part in (None, "protocol"):
        results["table 4"] = {"splits": SPLITS, "rows": protocol(given.processes)}
    if given.part in (None, "choices"):
        results["choices"] = choices(given.processes)
    if given.part in (None, "time"):
        results["time"] = timed()
    save("proportions", results)
    shown = earlier("proportions")
    if "proportions" in shown and "table 4" in shown:
        picture(shown)


if __name__ == "__main__":
    main()
