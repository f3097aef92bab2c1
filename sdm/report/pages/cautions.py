"""What could mislead in some results, gathered in one place: each is one sentence, from what the run stored."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sdm.report.pages.words import figure, warnings
from sdm.report.projection import StoredProjection, most_outside
from sdm.report.results import Results, number, projection_of

FEW_RECORDS = 15  # below it Maxent leaves out hinge features, and a test has hardly any record
FEW_SITES = 10  # of a class
COLLINEAR = 0.7  # absolute correlation (Dormann et al. 2013)
NOTABLE = 0.01  # share of cells outside the training range
MOST_PAIRS = 3
WORSE = "predicts worse than"
ABOUT = {"outside the environment": "scenarios", WORSE: "classes"}  # words of a stored warning, and its section


@dataclass(frozen=True)
class Caution:
    """A sentence of warning, and the section of the page that has more to it."""

    text: str
    section: str = ""


def cautions(results: Results, sections: Collection[str]) -> list[Caution]:
    """Return everything that could mislead; `sections` are those of the page, which a caution may point to."""
    parts = (_stored, _fit, _tested, _skill, _few, _extrapolation, _collinear)
    found = [caution for part in parts for caution in part(results)]
    shown = {caution.text: caution for caution in found}
    return [Caution(text, caution.section if caution.section in sections else "") for text, caution in shown.items()]


def _stored(results: Results) -> Iterator[Caution]:
    """What the run itself warned of: suspicious missing values, uncertain places of records, extrapolation."""
    own = projection_of(results)
    for text in [*warnings(results), *(warnings(own) if own is not None else ())]:
        said = text.removeprefix(f"{results.title}: ").rstrip(".")
        section = next((place for words, place in ABOUT.items() if words in said), "records")
        yield Caution(f"{said[:1].upper()}{said[1:]}.", section)


def _fit(results: Results) -> Iterator[Caution]:
    status = results.numbers.get("status")
    if isinstance(status, str) and results.kind != "strata" and status != "converged":
        yield Caution(
            f"The fit stopped before it converged (status: {status}): another run with more --max-iterations may give "
            "another model.",
            "fit",
        )


def _tested(results: Results) -> Iterator[Caution]:
    if results.kind not in ("species", "classes", "community") or is_tested(results):
        return
    data = "records" if results.kind == "species" else "sites"
    yield Caution(
        f"The model was not tested: every figure is on the {data} that trained it, and flatters it; --test-percent 25 "
        "or --folds 5 tests it."
    )


def is_tested(results: Results) -> bool:
    """Whether any figure is on records or sites that did not train the model."""
    measures, folds = results.tree("measures"), results.tree("cross_validation")
    survey = results.tree("presence_absence") if results.kind == "species" else {}
    ways = (folds.get("rows") or folds.get("folds"), results.tree("tuning").get("folds"), survey, results.tree("test"))
    return results.tested or "cross-validation" in measures or any(map(bool, ways))


def _skill(results: Results) -> Iterator[Caution]:
    """Whether the model predicts worse than one that knows nothing of the environment."""
    n, folds = results.numbers, results.tree("cross_validation")
    mean: dict[str, Any] = folds["mean"] if isinstance(folds.get("mean"), dict) else {}
    if results.kind == "species":
        gains = {"test records": number(n.get("test_gain")), "held-out folds": number(mean.get("gain.val.avg"))}
        for data, gain in gains.items():
            if gain is not None and gain <= 0:
                yield Caution(
                    f"On {data} the model predicts worse than a constant model, which gives every place the same "
                    f"value (gain {figure(gain, 3)} nats).",
                    "validation",
                )
    told = any(WORSE in text for text in warnings(results))  # by the run itself
    for data, found in results.tree("measures").items() if results.kind == "classes" else ():
        loss, constant = (number(found.get(key)) if isinstance(found, dict) else None for key in _LOSSES)
        if not told and loss is not None and constant is not None and loss >= constant and data != "training":
            yield Caution(
                f"Measured by {data}, the model predicts worse than a constant model, which gives every class its "
                f"share of the training sites (log loss {loss:.4g}, constant {constant:.4g}).",
                "classes",
            )
        unseen = number(found.get("sites_given_no_probability")) if isinstance(found, dict) else None
        if unseen:
            yield Caution(
                f"At {unseen:,.0f} sites ({data}) the class on record got no probability at all; the log loss counts "
                "it as one in a million.",
                "classes",
            )
    if results.kind == "community":
        tested = results.tree("test").get("mean")
        joint = tested.get("joint") if isinstance(tested, dict) else None
        loss, constant = (
            number(joint.get(key)) if isinstance(joint, dict) else None
            for key in ("marginal log loss", "constant log loss")
        )
        if loss is not None and constant is not None and loss >= constant:
            yield Caution(
                "At held-out sites the model predicts worse than a constant model, in which every species is as "
                "frequent as in training.",
                "measures",
            )


_LOSSES = ("log_loss", "constant_log_loss")


def _few(results: Results) -> Iterator[Caution]:
    records = number(results.numbers.get("training_presences"))
    if results.kind == "species" and records is not None and records < FEW_RECORDS:
        shared = results.tree("shared")
        rest = "; most of what this model says comes from the other species" if shared else ""
        yield Caution(
            f"The model has {records:.0f} training record{'' if records == 1 else 's'}: with fewer than {FEW_RECORDS} "
            f"a few records more may change the map{rest}.",
            "records",
        )
    if results.kind == "classes":
        for row in results.table("classes"):
            sites = number(row.get("sites"))
            if sites is not None and sites < FEW_SITES:
                yield Caution(f"The class {row.get('class')} was found at {sites:.0f} sites only.", "classes")


def _extrapolation(results: Results) -> Iterator[Caution]:
    """How much of the map, and of a projection where the run did not warn of it itself, is outside the training
    range."""
    share = number(results.tree("outside").get("share")) if results.kind != "projection" else None
    if share is not None and share >= NOTABLE:
        yield Caution(
            f"{100 * share:.0f} % of the cells of the map are outside the environment that the model was fitted to: no "
            "data tests what it predicts there.",
            "map",
        )
    own = results if results.kind == "projection" else projection_of(results)
    if own is None or own.numbers.get("warnings"):
        return
    cases = StoredProjection(own.folder, own.numbers).scenarios
    most = most_outside(cases)
    if most is not None and most >= NOTABLE:
        yield Caution(
            f"Up to {100 * most:.0f} % of the cells of a scenario are outside the environment that the model was "
            "fitted to: no data tests what it predicts there.",
            "scenarios" if own is not results else "outside",
        )
    elif most is None and cases:
        yield Caution(
            "How far the model extrapolates is not known: the scenarios have no map of novelty (--novelty mess).",
            "scenarios" if own is not results else "maps",
        )


def _collinear(results: Results) -> Iterator[Caution]:
    """Pairs of variables that go together, by the values that the model file keeps of its training environment."""
    model = results.model if results.kind in ("species", "classes") else None
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
