from pathlib import Path
from typing import Any

import pytest
from journals import write_journal

from benchtui.sessions.events import (
    AnyEvent,
    CaseAdded,
    CaseFinished,
    CaseStarted,
    Continued,
    OrderChanged,
    Paused,
    Resumed,
    SessionFinished,
    SessionStarted,
    Steps,
)
from benchtui.sessions.payloads import Host, Memory
from benchtui.sessions.state.case import OUT_OF_BUDGET
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config, Find, Sweep
from benchtui.tui.cli.text.progress import follow, progress_line

CONFIGS = tuple(Config(device="cpu", batch_size=size) for size in (1, 2, 4))


@pytest.fixture
def session() -> Session:
    """Return a session that has just started, with three planned cases."""
    session = Session()
    sweep = Sweep(name="s", model="m")
    session.apply(SessionStarted(t=0.0, id="x", created="", sweep=sweep, plan=CONFIGS, host=Host()))
    return session


def line(session: Session, event: AnyEvent) -> str | None:
    session.apply(event)
    return progress_line(session, event)


def start(case: int, round_index: int = 0) -> CaseStarted:
    return CaseStarted(t=1.0, case=case, round=round_index, config=CONFIGS[case])


def test_start_line_includes_predicted_memory_if_known(session: Session) -> None:
    assert line(session, start(0)) == "  starts: cpu fp32 compile=off bs=1 seq=128"
    for case in range(2):
        memory = Memory(peak_rss_mb=1000.0 + 100 * CONFIGS[case].batch_size)
        session.apply(CaseFinished(t=2.0, case=case, outcome="ok", memory=memory))
    assert line(session, start(2, 1)) == (
        "  starts: cpu fp32 compile=off bs=4 seq=128, round 2, predicted peak 1.30 GiB RSS"
    )


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Paused(t=1.0), "paused: no new cases will start"),
        (Continued(t=1.0), "continued"),
        (OrderChanged(t=1.0, cases=(2, 1)), "new order of 2 pending cases"),
        (
            CaseAdded(t=1.0, case=3, config=CONFIGS[0], why="auto: doubling"),
            "added: cpu fp32 compile=off bs=1 seq=128 (auto: doubling)",
        ),
        (
            CaseAdded(t=1.0, case=3, config=CONFIGS[0], why="again", of=0),
            "added: cpu fp32 compile=off bs=1 seq=128 (rerun of case 1) (again)",
        ),
    ],
)
def test_queue_events_are_printed_as_lines(session: Session, event: Any, said: str) -> None:
    assert line(session, event) == f"  {said}"


def test_search_keeps_its_orders_and_what_no_budget_was_left_for_to_itself() -> None:
    session = Session()
    sweep = Sweep(name="s", model="m", find=Find())
    session.apply(SessionStarted(t=0.0, id="x", created="", sweep=sweep, plan=CONFIGS, host=Host()))
    assert line(session, OrderChanged(t=1.0, cases=(2, 1))) is None
    reasons = (OUT_OF_BUDGET, "its options make it about 3x worse than the best")
    ends = [
        CaseFinished(t=2.0, case=place, outcome="skipped", reason=reason)
        for place, reason in enumerate(reasons)
    ]
    assert [line(session, end) is None for end in ends] == [True, False]


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        (Memory(peak_allocated_mb=900.0, peak_reserved_mb=1000.0), "VRAM 858 MiB"),
        (Memory(peak_reserved_mb=1000.0, peak_rss_mb=700.0), "VRAM 954 MiB reserved"),
        (Memory(peak_rss_mb=700.0), "RSS 668 MiB"),
    ],
)
def test_measured_case_line_includes_peak_memory(session: Session, memory: Memory, said: str) -> None:
    session.apply(start(0))
    session.apply(Steps(t=1.5, case=0, phase="measure", wall_ms=[1.0] * 10))
    ended = line(session, CaseFinished(t=2.0, case=0, outcome="ok", memory=memory))
    assert ended is not None and ended.endswith(f"  {said}")


def test_resume_line_includes_remaining_cases(session: Session) -> None:
    session.apply(CaseFinished(t=2.0, case=0, outcome="ok"))
    said = line(session, Resumed(t=3.0, created="", host=Host(), cases=(1,)))
    assert said == "resumed after 3.0 s: 2 of 3 cases left, 1 to be rerun"


class ExitedEngine:
    """Engine that has exited."""

    def __init__(self, path: Path, resumed_s: float | None) -> None:
        self.path = path
        self.resumed_s = resumed_s

    def alive(self) -> bool:
        return False


def test_follow_applies_old_events_and_yields_new_ones_after_a_resume(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    sweep = Sweep(name="s", model="m")
    first = [
        SessionStarted(t=0.0, id="x", created="", sweep=sweep, plan=CONFIGS, host=Host()),
        CaseFinished(t=2.0, case=0, outcome="ok"),
        SessionFinished(t=3.0, outcome="interrupted"),
    ]
    second = [Resumed(t=3.0, created="", host=Host(), cases=()), CaseFinished(t=4.0, case=1, outcome="ok")]
    third = [Resumed(t=4.0, created="", host=Host(), cases=()), SessionFinished(t=5.0, outcome="completed")]
    for at, events in enumerate((first, second, third)):
        write_journal(path, events, resumed=at > 0)
    engine: Any = ExitedEngine(path, 4.0)
    session = Session()
    assert list(follow(engine, session)) == third
    assert session.done == 2 and session.finished == third[1]
    engine = ExitedEngine(path, None)
    assert list(follow(engine, Session())) == [*first, *second, *third]
