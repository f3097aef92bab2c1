"""Sentences about a model: its method, and what its certificate proves."""

from sdm.report.charts import SCALES
from sdm.report.pages.words import figure, whole
from sdm.report.results import Results, number

PENALTIES = {
    "l1": "an l1 (lasso) penalty",
    "none": "no penalty",
    "smoothed_l1": "a smoothed l1 penalty",
    "l2": "an l2 penalty",
    "l2sq": "a squared l2 (ridge) penalty",
    "elastic": "an elastic-net penalty",
    "mahalanobis": "a quadratic penalty with the correlations of the features",
    "lp": "an lp penalty, a norm between l1 and l2",
}
FAMILIES = {"l": "linear", "q": "quadratic", "p": "product", "h": "hinge", "t": "threshold", "c": "category"}
LEARNERS = {
    "laplace": "Laplace maximum entropy discrimination Markov network",
    "m3n": "Maximum-margin Markov network",
    "crf-l2": "Conditional random field, penalty on squares",
    "crf-l1": "Conditional random field, penalty on absolute values",
}
LOSSES = {1: "logistic loss", 2: "sparsemax loss"}
STRATA = "Maximum entropy over strata, with the whole path of the tolerance"


def algorithm(results: Results) -> str:
    """Return the method of a model in a sentence."""
    n = results.numbers
    if results.kind == "community":
        return str(LEARNERS.get(n.get("learner", ""), n.get("learner", "")))
    if results.kind == "projection":
        scale = {**SCALES, "cumulative": "Cumulative value"}.get(n.get("scale", ""), n.get("scale", ""))
        rule = f", presence by the cutoff {n['rule']}" if n.get("rule") else ""
        return f"{scale} of a fitted model on the layers of scenarios{rule}"
    if results.kind == "group":
        species, strength = len(n.get("species", ())), figure(n.get("strength"), 3)
        penalty = "with a penalty on the number of axes that they share (nuclear norm)"
        return f"Maximum entropy for {species} species at once, {penalty}, strength {strength}"
    if results.kind == "strata":
        return STRATA
    if results.kind == "classes":
        loss = LOSSES.get(n.get("order", 0), f"order {figure(n.get('order'))}")
        penalty = PENALTIES.get(n.get("regularization", ""), PENALTIES["l1"])
        multiplier = figure(n.get("multiplier"))
        return f"Conditional maximum entropy ({loss}) with {penalty}, regularisation multiplier {multiplier}."
    return _species_algorithm(results)


def _species_algorithm(results: Results) -> str:
    n, option = results.numbers, results.option
    order = option("fit.entropy")
    tsallis = "" if order in (None, 1) else f", Tsallis entropy of order {figure(order)}"
    if shared := results.tree("shared"):
        others = whole(shared["species"] - (number(shared.get("records")) is not None))
        committee = "Mean of a committee of models of this species and of maximum"
        method = committee if option("fit.model") == "ensemble" else "Maximum"
        strength = figure(shared.get("strength"), 3)
        return f"{method} entropy on axes shared with {others} other species (nuclear norm, strength {strength})."
    if option("fit.model") == "structural":
        penalty = "the penalty of trees and monomials is λ·B + β for the complexity B of their family"
        chosen = results.tree("structure").get("penalties", "")
        families = option("fit.families")
        return f"Structural maximum entropy (StructMaxent{tsallis}): families {families}; {penalty} ({chosen})."
    classes = str(n.get("classes") or "")
    features = ", ".join(FAMILIES[letter] for letter in classes if letter in FAMILIES)
    features = f"{features} features" if features else ""
    if n.get("software"):
        settings = "the settings are not in the model file"
        return f"Maximum entropy (MaxEnt) with {features}, fitted by {n['software']}; {settings}."
    if set(classes) & set(",:*"):
        features = f"features {classes.replace(',', ', ')}"
    penalty = PENALTIES.get(option("fit.regularization"), PENALTIES["l1"])
    multiplier = f"regularisation multiplier {figure(option('fit.multiplier') or 1)}"
    features = features or "the features listed under settings"
    return f"Maximum entropy (MaxEnt{tsallis}) with {features} and {penalty}, {multiplier}."


def certificate(results: Results) -> str:
    """Return how far a model is from its optimum, and over which weights that is proved."""
    n, shared = results.numbers, results.tree("shared")
    if number(n.get("gap")) is None:
        return "The results hold no certificate."
    gap, species = figure(n["gap"], 2), results.kind == "species"
    if number(n.get("members")) is not None:
        return (
            f"The model is the mean of {whole(n['members'])} models, each proved to be within {gap} nats of the best "
            "value of its own objective, over all of its own features. The mean solves no problem of its own, so there "
            "is no optimum that it could be compared with."
        )
    converged = n.get("status") == "converged"
    status = f"The fit stopped before it converged (status: {n.get('status', '')})."
    status = "The fit has converged." if converged else status
    if species and number(shared.get("gap")) is not None:
        return (
            f"{status} All species of the group were fitted in one piece, and the whole is proved to be within {gap} "
            "nats per record of the best value that its objective can have, over all weights of all species, and so "
            "over every possible set of axes."
        )
    if species and shared:
        return (
            f"{status} The axes were given. On them the place of this species is proved to be within {gap} nats of the "
            "best value that its objective can have, over all places."
        )
    oracles = ":" in str(n.get("feature_classes", ""))
    over = {
        "species": f"all {whole(n.get('features'))} features",
        "community": "all weights of all species and edges",
        "group": "all weights of all species, and so over every possible set of axes",
    }.get(results.kind, f"all features {'that the oracles found for any class' if oracles else 'of all classes'}")
    over = results.tree("structure").get("certified_over") or over
    proof = (
        f"It is proved to be within {gap} {_unit(results)} of the best value that the objective can have, over {over}."
    )
    gained = f"the model gained {figure(n.get('regularized_gain'))} nats in comparison with the base distribution"
    return f"{status} {proof}" + (f" The objective is the regularised loss, by which {gained}." if species else "")


def short_certificate(results: Results) -> str:
    """Return how far a model is from its optimum."""
    n = results.numbers
    if number(n.get("gap")) is None:
        return "The results hold no certificate"
    converged = n.get("status") == "converged"
    status = "Converged" if converged else f"Not converged (status: {n.get('status', '')})"
    return f"{status}; proved to be within {figure(n['gap'], 2)} {_unit(results)} of the best possible fit"


def _unit(results: Results) -> str:
    unit = "wrong labels" if results.by_margin else "nats"
    return unit + {"community": " per site", "group": " per record"}.get(results.kind, "")
