"""A session restored at any moment equals one that applied all events up to it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from journals import write_journal

from benchtui.sessions.events import (
    Answered,
    AnyEvent,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    CaseStarted,
    Message,
    NodeJoined,
    NodeLost,
    Resumed,
    RoundFinished,
    SessionFinished,
    SessionStarted,
    Steps,
    Telemetry,
)
from benchtui.sessions.payloads import AnswerComparison, GpuReadings, Host, HostReadings, Model
from benchtui.sessions.replay import timeline as under_test
from benchtui.sessions.replay.timeline import ReplayCursor, Timeline
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.columns import Columns
from benchtui.sessions.state.machine import MachineState
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config, Sweep

PLAN = tuple(Config(device="cpu", batch_size=size) for size in (1, 2, 4))
MODEL = Model(name="m")


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read and apply files of a few lines in many pieces."""
    monkeypatch.setattr(under_test, "BATCH_BYTES", 200)
    monkeypatch.setattr(under_test, "BATCH_EVENTS", 2)


def read(path: Path) -> Timeline:
    made = Timeline(path)
    while not made.complete:
        made.read()
    return made


def go(telling: ReplayCursor, t: float) -> Session:
    telling.seek(t)
    while not telling.move(t):
        pass
    return telling.session


def applied_up_to(events: list[AnyEvent], t: float) -> Session:
    """Apply all events before the first one after a moment."""
    session = Session()
    for event in events:
        if event.t > t:
            break
        session.apply(event)
    return session


def ended(events: list[AnyEvent], t: float) -> list[int]:
    """Return the numbers of the cases ended by a moment and not restarted, in order of their end."""
    found: list[int] = []
    for event in (each for each in events if each.t <= t):
        if isinstance(event, CaseFinished):
            found.append(event.case)
        elif isinstance(event, Resumed):
            found = [case for case in found if case not in event.cases]
    return found


def session_values(session: Session) -> dict[str, Any]:
    """Return all values of a session, to compare it with another."""
    values = {name: value for name, value in vars(session).items() if name in vars(Session())}
    values["cases"] = [case_values(case) for case in session.cases]
    values["current"] = session.current.index if session.current else None
    values["nodes"] = {name: machine_values(node) for name, node in session.nodes.items()}
    return values | {"machine": machine_values(session.machine)}


def machine_values(machine: MachineState) -> dict[str, Any]:
    traces = {"trace": machine.trace, **machine.gpus}
    readings = {str(name): (list(each.at_s), repr(each.columns)) for name, each in traces.items()}
    return vars(machine) | {"gpus": 0, "trace": 0} | readings


def case_values(case: CaseState) -> dict[str, Any]:
    values = {name: getattr(case, name) for name in case.__struct_fields__ if not name.startswith("_")}
    return values | {"warmup": column_values(case.warmup), "measured": column_values(case.measured)}


def column_values(columns: Columns) -> dict[str, Any]:
    """Return columns as lists, whatever the width of their stored numbers."""
    values = {name: getattr(columns, name) for name in columns.__struct_fields__}
    parts = {part: list(times) for part, times in columns.parts_ms.items()}
    return {name: list(value) for name, value in values.items()} | {"parts_ms": parts}


def steps(case: int, round_index: int, *ms: float, t: float, warmup: bool = False) -> Steps:
    phase: Any = "warmup" if warmup else "measure"
    figures = [*ms]
    counts = [70_000 if value > 8 else 7 for value in ms]
    return Steps(
        t=t, case=case, phase=phase, round=round_index, wall_ms=figures, parts_ms={"f": figures}, tokens=counts
    )


