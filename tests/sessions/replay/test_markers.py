"""Markers of the moments of a session to jump to."""

from benchtui.sessions.events import (
    AnyEvent,
    CaseFinished,
    CaseRepeated,
    CaseStarted,
    Message,
    RoundFinished,
    Steps,
    Telemetry,
)
from benchtui.sessions.payloads import GpuReadings
from benchtui.sessions.replay.markers import Markers, marker_text
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config


def markers_of(session: Session, *events: AnyEvent) -> Markers:
    marks = Markers()
    for event in events:
        session.apply(event)
        marks.add(event, session)
    while marks.find_outliers():
        pass
    return marks


def start(t: float, case: int = 0, round_index: int = 0) -> CaseStarted:
    return CaseStarted(t=t, case=case, round=round_index, config=Config(device="cpu"))


def steps(t: float, *ms: float, round_index: int = 0) -> Steps:
    return Steps(t=t, case=0, phase="measure", round=round_index, wall_ms=[*ms])


def throttled(t: float, *throttle: str | None, gpu: int = 0) -> Telemetry:
    readings = GpuReadings(index=gpu, throttle=list(throttle))
    return Telemetry(t=t, at_s=[t] * len(throttle), gpus=(readings,))


def test_starts_ends_rounds_and_messages_have_their_text(session: Session) -> None:
    marks = markers_of(
        session,
        start(2.0),
        RoundFinished(t=3.0, case=0, round=0),
        start(4.0, round_index=1),
        CaseRepeated(t=5.0, case=0, round=1, reason="throttled: sw_thermal", pause_s=5.0),
        CaseFinished(t=6.0, case=0, outcome="oom", reason="96 GB"),
        CaseFinished(t=6.0, case=1, outcome="ok"),
        Message(t=7.0, level="warning", text="hm"),
    )
    name = "(cpu fp32 compile=off bs=1 seq=128)"
    assert [(mark.t, mark.kind, marker_text(mark, session)) for mark in marks.all] == [
        (2.0, "begin", f"case 1 of 2 starts  {name}"),
        (3.0, "round", f"case 1 of 2 finished a round  {name}"),
        (4.0, "begin", f"case 1 of 2 starts  {name}"),
        (5.0, "repeated", f"case 1 of 2 is repeated: throttled: sw_thermal  {name}"),
        (6.0, "oom", f"case 1 of 2 oom: 96 GB  {name}"),
        (6.0, "ok", "case 2 of 2 ok  (cpu fp32 compile=off bs=2 seq=128)"),
        (7.0, "warning", "hm"),
    ]


def test_throttling_has_a_marker_each_time_it_begins(session: Session) -> None:
    marks = markers_of(
        session,
        throttled(1.0, "", None),
        throttled(2.0, "", "sw_thermal+hw_slowdown"),
        throttled(3.0, "sw_thermal"),
        throttled(4.0, "sw_power_cap+hw_slowdown"),
        throttled(5.0, "hw_thermal"),
    )
    assert [(mark.t, marker_text(mark, session)) for mark in marks.all] == [
        (2.0, "throttled: GPU 0: sw_thermal"),
        (5.0, "throttled: GPU 0: hw_thermal"),
    ]


def test_throttling_of_a_gpu_that_is_read_less_often_does_not_begin_again(session: Session) -> None:
    marks = markers_of(
        session,
        throttled(1.0, "hw_thermal", gpu=1),
        throttled(2.0, "", gpu=0),
        throttled(3.0, "hw_thermal", gpu=1),
    )
    assert [(mark.t, mark.text) for mark in marks.all] == [(1.0, "GPU 1: hw_thermal")]


def test_outliers_are_marked_when_their_steps_arrived(session: Session) -> None:
    usual = [10.0, 10.1, 10.2, 9.9, 10.0] * 2
    marks = markers_of(
        session,
        start(1.0),
        steps(2.0, *usual),
        steps(3.0, 10.0, 80.0, 70.0),
        steps(4.0, *usual),
        steps(5.0, 90.0, *usual),
        CaseFinished(t=6.0, case=0, outcome="ok"),
    )
    texts = [(mark.t, mark.kind, marker_text(mark, session).split("  ")[0]) for mark in marks.all]
    assert texts == [
        (1.0, "begin", "case 1 of 2 starts"),
        (3.0, "outlier", "case 1 of 2 has 2 outlier steps"),
        (5.0, "outlier", "case 1 of 2 has an outlier step"),
        (6.0, "ok", "case 1 of 2 ok"),
    ]


def test_outliers_of_a_repeated_round_do_not_count(session: Session) -> None:
    usual = [10.0, 10.1, 10.2, 9.9, 10.0] * 2
    marks = markers_of(
        session,
        start(1.0),
        steps(2.0, *usual),
        steps(3.0, 99.0, *usual, round_index=1),
        CaseRepeated(t=4.0, case=0, round=1, reason="hot", pause_s=1.0),
        steps(5.0, *usual, 88.0, round_index=1),
        CaseFinished(t=6.0, case=0, outcome="ok"),
    )
    assert [mark.t for mark in marks.all if mark.kind == "outlier"] == [5.0]
