"""Records and layers as people have them: one study, written in the forms that GBIF, herbaria and GIS users send.

Every function writes the same records, or the same layers, in another form, with the rubbish that such files hold; the
model that is fitted to them is known, for it is that of the plain files. Layers under the names of climate providers
are in `climate`.
"""

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import rasterio
from affine import Affine

_SIMPLE = (
    "gbifID datasetKey occurrenceID kingdom phylum class order family genus species infraspecificEpithet taxonRank "
    "scientificName verbatimScientificName verbatimScientificNameAuthorship countryCode locality stateProvince "
    "occurrenceStatus individualCount publishingOrgKey decimalLatitude decimalLongitude coordinateUncertaintyInMeters "
    "coordinatePrecision elevation elevationAccuracy depth depthAccuracy eventDate day month year taxonKey speciesKey "
    "basisOfRecord institutionCode collectionCode catalogNumber recordNumber identifiedBy dateIdentified license "
    "rightsHolder recordedBy typeStatus establishmentMeans lastInterpreted mediaType issue"
)
_ARCHIVE = (
    "gbifID accessRights bibliographicCitation identifier language license modified publisher references rightsHolder "
    "type institutionID collectionID datasetID institutionCode collectionCode datasetName basisOfRecord occurrenceID "
    "catalogNumber recordedBy individualCount sex lifeStage occurrenceStatus eventDate year month day habitat "
    "continent countryCode stateProvince locality verbatimElevation decimalLatitude decimalLongitude "
    "coordinateUncertaintyInMeters coordinatePrecision scientificName kingdom phylum class order family genus "
    "specificEpithet taxonRank taxonomicStatus elevation issue hasCoordinate hasGeospatialIssues taxonKey species"
)
RUBBISH = {  # what is left out of every GBIF file here, and why
    "1 row that cannot be read dropped": {"decimalLatitude": "n/k"},
    "1 row with occurrenceStatus=ABSENT dropped": {"occurrenceStatus": "ABSENT"},
    "1 row with basisOfRecord=FOSSIL_SPECIMEN dropped": {"basisOfRecord": "FOSSIL_SPECIMEN"},
    "1 row with basisOfRecord=LIVING_SPECIMEN dropped": {"basisOfRecord": "LIVING_SPECIMEN"},
}


def _gbif(records: pd.DataFrame, columns: list[str]) -> str:
    """Return records in columns of GBIF, which divides by tabs and does not quote, and rubbish after them."""
    n = len(records) + len(RUBBISH)
    place = records.iloc[np.arange(n) % len(records)].reset_index(drop=True)
    table = pd.DataFrame("", index=range(n), columns=columns, dtype=object)
    known = {
        "gbifID": [str(4_000_000_000 + k) for k in range(n)],
        "species": place["species"],
        "scientificName": place["species"] + " (L.) Müller, 1758",
        "decimalLongitude": place["longitude"].astype(str),
        "decimalLatitude": place["latitude"].astype(str),
        "locality": ['Estrada do "Rio", km 12; São Paulo'] * n,
        "occurrenceStatus": ["PRESENT"] * n,
        "basisOfRecord": ["HUMAN_OBSERVATION"] * n,
        "coordinateUncertaintyInMeters": ["" if k % 3 else "120.0" for k in range(n)],
        "year": [str(1990 + k % 30) for k in range(n)],
        "issue": ["COORDINATE_ROUNDED;GEODETIC_DATUM_ASSUMED_WGS84"] * n,
    }
    for name, values in known.items():
        table[name] = list(values)
    for k, change in enumerate(RUBBISH.values()):
        for name, value in change.items():
            table.loc[len(records) + k, name] = value
    return "\n".join("\t".join(line) for line in [columns, *table.to_numpy().tolist()]) + "\n"


def gbif_simple(records: pd.DataFrame, path: Path) -> Path:
    """Write the simple download of GBIF: a table of 50 columns."""
    path.write_text(_gbif(records, _SIMPLE.split()), encoding="utf-8")
    return path


def gbif_archive(records: pd.DataFrame, path: Path) -> Path:
    """Write a Darwin Core archive of GBIF: a zip file with the records among other tables."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("meta.xml", "<archive/>")
        archive.writestr("citations.txt", "When using this dataset please use the following citation\n")
        archive.writestr("verbatim.txt", "gbifID\tspecies\n1\twrong\n")
        archive.writestr("occurrence.txt", _gbif(records, _ARCHIVE.split()))
    return path


def spreadsheet(records: pd.DataFrame, path: Path, encoding: str = "latin-1") -> Path:
    """Write records as a spreadsheet of a country with decimal commas saves them."""
    lines = ["Species;Fundort;Longitude;Latitude;Bemerkung"]
    for name, x, y in records.itertuples(index=False):
        lines.append(f"{name};Gänsebach;{str(x).replace('.', ',')};{str(y).replace('.', ',')};größer als üblich")
    path.write_bytes("\r\n".join([*lines, ""]).encode(encoding))
    return path


def utf16(records: pd.DataFrame, path: Path) -> Path:
    """Write records as 'Unicode text', as some programs export."""
    path.write_bytes(records.to_csv(index=False, sep="\t").encode("utf-16"))
    return path


def geopackage(records: pd.DataFrame, path: Path) -> Path:
    """Write a GeoPackage with two layers of points, `birds` and `visits`, and one of polygons."""
    import geopandas
    import shapely

    points = geopandas.points_from_xy(records["longitude"], records["latitude"])
    frame = geopandas.GeoDataFrame(records[["species"]], geometry=points, crs="EPSG:4326")
    frame.to_file(path, layer="birds", driver="GPKG")
    frame.iloc[:5].assign(species="none").to_file(path, layer="visits", driver="GPKG")
    box = geopandas.GeoDataFrame({"name": ["all"]}, geometry=[shapely.box(*frame.total_bounds)], crs="EPSG:4326")
    box.to_file(path, layer="island", driver="GPKG")
    return path


def turned_layers(layers: Path, folder: Path) -> Path:
    """Write layers whose longitudes go from 0 to 360°."""
    folder.mkdir()
    for path in layers.glob("*.tif"):
        with rasterio.open(path) as source:
            profile = {**source.profile, "transform": Affine.translation(360, 0) @ source.transform}
            with rasterio.open(folder / path.name, "w", **profile) as out:
                out.write(source.read())
    return folder


def untagged(layers: Path, folder: Path, code: int = -9999) -> Path:
    """Write layers as whole numbers of 16 bits whose cells without data hold a number that no tag tells of."""
    folder.mkdir()
    for path in layers.glob("*.tif"):
        with rasterio.open(path) as source:
            values = source.read(1, masked=True)
            whole = np.where(np.ma.getmaskarray(values), code, np.round(values.data.astype("float64"))).astype("int16")
            profile = {**source.profile, "dtype": "int16", "nodata": None, "predictor": 1}
            with rasterio.open(folder / path.name, "w", **profile) as out:
                out.write(whole, 1)
    return folder