class Course:
    """Random events of a session of three cases and two rounds."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw
        self._t = 0.0
        self.events = self.started()
        for round_index in (0, 1):
            for case in range(len(PLAN)):
                self._case(case, round_index)
        if draw(st.booleans()):
            self.events.append(SessionFinished(t=self.t, outcome="completed"))

    @staticmethod
    def started() -> list[AnyEvent]:
        """Return the session's first event."""
        sweep = Sweep(name="s", model="m")
        created = "2026-11-21T10:00:00Z"
        return [
            SessionStarted(t=0.0, id="x", created=created, sweep=sweep, plan=PLAN, host=Host()),
            NodeJoined(t=0.0, node="n1", host=Host(), kind="cpu", clock_offset_s=0.0),
        ]

    @property
    def t(self) -> float:
        self._t += self._draw(st.sampled_from([0.0, 0.25, 1.0]))
        return self._t

    def _case(self, case: int, round_index: int) -> None:
        ended = {event.case for event in self.events if isinstance(event, CaseFinished)}
        if case in ended:
            return
        for attempt in range(self._draw(st.integers(1, 2))):
            if attempt:
                self.events.append(
                    CaseRepeated(t=self.t, case=case, round=round_index, reason="hot", pause_s=1.0)
                )
            self._attempt(case, round_index)
        if self._draw(st.integers(0, 3)) == 0:
            self.events.append(NodeLost(t=self.t, node="n1", reason="gone"))
            self.events.append(CaseRepeated(t=self.t, case=case, round=round_index, reason="lost", pause_s=0.0))
            self._attempt(case, round_index)
        if self._draw(st.integers(0, 3)) == 0:
            self._resume(case)
            self._attempt(case, round_index)
        if round_index:
            self.events.append(
                CaseFinished(t=self.t, case=case, outcome=self._draw(st.sampled_from(["ok", "oom"])))
            )
        elif self._draw(st.integers(0, 4)):
            self.events.append(RoundFinished(t=self.t, case=case, round=round_index))
        else:
            self.events.append(CaseFinished(t=self.t, case=case, outcome="failed", reason="why"))

    def _resume(self, case: int) -> None:
        """Cut the case off, or stop the session in the middle of it, and resume."""
        again = (case,)
        if self._draw(st.booleans()):
            ended = {event.case for event in self.events if isinstance(event, CaseFinished)}
            again = tuple(each for each in range(len(PLAN)) if each not in ended)
            for each in again:
                self.events.append(CaseFinished(t=self.t, case=each, outcome="interrupted"))
            self.events.append(SessionFinished(t=self.t, outcome="interrupted"))
        self.events.append(Resumed(t=self.t, created="2026-11-21T12:00:00Z", host=Host(), cases=again))

    def _attempt(self, case: int, round_index: int) -> None:
        node = self._draw(st.sampled_from([None, "n1"]))
        self.events.append(CaseStarted(t=self.t, case=case, round=round_index, config=PLAN[case], node=node))
        if self._draw(st.booleans()):
            self.events.append(CasePrepared(t=self.t, case=case, model=MODEL, marks=("random weights",)))
            self.events.append(steps(case, round_index, 9.0, t=self.t, warmup=True))
        for _ in range(self._draw(st.integers(0, 4))):
            ms = self._draw(st.lists(st.sampled_from([1.0, 1.5, 9.0]), min_size=1, max_size=4))
            self.events.append(steps(case, round_index, *ms, t=self.t))
            self._aside()
        if self._draw(st.booleans()):
            others = self._draw(st.sets(st.integers(0, len(PLAN) - 1), max_size=2))
            compared = tuple(AnswerComparison(case=each, baseline=case, kl_mean=self._t) for each in others)
            self.events.append(Answered(t=self.t, case=case, comparisons=compared))

    def _aside(self) -> None:
        kind = self._draw(st.integers(0, 5))
        if kind == 0:
            self.events.append(Message(t=self.t, level="warning", text="hm"))
        if kind in (1, 2):
            gpus = (
                GpuReadings(index=kind, power_w=[3.0, None], absent={"energy_j": "old"} if kind == 1 else {}),
            )
            host = HostReadings(cpu_percent=[1.0, 2.0]) if kind == 1 else HostReadings()
            node = self._draw(st.sampled_from([None, "n1"]))
            at_s = [self._t, self._t]
            self.events.append(Telemetry(t=self.t, at_s=at_s, gpus=gpus, host=host, node=node))


