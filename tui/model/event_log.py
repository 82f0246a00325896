"""Event log: when cases started and ended, among the engine's messages."""

from collections.abc import Iterable, Mapping
from heapq import merge

from msgspec.structs import replace

from benchtui.sessions.events import CaseFinished, Level, Message, Outcome
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.model.case_rows import CaseRows
from benchtui.tui.table.case_names import case_name

LEVELS: dict[Outcome, Level] = {"ok": "info", "skipped": "info", "oom": "warning", "failed": "error"}
"""Level of a case's line by its outcome; a warning for all others."""
WORDS: dict[Outcome, str] = {"ok": "finished", "oom": "out of memory"}


class EventLog:
    """Lines of a session's log, oldest first."""

    def __init__(self, session: Session, symbols: Symbols, case_rows: CaseRows) -> None:
        self._session = session
        self._symbols = symbols
        self._case_rows = case_rows
        self._seen: object = None
        self._lines: tuple[Message, ...] = ()

    def lines(self) -> tuple[Message, ...]:
        """Return all lines so far."""
        session = self._session
        running = [case for case in session.running if case.started]
        counts = (len(session.messages), session.done, len(session.cases), self._case_rows.refreshed)
        seen = (*counts, [(case.index, len(case.rounds)) for case in running])
        if seen != self._seen:
            self._seen = seen
            ended = [self._end(case, case.finished) for case in session.cases if case.finished is not None]
            ended.sort(key=lambda message: message.t)
            names = {case.name: case_name(case) for case in session.cases}
            messages = (_renamed(message, names) for message in session.messages)
            kinds = (ended, messages, _started(running))  # the order of messages with the same time
            self._lines = tuple(merge(*kinds, key=lambda message: message.t))
        return self._lines

    def _end(self, case: CaseState, end: CaseFinished) -> Message:
        detail = self._metrics(case) if end.outcome == "ok" else format.clean(end.reason or "")
        text = f"case {case.index + 1} {WORDS.get(end.outcome, end.outcome)}"
        level = LEVELS.get(end.outcome, "warning")
        return Message(t=end.t, level=level, text=f"{text}: {detail}" if detail else text)

    def _metrics(self, case: CaseState) -> str:
        metrics = self._case_rows.metrics(case)
        if metrics is None:
            return ""
        step = f"{format.significant(metrics.step_ms, self._symbols)} ms"
        rate = f"{format.significant(metrics.rate, self._symbols)} {metrics.unit}"
        marks = (f"{self._symbols.flag} {mark}" for mark in self._case_rows.own_marks(case))
        return ", ".join((step, rate, *marks))


def _renamed(message: Message, names: Mapping[str, str]) -> Message:
    """Replace the case's name at the start of an engine's message with its name on the screen."""
    name, colon, rest = message.text.partition(": ")
    return replace(message, text=f"{names[name]}: {rest}") if colon and name in names else message


def _started(running: Iterable[CaseState]) -> list[Message]:
    starts = sorted((case.started.t, case.index + 1, case_name(case)) for case in running if case.started)
    return [
        Message(t=t, level="info", text=f"case {number} started: {format.clean(name)}")
        for t, number, name in starts
    ]
