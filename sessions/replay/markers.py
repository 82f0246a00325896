"""Replay markers: cases that start and end, throttling, outliers, messages."""

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable
from operator import itemgetter
from typing import Literal, get_args

import msgspec

from benchtui.sessions.events import (
    CaseFinished,
    CaseRepeated,
    CaseStarted,
    Level,
    Message,
    NodeLost,
    Outcome,
    Resumed,
    RoundFinished,
    Steps,
    Telemetry,
)
from benchtui.sessions.journal.reader import AnyRecord
from benchtui.sessions.payloads import GpuReadings, is_hardware_throttle
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import outliers_of

Kind = Literal["begin", "round", "repeated", "resumed", "throttled", "outlier"] | Outcome | Level

ENDS = frozenset({"round", *get_args(Outcome)})
"""Kinds of markers at which a case or its round ends."""


class TimelineEvent(msgspec.Struct, frozen=True):
    """Marker at one moment of a session."""

    t: float
    """Session time in seconds from which the replayed state includes it."""
    kind: Kind
    case: int | None = None
    text: str = ""
    """Additional text, as recorded."""


class Markers:
    """Markers of a session, collected while it is read."""

    def __init__(self) -> None:
        self.all: list[TimelineEvent] = []
        """All markers, sorted by time."""
        self._throttled: dict[str | None, frozenset[int]] = {}
        """GPUs that were throttled in the newest readings, by node."""
        self._progress: dict[int, list[tuple[int, float]]] = {}
        """Number of measured steps over time, for each case whose outliers aren't known yet."""
        self._unexamined: deque[CaseState] = deque()

    def add(self, event: AnyRecord, session: Session) -> None:
        """Add the markers of an event that the session has just applied."""
        now_s = session.now_s
        match event:
            case Steps(phase="measure"):
                steps = len(session.cases[event.case].measured)
                self._progress.setdefault(event.case, []).append((steps, now_s))
            case Telemetry():
                self._readings(event, now_s)
            case CaseStarted():
                self.all.append(TimelineEvent(now_s, "begin", event.case))
            case RoundFinished():
                self.all.append(TimelineEvent(now_s, "round", event.case))
            case CaseRepeated():
                self.all.append(TimelineEvent(now_s, "repeated", event.case, event.reason))
                remaining = len(session.cases[event.case].measured)
                progress = self._progress.get(event.case, [])
                self._progress[event.case] = [mark for mark in progress if mark[0] <= remaining]
            case CaseFinished():
                self.all.append(TimelineEvent(now_s, event.outcome, event.case, event.reason or ""))
                self._unexamined.append(session.cases[event.case])
            case Resumed():
                self._resumed(event, session)
            case NodeLost():
                self.all.append(TimelineEvent(now_s, "error", text=f"node {event.node} lost: {event.reason}"))
            case Message():
                self.all.append(TimelineEvent(now_s, event.level, text=event.text))

    def find_outliers(self) -> bool:
        """Find the outliers of one ended case; return whether there was a case left."""
        if not self._unexamined:
            return False
        case = self._unexamined.popleft()
        progress = self._progress.pop(case.index, [])
        for count, t in _outliers(case, progress):
            insort(
                self.all,
                TimelineEvent(
                    t, "outlier", case.index, f"{count} outlier steps" if count > 1 else "an outlier step"
                ),
                key=_t,
            )
        return True

    def before(self, t: float) -> TimelineEvent | None:
        """Return the last marker before a moment."""
        place = bisect_left(self.all, t, key=_t)
        return self.all[place - 1] if place else None

    def after(self, t: float) -> TimelineEvent | None:
        """Return the first marker after a moment."""
        place = bisect_right(self.all, t, key=_t)
        return self.all[place] if place < len(self.all) else None

    def begin_of(self, case: int) -> TimelineEvent | None:
        """Return the marker at which a case starts; ``case`` is its number, from 0."""
        return next((mark for mark in self.all if mark.kind == "begin" and mark.case == case), None)

    def end_of(self, case: int, t: float) -> TimelineEvent | None:
        """Return the first marker after a moment that ends a case or its round."""
        place = bisect_right(self.all, t, key=_t)
        later = (self.all[at] for at in range(place, len(self.all)))
        return next((mark for mark in later if mark.case == case and mark.kind in ENDS), None)

    def _readings(self, event: Telemetry, now_s: float) -> None:
        throttled = {readings.index: reasons for readings in event.gpus if (reasons := _reasons(readings))}
        where = f"{event.node}, " if event.node else ""
        for index in sorted(throttled.keys() - self._throttled.get(event.node, frozenset())):
            self.all.append(
                TimelineEvent(now_s, "throttled", text=f"{where}GPU {index}: {', '.join(throttled[index])}")
            )
        unread = self._throttled.get(event.node, frozenset()) - {readings.index for readings in event.gpus}
        self._throttled[event.node] = frozenset(throttled) | unread

    def _resumed(self, event: Resumed, session: Session) -> None:
        """Drop the outliers of restarting cases; those in kept rounds are found again when the cases end."""
        restarting = frozenset(event.cases)
        self.all = [mark for mark in self.all if mark.kind != "outlier" or mark.case not in restarting]
        self._unexamined = deque(case for case in self._unexamined if case.index not in restarting)
        for case in (session.cases[index] for index in restarting):
            self._progress[case.index] = list(case.measured.event_ends) if case.rounds else []
        text = f"{session.left} of {len(session.cases)} cases left, {len(restarting)} restart"
        self.all.append(TimelineEvent(session.now_s, "resumed", text=text))


def marker_text(
    mark: TimelineEvent, session: Session, name_of: Callable[[CaseState], str] = lambda case: case.name
) -> str:
    """Format a marker as text, which may include text from the record."""
    if mark.case is None:
        return f"{mark.kind}: {mark.text}" if mark.kind in ("throttled", "resumed") else mark.text
    case = session.cases[mark.case]
    verb = {"begin": "starts", "round": "finished a round", "repeated": "is repeated"}.get(
        mark.kind, str(mark.kind)
    )
    if mark.kind == "outlier":
        verb = f"has {mark.text}"
    detail = f": {mark.text}" if mark.text and mark.kind != "outlier" else ""
    return f"case {mark.case + 1} of {len(session.cases)} {verb}{detail}  ({name_of(case)})"


def _outliers(case: CaseState, progress: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the number and time of outliers, for each moment whose new steps include any."""
    if not progress:
        return []
    counts: dict[float, int] = {}
    for place in outliers_of(case):
        t = progress[min(bisect_right(progress, place, key=itemgetter(0)), len(progress) - 1)][1]
        counts[t] = counts.get(t, 0) + 1
    return [(count, t) for t, count in counts.items()]


def _reasons(readings: GpuReadings) -> list[str]:
    """Return the heat or power reasons that throttled a GPU in these samples."""
    recorded = dict.fromkeys(reason for sample in readings.throttle for reason in (sample or "").split("+"))
    return [reason for reason in recorded if is_hardware_throttle(reason)]


def _t(mark: TimelineEvent) -> float:
    return mark.t
