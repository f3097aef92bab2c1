"""What comes with the program besides code: the sample data, and the pages of documentation that `sdm help` shows."""

from pathlib import Path

import sdm

_HERE = Path(__file__).parent
_CHECKOUT = Path(sdm.__file__).parents[1]
SAMPLE, GUIDE = "sample", "guide"
# Installed, they are folders of this package; in a checkout, folders of the project (pyproject.toml, package-dir).
_HOMES = {SAMPLE: "sample_data", GUIDE: "docs"}


def shipped(name: str) -> Path:
    """Return the folder of the sample data (`SAMPLE`), or of the documentation (`GUIDE`)."""
    installed = _HERE / name
    return installed if installed.is_dir() else _CHECKOUT / _HOMES[name]
