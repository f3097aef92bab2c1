"""Every kind of figure, drawn of fixed data."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from affine import Affine
from report_runs import project
from strategies import small_case

from sdm.assess.curves import CurvePoint
from sdm.assess.importance import Contribution, Jackknife, Permutation
from sdm.assess.paths.strata import validate_path
from sdm.assess.profiles import Surface
from sdm.assess.splits.spatial import blocks
from sdm.assess.structure import Structure
from sdm.assess.variables.correlation import Collinearity
from sdm.assess.variables.variogram import Autocorrelation, Variogram
from sdm.joint.graph import forest_of_edges
from sdm.kinds.registry import read_results
from sdm.maxent.entropy import Entropy
from sdm.maxent.paths.homotopy import track_path
from sdm.maxent.paths.multiplier import follow_path
from sdm.maxent.penalty_search import PenaltySetting
from sdm.models.colours import hex_colour, palette
from sdm.report.charts import (
    BarChart,
    Bars,
    Biplot,
    Chart,
    NamedTip,
    ResponseCurve,
    calibration_chart,
    curve_chart,
    importance_chart,
    jackknife_charts,
    omission_chart,
    roc_chart,
)
from sdm.report.figures import assessment, paths, variables
from sdm.report.figures.associations import draw_network
from sdm.report.figures.composed import PIXELS, draw_publication
from sdm.report.figures.maps.drawn import draw_axes, draw_colours, draw_map, draw_richness
from sdm.report.figures.maps.plan import Marks, suitability
from sdm.report.figures.projection.scenarios import draw_scenarios
from sdm.report.figures.projection.shifts import draw_change
from sdm.report.model_figures import write_charts
from sdm.report.paper import Paper
from sdm.report.pictures import read_picture
from sdm.report.projection import StoredProjection, find_projections

NAMES = ("temperature", "rain", "slope", "soil")
X = np.linspace(-10, 110, 101)
HUMP = np.exp(-(((X - 50) / 20) ** 2))
PERMUTATION = [Permutation(name, 60.0 / 2**k, 6.0 / 2**k, 0.1, 0.01) for k, name in enumerate(NAMES)]
CONTRIBUTION = [Contribution(name, 50.0 / 2**k, 0.1) for k, name in enumerate(NAMES)]
RNG = np.random.default_rng(5)
XY = np.column_stack([RNG.uniform(-64, -58, 60), RNG.uniform(-8, 0, 60)])
AROUND = np.column_stack([RNG.uniform(-65, -57, 600), RNG.uniform(-9, 1, 600)])
LEVELS = np.linspace(0, 100, 41)
OMISSION = [
    {"Cumulative threshold": t, "Fractional area": np.exp(-t / 20), "Training omission": (t / 100) ** 1.4,
     "Test omission": (t / 100) ** 0.8}
    for t in LEVELS.tolist()
]  # fmt: skip
ROC = [
    {"Threshold": t, "Fractional area": 1 - t, "Training omission": t**4, "Test omission": t**2.5}
    for t in np.linspace(0, 1, 41).tolist()
]
CALIBRATION = [{"predicted": 0.1 * k, "observed": 0.09 * k, "count": 5 * k} for k in range(1, 10)]
SPECIES = ("Aus bus", "Cus dus", "Eus fus", "Gus hus", "Ius jus")


def landscape(path: Path, *, plane: bool = False, codes: bool = False, sign: bool = False, rgb: bool = False) -> Path:
    """A raster of an island: in degrees or metres, of numbers, classes, differences or colours."""
    rows, columns = np.mgrid[0:60, 0:50]
    land = np.hypot((rows - 30) / 28, (columns - 24) / 22) + 0.1 * np.sin(rows / 4) < 1
    wave = 0.5 + 0.5 * np.sin(rows / 9) * np.cos(columns / 8)
    values: Any = np.where(land, wave * 2 - 1 if sign else wave, -9999).astype("float32")[None]
    kind, nodata = "float32", -9999.0
    if codes or rgb:
        values, kind, nodata = np.where(land, 1 + (wave * 2.99).astype(int), 0).astype("uint8")[None], "uint8", 0
    if rgb:
        parts = [np.where(land, 255 * wave, 0), np.where(land, 255 * (1 - wave), 0), np.where(land, 128, 0), 255 * land]
        values, nodata = np.stack(parts).astype("uint8"), None
    place = Affine(5000, 0, 4e6, 0, -5000, 3e6) if plane else Affine(0.2, 0, -66, 0, -0.2, 2)
    crs = "EPSG:3035" if plane else "EPSG:4326"
    size = {"width": 50, "height": 60, "count": len(values), "dtype": kind}
    with rasterio.open(path, "w", driver="GTiff", nodata=nodata, crs=crs, transform=place, **size) as out:
        out.write(values)
        if codes:
            out.update_tags(class_1="bog", class_2="forest", class_3="meadow")
            out.write_colormap(1, {k + 1: (*colour, 255) for k, colour in enumerate(palette(3))})
    return path


def figures(folder: Path) -> dict[str, Callable[[Path, Paper], Any]]:
    """Return what draws each kind of figure to a path, of data in a folder that is there."""
    island, plane = landscape(folder / "island.tif"), landscape(folder / "plane.tif", plane=True)
    coded, signed = landscape(folder / "codes.tif", codes=True), landscape(folder / "sign.tif", sign=True)
    colours = landscape(folder / "rgb.tif", rgb=True)
    marks = Marks({"training record": (XY[:, 0], XY[:, 1])})
    shown = suitability("cloglog")
    scenarios = [{"gcm": gcm, "period": year} for gcm in ("A", "B") for year in ("2050", "2090")]
    out = project(folder / "projected", ("Aus bus",), scenarios)
    stored = StoredProjection(out, read_results(find_projections(out)[0]).numbers)
    split = blocks(XY, AROUND, 300.0, 4, geographic=True)
    return {
        "map": lambda p, w: draw_map(island, p, title="Aus bus", species=True, shades=shown, marks=marks, paper=w),
        "map_plane": lambda p, w: draw_map(plane, p, title="Aus bus", species=True, shades=shown, paper=w),
        "map_classes": lambda p, w: draw_map(coded, p, title="habitat", paper=w),
        "richness": lambda p, w: draw_richness(
            {"richness": island, "richness difference": signed}, p, XY[:, 0], XY[:, 1], w
        ),
        "curve": partial(_charts, [_curve("temperature", HUMP)]),
        "curve_categories": partial(_charts, [_curve("soil", np.array([0.3, 0.9, 0.5]), ["clay", "sand", "rock"])]),
        "effects": partial(_charts, [_curve(name, (3 - k) * HUMP - 1, colour=0) for k, name in enumerate(NAMES[:3])]),
        "roc": partial(_charts, [roc_chart(ROC, {"training": 0.9, "test": 0.8})]),
        "omission": partial(_charts, [omission_chart(OMISSION)]),
        "importance": partial(_charts, [_importance()]),
        "jackknife": partial(_charts, [jackknife_charts([vars(row) for row in _jackknife()])["train_gain"]]),
        "calibration": partial(_charts, [calibration_chart(CALIBRATION)]),
        "bands": partial(_charts, _bands()),
        "surface": lambda p, w: assessment.draw_surface(_surface(), "cloglog", p, w),
        "folds": lambda p, w: assessment.draw_folds(
            assessment.FoldPlaces(
                (XY[:, 0], XY[:, 1]), split.group, ["1", "2", "3", "4"], (AROUND[:, 0], AROUND[:, 1]),
                split.background_group, True, read_picture(island), split.outlines,
            ),
            p, title="Aus bus", caption="4 folds, block", paper=w,
        ),
        "tuning": lambda p, w: assessment.draw_tuning(_tuned(), "loss.val.avg", 4, p, w),
        "learning": lambda p, w: assessment.draw_curves(_points(), "learning", p, "Aus bus", w),
        "confusion": lambda p, w: assessment.draw_confusion(
            np.array([[30.0, 4, 1], [3, 25, 9], [0, 6, 22]]), ["bog", "forest", "meadow"], p, title="Confusion", paper=w
        ),
        "class_profile": partial(_charts, [_shares()]),
        "network": lambda p, w: draw_network(SPECIES, *_links(), [0.1, 0.3, 0.5, 0.7, 0.9], p, w),
        "biplot": partial(_charts, [_biplot()]),
        "strengths": lambda p, w: paths.draw_strengths(_strengths(), p, w),
        "axes": lambda p, w: draw_axes({"axis 1 (60 %)": signed, "axis 2 (20 %)": signed}, p, w),
        "axes_rgb": lambda p, w: draw_colours(colours, ["red: axis 1", "green: axis 2", "blue: axis 3"], p, w),
        "mu": lambda p, w: paths.draw_mu(_path(), p, title="Aus bus", paper=w),
        "strata": lambda p, w: paths.draw_strata(_path(), p, marks=[("least held-out loss", 3.0)], paper=w),
        "validation": lambda p, w: paths.draw_validation(_validation(), p, paper=w),
        "multipliers": lambda p, w: paths.draw_multipliers(*_multipliers(), p, title="Aus bus", paper=w),
        "penalties": lambda p, w: assessment.draw_prices(_structure(), p, w),
        "families": partial(_charts, [_bars("Families", {"gain": [0.3, 0.1], "penalty": [1.0, 0.5]})]),
        "interactions": partial(_charts, [_bars("Interaction (nats)", {"": [2.0, 1.0]})]),
        "variograms": lambda p, w: variables.draw_variograms(_autocorrelation(), p, w),
        "correlation": lambda p, w: variables.draw_correlation(_collinearity(), p, paper=w),
        "reduction": lambda p, w: variables.draw_reduction(_steps(), p, w),
        "scenarios": lambda p, w: draw_scenarios(out, stored.numbers, p, "suitability", w),
        "change_maps": lambda p, w: draw_scenarios(out, stored.numbers, p, "change", w),
        "novelty": lambda p, w: draw_scenarios(out, stored.numbers, p, "novelty", w),
        "change": lambda p, w: draw_change(out, stored.numbers, p, w),
        "publication": lambda p, w: draw_publication(
            read_picture(island, PIXELS), p, species="Aus bus", scale="cloglog", bars=_importance(), paper=w,
            marks=Marks({"training record": (XY[:, 0], XY[:, 1])}),
            curves=[_curve(name, HUMP ** (1 + k)) for k, name in enumerate(NAMES)],
        ),
        "panels": partial(_charts, [_curve(name, HUMP ** (1 + k)) for k, name in enumerate(NAMES[:3])]),
    }  # fmt: skip


def _charts(charts: list[Chart], path: Path, paper: Paper) -> Path:
    write_charts({path.stem: charts}, path.parent, paper)
    return path


def _curve(name: str, y: np.ndarray, classes: list[str] | None = None, colour: int | None = None) -> Any:
    x = X if classes is None else np.arange(len(y))
    curve = ResponseCurve(x.tolist(), y.tolist(), classes, None if classes else (0.0, 100.0), colour=colour)
    return curve_chart(name, {"others at their mean": curve}, title=name, y_label="Suitability (cloglog)")


def _importance() -> BarChart:
    return importance_chart([vars(row) for row in PERMUTATION], [vars(row) for row in CONTRIBUTION])


def _bars(label: str, groups: dict[str, list[float]]) -> BarChart:
    bars = [Bars(name, values) for name, values in groups.items()]
    return BarChart(label, label, ["linear (2)", "trees 3 (4)"], bars)


def _jackknife() -> list[Jackknife]:
    rows = [Jackknife("", "all", 1.0, 0.9, 0.8, 0.85)]
    kinds = (("without", 0.9), ("only", 0.5))
    return rows + [
        Jackknife(name, kind, top - 0.1 * k, 0.7, 0.4, 0.8) for k, name in enumerate(NAMES) for kind, top in kinds
    ]


def _bands() -> list[Any]:
    mean, low, high = ((HUMP * f).tolist() for f in (0.9, 0.8, 1.0))
    curve = {"mean over replicates": ResponseCurve(X.tolist(), mean, limits=(low, high))}
    return [curve_chart(name, curve, title=name, y_label="Suitability (cloglog)") for name in NAMES[:3]]


def _surface() -> Surface:
    sides = X[::4], X[::5]
    z = np.exp(-(((sides[0][:, None] - 50) / 30) ** 2) - ((sides[1][None] - 40) / 30) ** 2)
    return Surface(NAMES[:2], "marginal", *sides, z, ((0.0, 100.0), (0.0, 100.0)), (None, None))


def _tuned() -> list[dict[str, Any]]:
    steps = [(label, m, k) for k, label in enumerate(("L", "LQ")) for m in (0.5, 1.0, 4.0)]
    return [
        {"label": label, "multiplier": m, "loss.val.avg": 5 + abs(np.log(m)) - 0.3 * k, "loss.val.sd": 0.4, "folds": 5}
        for label, m, k in steps
    ]


def _points() -> list[CurvePoint]:
    return [CurvePoint("LQ", n, 1.0, 5 - n**0.2, 0.2, 0.8, 0.01, 4) for n in (5, 10, 20, 40, 80)]


def _shares() -> Any:
    raw = np.stack([HUMP + 0.05, 0.3 + 0 * X, (X + 20) / 200])
    tints = (hex_colour(colour) for colour in palette(3))
    curves = {
        name: ResponseCurve(X.tolist(), y.tolist(), None, (0.0, 100.0), colour=colour)
        for name, y, colour in zip(("bog", "forest", "meadow"), raw / raw.sum(axis=0), tints)
    }
    return curve_chart("rain", curves, title="", y_label="Probability", y_range=(0.0, 1.0), shares=True)


def _links() -> tuple[Any, list[dict[str, Any]]]:
    forest = forest_of_edges([(0, 1), (1, 2), (1, 3), (3, 4)], list(SPECIES))
    weights = zip(forest.edges.tolist(), (0.8, -0.5, 0.01, 0.3), (0.1, 0.2, 0.1, 0.5))
    return forest, [{"first": s, "second": t, "weight": w, "sd": sd} for (s, t), w, sd in weights]


def _biplot() -> Biplot:
    tips = [(0.8, 0.3), (-0.5, 0.6), (0.2, -0.9)]
    named = [NamedTip(k, name, x + 0.03 * np.sign(x), y, x > 0) for k, (name, (x, y)) in enumerate(zip(SPECIES, tips))]
    return Biplot("", "Axis 1 (60 %)", "Axis 2 (20 %)", RNG.normal(0, 0.3, (60, 2)).tolist(), tips, named, 1.2, 2.0)


def _strengths() -> list[dict[str, Any]]:
    rows = [(1.0, 5.2, 6), (2.0, 5.0, 4), (4.0, 5.1, 2), (8.0, 5.6, 1)]
    return [
        {"strength": s, "held_out": loss, "held_out_se": 0.1, "rank": rank, "chosen": str(s == 2.0)}
        for s, loss, rank in rows
    ]


def _path() -> Any:
    return track_path([0.1, 0.2, 0.3, 0.4], [0.45, 0.05, 0.38, 0.12])


def _validation() -> Any:
    rng = np.random.default_rng(2)
    found = [track_path(np.ones(6), rng.integers(1, 9, 6), np.arange(1, 7)) for _ in range(3)]
    return validate_path(found, rng.integers(1, 5, (3, 6)))


def _multipliers() -> tuple[Any]:
    case = small_case(4)
    features = case.features("lqh", 4)
    return (follow_path(features, case.sample, Entropy(1.0), np.full(features.size, 0.05), epsilon=1e-2),)


def _structure() -> Structure:
    tried = [PenaltySetting(lam, beta, -lam * beta, 0.1, ()) for lam in (0.01, 0.1, 1.0) for beta in (0.1, 1.0)]
    return Structure(1.0, 1.0, "bound", [], [], [], 1e-5, tried)


def _autocorrelation() -> Autocorrelation:
    h = np.linspace(10, 500, 12)
    one = Variogram("rain", h, 1 - np.exp(-h / 100), np.full(12, 30), "exponential", 0.0, 1.0, 250.0, "ok")
    flat = Variogram("slope", h, 0 * h + 1, np.full(12, 30), "", 1.0, 0.0, np.nan, "none")
    return Autocorrelation(250.0, (one, flat), 90, 900.0)


def _collinearity() -> Collinearity:
    r = np.array([[1.0, 0.9, -0.3, 0.1], [0.9, 1.0, -0.2, 0.0], [-0.3, -0.2, 1.0, 0.5], [0.1, 0.0, 0.5, 1.0]])
    return Collinearity(NAMES, r, r, np.array([5.0, 5.1, 1.4, 1.3]), 100)


def _steps() -> list[dict[str, Any]]:
    rows = [("", 5.0, True, 4), ("slope", 4.9, True, 3), ("soil", 5.4, False, 2)]
    heads = ("dropped", "held-out loss", "kept", "variables")
    return [{**dict(zip(heads, row)), "standard error": 0.2, "AUC": 0.9 - float(row[1]) / 50} for row in rows]
