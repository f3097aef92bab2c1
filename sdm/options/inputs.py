"""Options of the inputs of a run: records, layers and background."""

from typing import Literal

from sdm.options.kinds import (
    Bounds,
    Count,
    CountList,
    Crs,
    Files,
    Length,
    Nodata,
    Positive,
    Renames,
    Section,
    Suspicious,
    Words,
    Years,
    option,
)


class OccurrenceOptions(Section):
    """Occurrence records."""

    file: str | None = option(
        None,
        "File of occurrence records: CSV, TSV, GBIF download, GeoPackage, GeoJSON, Shapefile or Parquet.",
        *("occurrences", "samplesfile", "records"),
    )
    species: Files = option(
        [], "Model only these species of the file. Repeat the option for several species. Default: all."
    )
    crs: Crs | None = option(
        None, "Coordinate system of the records, or none with --bounds. Default: as in the file, otherwise WGS 84."
    )
    response: str | None = option(
        None, "Column with presence and absence. Each species is then fitted as a class model, without a background."
    )
    species_column: str | None = option(None, "Column with the species name. Default: recognised by its name.")
    x_column: str | None = option(None, "Column with the longitude or easting. Default: recognised by its name.")
    y_column: str | None = option(None, "Column with the latitude or northing. Default: recognised by its name.")
    site_column: str | None = option(
        None,
        "Column with the names of the sites, for surveys and joint models. Visits to one site stay in the same fold. "
        "Two tables are joined by this column. Default: site, plot, station or a similar name.",
    )
    layer: str | None = option(
        None, "Layer of a file with several, such as a GeoPackage. For other input files, write file.gpkg:NAME."
    )
    drop_suspicious: Suspicious = option(
        [],
        "Drop records with suspicious coordinates: all, or some of equal, whole, repeated and sea. With equal, "
        "longitude equals latitude. With whole, both are whole degrees. With repeated, one point has many species. "
        "With sea, the point is on nodata and far from data. Records of the kinds zero, impossible and swapped are "
        "always dropped.",
    )
    snap: int = option(0, "Move records on nodata to the nearest valid cell, at most N cells away.", ge=0, le=1000)
    keep_duplicates: bool | None = option(
        None, "Keep several records of a species in one cell. Default: no; yes for classes and with --bounds."
    )
    partial: bool = option(
        False,
        "Keep records with missing values of some variables. As in Java Maxent, a missing value is replaced by the "
        "value of another record of the species, drawn at random. By default such records are dropped.",
        "allowpartialdata",
    )
    thin_distance: float = option(
        0.0, "Thinning: minimum distance between records, in km (0: none), for as many records as possible.", ge=0
    )
    thin_bins: int = option(
        0, "Thinning: bins per variable (0: none). One record is kept per combination of bins.", ge=0, le=10_000
    )
    thin_variables: Words = option([], "Thinning: variables that are divided into bins. Default: all.")
    thin_tries: Count = option(
        10, "Thinning by distance: number of random orders to try. The largest set is kept.", le=10_000
    )
    record_weights: str | None = option(
        None,
        "Column with the weights of the records, or uncertainty. With uncertainty, the weight is the share of the "
        "record's circle of uncertainty that lies in its cell.",
    )
    uncertainty_column: str | None = option(
        None, "Column with the uncertainty of the coordinates, in metres. Default: recognised by its name."
    )
    max_uncertainty: Length | None = option(
        None,
        "Drop records with a larger uncertainty of the coordinates, such as 5km or 250m. It is read from "
        "coordinateUncertaintyInMeters, otherwise from coordinatePrecision. Records without a value are kept.",
    )
    years: Years | None = option(
        None, "Use only records of these years, such as 1970-2010, 1970- or -2010. Records without a year are dropped."
    )
    basis: Words = option(
        [],
        "Use only records with these values of basisOfRecord, such as HUMAN_OBSERVATION,PRESERVED_SPECIMEN. Default: "
        "all except fossils and captive specimens.",
    )
    exclude_issues: Words = option(
        [], "Drop records with these GBIF issues, such as ZERO_COORDINATE. With geospatial, all coordinate issues."
    )
    where: str | None = option(
        None,
        "Use only records that satisfy a condition, such as \"elevation > 500 and country == 'PE'\". Conditions "
        "contain columns, comparisons, and, or, not, in ('a', 'b'), like 'Rio*', and is missing.",
    )
    max_bad_rows: float = option(
        5.0, "Stop if more than this percentage of the rows cannot be read. Fewer such rows are dropped.", ge=0, le=100
    )


