"""The page of a species: one file that opens offline, with everything a run found. It draws what was computed."""

import base64
import hashlib
import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, Undefined
from markupsafe import Markup

from sdm.assess.measures.thresholds import TOPS
from sdm.files import safe_name, write_text
from sdm.report.pages import words
from sdm.report.pages.chart import SMALL, Dots, Line, bar_chart, column_chart, dot_chart, line_chart
from sdm.report.pages.live_map import embed, live_map, read_picture
from sdm.report.results import Results, Row, column, number

TEMPLATES = Path(__file__).parents[1] / "templates"
EFFECTS = ("additive", "partial")
MOST_RULES = 40
MOST_SETTINGS = 60
MOST_PAIRS = 15
MOST_DOTS = 3000


def write_page(results: Results) -> Path:
    """Write the page of a species into its folder; one that is there already is made anew."""
    return write_text(results.page, species_page(results), overwrite=True)


def species_page(results: Results) -> str:
    """Return the page of a species."""
    path = results.path("map")
    picture = None if path is None else read_picture(path)
    drawn = results.path("picture")
    context = {
        "results": results,
        "n": results.numbers,
        "scale": words.SCALES.get(results.scale, results.scale),
        "live": live_map(results),
        "picture": None if drawn is None else embed(drawn),
        "geographic": picture is not None and picture.geographic,
        "certificate": words.certificate(results),
        "ledger": words.ledger(results),
        "sampling": words.sampling(results),
        "treated": words.treated(results),
        "algorithm": words.algorithm(results),
        "partition": words.partition(results),
        "variables": words.variables(results),
        "settings": words.settings(results),
        "odmap": words.odmap(results, picture),
        "omission": _omission(results),
        "roc": _roc(results),
        "curves": _curves(results),
        "bands": _bands(results),
        "surfaces": _surfaces(results),
        "tuning": _tuning(results),
        "importance": _importance(results),
        "jackknife": _jackknife(results),
        "folds": _folds(results),
        "validation": _validation(results),
        "calibration": _calibration(results),
        "structure": _structure(results),
    }
    return render("species.html", "species.js", context)


def render(template: str, script: str, context: dict[str, Any]) -> str:
    """Fill a template; its script is let run by its digest, so that nothing else can."""
    code = (TEMPLATES / script).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode("ascii")
    own = {
        # Files of this package, not of the user.
        "style": Markup((TEMPLATES / "page.css").read_text(encoding="utf-8")),  # noqa: S704
        "script": Markup(code),  # noqa: S704
        "digest": digest,
    }
    page = _environment().get_template(template).render(context | own)
    return page.encode(errors="backslashreplace").decode()  # a file's name need not be text


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "allow_nan": False, "separators": (",", ":")}
    for filter_ in (words.percent, words.figure, words.whole):
        environment.filters[filter_.__name__] = _of_what_is_there(filter_)
    return environment


def _of_what_is_there(filter_: Callable[..., str]) -> Callable[..., str]:
    """Return a filter that takes what results do not have for None."""
    return lambda value, *more: filter_(None if isinstance(value, Undefined) else value, *more)


def _omission(results: Results) -> Markup | None:
    """Draw omission and predicted area against the cumulative threshold, as Java Maxent does."""
    rows = results.table("omission")
    if not rows:
        return None
    level = column(rows, "Cumulative threshold")
    lines = [
        Line("fraction of background predicted", level, column(rows, "Fractional area"), 1),
        Line("omission on training records", level, column(rows, "Training omission"), 0),
    ]
    if "Test omission" in rows[0]:
        lines.append(Line("omission on test records", level, column(rows, "Test omission"), 2, 1))
    lines.append(Line("predicted omission", [0, 100], [0, 1], 9, 2))
    title = "Omission and predicted area against the cumulative threshold"
    return line_chart(
        lines, title=title, x_range=(0, 100), y_range=(0, 1), x_label="Cumulative threshold (%)", y_label="Fraction"
    )


