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

DIMMEST = 0.6  # smallest lightness of a line on a dark page
# Neutral colours of charts: on a light page, on a dark page.
NEUTRAL = {
    "#e3e6e8": "#3a444c", "#444444": "#aab4bb", SHADE: "#26313a", "#ffffff": "#161b20", WHISKER: "#c3cbd1",
    "#b9c1c6": "#55616a", "#9aa5ac": "#74808a", "#8fa3b0": "#8fa3b0", "#2b3238": "#e4e8eb",
}  # fmt: skip


def on_dark(colour: str) -> str:
    """Return a colour of the same hue for a dark page: the darker it was, the lighter it becomes, so that two colours
    of one hue stay distinguishable."""
    red, green, blue = (part / 255 for part in read_colour(colour))
    hue, light, full = rgb_to_hls(red, green, blue)
    red, green, blue = (255 * part for part in hls_to_rgb(hue, max(1.03 - 0.78 * light, DIMMEST), min(full, 0.75)))
    return hex_colour((round(red), round(green), round(blue)))


@cache
def dark_charts() -> str:
    """Return the style rules that change the colours of charts on a dark page.

    Charts keep the colours of a light page as attributes, so that copies of them are complete; style rules have
    priority over attributes.
    """
    turned = {**NEUTRAL, **{colour.lower(): on_dark(colour) for colour in COLOURS}}
    rules = [f'.chart [{name}="{old}"]{{{name}:{new}}}' for old, new in turned.items() for name in ("stroke", "fill")]
    return "@media screen and (prefers-color-scheme:dark){" + "".join(rules) + "}\n"


TEMPLATES = Path(__file__).parents[1] / "templates"
SCRIPT = "page.js"
MAIN_FIGURES = 4  # number of figures next to the map
Context = Numbers


@dataclass(frozen=True)
class PageSection:
    """A section of a page.

    `name` is its anchor and the name of its template in `sections/`, unless `template` is set. `title` is its entry in
    the contents, and its heading unless `heading` is set. A section without a title is not listed. `fill` returns the
    values of the template, or None to omit the section. `words` are texts of the kind of model for the template.
    Adjacent sections with `side` are side by side. A section with `lead` is first and contains the main figures.
    `scripts` are additional files of `templates/`.
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
        """Render the template: a path belongs to a kind of model, another name to `sections/`."""
        name = self.template if isinstance(self.template, Path) else f"sections/{self.template or self.name}.html"
        return _environment().get_template(str(name)).render({**self.words, **context})


@dataclass(frozen=True)
class KeyFigure:
    """A number on a page: its name, its value as text, and a note."""

    name: str
    value: str
    small: str = ""


@dataclass(frozen=True)
class Page:
    """The page of one kind of model: subject, figures (the most important first), sections, and warnings. `draw` draws
    the figures of its results for print."""

    subject: Callable[[Results], str]
    figures: Callable[[Results], Sequence[KeyFigure]]
    sections: Sequence[PageSection]
    cautions: Sequence[CautionsOf]
    draw: Callable[[Results, Paper], None] = draw_model


def page_text(results: Results, page: Page) -> str:
    """Return the page of some results; raise if they contain invalid values."""
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
    """Render a template. The page allows its own scripts by their digest, and no others."""
    code = "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in (SCRIPT, *scripts))
    assets = {
        # files of this package, not of the user
        "style": Markup((TEMPLATES / "page.css").read_text(encoding="utf-8") + dark_charts()),  # noqa: S704
        "script": Markup(code),  # noqa: S704
        "digest": base64.b64encode(hashlib.sha256(code.encode()).digest()).decode("ascii"),
    }
    page = _environment().get_template(template).render(context | assets)
    return page.encode(errors="backslashreplace").decode()  # file names can contain surrogates


@cache
def _environment() -> Environment:
    environment = Environment(loader=FunctionLoader(_source), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "allow_nan": False, "separators": (",", ":")}
    environment.globals["words"] = words
    for filter_ in (words.percent, words.small_share, words.figure, words.integer, words.file_name, words.measure_name):
        environment.filters[filter_.__name__] = _of_what_is_there(filter_)
    return environment


def _source(name: str) -> tuple[str, str, Callable[[], bool]]:
    """Return the source of a template, by its name in the report or by its path in a kind of model."""
    path = TEMPLATES / name
    return path.read_text(encoding="utf-8"), str(path), lambda: True


def _of_what_is_there(filter_: Callable[..., str]) -> Callable[..., str]:
    """Return a filter that treats missing values as None."""
    return lambda value, *more: filter_(None if isinstance(value, Undefined) else value, *more)
