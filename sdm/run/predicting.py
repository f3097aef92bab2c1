"""Predictions of a model file of any kind for layers or a table of points."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.stack import Stack
from sdm.errors import InapplicableError, OptionError, OutputError
from sdm.kinds.inputs import check_region, chosen_options, is_swd, open_for
from sdm.kinds.model_task import MapOptions, MapResult, ModelTask, SurveyFile
from sdm.kinds.registry import model_task
from sdm.maps.gis.formats import map_format
from sdm.maps.gis.styles import style_places
from sdm.maps.novelty import novelty_places, read_measures
from sdm.models.file import load_model
from sdm.models.interface import FittedModel
from sdm.options.reading import make_options
from sdm.run.projecting.tables import PredictionSettings, check_table, communities_place, predict_table
from sdm.storage.commit import claim
from sdm.storage.files import check_output_path, refuse_existing


@dataclass(frozen=True)
class Prediction(MapResult):
    """Written maps, the kind of their model, and messages for the user.

    `files` are by content: ``map``; for a class model ``probability``, ``class`` and ``entropy``; for a joint model by
    their path in the folder, such as ``maps/owl.tif``; for a group by their names.
    """

    kind: str
    notices: list[str]


def predict_files(
    model: str | Path,
    layers: Sequence[str],
    output: str | Path,
    settings: PredictionSettings = PredictionSettings(),  # noqa: B008 - it is frozen
) -> Prediction:
    """Write the maps of a model file over layers, or its predictions for the rows of a table.

    Parameters
    ----------
    model : path
        Written by `sdm fit`, `sdm classify` or `sdm joint`, or by `save` in Python.
    layers : sequence of str
        A folder, a pattern, or files, with the variables of the model; or a table (.csv, .tsv, .txt) of points. If the
        model has spatial features, layers must be in the region of the fit, and a table needs coordinates.
    output : path
        The file or folder to write, with styles for QGIS (.qml) and other programs (.sld):

        - one species: a GeoTIFF, or another format of GDAL by the extension, such as .asc
        - classes: a file with one band per class for the probabilities; the most probable class and the entropy are in
          `<stem>_class.tif` and `<stem>_entropy.tif`
        - joint model: a folder with `maps/<species>.tif`, `maps/<species>_present.tif`, `richness.tif` and
          `labeled_richness.tif`
        - group of species on shared axes: a folder with one map per species, `<species>.tif`
        - table of points: the table with columns of predictions, and of novelty if requested
    settings : PredictionSettings, optional
        Settings of maps, and of reading layers and tables.

    Raises
    ------
    OptionError
        If an option does not apply to a model of this kind, or has an invalid value.
    SdmError
        If the model, the layers or the area cannot be used, or the maps cannot be written.

    Examples
    --------
    >>> prediction = predict_files("results/habitat.npz", ["future/"], "future.tif")  # doctest: +SKIP
    >>> prediction.numbers["shares"]  # doctest: +SKIP
    {'bog': 0.12, 'forest': 0.61, 'meadow': 0.27}
    """
    loaded, output = load_model(model), Path(output)
    if not output.name:
        raise OutputError(f"'{output}' is a folder: add the name of the map, as in -o map.tif")
    task = model_task(loaded.kind)
    read = make_options(
        {
            "layers.rename": settings.rename,
            "predict.extrapolation": settings.extrapolation,
            "predict.clamp": settings.clamp,
        }
    )
    extrapolation = read.predict.extrapolation
    task.check_extrapolation(extrapolation)
    place = (settings.x_column, settings.y_column, settings.crs)
    words = {
        "scale": settings.scale,
        "threshold": settings.threshold,
        "novelty": read_measures(settings.novelty),
        "known": None if settings.known is None else SurveyFile(settings.known, *place),
        "communities": settings.communities or None,
        "extrapolation": None if extrapolation == "clamp" else extrapolation,
    }
    options = MapOptions(
        **chosen_options(loaded, words, task.maps_with),
        overwrite=settings.overwrite,
        threads=settings.threads,
        progress=settings.progress,
    )

    def open_layers(files: Sequence[str]) -> Stack:
        reading = {"files": files, "nodata": settings.nodata, "align": settings.align}
        return open_for(loaded, read.layers.model_copy(update=reading))

    if is_swd(layers):
        for name, value in (("threshold", settings.threshold), ("study-area", settings.area)):
            if value is not None:
                raise InapplicableError(f"--{name} does not apply to predictions for a table: remove it")
        points, notices = Path(layers[0]), list[str]()
        check_table(points, output)
        if options.scale not in (None, *loaded.scales):
            raise OptionError(f"predict.scale={options.scale!r}: expected one of {', '.join(loaded.scales)}")
        _check_places([output, *([communities_place(output)] if options.communities else [])], options.overwrite)
        with claim(output, overwrite=options.overwrite, folder=False):
            predictions = predict_table(task, loaded, points, output, notices, settings, open_layers, options)
        return Prediction(**vars(predictions), kind=loaded.kind, notices=notices)
    if settings.communities:
        raise InapplicableError("--communities needs a table of points, and layers were given: give a table of sites")
    if settings.values_from or (settings.known is None and any(place)):
        raise InapplicableError("--layers, --x-column, --y-column and --crs apply to a table of points: remove them")
    return _predict_map(task, loaded, partial(open_layers, layers), output, settings.area, options)


def _predict_map(
    task: ModelTask[FittedModel],
    model: FittedModel,
    open_layers: Callable[[], Stack],
    output: Path,
    area: str | Path | None,
    options: MapOptions,
) -> Prediction:
    """Write the maps of a model over layers."""
    files = task.map_places(output)
    files += list(novelty_places(options.novelty, output).values()) if files else []
    for file in files:
        map_format(file)
    _check_places([*files, *(place for file in files for place in style_places(file))], options.overwrite)
    with ExitStack() as held:
        for file in sorted(files) or [output]:
            held.enter_context(claim(file, overwrite=options.overwrite, folder=not files))
        stack = open_layers()
        inside = None if area is None else StudyArea.read(area, stack.crs, grid=stack)
        if inside is not None:
            inside.check(stack)
        check_region(model, stack, inside)
        maps = task.map(model, stack, output, replace(options, study_area=inside))
    return Prediction(**vars(maps), kind=model.kind, notices=[*stack.notices, *(inside.notes if inside else ())])


def _check_places(files: Sequence[Path], overwrite: bool) -> None:
    """Raise if a map cannot be written to its path."""
    for file in files:
        check_output_path(file)
        if file.is_dir():
            raise OutputError(f"{file} is a folder: add the name of a file, such as {file / 'map.tif'}")
        refuse_existing(file, overwrite=overwrite)
    if files and not files[0].parent.is_dir():
        raise OutputError(f"the folder {files[0].parent} does not exist: create it, or choose another name")