def _roc(results: Results) -> Markup | None:
    """Draw the ROC curve: records found against the area that is predicted."""
    rows = results.table("roc")
    if not rows:
        return None
    area = column(rows, "Fractional area")
    n = results.numbers
    kinds = [("Training omission", "training", "auc_train", 0, 0)]
    if "Test omission" in rows[0]:
        kinds.append(("Test omission", "test", "auc_test", 1, 1))
    lines = [
        Line(
            f"{what} records (AUC {words.figure(n.get(key), 3)})",
            area,
            [1 - v for v in column(rows, name)],
            colour,
            dash,
        )
        for name, what, key, colour, dash in kinds
    ]
    lines.append(Line("random prediction (AUC 0.5)", [0, 1], [0, 1], 9, 2))
    title = "Receiver operating characteristic: share of records found against share of the background predicted"
    return line_chart(
        lines,
        title=title,
        x_range=(0, 1),
        y_range=(0, 1),
        x_label="Fraction of background predicted (1 − specificity)",
        y_label="Sensitivity (1 − omission)",
    )


def _curves(results: Results) -> dict[str, list[Markup]]:
    """Draw the response curves, and the effects on the score, one chart a variable."""
    by_variable: dict[str, dict[str, list[Row]]] = {}
    for row in results.table("curves"):
        by_variable.setdefault(row.get("variable", ""), {}).setdefault(row.get("kind", ""), []).append(row)
    scale = words.SCALES.get(results.scale, results.scale)
    fixed = _heights(results)
    names = {"marginal": "others at their mean", "only": "this variable alone"}
    responses, effects = [], []
    for variable, kinds in by_variable.items():
        shown = {name: kinds[kind] for kind, name in names.items() if kind in kinds}
        if shown:
            responses.append(_curve(variable, shown, f"Response to {variable}", scale, fixed))
        for kind in EFFECTS:
            if kind in kinds:
                title = f"Effect of {variable} on the score"
                effects.append(_curve(variable, {kind: kinds[kind]}, title, "Effect on the score (nats)", None))
    return {"responses": responses, "effects": effects}


def _heights(results: Results) -> tuple[float, float] | None:
    """Return the range that responses are drawn in, the same for all variables; None where it is not known."""
    rows = [row for row in results.table("curves") if row.get("kind") not in EFFECTS]
    highest = max((v for v in column(rows, "response") if math.isfinite(v)), default=None)
    top = TOPS.get(results.scale, highest)
    return None if top is None else (0.0, top)


def _curve(
    variable: str, kinds: dict[str, list[Row]], title: str, y_label: str, y_range: tuple[float, float] | None
) -> Markup:
    """Draw one variable's curves, or bars for its classes."""
    first = next(iter(kinds.values()))
    if any(row.get("class") for row in first):
        groups = [
            (name, [v if math.isfinite(v) else 0.0 for v in column(rows, "response")]) for name, rows in kinds.items()
        ]
        classes = [row.get("class", "") for row in first]
        return column_chart(classes, groups, title=title, x_label=variable, y_label=y_label, y_range=y_range)
    inside = [v for row, v in zip(first, column(first, "value")) if row.get("in training range") == "True"]
    lines = [
        Line(name, column(rows, "value"), column(rows, "response"), k, k)
        for k, (name, rows) in enumerate(kinds.items())
    ]
    return line_chart(
        lines,
        title=title,
        x_label=variable,
        y_label=y_label,
        y_range=y_range,
        shade=(min(inside), max(inside)) if inside else None,
        size=SMALL,
    )


def _bands(results: Results) -> list[Markup]:
    """Draw the responses over replicates: the mean, and the limits that most of them lie within."""
    by_variable: dict[str, list[Row]] = {}
    for row in results.table("bands"):
        by_variable.setdefault(row.get("variable", ""), []).append(row)
    scale = words.SCALES.get(results.scale, results.scale)
    fixed = _heights(results)
    charts = []
    for variable, rows in by_variable.items():
        title = f"Response to {variable} over replicates"
        parts = {name: column(rows, name) for name in ("mean", "lower", "upper")}
        if any(row.get("class") for row in rows):
            classes = [row.get("class", "") for row in rows]
            groups = [(name, [v if math.isfinite(v) else 0.0 for v in values]) for name, values in parts.items()]
            charts.append(column_chart(classes, groups, title=title, x_label=variable, y_label=scale, y_range=fixed))
            continue
        value = column(rows, "value")
        lines = [Line(name, value, values, min(k, 1), k) for k, (name, values) in enumerate(parts.items())]
        charts.append(line_chart(lines, title=title, x_label=variable, y_label=scale, y_range=fixed, size=SMALL))
    return charts


