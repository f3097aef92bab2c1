"""Where this program keeps what it made for its next run: code that is compiled. Nobody else may write there."""

import os
import sys
from pathlib import Path


def _user_cache() -> Path:
    """Return the folder for caches on this system; ``SDM_CACHE_DIR`` overrides it."""
    if override := os.environ.get("SDM_CACHE_DIR"):
        return Path(override)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "sdm"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sdm"
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))  # its standard ignores what is empty or relative
    return (shared if shared.is_absolute() else Path.home() / ".cache") / "sdm"


def private_folder(name: str) -> Path | None:
    """Return a folder of the cache, which is made if need be; None if it cannot be written, or is somebody else's."""
    try:
        folder = _user_cache() / name
        folder.mkdir(parents=True, exist_ok=True)
        if hasattr(os, "getuid"):  # what is in it is run
            if folder.stat().st_uid != os.getuid():
                return None
            folder.chmod(0o700)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError):
        return None
    return folder


def has_folder(prefix: str) -> bool:
    """Tell whether the cache has a folder whose name begins so."""
    try:
        return any(name.startswith(prefix) for name in os.listdir(_user_cache()))
    except (OSError, RuntimeError):
        return False
