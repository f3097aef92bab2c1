"""Warnings about results: one sentence each, from the stored numbers."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sdm.report.pages.words import figure, warnings
from sdm.report.projection import StoredProjection, most_outside, projection_of
from sdm.report.results import Results, number

COLLINEAR = 0.7  # absolute correlation (Dormann et al. 2013)
NOTABLE = 0.01  # share of cells outside the training range
MOST_PAIRS = 3
WORSE = "predicts worse than"
SECTIONS = {"outside the training range": "scenarios", WORSE: "classes"}  # by a phrase of the stored warning


@dataclass(frozen=True)
class Caution:
    """A warning, and the section of the page with details."""

    text: str
    section: str = ""


CautionsOf = Callable[[Results], Iterable[Caution]]


def cautions(results: Results, parts: Iterable[CautionsOf], sections: Collection[str]) -> list[Caution]:
    """Return all distinct warnings; `sections` are the sections of the page that a warning may link to."""
    every = [caution for part in parts for caution in part(results)]
    distinct = {caution.text: caution for caution in every}
    return [Caution(text, caution.section if caution.section in sections else "") for text, caution in distinct.items()]


def stored_warnings(results: Results) -> Iterator[Caution]:
    """Yield the warnings of the run itself."""
    projection = projection_of(results)
    for warning in [*warnings(results), *(warnings(projection) if projection is not None else ())]:
        text = warning.removeprefix(f"{results.stored_title}: ").rstrip(".")
        section = next((name for phrase, name in SECTIONS.items() if phrase in text), "records")
        yield Caution(f"{text[:1].upper()}{text[1:]}.", section)


def convergence(results: Results) -> Iterator[Caution]:
    """Warn of a fit that stopped before it converged."""
    status = results.numbers.get("status")
    if isinstance(status, str) and status != "converged":
        yield Caution(
            f"The fit stopped before it converged (status: {status}): repeat it with more --max-iterations.",
            "fit",
        )


def untested(results: Results) -> Iterator[Caution]:
    """Warn of a model without a test."""
    if not results.assessed:
        yield Caution(
            f"The model was not tested: all measures are from the training {results.record}s and are optimistic. "
            "Use --test-percent 25 or --folds 5."
        )


def outside_map(results: Results) -> Iterator[Caution]:
    """Warn of a map with at least `NOTABLE` of its cells outside the training range."""
    share = number(results.tree("outside").get("share"))
    if share is not None and share >= NOTABLE:
        yield Caution(
            f"{100 * share:.0f} % of the cells of the map are outside the training range: the predictions there are "
            "extrapolations that no data support.",
            "map",
        )


def scenarios_of_model(results: Results) -> Iterator[Caution]:
    """Warn of scenarios of a model outside the training range."""
    projection = projection_of(results)
    if projection is not None:
        yield from outside_scenarios(projection, "scenarios", "scenarios")


def outside_scenarios(results: Results, novelty: str, maps: str) -> Iterator[Caution]:
    """Warn of a projection outside the training range, unless its run did; `novelty` and `maps` are the sections of the
    page with details."""
    if results.numbers.get("warnings"):
        return
    cases = StoredProjection(results.folder, results.numbers).scenarios
    most = most_outside(cases)
    if most is not None and most >= NOTABLE:
        yield Caution(
            f"Up to {100 * most:.0f} % of the cells of a scenario are outside the training range: the predictions "
            "there are extrapolations that no data support.",
            novelty,
        )
    elif most is None and cases:
        yield Caution(
            "The extent of extrapolation is unknown: the scenarios have no map of novelty (--novelty mess).",
            maps,
        )


def collinear(results: Results) -> Iterator[Caution]:
    """Warn of collinear pairs of variables in the training environment that the model file stores."""
    model = results.model
    reference = getattr(model, "reference", None)
    if model is None or reference is None or len(reference.values) < 3:
        return
    varying = [k for k in reference.continuous if reference.low[k] < reference.high[k]]
    if len(varying) < 2:
        return
    matrix = np.corrcoef(reference.values[:, varying], rowvar=False)
    pairs = sorted(combinations(range(len(varying)), 2), key=lambda pair: -abs(matrix[pair]))
    strong = [pair for pair in pairs if abs(matrix[pair]) >= COLLINEAR]
    if strong:
        names = [model.names[k] for k in varying]
        listed = ", ".join(f"{names[a]} and {names[b]} ({figure(matrix[a, b], 2)})" for a, b in strong[:MOST_PAIRS])
        more = f", and {len(strong) - MOST_PAIRS} more pairs" if len(strong) > MOST_PAIRS else ""
        yield Caution(
            f"Collinear variables: {listed}{more}. Their curves and their importance cannot be separated, and "
            "projections to other correlations are uncertain (--drop-correlated 0.7).",
            "importance",
        )


def model_cautions(*particular: CautionsOf) -> tuple[CautionsOf, ...]:
    """Return the warnings about a model, including those of its kind."""
    return (stored_warnings, convergence, untested, *particular, outside_map, scenarios_of_model)
