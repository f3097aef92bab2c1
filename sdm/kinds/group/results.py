"""The stored results of a group of species on shared axes."""

from typing import ClassVar

from sdm.report.pages.words import certificate_text, figure, optimum_text
from sdm.report.results import Results


class GroupResults(Results):
    """The results of a group of species on shared axes."""

    record: ClassVar[str] = "record"
    species_maps: ClassVar[bool] = True

    @property
    def objective_unit(self) -> str:
        """The unit of the duality gap."""
        return "nats per record"

    @property
    def algorithm(self) -> str:
        """The algorithm in a sentence."""
        n = self.numbers
        return (
            f"Maximum entropy for {len(n['species'])} species at once, with a penalty on the number of axes that they "
            f"share (nuclear norm), strength {figure(n.get('strength'), 3)}"
        )

    @property
    def certificate(self) -> str:
        """How near the fit is to the best one, in sentences."""
        weights = "all weights of all species, and so over every possible set of axes"
        return certificate_text(self, optimum_text(self, weights))


RESULTS = GroupResults