def _surfaces(results: Results) -> list[dict[str, str]]:
    """Return the pictures of responses to two variables at a time."""
    plots = results.path("plots")
    pairs = dict.fromkeys((row.get("first", ""), row.get("second", "")) for row in results.table("surfaces"))
    found = []
    for first, second in pairs:
        path = None if plots is None else plots / f"surface_{safe_name(first)}_{safe_name(second)}.png"
        if path is not None and path.is_file():
            found.append({"picture": embed(path), "says": f"Response to {first} and {second}"})
    return found


def _tuning(results: Results) -> dict[str, Any] | None:
    """Return what a search over settings tried."""
    if not _tree(results.numbers.get("tuning")):
        return None
    rows = results.table("tune")
    plots = results.path("plots")
    picture = None if plots is None else plots / "tune.png"
    return {
        "says": words.selection(results),
        "picture": embed(picture) if picture is not None and picture.is_file() else None,
        "columns": list(rows[0]) if rows else [],
        "rows": rows[:MOST_SETTINGS],
        "left_out": max(0, len(rows) - MOST_SETTINGS),
    }


def _importance(results: Results) -> dict[str, Any] | None:
    """Draw and list what every variable is worth."""
    found = _tree(results.numbers.get("importance"))
    permuted, contributed = _rows(found.get("permutation")), _rows(found.get("contribution"))
    if not permuted and not contributed:
        return None
    first = sorted(permuted or contributed, key=lambda row: -(number(row.get("percent")) or 0.0))
    names = [str(row.get("variable")) for row in first]
    share = {str(row.get("variable")): number(row.get("percent")) for row in contributed}
    dropped = {str(row.get("variable")): row for row in permuted}
    groups: list[tuple[str, list[float | None]]] = []
    if permuted:
        groups.append(("permutation importance", [number(dropped.get(name, {}).get("percent")) for name in names]))
    if contributed:
        groups.append(("percent contribution", [share.get(name) for name in names]))
    spread = [number(dropped.get(name, {}).get("deviation")) for name in names] if permuted else None
    chart = bar_chart(names, groups, title="Importance of the variables", x_label="Percent", spread=spread)
    table = [
        {"name": name, "contribution": share.get(name), "row": dropped.get(name, {})}
        for name in names
    ]  # fmt: skip
    return {"chart": chart, "rows": table}


def _jackknife(results: Results) -> dict[str, Any] | None:
    """Draw the jackknife of variables: the gain without each, and with it alone."""
    rows = _rows(_tree(results.numbers.get("importance")).get("jackknife"))
    names = list(dict.fromkeys(str(row.get("variable")) for row in rows if row.get("variable")))
    if not names:
        return None
    known = {(str(row.get("variable") or ""), str(row.get("kind"))): row for row in rows}
    whole_model = next((row for row in rows if not row.get("variable")), {})
    charts = []
    for key, title in (
        ("train_gain", "Regularised training gain"),
        ("test_gain", "Test gain"),
        ("train_auc", "Training AUC"),
        ("test_auc", "Test AUC"),
    ):
        groups = [
            (f"{kind} the variable", [number(known.get((name, kind), {}).get(key)) for name in names])
            for kind in ("without", "only")
        ]
        groups[1] = ("only the variable", groups[1][1])
        if not any(value is not None for _, group in groups for value in group):
            continue
        level = number(whole_model.get(key))
        rule = None if level is None else ("all variables", level)
        charts.append(bar_chart(names, groups, title=f"Jackknife: {title.lower()}", x_label=title, rule=rule))
    return {"charts": charts, "rows": rows} if charts else None


