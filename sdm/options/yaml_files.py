"""Safe reading of YAML files, with one sentence about an error."""

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor

from sdm.errors import DataError, RunFileError
from sdm.storage.reading import read_limited

YAML_DEPTH, YAML_NODES = 32, 100_000
INT = "tag:yaml.org,2002:int"


def load_yaml(path: str | Path, expected: str) -> Any:
    """Return the content of a YAML file, or raise OptionError. The text `expected` describes the file."""
    try:
        return _load(read_limited(path))
    except FileNotFoundError:
        raise RunFileError(f"{path} does not exist: expected {expected}") from None
    except DataError as error:
        raise RunFileError(str(error)) from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError, OSError) as error:
        raise RunFileError(f"{path} is not a readable YAML file: {' '.join(str(error).split())[:300]}") from None


def _load(text: str | bytes) -> Any:
    """Read YAML by libyaml, which is faster, or by the Python parser, which has better messages."""
    if yaml.__with_libyaml__:
        with suppress(yaml.YAMLError):
            return yaml.load(text, _quick_loader())  # noqa: S506 - a SafeLoader
    return yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader


class _Limits(Composer, SafeConstructor):
    """Refuses YAML that is nested too deeply, contains itself, or has aliases that unfold to too many entries."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        if self.depth > YAML_DEPTH:
            raise yaml.YAMLError(f"it is nested more than {YAML_DEPTH} deep")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def get_single_node(self) -> yaml.Node | None:
        node = super().get_single_node()
        if node is not None and _unfolded(node, {}) > YAML_NODES:
            raise yaml.YAMLError(f"its aliases unfold to more than {YAML_NODES:,} entries")
        return node

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        if len(node.value) > 40:
            raise yaml.YAMLError(f"a whole number of {len(node.value):,} digits: expected at most 40")
        return int(super().construct_yaml_int(node))


class _Loader(_Limits, yaml.SafeLoader):
    pass


def _whole_number(loader: Any, node: Any) -> Any:
    return loader.construct_yaml_int(node)


_Loader.add_constructor(INT, _whole_number)


@cache
def _quick_loader() -> type[yaml.CSafeLoader]:
    """Return a loader that scans by libyaml and composes as `_Loader`."""

    class Quick(_Limits, yaml.CSafeLoader):
        def __init__(self, stream: Any) -> None:
            yaml.CSafeLoader.__init__(self, stream)
            Composer.__init__(self)

    Quick.add_constructor(INT, _whole_number)
    return Quick


def _unfolded(node: yaml.Node, counts: dict[int, int | None]) -> int:
    """Return the number of entries of a node with all aliases expanded."""
    if id(node) in counts:
        count = counts[id(node)]
        if count is None:
            raise yaml.YAMLError("an alias in it refers to itself")
        return count
    if isinstance(node, yaml.ScalarNode):
        return 1
    counts[id(node)] = None
    parts = (part for pair in node.value for part in (pair if isinstance(pair, tuple) else (pair,)))
    counts[id(node)] = count = 1 + sum(_unfolded(part, counts) for part in parts)
    return count
