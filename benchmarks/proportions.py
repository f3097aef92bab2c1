"""Proportions of classes by losses from logistic to sparsemax (Blondel et al. 2020, §9.1), and the time of a fit.

Documents as in the paper's synthetic experiment: a few labels each, words from the mixture of the labels' own
distributions; 1,200 documents to fit, 200 to choose the penalty by, 1,000 to test.
"""

import numpy as np

from benchmarks.tools.harness import ROOT, once, save, table
from sdm.estimators.classes import ConditionalMaxent
from sdm.types import Array

ALPHAS = (1.0, 1.5, 2.0)
PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
LENGTHS = (200, 600, 2000)
CLASSES, WORDS, SETS = 10, 60, 3
PARTS = (1200, 200, 1000)


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


def picture(rows: list[dict[str, float]]) -> None:
    from sdm.report.figures.style import COLUMN, one_plot
    from sdm.report.figures.style import save as save_figure

    figure, axes = one_plot(1.5 * COLUMN, 80.0)
    for alpha, colour in zip(ALPHAS, ("#4477aa", "#ccbb44", "#ee6677")):
        own = [row for row in rows if row["alpha"] == alpha]
        name = {1.0: "logistic (α = 1)", 1.5: "α = 1.5", 2.0: "sparsemax (α = 2)"}[alpha]
        axes.plot([row["words"] for row in own], [row["Jensen-Shannon"] for row in own], "o-", color=colour, label=name)
    axes.set_xlabel("Words in a document")
    axes.set_ylabel("Jensen–Shannon divergence (nats)")
    axes.set_ylim(0)
    axes.legend()
    save_figure(figure, ROOT / "docs" / "pictures" / "proportions.png")


def timed() -> list[dict[str, object]]:
    """10,000 sites of 8 variables and 10 classes, to a gap of 1e-6."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(10_000, 8))
    theta = x @ rng.normal(size=(8, 10)) + np.sin(2 * x) @ rng.normal(size=(8, 10)) + rng.gumbel(size=(10_000, 10))
    y = np.argmax(theta, axis=1)
    rows: list[dict[str, object]] = []
    ConditionalMaxent("lqph", knots=3).fit(x[:200, :2], y[:200] % 2)  # compiles
    for features, knots in (("lq", 30), ("lqph", 30), ("lqph", "maxent")):
        seconds, model = once(lambda f=features, k=knots: ConditionalMaxent(f, knots=k).fit(x, y))  # type: ignore[misc]
        rows.append(
            {
                "features": features,
                "knots": knots,
                "weights": model.coef_.size,
                "in use": int(np.count_nonzero(model.coef_)),
                "gap": model.solution_.gap,
                "seconds": seconds,
            }
        )
    table("10,000 sites, 8 variables, 10 classes", rows)
    return rows


def main() -> None:
    rows = compare()
    picture(rows)
    save("proportions", {"data sets": SETS, "proportions": rows, "time": timed()})


if __name__ == "__main__":
    main()
