"""Species distribution models by maximum entropy, each fit with a proof of how near it is to the optimum.

>>> from sdm import Maxent
>>> model = Maxent(features="lqh")  # .fit(X, y), .predict(X), .save("species.npz")
"""

from importlib import import_module
from typing import Any

from sdm._version import __version__

# Loaded when first used, so that importing the package costs nothing.
_HOMES = {
    "Maxent": "sdm.estimators.maxent",
    "StructMaxent": "sdm.estimators.structural",
    "Committee": "sdm.estimators.committee",
    "SharedMaxent": "sdm.estimators.shared",
    "ConditionalMaxent": "sdm.estimators.classes",
    "JointModel": "sdm.estimators.community",
    "Model": "sdm.models.species",
    "load_model": "sdm.models.file",
    "save_model": "sdm.models.file",
    "project_models": "sdm.workflow.projecting.projection",
    "SdmError": "sdm.errors",
}

__all__ = [
    "Committee",
    "ConditionalMaxent",
    "JointModel",
    "Maxent",
    "Model",
    "SdmError",
    "SharedMaxent",
    "StructMaxent",
    "__version__",
    "load_model",
    "project_models",
    "save_model",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sdm' has no attribute '{name}'")
