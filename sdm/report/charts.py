"""Charts as descriptions: what is drawn against what. `pages.svg` draws them into a page, `figures.charts` to PNG."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sdm.assess.measures.thresholds import TOPS
from sdm.assess.profiles import EXPONENT
from sdm.models.colours import hex_colour, palette
from sdm.report.results import SCALES as SCALES  # which charts have in common
from sdm.report.results import column, number
from sdm.types import Numbers, Row

# Of pages and figures. Every two differ also for people who do not see red, green or blue, and stand out from white.
COLOURS = ("#1f3b4d", "#c8553d", "#3d94d1", "#b98a00", "#7a3fa8", "#7d4a3c", "#3f9d74", "#d463b0", "#4338d0", "#8a8f94")
SHADE = "#eef2f4"  # of the range of the training data
WHISKER, RULE = "#777777", 3  # colours of whiskers, and of a line to compare with
LEGEND = 24  # classes in a legend at most
EFFECTS = ("additive", "partial")  # kinds of curves that show a variable's effect on the score
EFFECT_LABEL = "Effect on the score (nats)"
SHARES_LABEL = "Probability"
# What curves are called, by their kind, and their place in the palette.
CURVES = {
    "marginal": ("others at their mean", 0),
    "only": ("this variable alone", 1),
    "additive": ("additive effect on the score", 0),
    "partial": ("mean effect on the score", 0),
}
TOP = {**TOPS, "probability": 1.0}  # the largest value of a scale that has one
Values = Sequence[float | None]
Range = tuple[float, float]


def response_range(scale: str, values: Sequence[float]) -> Range | None:
    """Return the range that responses are drawn in, the same for all variables; None where it is not known."""
    finite = [value for value in values if math.isfinite(value)]
    if scale != EXPONENT:
        top = TOP.get(scale, max(finite, default=None) or None)
        return None if top is None else (0.0, top)
    return (min(finite), max(finite)) if finite and min(finite) < max(finite) else None


@dataclass(frozen=True)
class Line:
    """One curve: its name in the legend, and its points; `colour` is a place in the palette, or such as #228833.

    `limits` are lower and upper limits, drawn as a shade around it; `sizes` are drawn as dots of that area.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int | str = 0
    dash: int = 0
    limits: tuple[Sequence[float], Sequence[float]] | None = None
    sizes: Sequence[float] | None = None


@dataclass(frozen=True)
class Rug:
    """Short strokes at values of x: at the top of the axes or at their foot."""

    name: str
    values: Sequence[float]
    colour: int | str = 0
    top: bool = False


