"""Run benchmarks: `python -m benchmarks` for all, or with the names of some; options after them are passed on."""

import sys
from importlib import import_module
from itertools import takewhile

INPUTS = ("thinning", "records", "variables")  # of files and records, in a folder of their own
SCENARIOS = ("novelty", "projection")  # of projections, in a folder of their own
SCALE = ("index_page", "stacking", "scale", "axes")  # of many species, in a folder of their own
PROGRAM = ("application", "speed")  # of the program as a whole, in a folder of their own
FOLDERS = {
    **dict.fromkeys(PROGRAM, "program."),
    **dict.fromkeys(INPUTS, "inputs."),
    **dict.fromkeys(SCENARIOS, "scenarios."),
    **dict.fromkeys(SCALE, "scale."),
}
ALL = (
    *("engine", *PROGRAM, "structural", "path", "roots", "edges", "bias", "nceas"),
    *("transfer", "groups", "medn", "learners", "proportions", "survey", *INPUTS, *SCENARIOS, *SCALE),
)


def main() -> None:
    given = list(takewhile(lambda word: not word.startswith("-"), sys.argv[1:]))
    options = sys.argv[1 + len(given) :]
    unknown = [name for name in given if name not in ALL]
    if unknown:
        sys.exit(f"no benchmark called {', '.join(unknown)}; there are {', '.join(ALL)}")
    for name in given or ALL:
        sys.argv = [name, *options]
        import_module(f"benchmarks.{FOLDERS.get(name, '')}{name}").main()


if __name__ == "__main__":
    main()
