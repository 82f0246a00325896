"""Light of the header: whether other processes disturb the machine."""

from typing import Any

import pytest

from benchtui.sessions.events import Idle
from benchtui.sessions.payloads import HostReadings
from benchtui.sessions.state.columns import HOST_COLUMNS
from benchtui.sessions.state.session import Session
from benchtui.themes.symbols import UNICODE
from benchtui.tui.model.noise_light import noise_light

QUIET = ("● quiet machine", "● quiet", "●")
NOISY = ("⚑ noisy: other processes use 50% CPU", "⚑ noisy 50%", "⚑ noisy", "⚑")


def session_with(story: Any, used: float, worker: float, cpu_count: int = 4) -> Session:
    session = Session.load(story.begin(gpus=0, device="cpu", cpu_count=cpu_count).path)
    readings = HostReadings(cpu_percent=[900.0, used, used], worker_cpu_percent=[0.0, worker, worker])
    session.machine.trace.extend([1.0, 20.0, 22.0], readings, HOST_COLUMNS)
    return session


@pytest.mark.parametrize(
    ("used", "worker", "cpus", "words"),
    [(210.0, 200.0, 4, QUIET), (250.0, 200.0, 4, NOISY), (250.0, 200.0, 64, QUIET), (50.0, 0.0, 4, NOISY)],
)
def test_light_shows_the_use_of_processors_by_others(
    story: Any, used: float, worker: float, cpus: int, words: tuple[str, ...]
) -> None:
    light = noise_light(session_with(story, used, worker, cpus), UNICODE)
    assert tuple(wording for wording, _ in light) == words


def test_light_goes_by_the_recorded_use_of_others_beyond_that_of_the_idle_machine(story: Any) -> None:
    session = Session.load(story.begin(gpus=0, device="cpu", cpu_count=2).path)
    readings = HostReadings(cpu_percent=[190.0, 190.0], others_cpu_percent=[12.0, 12.0])
    session.machine.trace.extend([1.0, 2.0], readings, HOST_COLUMNS)
    assert noise_light(session, UNICODE)[0][0] == "⚑ noisy: other processes use 12% CPU"
    session.apply(Idle(t=2.0, window_s=2.0, others_cpu_percent=3.0))
    assert noise_light(session, UNICODE)[0][0] == QUIET[0]


def test_no_light_without_readings(story: Any) -> None:
    assert noise_light(Session.load(story.begin().path), UNICODE) == ()
