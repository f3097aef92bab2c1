"""The options of scenarios: `sdm project`, and `--scenarios` of the commands that fit models."""

from typing import Literal

from sdm.options.kinds import Files, Places, Positive, Section, Words, option


class ProjectOptions(Section):
    """Other times and places to map models on, and what is measured there."""

    models: Files = option(
        [],
        "For 'sdm project': model files, results of a run or of a batch, or a pattern with fields in braces, such as "
        "'runs/{multiplier}/sp.npz'.",
    )
    scenarios: Places = option(
        {},
        "Scenarios to map models on: a pattern with fields in braces, such as 'future/{gcm}_{ssp}_{period}/', a table "
        "(.csv), folders or files, or name=folder.",
        *("projections", "projectionlayers"),
        formerly="predict.projections",
    )
    reference: Files = option(
        [], "Layers of the present, which change is measured against (of a fit: its own layers, unless given)."
    )
    thresholds: Words = option(
        [],
        "Map presence by these cutoffs: mtp, 10p, maxsss, equal, or values; change goes by the first (default: "
        "--threshold, else maxsss).",
    )
    novelty: Words = option(
        ["mess"],
        "Measures of novelty to map: mess (with the most dissimilar variable), exdet, mop, clamping (its effect), "
        "limiting (the variable that keeps suitability low), or none.",
    )
    dispersal: Literal["unlimited", "none"] | Positive = option(
        "unlimited",
        "Which cells that become suitable are gained: all (unlimited), none, or those at most N km from where the "
        "species was in the period before.",
    )
    over: Words = option(
        [], "Fields to average scenarios over (default: gcm, and the fields of models; without fields, all scenarios)."
    )
    area: str | None = option(None, "Polygons outside which nothing is mapped.", "projection_area")
