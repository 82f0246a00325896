"""A resumed session is one session for every reader."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from journals import write_journal

from benchtui.sessions.analysis.roofline import limit
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import (
    AnyEvent,
    CaseFinished,
    CasePrepared,
    CaseStarted,
    Continued,
    Idle,
    Paused,
    Peaks,
    Resumed,
    RoundFinished,
    Runtime,
    SessionFinished,
    Steps,
)
from benchtui.sessions.export import step_export as steps_format
from benchtui.sessions.library.summaries import summary
from benchtui.sessions.payloads import Host, Memory, Model, StepCost
from benchtui.sessions.replay.markers import Markers
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session, Summarize
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Config

CONFIGS = tuple(Config(device="cpu", batch_size=size) for size in (1, 2, 3, 4))
MODEL = Model(name="m", parameters=5)


def start(case: int, t: float, round_index: int = 0) -> list[AnyEvent]:
    return [
        CaseStarted(t=t, case=case, round=round_index, config=CONFIGS[case]),
        CasePrepared(t=t, case=case, model=MODEL),
    ]


def steps(case: int, t: float, *ms: float, round_index: int = 0) -> Steps:
    return Steps(t=t, case=case, phase="measure", round=round_index, wall_ms=[*ms], parts_ms={"forward": [*ms]})


def end(case: int, t: float, outcome: Any = "ok", **more: Any) -> CaseFinished:
    return CaseFinished(t=t, case=case, outcome=outcome, **more)


def resumed(t: float, *cases: int, **more: Any) -> Resumed:
    return Resumed(**{"t": t, "created": "2026-11-21T12:00:00Z", "host": Host(), "cases": cases} | more)


CUT_OFF = [
    *start(0, 1.0),
    steps(0, 2.0, 10.0, 10.0),
    end(0, 3.0),
    *start(1, 4.0),
    steps(1, 5.0, 90.0, 90.0, 90.0),
]
STOPPED = [
    *CUT_OFF,
    end(1, 6.0, "interrupted", reason="stopped by SIGTERM"),
    end(2, 6.0, "interrupted", reason="stopped by SIGTERM"),
    end(3, 6.0, "interrupted", reason="stopped by SIGTERM"),
    SessionFinished(t=6.0, outcome="interrupted", reason="stopped by SIGTERM"),
]
REST = [
    *start(1, 7.0),
    steps(1, 8.0, 20.0, 20.0),
    end(1, 9.0),
    *start(2, 9.0),
    steps(2, 10.0, 30.0),
    end(2, 11.0),
    end(3, 11.0, "skipped", reason="dropped by the user"),
    SessionFinished(t=12.0, outcome="completed"),
]


@pytest.fixture(params=["cut off", "stopped"])
def whole(request: Any, bench: Any) -> list[AnyEvent]:
    """Events of a session of four cases that was cut off or stopped during its second, then resumed."""
    before, again = {"cut off": (CUT_OFF, (1,)), "stopped": (STOPPED, (1, 2, 3))}[request.param]
    made: list[AnyEvent] = bench.events(*(bench.case(size) for size in (1, 2, 3, 4)), finished=None)
    first = [event for event in made if isinstance(event, CaseStarted | CaseFinished)]
    return [*(event for event in made if event not in first), *before, resumed(6.0, *again), *REST]


def applied(events: list[AnyEvent], metrics: Summarize | None = None) -> Session:
    session = Session(metrics)
    session.apply_all(events)
    return session


def test_cut_off_case_is_queued_again_without_its_steps(whole: list[AnyEvent]) -> None:
    until = next(at for at, event in enumerate(whole) if isinstance(event, Resumed)) + 1
    session = applied(whole[:until])
    assert session.finished is None and session.running == [] and session.done == 1
    assert [case.state for case in session.cases] == ["ok", "queued", "queued", "queued"]
    assert [case.index for case in session.pending] == [1, 2, 3]
    assert session.left == 3
    assert [len(case.measured) for case in session.cases] == [2, 0, 0, 0]
    assert session.cases[1].started is None and session.cases[1].prepared is None


def test_resumed_session_ends_like_an_uninterrupted_one(whole: list[AnyEvent]) -> None:
    for session in (applied(whole), applied(whole, metrics)):
        assert [case.state for case in session.cases] == ["ok", "ok", "ok", "skipped"]
        assert (session.done, session.left) == (4, 0)
        assert session.finished is not None and session.finished.outcome == "completed"
        figures = [metrics(case) for case in session.cases]
        assert [each and each.latency_ms.mean for each in figures] == [10.0, 20.0, 30.0, None]


def test_finished_rounds_keep_their_steps_and_the_cut_off_one_is_dropped(bench: Any) -> None:
    made = bench.events(bench.case(1), finished=None)[:2]
    first = [
        *start(0, 1.0),
        steps(0, 2.0, 1.0, 2.0),
        RoundFinished(t=3.0, case=0, round=0),
        *start(0, 3.0, 1),
        steps(0, 4.0, 9.0, round_index=1),
    ]
    session = applied([*made, *first])
    before = session.cases[0]
    session.apply(resumed(5.0, 0))
    case = session.cases[0]
    assert list(before.measured.wall_ms) == [1.0, 2.0, 9.0], "who holds the old one keeps it"
    assert (case.state, len(case.rounds), list(case.measured.wall_ms)) == ("queued", 1, [1.0, 2.0])
    session.apply_all([*start(0, 6.0, 1), steps(0, 7.0, 3.0, round_index=1), end(0, 8.0)])
    assert [list(each) for each in case.measured.by_round()] == [[1.0, 2.0], [3.0]]


def test_resume_ends_a_pause_and_keeps_the_original_machine_facts(bench: Any) -> None:
    made = bench.events(bench.case(1), finished=None)[:1]
    session = applied(
        [
            *made,
            Runtime(t=0.0, torch="2.9"),
            Idle(t=0.1, window_s=1.0, power_w={"gpu 0": 70.0}),
            Paused(t=1.0),
            resumed(2.0),
            Runtime(t=2.0, torch="2.10"),
            Idle(t=2.1, window_s=1.0, power_w={"gpu 0": 99.0}),
        ]
    )
    assert not session.paused
    assert session.runtime is not None and session.runtime.torch == "2.9"
    assert session.machine.idle is not None and session.machine.idle.power_w == {"gpu 0": 70.0}
    session.apply_all([Paused(t=3.0), Continued(t=4.0)])
    assert not session.paused


def test_resume_by_a_newer_version_is_rejected(bench: Any, tmp_path: Path) -> None:
    made = bench.events(bench.case(1), finished=None)
    path = write_journal(tmp_path / "s.json", [*made, resumed(5.0, 0, schema=9)])
    with pytest.raises(BenchtuiError, match="written with schema 9, but this version reads up to schema 3"):
        Session.load(path)


def test_exported_steps_exclude_discarded_ones(whole: list[AnyEvent], tmp_path: Path) -> None:
    out = io.BytesIO()
    steps_format.write_csv(Session.load(write_journal(tmp_path / "s.json", whole)), out)
    rows = list(csv.DictReader(out.getvalue().decode().splitlines()))
    assert [(row["case"], row["step"], row["wall_ms"]) for row in rows] == [
        ("0", "0", "10.0"),
        ("0", "1", "10.0"),
        ("1", "0", "20.0"),
        ("1", "1", "20.0"),
        ("2", "0", "30.0"),
    ]


def test_summary_counts_a_resumed_session_as_one(bench: Any, tmp_path: Path) -> None:
    made = bench.events(*(bench.case(size) for size in (1, 2, 3, 4)), finished=None)[:2]
    found = summary(write_journal(tmp_path / "s.json", [*made, *STOPPED, resumed(6.0, 1, 2, 3), *REST]))
    assert (found.outcome, found.counts, found.left) == ("completed", {"ok": 3, "skipped": 1}, 0)
    assert found.best is not None and found.best.samples_per_s == pytest.approx(1000 / 10)
    stopped = summary(write_journal(tmp_path / "stopped.json", [*made, *STOPPED]))
    assert (stopped.outcome, stopped.left, stopped.cases) == ("interrupted", 3, 4)


def test_summary_rates_rounds_from_before_and_after_the_resume(bench: Any, tmp_path: Path) -> None:
    made = bench.events(bench.case(1), finished=None)[:2]
    events = [
        *start(0, 1.0),
        steps(0, 2.0, 10.0),
        RoundFinished(t=3.0, case=0, round=0),
        *start(0, 3.0, 1),
        end(0, 4.0, "interrupted"),
        SessionFinished(t=4.0, outcome="interrupted"),
        resumed(4.0, 0),
        *start(0, 6.0, 1),
        steps(0, 7.0, 30.0, round_index=1),
        end(0, 8.0),
    ]
    best = summary(write_journal(tmp_path / "s.json", [*made, *events])).best
    assert best is not None and best.samples_per_s == pytest.approx(1000 * 2 / 40)


def test_outliers_of_discarded_steps_are_dropped(bench: Any) -> None:
    usual = [10.0 + place % 5 / 100 for place in range(40)]
    session, marks = Session(), Markers()
    before = [*start(0, 1.0), steps(0, 2.0, *usual, 500.0, *usual), end(0, 3.0, "interrupted")]
    after = [*start(0, 4.0), steps(0, 5.0, *usual), steps(0, 6.0, 700.0, *usual), end(0, 7.0)]
    found = []
    for event in [*bench.events(bench.case(1), finished=None)[:2], *before, resumed(3.0, 0), *after]:
        session.apply(event)
        marks.add(event, session)
        marks.find_outliers()
        found.append([mark.t for mark in marks.all if mark.kind == "outlier"])
    assert [2.0] in found, "at that time it was one"
    assert found[-1] == [6.0]


def test_case_is_compared_with_the_peaks_of_its_part(bench: Any) -> None:
    made = bench.events(bench.case(1), bench.case(2), finished=None)[:2]
    work = StepCost(flops=1e9)
    peaks = [
        Peaks(t=t, device="cpu", precision="fp32", flops_per_s=rate) for t, rate in ((0.5, 1e12), (6.5, 5e11))
    ]
    session = applied(
        [
            *made,
            peaks[0],
            *CUT_OFF[:3],
            end(0, 3.0, work=work),
            resumed(6.0),
            peaks[1],
            *start(1, 7.0),
            steps(1, 8.0, 10.0),
            end(1, 9.0, work=work),
        ]
    )
    found = [limit(case, session.peaks) for case in session.cases]
    assert [each and each.peaks for each in found] == peaks


def test_report_lists_each_resume_with_time_and_machine(whole: list[AnyEvent]) -> None:
    text = markdown(applied(whole))
    assert "once: 2026-11-21T12:00:00Z after 6 s" in text.replace("6.0 s", "6 s")
    assert "Resumed on a different machine" not in text
    moved = [
        resumed(each.t, *each.cases, changed=("Host: box → spare",)) if isinstance(each, Resumed) else each
        for each in whole
    ]
    text = markdown(applied(moved))
    assert "Resumed on a different machine" in text and "Host: box → spare" in text
    assert "2 cases, from cpu fp32 compile=off bs=2 seq=128 on, measured after" in text


def test_report_lists_cases_measured_before_and_after_a_resume(bench: Any) -> None:
    made = bench.events(bench.case(1), finished=None)[:2]
    events = [
        *start(0, 1.0),
        steps(0, 2.0, *[1.0] * 20),
        RoundFinished(t=3.0, case=0, round=0, memory=Memory(peak_rss_mb=1.0)),
        resumed(4.0, changed=("Python: 3.11 → 3.12",)),
        *start(0, 6.0, 1),
        steps(0, 7.0, *[1.0] * 20, round_index=1),
        end(0, 8.0),
    ]
    assert "1 case of them only in part" in markdown(applied([*made, *events]))
    assert "no case has finished since" in markdown(applied([*made, *events[:-1]]))
