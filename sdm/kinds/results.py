"""Stored results of any kind, read as the class of their kind."""

from pathlib import Path

from sdm.kinds.registry import results_class
from sdm.report.results import Results, read_stored


def read_results(place: Path) -> Results:
    """Read the results of one model: from its folder, its model (`.npz`, `.lambdas`), or its numbers (`.json`)."""
    return read_stored(place, results_class)
