"""Reloaded steps of one case, compared with those of a fully loaded session."""

from pathlib import Path
from typing import Any

from journals import write_journal

from benchtui.sessions.events import CaseFinished, CaseRepeated, CaseStarted, RoundFinished, Steps
from benchtui.sessions.journal.reader import FilePosition
from benchtui.sessions.replay.reloading import reload_case
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics


def write_session(path: Path, events: list[Any]) -> Session:
    return Session.load(write_journal(path, events))


def times(case: CaseState) -> tuple[list[float], list[float]]:
    return list(case.warmup.wall_ms), list(case.measured.wall_ms)


def reload(session: Session, index: int, path: Path, position: FilePosition | None = None) -> CaseState:
    case = session.cases[index]
    case.metrics = metrics(case)
    case.drop_steps()
    assert not case.steps_in_memory
    whole, _ = reload_case(case, session.ran_on(case), path, position or FilePosition())
    return whole


def test_reloaded_steps_equal_the_evicted_ones(bench: Any, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    made = [bench.case(size, ms=10.0 * size, warmup_ms=[30.0, 20.0]) for size in (1, 2, 3)]
    session = write_session(path, bench.events(*made))
    kept = [times(case) for case in session.cases]
    for index in (1, 0, 2):
        whole = reload(session, index, path)
        assert times(whole) == kept[index]
        assert whole.metrics is session.cases[index].metrics and whole.finished == session.cases[index].finished
    assert not session.cases[0].steps_in_memory


def test_repeated_round_has_only_its_last_steps(bench: Any, tmp_path: Path) -> None:
    path, config = tmp_path / "session.json", bench.case(1).config
    first, *_ = bench.events(bench.case(1), finished=None)
    steps = [Steps(t=1.0, case=0, phase="measure", round=turn, wall_ms=[10.0 + turn] * 8) for turn in (0, 1, 1)]
    session = write_session(
        path,
        [
            first,
            CaseStarted(t=0.5, case=0, config=config),
            steps[0],
            RoundFinished(t=1.0, case=0, round=0),
            steps[1],
            CaseRepeated(t=1.5, case=0, round=1, reason="disturbed", pause_s=0.0),
            steps[2],
            CaseFinished(t=2.0, case=0, outcome="ok"),
        ],
    )
    kept = times(session.cases[0])
    assert len(kept[1]) == 16
    assert times(reload(session, 0, path)) == kept


def test_reloading_stops_once_it_is_not_wanted(bench: Any, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    session = write_session(path, bench.events(bench.case(1, ms=10.0)))
    whole, there = reload_case(session.cases[0], session.machine, path, FilePosition(), lambda: False)
    assert times(whole) == ([], []) and there.newest_s == 0
