"""Pictures of a model of classes: confusion and profiles; its maps are drawn as all others are."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sdm.assess.measures.classes import ClassProfile
from sdm.models.colours import hex_colour
from sdm.report.charts import ResponseCurve, curve_chart
from sdm.report.figures.charts import draw_curve
from sdm.report.figures.style import one_plot, safe_text, save
from sdm.types import Array, Colour


def draw_confusion(confusion: Array, labels: Sequence[str], path: Path, *, title: str) -> Path:
    """Draw the confusion matrix: shares of each class, with counts where they can be read."""
    names = [safe_text(label, 20) for label in labels]
    total = confusion.sum(axis=1, keepdims=True)
    share = np.divide(confusion, total, out=np.zeros_like(confusion), where=total > 0)
    side = 2.2 + 0.42 * min(len(names), 40)
    figure, axes = one_plot(side + 1.0, side)
    image = axes.imshow(share, cmap="Blues", vmin=0, vmax=1)
    if len(names) <= 20:
        for (row, column), value in np.ndenumerate(confusion):
            if value:
                colour = "white" if share[row, column] > 0.55 else "black"
                axes.text(column, row, f"{value:.4g}", ha="center", va="center", size=7, color=colour)
    axes.set_xticks(range(len(names)), names, rotation=90, size=8)
    axes.set_yticks(range(len(names)), names, size=8)
    axes.set_xlabel("Most probable class")
    axes.set_ylabel("Class on record")
    axes.set_title(title, fontsize=10)
    figure.colorbar(image, ax=axes, label="Share of the class", shrink=0.75)
    return save(figure, path)


def draw_class_profile(profile: ClassProfile, labels: Sequence[str], colours: Sequence[Colour], path: Path) -> Path:
    """Draw the classes' probabilities along one variable, one line per class (or bars over categories)."""
    x, inside = profile.x.tolist(), (profile.lo, profile.hi)
    curves = {
        label: ResponseCurve(x, y.tolist(), profile.categories, inside, colour=hex_colour(colour))
        for label, y, colour in zip(labels, profile.y, colours)
    }
    label = "Probability, others at their mean"
    chart = curve_chart(profile.variable, curves, title="", y_label=label, y_range=(0.0, 1.0), shares=True)
    return draw_curve(chart, path)
