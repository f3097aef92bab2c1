"""Terminal text of a group of species on shared axes."""

from sdm.assess.axes import RELATIVES, specific_shares
from sdm.kinds.terminal import CERTIFICATE, FACT, Rows, terminal_lines
from sdm.models.group import GroupModel

MOST_NAMES = 8
MOST_AXES = 20


MODEL: Rows = [
    ("group", "{number} species: {listed}"),
    ("fitted by", "sdm {version}, seed {seed}"),
    ("data", "{presences} presences, {points:,} sites"),
    *CERTIFICATE,
    ("strength", "{strength:g} (penalty on axes {penalty:.3g})"),
    ("variables", "{variables}"),
    ("features", "{features:,}"),
    ("place", "{place}"),
]


def group_info_lines(model: GroupModel, features: int) -> list[str]:
    """Describe the file of a group: its axes, and the first `features` species."""
    names, unknown = model.species, {"version": "?", "seed": "?", "presences": "?", "status": None}
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    values = (
        unknown
        | model.meta
        | {
            "number": len(names),
            "listed": ", ".join(names[:MOST_NAMES]) + more,
            "points": model.n_domain,
            "strength": model.strength,
            "penalty": model.penalty,
            "variables": ", ".join(model.names),
            "features": len(model.terms) + len(model.shapes),
        }
    )
    if model.meta.get("spatial"):
        values["place"] = "spatial features: the axes apply to this region only"
    return [*terminal_lines(MODEL, values, FACT), "", *_axis_lines(model), "", *_species_lines(model, features)]


def _axis_lines(model: GroupModel) -> list[str]:
    if not model.rank:
        return ["axes         none: no shared response at this strength of the penalty"]
    out, total = ["axes         explained      cumulative  range of the sites"], 0.0
    for k, share in enumerate(model.explained[:MOST_AXES].tolist()):
        total += share
        low, high = model.ranges[k].tolist()
        out.append(f"  axis {k + 1:<6} {100 * share:7.1f} %  {100 * total:14.1f} %    {low:.2f} … {high:.2f}")
    if model.rank > MOST_AXES:
        out.append(f"  … and {model.rank - MOST_AXES} more")
    supported = model.meta.get("supported")
    if supported is not None:
        out.append(f"supported     {supported} of {model.rank} axes, by held-out records")
    return out


def _species_lines(model: GroupModel, most: int) -> list[str]:
    shared = 1.0 - specific_shares(model)
    wide = max(map(len, model.species[:most]), default=0)
    out = ["species (records, shared part of the response; most similar species)"]
    for s, name in enumerate(model.species[:most]):
        near = ", ".join(other for other, _ in model.relatives(name, RELATIVES)[:3]) if model.rank else ""
        share = "     ?" if shared[s] != shared[s] else f"{100 * shared[s]:4.0f} %"
        out.append(f"  {name:<{wide}}  {model.records[s]:7,.0f}  {share}  {near}".rstrip())
    if len(model.species) > most:
        out.append(f"  … and {len(model.species) - most} more (--weights {len(model.species)} shows all)")
    return out
