"""The user's cache: compiled code for the next run, and the key of the user's runs. Nobody else may write there."""

import hmac
import json
import os
import secrets
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from sdm.storage.disk import rename_new, sync


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
        probe.unlink(missing_ok=True)  # another thread may have
    except (OSError, RuntimeError):
        return None
    return folder


def user_seal(*texts: str) -> str | None:
    """Return digits that only runs of this user can compute from some texts; None without a cache."""
    key = _run_key(os.environ.get("SDM_CACHE_DIR"))
    return None if key is None else hmac.new(key, json.dumps(texts).encode(), "sha256").hexdigest()[:32]


@cache
def _run_key(_: str | None) -> bytes | None:
    """Return the secret of this user's runs, which is made once; the argument is where the cache is."""
    folder = private_folder("runs")
    if folder is None:
        return None
    key = folder / "key"
    try:
        if not key.exists():
            part = folder / f"key-{secrets.token_hex(6)}"
            part.write_bytes(secrets.token_bytes(32))
            sync(part)
            with suppress(FileExistsError):  # the key of another run that begins now
                rename_new(part, key)
            part.unlink(missing_ok=True)
        return key.read_bytes() or None
    except OSError:
        return None
