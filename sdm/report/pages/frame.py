"""The frame of every page: one file that opens offline, with the sections that have content."""

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from colorsys import hls_to_rgb, rgb_to_hls
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from jinja2 import Environment, FunctionLoader, TemplateError, Undefined
from markupsafe import Markup

from sdm.errors import ResultsError
from sdm.models.colours import hex_colour, read_colour
from sdm.report.charts import COLOURS, SHADE, WHISKER
from sdm.report.model_figures import draw_model
from sdm.report.pages import words
from sdm.report.pages.cautions import CautionsOf, cautions
from sdm.report.paper import Paper
from sdm.report.results import Results
from sdm.types import Numbers

DIMMEST = 0.6  # lightness of a line on a dark page, at least
# What charts are drawn in beside the palette: light page, dark page.
NEUTRAL = {
    "#e3e6e8": "#3a444c", "#444444": "#aab4bb", SHADE: "#26313a", "#ffffff": "#161b20", WHISKER: "#c3cbd1",
    "#b9c1c6": "#55616a", "#9aa5ac": "#74808a", "#8fa3b0": "#8fa3b0", "#2b3238": "#e4e8eb",
}  # fmt: skip


def on_dark(colour: str) -> str:
    """Return a colour of the same hue that is light enough for a dark page; the darker it was, the lighter it becomes:
    two of one hue can be told apart."""
    red, green, blue = (part / 255 for part in read_colour(colour))
    hue, light, full = rgb_to_hls(red, green, blue)
    red, green, blue = (255 * part for part in hls_to_rgb(hue, max(1.03 - 0.78 * light, DIMMEST), min(full, 0.75)))
    return hex_colour((round(red), round(green), round(blue)))


@cache
def dark_charts() -> str:
    """Return the style rules that turn the colours of charts on a dark page.

    Charts keep the colours of a light page as attributes, so that they can be copied out of the page as they are; rules
    of style count more than attributes.
    """
    turned = {**NEUTRAL, **{colour.lower(): on_dark(colour) for colour in COLOURS}}
    rules = [f'.chart [{what}="{old}"]{{{what}:{new}}}' for old, new in turned.items() for what in ("stroke", "fill")]
    return "@media screen and (prefers-color-scheme:dark){" + "".join(rules) + "}\n"


TEMPLATES = Path(__file__).parents[1] / "templates"
SCRIPT = "page.js"
MAIN_FIGURES = 4  # that stand beside the map
Context = Numbers


@dataclass(frozen=True)
class PageSection:
    """A part of a page.

    `name` is its anchor, and of its template in `sections/` unless that has another; `title` is what the contents call
    it, and its heading unless that differs. A part without a title is not listed. `fill` returns what the template
    needs beside the results; None leaves the part out. `words` are texts of the kind of model for the template.
    Neighbours with `side` stand beside each other. A part with `lead` begins the page, with the main figures in it.
    `scripts` are files of `templates/` that the part needs beside the script of all pages.
    """

    name: str
    title: str
    fill: Callable[[Results], Context | None]
    heading: str = ""
    template: str | Path = ""
    side: bool = False
    lead: bool = False
    scripts: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)

    def html(self, context: Context) -> str:
        """Fill the template: that of a kind of model by its path, another one by its name in `sections/`."""
        name = self.template if isinstance(self.template, Path) else f"sections/{self.template or self.name}.html"
        return _environment().get_template(str(name)).render({**self.words, **context})


@dataclass(frozen=True)
class KeyFigure:
    """A figure of a page: what it is, its value as text, and what is to be known beside it."""

    name: str
    value: str
    small: str = ""


@dataclass(frozen=True)
class Page:
    """The page of one kind of model: its subject, its figures (those that matter most first), its sections, and what
    could mislead. `draw` draws the figures of its results again, for print."""

    subject: Callable[[Results], str]
    figures: Callable[[Results], Sequence[KeyFigure]]
    sections: Sequence[PageSection]
    cautions: Sequence[CautionsOf]
    draw: Callable[[Results, Paper], None] = draw_model


def page_text(results: Results, page: Page) -> str:
    """Return the page of some results; raise if they hold something that no run writes."""
    try:
        figures = page.figures(results)
        shared = {"results": results, "n": results.numbers, "figures": figures[:MAIN_FIGURES]}
        parts = [
            {**vars(section), "body": Markup(section.html(shared | context))}  # noqa: S704 - escaped by the template
            for section in page.sections
            if (context := section.fill(results)) is not None
        ]
        context = {
            **shared,
            "subject": page.subject(results),
            "parts": parts,
            "more_figures": figures[MAIN_FIGURES:],
            "cautions": cautions(results, page.cautions, [part["name"] for part in parts]),
        }
        return render("frame.html", context, dict.fromkeys(name for part in parts for name in part["scripts"]))
    except (OSError, TemplateError, LookupError, TypeError, ValueError, AttributeError) as error:
        path = f"{results.folder / results.name}.json cannot be made ({type(error).__name__}: {error})"
        raise ResultsError(f"the HTML report of {path}: run the fit again") from error


def render(template: str, context: Context, scripts: Iterable[str] = ()) -> str:
    """Fill a template; the script, and those added to it, are let run by their digest, so that nothing else can."""
    code = "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in (SCRIPT, *scripts))
    own = {
        # Files of this package, not of the user.
        "style": Markup((TEMPLATES / "page.css").read_text(encoding="utf-8") + dark_charts()),  # noqa: S704
        "script": Markup(code),  # noqa: S704
        "digest": base64.b64encode(hashlib.sha256(code.encode()).digest()).decode("ascii"),
    }
    page = _environment().get_template(template).render(context | own)
    return page.encode(errors="backslashreplace").decode()  # a file's name need not be text


@cache
def _environment() -> Environment:
    environment = Environment(loader=FunctionLoader(_source), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "allow_nan": False, "separators": (",", ":")}
    environment.globals["words"] = words
    for filter_ in (words.percent, words.small_share, words.figure, words.whole, words.file_name, words.measure_name):
        environment.filters[filter_.__name__] = _of_what_is_there(filter_)
    return environment


def _source(name: str) -> tuple[str, str, Callable[[], bool]]:
    """Return the text of a template: of the report by its name, of a kind of model by its whole path."""
    path = TEMPLATES / name
    return path.read_text(encoding="utf-8"), str(path), lambda: True


def _of_what_is_there(filter_: Callable[..., str]) -> Callable[..., str]:
    """Return a filter that takes what results do not have for None."""
    return lambda value, *more: filter_(None if isinstance(value, Undefined) else value, *more)
