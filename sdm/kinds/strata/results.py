"""The stored results of a path over strata."""

from typing import ClassVar

from sdm.report.pages.words import suitability_text
from sdm.report.results import Results


class StrataResults(Results):
    """The results of a path over strata, for one species."""

    record: ClassVar[str] = "record"

    @property
    def of_species(self) -> bool:
        """The title is the name of the species."""
        return True

    @property
    def scale(self) -> str:
        """The one scale of its map."""
        return "density"

    @property
    def algorithm(self) -> str:
        """The algorithm in a sentence."""
        return "Maximum entropy over strata, with the whole path of the tolerance"

    def map_text(self, label: str) -> str:
        """Return what a picture of the map shows."""
        return suitability_text(self.title)


RESULTS = StrataResults