class LayerOptions(Section):
    """Environmental layers and variables."""

    files: Files = option(
        [], "Environmental layers: a folder, a pattern, or files, one per variable.", "layers", "environmentallayers"
    )
    bounds: Literal["auto"] | Bounds | None = option(
        None,
        "Window of a point pattern without layers: xmin,ymin,xmax,ymax, or auto. It has the coordinates of the points; "
        "auto is their bounding box. The variables are the coordinates x and y of the cells. Every cell is background, "
        "and several points in one cell count.",
    )
    cells: CountList = option(
        [100], "Grid of --bounds: cells along the longer side, or columns and rows (9,6).", min_length=1, max_length=2
    )
    categorical: Words = option([], "Names of the layers with categorical values.", "togglelayertype")
    variables: Words = option(
        [], "Use only these variables: names or patterns such as 'bio*'.", "environment", formerly="joint.environment"
    )
    exclude: Words = option([], "Exclude these variables: names or patterns such as 'bio*'.")
    nodata: Nodata = option(
        [],
        "Additional nodata values, such as -9999, or landcover=255 for one variable. With none, only nodata values "
        "that are stated in the files are used, and no other value is suspected.",
    )
    rename: Renames = option(
        {}, "Rename layers by a pattern, such as 'wc2.1_10m_bio_{n}=bio{n}'. It also applies to scenarios."
    )
    align: str | None = option(None, "Resample all layers to the grid of this layer, or of the first layer ('first').")
    drop_correlated: float | None = option(
        None,
        "Drop collinear continuous variables: limit of |r|, often 0.7. The one of larger gain is kept.",
        gt=0,
        lt=1,
    )
    drop_vif: float | None = option(
        None, "Drop collinear continuous variables, one by one: limit of the variance inflation factor, often 10.", ge=1
    )
    reduce: bool = option(
        False,
        "Drop unimportant variables one by one, by their importance at held-out records. It stops when the held-out "
        "loss increases by more than its standard error.",
    )
    reduce_to: Count | None = option(None, "Drop unimportant variables until N remain, whatever the held-out loss.")

    @property
    def reduces(self) -> bool:
        """Return whether variables are dropped by their importance at held-out records."""
        return self.reduce or self.reduce_to is not None

    @property
    def chooses(self) -> bool:
        """Return whether variables are dropped."""
        return self.drop_correlated is not None or self.drop_vif is not None or self.reduces


class BackgroundOptions(Section):
    """The background that presences are compared with."""

    kind: Literal["random", "target-group"] = option(
        "random",
        "Background: random cells, or the sites of a target group.",
        "background",
    )
    points: Count | Literal["all"] = option(
        10_000, "Number of random background points, or all cells.", "background_points", "maximumbackground"
    )
    file: str | None = option(
        None, "File of background points, in any format of occurrence records.", "background_file"
    )
    area: str | None = option(
        None,
        "Study area: a file of polygons, buffer, or hull. Cells outside it are not sampled, fitted or mapped. With "
        "buffer, it is the area around the records of a species; with hull, their convex hull.",
        "study_area",
    )
    buffer: Positive | None = option(None, "Width of the buffer in km: required for --study-area buffer, 0 for hull.")
    area_weighted: bool = option(False, "Sample cells in proportion to their true area, for layers in degrees.")
    target_group: str | None = option(
        None, "Records of the target group: species recorded by the same methods. Default: all species of the file."
    )
    random_share: float | None = option(
        None,
        "Shared axes with a target group: share of the base measure on 2,000 random cells. It keeps the base measure "
        "above zero outside the recorded sites. Default: 0.1, or 0.03 with --spatial. With 0, there are no random "
        "cells.",
        ge=0,
        lt=1,
    )
    bias: str | None = option(
        None, "Sampling effort: a raster on the grid of layers, or target-group density.", "biasfile"
    )
    bias_treatment: Literal["sample", "prior", "records"] = option(
        "sample",
        "Use of the sampling effort. With sample, background cells are drawn in proportion to it. With prior, it is "
        "the base measure of the model, and is divided out of the map. This is exact and needs many background points. "
        "With records, each record has the weight 1/effort, and the background is unchanged.",
    )
    bandwidth: Literal["auto"] | Positive = option(
        "auto", "Bandwidth of the density of target-group sites: standard deviation of the kernel in km, or auto."
    )
    effort_column: str | None = option(
        None, "Column with the sampling effort of each row, in tables of samples with data."
    )

    @property
    def uses_group(self) -> bool:
        """Return whether the records of a target group are used."""
        return "target-group" in (self.kind, self.bias)
