"""The stored results of a joint model of a community."""

from typing import ClassVar

from sdm.report.pages.words import certificate_text, optimum_text
from sdm.report.results import MapLayer, Results

LEARNERS = {
    "laplace": "Laplace maximum entropy discrimination Markov network",
    "m3n": "Maximum-margin Markov network",
    "crf-l2": "Conditional random field, penalty on squares",
    "crf-l1": "Conditional random field, penalty on absolute values",
}


class CommunityResults(Results):
    """The results of a joint model."""

    shows_survey: ClassVar[bool] = True
    species_maps: ClassVar[bool] = True
    data_type: ClassVar[str] = "presence absence"
    data_text: ClassVar[str] = "Sites where several species were looked for: present, absent, or not known."
    output_text: ClassVar[str] = "Probability of every species, the best joint labeling, and richness"

    @property
    def by_margin(self) -> bool:
        """Whether the model was fitted by a margin, so that its objective counts wrong labels."""
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

    @property
    def certificate(self) -> str:
        """How near the fit is to the best one, in sentences."""
        return certificate_text(self, optimum_text(self, "all weights of all species and edges"))

    def map_layers(self) -> list[MapLayer]:
        """Return the number of species, then the probability of each; those of scenarios after them."""
        layers = []
        for key, files in self.numbers["files"].items():
            if not isinstance(files, dict) or not key.startswith("maps"):
                continue
            title = key.removeprefix("maps").strip()
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
