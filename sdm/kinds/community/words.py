"""Terminal text of joint models: results of a run, evaluations, and model files."""

from sdm.kinds.community.testing import MEASURES, WHAT
from sdm.kinds.task import ModelResult
from sdm.kinds.terminal import CERTIFICATE, FACT, Rows, measure_text, terminal_lines
from sdm.models.community import FittedJoint
from sdm.types import Numbers, Row

LEARNER = "{learner} (C {C:g}{prior})"
DETAILS: Rows = [
    ("random", "{random[column]}: {random[levels]:,} levels, standard deviation {random[spread]:g} (log-odds)"),
    ("traits", "{sure} of {products} interactions with a 95 % interval that excludes 0{strongest}"),
]
FITTED: Rows = [
    ("community", "{number} species, {sites:,} sites, {variables} variables"),
    ("model", LEARNER + ", graph {graph}: {edges} associations"),
    *CERTIFICATE,
    ("PAC-Bayes", "{bound_text}"),
    *DETAILS,
]
MODEL: Rows = [
    ("joint model", "{number} species: {labels}"),
    ("fitted by", "sdm {version}, seed {seed}"),
    ("data", "{sites} sites of {source}", ", {missing:,} labels missing"),
    ("learner", LEARNER + ", graph {graph}"),
    *CERTIFICATE,
    ("PAC-Bayes", "{bound_text}"),
    ("variables", "{variables}"),
    *DETAILS,
]


def joint_result_lines(result: ModelResult) -> list[str]:
    """Return the lines of a finished run: fit, tests and files."""
    n = result.numbers
    edges, tested = n["associations"], n["test"]
    models = n["training"] if tested is None else tested["mean"]
    part = "training sites (no test)" if tested is None else f"held out, {_folds(len(tested['folds']))}"
    values = n | _texts(n, n.get("fourth corner"))
    values |= {"number": len(n["species"]), "variables": len(n["variables"]), "edges": len(edges)}
    lines = [*terminal_lines(FITTED, values, FACT), "", f"{part:<44}    joint  stacked      GLM"]
    for key, text in MEASURES.items():
        lines.append(f"  {text:<42}{''.join(f'{measure_text(models[name][key]):>9}' for name in WHAT)}")
    if tested is not None and "blocks" in tested:
        lines.append(f"  block size: {tested['blocks']['text']}")
    lines += [*_edge_lines(edges, 5), *(text.strip() for text in result.outside_lines()), ""]
    for key, name in result.files.items():
        if isinstance(name, str):
            lines.append(f"written      {result.folder}/{name} ({key})")
        else:
            number = len(name["species"])
            listed = f"{result.folder}/{name['richness']}, and probability and presence of {number} species"
            lines.append(f"written      {listed} ({key})")
    return lines


def joint_evaluation_lines(numbers: Numbers) -> list[str]:
    """Return the accuracy of a joint model at independent sites."""
    return [
        f"{'sites':<42}{numbers['sites']:>9,}",
        f"{'known labels':<42}{numbers['labels']:>9,}",
        *(f"{text:<42}{measure_text(numbers[key]):>9}" for key, text in MEASURES.items() if key in numbers),
        "",
        "AUC",
        *(f"  {name:<40}{measure_text(value):>9}" for name, value in numbers["species"].items()),
    ]


def joint_info_lines(model: FittedJoint, features: int) -> list[str]:
    """Describe a model file, with its largest weights."""
    unknown: Numbers = dict.fromkeys(("version", "seed", "sites", "source", "graph"), "?")
    values = unknown | model.meta | _texts(model.meta, model.meta.get("fourth_corner"))
    values |= {"number": len(model.species), "labels": ", ".join(model.species)}
    values |= {"variables": ", ".join(model.encoder.names), "missing": model.meta.get("missing") or None}
    if (random := model.random) is not None:
        values["random"] = {"column": random.column, "levels": len(random.levels), "spread": random.spread}
    effects = sorted(model.effects(), key=lambda row: -abs(row["weight"]))
    shown = [row for row in effects if row["feature"] != "bias"][:features]
    return [
        *terminal_lines(MODEL, values, FACT),
        *_edge_lines(model.associations(), features),
        "",
        "largest effects (of standardised features)",
        *(f"  {row['weight']:+.3f}{_spread(row)}  {row['species']}: {row['feature']}" for row in shown),
    ]


def _texts(meta: Numbers, fourth_corner: list[Row] | None) -> Numbers:
    """Return the texts derived from the numbers of a model."""
    values: Numbers = {"prior": f", lambda {meta['lambda']:g}" if meta["learner"] == "laplace" else ""}
    if isinstance(bound := meta.get("bound"), dict):
        values["bound_text"] = _bound_text(bound)
    if fourth_corner:
        sure = [row for row in fourth_corner if row.get("low", 0.0) > 0 or row.get("high", 0.0) < 0]
        named = [f"{row['trait']} with {row['feature']} ({row['weight']:+.2f})" for row in sure[:3]]
        strongest = f": {', '.join(named)}{', …' if len(sure) > 3 else ''}" if named else ""
        values |= {"sure": len(sure), "products": len(fourth_corner), "strongest": strongest}
    return values


def _bound_text(bound: Numbers) -> str:
    """Return the PAC-Bayes estimate of wrong labels at new sites, or the reason why it is uninformative."""
    value, needed = bound["value"], bound["sites_needed"]
    if bound["says_something"]:
        return f"at most about {value:.0%} of new sites have a wrong label (an estimate, not a proved bound)"
    reason = "too many training sites have a wrong label" if needed is None else f"it needs about {needed:.0e} sites"
    shown = "every training site has a wrong label" if value is None else f"share of wrong sites at most {value:.1f}"
    return f"the bound is uninformative for new sites ({shown}): {reason}"


def _spread(row: Row) -> str:
    return f" ± {row['sd']:.3f}" if row["sd"] == row["sd"] else ""


def _folds(count: int) -> str:
    return "1 fold" if count == 1 else f"mean of {count} folds"


def _edge_lines(edges: list[Row], most: int) -> list[str]:
    if not edges:
        return []
    ranked = sorted(edges, key=lambda row: -abs(row["weight"]))[:most]
    rows = [f"  {row['weight']:+.3f}{_spread(row)}  {row['first']} – {row['second']}" for row in ranked]
    return ["", f"strongest of {len(edges)} associations", *rows]
