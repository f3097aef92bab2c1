"""The stored results of a projection: maps of a fitted model on scenarios."""

from typing import ClassVar

from sdm.report.projection import has_species_titles
from sdm.report.results import Results


class ProjectionResults(Results):
    """The results of a projection, which has a page of its own."""

    has_seed: ClassVar[bool] = False

    @property
    def of_species(self) -> bool:
        """Whether the title is the name of a species."""
        return has_species_titles(self.numbers)

    @property
    def scale(self) -> str:
        """The scale of its maps."""
        return str(self.numbers.get("scale") or self.option("predict.scale") or "cloglog")

    @property
    def algorithm(self) -> str:
        """The values of the maps, and the rule of presence."""
        n = self.numbers
        rule = f", presence by the cutoff {n['rule']}" if n.get("rule") else ""
        return f"{_SCALES.get(str(n.get('scale')), n.get('scale'))} of a fitted model on the layers of scenarios{rule}"


_SCALES = {
    "cloglog": "Suitability (cloglog)",
    "logistic": "Suitability (logistic)",
    "raw": "Raw density",
    "cumulative": "Cumulative value",
    "probability": "Probability",
}


RESULTS = ProjectionResults
