"""File names on README, tutorials and how-to pages are files that runs write, sample data, or what a reader types.

The tables of files are compared with the files of runs (test_file_tables.py, test_documents.py). The other names in
backquotes are looked up in these tables here.
"""

import re
from functools import cache

import pytest
from documents.commands import ROOT
from documents.inventory import FENCED, PAGES
from documents.tables import listed_files

from sdm.api.saving import INPUTS
from sdm.kinds.classes.kind import BESIDE
from sdm.maps.novelty import MEASURES
from sdm.report.pages.index import NAME
from sdm.report.summary import SUMMARY, SUMMARY_PARQUET
from sdm.run.journal import JOURNAL
from sdm.run.stacks import STACK_FILES

TABLES = ("outputs", "classify", "joint", "shared", "virtual", "preparing", "scenarios")
NAMES = {"species": "Virtualis_montanus|bradypus_variegatus", "scenario": "warmer|2050|2080", "class": "", "rule": "",
         "variable": r"\*", "map": ""}  # fmt: skip
"""The examples of pages for a part of a file name; the part itself in angle brackets is allowed everywhere."""
NAMED_BY_CODE = (
    NAME, SUMMARY, SUMMARY_PARQUET, JOURNAL, f"{INPUTS}/", *STACK_FILES.values(), *(f"{kind}.tif" for kind in BESIDE),
    *(f"future_{kind}.tif" for kind in BESIDE), *(f"{name}.tif" for names in MEASURES.values() for name in names),
)  # fmt: skip
ENDINGS = "csv|tsv|txt|json|jsonl|parquet|tif|png|svg|pdf|html|npz|yaml|gpkg|qml|sld|zip|xml|dbf|vrt|asc|img|nc|ipynb"
FILE = re.compile(rf"[\w<>*~/-][\w<>*~./-]*(?:\.(?:{ENDINGS})|[\w>]/)")
OTHERS = {
    "samples/bradypus.csv": "of the archive of the tutorial data", "landcover.tif.aux.xml": "of GDAL",
    "landcover.tif.vat.dbf": "of Esri", "~/.config/dask/jobqueue.yaml": "of Dask",
    "predicted_communities.csv": "compared by tests/cli/community/test_known.py",
}  # fmt: skip


@cache
def written() -> list[re.Pattern[str]]:
    """The names of files that runs write, as patterns."""
    patterns = list[re.Pattern[str]]()
    for file in {*NAMED_BY_CODE, *(file for topic in TABLES for file in listed_files(topic, "<species>"))}:
        text = re.escape(file).replace(r"_1\.", r"_\d+\.").replace(r"\*", "[^/]+")
        for part, examples in NAMES.items():
            text = text.replace(f"<{part}>", f"(?:<{part}>|{examples or '(?!)'})")
        patterns.append(re.compile(text))
    return patterns


def is_written(name: str) -> bool:
    """Whether a run writes a file of this name, in any folder; an ending such as `_rmm.csv` stands for the file."""
    full = f"<species>{name}" if name.startswith(("_", ".")) else name
    parts = full.split("/")
    ends = ["/".join(parts[k:]) for k in range(len(parts))]
    return any(pattern.fullmatch(end) for pattern in written() for end in ends if end)


def unknown_files(text: str) -> list[str]:
    """The file names in backquotes that no run writes, that are not in the repository, and that nobody types."""
    code = " ".join([*(match[0] for match in FENCED.finditer(text)), *re.findall(r"^    .*$", text, re.MULTILINE)])
    prose = FENCED.sub("", text)
    code += " ".join(found for found in re.findall(r"`([^`\n]+)`", prose) if " " in found)
    typed = set(re.findall(r"[\w.-]+", code))
    return [
        name
        for name in re.findall(r"`([^`\n]+)`", prose)
        if FILE.fullmatch(name)
        and not is_written(name)
        and name not in OTHERS
        and name.strip("./").split("/")[-1] not in typed
        and not any((ROOT / folder / name).exists() for folder in (".", "sample_data"))
    ]


@pytest.mark.parametrize("page", PAGES)
def test_files_of_pages_are_written_or_typed(page: str) -> None:
    assert not unknown_files(PAGES[page].read_text(encoding="utf-8"))


def test_a_wrong_name_is_seen() -> None:
    text = "`sumary.csv`, `final/Virtualis_montanus.html`, `<species>_sd.tif`, `<species>_se.tif`, `out/`, `_rm.csv`\n"
    assert unknown_files(text) == ["sumary.csv", "<species>_se.tif", "out/", "_rm.csv"]
    code = "\n```text\nsdm fit sumary.csv layers -o out\n```\n"
    assert unknown_files(text + code) == ["<species>_se.tif", "_rm.csv"]