@st.composite
def courses(draw: Any) -> list[AnyEvent]:
    return Course(draw).events


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=courses(), data=st.data())
@pytest.mark.usefixtures("small_pieces")
def test_seeking_equals_applying_all_events_up_to_the_moment(
    tmp_path: Path, events: list[AnyEvent], data: st.DataObject
) -> None:
    moments = st.one_of(st.sampled_from([event.t for event in events]), st.floats(-1, events[-1].t + 1))
    with closing(read(write_journal(tmp_path / "s.json", events))) as timeline:
        telling = ReplayCursor(timeline)
        for t in data.draw(st.lists(moments, min_size=1, max_size=8)):
            session = go(telling, t)
            assert session_values(session) == session_values(applied_up_to(events, t))
            assert [case.index for case in session.ended] == ended(events, t)
        assert session_values(timeline.whole) == session_values(applied_up_to(events, 1e9))


@pytest.fixture
def long(tmp_path: Path, bench: Any) -> Iterator[tuple[list[AnyEvent], Timeline]]:
    """Two cases of 400 steps each, one event per step."""
    made: list[AnyEvent] = bench.events(bench.case(1), bench.case(2))[:2]
    for case in range(2):
        first = case * 500.0
        made.append(CaseStarted(t=first, case=case, config=PLAN[case]))
        made += [steps(case, 0, 1.0, t=first + step) for step in range(400)]
        made.append(CaseFinished(t=first + 400, case=case, outcome="ok"))
    made.append(SessionFinished(t=1000.0, outcome="completed"))
    timeline = read(write_journal(tmp_path / "s.json", made))
    yield made, timeline
    timeline.close()


@pytest.mark.usefixtures("small_pieces")
def test_restarted_cases_that_never_started_stay_as_planned(tmp_path: Path) -> None:
    events = Course.started()
    events += [CaseFinished(t=1.0, case=case, outcome="interrupted") for case in range(3)]
    events += [SessionFinished(t=1.0, outcome="interrupted")]
    events += [Resumed(t=1.0, created="", host=Host(), cases=(0, 1, 2))]
    events += [CaseStarted(t=2.0, case=0, config=PLAN[0])]
    events += [steps(0, 0, 1.0, t=3.0 + step) for step in range(40)]
    timeline = read(write_journal(tmp_path / "s.json", events))
    telling = ReplayCursor(timeline)
    for t in (42.0, 10.0, 2.0, 0.5, 30.0):
        assert session_values(go(telling, t)) == session_values(applied_up_to(events, t))
        assert [case.state for case in telling.session.cases[1:]] == ["queued", "queued"]
    timeline.close()


@pytest.mark.usefixtures("small_pieces")
def test_moving_on_keeps_the_session_and_going_back_replaces_it(long: Any) -> None:
    _, timeline = long
    telling = ReplayCursor(timeline)
    before = go(telling, 950.0)
    assert go(telling, 951.0) is before
    assert go(telling, 3.0) is not before and len(before.cases[1].measured) == 400


def test_events_appended_later_are_read(tmp_path: Path, long: Any) -> None:
    events, _ = long
    path = write_journal(tmp_path / "growing.json", events[:100])
    timeline = read(path)
    telling = ReplayCursor(timeline)
    assert len(go(telling, 2000.0).cases[0].measured) == 97
    write_journal(tmp_path / "other.json", events)
    with path.open("ab") as file:
        file.write((tmp_path / "other.json").read_bytes()[path.stat().st_size :])
    assert not timeline.complete
    while not timeline.complete:
        timeline.read()
    assert timeline.end_s == 1000.0
    assert go(telling, 2000.0).finished is not None
    timeline.close()


@pytest.mark.usefixtures("small_pieces")
def test_broken_line_ends_the_timeline_with_a_message(tmp_path: Path, long: Any) -> None:
    events, _ = long
    path = write_journal(tmp_path / "broken.json", events[:50])
    with path.open("ab") as file:
        file.write(b"what is this\n" + b"x" * 2000)
    timeline = read(path)
    assert timeline.problem is not None and "line 52" in timeline.problem
    telling = ReplayCursor(timeline)
    assert len(go(telling, 20.0).cases[0].measured) == 21
    assert len(go(telling, 2000.0).cases[0].measured) == 47
    timeline.close()
