"""`sdm simulate`: a virtual landscape and species, whose truth is known."""

from pathlib import Path
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import Overwrite, with_console


@with_console
def simulate(
    console: Console,
    folder: Annotated[Path, typer.Argument(help="Where to write layers, records and the truth.")],
    size: Annotated[int, typer.Option(help="Cells along each side.")] = 200,
    layers: Annotated[int, typer.Option(help="How many layers (3 to 20), one of them land cover.")] = 7,
    species: Annotated[
        int,
        typer.Option(
            help="How many species (1 to 100,000); from the ninth on, rare to common ones with random niches."
        ),
    ] = 1,
    records: Annotated[
        str, typer.Option(metavar="N|N-N", help="Records per species; 20-200: every species has its own number.")
    ] = "200",
    sites: Annotated[int, typer.Option(help="Presence/absence test sites (0 for none).")] = 500,
    noise: Annotated[int, typer.Option(help="Layers of pure noise to add.")] = 0,
    bias: Annotated[bool, typer.Option(help="Records lie near towns; also write the effort.")] = False,
    interaction: Annotated[bool, typer.Option(help="A niche where one variable matters only with another.")] = False,
    shared_axes: Annotated[
        int,
        typer.Option(
            metavar="K",
            help="All species respond to the same K hidden combinations of the layers, and to nothing else; the "
            "combinations and every species' slopes are written to truth/ (0: every species has a niche of its own).",
        ),
    ] = 0,
    warming: Annotated[float, typer.Option(help="Also write layers that are N degrees warmer, to project on.")] = 0.0,
    truth: Annotated[
        bool | None,
        typer.Option(
            "--truth/--no-truth",
            show_default=False,
            help="Write the true suitability of every species as a raster (default: with up to 8 species).",
        ),
    ] = None,
    crs: Annotated[str, typer.Option(help="Coordinate system of the layers.")] = "EPSG:4326",
    seed: Annotated[int, typer.Option(help="Same seed, same world.")] = 1,
    overwrite: Overwrite = False,
) -> None:
    """Make a virtual landscape with a virtual species whose niche is known.

    **Examples**

    sdm simulate demo

    sdm simulate big --size 4000 --layers 14 --species 3 --seed 7

    sdm simulate flora --size 800 --species 1000 --records 20-200

    sdm simulate kin --layers 9 --species 30 --shared-axes 2
    """
    given = {name: value for name, value in locals().items() if name != "console"}
    from sdm.simulate.world import simulate as make

    with console.progress(folder) as progress:
        made = make(**given, progress=progress)
    layers_folder, results = made.folder / "layers", made.folder / "results"
    console.say(f"layers       {layers_folder} ({len(made.layers)} files)")
    console.say(f"records      {made.occurrences}")
    if made.presence_absence:
        console.say(f"test sites   {made.presence_absence}")
    console.say(f"truth        {made.truth_json}")
    if made.axis_tables:
        loadings, slopes = made.axis_tables
        console.say(f"shared axes  {loadings} (what they are made of), {slopes} (how species respond)")
    console.say(f"\nnow: sdm fit {made.occurrences} {layers_folder} --categorical landcover -o {results}")
    console.result(folder=str(made.folder), files=[str(path) for path in made.files])