@dataclass(frozen=True)
class LineChart:
    """Curves over one pair of axes; `shade` is a range of x to shade, such as that of the training data."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    x_range: Range | None = None
    y_range: Range | None = None
    shade: Range | None = None
    small: bool = False
    legend: bool = True
    rugs: Sequence[Rug] = ()


@dataclass(frozen=True)
class Bars:
    """Bars of one colour, one per name of a chart; `spread` is half the length of a whisker on each."""

    name: str
    values: Values
    spread: Values | None = None
    colour: int | str | None = None


@dataclass(frozen=True)
class ColumnChart:
    """Upright bars, one group of values over each name, such as the categories of a variable; or one on the other."""

    title: str
    x_label: str
    y_label: str
    names: Sequence[str]
    groups: Sequence[Bars]
    y_range: Range | None = None
    stacked: bool = False
    legend: bool = True


@dataclass(frozen=True)
class BarChart:
    """Lying bars that begin at `low`, one group beside each name; `rule` is an upright line to compare with. Names of
    `species` are in italics."""

    title: str
    x_label: str
    names: Sequence[str]
    groups: Sequence[Bars]
    rule: tuple[str, float] | None = None
    low: float = 0.0
    species: bool = False


@dataclass(frozen=True)
class DotChart:
    """Points as on a map, those of a line without it; `aspect` is how much longer a unit is upwards than across."""

    title: str
    x_label: str
    y_label: str
    groups: Sequence[Line]
    aspect: float = 1.0


@dataclass(frozen=True)
class NamedTip:
    """An arrow of a biplot that has a name beside it: which one, the name, where its line of text stands, and whether
    it begins there or ends."""

    arrow: int
    name: str
    x: float
    y: float
    begins: bool


@dataclass(frozen=True)
class Biplot:
    """Arrows from the middle, with points and their rug; both directions go from −`reach` to `reach`. `longest` is what
    the longest arrow stands for."""

    title: str
    x_label: str
    y_label: str
    points: Sequence[Sequence[float]]
    tips: Sequence[Sequence[float]]
    named: Sequence[NamedTip]
    reach: float
    longest: float


Chart = LineChart | ColumnChart | BarChart | DotChart | Biplot


def colour_of(colour: int | str) -> str:
    """Return a colour as text; a number is a place in the palette."""
    return COLOURS[colour % len(COLOURS)] if isinstance(colour, int) else colour


def short(text: str, longest: int) -> str:
    """Cut a text that would run out of its place."""
    return text if len(text) <= longest else text[: max(longest - 1, 1)] + "…"


@dataclass(frozen=True)
class ResponseCurve:
    """A response along one variable: its values, or its categories, and the range of the training data."""

    x: Sequence[float]
    y: Sequence[float]
    categories: Sequence[str] | None = None
    inside: Range | None = None
    limits: tuple[Sequence[float], Sequence[float]] | None = None
    colour: int | str | None = None


def curve_chart(
    variable: str,
    curves: Mapping[str, ResponseCurve],
    *,
    title: str,
    y_label: str,
    y_range: Range | None = None,
    shares: bool = False,
    rugs: Sequence[Rug] = (),
) -> LineChart | ColumnChart:
    """Return the chart of responses to one variable: lines by name, or bars over its categories.

    With `shares`, the curves are the probabilities of classes: bars stand one on the other, without a legend.
    """
    first = next(iter(curves.values()))
    if first.categories is not None:
        groups = [
            Bars(name, [v if math.isfinite(v) else 0.0 for v in curve.y], _spread(curve), curve.colour)
            for name, curve in curves.items()
        ]
        return ColumnChart(title, variable, y_label, first.categories, groups, y_range, shares, not shares)
    lines = []
    for k, (name, curve) in enumerate(curves.items()):
        colour = k if curve.colour is None else curve.colour
        dash = 0 if shares else colour if isinstance(colour, int) else k
        lines.append(Line(name, curve.x, curve.y, colour, dash, curve.limits))
    ways = {"small": True, "legend": not shares}
    return LineChart(title, variable, y_label, lines, None, y_range, first.inside, **ways, rugs=rugs)


def _spread(curve: ResponseCurve) -> Values | None:
    """Return whiskers of categories: the larger of the distances to the limits."""
    if curve.limits is None:
        return None
    return [max(y - low, high - y, 0.0) for y, low, high in zip(curve.y, *curve.limits)]


def fold_colours(count: int) -> list[str]:
    """Return the colours of folds: those of all charts, or as many others where these are too few."""
    return list(COLOURS[:count]) if count <= len(COLOURS) else [hex_colour(colour) for colour in palette(count)]


def most_frequent(amounts: Sequence[float]) -> tuple[list[int], str]:
    """Return the classes of a legend, in their order: those there is most of; and what is said of the others there."""
    ranked = [k for k in sorted(range(len(amounts)), key=lambda k: -amounts[k]) if amounts[k] > 0]
    left = len(ranked) - LEGEND
    return sorted(ranked[:LEGEND]), f"and {left} more" if left > 0 else ""


def importance_chart(permutation: Sequence[Row], contribution: Sequence[Row] = ()) -> BarChart:
    """Return both kinds of importance as bars, from rows with `variable` and `percent`.

    The one that is missed most when shuffled is on top; of equal ones, the one that contributes most.
    """
    shuffled, parts = ({str(row["variable"]): row for row in rows} for rows in (permutation, contribution))

    def percent(rows: Mapping[str, Numbers], name: str) -> float | None:
        return number(rows.get(name, {}).get("percent"))

    names = sorted(shuffled or parts, key=lambda name: [-(percent(rows, name) or 0.0) for rows in (shuffled, parts)])
    groups = []
    if shuffled:
        spread = [number(shuffled[name].get("deviation")) for name in names]
        groups.append(Bars("permutation importance", [percent(shuffled, name) for name in names], spread))
    if parts:
        groups.append(Bars("percent contribution", [percent(parts, name) for name in names]))
    return BarChart("Importance of the variables", "Importance (%)", names, groups)


def jackknife_charts(rows: Sequence[Row]) -> dict[str, BarChart]:
    """Return the jackknife of variables by measure: without each variable, with it only, and a rule for all."""
    titles = {
        "train_gain": "Regularised training gain", "test_gain": "Test gain", "train_auc": "Training AUC",
        "test_auc": "Test AUC", "train_loss": "Training log loss", "test_loss": "Test log loss",
    }  # fmt: skip
    names = list(dict.fromkeys(str(row["variable"]) for row in rows if row.get("variable")))
    known = {(str(row.get("variable") or ""), str(row.get("kind"))): row for row in rows}
    charts = {}
    for key, title in titles.items():
        groups = [
            Bars(title, [number(known.get((name, kind), {}).get(key)) for name in names])
            for kind, title in (("without", "without the variable"), ("only", "the variable alone"))
        ]
        values = [value for bars in groups for value in bars.values if value is not None]
        if not values:
            continue
        level = number(known.get(("", "all"), {}).get(key))
        low = min(0.5, *values) if key.endswith("auc") else 0.0
        rule = None if level is None else ("all variables", level)
        charts[key] = BarChart(f"Jackknife: {title[0].lower()}{title[1:]}", title, names, groups, rule, low)
    return charts


def calibration_chart(rows: Sequence[Row]) -> LineChart:
    """Return the share of sites with the species against its prediction; dots grow with the number of sites."""
    columns = ("predicted", "observed", "count")
    predicted, observed, count = ([number(row.get(key)) or 0.0 for row in rows] for key in columns)
    lines = [
        Line("observed", predicted, observed, sizes=count if any(count) else None),
        Line("perfect calibration", [0, 1], [0, 1], 9, 2),
    ]
    title = "Calibration curve: observed frequency against predicted probability"
    return LineChart(title, "Predicted (mean of the bin)", "Observed frequency of presence", lines, (0, 1), (0, 1))


def roc_chart(rows: Sequence[Row], scores: Mapping[str, float | None]) -> LineChart:
    """Return the ROC curve from the rows of its table: records found against the background, or the absences, that are
    predicted; `scores` are the AUC of `training` and `test`."""
    absences = "Training false presences" in rows[0]
    noun, other = ("presences", "absences") if absences else ("records", "background")
    # The area of a species is that of the background, which training and test records share; absences are their own.
    lines = []
    for k, data in enumerate(("training", "test")):
        across_by = f"{data.capitalize()} false presences" if absences else "Fractional area"
        if f"{data.capitalize()} omission" in rows[0] and across_by in rows[0]:
            across, missed = column(rows, across_by), column(rows, f"{data.capitalize()} omission")
            score = number(scores.get(data))
            said = "" if score is None else f" (AUC {score:.3f})"
            found = [1 - v for v in missed]
            lines.append(Line(f"{data} {'sites' if absences else 'records'}{said}", across, found, k, k))
    lines.append(Line("random prediction (AUC 0.5)", [0, 1], [0, 1], 9, 2))
    title = f"Receiver operating characteristic (ROC) of {noun} against {other}"
    labels = f"Fraction of {other} predicted (1 − specificity)", "Sensitivity (1 − omission)"
    return LineChart(title, *labels, lines, (0, 1), (0, 1))


JAVA_CUMULATIVE = "Corresponding cumulative value"  # the column of Java Maxent's own table


def omission_chart(rows: Sequence[Row]) -> LineChart:
    """Return omission and predicted area against the cumulative threshold, as Java Maxent draws them."""
    level = column(rows, "Cumulative threshold" if "Cumulative threshold" in rows[0] else JAVA_CUMULATIVE)
    lines = [
        Line("fraction of background predicted", level, column(rows, "Fractional area"), 1),
        Line("omission on training records", level, column(rows, "Training omission"), 0),
    ]
    if "Test omission" in rows[0]:
        lines.append(Line("omission on test records", level, column(rows, "Test omission"), 2, 1))
    lines.append(Line("predicted omission", [0, 100], [0, 1], 9, 2))
    title = "Omission and predicted area against the cumulative threshold"
    return LineChart(title, "Cumulative threshold (%)", "Fraction", lines, (0, 100), (0, 1))
