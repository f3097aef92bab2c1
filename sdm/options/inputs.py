"""The options of what a run reads: records, layers, and the background that the species could have used."""

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
    """Where the species was found."""

    file: str | None = option(
        None,
        "Occurrence records: CSV/TSV, GBIF download, GeoPackage, GeoJSON, Shapefile, Parquet.",
        *("occurrences", "samplesfile", "records"),
    )
    species: Files = option([], "Model only these species of the file (default: all).")
    crs: Crs | None = option(
        None,
        "Coordinate system of the records (default: the file's, else WGS 84; none: plain coordinates, with --bounds).",
    )
    response: str | None = option(
        None, "Column with presence and absence: one class model per species, without a background."
    )
    species_column: str | None = option(None, "Column with the species' name (default: found by its name).")
    x_column: str | None = option(None, "Column with the longitude or easting.")
    y_column: str | None = option(None, "Column with the latitude or northing.")
    site_column: str | None = option(
        None,
        "With a response, or several species: the column that names the sites (default: site, plot, station or the "
        "like). Visits to one name, or to one place, are tested together; two tables are joined by it.",
    )
    layer: str | None = option(
        None, "Layer of a GeoPackage, or of another file with several; for other files write file.gpkg:NAME."
    )
    drop_suspicious: Suspicious = option(
        [],
        "Drop records with suspicious coordinates: all, or some of equal (longitude and latitude), whole (degrees), "
        "repeated (one point of many species), sea (on nodata, far from data); zero, impossible and swapped ones are "
        "dropped in any case.",
    )
    snap: int = option(0, "Move records on nodata to the nearest valid cell, at most N cells away.", ge=0, le=1000)
    keep_duplicates: bool | None = option(
        None,
        "Keep several records of a species in one cell (default: no; for classes yes, because every visit counts, and "
        "for point patterns, --bounds).",
    )
    partial: bool = option(
        False,
        "Keep records that have some of the variables: for a value that is missing, that of another record of the "
        "species is taken, drawn by --seed, as Java Maxent does (default: such records are left out).",
        "allowpartialdata",
    )
    thin_distance: float = option(
        0.0, "Thin: keep as many records as possible, no two nearer to each other than N km.", ge=0
    )
    thin_bins: int = option(
        0, "Thin: divide every variable into N bins, and keep one record per combination of bins.", ge=0, le=10_000
    )
    thin_variables: Words = option([], "Thin: the variables that are divided into bins (default: all).")
    thin_tries: Count = option(
        10, "Random orders to try when thinning by distance; the largest set is kept.", le=10_000
    )
    record_weights: str | None = option(
        None, "Weigh records by this column, or by 'uncertainty': how surely they lie in their cell."
    )
    uncertainty_column: str | None = option(
        None, "Column with the coordinates' uncertainty in metres (default: found by its name)."
    )
    max_uncertainty: Length | None = option(
        None,
        "Leave out records whose coordinates are less certain than this, as in 5km or 250m (by "
        "coordinateUncertaintyInMeters, else coordinatePrecision; those that are not known stay).",
    )
    years: Years | None = option(
        None, "Only records of these years, as in 1970-2010, 1970- or -2010; those without a year are left out."
    )
    basis: Words = option(
        [],
        "Only records of these kinds (basisOfRecord), as in HUMAN_OBSERVATION,PRESERVED_SPECIMEN (default: all but "
        "fossils and captive specimens).",
    )
    exclude_issues: Words = option(
        [], "Leave out records with these issues of GBIF, as in COUNTRY_COORDINATE_MISMATCH; geospatial: all of place."
    )
    where: str | None = option(
        None,
        "Only records that satisfy a condition on columns of the file, as in \"elevation > 500 and country == 'PE'\" "
        "(comparisons, and, or, not, in ('a', 'b'), like 'Rio*', is missing).",
    )
    max_bad_rows: float = option(
        5.0, "Stop if more than N percent of the rows of a file cannot be read; fewer are left out.", ge=0, le=100
    )


