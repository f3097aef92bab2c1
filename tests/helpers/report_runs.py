"""Runs whose pages are looked at."""

from pathlib import Path

from sdm.options.reading import make_options
from sdm.workflow.run import run


def fit(folder: Path, records: Path, layers: Path, **options: object) -> Path:
    """Fit and write; return the folder."""
    given = {"occurrences.file": str(records), "layers.files": [str(layers)], "output.folder": str(folder)}
    given |= {"layers.categorical": ["landcover"], "fit.features": "lq"}
    run(make_options(given | options), command="sdm fit …")
    return folder
