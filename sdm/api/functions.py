"""The complete workflow in Python: from records and layers to models, maps, scenarios and measures.

Options are the options of a run, as keyword arguments with the same names and checks as in the terminal and a run file.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sdm.api.inputs import ObjectFiles
from sdm.api.model_run import ModelRun
from sdm.api.projection import ProjectionRun
from sdm.api.run import Run
from sdm.api.saving import PrivateFolder, save_results
from sdm.errors import ConflictError, OptionError
from sdm.options.applies import refuse_other_studies
from sdm.options.definitions import RunOptions
from sdm.options.reading import make_options, plain_values, read_yaml
from sdm.storage.commit import claim
from sdm.storage.files import output_folder
from sdm.types import Numbers, Progress

if TYPE_CHECKING:
    from sdm.kinds.task import Findings
    from sdm.run.evaluating import Evaluation
    from sdm.run.projecting.mapping import ProjectionResult


def fit(
    records: object = None,
    layers: object = None,
    *,
    layers_crs: object = None,
    progress: Progress | None = None,
    **options: object,
) -> Run:
    """Fit a model per species, with map, curves and measures, as `sdm fit` does.

    Parameters
    ----------
    records : path, DataFrame or GeoDataFrame
        Occurrence records; a GeoDataFrame may be in any coordinate system. Or the path of a run file (.yaml).
    layers : path, list of paths, open rasterio dataset(s), xarray Dataset or DataArray
        The environment: a folder, a pattern, files; or objects, one variable per layer. A table (path or DataFrame)
        is the background of samples with data.
    layers_crs : optional
        Coordinate system of xarray layers without one, such as ``"EPSG:25833"``; the option `crs` is for records.
    progress : callable, optional
        Called with completed steps, all steps, and the name of the stage.
    **options
        Any option of a run in any of its spellings, such as ``species="Puma concolor"``, ``features="lqh"``,
        ``multiplier=2``, ``folds=5``, ``split="block"``, ``thin_distance=10``, ``threshold="maxsss"``, ``seed=7``;
        `sdm init` lists all of them. With ``output="results"``, the results are written to that folder, and
        ``overwrite=True`` replaces earlier ones. Otherwise they are in a temporary folder, removed with the object.

    Returns
    -------
    Run
        A mapping from species to their results. With one species, the run has all attributes of its model.

    Raises
    ------
    SdmError
        If records, layers or an option cannot be used. If one of several species fails, the others are fitted, and
        `Run.failed` contains the error.

    Examples
    --------
    >>> import pathlib, sdm, tempfile
    >>> from sdm.simulate.world import simulate  # a virtual landscape, a species, and a warmer climate
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> made = simulate(folder, size=32, layers=3, species=1, records=30, sites=40, warming=2)
    >>> run = sdm.fit(folder / "occurrences.csv", folder / "layers", categorical="landcover", features="lq")
    >>> list(run), run.map.shape
    (['Virtualis montanus'], (32, 32))
    >>> sorted(run.importance["variable"])
    ['landcover', 'precipitation', 'temperature']
    >>> run.to_folder(folder / "results").name
    'results'
    """
    from sdm.run.run import run

    return _fitted("fit", run, (records, layers, layers_crs), progress, options)


def tune(
    records: object = None,
    layers: object = None,
    *,
    layers_crs: object = None,
    progress: Progress | None = None,
    **options: object,
) -> Run:
    """Try settings by cross-validation, choose one per species, and fit it, as `sdm tune` does.

    Parameters
    ----------
    records, layers, layers_crs, progress, **options
        As for `fit`, and options such as ``feature_sets=["l", "lq", "lqh"]``, ``multipliers=[0.5, 1, 2]`` and
        ``choose_by="auc.val.avg"``.

    Returns
    -------
    Run
        `Run.tuning` is the table of all settings.

    Examples
    --------
    >>> import pathlib, sdm, tempfile
    >>> from sdm.simulate.world import simulate  # a virtual landscape, a species, and a warmer climate
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> made = simulate(folder, size=32, layers=3, species=1, records=30, sites=40, warming=2)
    >>> tried = {"feature_sets": ["l", "lq"], "multipliers": [1, 4], "folds": 2}
    >>> run = sdm.tune(folder / "occurrences.csv", folder / "layers", categorical="landcover", **tried)
    >>> len(run.tuning), int(run.tuning["chosen"].sum())
    (4, 1)
    """
    from sdm.run.studies.tuning import run_tuning

    return _fitted("tune", run_tuning, (records, layers, layers_crs), progress, options)


def check(records: object = None, layers: object = None, *, layers_crs: object = None, **options: object) -> "Findings":
    """List the problems of a run, as far as they can be detected without fitting.

    Parameters
    ----------
    records, layers, layers_crs, **options
        As for `fit`.

    Returns
    -------
    Findings
        Lists of text: `problems` stop a run, `warnings` do not, and `facts` describe valid inputs.

    Examples
    --------
    >>> import pathlib, sdm, tempfile
    >>> from sdm.simulate.world import simulate  # a virtual landscape, a species, and a warmer climate
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> made = simulate(folder, size=32, layers=3, species=1, records=30, sites=40, warming=2)
    >>> checked = sdm.check(folder / "occurrences.csv", folder / "layers", categorical="landcover")
    >>> checked.problems
    []
    >>> sdm.check(folder / "occurrences.csv", folder / "layers", categorical="soil").problems  # doctest: +ELLIPSIS
    ["categorical layer 'soil' ...
    """
    from sdm.run.checking import check_run

    private = PrivateFolder()
    chosen = _options(ObjectFiles(private, layers_crs), records, layers, options)
    if chosen.output.folder is None:
        chosen = chosen.with_values(output={"folder": str(private.results)})
    result = check_run(chosen)
    if private.has_inputs:  # an object has no path
        for texts in (result.problems, result.warnings, result.facts):
            texts[:] = [text.replace(f"{private.inputs}{os.sep}", "") for text in texts]
    return result


def project(
    models: object,
    scenarios: object,
    reference: object = None,
    *,
    output: str | Path | None = None,
    layers_crs: object = None,
    progress: Progress | None = None,
    **options: object,
) -> ProjectionRun:
    """Map models on other climates, times and places, with extrapolation and change.

    Parameters
    ----------
    models : Run, ModelRun, path, or list of these
        Models to project; or a pattern of model files with fields (``"runs/{multiplier}/sp.npz"``).
    scenarios : mapping, path, or list of paths
        Layers by the title of the scenario, each as for `fit`: ``{"2050": "future/2050/", "2090": dataset}``. Or
        patterns with fields in braces (``"future/{gcm}_{ssp}_{period}/"``), a table (.csv), folders.
    reference : layers, optional
        The environment of the reference period, as for `fit`; required for maps of change.
    output : path, optional
        Folder of the results; without it they are temporary.
    layers_crs, progress : optional
        As for `fit`.
    **options
        As for `sdm project`: `thresholds`, `novelty`, `dispersal`, `over`, `extrapolation`, `scale`,
        `projection_area` and others.

    Returns
    -------
    ProjectionRun

    Examples
    --------
    >>> import pathlib, sdm, tempfile
    >>> from sdm.simulate.world import simulate  # a virtual landscape, a species, and a warmer climate
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> made = simulate(folder, size=32, layers=3, species=1, records=30, sites=40, warming=2)
    >>> run = sdm.fit(folder / "occurrences.csv", folder / "layers", categorical="landcover", features="lq")
    >>> future = sdm.project(run, {"warmer": folder / "warmer"}, folder / "layers")
    >>> future.summary["scenario"].tolist()
    ['reference', 'warmer']
    >>> future.only.get_map("warmer", "change").shape
    (32, 32)
    """
    private = PrivateFolder()
    files = ObjectFiles(private, layers_crs)
    places = [_model_place(one) for one in (models if isinstance(models, list | tuple) else [models])]
    chosen = files.options({"project.scenarios": scenarios, "project.reference": reference, **options})
    with _place_of_results(private, output, bool(chosen.get("output.overwrite"))) as place:
        project_models(places, chosen.pop("project.scenarios"), place, progress=progress, **chosen)
    return ProjectionRun(private.results if output is None else Path(output), private)


def project_models(
    models: str | Path | Sequence[str | Path],
    scenarios: str | Path | Sequence[str | Path] | Mapping[str, str | Path],
    output: str | Path,
    *,
    progress: Progress | None = None,
    **options: object,
) -> "ProjectionResult":
    """Map models on scenarios: suitability, presence, novelty, change against a reference, and agreement.

    Parameters
    ----------
    models : path or sequence of paths
        Model files, results of a run or of a batch, or a pattern with fields (``"runs/{multiplier}/sp.npz"``).
    scenarios : path, sequence of paths, or mapping
        Patterns with fields in braces (``"future/{gcm}_{ssp}_{period}/"``), tables (.csv), folders or files; or places
        by title.
    output : path
        The folder for the results.
    progress : callable, optional
        Called with completed steps, all steps and the name of the stage.
    options
        Any option of ``sdm project`` in any of its spellings: `reference`, `thresholds`, `novelty`, `dispersal`,
        `over`, `extrapolation`, `scale`, `align`, `resume`, `overwrite` …

    Returns
    -------
    ProjectionResult
        `.species`, each with its `.scenarios`, whose `.numbers` are areas (km²), changes (percent) and novelty.

    Examples
    --------
    >>> import numpy as np, pathlib, rasterio, tempfile
    >>> from sdm import Maxent, project_models
    >>> folder, heat = pathlib.Path(tempfile.mkdtemp()), np.linspace(0, 10, 100, dtype=np.float32)
    >>> grid = {"driver": "GTiff", "width": 10, "height": 10, "count": 1, "dtype": "float32", "crs": "EPSG:32633"}
    >>> for name, warmer in (("now", 0), ("later", 2)):
    ...     (folder / name).mkdir()
    ...     cells = rasterio.Affine(1000, 0, 0, 0, -1000, 0)
    ...     with rasterio.open(folder / name / "heat.tif", "w", transform=cells, **grid) as file:
    ...         file.write(heat.reshape(10, 10) + warmer, 1)
    >>> Maxent("lq").fit({"heat": heat}, heat < 4).save(folder / "oak.npz")
    >>> places = {"reference": folder / "now", "thresholds": [0.5]}
    >>> result = project_models(folder / "oak.npz", folder / "later", folder / "out", **places)
    >>> change = result.species[0].scenarios[0].numbers["change"]
    >>> change["loss"]["km2"], change["gain"]["km2"]
    (20.0, 0.0)
    """
    from sdm.run.projecting.projection import run_projection

    places = {"project.models": models, "project.scenarios": scenarios, "output.folder": output}
    sources = ({name: plain_values(value) for name, value in part.items()} for part in (options, places))
    return run_projection(make_options(*sources), progress=progress)


def evaluate(
    model: object, presences: object, layers: object = None, *, layers_crs: object = None, **options: object
) -> "Evaluation":
    """Measure a model on independent records, as `sdm evaluate` does.

    Parameters
    ----------
    model : Run, ModelRun or path of a model file
    presences : path, DataFrame or GeoDataFrame
        Records of the species (with a 0/1 column, absences too); points with a class; or sites with a 0/1 column per
        species.
    layers : optional
        The model's layers, as for `fit`; not needed if the table has its variables.
    layers_crs : optional
        As for `fit`.
    **options
        As for `sdm evaluate`: `absences` and `background` (a table, or for the background a number of points),
        `species`, `truth`, `seed`, `class_column`, `proportions`, `select`, `site_column`, and options of reading
        records and layers (`crs`, `where`, `nodata`, …).

    Returns
    -------
    Evaluation
        `numbers` has every measure by its name: `auc`, `boyce`, `log_loss` and others.

    Examples
    --------
    >>> import pathlib, sdm, tempfile
    >>> from sdm.simulate.world import simulate  # a virtual landscape, a species, and a warmer climate
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> made = simulate(folder, size=32, layers=3, species=1, records=30, sites=40, warming=2)
    >>> run = sdm.fit(folder / "occurrences.csv", folder / "layers", categorical="landcover", features="lq")
    >>> survey = sdm.evaluate(run, folder / "presence_absence.csv", folder / "layers")
    >>> survey.kind, survey.numbers["auc"] > 0.7
    ('species', True)
    """
    from sdm.run.evaluating import evaluate_files

    files = ObjectFiles(PrivateFolder(), layers_crs)
    options = dict(options)
    for name in ("absences", "background"):
        if options.get(name) is not None:
            value = options[name]
            options[name] = str(value) if isinstance(value, int) else files.table(value, name)
    if options.get("truth") is not None:
        options["truth"] = files.option("background.bias", options["truth"])
    rasters = None if layers is None else files.rasters(layers, "layers")
    with _one_thread():
        return evaluate_files(_model_file(model), files.table(presences, "records"), rasters, options)


# -- execution of a run ------------------------------------------------------------------------------------------------


def _fitted(
    verb: str,
    work: Callable[..., object],
    inputs: tuple[object, object, object],
    progress: Progress | None,
    options: Mapping[str, object],
) -> Run:
    """Run a function; objects are files in a private folder, and are saved with the results."""
    records, layers, layers_crs = inputs
    refuse_other_studies(options, [verb], f"sdm.{verb}")
    private = PrivateFolder()
    chosen = _options(ObjectFiles(private, layers_crs), records, layers, options)
    output = chosen.output.folder
    if chosen.output.resume and private.has_inputs:
        raise ConflictError("resume=True needs records and layers in files: save them, and use their paths")
    with _place_of_results(private, output, chosen.output.overwrite) as place:
        chosen = chosen.with_values(output={"folder": str(place)})
        work(chosen, command=_call(verb, records, layers, options), progress=progress)
    return Run(private.results if output is None else Path(output), private)


def _options(files: ObjectFiles, records: object, layers: object, options: Mapping[str, object]) -> RunOptions:
    """Make the options of a run from the arguments, with objects as files."""
    sources: list[Numbers] = []
    if isinstance(records, str | Path) and str(records).lower().endswith((".yaml", ".yml")):
        sources.append(read_yaml(records))
    elif records is not None:
        sources.append({"occurrences.file": files.option("occurrences.file", records)})
    if layers is not None:
        sources.append({"layers.files": files.option("layers.files", layers)})
    return make_options(*sources, files.options(options))


@contextmanager
def _place_of_results(private: PrivateFolder, output: str | Path | None, overwrite: bool) -> Iterator[Path]:
    """Yield the folder that a run writes to: its output, or a private folder without one.

    Results made from objects are private first, and are saved with the objects after the block; their output is locked
    in the block.
    """
    with _one_thread():
        if output is None or not private.has_inputs:
            yield private.results if output is None else Path(output)
            return
        with claim(output_folder(str(output)), overwrite=overwrite):
            yield private.results
            save_results(private.results, Path(output), private, overwrite=overwrite, held=True)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit linear algebra to one thread, as in the terminal: the last digits depend on the number of threads."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield


def _call(verb: str, records: object, layers: object, options: Mapping[str, object]) -> str:
    """Return the call as text, to be stored with the results."""
    parts = [_shown(value) for value in (records, layers) if value is not None]
    parts += [f"{name}={_shown(value)}" for name, value in options.items()]
    return f"sdm.{verb}({', '.join(parts)})"


def _shown(value: object) -> str:
    if isinstance(value, str | Path):
        return repr(str(value))
    if isinstance(value, bool | int | float | None):
        return repr(value)
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, Mapping) and not hasattr(value, "dims"):
        return "{" + ", ".join(f"{key!r}: {_shown(item)}" for key, item in value.items()) + "}"
    return f"<{type(value).__name__}>"


def _model_place(model: object) -> str:
    """Return the folder of a run with several models, or the file of one model."""
    if isinstance(model, Run):
        return str(model.folder) if len(model) > 1 or not model.files else str(model.files["model"])
    return _model_file(model)


def _model_file(model: object) -> str:
    """Return the file of one model."""
    if isinstance(model, ModelRun):
        return str(model.files["model"])
    if not isinstance(model, str | Path):
        raise OptionError(f"got a {type(model).__name__}: expected a run, one of its models, or a model file")
    return str(model)
