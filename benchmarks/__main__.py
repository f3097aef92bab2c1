"""Run benchmarks: `python -m benchmarks` for all, or with the names of some; options after them are passed on."""

import subprocess
import sys
from importlib import import_module
from itertools import takewhile

INPUTS = ("thinning", "records", "variables", "hostile")  # of files and records, in a folder of their own
SCENARIOS = ("novelty", "projection")  # of projections, in a folder of their own
SCALE = ("index_page", "stacking", "scale", "axes")  # of many species, in a folder of their own
PROGRAM = ("application", "speed")  # of the program as a whole, in a folder of their own
AGAINST = "against"  # another commit, which must be named: it is no part of all benchmarks
THEORY = ("penalties", "learners")  # of what the theory says, in a folder of their own
FOLDERS = {
    **dict.fromkeys(THEORY, "theory."),
    **dict.fromkeys((*PROGRAM, AGAINST), "program."),
    **dict.fromkeys(INPUTS, "inputs."),
    **dict.fromkeys(SCENARIOS, "scenarios."),
    **dict.fromkeys(SCALE, "scale."),
}
ALL = (
    *("engine", *PROGRAM, "structural", *THEORY, "path", "roots", "edges", "bias", "nceas"),
    *("transfer", "groups", "medn", "proportions", "patterns", "survey", *INPUTS, *SCENARIOS, *SCALE),
)


def main() -> None:
    given = list(takewhile(lambda word: not word.startswith("-"), sys.argv[1:]))
    options = sys.argv[1 + len(given) :]
    unknown = [name for name in given if name not in (*ALL, AGAINST)]
    if unknown:
        sys.exit(f"no benchmark called {', '.join(unknown)}; there are {', '.join(ALL)}")
    names, asked = given or ALL, {"-h", "--help"} & set(options)
    if len(names) > 1 and not asked:
        # Each in a process of its own: the peak memory of a command counts from what the process held that started it.
        for name in names:
            if code := subprocess.run([sys.executable, "-m", "benchmarks", name, *options], check=False).returncode:
                sys.exit(code)
        return
    for name in names:
        module = import_module(f"benchmarks.{FOLDERS.get(name, '')}{name}")
        if asked and not hasattr(module, "argparse"):  # a question must not measure
            print(f"{name}: {module.__doc__}")
            continue
        sys.argv = [name, *options]
        module.main()


if __name__ == "__main__":
    main()
