"""`sdm info`: what is in a model file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdm_cli.commands.classify import tell_classes
from sdm_cli.commands.joint import tell_joint
from sdm_cli.console import Console
from sdm_cli.options import Debug, Json

if TYPE_CHECKING:
    from sdm.models.species import Model


def info(
    model: Annotated[Path, typer.Argument(help="A model file (.npz).")],
    features: Annotated[int, typer.Option(help="List so many features, those with the largest weights first.")] = 15,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Show what is in a model file: data, settings, features, weights, certificate, seed, versions.

    **Example**:  sdm info results/Bradypus_variegatus.npz
    """
    console = Console(as_json=as_json, debug=debug)
    with console.guard():
        from sdm.archive import format_of
        from sdm.errors import ModelFileError
        from sdm.models.species import Model

        others = {"sdm-classes": tell_classes, "sdm-joint": tell_joint}
        try:
            if tell := others.get(str(format_of(model))):
                tell(console, model, features)
                return
            loaded = Model.load(model)
            _tell(console, loaded, features)
            console.result(_as_dict(loaded))
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise ModelFileError(
                f"{model} says of itself what no fit writes ({type(error).__name__}): copy or fit it again"
            ) from error


def _tell(console: Console, model: "Model", features: int) -> None:
    meta = model.meta
    console.say(f"species      {meta.get('species', '?')}")
    console.say(f"fitted by    sdm {meta.get('version', '?')}, seed {meta.get('seed', '?')}")
    console.say(f"data         {meta.get('presences', '?')} presences, {model.n_domain:,} points in the domain")
    whose = f"each of {meta['members']} models " if "members" in meta else ""
    near = f"{whose}within {meta.get('gap', float('nan')):.1e} nats of {'its' if whose else 'the'} optimum"
    console.say(f"certificate  {meta.get('status')}: {near}")
    console.say(f"gain         {meta.get('gain', float('nan')):.4f} (regularised), entropy {model.entropy:.4f} nats")
    console.say(f"order        {model.alpha:g} ({'Shannon' if model.alpha == 1 else 'Tsallis: can be exactly zero'})")
    _tell_structure(console, meta.get("structure"), meta.get("gain", 0.0))
    settings = ", ".join(f"{key}={value}" for key, value in meta.get("settings", {}).items() if value not in (None, []))
    console.say(f"settings     {settings}")
    if meta.get("sampling"):
        console.say(f"sampling     {', '.join(f'{key}={value}' for key, value in meta['sampling'].items())}")
    console.say("\nvariables")
    for variable in model.variables:
        what = f"{len(variable.classes)} classes" if variable.categorical else f"{variable.lo:g} to {variable.hi:g}"
        console.say(f"  {variable.name:<24} {what}")
    names, weights = model.feature_names, model.weights
    order = sorted(range(len(names)), key=lambda j: -abs(weights[j]))
    console.say(f"\nfeatures with a weight: {len(order)} of {meta.get('n_features', '?')}")
    for j in order[:features]:
        console.say(f"  {weights[j]:>10.4f}  {names[j]}")
    if len(order) > features:
        console.say(f"  … and {len(order) - features} more (--features {len(order)} shows all)")


def _tell_structure(console: Console, structure: dict[str, Any] | None, gain: float) -> None:
    """Say what a structural model is made of, and what its certificate covers."""
    if not structure:
        return
    console.say(f"covers       {structure['certified_over']}")
    console.say(f"penalties    {structure['penalties']}, complexity by {structure['complexity']}")
    promise = "nats above the best model of the same size, with probability 0.95 (Theorem 2)"
    says_nothing = structure["excess_bound"] > gain
    console.say(f"bound        true log loss at most {structure['excess_bound']:.3f} {promise}")
    if says_nothing:
        console.say("             (more than the model gains at all: with so few presences the theorem says nothing)")
    console.say("families     features  weight   price  gain lost without")
    for row in structure["families"]:
        figures = f"{row['features']:>8}  {row['weight']:6.2f}  {row['price']:6.3f}  {row['gain']:6.3f}"
        console.say(f"  {row['family']:<11}{figures}")


def _as_dict(model: "Model") -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "meta": model.meta,
        "entropy": model.entropy,
        "order": model.alpha,
        "n_domain": model.n_domain,
        "prevalence": model.prevalence,
        "unseen": model.unseen,
        "variables": [asdict(variable) for variable in model.variables],
        "features": [
            {"name": name, "weight": weight} for name, weight in zip(model.feature_names, model.weights.tolist())
        ],
    }
