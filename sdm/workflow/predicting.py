"""A model file of any kind on a folder of layers."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from sdm.commit import claim, publishing, staging
from sdm.data.rasters.area import StudyArea
from sdm.data.rasters.stack import Stack
from sdm.errors import OptionError, OutputError
from sdm.files import refuse_existing
from sdm.maps.classes import write_class_maps
from sdm.maps.community import MAPS, OF_ONE_MODEL, PRESENT, JointPlaces, write_maps
from sdm.maps.rasters import predict_raster
from sdm.models.classes import ClassModel
from sdm.models.community import FittedJoint
from sdm.models.file import load_model
from sdm.models.interface import FittedModel
from sdm.models.species import SCALES, Model
from sdm.types import Progress
from sdm.workflow.model_inputs import open_for, refuse_options

MAP_SCALES = tuple(scale for scale in SCALES if scale != "link")
SCALE = "cloglog"
BESIDE = ("class", "entropy")  # maps of a class model beside its probabilities


@dataclass(frozen=True)
class Prediction:
    """Maps that were written.

    Attributes
    ----------
    files : dict
        Where they are: ``map``; for a class model ``probability``, ``class`` and ``entropy``; for a joint model by
        their place in the folder, such as ``maps/owl.tif``.
    numbers : dict
        What they hold. JSON values only.
    notices : list of str
        What the user should be told.
    """

    files: dict[str, Path]
    numbers: dict[str, Any]
    notices: list[str] = field(default_factory=list)


def predict_files(
    model: str | Path,
    layers: Sequence[str],
    output: str | Path,
    *,
    scale: str | None = None,
    clamp: bool = True,
    threshold: str | float | None = None,
    area: str | Path | None = None,
    nodata: float | None = None,
    align: str | None = None,
    threads: int = 2,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Prediction:
    """Write the maps of a model file over layers.

    Parameters
    ----------
    model : path
        Written by `sdm fit`, `sdm classify` or `sdm joint`, or by `save` in Python.
    layers : sequence of str
        A folder, a pattern, or files, with the model's variables.
    output : path
        The GeoTIFF to write. Of a class model it has the probabilities, a band a class; the most probable class and the
        entropy go beside it, to `<stem>_class.tif` and `<stem>_entropy.tif`. Of a joint model it is a folder: it gets
        `maps/<species>.tif`, `maps/<species>_present.tif`, `richness.tif` and `labeled_richness.tif`.
    scale : {"cloglog", "raw", "cumulative", "logistic"}, optional
        Of a model of one species; cloglog unless given.
    clamp : bool
        Hold variables at the limits of their training ranges.
    threshold : str or float, optional
        Of a model of one species: write presence and absence instead.
    area : path, optional
        Polygons outside which nothing is drawn.
    nodata, align
        As for `open_stack`.
    threads : int
    overwrite : bool
    progress : callable, optional
        Called with windows done, windows in all, and what is going on.

    Raises
    ------
    OptionError
        If an option says nothing to a model of this kind, or has a value that makes no sense.
    SdmError
        If the model, the layers or the area cannot be used, or the maps cannot be written.

    Examples
    --------
    >>> found = predict_files("results/habitat.npz", ["future/"], "future.tif")  # doctest: +SKIP
    >>> found.numbers["shares"]  # doctest: +SKIP
    {'bog': 0.12, 'forest': 0.61, 'meadow': 0.27}
    """
    loaded, output = load_model(model), Path(output)
    way = _Way(layers, clamp, area, nodata, align, threads, progress)
    files = _places(loaded, output)
    _check_places(files, overwrite)
    with ExitStack() as held:
        for file in sorted(files) or [output]:
            held.enter_context(claim(file, overwrite=overwrite, folder=not files))
        if isinstance(loaded, Model):
            return _map_species(loaded, output, way, SCALE if scale is None else scale, threshold)
        refuse_options(loaded, {"--scale": scale, "--threshold": threshold})
        if isinstance(loaded, ClassModel):
            return _map_classes(loaded, files, way)
        return _map_community(cast(FittedJoint, loaded), output, way, overwrite)


@dataclass(frozen=True)
class _Way:
    """How any model is mapped."""

    layers: Sequence[str]
    clamp: bool
    area: str | Path | None
    nodata: float | None
    align: str | None
    threads: int
    progress: Progress | None

    def open(self, model: FittedModel) -> tuple[Stack, dict[str, Any]]:
        """Return a model's layers, and what every function that writes maps takes."""
        stack = open_for(model, self.layers, nodata=self.nodata, align=self.align)
        area = None if self.area is None else StudyArea.read(self.area, stack.crs)
        if area is not None:
            area.check(stack)
        common = {"clamp": self.clamp, "study_area": area, "threads": self.threads, "progress": self.progress}
        return stack, common


