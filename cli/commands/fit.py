"""`sdm fit`: from records and layers to a map, curves, numbers and a model."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdm_cli.console import Console, command_line
from sdm_cli.options import INPUTS, from_words, with_run_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdm.options.definitions import RunOptions
    from sdm.workflow.run import RunResult, SpeciesResult

    Tell = Callable[[Console, SpeciesResult, dict[str, int] | None], None]


@with_run_options
def fit(
    console: Console,
    given: dict[str, Any],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="An occurrence file and a folder of layers; or a run file (run.yaml).", metavar=INPUTS),
    ] = None,
) -> None:
    """Fit a model, and write its map, curves, numbers and model file.

    **Examples**

    sdm fit records.csv layers/ -o results

    sdm fit gbif.csv layers/ --categorical landcover --fc LQH --rm 2 -o results

    sdm fit records.gpkg "climate/bio*.tif" --crs EPSG:25833 --test-percent 25 --threshold maxsss -o results

    sdm fit records.csv layers/ --model structural --families l,q,p,h,trees:8 -o results   (trees inside maxent)

    sdm fit survey.csv layers/ --response presence -o results   (presence and absence: a model a species)

    sdm fit run.yaml --fit.multiplier 2 -o results2

    sdm fit presences_swd.csv background_swd.csv -o results   (tables of samples with data)

    Every option can also be written as in a run file (--fit.multiplier 2) or as in Maxent (--betamultiplier 2).
    """
    options = from_words(inputs, given)
    if options.occurrences.response is not None:
        _fit_response(console, options)
        return
    from sdm.workflow.run import run

    with console.progress() as progress:
        result = run(options, command=command_line(), progress=progress)
    finish(console, result)


def _fit_response(console: Console, options: "RunOptions") -> None:
    """Fit presence and absence of every species, and say what was done."""
    from sdm.workflow.classes.response import run_response
    from sdm_cli.commands.classify import as_dict, tell

    with console.progress() as progress:
        result = run_response(options, command=command_line(), progress=progress)
    for name, found in result.species.items():
        if isinstance(found, str):
            console.say(f"\n{name}: failed: {found}")
        else:
            tell(console, found)
    if len(result.species) == 1:
        (found,) = result.species.values()
        console.result(as_dict(found, result.notices))
        return
    good = len(result.species) - len(result.failed)
    console.say(f"\n{good} of {len(result.species)} species fitted; summary: {result.folder / 'summary.csv'}")
    if result.index is not None:
        console.say(f"index: {result.index}")
    rows = [
        {"species": name, "error": found}
        if isinstance(found, str)
        else {"species": name, "error": None, **as_dict(found)}
        for name, found in result.species.items()
    ]
    console.result({"folder": str(result.folder), "notices": result.notices, "species": rows})
    if result.failed:
        raise typer.Exit(1)


def finish(console: Console, result: "RunResult", tell: "Tell | None" = None) -> None:
    """Say what a run did (`tell` what became of a species), and fail if a species did."""
    _tell(console, result, tell or _tell_species)
    console.result(_as_dict(result))
    if result.failed:
        raise typer.Exit(1)


def _tell(console: Console, result: "RunResult", tell: "Tell") -> None:
    """Say what was done, in the order in which a person asks."""
    for species in result.species:
        if species.error is None:
            tell(console, species, result.ledger.get(species.species))
        else:
            console.say(f"{species.species}: failed: {species.error}")
    if len(result.species) > 1:
        good = len(result.species) - len(result.failed)
        console.say(f"\n{good} of {len(result.species)} species fitted; summary: {result.folder / 'summary.csv'}")
        if result.index is not None:
            console.say(f"index: {result.index}")


_SUPPORT = {"training": "outside_support_train", "test": "outside_support_test"}


def tell_records(console: Console, species: str, ledger: dict[str, int] | None) -> None:
    """Say what became of the records of a species."""
    console.say(f"\n{species}")
    if ledger:
        drops = {key: count for key, count in ledger.items() if count and key not in ("read", "kept")}
        dropped = ", ".join(f"{count:,} {key.replace('_', ' ')}" for key, count in drops.items())
        console.say(
            f"  records     {ledger['read']:,} read, {ledger['kept']:,} kept{f' ({dropped})' if dropped else ''}"
        )


def _tell_species(console: Console, species: "SpeciesResult", ledger: dict[str, int] | None) -> None:
    n = species.numbers
    tell_records(console, species.species, ledger)
    console.say(
        f"  model       {n['training_presences']:,} presences, {n['background_points']:,} background points; "
        f"{n['features_with_weight']:,} of {n['features']:,} features ({n['classes']}) have a weight"
    )
    whose = f"each of {n['members']} models " if "members" in n else ""
    near = f"{whose}within {n['gap']:.1e} nats of {'its' if whose else 'the'} optimum, proved"
    console.say(f"  certificate {n['status']}: {near}, after {n['iterations']} rounds")
    if "structure" in n:
        s = n["structure"]
        shares = ", ".join(f"{row['features']} {row['family']}" for row in s["families"])
        console.say(f"  structure   {shares or 'no feature'}; {s['penalties']}")
        console.say(f"              the certificate covers {s['certified_over']}")
    if "tuning" in n:
        t = n["tuning"]
        console.say(f"  tuned       {t['chosen']}: {t['rule']} by {', '.join(t['by'])} of {t['settings']} settings")
    if "path" in n:
        _tell_path(console, n["path"])
    training = f"AUC {n['auc_train']:.4f}, gain {n['gain']:.4f} (regularised {n['regularized_gain']:.4f})"
    console.say(f"  training    {training}, log loss {n['log_loss_train']:.4f}{_mixed(n, 'train')}")
    if n.get("auc_test") is not None:
        records = f"{n['test_presences']:,} records"
        console.say(f"  test        {_tested(n)} ({records}){_mixed(n, 'test')}")
    _tell_assessment(console, n)
    for note in species.notes:
        console.log.info("  note        %s", note)
    console.say(f"  results     {species.folder}")
    for what in ("page", "map", "picture", "plots", "path", "model", "numbers"):
        if what in species.files:
            console.say(f"    {what:<9} {species.files[what]}")


def _tell_path(console: Console, path: dict[str, Any]) -> None:
    """Say what the path over the multiplier is like, and where its choices are."""
    proof = f"the gap is at most {path['gap']:.1e} nats everywhere" if path["certified"] else "the gap is not proved"
    console.say(f"  path        {path['fits']} fits from {path['from']:.4g} to {path['to']:g}; {proof}")
    for key, what in (("best", "least loss"), ("one_se", "simplest")):
        loss = f"held-out loss {path[key]['held_out_loss']:.4f} ± {path[key]['standard_error']:.4f}"
        fitted = " (fitted)" if key == path["choice"] else ""
        console.say(
            f"  {what:<11} multiplier {path[key]['multiplier']:.4g}, {path[key]['features']} features, {loss}{fitted}"
        )


def _tell_assessment(console: Console, n: dict[str, Any]) -> None:
    """Say what the model is worth on records that it has not seen, and which variables it needs."""
    if "range" in n:
        inside = [f"{1 - n[key]:.1%} of the {what} records inside" for what, key in _SUPPORT.items() if key in n]
        size = f"{n['range']['area_km2']:,.0f} km² in {n['range']['patches']:,} patches"
        console.say(f"  range       {size}, {', '.join(inside)}")
    if "cross_validation" in n:
        found = n["cross_validation"]
        mean, what = found["mean"], f"{len(found['rows'])} folds"
        scores = (
            f"AUC {mean['auc.val.avg']:.4f}, Boyce {mean['cbi.val.avg']:.4f}, 10p omission {mean['or.10p.avg']:.4f}"
        )
        how = f"({found['method']}, {found['background']} background)"
        console.say(f"  {what:<11} {scores}, gain {mean['gain.val.avg']:.4f} {how}")
    if "null_models" in n:
        first = next(test for test in n["null_models"]["tests"] if test["measure"] == "auc.val")
        effect = f"AUC {first['real']:.4f} against {first['null_mean']:.4f}: effect {first['effect']:.2f}"
        console.say(f"  null models {effect}, p = {first['p']:.3g} of {n['null_models']['iterations']}")
    if "presence_absence" in n:
        found = n["presence_absence"]
        scores = (
            f"AUC {found['auc']:.4f}, COR {found['cor']:.4f}, Brier {found['brier']:.4f}, PR gain {found['prg']:.4f}"
        )
        console.say(f"  survey      {scores} ({found['presences']:,} presences, {found['absences']:,} absences)")
    if n.get("importance", {}).get("permutation"):
        ranked = sorted(n["importance"]["permutation"], key=lambda row: -row["percent"])
        text = ", ".join(f"{row['variable']} {row['percent']:.0f} %" for row in ranked[:4] if row["percent"] >= 0.5)
        console.say(f"  importance  {text or 'no variable matters'} (permutation)")


def _mixed(n: dict[str, Any], part: str) -> str:
    """Say what the log loss is when a little of the background is mixed in, where exact zeros can make it infinite."""
    key = f"log_loss_mixed_{part}"
    return f"; {n[key]:.4f} with 0.1 % of the background mixed in" if key in n else ""


def _tested(n: dict[str, Any]) -> str:
    return f"AUC {n['auc_test']:.4f}, gain {n['test_gain']:.4f}, log loss {n['log_loss_test']:.4f}"


def _as_dict(result: "RunResult") -> dict[str, Any]:
    return {
        "folder": str(result.folder),
        "notices": result.notices,
        "species": [
            {
                "species": species.species,
                "folder": None if species.folder is None else str(species.folder),
                "error": species.error,
                "numbers": species.numbers,
                "files": species.files,
                "notes": species.notes,
                "records": result.ledger.get(species.species),
            }
            for species in result.species
        ],
    }
