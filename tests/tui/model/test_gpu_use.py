from typing import Any

import pytest

from benchtui.sessions.events import (
    CaseFinished,
    CasePrepared,
    CaseStarted,
    Idle,
    RoundFinished,
    SessionStarted,
    Telemetry,
)
from benchtui.sessions.payloads import Environment, Gpu, GpuReadings, Host, Model
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config, Measure, Sweep
from benchtui.tui.model.gpu_use import GpuUse, gpu_use

PLAN = (
    Config(device="cuda:0"),
    Config(device="cuda:0", batch_size=2),
    Config(device="cuda:1"),
    Config(device="cpu"),
)


@pytest.fixture
def session() -> Session:
    """Return a session on three GPUs, of which torch's cuda:0 is the driver's GPU 2."""
    made = Session()
    gpus = tuple(Gpu(index=index, name="H", uuid=f"GPU-{index}") for index in range(3))
    sweep = Sweep(name="s", model="m", measure=Measure(rounds=2))
    made.apply(SessionStarted(t=0.0, id="s", created="", sweep=sweep, plan=PLAN, host=Host(gpus=gpus)))
    return made


def start(session: Session, case: int, t: float, uuid: str | None = None) -> None:
    session.apply(CaseStarted(t=t, case=case, config=PLAN[case]))
    if uuid:
        session.apply(CasePrepared(t=t, case=case, model=Model(name="m"), gpu_uuid=uuid))


def load(session: Session, start_s: int, stop_s: int, *percents: float, **readings: Any) -> None:
    for at_s in range(start_s, stop_s):
        gpus = tuple(
            GpuReadings(index=index, utilization_percent=[percent], **readings)
            for index, percent in enumerate(percents)
        )
        session.apply(Telemetry(t=at_s, at_s=[at_s], gpus=gpus))


def used(session: Session, *shown: int) -> GpuUse:
    return gpu_use(session, session.machine, [session.cases[index] for index in shown])


def standings(session: Session, *shown: int) -> list[str]:
    use = used(session, *shown)
    return [use.standing(index) for index in range(3)]


def test_load_without_a_case_of_ours_is_use_by_others(session: Session) -> None:
    start(session, 0, 1.0, "GPU-2")
    load(session, 1, 8, 95, 3, 97)
    assert standings(session, 0) == ["foreign", "other", "own"]


def test_brief_load_is_not_yet_use_by_others(session: Session) -> None:
    load(session, 1, 8, 3, 3, 3)
    load(session, 8, 9, 95, 3, 3)
    assert used(session).foreign == frozenset()


def test_memory_of_idle_processes_is_use_by_others(session: Session) -> None:
    load(session, 1, 8, 0, memory_used_mb=[40_000.0])
    assert used(session).foreign == {0}


def test_load_of_measuring_peaks_before_the_first_case_is_ours(session: Session) -> None:
    session.apply(Idle(t=0.5, window_s=0.5))
    load(session, 1, 8, 95, 3, 3)
    assert used(session).foreign == frozenset()


def test_load_of_a_case_that_has_just_ended_is_ours(session: Session) -> None:
    start(session, 2, 1.0, "GPU-0")
    load(session, 1, 8, 95, 3, 3)
    session.apply(CaseFinished(t=7.5, case=2, outcome="ok"))
    load(session, 8, 10, 95, 3, 3)
    assert used(session).foreign == frozenset()
    load(session, 10, 13, 95, 3, 3)
    assert used(session).foreign == {0}


def test_load_between_the_rounds_of_a_case_is_ours(session: Session) -> None:
    start(session, 2, 1.0, "GPU-0")
    load(session, 1, 8, 95, 3, 3)
    session.apply(RoundFinished(t=7.5, case=2, round=0))
    load(session, 8, 10, 95, 3, 3)
    assert used(session).foreign == frozenset()


def test_loading_case_is_on_the_gpu_of_earlier_cases_on_its_device(session: Session) -> None:
    start(session, 0, 1.0, "GPU-2")
    session.apply(CaseFinished(t=2.0, case=0, outcome="ok"))
    start(session, 1, 3.0)
    load(session, 1, 8, 95, 3, 97)
    assert standings(session, 1) == ["foreign", "other", "own"]


def test_gpu_of_a_case_with_other_processes_is_shared(session: Session) -> None:
    start(session, 0, 1.0, "GPU-2")
    load(session, 1, 8, 3, 3, 97)
    session.apply(CaseFinished(t=9.0, case=0, outcome="ok", environment=Environment(gpu_processes=1)))
    assert standings(session, 0) == ["other", "other", "shared"]
