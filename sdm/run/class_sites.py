"""The sites of a run of `sdm classify`: points with their classes or proportions, or drawn from a raster of classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import rasterio
from numpy.typing import NDArray

from sdm.conditional.targets import check_classes
from sdm.data.area import StudyArea
from sdm.data.background import sample_background
from sdm.data.clean import CleanPoints, Ledger, finish, locate
from sdm.data.columns import named_column
from sdm.data.layers import Stack, open_stack
from sdm.data.occurrences import Occurrences, read_occurrences
from sdm.errors import DataError, OptionError
from sdm.features.domain import Array
from sdm.predict import Colour
from sdm.run.classify_options import ClassifyOptions


@dataclass
class Sites:
    """What a model is fitted to: values `(n, V)`, labels or proportions, coordinates, and how they came about."""

    title: str
    values: Array
    target: Any
    x: Array
    y: Array
    stack: Stack
    area: StudyArea | None
    ledger: Ledger | None = None
    colours: dict[str, Colour] = field(default_factory=dict)
    projections: dict[str, Stack] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


def read_sites(options: ClassifyOptions) -> Sites:
    """Return the sites of a run: the points of a file, or points drawn from a raster of classes."""
    sites = _drawn(options) if options.classes is not None else _recorded(options)
    for title, place in options.projections.items():
        try:
            sites.projections[title] = _open(options, sites.stack.names, [place])
        except (DataError, OptionError) as error:
            raise type(error)(f"projection {title}: {error}") from error
    if options.least is not None and not options.proportions:
        found, count = np.unique(sites.target, return_counts=True)
        rare = [str(name) for name in found[count < options.least]]
        if rare:
            keep = ~np.isin(sites.target, found[count < options.least])
            sites.values, sites.target, sites.x, sites.y = (
                part[keep] for part in (sites.values, sites.target, sites.x, sites.y)
            )
            sites.notices.append(f"classes of fewer than {options.least} records left out: {', '.join(rare)}")
    if not options.proportions:
        found, count = np.unique(sites.target, return_counts=True)
        if found.size > 1 and count.min() < 2:
            hint = "draw more with --points, or" if options.classes is not None else "join it to another, or"
            raise DataError(
                f"class '{found[np.argmin(count)]}' has one record, expected at least two of every class: {hint} leave "
                "such classes out with --least 2"
            )
    return sites


def _open(options: ClassifyOptions, names: Sequence[str] | None = None, files: Sequence[str] | None = None) -> Stack:
    """Open the layers of the run, or other files, under its options."""
    categorical = [name for name in options.categorical if names is None or name in names]
    return open_stack(
        list(options.layers if files is None else files),
        categorical=categorical,
        nodata=options.nodata,
        align=options.align,
        names=names,
    )


def read_records(options: ClassifyOptions) -> tuple[Occurrences, list[str]]:
    """Read points with their classes, and what is to be said of them; those that were not selected are left out.

    The machinery for species takes classes just as well.
    """
    records = read_occurrences(
        str(options.records),
        crs=options.crs,
        species_column=options.class_column,
        x_column=options.x_column,
        y_column=options.y_column,
        columns=[*options.proportions, *options.select],
    )
    records = records.take(selected(records.extra, options.select, Path(records.source).name))
    if options.proportions:
        records = replace(records, species=np.full(len(records), "sites", dtype=object))
    notices = list(records.notes)
    for old, new in {"species name": "class", "species from": "class from"}.items():
        notices = [note.replace(old, new) for note in notices]
    return records, notices


def selected(table: pd.DataFrame, select: Mapping[str, str], source: str) -> NDArray[np.bool_]:
    """Return which rows of a table have the wanted value in every column that was named."""
    keep = np.ones(len(table), dtype=bool)
    for column, value in select.items():
        name = named_column(column, [str(known) for known in table.columns], source)
        keep &= table[name].astype(str).str.strip().to_numpy() == value
        if not keep.any():
            raise OptionError(f"no record has '{value}' in column '{name}' of {source}: check --select")
    return keep


def _recorded(options: ClassifyOptions) -> Sites:
    """Return the points of a file, in the cells of the layers."""
    records, notices = read_records(options)
    shares = [records.numbers(name) for name in options.proportions]
    if not shares:
        check_classes(records.species_names)
    stack = _open(options)
    notices += stack.notices
    area = None if options.study_area is None else StudyArea.read(options.study_area, stack.crs)
    located = locate(records, stack, study_area=area)
    values = stack.sample(*located.cells, threads=options.threads)
    points, ledger = finish(located, values, snap=options.snap, remove_duplicates=not options.keep_duplicates)
    for name in records.species_names:
        ledger.check(name)
    parts = list(points.values())
    index = np.concatenate([part.index for part in parts])
    target: Any
    if shares:
        target = pd.DataFrame({name: share[index] for name, share in zip(options.proportions, shares)})
        known = np.isfinite(target.to_numpy()).all(axis=1)
        if not known.all():
            notices.append(f"{int((~known).sum()):,} sites with a missing proportion left out")
            parts = [part.take(known) for part in parts]
            target = target.loc[known].reset_index(drop=True)
        title = Path(str(options.records)).stem
    else:
        target = _labels(np.repeat([part.species for part in parts], [len(part) for part in parts]))
        title = str(options.class_column)
    return Sites(title, *_joined(parts, target), stack, area, ledger, notices=notices)


def _joined(parts: Sequence[CleanPoints], target: Any) -> tuple[Array, Any, Array, Array]:
    values = np.vstack([part.values for part in parts]).astype(np.float64)
    x, y = (np.concatenate([getattr(part, axis) for part in parts]) for axis in "xy")
    return values, target, x, y


def _labels(names: NDArray[Any]) -> NDArray[Any]:
    """Return labels as numbers where all of them are whole numbers, so that 2 comes before 10."""
    text = names.astype(str)
    whole = all(name.isascii() and name.isdigit() and str(int(name)) == name for name in np.unique(text).tolist())
    return text.astype(np.int64) if whole else text


def _drawn(options: ClassifyOptions) -> Sites:
    """Draw points at random from a raster of classes, where all layers have values."""
    raster = Path(str(options.classes))
    if not raster.exists():
        raise DataError(f"the raster of classes '{raster}' does not exist: check the path")
    stack = _open(options)
    inside = [layer.name for layer in stack.layers if Path(layer.path).resolve() == raster.resolve()]
    notices = list(stack.notices)
    if inside:
        notices.append(f"'{inside[0]}' holds the classes, so it is not among the variables")
        names = [name for name in stack.names if name not in inside]
        if not names:
            raise DataError("the raster of classes is the only layer: give layers that tell the classes apart")
        both, stack = stack, _open(options, names)
        own = inside[0]
    else:
        both = _open(options, files=[*options.layers, str(raster)])
        extra = [name for name in both.names if name not in stack.names]
        if len(extra) != 1:
            raise DataError(f"the raster of classes '{raster.name}' has {len(extra)} bands: expected one")
        own = extra[0]
    area = None if options.study_area is None else StudyArea.read(options.study_area, stack.crs)
    drawn = sample_background(both, n=options.points, seed=options.seed, study_area=area, threads=options.threads)
    at = both.names.index(own)
    order = [both.names.index(name) for name in stack.names]
    values = np.asarray(drawn.values, dtype=np.float64)
    codes = values[:, at]
    if np.any(codes != np.round(codes)):
        some = codes[codes != np.round(codes)][0]
        raise DataError(f"the raster of classes '{raster.name}' has the value {some:g}: expected whole numbers")
    notices += [text.replace("background points", "points") for text in drawn.notices]
    colours = _colour_table(raster)
    return Sites(
        own, values[:, order], codes.astype(np.int64), drawn.x, drawn.y, stack, area, None, colours, {}, notices
    )


def _colour_table(raster: Path) -> dict[str, Colour]:
    """Return the colours that a raster's file gives its classes, if it does."""
    with rasterio.open(raster) as source:
        try:
            table = source.colormap(1)
        except ValueError:  # it has none
            return {}
    return {str(code): (int(r), int(g), int(b)) for code, (r, g, b, *_) in table.items()}
