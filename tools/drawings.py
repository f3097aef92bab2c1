"""Pictures of the explanation, computed from the sample data."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import rasterio
from matplotlib.figure import Figure
from rasterio.transform import rowcol

import sdm
from sdm.report.figures.style import ACCENT, GREY, INK
from sdm.types import Array

SAMPLE = Path(__file__).parents[1] / "sample_data"
SPECIES = "Virtualis montanus"
VARIABLES = ("temperature", "precipitation", "elevation", "wetness", "slope", "seasonality")
FEW = 40  # records of the pictures about complexity: with many, everything works


@cache
def layers() -> dict[str, Array]:
    """Return the layers of the sample, `nan` where there is no data."""
    found = {}
    for name in VARIABLES:
        with rasterio.open(SAMPLE / "layers" / f"{name}.tif") as source:
            found[name] = source.read(1, masked=True).astype(float).filled(np.nan)
    return found


@cache
def samples() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the environment at the records of the species, and at 3,000 cells."""
    grids = layers()
    with rasterio.open(SAMPLE / "layers" / f"{VARIABLES[0]}.tif") as source:
        table = pd.read_csv(SAMPLE / "occurrences.csv").query("species == @SPECIES")
        rows, columns = rowcol(source.transform, table["longitude"].to_numpy(), table["latitude"].to_numpy())
    at = pd.DataFrame({name: grid[np.asarray(rows, int), np.asarray(columns, int)] for name, grid in grids.items()})
    everywhere = pd.DataFrame({name: grid.ravel() for name, grid in grids.items()}).dropna()
    return at.dropna(), everywhere.sample(3000, random_state=1)


LOSS = "log loss relative to\na uniform map (nats)"


def fitted(presences: pd.DataFrame, features: str, multiplier: float) -> sdm.Maxent:
    """Return a model of some presences."""
    _, background = samples()
    table = pd.concat([presences, background], ignore_index=True)
    return sdm.Maxent(features, multiplier=multiplier).fit(table, np.repeat([1, 0], [len(presences), len(background)]))


def loss(model: sdm.Maxent, presences: pd.DataFrame) -> float:
    """Return the mean log loss of presences over the background, relative to a uniform map."""
    _, background = samples()
    scores, everywhere = model.decision_function(presences), model.decision_function(background)
    top = everywhere.max()
    return float(top + np.log(np.mean(np.exp(everywhere - top))) - scores.mean())


def certificate(picture: Path) -> None:
    """Draw the gain and its upper bound after every round of a fit."""
    presences, _ = samples()
    rounds = fitted(presences, "lqh", 1.0).solution_.history
    number = np.arange(1, len(rounds) + 1)
    best = np.array([-one.objective for one in rounds])
    figure, (left, right) = pair(8.6, 3.2)
    left.plot(number, best, "o-", color=INK, label="model of the round")
    left.plot(number, best + [one.gap for one in rounds], "s--", color=ACCENT, label="upper bound")
    left.fill_between(number, best, best + [one.gap for one in rounds], color=ACCENT, alpha=0.15)
    left.set(xlabel="round", ylabel="regularised gain (nats)", title="The optimum is between the lines")
    left.legend(fontsize=8)
    right.semilogy(number, [max(one.gap, 1e-12) for one in rounds], "o-", color=INK)
    right.axhline(1e-6, color=GREY, linestyle=":")
    right.text(1, 1.4e-6, "default tolerance", fontsize=8, color=GREY)
    right.set(xlabel="round", ylabel="gap (nats)", title="The duality gap is their difference")
    save(figure, picture)


def regularisation(picture: Path) -> None:
    """Draw a response curve under three multipliers, and the loss of training and held-out records under many."""
    presences, background = samples()
    few, rest = presences.iloc[:FEW], presences.iloc[FEW:]
    figure, (left, right) = pair(8.6, 3.2)
    grid = np.linspace(background["temperature"].min(), background["temperature"].max(), 200)
    along = pd.DataFrame({name: np.full(200, background[name].mean()) for name in VARIABLES}).assign(temperature=grid)
    for multiplier, style in ((0.05, ":"), (1.0, "-"), (8.0, "--")):
        curve = fitted(few, "lqh", multiplier).predict(along)
        left.plot(grid, curve, style, color=INK, label=f"multiplier {multiplier:g}")
    left.set(xlabel="temperature (°C)", ylabel="suitability", title=f"{FEW} records, three multipliers")
    left.legend(fontsize=8)
    many = np.geomspace(0.03, 30, 13)
    models = [fitted(few, "lqh", each) for each in many]
    right.semilogx(many, [loss(model, few) for model in models], "o-", color=GREY, label="training records")
    right.semilogx(many, [loss(model, rest) for model in models], "o-", color=ACCENT, label="held-out records")
    right.set(xlabel="multiplier", ylabel=LOSS, title="Overfitting and underfitting")
    right.legend(fontsize=8)
    save(figure, picture)


