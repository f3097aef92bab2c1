"""The stored results of a model of counts."""

from sdm.report.results import Results


class CountResults(Results):
    @property
    def of_species(self) -> bool:
        return True

    @property
    def scale(self) -> str:
        return "count"

    @property
    def algorithm(self) -> str:
        return "Poisson regression"


RESULTS = CountResults
