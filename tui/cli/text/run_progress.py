"""Progress of ``benchtui run`` on a terminal: a bar with the time left, below the lines of the cases."""

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from benchtui.sessions.journal.reader import AnyRecord
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.text.formatting import count
from benchtui.tui.cli.options import echo, printable
from benchtui.tui.cli.text.streams import unguarded_stderr
from benchtui.tui.drawing.format import duration
from benchtui.tui.live.eta import RemainingTime

ESTIMATE_S = 1.0
"""Seconds between two estimates of the time left."""


class TimeLeftColumn(ProgressColumn):
    """Time left, counted down from the last estimate."""

    def render(self, task: Task) -> Text:
        """Render the time left; empty before anything is known."""
        due_s = task.fields.get("due_s")
        return Text("" if due_s is None else f"{duration(max(0.0, due_s - time.monotonic()))} left", "cyan")


class RunProgress:
    """Progress bar on standard error. Without a terminal, only the lines are printed."""

    def __init__(self, session: Session, console: Console | None = None) -> None:
        self._session = session
        self._console = console or Console(file=unguarded_stderr(), highlight=False)
        self._bar = Progress(
            TextColumn("{task.fields[counts]}", markup=False),
            BarColumn(20),
            TimeLeftColumn(),
            TextColumn("{task.fields[case]}", style="dim", markup=False),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
            refresh_per_second=2,
        )
        self._task = self._bar.add_task("", total=None, counts="", case="", due_s=None)
        self._left: RemainingTime | None = None
        self._estimated_s, self._done = 0.0, 0
        """Time of the last estimate, and the number of ended cases then."""

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def print(self, text: str) -> None:
        """Print a line above the bar."""
        if self._bar.disable:
            echo(text, err=True)
        else:
            self._console.print(Text(printable(text)), soft_wrap=True)

    def update(self, event: AnyRecord) -> None:
        """Update the bar for an event that the session has applied."""
        session = self._session
        if self._bar.disable or session.started is None:
            return
        self._left = self._left or RemainingTime(session, lambda case: None)
        if session.done == self._done and time.monotonic() - self._estimated_s < ESTIMATE_S:
            return
        self._done, self._estimated_s = session.done, time.monotonic()
        self._show(self._left)

    def _case_text(self, case: CaseState) -> str:
        """Name a case, and what it waits for."""
        reason = next((wait.reason for wait in self._session.waiting if wait.case == case.index), "")
        return f"{case.name}, {reason}" if reason else case.name

    def _show(self, remaining: RemainingTime) -> None:
        session = self._session
        estimate = remaining.sweep_left(session.now_s)
        more = f", {remaining.skipped} skipped" if remaining.skipped else ""
        further = sum(max(0, len(case.ends) - session.start.sweep.measure.rounds) for case in session.cases)
        more += f", {count(further, 'further round')}" if session.rounds_planned else ""
        self._bar.update(
            self._task,
            total=1.0,
            completed=remaining.progress(session.now_s, estimate),
            counts=f"{remaining.done}/{remaining.total}{more}",
            case=printable(", ".join(map(self._case_text, session.running))),
            due_s=time.monotonic() + estimate.seconds if estimate else None,
        )
