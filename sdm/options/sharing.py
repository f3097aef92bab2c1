"""The options of a cluster that shares the work of a run."""

from sdm.options.kinds import Count, Places, Section, option


class ClusterOptions(Section):
    """A Dask cluster that does the work; it sees the same files, under the same paths, as this machine."""

    address: str | None = option(
        None,
        "A Dask cluster for species, folds, settings and scenarios: its address (tcp://host:8786), its scheduler file, "
        "local (processes of this machine), or slurm (jobs that are started for the run).",
        "cluster",
    )
    workers: Count = option(2, "How many workers to start, with --cluster local or slurm.", "cluster_workers")
    settings: Places = option(
        {},
        "How jobs are started, with --cluster slurm: as in queue=long, memory=8GB, cores=4, walltime=12:00:00.",
        "cluster_settings",
    )
