"""The options of a cluster that shares the work of a run."""

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from sdm.options.kinds import Count, Positive, Section, option, read_places


def _settings(value: Any) -> Any:
    """Let NAME=VALUE stand for a setting; keep numbers as text, and several values with semicolons between them."""
    named = read_places(value)
    return {name: _text(item) for name, item in named.items()} if isinstance(named, dict) else named


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return str(value) if isinstance(value, (int, float)) else value


_TEXT = {"type": ["string", "number", "boolean", "array"]}
_NAMED = {"anyOf": [{"type": ["string", "array"]}, {"type": "object", "additionalProperties": _TEXT}]}
Settings = Annotated[dict[str, str], BeforeValidator(_settings), WithJsonSchema(_NAMED)]


class ClusterOptions(Section):
    """A Dask cluster that does the work; it sees the same files, under the same paths, as this machine."""

    address: str | None = option(
        None,
        "A Dask cluster for species, folds, settings and scenarios: its address (tcp://host:8786), its scheduler file, "
        "or slurm (jobs that are started for the run).",
        "cluster",
    )
    workers: Count = option(2, "How many workers to start, with --cluster slurm.", "cluster_workers")
    settings: Settings = option(
        {},
        "How jobs are started, with --cluster slurm: as in queue=long, memory=8GB, cores=4, walltime=12:00:00.",
        "cluster_settings",
    )
    patience: Positive | None = option(
        None,
        "How many seconds to wait for a worker while the cluster has none, before the run fails. By default 300; with "
        "--cluster slurm as long as jobs wait in the queue.",
        "cluster_patience",
    )
