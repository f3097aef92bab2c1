"""The user's cache: compiled code and the key of the user's runs. Other users may not write to it."""

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
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))  # the XDG standard ignores empty and relative paths
    return (shared if shared.is_absolute() else Path.home() / ".cache") / "sdm"


def private_folder(name: str) -> Path | None:
    """Return a folder of the cache, made if necessary; None if it is not writable or belongs to another user."""
    try:
        folder = _user_cache() / name
        folder.mkdir(parents=True, exist_ok=True)
        if hasattr(os, "getuid"):  # its content is executed
            if folder.stat().st_uid != os.getuid():
                return None
            folder.chmod(0o700)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink(missing_ok=True)  # another thread may have removed it
    except (OSError, RuntimeError):
        return None
    return folder


def user_seal(*texts: str) -> str | None:
    """Return a keyed digest of texts that only this user can compute; None without a cache."""
    key = _run_key(os.environ.get("SDM_CACHE_DIR"))
    return None if key is None else hmac.new(key, json.dumps(texts).encode(), "sha256").hexdigest()[:32]


@cache
def _run_key(_: str | None) -> bytes | None:
    """Return the secret key of this user's runs, made once per cache folder, which is the argument."""
    folder = private_folder("runs")
    if folder is None:
        return None
    key = folder / "key"
    try:
        if not key.exists():
            part = folder / f"key-{secrets.token_hex(6)}"
            part.write_bytes(secrets.token_bytes(32))
            sync(part)
            with suppress(FileExistsError):  # another run has just made the key
                rename_new(part, key)
            part.unlink(missing_ok=True)
        return key.read_bytes() or None
    except OSError:
        return None
