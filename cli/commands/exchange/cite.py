"""`sdm cite`: how to cite the program, and the works that its models rest on."""

from functools import partial
from typing import Annotated

import typer

from sdm_cli.console import Console
from sdm_cli.options import BRIEF, with_console

YEAR = 2026
_ENTRIES = """@software{{sdm,
  author  = {{{{The sdm developers}}}},
  title   = {{sdm: species distribution models by maximum entropy}},
  version = {{{version}}},
  year    = {{{year}}}
}}

@article{{phillips2006,
  author  = {{Phillips, Steven J. and Anderson, Robert P. and Schapire, Robert E.}},
  title   = {{Maximum entropy modeling of species geographic distributions}},
  journal = {{Ecological Modelling}},
  volume  = {{190}},
  pages   = {{231--259}},
  year    = {{2006}}
}}

@article{{dudik2007,
  author  = {{Dud{{\\'i}}k, Miroslav and Phillips, Steven J. and Schapire, Robert E.}},
  title   = {{Maximum entropy density estimation with generalized regularization and an application to species
             distribution modeling}},
  journal = {{Journal of Machine Learning Research}},
  volume  = {{8}},
  pages   = {{1217--1260}},
  year    = {{2007}}
}}"""


@partial(with_console, common=BRIEF)
def cite(
    console: Console,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print the entries for BibTeX alone.")] = False,
) -> None:
    """Print how to cite sdm, with entries for BibTeX: of the program, and of the method (docs/references.md has more).

    **Example**:  sdm cite --bibtex > sdm.bib
    """
    from sdm._version import __version__

    entries = _ENTRIES.format(version=__version__, year=YEAR)
    if not bibtex:
        title = "sdm: species distribution models by maximum entropy"
        console.say(f"The sdm developers ({YEAR}). {title}, version {__version__}.\n")
    console.say(entries)
    console.result(notices=[entries])
