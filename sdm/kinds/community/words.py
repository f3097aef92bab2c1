"""What the terminal shows of joint models: results of a run, evaluations, and model files."""

from typing import Any

from sdm.kinds.classes.words import measure_text
from sdm.kinds.community.testing import MEASURES, WHAT
from sdm.kinds.task import ModelResult
from sdm.models.community import FittedJoint


def joint_result_lines(result: ModelResult) -> list[str]:
    """Say what was fitted, in the order in which a person asks."""
    n = result.numbers
    species, edges, tested = len(n["species"]), n["associations"], n["test"]
    models = n["training"] if tested is None else tested["mean"]
    where = "training sites: not tested" if tested is None else f"held out, {_folds(len(tested['folds']))}"
    out = [
        f"community    {species} species, {n['sites']:,} sites, {len(n['variables'])} variables",
        f"model        {_settings(n)}, graph {n['graph']}: {len(edges)} edges",
        f"certificate  {_certificate(n)}",
        *_bound_lines(n),
        *_random_lines(n.get("random")),
        *_corner_lines(n.get("fourth corner")),
        "",
        f"{where:<44}    joint  stacked      GLM",
    ]
    for key, text in MEASURES.items():
        out.append(f"  {text:<42}{''.join(f'{measure_text(models[name][key]):>9}' for name in WHAT)}")
    if tested is not None and "blocks" in tested:
        out.append(f"  blocks of {tested['blocks']['text']}")
    out += [*_edge_lines(edges, 5), *(text.strip() for text in result.outside_lines()), ""]
    for what, name in result.files.items():
        if isinstance(name, str):
            out.append(f"written      {result.folder}/{name} ({what})")
        else:
            number = len(name["species"])
            listed = f"{result.folder}/{name['richness']} and {number} species' probability and presence"
            out.append(f"written      {listed} ({what})")
    return out


def joint_evaluation_lines(numbers: dict[str, Any]) -> list[str]:
    """Say how good a joint model is on other sites."""
    return [
        f"{'sites':<42}{numbers['sites']:>9,}",
        f"{'known labels':<42}{numbers['labels']:>9,}",
        *(f"{text:<42}{measure_text(numbers[key]):>9}" for key, text in MEASURES.items() if key in numbers),
        "",
        "AUC",
        *(f"  {name:<40}{measure_text(value):>9}" for name, value in numbers["species"].items()),
    ]


def joint_info_lines(model: FittedJoint, features: int) -> list[str]:
    """Say what is in a model file, with its largest weights."""
    meta = model.meta
    missing = f", {meta['missing']:,} labels missing" if meta.get("missing") else ""
    effects = sorted(model.effects(), key=lambda row: -abs(row["weight"]))
    shown = [row for row in effects if row["feature"] != "bias"][:features]
    return [
        f"joint model  {len(model.species)} species: {', '.join(model.species)}",
        f"fitted by    sdm {meta.get('version', '?')}, seed {meta.get('seed', '?')}",
        f"data         {meta.get('sites', '?')} sites of {meta.get('source', '?')}{missing}",
        f"learner      {_settings(meta)}, graph {meta.get('graph', '?')}",
        f"certificate  {_certificate(meta)}",
        *_bound_lines(meta),
        f"variables    {', '.join(model.encoder.names)}",
        *_random_lines(_random_of(model)),
        *_corner_lines(meta.get("fourth_corner")),
        *_edge_lines(model.associations(), features),
        "",
        "largest effects (features are standardised)",
        *(f"  {row['weight']:+.3f}{_spread(row)}  {row['species']}: {row['feature']}" for row in shown),
    ]


def _settings(meta: dict[str, Any]) -> str:
    prior = f", lambda {meta['lambda']:g}" if meta["learner"] == "laplace" else ""
    return f"{meta['learner']} (C {meta['C']:g}{prior})"


def _certificate(meta: dict[str, Any]) -> str:
    unit = "nats" if meta["learner"].startswith("crf") else "wrong labels"
    return f"{meta['status']}: within {meta['gap']:.1e} {unit} per site of the optimum"


def _bound_lines(meta: dict[str, Any]) -> list[str]:
    """Return the PAC-Bayes estimate of wrong labelings at new sites, or the reason why it is of no use."""
    bound = meta.get("bound")
    if not isinstance(bound, dict):
        return []
    if bound["says_something"]:
        value = f"at most about {bound['value']:.0%} of new sites have a wrong label"
        return [f"PAC-Bayes    {value} (an estimate, not a proved bound)"]
    value, needed = bound["value"], bound["sites_needed"]
    many = "too many training sites have a wrong label" if needed is None else f"it takes about {needed:.0e} sites"
    at = "no training site is right" if value is None else f"{value:.1f}, and 1 is all of them"
    return [f"PAC-Bayes    the estimate says nothing of new sites here ({at}): {many}"]


def _random_of(model: FittedJoint) -> dict[str, Any] | None:
    own = model.random
    return None if own is None else {"column": own.column, "levels": len(own.levels), "spread": own.spread}


def _random_lines(random: dict[str, Any] | None) -> list[str]:
    """Say how many levels the random effect has, and how far they spread."""
    if random is None:
        return []
    spread = f"standard deviation {random['spread']:g} (log-odds)"
    return [f"random       {random['column']}: {random['levels']:,} levels, {spread}"]


def _corner_lines(rows: list[dict[str, Any]] | None) -> list[str]:
    """Say which effects of the environment change with which traits."""
    if not rows:
        return []
    sure = [row for row in rows if row.get("low", 0.0) > 0 or row.get("high", 0.0) < 0]
    named = [f"{row['trait']} with {row['feature']} ({row['weight']:+.2f})" for row in sure[:3]]
    more = f": {', '.join(named)}{', …' if len(sure) > 3 else ''}" if named else ""
    return [f"traits       {len(sure)} of {len(rows)} products with a 95 % interval without zero{more}"]


def _spread(row: dict[str, Any]) -> str:
    return f" ± {row['sd']:.3f}" if row["sd"] == row["sd"] else ""


def _folds(count: int) -> str:
    return "1 part" if count == 1 else f"mean of {count} folds"


def _edge_lines(edges: list[dict[str, Any]], most: int) -> list[str]:
    if not edges:
        return []
    ranked = sorted(edges, key=lambda row: -abs(row["weight"]))[:most]
    rows = [f"  {row['weight']:+.3f}{_spread(row)}  {row['first']} – {row['second']}" for row in ranked]
    return ["", f"strongest of {len(edges)} associations", *rows]
