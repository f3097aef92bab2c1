"""What could mislead in some results, gathered in one place: each is one sentence, from what the run stored."""

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
SECTIONS = {"outside the environment": "scenarios", WORSE: "classes"}  # of stored warnings, by words in them


@dataclass(frozen=True)
class Caution:
    """A sentence of warning, and the section of the page that has more to it."""

    text: str
    section: str = ""


CautionsOf = Callable[[Results], Iterable[Caution]]


def cautions(results: Results, parts: Iterable[CautionsOf], sections: Collection[str]) -> list[Caution]:
    """Return everything that could mislead; `sections` are those of the page, which a caution may point to."""
    every = [caution for part in parts for caution in part(results)]
    distinct = {caution.text: caution for caution in every}
    return [Caution(text, caution.section if caution.section in sections else "") for text, caution in distinct.items()]


def stored_warnings(results: Results) -> Iterator[Caution]:
    """What the run itself warned of: suspicious missing values, uncertain places of records, extrapolation."""
    own = projection_of(results)
    for text in [*warnings(results), *(warnings(own) if own is not None else ())]:
        said = text.removeprefix(f"{results.title}: ").rstrip(".")
        section = next((place for words, place in SECTIONS.items() if words in said), "records")
        yield Caution(f"{said[:1].upper()}{said[1:]}.", section)


def convergence(results: Results) -> Iterator[Caution]:
    """Warn of a fit that stopped before it converged."""
    status = results.numbers.get("status")
    if isinstance(status, str) and status != "converged":
        yield Caution(
            f"The fit stopped before it converged (status: {status}): another run with more --max-iterations may give "
            "another model.",
            "fit",
        )


def untested(results: Results) -> Iterator[Caution]:
    """Warn of a model that was not tested."""
    if not results.assessed:
        yield Caution(
            f"The model was not tested: every figure is on the {results.record}s that trained it, and flatters it; "
            "--test-percent 25 or --folds 5 tests it."
        )


def outside_map(results: Results) -> Iterator[Caution]:
    """Warn of a map that is outside the training range in a notable part."""
    share = number(results.tree("outside").get("share"))
    if share is not None and share >= NOTABLE:
        yield Caution(
            f"{100 * share:.0f} % of the cells of the map are outside the environment that the model was fitted to: no "
            "data tests what it predicts there.",
            "map",
        )


def scenarios_of_model(results: Results) -> Iterator[Caution]:
    """Warn of scenarios of a model that are outside the training range."""
    projection = projection_of(results)
    if projection is not None:
        yield from outside_scenarios(projection, "scenarios", "scenarios")


def outside_scenarios(results: Results, novelty: str, maps: str) -> Iterator[Caution]:
    """Warn of a projection that is outside the training range, where its run did not warn of it; `novelty` and `maps`
    are the sections of the page that have more about it."""
    if results.numbers.get("warnings"):
        return
    cases = StoredProjection(results.folder, results.numbers).scenarios
    most = most_outside(cases)
    if most is not None and most >= NOTABLE:
        yield Caution(
            f"Up to {100 * most:.0f} % of the cells of a scenario are outside the environment that the model was "
            "fitted to: no data tests what it predicts there.",
            novelty,
        )
    elif most is None and cases:
        yield Caution(
            "How far the model extrapolates is not known: the scenarios have no map of novelty (--novelty mess).",
            maps,
        )


def collinear(results: Results) -> Iterator[Caution]:
    """Pairs of variables that go together, by the values that the model file keeps of its training environment."""
    model = results.model
    reference = getattr(model, "reference", None)
    if model is None or reference is None or len(reference.values) < 3:
        return
    places = [k for k in reference.continuous if reference.low[k] < reference.high[k]]
    if len(places) < 2:
        return
    matrix = np.corrcoef(reference.values[:, places], rowvar=False)
    pairs = sorted(combinations(range(len(places)), 2), key=lambda pair: -abs(matrix[pair]))
    alike = [pair for pair in pairs if abs(matrix[pair]) >= COLLINEAR]
    if alike:
        names = [model.names[k] for k in places]
        told = ", ".join(f"{names[a]} and {names[b]} ({figure(matrix[a, b], 2)})" for a, b in alike[:MOST_PAIRS])
        more = f", and {len(alike) - MOST_PAIRS} more pairs" if len(alike) > MOST_PAIRS else ""
        yield Caution(
            f"Variables go together: {told}{more}. Their curves and their importance cannot be told "
            "apart; where they no longer go together, a projection is a guess (--drop-correlated 0.7).",
            "importance",
        )


def model_cautions(*particular: CautionsOf) -> tuple[CautionsOf, ...]:
    """Return the cautions of a model that can be tested and mapped, with those that are particular to its kind."""
    return (stored_warnings, convergence, untested, *particular, outside_map, scenarios_of_model)
