"""The models of a projection: files, results of a run or of a batch, or a pattern of names with fields."""

import glob
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sdm.data.place import ELSEWHERE, has_place
from sdm.errors import DataError, OptionError
from sdm.kinds.inputs import check_categories
from sdm.kinds.registry import model_task
from sdm.kinds.task import REPLICATES
from sdm.maps.projection.targets import ProjectedModel
from sdm.models.file import JAVA, kind_of, load_model
from sdm.models.interface import FittedModel
from sdm.options.definitions import RunOptions
from sdm.report.results import GROUP
from sdm.run.projecting.scenarios import has_fields, matches


def find_models(places: Sequence[str]) -> list[ProjectedModel]:
    """Return the models at some places, in the order of their names; fields are those of patterns."""
    found: list[ProjectedModel] = []
    for place in places:
        if has_fields(place):
            for path, fields in matches(place):
                found += [replace(one, fields=fields) for one in _at(Path(path))]
        elif not Path(place).exists() and any(c in place for c in "*?["):
            names = sorted(glob.glob(place))
            if not names:
                raise DataError(f"no file matches '{place}': check the pattern")
            found += [one for name in names for one in _at(Path(name))]
        else:
            found += _at(Path(place))
    if not found:
        raise OptionError("no model: give a model file (.npz, .lambdas), or the results of 'sdm fit'")
    return found


def _at(place: Path) -> list[ProjectedModel]:
    """Return the model of a file, or the models of a run's results."""
    if not place.is_dir():
        model = load_model(place)
        check_categories(model)
        return [model_task(model.kind).projected(model, _name(model, place))]
    files = [path for path in sorted(place.glob("*.npz")) if kind_of(path)] or sorted(place.glob(f"*{JAVA}"))
    folders = [path for path in sorted(place.iterdir()) if path.is_dir() and path.name != REPLICATES]
    inside = [path for inner in folders for path in sorted(inner.glob("*.npz")) if kind_of(path)]
    files = files or [path for path in inside if path.parent.name != GROUP]  # its species are beside it
    if not files:
        raise DataError(f"{place} has no model in it: expected results of 'sdm fit', or a model file (.npz, .lambdas)")
    return [one for path in files for one in _at(path)]


def _name(model: FittedModel, path: Path) -> str:
    """Return what a model is of: its species, the title of its classes, or the name of its file."""
    for key in ("species", "title"):
        known = model.meta.get(key)
        if isinstance(known, str) and known:
            return known
    return path.stem


def with_options(models: Sequence[ProjectedModel], options: RunOptions) -> list[ProjectedModel]:
    """Return models with the options of their maps; raise for what does not apply to one of them."""
    own, predict = options.project, options.predict
    rules = tuple(own.thresholds) or (() if predict.threshold is None else (str(predict.threshold),))
    out = []
    for one in models:
        if has_place(one.model.names):
            raise OptionError(f"{one.title} cannot be projected to scenarios: {ELSEWHERE}")
        task = model_task(one.model.kind)
        task.check_extrapolation(predict.extrapolation)
        scale = predict.scale if "scale" in task.maps_with else None
        made = replace(one, scale=scale, extrapolation=predict.extrapolation, rules=rules)
        made.cutoffs  # noqa: B018 - what is wrong with a rule is said before anything is computed
        out.append(made)
    return out
