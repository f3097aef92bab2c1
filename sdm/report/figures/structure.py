"""The picture of the penalties that were tried for a structural model."""

from pathlib import Path

import numpy as np
from matplotlib.patches import Rectangle

from sdm.assess.structure import Structure
from sdm.report.figures.style import ACCENT, one_plot, save, tidy
from sdm.report.paper import COLUMN, PLAIN, SMALL, TEXT, Paper


def draw_prices(structure: Structure, path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the held-out loss of every λ and β tried; the chosen one is marked."""
    tried = structure.search
    lambdas = sorted({s.lam for s in tried})
    betas = sorted({s.beta for s in tried if np.isfinite(s.lam)})
    table = np.full((len(betas), len(lambdas)), np.nan)
    for s in tried:
        row = betas.index(s.beta) if np.isfinite(s.lam) else slice(None)
        table[row, lambdas.index(s.lam)] = s.loss
    figure, axes = one_plot(max(COLUMN, 40.0 + 11.0 * len(lambdas)), 38.0 + 8.0 * len(betas), paper)
    low = float(np.nanmin(table))
    high = low + 1.0
    image = axes.imshow(table, origin="lower", aspect="auto", cmap="viridis_r", vmin=low, vmax=high)
    for (row, column), loss in np.ndenumerate(table):
        if np.isfinite(loss):
            colour = "black" if loss < 0.5 * (low + high) else "white"
            axes.text(column, row, f"{loss + 0.0:.2f}", ha="center", va="center", size=SMALL, color=colour)
    for row, beta in enumerate(betas):
        if np.isinf(structure.lam) or beta == structure.beta:
            axes.add_patch(_frame(lambdas.index(structure.lam), row))
    axes.set_xticks(range(len(lambdas)), [f"{v:g}" if np.isfinite(v) else "none" for v in lambdas], rotation=45)
    axes.set_yticks(range(len(betas)), [f"{v:.3g}" for v in betas])
    tidy(axes, x="λ, by complexity (none: no trees or monomials)", y="β, for any feature")
    axes.set_title("Held-out log loss less that of the background", fontsize=TEXT)
    tidy(figure.colorbar(image, ax=axes).ax, y="nats")
    return save(figure, path)


def _frame(column: int, row: int) -> Rectangle:
    return Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, ec=ACCENT, lw=2)
