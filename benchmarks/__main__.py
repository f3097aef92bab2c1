"""Run benchmarks: `python -m benchmarks` for all, or with the names of some."""

import sys
from importlib import import_module

ALL = ("engine", "application")


def main() -> None:
    names = sys.argv[1:] or ALL
    unknown = [name for name in names if name not in ALL]
    if unknown:
        sys.exit(f"no benchmark called {', '.join(unknown)}; there are {', '.join(ALL)}")
    for name in names:
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