def _folds(results: Results) -> dict[str, Any] | None:
    """Draw where the records of each fold lie."""
    rows = [row for row in results.table("folds") if row.get("kind", "presence") == "presence" and row.get("fold")]
    labels = list(dict.fromkeys(row.get("fold", "") for row in rows))
    if not labels or len(labels) > 24:
        return None
    stride = -(-len(rows) // MOST_DOTS) or 1
    shown = rows[::stride]
    groups = []
    for k, label in enumerate(sorted(labels, key=lambda text: (number(text) is None, number(text) or 0.0, text))):
        own = [row for row in shown if row.get("fold") == label]
        places = [(x, y) for x, y in zip(column(own, "X"), column(own, "Y")) if math.isfinite(x) and math.isfinite(y)]
        groups.append(Dots(f"fold {label}", [x for x, _ in places], [y for _, y in places], k))
    if not any(group.x for group in groups):
        return None
    path = results.path("map")
    aspect, names = 1.0, ("x", "y")
    if path is not None:
        left, bottom, right, top = (picture := read_picture(path, 8)).bounds
        names = ("longitude", "latitude") if picture.geographic else names
        aspect = (right - left) / max(top - bottom, 1e-12) / picture.aspect
    return {"chart": dot_chart(groups, title="Records by fold", x_label=names[0], y_label=names[1], aspect=aspect)}


def _validation(results: Results) -> dict[str, Any] | None:
    """Return the table of folds, and means with their deviations."""
    found = _tree(results.numbers.get("cross_validation"))
    rows = _rows(found.get("rows") or found.get("folds"))
    if not rows:
        return None
    mean = _tree(found.get("mean"))
    averages = [
        {"name": key.removesuffix(".avg"), "mean": value, "sd": mean.get(f"{key.removesuffix('.avg')}.sd")}
        for key, value in mean.items()
        if not key.endswith(".sd")
    ]
    columns = [key for key in rows[0] if not isinstance(rows[0][key], (dict, list))]
    return {**found, "rows": rows, "columns": columns, "averages": averages}


def _calibration(results: Results) -> dict[str, Any] | None:
    """Draw the calibration curve, wherever a survey with absences was given."""
    survey = _tree(results.numbers.get("presence_absence"))
    rows = _rows(survey.get("calibration") or results.numbers.get("calibration"))
    if not rows:
        return None
    predicted = [number(row.get("predicted")) or 0.0 for row in rows]
    observed = [number(row.get("observed")) or 0.0 for row in rows]
    lines = [Line("observed", predicted, observed), Line("perfectly calibrated", [0, 1], [0, 1], 9, 2)]
    title = "Calibration: share of sites with the species against its prediction"
    return {
        "chart": line_chart(
            lines,
            title=title,
            x_range=(0, 1),
            y_range=(0, 1),
            x_label="Predicted (mean of the bin)",
            y_label="Share of sites with the species",
        ),
        "rows": rows,
    }


def _structure(results: Results) -> dict[str, Any] | None:
    """Return families, rules, interactions and prices of a structural model."""
    found = _tree(results.numbers.get("structure"))
    if not found:
        return None
    families = _rows(found.get("families"))
    pairs = _rows(found.get("interactions"))
    strengths = [
        (f"{row.get('first')} × {row.get('second')}", number(row.get("strength"))) for row in pairs[:MOST_PAIRS]
    ]
    rules = results.table("rules")
    prices = sorted(results.table("prices"), key=lambda row: number(row.get("held-out loss")) or math.inf)
    return {
        **found,
        "families": families,
        "family_chart": _bars(
            [(str(row.get("family")), number(row.get("gain"))) for row in families], "Gain lost without it (nats)"
        ),
        "pair_chart": _bars(strengths, "Interaction (nats)"),
        "pairs_left_out": max(0, len(pairs) - MOST_PAIRS),
        "rules": rules[:MOST_RULES],
        "rules_left_out": max(0, len(rules) - MOST_RULES),
        "prices": prices[:12],
    }


def _bars(pairs: Sequence[tuple[str, float | None]], what: str) -> Markup | None:
    if not pairs:
        return None
    return bar_chart([name for name, _ in pairs], [(what, [value for _, value in pairs])], title=what, x_label=what)


def _tree(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _rows(value: Any) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
