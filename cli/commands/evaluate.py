"""`sdm evaluate`: a model on records that it has not seen."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sdm_cli.console import Console
from sdm_cli.options import Align, Debug, Json, Nodata, Quiet, Verbose

WIDEST = 12
"""Classes of a confusion matrix that is printed."""

_ONE, _CLASSES, _JOINT = "Models of one species", "Class models", "Joint models"


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file (.npz) of sdm fit, sdm classify or sdm joint.")],
    presences: Annotated[
        Path,
        typer.Option(
            "--presences",
            "--sites",
            help="Records of the species (with a 0/1 column, absences too); points with a class or proportions; or "
            "sites with a 0/1 column a species.",
        ),
    ],
    layers: Annotated[
        list[str] | None, typer.Option(help="The model's layers; not needed if the files have its variables.")
    ] = None,
    crs: Annotated[str | None, typer.Option(help="Coordinate system of the records.")] = None,
    x_column: Annotated[str | None, typer.Option(help="Column with the longitude or easting.")] = None,
    y_column: Annotated[str | None, typer.Option(help="Column with the latitude or northing.")] = None,
    nodata: Nodata = None,
    align: Align = None,
    absences: Annotated[
        Path | None, typer.Option(help="Sites where the species was not found.", rich_help_panel=_ONE)
    ] = None,
    background: Annotated[
        str | None,
        typer.Option(
            help="A file of background points, or how many to draw (default: 10000).",
            rich_help_panel=_ONE,
        ),
    ] = None,
    species: Annotated[
        str | None, typer.Option(help="Use only this species of the file.", rich_help_panel=_ONE)
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="A raster of the true suitability, where it is known (see 'sdm simulate').", rich_help_panel=_ONE
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the background (default: 1).", rich_help_panel=_ONE)
    ] = None,
    class_column: Annotated[
        str | None,
        typer.Option(help="Column with the classes (default: as the model was fitted).", rich_help_panel=_CLASSES),
    ] = None,
    proportions: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns with the proportions of the classes, in place of one with classes.", rich_help_panel=_CLASSES
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            help="Use only records with this value in a column: column=value (default: as the model was fitted).",
            rich_help_panel=_CLASSES,
        ),
    ] = None,
    site_column: Annotated[
        str | None,
        typer.Option(
            help="With --layers TABLE: the column that names sites in both tables.",
            rich_help_panel=_JOINT,
        ),
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Measure a model on other records: AUC, log loss, Boyce index, omission; with absences also correlation, Brier
    score, precision-recall-gain, skill and calibration.

    A class model is measured as `sdm classify` tests it: log loss, accuracy, kappa, AUC of every class, confusion
    matrix. A joint model is measured as `sdm joint` tests it: Hamming errors, joint log loss, AUC of every species,
    error of the richness.

    **Examples**

    sdm evaluate results/sp.npz --presences new.csv --layers layers/

    sdm evaluate results/sp.npz --presences found.csv --absences not_found.csv --layers layers/

    sdm evaluate results/sp.npz --presences survey.csv --layers layers/   (a column 'presence' says 1 or 0)

    sdm evaluate results/habitat.npz --sites new_plots.csv --class-column habitat --layers layers/

    sdm evaluate results/joint.npz --sites new_sites.csv --layers layers/   (a 0/1 column a species)
    """
    console = Console(quiet=quiet, verbose=verbose, as_json=as_json, debug=debug)
    with console.guard():
        from sdm.workflow.evaluating import evaluate_files

        numbers = evaluate_files(
            model,
            presences,
            layers=layers,
            absences=absences,
            background=background,
            species=species,
            class_column=class_column,
            proportions=proportions or (),
            select=select or (),
            site_column=site_column,
            crs=crs,
            x_column=x_column,
            y_column=y_column,
            nodata=nodata,
            align=align,
            truth=truth,
            seed=seed,
        )
        for notice in numbers["notices"]:
            console.log.info(notice)
        tell = _tell_classes if "confusion" in numbers else _tell_joint if "hamming" in numbers else _tell
        tell(console, numbers)
        for text in numbers.get("warnings", ()):
            console.log.warning("warning: %s", text)
        console.result(numbers)


def _tell(console: Console, numbers: dict[str, Any]) -> None:
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


def _tell_classes(console: Console, numbers: dict[str, Any]) -> None:
    console.say(f"sites        {numbers['sites']:,}")
    console.say(f"log loss     {numbers['log_loss']:.4f} nats (constant model {numbers['constant_log_loss']:.4f})")
    if count := numbers["sites_given_no_probability"]:
        console.say(f"             ({count:,} sites whose class got no probability count as 1e-6)")
    console.say(f"accuracy     {numbers['accuracy']:.4f}")
    console.say(f"kappa        {numbers['kappa']:.4f}")
    console.say(f"AUC          {numbers['mean_auc']:.4f} (mean over classes)")
    classes, confusion = numbers["classes"], numbers["confusion"]
    wide = min(max(map(len, [*classes, "class"])), 30)
    console.say(f"\n{'class':<{wide}}     sites     AUC  recall  precision")
    for name, row in zip(classes, confusion):
        figures = f"{numbers['auc'][name]:8.4f}{numbers['recall'][name]:8.4f}{numbers['precision'][name]:11.4f}"
        console.say(f"{name[:wide]:<{wide}}{sum(row):>10.7g}{figures}")
    if len(classes) > WIDEST:
        console.say(f"\nthe confusion matrix of {len(classes)} classes is in the result of --json")
        return
    console.say("\nconfusion: a row a class on record, a column a most probable class")
    console.say(" " * wide + "".join(f"  {name[:10]:>10}" for name in classes))
    for name, row in zip(classes, confusion):
        console.say(f"{name[:wide]:<{wide}}" + "".join(f"  {value:>10.5g}" for value in row))


def _tell_joint(console: Console, numbers: dict[str, Any]) -> None:
    from sdm.workflow.community.testing import MEASURES
    from sdm_cli.commands.joint import figure

    console.say(f"{'sites':<42}{numbers['sites']:>9,}")
    console.say(f"{'known labels':<42}{numbers['labels']:>9,}")
    for key, text in MEASURES.items():
        console.say(f"{text:<42}{figure(numbers[key]):>9}")
    console.say("\nAUC")
    for name, value in numbers["species"].items():
        console.say(f"  {name:<40}{figure(value):>9}")
