"""Runs of the real command in a process of its own: its time, and the memory of it and all that it starts."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SDM = [sys.executable, "-m", "sdm_cli.main"]
POLL = 0.5  # seconds between two looks at the memory, each of which costs some milliseconds per process
CLOCK, PROCESSORS, MEMORY = "seconds", "processor seconds", "peak GB"


def process_tree(root: int) -> list[int]:
    """Return a process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path("/proc", entry, "stat").read_text()
            except OSError:  # it ended
                continue
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry))
    found, at = [root], 0
    while at < len(found):
        found += children.get(found[at], [])
        at += 1
    return found


def memory_of(processes: Sequence[int]) -> float:
    """Return the memory of processes, in GB; pages that they share count once."""
    total = 0
    for pid in processes:
        try:
            lines = Path("/proc", str(pid), "smaps_rollup").read_text().splitlines()
        except OSError:  # it ended
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1e6


class _Watch(threading.Thread):
    """Looks at the memory of a process until it ends, and keeps the most."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.peak, self.processes, self.ended = pid, 0.0, 0, threading.Event()

    def run(self) -> None:
        while not self.ended.wait(POLL):
            tree = process_tree(self.pid)
            self.peak = max(self.peak, memory_of(tree))
            self.processes = max(self.processes, len(tree))


def measured(arguments: Sequence[str | Path]) -> dict[str, Any]:
    """Run `sdm` in a process of its own; return seconds on the clock and of all processors, and peak memory. A run
    that fails ends the benchmark."""
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        process = subprocess.Popen([*SDM, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=said)
        watch = _Watch(process.pid)
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        watch.ended.set()
        watch.join()
        if process.returncode:
            said.seek(0)
            sys.exit(f"sdm {' '.join(map(str, arguments))} failed:\n{said.read().decode()[-4000:]}")
    spent = usage.ru_utime + usage.ru_stime
    return {CLOCK: seconds, PROCESSORS: spent, MEMORY: watch.peak, "most processes": watch.processes}
