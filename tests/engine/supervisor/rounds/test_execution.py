"""What an attempt that can't be started leaves of the disturbed one before it, with cases that are played."""

from collections.abc import Callable
from typing import Any

import pytest

from benchtui.engine.supervisor.rounds.execution import SHORTAGE_PAUSES_S
from benchtui.sessions.errors import BenchtuiError, OutOfFilesError
from benchtui.sessions.events import CaseRepeated, CaseStarted
from benchtui.sessions.journal.reader import read
from benchtui.sessions.payloads import Environment
from benchtui.sessions.sweep import Axes

HOT = {"measured_s": (0.0, 1.0), "environment": Environment(throttle=("sw_thermal",))}
SHORTAGE = OutOfFilesError("can't start the worker: too many open files")


@pytest.fixture
def disturbed(stage: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[[BenchtuiError], Any]:
    """A sweep whose only case was disturbed, at the end of the pause, when its next process doesn't start."""

    def begin(error: BenchtuiError) -> Any:
        sweep = stage(axes=Axes())
        sweep.finish(0, **HOT)

        def refuse(_: object) -> Any:
            raise error

        (run,) = sweep.scheduler._runs.values()
        monkeypatch.setattr(run, "_launch", refuse)
        wait(sweep, monkeypatch, 6.0)
        return sweep

    return begin


def wait(sweep: Any, monkeypatch: pytest.MonkeyPatch, pause_s: float) -> None:
    now_s = sweep.log.now_s() + pause_s
    monkeypatch.setattr(sweep.log, "now_s", lambda: now_s)
    sweep.scheduler.advance()


@pytest.mark.parametrize("how", ["skip", "stop"])
def test_case_ended_while_short_of_files_keeps_the_disturbed_measurement(
    disturbed: Callable[[BenchtuiError], Any], how: str
) -> None:
    sweep = disturbed(SHORTAGE)
    assert sweep.running == [0]
    if how == "skip":
        sweep.scheduler.end(0, "skipped", "skipped by the user")
    else:
        sweep.scheduler.stop("stopped by the user")
    assert not sweep.scheduler.advance()
    assert sweep.outcomes() == {0: ("ok", None)}
    assert len(sweep.told().cases[0].measured) == 20


def test_disturbed_measurement_counts_if_it_cannot_be_repeated(
    disturbed: Callable[[BenchtuiError], Any],
) -> None:
    sweep = disturbed(BenchtuiError("can't start the worker: why"))
    assert sweep.outcomes() == {0: ("ok", None)}
    session = sweep.told()
    assert len(session.cases[0].measured) == 20 and session.cases[0].repeated == ()
    warning = session.messages[-1]
    assert (warning.level, "the disturbed measurement counts" in warning.text) == ("warning", True)
    assert warning.text.endswith("can't start the worker: why")


def test_disturbed_measurement_counts_after_the_last_shortage(
    disturbed: Callable[[BenchtuiError], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = disturbed(SHORTAGE)
    for pause_s in SHORTAGE_PAUSES_S:
        assert sweep.running == [0]
        wait(sweep, monkeypatch, pause_s)
    assert sweep.outcomes() == {0: ("ok", None)}
    assert len(sweep.told().cases[0].measured) == 20


def test_repeat_is_recorded_when_its_process_starts(
    disturbed: Callable[[BenchtuiError], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = disturbed(SHORTAGE)
    (run,) = sweep.scheduler._runs.values()
    monkeypatch.setattr(run, "_launch", sweep._launch)
    wait(sweep, monkeypatch, SHORTAGE_PAUSES_S[0])
    assert len(sweep.told().cases[0].measured) == 0
    sweep.finish(0)
    events = [type(each) for each in read(sweep.path).events if isinstance(each, CaseStarted | CaseRepeated)]
    assert events == [CaseStarted, CaseRepeated, CaseStarted]
    assert sweep.outcomes() == {0: ("ok", None)} and len(sweep.told().cases[0].measured) == 20
