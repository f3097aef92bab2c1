"""`sdm version`, and `sdm --version`, which load nothing else."""

from sdm._version import __version__


def version() -> None:
    """Print the version."""
    print(f"sdm {__version__}")
