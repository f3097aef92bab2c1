"""Progress on a terminal: one bar for each active stage."""

from rich.console import Console as Terminal
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sdm.progress.stages import SHORT, Stage, Stages
from sdm_cli.plain import plain

MOST = 6  # rows
WIDTH = 30  # columns of a bar


class Bars:
    """Stages as rows of a table: name, bar, count, rate, time left. Short stages are not shown."""

    def __init__(self, stages: Stages, terminal: Terminal) -> None:
        self.stages, self.terminal = stages, terminal

    def table(self) -> Table:
        """Return the current table. Without a sufficiently long stage, one row shows that work continues."""
        now = self.stages.clock()
        shown = [one for one in self.stages.active() if one.upper or one.seconds(now) >= SHORT]
        out = Table.grid(padding=(0, 2), pad_edge=False)
        out.add_column(no_wrap=True, overflow="ellipsis")
        for _ in range(4):
            out.add_column(no_wrap=True)
        for stage in shown[:MOST]:
            out.add_row(*self._row(stage, now))
        if all(stage.upper for stage in shown):
            out.add_row(Text("working"), self._bar(None, now), "", "", "")
        return out

    def _row(self, stage: Stage, now: float) -> tuple[Text | ProgressBar, ...]:
        pace, rest = stage.pace(now)
        words = (Text(word) for word in (stage.count, pace, rest))
        return Text(plain(stage.name)), self._bar(stage if stage.counts else None, now), *words

    def _bar(self, stage: Stage | None, now: float) -> ProgressBar:
        """Return the bar of a stage, which pulses if the stage has no count."""
        width = max(6, min(WIDTH, self.terminal.width - 62))
        if stage is None:
            return ProgressBar(total=None, width=width, pulse=True, animation_time=now)
        return ProgressBar(total=stage.total, completed=stage.done, width=width)
