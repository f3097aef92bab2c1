"""What the terminal shows of joint models: results of a run, evaluations, and model files."""

from sdm.kinds.community.testing import MEASURES, WHAT
from sdm.kinds.task import ModelResult
from sdm.kinds.terminal import CERTIFICATE, FACT, Rows, measure_text, terminal_lines
from sdm.models.community import FittedJoint
from sdm.types import Numbers, Row

LEARNER = "{learner} (C {C:g}{prior})"
DETAILS: Rows = [
    ("random", "{random[column]}: {random[levels]:,} levels, standard deviation {random[spread]:g} (log-odds)"),
    ("traits", "{sure} of {products} products with a 95 % interval without zero{strongest}"),
]
FITTED: Rows = [
    ("community", "{number} species, {sites:,} sites, {variables} variables"),
    ("model", LEARNER + ", graph {graph}: {edges} edges"),
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
    """Return the fit, its tests and its files, in the order in which a person asks."""
    n = result.numbers
    edges, tested = n["associations"], n["test"]
    models = n["training"] if tested is None else tested["mean"]
    part = "training sites: not tested" if tested is None else f"held out, {_folds(len(tested['folds']))}"
    values = n | _texts(n, n.get("fourth corner"))
    values |= {"number": len(n["species"]), "variables": len(n["variables"]), "edges": len(edges)}
    lines = [*terminal_lines(FITTED, values, FACT), "", f"{part:<44}    joint  stacked      GLM"]
    for key, text in MEASURES.items():
        lines.append(f"  {text:<42}{''.join(f'{measure_text(models[name][key]):>9}' for name in WHAT)}")
    if tested is not None and "blocks" in tested:
        lines.append(f"  blocks of {tested['blocks']['text']}")
    lines += [*_edge_lines(edges, 5), *(text.strip() for text in result.outside_lines()), ""]
    for what, name in result.files.items():
        if isinstance(name, str):
            lines.append(f"written      {result.folder}/{name} ({what})")
        else:
            number = len(name["species"])
            listed = f"{result.folder}/{name['richness']} and {number} species' probability and presence"
            lines.append(f"written      {listed} ({what})")
    return lines


def joint_evaluation_lines(numbers: Numbers) -> list[str]:
    """Return how good a joint model is on other sites."""
    return [
        f"{'sites':<42}{numbers['sites']:>9,}",
        f"{'known labels':<42}{numbers['labels']:>9,}",
        *(f"{text:<42}{measure_text(numbers[key]):>9}" for key, text in MEASURES.items() if key in numbers),
        "",
        "AUC",
        *(f"  {name:<40}{measure_text(value):>9}" for name, value in numbers["species"].items()),
    ]


def joint_info_lines(model: FittedJoint, features: int) -> list[str]:
    """Return what is in a model file, with its largest weights."""
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
        "largest effects (features are standardised)",
        *(f"  {row['weight']:+.3f}{_spread(row)}  {row['species']}: {row['feature']}" for row in shown),
    ]


def _texts(meta: Numbers, fourth_corner: list[Row] | None) -> Numbers:
    """Return the texts that the tables compose of the numbers of a model."""
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
    """Return the PAC-Bayes estimate of wrong labelings at new sites, or the reason why it is of no use."""
    value, needed = bound["value"], bound["sites_needed"]
    if bound["says_something"]:
        return f"at most about {value:.0%} of new sites have a wrong label (an estimate, not a proved bound)"
    many = "too many training sites have a wrong label" if needed is None else f"it takes about {needed:.0e} sites"
    reason = "no training site is right" if value is None else f"{value:.1f}, and 1 is all of them"
    return f"the estimate says nothing of new sites here ({reason}): {many}"


def _spread(row: Row) -> str:
    return f" ± {row['sd']:.3f}" if row["sd"] == row["sd"] else ""


def _folds(count: int) -> str:
    return "1 part" if count == 1 else f"mean of {count} folds"


def _edge_lines(edges: list[Row], most: int) -> list[str]:
    if not edges:
        return []
    ranked = sorted(edges, key=lambda row: -abs(row["weight"]))[:most]
    rows = [f"  {row['weight']:+.3f}{_spread(row)}  {row['first']} – {row['second']}" for row in ranked]
    return ["", f"strongest of {len(edges)} associations", *rows]
