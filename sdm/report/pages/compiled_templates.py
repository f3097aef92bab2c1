"""Templates as Python code, kept for the next run: to make that code takes longer than to fill the page."""

import hashlib
import marshal
import sys
from contextlib import suppress
from pathlib import Path
from types import CodeType

import jinja2
from jinja2.bccache import Bucket, BytecodeCache

from sdm.errors import OutputError
from sdm.storage.files import write_bytes
from sdm.storage.user_cache import private_folder

_DIGEST = hashlib.sha256().digest_size


class CompiledTemplates(BytecodeCache):
    """Files whose names hold the template and its content, and which begin with a digest of the rest: one that is
    damaged is made again. A disk that is full or fails stops nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, bucket: Bucket) -> Path:
        return self._folder / f"{bucket.key}-{bucket.checksum}"

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """Return the name for a template, wherever it lies."""
        return super().get_cache_key(name)

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load the code of a template, if it is there and whole."""
        with suppress(OSError, EOFError, ValueError, TypeError):
            content = self._path(bucket).read_bytes()
            if hashlib.sha256(content[_DIGEST:]).digest() == content[:_DIGEST]:
                code = marshal.loads(content[_DIGEST:])  # noqa: S302 - our own, from a folder that is ours alone
                bucket.code = code if isinstance(code, CodeType) else None

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template."""
        content = marshal.dumps(bucket.code)
        with suppress(OSError, OutputError):
            write_bytes(self._path(bucket), hashlib.sha256(content).digest() + content, overwrite=True)


def compiled_templates(*settings: object) -> CompiledTemplates | None:
    """Return the cache for this Python, this jinja2 and these settings of it; None where none can be kept."""
    how = hashlib.sha256(repr(settings).encode()).hexdigest()[:8]
    folder = private_folder(f"templates-{sys.implementation.cache_tag}-jinja{jinja2.__version__}-{how}")
    return None if folder is None else CompiledTemplates(folder)
