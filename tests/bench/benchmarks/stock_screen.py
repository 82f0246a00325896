"""The Monitor's content in stock Textual widgets, redrawn at a given rate: what a plain app would cost.

Usage: stock_screen.py SESSION HZ. The session file is read on as it grows, like the Monitor does.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import lag
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.widgets import DataTable, ProgressBar, Sparkline, Static

from benchtui.sessions.journal.reader import Tail
from benchtui.sessions.state.session import Session

HISTORY = 200
TITLES = ("case", "state", "p50 ms", "samples/s", "memory MB", "W")


class StockScreen(App[None]):
    """Four sparklines, two bars and a table."""

    CSS = "Sparkline { height: 3; } DataTable { height: 1fr; }"
    BINDINGS = [Binding("q", "quit", "Quit"), Binding("space", "freeze", "Freeze")]  # noqa: RUF012

    def __init__(self, path: Path, hz: float) -> None:
        super().__init__()
        self._tail, self._session, self._hz = Tail(path), Session(), hz
        self._frozen = False

    def compose(self) -> ComposeResult:
        """Heading, sparklines, bars, table."""
        yield Static(id="heading")
        for name in ("steps", "power", "memory", "cpu"):
            yield Sparkline(id=name)
        yield ProgressBar(id="cases")
        yield ProgressBar(id="progress")
        yield DataTable[str](id="table")

    def on_mount(self) -> None:
        """Fill the table and begin to draw."""
        self._session.apply_all(self._tail.read(1 << 20))
        table = self.query_one(DataTable)
        for title in TITLES:
            table.add_column(title, key=title)
        for case in self._session.cases:
            table.add_row(case.name, *[""] * (len(TITLES) - 1), key=str(case.index))
        self.draw()
        self.set_interval(1 / self._hz, self.draw)
        self.lag_task = asyncio.create_task(lag.write_lag())

    def action_freeze(self) -> None:
        """Say so in the heading."""
        self._frozen = not self._frozen
        self.draw()

    def draw(self) -> None:
        """Read on and show it."""
        session = self._session
        session.apply_all(self._tail.read(1 << 20))
        self.query_one("#heading", Static).update(f"{session.done} cases {'frozen' if self._frozen else ''}")
        gpu = session.machine.gpus[0].columns if session.machine.gpus else {}
        columns: dict[str, Sequence[float]] = {
            "steps": session.current.measured.wall_ms if session.current else (),
            "power": gpu.get("power_w", ()),
            "memory": gpu.get("memory_used_mb", ()),
            "cpu": session.machine.trace.columns.get("cpu_percent", ()),
        }
        for name, values in columns.items():
            self.query_one(f"#{name}", Sparkline).data = list(values[-HISTORY:])
        self._rows()

    def _rows(self) -> None:
        session = self._session
        self.query_one("#cases", ProgressBar).update(total=len(session.cases), progress=session.done)
        case = session.current
        if case is not None and len(case.measured):
            steps = case.measured.wall_ms
            self.query_one("#progress", ProgressBar).update(total=100_000, progress=len(steps))
            table, key = self.query_one(DataTable), str(case.index)
            median = sorted(steps)[len(steps) // 2]
            table.update_cell(key, "state", str(len(steps)))
            table.update_cell(key, "p50 ms", f"{median:.2f}")
            table.update_cell(key, "samples/s", f"{1000 * case.config.batch_size / median:.1f}")


if __name__ == "__main__":
    StockScreen(Path(sys.argv[1]), float(sys.argv[2])).run(mouse=False)
