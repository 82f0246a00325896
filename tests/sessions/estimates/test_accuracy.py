"""Estimates against what was measured later: each session is estimated from those before it."""

from pathlib import Path

import pytest

from benchtui.sessions.estimates.accuracy import Accuracy, check_estimates
from benchtui.sessions.estimates.memory import RUNTIME_MB
from benchtui.sessions.events import CaseFinished, CasePrepared, CaseStarted, SessionStarted, Steps
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Host, Memory, Model
from benchtui.sessions.sweep import Axes, Config, Measure, Sweep

SWEEP = Sweep(
    name="a",
    model="unknown",
    axes=Axes(device=("cpu",)),
    measure=Measure(warmup=2, iterations=8, timeout_s=1e6),
)
CASE = Config(device="cpu", batch_size=1)


def session(path: Path, rss_mb: float, simulated: str | None = None, host: str = "box") -> SessionFile:
    journal = Journal(path)
    start = SessionStarted(
        t=0, id="x", created="2026", sweep=SWEEP, plan=(CASE,), host=Host(hostname=host), simulated=simulated
    )
    journal.append(start)
    journal.append(CaseStarted(t=0, case=0, config=CASE))
    journal.append(CasePrepared(t=1, case=0, model=Model(name="m", parameters=25_000_000)))
    journal.append(Steps(t=1, case=0, phase="measure", wall_ms=[100.0] * 10))
    journal.append(CaseFinished(t=2, case=0, outcome="ok", memory=Memory(peak_rss_mb=rss_mb)))
    journal.close()
    return SessionFile(path, start, finished=True)


def test_first_session_is_compared_with_a_guess_and_the_next_with_the_first(tmp_path: Path) -> None:
    first = session(tmp_path / "first.json", rss_mb=450.0)
    second = session(tmp_path / "second.json", rss_mb=900.0)
    checked = check_estimates([second, first], "box")  # newest first
    guessed = RUNTIME_MB + 400.0  # 100 million parameters are assumed
    assert checked.sessions == 2
    assert checked.memory == Accuracy(2, median=pytest.approx(2.0), worst=pytest.approx(2.0))
    assert guessed / 450.0 == pytest.approx(2.0)
    assert (
        checked.time is not None and checked.time.cases == 2 and checked.time.worst > checked.time.median >= 1
    )


def test_simulated_sessions_and_other_machines_do_not_count(tmp_path: Path) -> None:
    played = session(tmp_path / "played.json", 450.0, simulated="a model")
    elsewhere = session(tmp_path / "elsewhere.json", 450.0, host="other")
    checked = check_estimates([played, elsewhere], "box")
    assert (checked.memory, checked.time, checked.sessions) == (None, None, 0)


def test_file_that_is_gone_is_left_out(tmp_path: Path) -> None:
    gone = session(tmp_path / "gone.json", 450.0)
    gone.path.unlink()
    assert check_estimates([gone], "box").memory is None
