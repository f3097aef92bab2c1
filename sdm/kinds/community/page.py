"""The page of a joint model: measures compared with single models, associations, richness and species."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, cast

import numpy as np

from sdm.models.community import FittedJoint
from sdm.report.charts import BarChart, Bars
from sdm.report.pages import sections
from sdm.report.pages.cautions import Caution, model_cautions
from sdm.report.pages.frame import Context, KeyFigure, Page, PageSection
from sdm.report.pages.projection import FITTED
from sdm.report.pages.svg import svg
from sdm.report.pages.words import figure, integer
from sdm.report.paper import Paper
from sdm.report.pictures import shown_picture, thumbnail
from sdm.report.results import MapLayer, Results, number, rows_of
from sdm.types import Numbers

LEARNERS = {
    "laplace": "Laplace maximum entropy discrimination Markov network",
    "m3n": "Maximum-margin Markov network",
    "crf-l2": "Conditional random field with an l2 penalty",
    "crf-l1": "Conditional random field with an l1 penalty",
}


class CommunityResults(Results):
    """The results of a joint model."""

    shows_survey: ClassVar[bool] = True
    species_maps: ClassVar[bool] = True
    data_type: ClassVar[str] = "presence absence"
    data_text: ClassVar[str] = "Sites surveyed for several species: present, absent, or unknown."
    output_text: ClassVar[str] = "Probability of every species, the best joint labelling, and richness"

    @property
    def by_margin(self) -> bool:
        """Whether the learner is max-margin, so that its objective counts wrong labels."""
        return not str(self.numbers.get("learner", "")).startswith("crf")

    @property
    def objective_unit(self) -> str:
        """The unit of the duality gap."""
        return "wrong labels per site" if self.by_margin else "nats per site"

    @property
    def algorithm(self) -> str:
        """The learner."""
        learner = self.numbers.get("learner")
        return LEARNERS.get(str(learner), str(learner))

    def map_layers(self) -> list[MapLayer]:
        """Return the number of species, then the probability of each; scenarios are last."""
        layers = []
        for title, files in _maps(self).items():
            before, species = f"{title}: " if title else "", files.get("species")
            named = [(f"{before}number of species", files.get("richness"), "Expected number of species", "")]
            for name, file in species.items() if isinstance(species, dict) else ():
                named.append((f"{before}{name}", file, f"Probability of {name}", name))
            layers += [
                MapLayer(name, path, label, threshold=False, apart=not one, species=one)
                for name, file, label, one in named
                if file and (path := self.folder / str(file)).is_file()
            ]
        return layers


RESULTS = CommunityResults


TEMPLATES = Path(__file__).parent / "templates"

MOST_EDGES = 30
MOST_FEATURES = 25
MODELS = ("joint", "stacked", "glm")
MEASURES = {
    "hamming": "Hamming error of the best labelling",
    "hamming of marginals": "Hamming error of marginal probabilities above ½",
    "auc": "Mean AUC",
    "log loss": "Joint log loss, nats per site",
    "marginal log loss": "Sum of the log losses of the species, nats per site",
    "constant log loss": "Sum of the log losses of the null model, nats per site",
    "tss": "Mean TSS, at the best thresholds for the training sites",
    "richness error": "Richness error (RMSE), species",
}


def _both(results: Results) -> dict[str, Numbers]:
    """Return the measures of the three models: held out if the model was tested, else from training."""
    stored = results.tree("test").get("mean") or results.tree("training")
    return {name: stored[name] for name in MODELS if isinstance(stored.get(name), dict)}


def joint_figures(results: Results) -> list[KeyFigure]:
    """Return the figures: sites and species, and the accuracy of the joint and the single models."""
    n = results.numbers
    both: dict[str, Numbers] = {name: {} for name in MODELS} | _both(results)

    def compared(title: str, key: str, digits: int) -> KeyFigure:
        joint, stacked, glm = (figure(both[name].get(key), digits) for name in MODELS)
        return KeyFigure(title, joint, f"stacked {stacked}, GLM {glm}")

    variables, edges = n.get("variables") or [], f"graph: {n.get('graph')}"
    return [
        KeyFigure("Species", str(len(n["species"])), f"at {integer(n.get('sites'))} sites"),
        compared("Mean AUC", "auc", 3),
        compared("Hamming error", "hamming", 3),
        compared("Joint log loss", "log loss", 4),
        KeyFigure("Sites", integer(n.get("sites")), f"{integer(n.get('missing'))} labels missing"),
        KeyFigure("Associations", integer(n.get("edges")), edges),
        KeyFigure("Variables", str(len(variables)), f"features {n.get('features')}"),
        KeyFigure(
            "Duality gap", figure(n.get("gap"), 2), f"{results.objective_unit}, {n.get('status') or 'status unknown'}"
        ),
    ]


def measures(results: Results) -> Context | None:
    """Return the measures of the three models."""
    both, tested = _both(results), results.tree("test")
    rows = [(title, {name: values.get(key) for name, values in both.items()}) for key, title in MEASURES.items()]
    folds = tested.get("folds")
    return {"rows": rows, "folds": len(folds) if isinstance(folds, list) else 0, "method": tested.get("method")}


def network(results: Results) -> Context | None:
    """Return the associations and their figure."""
    edges = sorted(rows_of(results.numbers.get("associations")), key=lambda row: -abs(row["weight"]))
    return {
        "image": sections.image(results, "network"),
        "matrix": sections.image(results, "matrix"),
        "pairs": results.tree("pairs"),
        # Uncertain: smaller than the standard error or the posterior standard deviation.
        "edges": [{**row, "unsure": abs(row["weight"]) < (row.get("sd") or 0.0)} for row in edges[:MOST_EDGES]],
        "has_spread": _has_spread(results),
        "left_out": max(0, len(edges) - MOST_EDGES),
    }


def variance(results: Results) -> Context | None:
    """Return the figure of variance partitioning."""
    image = sections.image(results, "variance picture")
    return {"image": image} if image else None


def random_effect(results: Results) -> Context | None:
    """Return the random effect: its figure, and the spread of the levels for every species."""
    effect = results.tree("random")
    rows = rows_of(effect.get("by species"))
    if not rows:
        return None
    return {
        "image": sections.image(results, "random picture"),
        "column": effect.get("column"),
        "levels": effect.get("levels"),
        "spread": effect.get("spread"),
        "rows": rows[:MOST_EDGES],
        "left_out": max(0, len(rows) - MOST_EDGES),
    }


def fourth_corner(results: Results) -> Context | None:
    """Return the interactions of traits and features."""
    rows = rows_of(results.numbers.get("fourth corner"))
    if not rows:
        return None
    sure = [row for row in rows if row.get("low") is not None and not row["low"] <= 0 <= row["high"]]
    return {
        "image": sections.image(results, "fourth corner picture"),
        "number": len(rows),
        "sure": len(sure),
        "rows": [{**row, "unsure": row not in sure} for row in rows[:MOST_EDGES]],
        "left_out": max(0, len(rows) - MOST_EDGES),
    }


def _has_spread(results: Results) -> bool:
    return any(row.get("sd") is not None for row in rows_of(results.numbers.get("associations")))


def _maps(results: Results) -> dict[str, Numbers]:
    """Return the maps by title; the title of the training layers is empty."""
    trees = [(key, files) for key, files in results.numbers["files"].items() if isinstance(files, dict)]
    return {key.removeprefix("maps").strip(): files for key, files in trees if key.startswith("maps")}


def richness(results: Results) -> Context | None:
    """Return the figures of richness."""
    places = {title: results.folder / str(files.get("picture")) for title, files in _maps(results).items()}
    maps = [(title, shown_picture(path)) for title, path in places.items() if path.is_file()]
    return {"maps": maps} if maps else None


def each(results: Results) -> Context | None:
    """Return the results of every species."""
    n, both = results.numbers, _both(results)
    places = _maps(results).get("", {}).get("species", {})
    effects = rows_of(n.get("effects"))
    rows = []
    for name in n["species"]:
        relevant = [row for row in effects if row["species"] == name and row["kept"]]
        strongest = max(relevant, key=lambda row: abs(row["weight"]), default=None)
        raster = results.folder / str(places.get(name))
        aucs = [number(both.get(model, {}).get("species", {}).get(name)) for model in MODELS]
        rows.append(
            {
                "name": name,
                "figures": [number(results.tree("prevalence").get(name)), *aucs],
                "kept": len(relevant),
                "strongest": "–" if strongest is None else f"{strongest['feature']} ({strongest['weight']:+.2f})",
                "picture": thumbnail(raster, 1.0) if raster.is_file() else None,
            }
        )
    return {"rows": rows, "has_maps": any(row["picture"] for row in rows)}


def features(results: Results) -> Context | None:
    """Draw the number of species with a non-zero weight, by feature."""
    counts: dict[str, int] = {}
    for row in rows_of(results.numbers.get("effects")):
        if row["feature"] != "bias":
            counts[row["feature"]] = counts.get(row["feature"], 0) + bool(row["kept"])
    ranked = sorted(counts.items(), key=lambda item: -item[1])[:MOST_FEATURES]
    if not ranked:
        return None
    names, values = zip(*ranked)
    label = "Species with a non-zero weight"
    chart = BarChart(label, label, names, [Bars(label, values)])
    return {"chart": svg(chart), "has_spread": _has_spread(results)}


def joint_skill(results: Results) -> Iterator[Caution]:
    """Warn of a model that predicts worse than the null model."""
    mean = results.tree("test").get("mean")
    joint = mean.get("joint") if isinstance(mean, dict) else None
    if not isinstance(joint, dict):
        return
    loss, constant = number(joint.get("marginal log loss")), number(joint.get("constant log loss"))
    if loss is not None and constant is not None and loss >= constant:
        yield Caution(
            "At held-out sites the model predicts worse than the null model, which predicts the prevalence of every "
            "species in training.",
            "measures",
        )


MAP_WORDS = "Expected number of species in every cell, and probability of each species, given the environment."
FIT_WORDS = (
    "Inference is exact: the associations form a forest, so message passing gives the best labelling and the marginal "
    "probabilities without sampling."
)


def draw_community_again(results: Results, paper: Paper) -> None:
    """Draw the network, variance partitioning, random effects, traits and richness again."""
    from sdm.kinds.community.outputs import draw_community, draw_richness_maps

    joint, files = cast(FittedJoint, results.model), results.numbers["files"].get("maps")
    draw_community(joint, results.tree("prevalence"), rows_of(results.numbers.get("variance")), results.folder, paper)
    if isinstance(files, dict):
        draw_richness_maps(results.folder, files, np.empty(0), np.empty(0), paper)


PAGE = Page(
    lambda results: "joint model",
    joint_figures,
    (
        sections.map_section(lambda results: MAP_WORDS),
        PageSection("measures", "Joint, stacked and GLM", measures, template=TEMPLATES / "measures.html"),
        PageSection("richness", "Richness", richness, "Number of species", TEMPLATES / "richness.html"),
        PageSection("network", "Associations", network, template=TEMPLATES / "network.html"),
        PageSection("variance", "Variance", variance, "Variance partitioning", TEMPLATES / "variance.html"),
        PageSection("random", "Random effect", random_effect, template=TEMPLATES / "random.html"),
        PageSection("traits", "Traits", fourth_corner, "Traits and the environment", TEMPLATES / "traits.html"),
        PageSection("each", "Species", each, template=TEMPLATES / "each.html"),
        PageSection("features", "Features", features, "Features with non-zero weights", TEMPLATES / "features.html"),
        FITTED,
        sections.RECORDS,
        sections.VARIABLES,
        sections.fit_section(FIT_WORDS),
        sections.SETTINGS,
        sections.ODMAP,
    ),
    model_cautions(joint_skill),
    draw_community_again,
)