class LayerOptions(Section):
    """The environment."""

    files: Files = option(
        [],
        "Environmental layers: a folder, a pattern, or files; one file per variable.",
        "layers",
        "environmentallayers",
    )
    bounds: Literal["auto"] | Bounds | None = option(
        None,
        "A point pattern, without layers: the window that the points were looked for in, as xmin,ymin,xmax,ymax in "
        "their own coordinates (auto: a box around them). The coordinates of its cells, x and y, are the variables; "
        "every cell is background, and several points in one cell count.",
    )
    cells: CountList = option(
        [100],
        "With --bounds: cells along the longer side of the window, which are squares; or columns and rows, as in "
        "48,365.",
        min_length=1,
        max_length=2,
    )
    categorical: Words = option([], "Layers whose values are categories.", "togglelayertype")
    variables: Words = option(
        [],
        "Use only these variables: names or patterns such as 'bio*' of layers, or of columns of a table.",
        "environment",
        formerly="joint.environment",
    )
    exclude: Words = option([], "Leave these variables out: names or patterns.")
    nodata: Nodata = option(
        [],
        "Values that mean 'no data', besides what the files say: -9999, several with commas between, or landcover=255 "
        "for one variable; none: what the files say is all, and a number that looks like such a value is a true one.",
    )
    rename: Renames = option(
        {},
        "Rename layers by a pattern with fields in braces, also in scenarios: 'wc2.1_10m_bio_{n}=bio{n}'.",
    )
    align: str | None = option(None, "Resample layers to the grid of this layer ('first' for the first).")
    drop_correlated: float | None = option(
        None,
        "Of continuous variables whose correlation |r| exceeds this number (often 0.7), keep the one that tells most "
        "by itself, by its gain; categories are kept.",
        gt=0,
        lt=1,
    )
    drop_vif: float | None = option(
        None,
        "Leave out the continuous variable with the largest variance inflation factor, again and again, until none "
        "exceeds this number (often 10).",
        ge=1,
    )
    reduce: bool = option(
        False,
        "Leave out the variable that matters least at held-out records, again and again, while the held-out loss gets "
        "worse by no more than its standard error.",
    )
    reduce_to: Count | None = option(None, "The same down to N variables, whatever the loss.")

    @property
    def reduces(self) -> bool:
        """Tell whether variables are left out by their importance at held-out records."""
        return self.reduce or self.reduce_to is not None

    @property
    def chooses(self) -> bool:
        """Tell whether variables are left out."""
        return self.drop_correlated is not None or self.drop_vif is not None or self.reduces


class BackgroundOptions(Section):
    """The points that the species' environment is compared with."""

    kind: Literal["random", "target-group"] = option(
        "random",
        "What the background is: random cells, or all sites where any species of a target group was recorded.",
        "background",
    )
    points: Count | Literal["all"] = option(
        10_000, "How many background points to draw, or 'all' cells.", "background_points", "maximumbackground"
    )
    file: str | None = option(
        None, "Your own background points, in any format that occurrences come in.", "background_file"
    )
    area: str | None = option(
        None,
        "Study area, outside which nothing is drawn, counted or mapped: polygons (a file), or what a species can have "
        "reached: a 'buffer' around its records, or their convex 'hull'.",
        "study_area",
    )
    buffer: Positive | None = option(None, "Width of the buffer in km, for a study area of 'buffer' or 'hull'.")
    area_weighted: bool = option(False, "Draw cells by their true area (for layers in degrees).")
    target_group: str | None = option(
        None, "Records of a target group, observed as the species is (default: all species of the occurrence file)."
    )
    random_share: float | None = option(
        None,
        "Shared axes with a target group: the part of the base measure that is on 2,000 random cells, so that it is "
        "not zero where nobody looked (default: 0.1, with features of place 0.03; 0: none).",
        ge=0,
        lt=1,
    )
    bias: str | None = option(
        None,
        "Sampling effort: a raster on the grid of the layers, or 'target-group' for the density of its sites.",
        "biasfile",
    )
    bias_treatment: Literal["sample", "prior", "records"] = option(
        "sample",
        "What effort does. sample: background cells are drawn by it. prior: it is the base measure that the model is "
        "fitted relative to, and so is divided out of the map (exact; take many points). records: every record counts "
        "by one over the effort in its cell, and the background stays as it is.",
    )
    bandwidth: Literal["auto"] | Positive = option(
        "auto", "Of the density of a target group's sites: the kernel's standard deviation in km, or auto."
    )
    effort_column: str | None = option(
        None, "In tables of samples with data: the column with the sampling effort of each row."
    )

    @property
    def uses_group(self) -> bool:
        """Tell whether the records of a target group are used."""
        return "target-group" in (self.kind, self.bias)
