"""What the terminal shows of a group of species on shared axes."""

from sdm.assess.axes import RELATIVES, response_shares
from sdm.models.group import GroupModel

MOST_NAMES = 8
MOST_AXES = 20


def group_info_lines(model: GroupModel, features: int) -> list[str]:
    """Say what is in the file of a group: its axes, and as many species as features were asked for."""
    meta, names = model.meta, model.species
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    place = ["place        features of place: for mapping within the region only"] if meta.get("spatial") else []
    return [
        f"group        {len(names)} species: {', '.join(names[:MOST_NAMES])}{more}",
        f"fitted by    sdm {meta.get('version', '?')}, seed {meta.get('seed', '?')}",
        f"data         {meta.get('presences', '?')} presences, {model.n_domain:,} sites",
        f"certificate  {_certificate(model)}",
        f"strength     {model.strength:g} (penalty on axes {model.penalty:.3g})",
        f"variables    {', '.join(model.names)}",
        f"features     {len(model.terms) + len(model.shapes):,}",
        *place,
        "",
        *_axis_lines(model),
        "",
        *_species_lines(model, features),
    ]


def _certificate(model: GroupModel) -> str:
    gap = model.meta.get("gap")
    near = "no gap stored" if gap is None else f"within {float(gap):.1e} nats per record of the optimum"
    return f"{model.meta.get('status')}: {near}"


def _axis_lines(model: GroupModel) -> list[str]:
    if not model.rank:
        return ["axes         none: the species share no response at this strength"]
    out, total = ["axes          explains  with those before  sites from … to"], 0.0
    for k, share in enumerate(model.explained[:MOST_AXES].tolist()):
        total += share
        low, high = model.ranges[k].tolist()
        out.append(f"  axis {k + 1:<6} {100 * share:7.1f} %  {100 * total:14.1f} %    {low:.2f} … {high:.2f}")
    if model.rank > MOST_AXES:
        out.append(f"  … and {model.rank - MOST_AXES} more")
    supported = model.meta.get("supported")
    if supported is not None:
        said = "records that were left out are predicted as well without the others"
        out.append(f"supported     {supported} of {model.rank}: {said}")
    return out


def _species_lines(model: GroupModel, most: int) -> list[str]:
    shares = response_shares(model)
    wide = max(map(len, model.species[:most]), default=0)
    out = ["species (records, share of the response that is shared; nearest relatives)"]
    for s, name in enumerate(model.species[:most]):
        near = ", ".join(other for other, _ in model.relatives(name, RELATIVES)[:3]) if model.rank else ""
        share = "     ?" if shares.shared[s] != shares.shared[s] else f"{100 * shares.shared[s]:4.0f} %"
        out.append(f"  {name:<{wide}}  {model.records[s]:7,.0f}  {share}  {near}".rstrip())
    if len(model.species) > most:
        out.append(f"  … and {len(model.species) - most} more (--weights {len(model.species)} shows all)")
    return out
