"""`sdm version`."""

from sdm._version import __version__


def version() -> None:
    """Print the version."""
    print(f"sdm {__version__}")
