"""Where compiled kernels are kept."""

from sdm._version import __version__
from sdm.storage.user_cache import has_folder

FOLDER = f"{__version__}-numba"
"""How the names of the folders of the cache begin in which kernels of this version are kept."""


def never_compiled() -> bool:
    """Tell whether no kernel of this version was ever compiled on this machine."""
    return not has_folder(FOLDER)
