"""Pictures of how a model was assessed: folds on a map, tuning, learning curves, surfaces, confusion, penalties."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from sdm.assess.curves import CurvePoint
from sdm.assess.profiles import Surface
from sdm.assess.structure import Structure
from sdm.report.charts import COLOURS, SCALES, fold_colours
from sdm.report.figures.maps.drawn import add_scale_bar, label_axes, show
from sdm.report.figures.maps.plan import MapFrame, Points
from sdm.report.figures.style import ACCENT, GREY, drawable, one_plot, own_axes, safe_text, save, tidy, write_cells
from sdm.report.pages.maps.live_map import main_picture
from sdm.report.pages.words import measure_name
from sdm.report.paper import COLUMN, PAGE, PLAIN, SMALL, TEXT, Paper
from sdm.report.pictures import Picture
from sdm.report.results import Results, column, number
from sdm.report.stored_charts import stored_folds
from sdm.types import Array, Index, Numbers, Row

LAND = (236, 233, 224, 255)
MOST_LINES = 12  # settings apart from the multiplier that a legend has room for


@dataclass(frozen=True)
class FoldPlaces:
    """Presences with the number of their fold, over the land with the lines between blocks; where the background is
    divided too, its points lie below."""

    presence: Points
    group: Index
    names: Sequence[str]
    background: Points | None = None
    background_group: Index | None = None
    geographic: bool = False
    land: Picture | None = None
    outlines: Sequence[Array] = ()

    @property
    def frame(self) -> MapFrame:
        """The part of the ground that the map shows."""
        if self.land is not None:
            return MapFrame.of(self.land, [self.presence])
        x, y = map(np.concatenate, zip(self.presence, self.background or self.presence))
        more = 0.04 * max(float(np.ptp(x)), float(np.ptp(y)), 1e-9)
        middle = np.radians(np.clip(float(np.mean(y)), -85, 85))
        limits = (float(x.min()) - more, float(y.min()) - more, float(x.max()) + more, float(y.max()) + more)
        return MapFrame(limits, 1.0 / float(np.cos(middle)) if self.geographic else 1.0, self.geographic)


def draw_folds(folds: FoldPlaces, path: Path, *, title: str = "", caption: str = "", paper: Paper = PLAIN) -> Path:
    """Draw the fold in which each presence is held out. The title, a species, is in italics, the caption is below."""
    figure, axes = one_plot(COLUMN, min(max(0.62 * COLUMN * folds.frame.tall + 16.0, 45.0), 220.0), paper)
    plot_folds(folds, axes)
    axes.set_title(caption, fontsize=TEXT)
    if title:
        figure.suptitle(safe_text(title, 40), fontsize=TEXT + 1, fontstyle="italic")
    return save(figure, path)


def plot_folds(folds: FoldPlaces, ax: Axes | None = None) -> Axes:
    """Put the folds of presences on axes."""
    (x, y), background, background_group, land = folds.presence, folds.background, folds.background_group, folds.land
    axes, colours, frame = own_axes(ax), fold_colours(len(folds.names)), folds.frame
    if land is not None:
        pale = np.zeros((*land.values.shape, 4), dtype=np.uint8)
        pale[np.isfinite(land.values)] = LAND
        show(axes, pale, land)
    if background is not None and background_group is not None:
        shade = [GREY, *colours]
        axes.scatter(*background, s=1.5, c=[shade[k + 1] for k in background_group], alpha=0.35, linewidths=0)
    elif background is not None and land is None:
        axes.scatter(*background, s=1.5, c="#c9ced2", alpha=0.5, linewidths=0)
    for line in folds.outlines:
        axes.plot(*line.T, color="#444444", lw=0.5, alpha=0.8, zorder=2)
    for k, name in enumerate(folds.names):
        mine = folds.group == k
        label = f"fold {drawable(name, 18)} ({np.count_nonzero(mine):,})"
        dot: dict[str, Any] = {"mfc": colours[k], "mec": "white", "mew": 0.4, "ls": "none", "zorder": 3}
        axes.plot(x[mine], y[mine], "o" if k < len(COLOURS) else "s", ms=3.6, label=label, **dot)
    label_axes(axes, frame)
    if land is not None:
        add_scale_bar(axes, frame, np.isfinite(land.values))
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    place |= {"handlelength": 1.0, "handletextpad": 0.4}
    axes.legend(title="Held-out records by fold", fontsize=SMALL, title_fontsize=SMALL, frameon=False, **place)
    return axes


def draw_tuning(rows: Sequence[Row], by: str, best: int, path: Path, paper: Paper = PLAIN) -> Path:
    """Draw a measure against the multiplier, a line for each of the other settings; the chosen one is ringed."""
    figure, axes = one_plot(PAGE if len({row["label"] for row in rows}) > 1 else COLUMN, 80.0, paper)
    plot_tuning(rows, by, best, axes)
    return save(figure, path)


def plot_tuning(rows: Sequence[Row], by: str, best: int, ax: Axes | None = None) -> Axes:
    """Put a measure against the multiplier on axes, with the standard error of its mean over folds where it is known:
    a row with `<measure>.sd` beside `<measure>.avg`, and `folds`, their number."""
    axes = own_axes(ax, PAGE, 80.0)
    groups: dict[str, list[Numbers]] = {}
    for row in rows:
        groups.setdefault(row["label"], []).append(row)
    places = np.unique([row["multiplier"] for row in rows])
    gaps = np.diff(np.log(places)) if len(places) > 1 and places[0] > 0 else np.array([0.2])
    apart = min(0.16 * float(gaps.min()), 0.05)  # so that whiskers of several lines do not lie on each other
    for k, (label, own) in enumerate(list(groups.items())[:MOST_LINES]):
        own = sorted(own, key=lambda row: row["multiplier"])
        shift = np.exp(apart * (k - (min(len(groups), MOST_LINES) - 1) / 2))
        x, y = np.array([row["multiplier"] for row in own]) * shift, [row[by] for row in own]
        error = [standard_error(row, by) for row in own]
        known = None if all(e is None for e in error) else [e or 0.0 for e in error]
        ways: dict[str, Any] = {"fmt": "o-" if k < len(COLOURS) else "s--", "color": COLOURS[k % len(COLOURS)]}
        ways |= {"ms": 3, "lw": 1.0, "capsize": 1.5, "elinewidth": 0.7}
        axes.errorbar(x, y, yerr=known, label=drawable(label or "model", 30), **ways)
    chosen = rows[best]
    at = list(groups).index(chosen["label"])
    shift = np.exp(apart * (at - (min(len(groups), MOST_LINES) - 1) / 2)) if at < MOST_LINES else 1.0
    ring: dict[str, Any] = {"ms": 9, "mfc": "none", "mec": "black", "mew": 1.2, "ls": "none"}
    axes.plot(chosen["multiplier"] * shift, chosen[by], "o", label="selected", **ring)
    if len(places) > 1:
        axes.set_xscale("log")
        if len(places) <= 12:
            axes.set_xticks(places, [f"{tick:g}" for tick in places])
            axes.minorticks_off()
    axes.grid(alpha=0.3, lw=0.5)
    bars = any(standard_error(row, by) is not None for row in rows)
    tidy(axes, x="Regularisation multiplier", y=f"{measure_name(by)} (± standard error)" if bars else measure_name(by))
    left = len(groups) - MOST_LINES
    title = f"{MOST_LINES} of {len(groups)} settings" if left > 0 else None
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "frameon": False}
    axes.legend(fontsize=SMALL, title=title, title_fontsize=SMALL, **place)
    return axes


def standard_error(row: Numbers, by: str) -> float | None:
    """Return the standard error of a mean over folds; None where it is not known."""
    spread, folds = row.get(f"{by.removesuffix('.avg')}.sd"), row.get("folds")
    known = by.endswith(".avg") and isinstance(spread, (int, float)) and np.isfinite(spread) and bool(folds)
    return float(spread) / float(np.sqrt(folds)) if known and spread is not None and folds is not None else None


def draw_curves(points: Sequence[CurvePoint], kind: str, path: Path, title: str = "", paper: Paper = PLAIN) -> Path:
    """Draw the held-out loss against the number of presences (`learning`) or the multiplier (`sensitivity`).

    The shade is one deviation over the partitions on either side.
    """
    figure, axes = one_plot(COLUMN, 65.0, paper)
    groups: dict[tuple[str, int], list[CurvePoint]] = {}
    for point in points:
        groups.setdefault((point.label, 0 if kind == "learning" else point.presences), []).append(point)
    several = len({size for _, size in groups}) > 1
    for k, ((label, size), own) in enumerate(groups.items()):
        x = np.array([p.presences if kind == "learning" else p.multiplier for p in own], dtype=float)
        loss = np.array([p.loss for p in own])
        spread = np.array([p.loss_sd for p in own])
        text = f"{label}, {size} presences" if several else label
        colour = COLOURS[k % len(COLOURS)]
        axes.plot(x, loss, "o-", ms=2.5, lw=1.1, color=colour, label=text)
        if np.isfinite(spread).all():
            axes.fill_between(x, loss - spread, loss + spread, color=colour, alpha=0.1, lw=0)
    axes.set_xscale("log")
    if kind == "learning":
        ticks = sorted({point.presences for point in points})
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
    label = "Training presences" if kind == "learning" else "Regularisation multiplier (β₀)"
    tidy(axes, x=label, y="Held-out log loss (nats)")
    axes.set_title(safe_text(title, 45), fontsize=TEXT + 1, fontstyle="italic")
    axes.grid(alpha=0.3, lw=0.5)
    axes.legend(fontsize=SMALL, framealpha=0.85, edgecolor="none")
    return save(figure, path)


def draw_surface(surface: Surface, scale: str, path: Path, paper: Paper = PLAIN) -> Path:
    """Draw the prediction over two variables; the dashed box is what training knew."""
    figure, axes = one_plot(COLUMN, 68.0, paper)
    top = 1.0 if scale in ("cloglog", "logistic") else None
    values = zip(surface.classes, (surface.x, surface.y))
    sides = [np.arange(len(names)) if names else own for names, own in values]
    image = axes.pcolormesh(*sides, surface.z.T, cmap="viridis", vmin=0, vmax=top, shading="nearest")
    for axis, names, mark in zip((axes.xaxis, axes.yaxis), surface.classes, (axes.axvline, axes.axhline)):
        if names:
            axis.set_ticks(range(len(names)), [drawable(name, 10) for name in names])
        else:
            for edge in surface.ranges[0 if axis is axes.xaxis else 1]:
                mark(edge, color="white", ls="--", lw=0.9)
    tidy(axes, x=safe_text(surface.variables[0]), y=safe_text(surface.variables[1]))
    tidy(figure.colorbar(image, ax=axes).ax, y=SCALES[scale])
    return save(figure, path)


def draw_confusion(confusion: Array, labels: Sequence[str], path: Path, *, title: str, paper: Paper = PLAIN) -> Path:
    """Draw the confusion matrix: shares of each class, with counts where they can be read."""
    names = [safe_text(label, 20) for label in labels]
    total = confusion.sum(axis=1, keepdims=True)
    share = np.divide(confusion, total, out=np.zeros_like(confusion), where=total > 0)
    side = max(60.0, 36.0 + 7.0 * min(len(names), 40))
    figure, axes = one_plot(side + 25.0, side, paper)
    image = axes.imshow(share, cmap="Blues", vmin=0, vmax=1)
    if len(names) <= 20:
        write_cells(axes, np.where(confusion == 0, np.nan, confusion), "{:.4g}".format, share > 0.55)
    step = -(-len(names) // 40)
    axes.set_xticks(range(0, len(names), step), names[::step], rotation=90)
    axes.set_yticks(range(0, len(names), step), names[::step])
    tidy(axes, x="Most probable class", y="Observed class")
    axes.set_title(title, fontsize=TEXT)
    tidy(figure.colorbar(image, ax=axes, shrink=0.75).ax, y="Share of the class")
    return save(figure, path)


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
    write_cells(axes, table + 0.0, "{:.2f}".format, table >= 0.5 * (low + high))
    for row, beta in enumerate(betas):
        if np.isinf(structure.lam) or beta == structure.beta:
            corner = lambdas.index(structure.lam) - 0.5, row - 0.5
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, ec=ACCENT, lw=2))
    axes.set_xticks(range(len(lambdas)), [f"{v:g}" if np.isfinite(v) else "none" for v in lambdas], rotation=45)
    axes.set_yticks(range(len(betas)), [f"{v:.3g}" for v in betas])
    tidy(axes, x="λ (none: no trees or monomials)", y="β")
    axes.set_title("Held-out log loss relative to the background", fontsize=TEXT)
    tidy(figure.colorbar(image, ax=axes).ax, y="nats")
    return save(figure, path)


def plot_stored_folds(results: Results, ax: Axes | None = None) -> Axes:
    """Put the fold that each record is held out in on axes, over the land."""
    return plot_folds(_stored_places(results), ax)


def _stored_places(results: Results) -> FoldPlaces:
    folds, land = stored_folds(results), main_picture(results)
    rows = [row for own in folds.values() for row in own]
    group = np.repeat(np.arange(len(folds)), [len(own) for own in folds.values()])
    places = np.array(column(rows, "X")), np.array(column(rows, "Y"))
    return FoldPlaces(places, group, list(folds), geographic=land is not None and land.geographic, land=land)


def plot_stored_tuning(results: Results, by: str | None = None, ax: Axes | None = None) -> Axes:
    """Put a measure of all settings that were tried against the multiplier on axes, by default the one that chose."""
    return plot_tuning(*_stored_settings(results, by), ax)


def _stored_settings(results: Results, by: str | None = None) -> tuple[list[Numbers], str, int]:
    """Return the settings that were tried, the measure that chose unless another one is named, and the chosen one."""
    rows = results.table("tune")
    measure = by or str((results.tree("tuning").get("by") or ["auc.val.avg"])[0])
    return [_setting(row) for row in rows], measure, [row.get("chosen") for row in rows].index("True")


def draw_stored(results: Results, paper: Paper) -> None:
    """Draw the folds and the choice of settings of a model, where it has them."""
    plots = results.folder / "plots"
    if results.table("folds"):
        draw_folds(_stored_places(results), plots / "folds.png", paper=paper)
    if results.table("tune"):
        draw_tuning(*_stored_settings(results), plots / "tune.png", paper)


def _setting(row: Mapping[str, str] | Row) -> Numbers:
    """Return a row of what was tried with numbers, its multiplier, and what else it is."""
    words = [row[key] for key in ("fc",) if row.get(key)]
    words += [f"{key} {row[key]}" for key in ("entropy", "regularization", "lambda", "beta") if row.get(key)]
    values = {key: number(text) for key, text in row.items()}
    return {**values, "multiplier": values.get("rm") or 1.0, "label": ", ".join(words)}
