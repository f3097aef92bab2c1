"""The picture of the confusion of classes."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sdm.report.figures.style import one_plot, safe_text, save, tidy
from sdm.report.paper import PLAIN, SMALL, TEXT, Paper
from sdm.types import Array


def draw_confusion(confusion: Array, labels: Sequence[str], path: Path, *, title: str, paper: Paper = PLAIN) -> Path:
    """Draw the confusion matrix: shares of each class, with counts where they can be read."""
    names = [safe_text(label, 20) for label in labels]
    total = confusion.sum(axis=1, keepdims=True)
    share = np.divide(confusion, total, out=np.zeros_like(confusion), where=total > 0)
    side = max(60.0, 36.0 + 7.0 * min(len(names), 40))
    figure, axes = one_plot(side + 25.0, side, paper)
    image = axes.imshow(share, cmap="Blues", vmin=0, vmax=1)
    if len(names) <= 20:
        for (row, column), value in np.ndenumerate(confusion):
            if value:
                colour = "white" if share[row, column] > 0.55 else "black"
                axes.text(column, row, f"{value:.4g}", ha="center", va="center", size=SMALL, color=colour)
    step = -(-len(names) // 40)
    axes.set_xticks(range(0, len(names), step), names[::step], rotation=90)
    axes.set_yticks(range(0, len(names), step), names[::step])
    tidy(axes, x="Most probable class", y="Class on record")
    axes.set_title(title, fontsize=TEXT)
    tidy(figure.colorbar(image, ax=axes, shrink=0.75).ax, y="Share of the class")
    return save(figure, path)