def complexity(picture: Path) -> None:
    """Draw training and held-out loss of simple and of complex models, with few records and with many."""
    presences, _ = samples()
    kinds = {"linear": "l", "+ quadratic": "lq", "+ hinge": "lqh", "+ threshold\nand product": "lqpht"}
    figure, axes = pair(8.6, 3.2)
    rng = np.random.default_rng(3)
    order = rng.permutation(len(presences))
    for axis, count in zip(axes, (12, 100), strict=True):
        train, test = presences.iloc[order[:count]], presences.iloc[order[100:]]
        models = [fitted(train, features, 0.2) for features in kinds.values()]
        axis.plot([loss(each, train) for each in models], "o-", color=GREY, label="training records")
        axis.plot([loss(each, test) for each in models], "o-", color=ACCENT, label="held-out records")
        axis.set_xticks(range(len(kinds)), list(kinds), fontsize=8)
        axis.set(title=f"{count} records", ylabel=LOSS)
    axes[0].legend(fontsize=8)
    save(figure, picture)


def background(picture: Path) -> None:
    """Draw the temperature of the records and of the background, and their ratio."""
    presences, everywhere = samples()
    figure, (left, right) = pair(8.6, 3.0)
    bins = np.linspace(everywhere["temperature"].min(), everywhere["temperature"].max(), 25)
    shares = [np.histogram(table["temperature"], bins)[0] / len(table) for table in (everywhere, presences)]
    middle = (bins[1:] + bins[:-1]) / 2
    for share, colour, label in zip(shares, (GREY, ACCENT), ("background", "records"), strict=True):
        left.fill_between(middle, 100 * share, step="mid", color=colour, alpha=0.5, label=label)
    left.set(xlabel="temperature (°C)", ylabel="percent of the places", title="Records and background")
    left.legend(fontsize=8)
    enough = shares[0] > 0.004
    right.bar(middle[enough], (shares[1] / np.maximum(shares[0], 1e-9))[enough], np.diff(bins)[0] * 0.9, color=INK)
    right.axhline(1, color=GREY, linestyle=":")
    right.set(xlabel="temperature (°C)", ylabel="ratio of records to background", title="Their ratio")
    save(figure, picture)


def same_records(picture: Path) -> None:
    """Draw a common and a rare species with the same records."""
    rng = np.random.default_rng(5)
    with rasterio.open(SAMPLE / "truth" / "Virtualis_montanus.tif") as source:
        truth = source.read(1, masked=True).astype(float).filled(0.0)
    present = rng.random(truth.shape) < truth
    common = np.argwhere(present)
    records = common[rng.permutation(len(common))[:60]]
    rare = np.concatenate([records, common[rng.permutation(len(common))[:90]]])
    figure, axes = pair(8.0, 4.2)
    for axis, living, title in (
        (axes[0], common, f"Common species: present in {len(common):,} cells"),
        (axes[1], rare, f"Rare species: present in {len(rare):,} cells"),
    ):
        axis.imshow(np.where(layers()["temperature"] == layers()["temperature"], 0.12, 0), cmap="Greys", vmin=0, vmax=1)
        axis.scatter(living[:, 1], living[:, 0], s=4, color=GREY, label="present")
        axis.scatter(records[:, 1], records[:, 0], s=14, color=ACCENT, label="60 records")
        axis.set(title=title, xticks=[], yticks=[])
    axes[1].legend(fontsize=8, loc="lower right")
    save(figure, picture)


def pair(width: float, height: float) -> tuple[Figure, Sequence[Any]]:
    """Return a figure with two panels side by side."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(1, 2))


def save(figure: Figure, picture: Path) -> None:
    """Write a figure at the size of the site."""
    figure.savefig(picture, dpi=120, metadata={"Software": None})
