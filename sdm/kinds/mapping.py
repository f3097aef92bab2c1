"""Maps with one value per cell, for several kinds: values, presence with a threshold, and spread of replicates."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from sdm.assess.uncertainty import STATISTICS
from sdm.data.rasters.stack import Stack
from sdm.errors import OptionError
from sdm.kinds.model_task import MapOptions, MapResult
from sdm.kinds.task import Files
from sdm.maps.gis.styles import publishing_maps, style_folder
from sdm.maps.gis.tags import RasterSummary
from sdm.maps.novelty import NoveltyMaps, novelty_places
from sdm.maps.single import predict_raster, threshold_on_scale, write_spread_maps
from sdm.models.interface import FittedModel
from sdm.models.presence import ValueModel
from sdm.storage.commit import staging

Tags = dict[str, str]


def rule_tag(threshold: str | float | None) -> Tags:
    """Return the tag of the rule of a threshold; empty for a number."""
    try:
        float(threshold or 0.0)
    except ValueError:
        return {"threshold_rule": str(threshold)}
    return {}


def refuse_one_map(output: Path, makes: str) -> None:
    """Raise if the output is the name of one map but maps go to a folder."""
    if output.suffix.lower() in (".tif", ".tiff"):
        raise OptionError(f"{output} names one map, and {makes}: name a folder, as in -o {output.with_suffix('')}")


def publish_maps(
    model: FittedModel,
    output: Path,
    settings: MapOptions,
    write: Callable[[Path, NoveltyMaps], Iterable[tuple[Tags, RasterSummary]]],
    scale: str = "",
    first: Sequence[str] = (),
) -> MapResult:
    """Write maps, and maps of novelty, into a folder with their styles, atomically. `write` returns the content of each
    map. Lines of the `first` come before the lines of the maps."""
    with staging(output, overwrite=settings.overwrite, keep=True) as stage:
        beside = {name: stage / f"{name}.tif" for name in novelty_places(settings.novelty, stage)}
        novelty = NoveltyMaps(model, beside, settings.novelty, scale)
        maps = {one.path.relative_to(stage).as_posix(): (shown, one) for shown, one in write(stage, novelty)}
        style_folder(stage)
    lines = [f"written: {output / key} ({one.text})" for key, (_, one) in maps.items()]
    numbers = {key: {**shown, **one.numbers} for key, (shown, one) in maps.items()}
    result = MapResult({key: output / key for key in maps}, {"maps": numbers}, [*first, *lines])
    return result.with_novelty(novelty, {name: output / path.name for name, path in beside.items()})


def write_value_map(
    model: ValueModel, stack: Stack, raster: Path, settings: MapOptions, tags: Tags, novelty: NoveltyMaps | None = None
) -> RasterSummary:
    """Write the values of a model over layers; or presence and absence with a threshold."""
    scale = settings.scale or model.scale
    level = None if settings.threshold is None else threshold_on_scale(model, settings.threshold, scale)
    tags = tags | rule_tag(settings.threshold)
    return predict_raster(model, stack, raster, settings.how, scale=scale, threshold=level, tags=tags, novelty=novelty)


def publish_value_map(
    model: ValueModel, fitted: FittedModel, stack: Stack, output: Path, settings: MapOptions, tags: Tags
) -> MapResult:
    """Write a map of values, or of presence and absence, and maps of novelty next to it, with their styles,
    atomically."""
    places = novelty_places(settings.novelty, output)
    with publishing_maps([output, *places.values()]) as (place, *novelty_paths):
        novelty = NoveltyMaps(fitted, dict(zip(places, novelty_paths)), settings.novelty, settings.scale or "")
        summary = write_value_map(model, stack, place, settings, tags, novelty)
    result = MapResult({"map": output}, summary.numbers, [f"written: {output} ({summary.text})"])
    return result.with_novelty(novelty, places)


def write_value_maps(
    model: ValueModel,
    replicates: Sequence[ValueModel],
    stack: Stack,
    raster: Path,
    of: str,
    settings: MapOptions,
    tags: Tags,
) -> Files:
    """Write the spread over replicates next to a map, and presence and absence with a threshold; return their names.
    `of` is the content of the map, such as ``map`` or ``forest map``."""
    files: Files = {}
    if replicates:
        paths = {name: raster.with_name(f"{raster.stem}_{name}.tif") for name in STATISTICS}
        about = {**tags, "model_id": model.identity}
        write_spread_maps(replicates, stack, paths, settings.how, scale=settings.scale or model.scale, tags=about)
        files |= {f"{name} {of}": path.name for name, path in paths.items()}
    if settings.threshold is not None:
        binary = raster.with_name(f"{raster.stem}_thresholded.tif")
        write_value_map(model, stack, binary, settings, tags)
        files[f"thresholded {of}"] = binary.name
    return files
