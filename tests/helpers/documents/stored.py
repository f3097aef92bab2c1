"""Stored results of the benchmarks, and notes about them."""

import json
from functools import cache
from typing import Any

import pandas as pd
from documents.commands import ROOT

RESULTS = ROOT / "benchmarks" / "results"


@cache
def stored(name: str) -> Any:
    """The results of a benchmark."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


@cache
def nceas() -> pd.DataFrame:
    """AUC, COR and log loss of every setting of the NCEAS benchmark: means over species, and AUC per region."""
    table = pd.read_csv(RESULTS / "nceas.csv")
    regions = table.pivot_table(index="setting", columns="region", values="auc")
    means = table.groupby("setting")[["auc", "cor", "log_loss"]].mean()
    return means.join(regions).join(table.groupby("setting").size().rename("species"))


def auc_per_species(setting: str) -> pd.Series:
    """The AUC of every species of the NCEAS benchmark with a setting."""
    table = pd.read_csv(RESULTS / "nceas.csv", usecols=["setting", "region", "species", "auc"])
    return table[table["setting"] == setting].set_index(["region", "species"])["auc"]


def line_of(path: str) -> str:
    """The text of a page or note, in one line."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())
