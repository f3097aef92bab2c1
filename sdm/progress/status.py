"""How far a batch is, in the words of `sdm status`."""

from collections.abc import Mapping, Sequence
from statistics import median

from sdm.errors import name_list
from sdm.progress.words import duration_text, left_text

NAMED = 3  # species that are named for each reason


def status_lines(
    done: int,
    failed: Mapping[str, Sequence[str]],
    running: Sequence[tuple[str, float]],
    planned: int,
    seconds: Sequence[float],
    workers: int,
    ended: bool,
    since: float,
) -> list[str]:
    """Return what to print about a batch.

    Parameters
    ----------
    done
        Species that are finished, without those that failed.
    failed
        Species by the reason for which they failed.
    running
        Species that are being fitted, each with its seconds so far.
    planned
        All species of the batch.
    seconds
        How long each finished species took.
    workers
        Processes that fit species side by side.
    ended
        Whether the batch is over: no process works on it.
    since
        Seconds since it began, or for one that is over, that it took.
    """
    broken = sum(len(species) for species in failed.values())
    waiting = max(0, planned - done - broken - len(running))
    lines = [f"done         {done:,} of {planned:,} species ({_percent(done, planned)})"]
    lines += [f"failed       {broken:,}"] if broken else []
    order = sorted(failed.items(), key=lambda item: (-len(item[1]), item[0]))
    lines += [f"  {len(species):>6,}     {name_list(species, NAMED)}: {reason}" for reason, species in order if species]
    if running and not ended:
        lines.append(f"running      {len(running):,}, with {workers:,} {'process' if workers == 1 else 'processes'}")
        longest = sorted(running, key=lambda item: (-item[1], item[0]))
        lines += [f"             {name}: {duration_text(round(so_far))} so far" for name, so_far in longest]
    if waiting or (ended and running):
        lines.append(f"waiting      {waiting + (len(running) if ended else 0):,}")
    if seconds:
        mean, typical, most = sum(seconds) / len(seconds), median(seconds), max(seconds)
        spread = f"median {duration_text(typical)}, longest {duration_text(most)}"
        lines.append(f"per species  {duration_text(mean)} ({spread})")
    return [*lines, _when(done + broken, running, planned, seconds, workers, ended, since)]


def _when(
    over: int,
    running: Sequence[tuple[str, float]],
    planned: int,
    seconds: Sequence[float],
    workers: int,
    ended: bool,
    since: float,
) -> str:
    """Return the line about time: how long it took, or will take."""
    if ended:
        if over >= planned:
            return f"time         finished after {duration_text(since)}"
        return f"time         interrupted after {duration_text(since)}: go on with --resume"
    begun = f"time         {duration_text(since)} so far"
    if over >= planned:
        return f"{begun}, writing the summary"
    if not seconds:
        return f"{begun}; the time left is known when the first species is finished"
    mean = sum(seconds) / len(seconds)
    # Every species that is not over takes the mean, less what those that are running have behind them.
    work = mean * (planned - over) - sum(min(so_far, mean) for _, so_far in running)
    longest = max((mean - so_far for _, so_far in running), default=0.0)
    return f"{begun}, about {left_text(max(work / max(1, workers), longest))}"


def _percent(part: int, whole: int) -> str:
    """Return a share without rounding up to all, or down to nothing."""
    if not whole:
        return "0 %"
    share = 100.0 * part / whole
    return f"{min(share, 99.9) if part < whole else share:.{0 if share in (0.0, 100.0) else 1}f} %"
