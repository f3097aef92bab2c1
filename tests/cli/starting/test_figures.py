"""Figures on pages are the stored results of the benchmarks, rounded."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from documents.commands import page_of
from documents.stored import RESULTS, nceas, stored
from documents.tables import disagreements, table_of


def bias() -> list[list[float]]:
    first, *rows = stored("bias")["virtual species"]
    return [[first["correlation"]], *([row[key] for key in ("correlation", "gain", "species better")] for row in rows)]


def classes() -> list[list[float]]:
    rows = pd.DataFrame(stored("survey")["rows"])
    single = rows[rows["data"] != "mean"]
    return [[single[name].mean(), single[name].min()] for name in ("constant", "GLM", "l1, multiplier 1", "default")]


def communities() -> list[list[float]]:
    rows = {(row["data"], row["learner"], row["model"]): row for row in stored("communities")["communities"]}
    found = []
    for data in ("frogs_jsdm", "mosquitos_jsdm", "eucalypts_sjsdm", "butterflies"):
        both = [rows[data, "crf-l2", model] for model in ("joint", "stacked")]
        losses = [row["log loss"] for row in (*both, rows[data, "GLM", ""], rows[data, "GLM, ridge 1", ""])]
        found.append([*losses, *(row[key] for key in ("auc", "hamming") for row in both)])
    return found


def structural() -> list[list[float]]:
    methods = ("L1 on feature classes L Q P H C", "L1 on trees and monomials (λ = 0)",
               "structural, L Q P H C and trees", "structural, default",
               "structural, trees and monomials", "unregularised, trees and monomials")  # fmt: skip
    partitions = stored("structural")["partitions"]
    means = [pd.DataFrame(partitions[name]["rows"]).mean(numeric_only=True) for name in methods]
    first, *others = [[row["log loss"], row["AUC"], row["log loss"] - means[0]["log loss"]] for row in means]
    return [first[:2], *others]


def gain(setting: str, base: str = "target", region: str = "", presences: int = 10**9) -> str:
    """The mean paired difference in AUC between two settings, of a region or of species with few records."""
    table = pd.read_csv(RESULTS / "nceas.csv").query("presences < @presences and region.str.contains(@region)")
    auc = table.pivot_table(index="species", columns="setting", values="auc")
    change = (auc[setting] - auc[base]).to_numpy()
    error = change.std(ddof=1) / np.sqrt(len(change))
    return f"{change.mean():+.3f} ± {error:.3f}".replace("-", "−")


def of_regions(setting: str, base: str) -> list[str]:
    return [gain(setting, base, region) for region in ("AWT", "NSW", "CAN")]


def accuracy() -> list[list[float]]:
    settings = ("default", "default_maxnet", "target", "structural", "best", "shared", "best_shared", "best_place")
    columns = ["auc", "AWT", "NSW", "CAN", "log_loss"]
    return [list(map(float, nceas().loc[name, columns])) for name in settings]


TABLES: list[tuple[str, str, int, Callable[[], list[list[float]]]]] = [
    ("bias", "correction", 3, bias),
    ("classes", "model", 2, classes),
    ("joint_models", "data (sites × species)", 8, communities),
    ("structural", "method", 3, structural),
    ("accuracy", "setting", 5, accuracy),
]
"""Pages, the heading of a table, how many of its columns are compared, and the figures of its rows."""


@pytest.mark.parametrize(("topic", "heading", "columns", "figures"), TABLES, ids=lambda value: str(value)[:12])
def test_a_table_has_the_stored_figures(topic: str, heading: str, columns: int, figures: Callable[[], Any]) -> None:
    shown = table_of(topic, heading)
    expected = figures()
    assert len(shown) == len(expected)
    wrong = {row: disagreements(shown[row][:columns], each) for row, each in zip(shown, expected, strict=True)}
    assert not {row: faults for row, faults in wrong.items() if faults}


def sentences() -> list[tuple[str, str]]:
    """Sentences of pages with figures of stored results, and the pages."""
    rare = partial(gain, presences=30)
    search = stored("structural")["search"]["rows"]
    path = stored("path")["general path"]
    return [
        ("shared_axes", f"is {rare('shared')} (shared axes), {rare('best_shared')} (`--preset best`)"),
        ("shared_axes", f"and {rare('best_place')} (with `--spatial`)"),
        ("accuracy", "gives {} (AWT), {} (NSW) and {} (CAN)".format(*of_regions("target", "default"))),
        ("accuracy", "The preset adds {}, {} and {}.".format(*of_regions("best_shared", "target"))),
        ("regularisation", f"changes are {rare('target_x0.5')} (0.5) and {rare('target_x2')} (2)"),
        ("structural", f"found the best one in {100 * search[1]['optimal']:.1f} %"),
        ("path", f"model with {path['features']:,} features took {path['fits']} fits"),
    ]


def test_sentences_have_the_stored_figures() -> None:
    for topic, sentence in sentences():
        assert sentence in " ".join(page_of(topic).read_text(encoding="utf-8").split()), topic
