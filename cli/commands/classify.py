"""`sdm classify`: habitats, vegetation types or species from points with a class, or from a raster of classes."""

import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdm.options.classes import ClassifyOptions, classify_leaves, make_classify_options, read_classify_yaml
from sdm_cli.console import Console, command_line
from sdm_cli.options import _COMMON, _parameter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sdm.workflow.classes.fitting import ClassifyResult

_SHOWN = {word: leaf.shown.replace("_", "-") for leaf in classify_leaves() for word in leaf.spellings}


def normalize(token: str) -> str:
    """Bring any spelling of an option to the one shown: --fc to --features."""
    word = token.replace("-", "_")
    if word.startswith("no_") and word[3:] in _SHOWN:
        return f"no-{_SHOWN[word[3:]]}"
    return _SHOWN.get(word, token)


def _with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give the command every option of `ClassifyOptions`, after its own words."""
    own = [p for p in inspect.signature(function).parameters.values() if p.name not in ("console", "given")]
    options = {leaf.name: leaf for leaf in classify_leaves() if leaf.name not in ("records", "layers")}
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    parameters += [_parameter(name, leaf, hidden=False) for name, leaf in options.items()]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=False)
        for name, annotation in _COMMON.items()
    ]

    def command(**values: Any) -> None:
        console = Console(*(values.pop(name) for name in _COMMON))
        typed = {name: values.pop(name) for name in options}
        given = {name: value for name, value in typed.items() if value not in (None, [], ())}
        with console.guard():
            function(console, given, **values)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def from_words(words: list[str] | None, given: dict[str, Any]) -> ClassifyOptions:
    """Make options from the command's words: a run file, or points (unless there is a raster of classes) and layers."""
    sources: list[dict[str, Any]] = []
    words = list(words or [])
    if words and words[0].lower().endswith((".yaml", ".yml")):
        sources.append(read_classify_yaml(words.pop(0)))
    elif words and "classes" not in given:
        sources.append({"records": words.pop(0)})
    if words:
        sources.append({"layers": words})
    return make_classify_options(*sources, given)


@_with_options
def classify(
    console: Console,
    given: dict[str, Any],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="A file of points and a folder of layers; with --classes, layers alone; or a run file.",
            metavar="POINTS LAYERS | LAYERS | RUN.YAML",
        ),
    ] = None,
) -> None:
    """Model classes from the environment, and write probabilities, the class map, its entropy, tests and the model.

    **Examples**

    sdm classify plots.csv layers/ --class-column habitat -o results

    sdm classify plots.gpkg layers/ --class-column vegetation --features l,q,trees:8 --folds 5 -o results

    sdm classify layers/ --classes landcover.tif --points 5000 --test-percent 25 -o results

    sdm classify cover.csv layers/ --proportions forest,meadow,bog --entropy 2 -o results   (cover fractions)
    """
    options = from_words(inputs, given)
    from sdm.workflow.classes.fitting import classify as run_classify

    with console.progress() as progress:
        result = run_classify(options, command=command_line(), progress=progress)
    tell(console, result)
    console.result(as_dict(result))


def as_dict(result: "ClassifyResult", notices: "Sequence[str]" = ()) -> dict[str, Any]:
    """Return the machine-readable result of a run."""
    return {"folder": str(result.folder), **result.numbers, "notices": [*notices, *result.notices]}


def tell(console: Console, result: "ClassifyResult") -> None:
    """Say what a run did."""
    n = result.numbers
    for notice in result.notices:
        console.log.info(notice)
    console.say(f"\n{n['title']}: {len(n['classes'])} classes, {n['sites']:,} sites")
    console.say(
        f"  model       {n['training_sites']:,} sites; {n['features_with_weight']:,} of {n['features']:,} features "
        "have a weight in a class"
    )
    if n["multiplier_search"]:
        which = f"{n['multiplier']:.3g}" if math.isfinite(n["multiplier"]) else "infinite, the constant model"
        console.say(f"  penalty     {n['regularization']}, multiplier {which}, chosen by the loss at held-out sites")
    near = f"within {n['gap']:.1e} nats of the optimum, proved"
    console.say(f"  certificate {n['status']}: {near}, after {n['iterations']} rounds")
    for name, m in n["measures"].items():
        beside = f"(constant model {_figure(m['constant_log_loss'])})"
        figures = f"accuracy {_figure(m['accuracy'])}, kappa {_figure(m['kappa'])}, mean AUC {_figure(m['mean_auc'])}"
        console.say(f"  {name:<11} log loss {_figure(m['log_loss'])} {beside}, {figures}")
    best = max(n["permutation_importance"], key=lambda row: row["percent"])
    if best["percent"] > 0:
        console.say(f"  importance  {best['variable']} most ({best['percent']:.0f} % of the rises when shuffled)")
    console.say(f"  results     {result.folder}")
    for what in (
        "page",
        "class map",
        "probability map",
        "entropy map",
        "picture",
        "probability picture",
        "confusion",
        "model",
        "numbers",
    ):
        if what in result.files:
            console.say(f"    {what:<19} {result.files[what]}")


def _figure(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "–"


def tell_classes(console: Console, path: "Path", features: int) -> None:
    """Say what is in the file of a class model, for `sdm info`."""
    from dataclasses import asdict

    from sdm.models.classes import ClassModel

    model = ClassModel.load(path)
    meta, names = model.meta, model.feature_names
    console.say(f"classes      {', '.join(model.labels)}")
    console.say(f"fitted by    sdm {meta.get('version', '?')}, seed {meta.get('seed', '?')}")
    console.say(f"data         {meta.get('sites', '?')} sites")
    console.say(f"certificate  {meta.get('status')}: within {meta.get('gap', float('nan')):.1e} nats of the optimum")
    console.say(f"order        {model.alpha:g} ({'softmax' if model.alpha == 1 else 'a class can get no probability'})")
    settings = ", ".join(f"{key}={value}" for key, value in meta.get("settings", {}).items() if value not in (None, []))
    console.say(f"settings     {settings}")
    console.say("\nvariables")
    for variable in model.variables:
        what = f"{len(variable.classes)} categories" if variable.categorical else f"{variable.lo:g} to {variable.hi:g}"
        console.say(f"  {variable.name:<24} {what}")
    order = sorted(range(len(names)), key=lambda j: -float(abs(model.weights[:, j]).max()))
    console.say(f"\nfeatures with a weight: {len(order)} of {meta.get('n_features', '?')}")
    for j in order[:features]:
        c = int(abs(model.weights[:, j]).argmax())
        console.say(f"  {model.weights[c, j]:>10.4f}  {names[j]}  (for {model.labels[c]})")
    if len(order) > features:
        console.say(f"  … and {len(order) - features} more (--features {len(order)} shows all)")
    console.result(
        {
            "classes": list(model.classes),
            "meta": meta,
            "order": model.alpha,
            "variables": [asdict(variable) for variable in model.variables],
            "constants": model.intercept.tolist(),
            "features": [{"name": name, "weights": w.tolist()} for name, w in zip(names, model.weights.T)],
        }
    )
