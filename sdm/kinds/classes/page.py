"""The page of a class model or a presence–absence model: its figures, sections and warnings."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from sdm.models.presence import presence_class, shown_class
from sdm.report.model_figures import write_figures
from sdm.report.pages import sections
from sdm.report.pages.cautions import WORSE, Caution, collinear, model_cautions
from sdm.report.pages.frame import Context, KeyFigure, Page, PageSection
from sdm.report.pages.projection import FITTED
from sdm.report.pages.sections import class_curves
from sdm.report.pages.words import figure, integer, penalty_text, warnings
from sdm.report.paper import Paper
from sdm.report.results import ABSENT_COLOUR, PRESENT_COLOUR, MapLayer, Results, SiteGroup, number
from sdm.types import Numbers

LOSSES: dict[float, str] = {1: "logistic loss", 2: "sparsemax loss"}


class ClassResults(Results):
    """The results of a class model."""

    scale: ClassVar[str] = "probability"
    data_type: ClassVar[str] = "presence absence"
    area_column: ClassVar[str] = "Training false presences"
    area_key: ClassVar[str] = "false_presences"
    data_text: ClassVar[str] = "Sites with one class, or with proportions of classes."
    output_text: ClassVar[str] = "Probability of every class, most probable class, and entropy"

    @property
    def of_species(self) -> bool:
        """Whether the title is the name of a species (presence–absence models)."""
        return self.presence_band is not None

    @property
    def classes(self) -> list[str]:
        """The labels of the classes, from the numbers or the model."""
        return super().classes or list(self.model.bands if self.model else ())

    @property
    def presence_band(self) -> int | None:
        """The band of the probability of presence, of a model of presence and absence."""
        return presence_class(self.classes)

    @property
    def algorithm(self) -> str:
        """The algorithm in a sentence."""
        n = self.numbers
        order, penalty = n.get("order"), penalty_text(n.get("regularization"))
        loss = LOSSES.get(order if isinstance(order, int | float) else 0, f"order {figure(order)}")
        return (
            f"Conditional maximum entropy ({loss}) with {penalty}, regularisation multiplier "
            f"{figure(n.get('multiplier'))}."
        )

    def map_layers(self) -> list[MapLayer]:
        """Return the maps: for two classes the probability of one first, for more the most probable class."""
        labels, two = self.classes, len(self.classes) == 2
        bands = [shown_class(labels)] if two else list(enumerate(labels))
        first, others = list[MapLayer](), list[MapLayer]()
        for key, title in self.map_titles().items():
            before, main = f"{title}: " if title else "", self.path(key)
            shares, most, entropy = list[MapLayer](), list[MapLayer](), list[MapLayer]()
            if path := self.path(f"probability {key}") or (main if two else None):
                shares = [
                    MapLayer(f"{before}probability of {one}", path, f"Probability of {one}", c + 1, two)
                    for c, one in bands
                ]
            if path := self.path(f"class {key}") or (None if two else main):
                most = [MapLayer(f"{before}most probable class", path, "Most probable class", threshold=False)]
            if path := self.path(f"entropy {key}"):
                entropy = [MapLayer(f"{before}entropy", path, "Entropy of the classes (nats)", 1, False, True, True)]
            first += shares if two else most
            others += [*most, *entropy] if two else [*entropy, *shares]
        layers = first + others
        return [*layers, *self.spread_layers(layers[0].label if layers else "Probability")]

    def site_groups(self, legend: Iterable[tuple[str, str]]) -> list[SiteGroup]:
        """Return presences and absences, or the classes of the legend."""
        band = self.presence_band
        if band is None:
            return [SiteGroup(label, colour, label) for label, colour in legend]
        return [
            SiteGroup("presences", PRESENT_COLOUR, self.classes[band]),
            SiteGroup("absences", ABSENT_COLOUR, self.classes[1 - band]),
        ]

    def presence_rows(self, count: int) -> Sequence[int]:
        """Return the indices of the presence sites in training, in the order of the table of sites."""
        sites = [row for row in self.table("sites") if row.get("test or train", "train") == "train"]
        if self.presence_band is None or len(sites) != count:
            return ()
        return [k for k, row in enumerate(sites) if row.get("class") == self.classes[self.presence_band]]


RESULTS = ClassResults


TEMPLATES = Path(__file__).parent / "templates"
FEW_SITES = 10  # sites of a class
ORDER = ("cross-validation", "test", "training")  # test data in order of preference
COLUMNS = {
    "log_loss": "Log loss", "constant_log_loss": "Null model", "accuracy": "Accuracy", "kappa": "Kappa",
    "tss": "TSS", "mean_auc": "Mean AUC",
}  # fmt: skip


def subject(results: Results) -> str:
    """Return the subject of the page."""
    names = results.numbers.get("variables")
    variables = f" from {len(names)} variables" if isinstance(names, list) else ""
    classes = f"{len(results.classes)} classes" if results.presence_band is None else "presence and absence"
    return classes + variables


def best_measures(results: Results) -> tuple[str, Numbers]:
    """Return the measures from the best available test data, and their name."""
    measures = {name: values for name, values in results.tree("measures").items() if isinstance(values, dict)}
    return next(((name, measures[name]) for name in ORDER if name in measures), ("", {}))


def class_figures(results: Results) -> list[KeyFigure]:
    """Return the figures: sites, accuracy of the classes, then the others."""
    n, survey = results.numbers, results.tree("presence_absence")
    sites, best = best_measures(results)
    training = f"{integer(n.get('training_sites'))} for training"
    loss = f"{sites}; null model {figure(best.get('constant_log_loss'))}"
    tss = (survey.get("tss"), survey.get("of")) if best.get("tss") is None else (best.get("tss"), sites)
    skill = [KeyFigure("TSS", figure(tss[0], 3), str(tss[1]))] if number(tss[0]) is not None else []
    auc = "AUC" if results.presence_band is not None else "Mean AUC"
    return [
        KeyFigure("Sites", integer(n.get("sites")), training),
        KeyFigure(auc, figure(best.get("mean_auc"), 3), sites),
        KeyFigure("Log loss", figure(best.get("log_loss")), loss),
        *skill,
        KeyFigure("Accuracy", figure(best.get("accuracy"), 3), f"kappa {figure(best.get('kappa'), 3)}"),
        KeyFigure("Features with weight", integer(n.get("features_with_weight")), f"of {integer(n.get('features'))}"),
        KeyFigure("Duality gap", figure(n.get("gap"), 2), f"nats, {n.get('status') or 'status unknown'}"),
    ]


def classes(results: Results) -> Context | None:
    """Return the table of classes with colours and shares, the measures, and the confusion matrix."""
    table = results.table("classes")
    if not table:
        return None
    shares = results.tree("map").get("shares")
    map_shares = shares if isinstance(shares, dict) else {}
    keys = [key for key in table[0] if key not in ("code", "class", "colour")]
    rows = [
        {
            "name": row.get("class", ""),
            "colour": row.get("colour", ""),
            "figures": [*(number(row.get(key)) for key in keys), number(map_shares.get(row.get("class", "")))],
        }
        for row in table
    ]
    titles = {"auc": "AUC", "recall": "Recall", "precision": "Precision", "sites": "Sites"}
    heads = [titles.get(key.partition(" (")[0], key) for key in keys]
    measured = [(name, numbers) for name, numbers in results.tree("measures").items() if isinstance(numbers, dict)]
    shown = {key: title for key, title in COLUMNS.items() if any(key in numbers for _, numbers in measured)}
    two = results.presence_band is not None
    return {
        "rows": [] if two else rows,
        "found": _confusion(results) if two else None,
        "titles": [*heads, "Share of the map"],
        "sites": best_measures(results)[0],
        "measures": [(name, [numbers.get(key) for key in shown]) for name, numbers in measured],
        "measure_titles": list(shown.values()),
        "confusion": None if two else sections.image(results, "confusion picture"),
    }


def _confusion(results: Results) -> list[tuple[str, list[float | None]]] | None:
    """Return the confusion matrix of presence and absence; None if it is unknown."""
    presence = results.presence_band
    sites = best_measures(results)[0]
    table = {row.get("class on record"): row for row in results.table("confusion") if row.get("data", sites) == sites}
    if presence is None or set(results.classes) - set(table):
        return None
    order = [results.classes[presence], results.classes[1 - presence]]
    return [
        (name, [number(table[label].get(f"predicted {other}")) for other in order])
        for name, label in zip(("presence", "absence"), order)
    ]


def explained_class_curves(results: Results) -> Context | None:
    """Return the response curves with their explanation."""
    drawn = class_curves(results)
    return None if drawn is None else {**drawn, "explanation": CURVE_WORDS}


def class_skill(results: Results) -> Iterator[Caution]:
    """Warn of a model that predicts worse than the null model, or gives an observed class probability zero."""
    reported = any(WORSE in text for text in warnings(results))  # reported by the run
    for data, measured in results.tree("measures").items():
        if not isinstance(measured, dict):
            continue
        loss, constant = number(measured.get("log_loss")), number(measured.get("constant_log_loss"))
        if not reported and loss is not None and constant is not None and loss >= constant and data != "training":
            yield Caution(
                f"By {data}, the model predicts worse than the null model, which predicts the class frequencies of the "
                f"training sites (log loss {loss:.4g}, null model {constant:.4g}).",
                "classes",
            )
        unseen = number(measured.get("sites_given_no_probability"))
        if unseen:
            yield Caution(
                f"At {unseen:,.0f} sites ({data}) the observed class has probability 0; the log loss counts it as one "
                "in a million.",
                "classes",
            )


def few_sites(results: Results) -> Iterator[Caution]:
    """Warn of classes with few sites."""
    for row in results.table("classes"):
        sites = number(row.get("sites"))
        if sites is not None and sites < FEW_SITES:
            yield Caution(f"The class {row.get('class')} has only {sites:.0f} sites.", "classes")


def class_map_words(results: Results) -> str:
    """Explain the values of the map."""
    if len(results.classes) == 2:
        return (
            "Values are probabilities given the environment of a cell, for the sampling design of the training sites."
        )
    return "The most probable class of every cell. Where the entropy is high, other classes are nearly as probable."


OF_ABSENCES = sections.AreaWords(
    "False presences",
    "False presences",
    "False presences and omission",
    "False presences are the training absences at or above the threshold.",
    "False presences are the share of training absences at or above the threshold; omission is the share of presences "
    "below it. Both come from the stored table.",
)
CURVE_WORDS = (
    "Probabilities as functions of each variable, with the other variables at their mean over the sites. The shaded "
    "range is the training range; beyond it the curve is extrapolated."
)
MEASURE_WORDS = (
    "The null model predicts the class frequencies of the training sites. TSS: sensitivity + specificity − 1. Kappa: "
    "agreement beyond chance."
)
FIT_WORDS = (
    "The log loss is the mean of −ln(probability of the observed class), in nats: 0 is perfect. The null model, which "
    "predicts the class frequencies of the training sites, is the baseline."
)


def draw_classes_again(results: Results, paper: Paper) -> None:
    """Draw the charts, the maps of classes, the folds, and tuning again."""
    from sdm.kinds.classes.outputs import draw_rasters
    from sdm.report.figures.assessment import draw_stored

    write_figures(results, paper)
    if results.path("class map") is not None:
        draw_rasters(results.folder, results.files, results.classes, results.title, paper, species=results.of_species)
    draw_stored(results, paper)


PAGE = Page(
    subject,
    class_figures,
    (
        sections.map_section(class_map_words, OF_ABSENCES),
        PageSection("curves", "Response curves", explained_class_curves),
        sections.importance_section("increase of the log loss"),
        sections.VARIABLES,
        sections.TUNING,
        PageSection("classes", "Performance", classes, "Model performance", TEMPLATES / "classes.html"),
        sections.validation_section(MEASURE_WORDS),
        sections.ROC,
        sections.survey_section("Well-calibrated probabilities lie on the diagonal.", side=True),
        sections.null_section("permuted class labels"),
        sections.threshold_section(OF_ABSENCES),
        FITTED,
        sections.RECORDS,
        sections.fit_section(FIT_WORDS),
        sections.SETTINGS,
        sections.ODMAP,
    ),
    (*model_cautions(class_skill, few_sites), collinear),
    draw_classes_again,
)
