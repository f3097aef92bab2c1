"""Reading and cleaning millions of records as GBIF sends them: seconds and memory, and how both grow."""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tools.harness import in_fresh_process, once, peak_gigabytes, save, shared, table

_NAMES = (
    "gbifID datasetKey occurrenceID kingdom phylum class order family genus species infraspecificEpithet taxonRank "
    "scientificName verbatimScientificName verbatimScientificNameAuthorship countryCode locality stateProvince "
    "occurrenceStatus individualCount publishingOrgKey decimalLatitude decimalLongitude coordinateUncertaintyInMeters "
    "coordinatePrecision elevation elevationAccuracy depth depthAccuracy eventDate day month year taxonKey speciesKey "
    "basisOfRecord institutionCode collectionCode catalogNumber recordNumber identifiedBy dateIdentified license "
    "rightsHolder recordedBy typeStatus establishmentMeans lastInterpreted mediaType issue"
)
COLUMNS = tuple(_NAMES.split())
ROWS = 2_000_000
FILE = Path(tempfile.gettempdir()) / "sdm_benchmark_gbif.csv"


def write(path: Path, rows: int) -> None:
    """Write records of 200 species in the 50 columns of GBIF's simple download; one coordinate is a word."""
    rng = np.random.default_rng(0)
    basis = np.array(["HUMAN_OBSERVATION", "PRESERVED_SPECIMEN", "FOSSIL_SPECIMEN", "MACHINE_OBSERVATION"])
    issues = np.array(["", "COORDINATE_ROUNDED", "COORDINATE_ROUNDED;GEODETIC_DATUM_ASSUMED_WGS84", "ZERO_COORDINATE"])
    fixed = {"kingdom": "Animalia", "datasetKey": "50c9509d-22c7-4a22-a47d-8c48425ef4a7", "taxonRank": "SPECIES"}
    fixed |= {"locality": 'Estrada do "Rio" km 12, São Paulo', "countryCode": "BR", "occurrenceStatus": "PRESENT"}
    fixed |= {"publishingOrgKey": "28eb1a3f-1c15-4a95-931a-4af90ecb574d", "license": "CC_BY_NC_4_0"}
    fixed |= {"recordedBy": "A Person", "rightsHolder": "A Person", "lastInterpreted": "2024-06-01T12:00:00.000Z"}
    with path.open("w", encoding="utf-8") as out:
        out.write("\t".join(COLUMNS) + "\n")
        for start in range(0, rows, 100_000):
            m = min(100_000, rows - start)
            name = rng.integers(0, 200, m)
            lat, lon = rng.uniform(-55, 22, m), rng.uniform(-94, -35, m)
            doubt, year = rng.lognormal(5, 2, m), rng.integers(1900, 2025, m)
            kind, issue = basis[rng.choice(4, m, p=[0.8, 0.15, 0.01, 0.04])], issues[rng.choice(4, m)]
            lines = []
            for k in range(m):
                known = fixed | {
                    "gbifID": str(4_000_000_000 + start + k),
                    "occurrenceID": f"https://www.inaturalist.org/observations/{start + k}",
                    "species": f"Genus{name[k] // 10} species{name[k]}",
                    "scientificName": f"Genus{name[k] // 10} species{name[k]} Linnaeus, 1758",
                    "decimalLatitude": "?" if start + k == 7 else f"{lat[k]:.6f}",
                    "decimalLongitude": f"{lon[k]:.6f}",
                    "coordinateUncertaintyInMeters": "" if doubt[k] < 20 else f"{doubt[k]:.1f}",
                    "year": str(year[k]),
                    "eventDate": f"{year[k]}-05-12T10:22",
                    "basisOfRecord": str(kind[k]),
                    "issue": str(issue[k]),
                }
                lines.append("\t".join(known.get(column, "") for column in COLUMNS))
            out.write("\n".join(lines) + "\n")


def read_and_clean(filtered: bool = False) -> dict[str, Any]:
    """Read the file, clean it against 14 layers, and write the fate of every record."""
    from sdm.data.rasters.layers import open_stack
    from sdm.data.records.clean import finish_cleaning, locate
    from sdm.data.records.filters import RecordFilters
    from sdm.data.records.occurrences import read_occurrences
    from sdm.data.records.rows import RowRules
    from sdm.report.tables import write_frame

    stack = open_stack(shared() / "phillips2006" / "layers_0.25deg")
    ways = {"max_uncertainty": 5000.0, "years": (1970, None), "exclude_issues": ("geospatial",)} if filtered else {}
    where = {"where": "year >= 1975 and basisOfRecord != 'MACHINE_OBSERVATION'"} if filtered else {}
    rules = RowRules(RecordFilters(**ways, **where))  # type: ignore[arg-type]
    began = time.perf_counter()
    reading, records = once(lambda: read_occurrences(FILE, rules=rules))
    located = locate(records, stack)
    values = stack.sample(*located.cells)
    _, ledger = finish_cleaning(located, values)
    seconds = time.perf_counter() - began
    writing, _ = once(lambda: write_frame(FILE.with_suffix(".fate.csv"), ledger.fate))
    counts = ledger.total()
    return {
        "rows": counts["read"],
        "filters": "five" if filtered else "none",
        "kept": counts["kept"],
        "read, s": reading,
        "read and cleaned, s": seconds,
        "fate written, s": writing,
        "peak GB": peak_gigabytes(),
    }


def with_filters() -> dict[str, Any]:
    return read_and_clean(filtered=True)


def plain_pandas() -> dict[str, Any]:
    """Read the same columns with pandas alone, as a script would."""
    import pandas as pd

    wanted = ["gbifID", "species", "decimalLongitude", "decimalLatitude", "coordinateUncertaintyInMeters"]
    wanted += ["coordinatePrecision", "basisOfRecord", "occurrenceStatus", "issue"]
    seconds, _ = once(lambda: pd.read_csv(FILE, sep="\t", quoting=3, usecols=wanted, low_memory=False))
    return {"seconds": seconds, "peak GB": peak_gigabytes()}


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    rows = []
    for count in dict.fromkeys([most // 4, most]):
        write(FILE, count)
        rows += [in_fresh_process("benchmarks.inputs.records", name) for name in ("read_and_clean", "with_filters")]
    table("Records of GBIF, 50 columns, cleaned against 14 layers (limits for 2,000,000: 10 s, 1.5 GB)", rows)
    peer = in_fresh_process("benchmarks.inputs.records", "plain_pandas")
    ratio = rows[-2]["read and cleaned, s"] / peer["seconds"]
    table("Reading alone, by pandas", [{**peer, "ours, read and cleaned, relative to it": ratio}])
    save("records", {"records": rows, "pandas": peer, "ratio": ratio})
    for path in (FILE, FILE.with_suffix(".fate.csv")):
        path.unlink()


if __name__ == "__main__":
    main()
