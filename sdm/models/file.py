"""Model files of every kind: archives of plain arrays with a JSON header (`sdm.storage.archive`), without code.

Java Maxent's files (`.lambdas`) can be used in place of model files.
"""

import os
from importlib import import_module
from pathlib import Path

from sdm.errors import OutputError
from sdm.models.interface import FittedModel
from sdm.storage.archive import format_of
from sdm.storage.files import write_bytes

KINDS = {
    "sdm-model": ("sdm.models.species", "Model"),
    "sdm-classes": ("sdm.models.classes", "ClassModel"),
    "sdm-joint": ("sdm.models.community", "FittedJoint"),
    "sdm-group": ("sdm.models.group", "GroupModel"),
}
"""The class of every format, imported when a file needs it."""
JAVA = ".lambdas"
"""The file extension of Java Maxent's models."""
ENDINGS = (".npz", JAVA)
"""The file extensions of models."""


def save_model(model: FittedModel, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write the file of a model of any kind atomically.

    Parameters
    ----------
    model : FittedModel
        A model of one species, of classes, of a group or of a community: `model_` of an estimator.
    path : str or path
        Such as ``oak.npz``; or ``oak.lambdas`` for Java Maxent, with the cumulative scale in ``oak_omission.csv`` in
        the same folder.
    overwrite : bool
        If True, replace an existing file.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OutputError
        If the file exists and `overwrite` is False, the folder is not writable, or a `.lambdas` file cannot represent
        the model.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from sdm import Maxent, save_model
    >>> X, y = np.arange(40.0).reshape(20, 2), np.repeat([1, 0], [8, 12])
    >>> save_model(Maxent("l").fit(X, y).model_, pathlib.Path(tempfile.mkdtemp(), "oak.npz")).name
    'oak.npz'
    """
    if is_lambdas(path):
        from sdm.models.lambdas import save_lambdas

        return save_lambdas(model, path, overwrite=overwrite)
    return write_bytes(Path(path), model.to_bytes(), overwrite=overwrite)


def is_lambdas(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a Java Maxent model, by its name."""
    return Path(path).suffix.lower() == JAVA


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """Return the kind of model in a file; None if it is not a model file."""
    file_format = "sdm-model" if is_lambdas(path) else format_of(path)
    return _class_of(file_format).kind if file_format in KINDS else None


def model_class(kind: str) -> type[FittedModel] | None:
    """Return the class of a kind of model; None for unknown kinds."""
    return next((cls for name in KINDS if (cls := _class_of(name)).kind == kind), None)


def _class_of(file_format: str) -> type[FittedModel]:
    module, name = KINDS[file_format]
    model_type: type[FittedModel] = getattr(import_module(module), name)
    return model_type


def load_model(path: str | os.PathLike[str]) -> FittedModel:
    """Read a model file of any kind: one species, classes, a group or a community.

    Parameters
    ----------
    path : str or path
        A model file (.npz), or a file of Java Maxent (.lambdas).

    Returns
    -------
    FittedModel
        The model. `Model.load` returns a more specific type for type checkers.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, not a model, or from a newer version.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from sdm import Maxent, load_model
    >>> rng = np.random.default_rng(1)
    >>> x, y = rng.normal(size=(60, 2)), np.repeat([1, 0], [20, 40])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.npz")
    >>> Maxent("l").fit(x, y).save(path)
    >>> load_model(path).predict({"x1": [0.0], "x0": [1.0]}).shape
    (1,)
    """
    if is_lambdas(path):
        from sdm.models.lambdas import read_lambdas

        return read_lambdas(path)
    file_format = format_of(path)
    return _class_of(file_format if file_format in KINDS else "sdm-model").load(path)


def convert_model(
    source: str | os.PathLike[str], target: str | os.PathLike[str], *, overwrite: bool = False
) -> list[str]:
    """Convert a model file: to `.npz`, or to `.lambdas` of Java Maxent.

    Returns
    -------
    list of str
        Sentences for the user about information that the new file does not contain.

    Raises
    ------
    OutputError
        If the new file has another extension, exists, or cannot represent the model.
    """
    if Path(target).suffix.lower() not in ENDINGS:
        raise OutputError(f"{target} has no extension of a model file: expected {' or '.join(ENDINGS)}")
    model = load_model(source)
    save_model(model, target, overwrite=overwrite)
    if not is_lambdas(target):
        return []
    from sdm.models.lambdas import lost_in_lambdas

    return lost_in_lambdas(model)
