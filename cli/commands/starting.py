"""Commands for the start: `sdm example`, `simulate`, `init`, `schema`, `help`, `cite` and `version`."""

import difflib
import json
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import sdm
from sdm._version import __version__
from sdm_cli.console import Console
from sdm_cli.options import BRIEF, Overwrite, with_console

_HERE = Path(__file__).parents[1]
_CHECKOUT = Path(sdm.__file__).parents[1]
SAMPLE, GUIDE = "sample", "guide"
# Folders of the installed package; in a checkout, folders of the project (pyproject.toml, package-dir).
_HOMES = {SAMPLE: "sample_data", GUIDE: "docs"}


def shipped(name: str) -> Path:
    """Return the folder of the sample data (`SAMPLE`), or of the documentation (`GUIDE`)."""
    installed = _HERE / name
    return installed if installed.is_dir() else _CHECKOUT / _HOMES[name]


@with_console
def example(
    console: Console,
    folder: Annotated[
        Path | None,
        typer.Argument(
            show_default=False,
            metavar="FOLDER",
            help="New or empty folder for the sample data. Default: this folder, where nothing is replaced.",
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Copy sample data and a run file to a folder.

    The species are virtual, so that a model can be compared with the true suitability.

    Examples:

      sdm example
      sdm example first
    """
    from sdm.storage.commit import claim, staging

    in_place = folder is None
    place = Path() if folder is None else folder
    if in_place and not overwrite:
        _refuse_taken(place)
    replace = overwrite or in_place
    with claim(place, overwrite=replace), staging(place, overwrite=replace, keep=in_place) as stage:
        shutil.copytree(shipped(SAMPLE), stage, dirs_exist_ok=True)
    files = sorted(path for each in _names() for path in (place / each, *(place / each).rglob("*")) if path.is_file())
    console.say(f"records      {place / 'occurrences.csv'} (three species)")
    console.say(f"layers       {place / 'layers'} (today), {place / 'warmer'} (two degrees warmer)")
    console.say(f"survey       {place / 'presence_absence.csv'} (presence and absence of each species)")
    console.say(f"read first   {place / 'README.md'}, or: sdm help first_model")
    console.say(f"\nnow: sdm fit {place / 'run.yaml'}")
    console.answer(folder=str(place), files=[str(path) for path in files])


def _names() -> list[str]:
    """Return the files and folders of the sample data."""
    return sorted(path.name for path in shipped(SAMPLE).iterdir() if not path.name.startswith(("__", ".")))


def _refuse_taken(place: Path) -> None:
    """Raise OutputError if this folder contains a name of the sample data."""
    from sdm.errors import OutputExistsError

    taken = [name for name in _names() if (place / name).exists()]
    if taken:
        raise OutputExistsError(f"{taken[0]} exists already: name a new folder, as in 'sdm example first'")


@with_console
def simulate(
    console: Console,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder for layers, records and truth.")],
    size: Annotated[int, typer.Option(metavar="N", help="Number of cells along each side.")] = 200,
    layers: Annotated[int, typer.Option(metavar="N", help="Number of layers (3 to 20), with land cover.")] = 7,
    species: Annotated[
        int,
        typer.Option(metavar="N", help="Number of species (1 to 100,000). From the ninth on, niches are random."),
    ] = 1,
    records: Annotated[
        str, typer.Option(metavar="N|N-N", help="Records per species, or a range for random numbers.")
    ] = "200",
    sites: Annotated[int, typer.Option(metavar="N", help="Test sites with presence and absence (0: none).")] = 500,
    noise: Annotated[int, typer.Option(metavar="N", help="Number of additional layers of noise.")] = 0,
    bias: Annotated[bool, typer.Option(help="Sample records near towns, and write the effort.")] = False,
    interaction: Annotated[bool, typer.Option(help="Simulate a niche with an interaction of two variables.")] = False,
    shared_axes: Annotated[
        int,
        typer.Option(
            metavar="K",
            help="Number of hidden combinations of layers for all species (0: none). The "
            "combinations and the slopes of the species are written to truth/.",
        ),
    ] = 0,
    warming: Annotated[
        float, typer.Option(metavar="NUMBER", help="Also write layers with a warming, in degrees.")
    ] = 0.0,
    truth: Annotated[
        bool | None,
        typer.Option(
            "--truth/--no-truth",
            show_default=False,
            help="Write rasters of the true suitability. Default: with up to 8 species.",
        ),
    ] = None,
    crs: Annotated[str, typer.Option(metavar="CRS", help="Coordinate system of the layers.")] = "EPSG:4326",
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of all random numbers.")] = 1,
    overwrite: Overwrite = False,
) -> None:
    """Simulate a landscape, and species with a known niche.

    Examples:

      sdm simulate demo
      sdm simulate large --size 1000 --layers 14 --species 3 --seed 7
      sdm simulate flora --species 100 --records 20-200
      sdm simulate group --layers 9 --species 30 --shared-axes 2
    """
    settings = {name: value for name, value in locals().items() if name != "console"}
    from sdm.simulate.world import simulate as make

    with console.progress(folder) as progress:
        made = make(**settings, progress=progress)
    layers_folder, results = made.folder / "layers", made.folder / "results"
    console.say(f"layers       {layers_folder} ({len(made.layers)} files)")
    console.say(f"records      {made.occurrences}")
    if made.presence_absence:
        console.say(f"test sites   {made.presence_absence}")
    console.say(f"truth        {made.truth_json}")
    if made.axis_tables:
        loadings, slopes = made.axis_tables
        console.say(f"shared axes  {loadings} (their variables), {slopes} (the slopes of the species)")
    console.say(f"\nnow: sdm fit {made.occurrences} {layers_folder} --categorical landcover -o {results}")
    console.answer(folder=str(made.folder), files=[str(path) for path in made.files])


@partial(with_console, common=BRIEF)
def init(
    console: Console,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Run file to write.")] = Path("run.yaml"),
    overwrite: Overwrite = False,
) -> None:
    """Write a commented run file with every option and its default.

    Examples:

      sdm init new.yaml
      sdm init new.yaml --overwrite
    """
    from sdm.options.reading import template
    from sdm.storage.files import write_text

    write_text(path, template(), overwrite=overwrite)
    console.say(f"written: {path}; fill in occurrences.file, layers.files and output.folder, then: sdm fit {path}")
    console.answer(files=[str(path)])


@partial(with_console, common=["debug"])
def schema(
    console: Console,
    of: Annotated[
        str,
        typer.Argument(help="The schema of run files, or of the results with --json.", metavar="run|answer"),
    ] = "run",
) -> None:
    """Print the JSON Schema of run files, or of the results that commands print with --json.

    Examples:

      sdm schema > sdm.schema.json
      sdm schema answer
    """
    from sdm.errors import OptionError

    if of == "run":
        from sdm.options.reading import run_file_schema as made
    elif of == "answer":
        from sdm.run.outcome import outcome_schema as made
    else:
        raise OptionError(f"schema {of!r}: expected run or answer")
    console.say(json.dumps(made(), indent=1))


NOT_TOPICS = ("api",)  # help() of Python shows the Python reference
NOT_FOR_USERS = ("development", "notebooks")  # folders of the documentation


def topics() -> dict[str, Path]:
    """Return the page of every topic."""
    pages = shipped(GUIDE).glob("*/*.md")
    listed = (page for page in pages if page.stem not in NOT_TOPICS and page.parent.name not in NOT_FOR_USERS)
    return {page.stem: page for page in sorted(listed, key=lambda page: page.stem)}


def title(page: Path) -> str:
    """Return the title of a page."""
    with page.open(encoding="utf-8") as lines:
        return lines.readline().lstrip("# ").strip()


@partial(with_console, common=["debug"], settings={"ignore_unknown_options": True})  # sdm help --multiplier
def help(
    console: Console,
    topic: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A page, an option, a term or an error code. Default: list all pages."),
    ] = None,
) -> None:
    """Show a page of the documentation, an option, a term of the glossary, or an error code.

    Examples:

      sdm help
      sdm help bias
      sdm help multiplier
      sdm help E013
    """
    from sdm.errors import UnknownOptionError
    from sdm_cli.lookup import error_entry, look_up

    pages = topics()
    if topic is None:
        width = max(map(len, pages))
        console.lines(f"{name:<{width}}  {title(page)}" for name, page in pages.items())
        console.say("\nFor a page, an option or a term: sdm help NAME. For the options of a command: sdm fit --help")
        return
    name = topic.lower().removesuffix(".md").replace("-", "_")
    entry = error_entry(topic, pages["errors"])
    if name not in pages and not entry:
        if entries := look_up(topic, pages["glossary"]):
            console.lines(entries)
            return
        near = difflib.get_close_matches(name, pages, 3)
        like = f"did you mean {' or '.join(near)}?" if near else "'sdm help' lists all pages"
        raise UnknownOptionError(f"there is no page, option or term {topic!r}: {like}")
    text = entry or pages[name].read_text(encoding="utf-8")
    if sys.stdout is None or not sys.stdout.isatty():
        console.say(text)
        return
    from rich.console import Console as Terminal
    from rich.markdown import Markdown

    Terminal().print(Markdown(text, hyperlinks=False))  # links are names of other topics


YEAR = 2026


@partial(with_console, common=BRIEF)
def cite(
    console: Console,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print only the BibTeX entries.")] = False,
) -> None:
    """Print the citation of the program and of its method. 'sdm help references' lists more works.

    Examples:

      sdm cite
      sdm cite --bibtex > sdm.bib
    """
    entries = (_HERE / "citation.bib").read_text(encoding="utf-8").rstrip("\n")
    entries = entries.replace("VERSION", __version__).replace("YEAR", str(YEAR))
    if not bibtex:
        title = "sdm: species distribution models by maximum entropy"
        console.say(f"The sdm developers ({YEAR}). {title}, version {__version__}.\n")
    console.say(entries)
    console.answer(notices=[entries])


def version() -> None:
    """Print the version."""
    print(f"sdm {__version__}")