def _map_species(model: Model, output: Path, way: _Way, scale: str, threshold: str | float | None) -> Prediction:
    """Write one map."""
    if scale not in MAP_SCALES:
        raise OptionError(f"scale={scale!r}: expected one of {', '.join(MAP_SCALES)}")
    stack, common = way.open(model)
    level = None if threshold is None else threshold_on_scale(model, threshold, scale)
    tags = {"species": str(model.meta.get("species", ""))}
    with publishing([output]) as (place,):
        summary = predict_raster(model, stack, place, scale=scale, threshold=level, tags=tags, **common)
    return Prediction({"map": output}, {"file": str(output), **summary.numbers}, list(stack.notices))


def _map_classes(model: ClassModel, places: Sequence[Path], way: _Way) -> Prediction:
    """Write the probabilities, and beside them the most probable class and the entropy."""
    files = dict(zip(("probability", *BESIDE), places))
    stack, common = way.open(model)
    tags = {"title": str(model.meta.get("title", ""))}
    with publishing(places) as staged:
        paths = dict(zip(files, staged))
        maps = write_class_maps(model, stack, paths, tags=tags, **common)
    named = {what: str(path) for what, path in files.items()}
    return Prediction(files, {"files": named, **maps.numbers(model.labels)}, list(stack.notices))


def _map_community(model: FittedJoint, output: Path, way: _Way, overwrite: bool) -> Prediction:
    """Write two maps a species, probability and best joint labeling, and their sums, into a folder."""
    stack, common = way.open(model)
    with staging(output, overwrite=overwrite, keep=True) as stage:
        (stage / MAPS).mkdir()
        maps = write_maps(model, None, stack, JointPlaces.within(stage, model.species, OF_ONE_MODEL), **common)
    files: dict[str, Path] = {}
    numbers: dict[str, Any] = {}
    for kind, found in (("probability", maps.species), (PRESENT, maps.present), ("richness", maps.richness)):
        for name, one in found.items():
            key = one.path.relative_to(stage).as_posix()  # a species may have the name of another map
            files[key] = output / key
            what = {"what": name} if kind == "richness" else {"what": kind, "species": name}
            numbers[key] = {"file": str(files[key]), **what, **one.numbers}
    return Prediction(files, {"folder": str(output), "maps": numbers}, list(stack.notices))


def _places(model: FittedModel, output: Path) -> list[Path]:
    """Return the files that a model's maps go to; none where they go to a folder."""
    if isinstance(model, Model):
        return [output]
    if isinstance(model, ClassModel):
        return [output, *(output.with_name(f"{output.stem}_{what}.tif") for what in BESIDE)]
    if output.suffix.lower() in (".tif", ".tiff"):
        raise OptionError(
            f"{output} is the name of one map, a joint model makes two per species and two of the richness: "
            f"give a folder for them, as in -o {output.with_suffix('')}"
        )
    return []


def _check_places(files: Sequence[Path], overwrite: bool) -> None:
    """Raise if a map cannot go where it is to go."""
    for file in files:
        refuse_existing(file, overwrite=overwrite)
        if file.is_dir():
            raise OutputError(f"{file} is a folder: give the name of a file, such as {file / 'map.tif'}")
    if files and not files[0].parent.is_dir():
        raise OutputError(f"the folder {files[0].parent} does not exist: make it, or choose another name")


def threshold_on_scale(model: Model, threshold: str | float, scale: str) -> float:
    """Return a threshold on an output scale: a number as it is, a name as the model's fit defined it."""
    try:
        return float(threshold)
    except ValueError:
        pass
    known = model.meta.get("thresholds", {})
    if threshold not in known:
        listed = ", ".join(known) or "none (the model was not fitted by 'sdm fit')"
        raise OptionError(f"threshold={threshold!r}: expected a number, or one that the model has: {listed}")
    return float(model.from_raw(known[threshold], scale))
