"""A model file of any kind on a folder of layers, or a table of points."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sdm.data.nodata import NodataGiven
from sdm.data.rasters.area import StudyArea
from sdm.errors import OptionError, OutputError
from sdm.kinds.inputs import check_region, chosen_options, is_swd, open_for
from sdm.kinds.model_task import MapOptions, MapResult, ModelTask, SurveyFile
from sdm.kinds.registry import model_task
from sdm.maps.gis.formats import map_format
from sdm.maps.gis.styles import style_places
from sdm.maps.novelty import novelty_places, read_measures
from sdm.models.file import load_model
from sdm.models.interface import FittedModel
from sdm.options.reading import make_options
from sdm.run.projecting.tables import PointLayers, check_table, communities_place, predict_table
from sdm.storage.commit import claim
from sdm.storage.files import check_output_path, refuse_existing
from sdm.types import Progress


@dataclass(frozen=True)
class Prediction(MapResult):
    """Maps that were written, the kind of their model, and what the user should be told.

    `files` are by what they are: ``map``; for a class model ``probability``, ``class`` and ``entropy``; for a joint
    model by their place in the folder, such as ``maps/owl.tif``; for a group by their names.
    """

    kind: str
    notices: list[str]


def predict_files(
    model: str | Path,
    layers: Sequence[str],
    output: str | Path,
    *,
    scale: str | None = None,
    extrapolation: str | None = None,
    novelty: str | Sequence[str] | None = None,
    clamp: bool | None = None,
    threshold: str | float | None = None,
    known: str | Path | None = None,
    communities: bool = False,
    area: str | Path | None = None,
    nodata: NodataGiven = None,
    align: str | None = None,
    rename: Mapping[str, str] | Sequence[str] | None = None,
    values_from: Sequence[str] = (),
    x_column: str | None = None,
    y_column: str | None = None,
    crs: str | None = None,
    threads: int = 2,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Prediction:
    """Write the maps of a model file over layers, or its predictions for the rows of a table.

    Parameters
    ----------
    model : path
        Written by `sdm fit`, `sdm classify` or `sdm joint`, or by `save` in Python.
    layers : sequence of str
        A folder, a pattern, or files, with the model's variables; or one table (.csv, .tsv, .txt) of points. Of a model
        with features of place, layers must lie in the region of the fit, and a table needs coordinates.
    output : path
        The GeoTIFF to write, or another format of GDAL by its ending, such as .asc; styles for QGIS (.qml) and other
        programs (.sld) go beside it. Of a class model it has the probabilities, one band per class; the most probable
        class and the entropy go beside it, to `<stem>_class.tif` and `<stem>_entropy.tif`. Of a joint model it is a
        folder: it gets `maps/<species>.tif`, `maps/<species>_present.tif`, `richness.tif` and `labeled_richness.tif`. A
        group of species on shared axes gives a folder with one map per species, `<species>.tif`. Of a table of points
        it is that table again, with columns of predictions, and of novelty where asked for.
    scale : {"cloglog", "raw", "cumulative", "logistic"}, optional
        Of a model of one species; cloglog unless given.
    extrapolation : {"clamp", "free", "none", "fade", "lower"}, optional
        Outside the training range: hold variables at its limits (the default); do not; predict nothing; or, of one
        species, reduce the clamped prediction by its difference from the free one.
    novelty : str or sequence of str, optional
        Measures of novelty to map beside it, of ``mess``, ``exdet``, ``mop``, ``clamping`` and ``limiting``: such as
        `<stem>_mess.tif` and, with the most dissimilar variable, `<stem>_mod.tif`. How much of the map is outside the
        training range is among the numbers in any case.
    clamp : bool, optional
        The earlier name of extrapolation: True is clamp, and False is free.
    threshold : str or float, optional
        Of a model of one species, or of presence and absence: write presence and absence by this cutoff.
    known : path, optional
        Of a joint model: a table of survey sites with columns (or rows) of some of its species, 1, 0 or blank. In the
        cells of its sites these labels are held, and the other species are predicted given them; where several sites
        are in a cell, one presence is enough. For a table of points it may be that table itself, or another that is
        joined by the names of sites, by coordinates, or row by row.
    communities : bool
        Of a joint model and a table of points: write a few possible communities of every row, with their
        probabilities, to `<stem>_communities.csv` beside it.
    area : path, optional
        Polygons outside which nothing is drawn.
    nodata, align, rename
        As for `open_stack`; rules of renaming may be texts too, such as ``"wc2.1_10m_bio_{n}=bio{n}"``.
    values_from : sequence of str
        For a table: layers that hold the values at its coordinates. Without them its columns are the variables.
    x_column, y_column, crs : str, optional
        Of a table with `values_from`, or of `known`: its coordinates (default: found by their names).
    progress : callable, optional
        Called with windows done, windows in all, and what is going on.

    Raises
    ------
    OptionError
        If an option does not apply to a model of this kind, or has a value that makes no sense.
    SdmError
        If the model, the layers or the area cannot be used, or the maps cannot be written.

    Examples
    --------
    >>> found = predict_files("results/habitat.npz", ["future/"], "future.tif")  # doctest: +SKIP
    >>> found.numbers["shares"]  # doctest: +SKIP
    {'bog': 0.12, 'forest': 0.61, 'meadow': 0.27}
    """
    loaded, output = load_model(model), Path(output)
    if not output.name:
        raise OutputError(f"'{output}' is a folder: give the name of the result, as in -o map.tif")
    task = model_task(loaded.kind)
    given = make_options({"layers.rename": rename, "predict.extrapolation": extrapolation, "predict.clamp": clamp})
    chosen = given.predict.extrapolation
    task.check_extrapolation(chosen)
    measures, rules = read_measures(novelty), given.layers.rename
    survey = None if known is None else SurveyFile(known, x_column, y_column, crs)
    words = {
        "scale": scale,
        "threshold": threshold,
        "novelty": measures,
        "known": survey,
        "communities": communities or None,
    }
    words |= {} if chosen == "clamp" else {"extrapolation": chosen}
    wanted = MapOptions(
        **chosen_options(loaded, words, task.maps_with), overwrite=overwrite, threads=threads, progress=progress
    )
    points = PointLayers(values_from, nodata, align, rules, x_column, y_column, crs)
    if is_swd(layers):
        for name, value in (("threshold", threshold), ("study-area", area)):
            if value is not None:
                raise OptionError(f"--{name} does not apply to predictions for a table: leave it out")
        return _predict_rows(task, loaded, Path(layers[0]), output, points, wanted)
    if communities:
        raise OptionError("--communities is for a table of points, got layers to map: give a table of sites")
    if values_from or (known is None and (x_column or y_column or crs)):
        raise OptionError("--layers, --x-column, --y-column and --crs are for a table of points, got layers to map")
    return _predict_map(task, loaded, replace(points, files=layers), output, area, wanted)


def _predict_map(
    task: ModelTask[Any],
    model: FittedModel,
    layers: PointLayers,
    output: Path,
    area: str | Path | None,
    wanted: MapOptions,
) -> Prediction:
    """Write the maps of a model over layers."""
    files = task.map_places(output)
    files += list(novelty_places(wanted.novelty, output).values()) if files else []
    for file in files:
        map_format(file)
    _check_places([*files, *(place for file in files for place in style_places(file))], wanted.overwrite)
    with ExitStack() as held:
        for file in sorted(files) or [output]:
            held.enter_context(claim(file, overwrite=wanted.overwrite, folder=not files))
        stack = open_for(model, layers.files, nodata=layers.nodata, align=layers.align, rename=layers.rename)
        inside = None if area is None else StudyArea.read(area, stack.crs, grid=stack)
        if inside is not None:
            inside.check(stack)
        check_region(model, stack, inside)
        maps = task.map(model, stack, output, replace(wanted, study_area=inside))
    return Prediction(**vars(maps), kind=model.kind, notices=[*stack.notices, *(inside.notes if inside else ())])


def _predict_rows(
    task: ModelTask[Any],
    model: FittedModel,
    points: Path,
    output: Path,
    layers: PointLayers,
    given: MapOptions,
) -> Prediction:
    """Write the predictions for the rows of a table."""
    check_table(points, output)
    if given.scale not in (None, *model.scales):
        raise OptionError(f"scale={given.scale!r}: expected one of {', '.join(model.scales)}")
    _check_places([output, *([communities_place(output)] if given.communities else [])], given.overwrite)
    notices: list[str] = []
    with claim(output, overwrite=given.overwrite, folder=False):
        made = predict_table(task, model, points, output, notices, layers, given)
    return Prediction(**vars(made), kind=model.kind, notices=notices)


def _check_places(files: Sequence[Path], overwrite: bool) -> None:
    """Raise if a map cannot go where it is to go."""
    for file in files:
        check_output_path(file)
        if file.is_dir():
            raise OutputError(f"{file} is a folder: give the name of a file, such as {file / 'map.tif'}")
        refuse_existing(file, overwrite=overwrite)
    if files and not files[0].parent.is_dir():
        raise OutputError(f"the folder {files[0].parent} does not exist: make it, or choose another name")
