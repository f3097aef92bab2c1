"""The stored results of a class model, presence and absence included."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from sdm.models.presence import presence_class, shown_class
from sdm.report.pages.words import certificate_text, figure, optimum_text, penalty_text
from sdm.report.results import ABSENT_COLOUR, PRESENT_COLOUR, MapLayer, Results, SiteGroup

LOSSES: dict[float, str] = {1: "logistic loss", 2: "sparsemax loss"}


class ClassResults(Results):
    """The results of a class model."""

    data_type: ClassVar[str] = "presence absence"
    area_column: ClassVar[str] = "Training false presences"
    area_key: ClassVar[str] = "false_presences"
    data_text: ClassVar[str] = "Sites with a class each, or with proportions of classes."
    output_text: ClassVar[str] = "Probability of every class, the most probable class, and the entropy"

    @property
    def of_species(self) -> bool:
        """Whether the title is the name of a species: that of a model of presence and absence."""
        return self.presence_band is not None

    @property
    def scale(self) -> str:
        """The one scale of its maps."""
        return "probability"

    @property
    def classes(self) -> list[str]:
        """The labels of the classes; those of the model where the numbers lack them."""
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

    @property
    def certificate(self) -> str:
        """How near the fit is to the best one, in sentences."""
        growing = ":" in str(self.numbers.get("feature_classes"))
        features = f"all features {'that the oracles found for any class' if growing else 'of all classes'}"
        return certificate_text(self, optimum_text(self, features))

    def map_layers(self) -> list[MapLayer]:
        """Return the maps: of two classes the probability of one first, of more the most probable class."""
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
        """Return presences and absences, or the classes of the map's legend."""
        band = self.presence_band
        if band is None:
            return [SiteGroup(label, colour, label) for label, colour in legend]
        return [
            SiteGroup("presences", PRESENT_COLOUR, self.classes[band]),
            SiteGroup("absences", ABSENT_COLOUR, self.classes[1 - band]),
        ]

    def presence_rows(self, count: int) -> Sequence[int]:
        """Return the training sites with the species, in the order of the table of sites."""
        sites = [row for row in self.table("sites") if row.get("test or train", "train") == "train"]
        if self.presence_band is None or len(sites) != count:
            return ()
        return [k for k, row in enumerate(sites) if row.get("class") == self.classes[self.presence_band]]


RESULTS = ClassResults
