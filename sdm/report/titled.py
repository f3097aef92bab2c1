"""Pictures by the names of the functions that draw them, so that the process of a run need not load these."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from sdm.report.paper import Paper


@dataclass(frozen=True)
class Titled:
    """A picture to draw: the name of its file, the function of `sdm.report.figures` that draws it, and what that is
    given before and after the path."""

    title: str
    drawn_by: str  # module and function
    given: tuple[Any, ...]
    ways: dict[str, Any] = field(default_factory=dict)

    def draw(self, folder: Path, paper: Paper) -> Path:
        """Draw it into a folder."""
        module, name = self.drawn_by.split(".")
        function = getattr(import_module(f"sdm.report.figures.{module}"), name)
        path: Path = function(*self.given, folder / f"{self.title}.png", paper=paper, **self.ways)
        return path


def draw_titled(pictures: Sequence[Titled], folder: Path, paper: Paper, files: dict[str, Any]) -> None:
    """Draw pictures into the folder `plots` of a folder, if there are any, and note its name."""
    for picture in pictures:
        picture.draw(make_plots(folder, files), paper)


def make_plots(folder: Path, files: dict[str, Any]) -> Path:
    """Return the folder of pictures, which is there then, and note its name."""
    files["plots"] = "plots"
    (folder / "plots").mkdir(exist_ok=True)
    return folder / "plots"


def get_ready() -> None:
    """Load what draws the pictures of a run, and draw for nobody, so that the first picture does not take longer than
    others. For a process that does nothing else: it has none of the help texts that matplotlib writes for its classes
    while it is loaded, which takes a fifth of that time."""
    from matplotlib import artist

    artist.kwdoc = lambda artist: ""
    for module in ("maps.picture", "maps.painted", "assessment"):
        import_module(f"sdm.report.figures.{module}")
    from sdm.report.figures.curves import rehearse_curve

    rehearse_curve()


def draw_species_curves(
    profiles: Sequence[Any], folder: Path, scale: str, names: dict[str, str], paper: Paper, order: Sequence[str],
    files: dict[str, Any],
) -> None:  # fmt: skip
    """Draw the responses of a species to its variables."""
    from sdm.report.figures.curves import draw_profiles

    draw_profiles(profiles, make_plots(folder, files), scale, names, paper, order)
