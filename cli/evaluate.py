"""`sdm evaluate`: a model on records that it has not seen."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sdm_cli.console import Console
from sdm_cli.options import Align, Debug, Json, Nodata, Quiet, Verbose


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file (.npz).")],
    presences: Annotated[Path, typer.Option(help="Records of the species; with a 0/1 column, absences too.")],
    layers: Annotated[
        list[str] | None, typer.Option(help="The model's layers; not needed if the files have its variables.")
    ] = None,
    absences: Annotated[Path | None, typer.Option(help="Sites where the species was not found.")] = None,
    background: Annotated[
        str | None, typer.Option(help="A file of background points, or how many to draw (default: 10000).")
    ] = None,
    species: Annotated[str | None, typer.Option(help="Use only this species of the file.")] = None,
    crs: Annotated[str | None, typer.Option(help="Coordinate system of the records.")] = None,
    nodata: Nodata = None,
    align: Align = None,
    truth: Annotated[
        Path | None, typer.Option(help="A raster of the true suitability, where it is known (see 'sdm simulate').")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the background.")] = 1,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Measure a model on other records: AUC, log loss, Boyce index, omission; with absences also correlation, Brier
    score, precision-recall-gain, skill and calibration.

    **Examples**

    sdm evaluate results/sp.npz --presences new.csv --layers layers/

    sdm evaluate results/sp.npz --presences found.csv --absences not_found.csv --layers layers/

    sdm evaluate results/sp.npz --presences survey.csv --layers layers/   (a column 'presence' says 1 or 0)
    """
    console = Console(quiet=quiet, verbose=verbose, as_json=as_json, debug=debug)
    with console.guard():
        from sdm.run.evaluating import evaluate_files

        numbers = evaluate_files(
            model,
            presences,
            layers=layers,
            absences=absences,
            background=background,
            species=species,
            crs=crs,
            nodata=nodata,
            align=align,
            truth=truth,
            seed=seed,
        )
        _tell(console, numbers)
        console.result(numbers)


def _tell(console: Console, numbers: dict[str, Any]) -> None:
    for notice in numbers["notices"]:
        console.log.info(notice)
    console.say(f"presences    {numbers['presences']:,}")
    console.say(f"against      {numbers['others']:,} {numbers['against']} points")
    console.say(f"AUC          {numbers['auc']:.4f} (standard deviation {numbers['auc_deviation']:.4f})")
    console.say(f"log loss     {numbers['log_loss']:.4f} nats (gain {numbers['gain']:.4f})")
    if "correlation" in numbers:
        found = numbers["presence_absence"]
        console.say(f"correlation  {found['cor']:.4f}")
        console.say(f"Brier score  {found['brier']:.4f}")
        console.say(f"PR gain      {found['prg']:.4f} (area below precision-recall-gain)")
        best = f"at most {found['tss.max']:.4f}, at {found['tss.max.threshold']:.4f}"
        console.say(f"TSS          {found['tss']:.4f} at the training threshold maxsss ({best})")
        console.say("calibration  predicted  observed  sites")
        for row in found["calibration"]:
            console.say(f"             {row['predicted']:9.3f}  {row['observed']:8.3f}  {row['count']:5,}")
    boyce = numbers["presence_absence"]["cbi"] if "presence_absence" in numbers else numbers["cbi"]
    console.say(f"Boyce index  {boyce:.4f}")
    if "truth_correlation" in numbers:
        console.say(f"truth        correlation {numbers['truth_correlation']:.4f} of the map with the true suitability")
    for key, omission in numbers["omission"].items():
        console.say(f"omission     {omission:.4f} at {key}")
