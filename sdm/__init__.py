"""Species distribution models by maximum entropy; every fit reports its duality gap.

>>> from sdm import Maxent
>>> model = Maxent(features="lqh")  # .fit(X, y), .predict(X), .save("species.npz")
"""

from importlib import import_module
from typing import TYPE_CHECKING

from sdm._version import __version__

# Each public name is listed twice: here for type checkers and editors, and in `_HOMES` for its import at first use, so
# that importing the package is fast. `tests/test_package.py` compares the two.
if TYPE_CHECKING:
    from sdm.api.functions import check as check
    from sdm.api.functions import evaluate as evaluate
    from sdm.api.functions import fit as fit
    from sdm.api.functions import project as project
    from sdm.api.functions import project_models as project_models
    from sdm.api.functions import tune as tune
    from sdm.api.model_run import ModelRun as ModelRun
    from sdm.api.projection import ProjectedSpecies as ProjectedSpecies
    from sdm.api.projection import ProjectionRun as ProjectionRun
    from sdm.api.projection import load_projection as load_projection
    from sdm.api.rasters import RasterMap as RasterMap
    from sdm.api.run import Run as Run
    from sdm.api.run import load as load
    from sdm.assess.measures.scores import aicc as aicc
    from sdm.assess.measures.scores import boyce_index as boyce_index
    from sdm.assess.measures.scores import omission as omission
    from sdm.assess.measures.scores import partial_roc as partial_roc
    from sdm.assess.splits.cross_validators import Buffered as Buffered
    from sdm.assess.splits.cross_validators import Checkerboard as Checkerboard
    from sdm.assess.splits.cross_validators import EnvironmentBlocks as EnvironmentBlocks
    from sdm.assess.splits.cross_validators import SpatialBlocks as SpatialBlocks
    from sdm.errors import SdmError as SdmError
    from sdm.estimators.classes import ConditionalMaxent as ConditionalMaxent
    from sdm.estimators.committee import Committee as Committee
    from sdm.estimators.community import JointModel as JointModel
    from sdm.estimators.feature_classes import FeatureClasses as FeatureClasses
    from sdm.estimators.maxent import Maxent as Maxent
    from sdm.estimators.shared import SharedMaxent as SharedMaxent
    from sdm.estimators.structural import StructMaxent as StructMaxent
    from sdm.models.file import load_model as load_model
    from sdm.models.file import save_model as save_model
    from sdm.models.species import Model as Model

_HOMES = {
    # runs
    "check": "sdm.api.functions",
    "evaluate": "sdm.api.functions",
    "fit": "sdm.api.functions",
    "load": "sdm.api.run",
    "load_projection": "sdm.api.projection",
    "project": "sdm.api.functions",
    "tune": "sdm.api.functions",
    # results
    "ModelRun": "sdm.api.model_run",
    "ProjectedSpecies": "sdm.api.projection",
    "ProjectionRun": "sdm.api.projection",
    "RasterMap": "sdm.api.rasters",
    "Run": "sdm.api.run",
    # estimators
    "Committee": "sdm.estimators.committee",
    "ConditionalMaxent": "sdm.estimators.classes",
    "FeatureClasses": "sdm.estimators.feature_classes",
    "JointModel": "sdm.estimators.community",
    "Maxent": "sdm.estimators.maxent",
    "SharedMaxent": "sdm.estimators.shared",
    "StructMaxent": "sdm.estimators.structural",
    # models and files
    "Model": "sdm.models.species",
    "load_model": "sdm.models.file",
    "project_models": "sdm.api.functions",
    "save_model": "sdm.models.file",
    # folds, as scikit-learn's cross-validators
    "Buffered": "sdm.assess.splits.cross_validators",
    "Checkerboard": "sdm.assess.splits.cross_validators",
    "EnvironmentBlocks": "sdm.assess.splits.cross_validators",
    "SpatialBlocks": "sdm.assess.splits.cross_validators",
    # measures
    "aicc": "sdm.assess.measures.scores",
    "boyce_index": "sdm.assess.measures.scores",
    "omission": "sdm.assess.measures.scores",
    "partial_roc": "sdm.assess.measures.scores",
    # errors
    "SdmError": "sdm.errors",
}

__all__ = ["__version__", *_HOMES]


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


if not TYPE_CHECKING:  # a type checker knows all names, and reports missing ones

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'sdm' has no attribute '{name}'")
        globals()[name] = value = getattr(import_module(_HOMES[name]), name)
        return value
