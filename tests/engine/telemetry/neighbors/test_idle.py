from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from benchtui.engine.telemetry.neighbors import idle, processes, run_delay
from benchtui.engine.telemetry.neighbors.idle import IdleProbe, idle_gpu_processes
from benchtui.engine.telemetry.neighbors.processes import ProcessTime
from benchtui.engine.telemetry.neighbors.run_delay import ThreadTime
from benchtui.sessions.events import Idle
from benchtui.sessions.payloads import Gpu, Neighbor
from benchtui.sessions.stats.disturbance import others_limit_percent


@pytest.fixture
def observed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Idle]]:
    """What a machine of two processors did in two seconds, without the two seconds."""

    def observe(
        busy_s: float | None,
        *,
        engine_s: float = 0.02,
        waited_s: float = 0.001,
        stolen_s: float | None = 0.0,
        span_s: float = 2.0,
        usable: frozenset[int] | None = frozenset((0, 1)),
    ) -> Idle:
        now = [0]  # first and second reading

        def at(first: Any, second: Any) -> Callable[..., Any]:
            return lambda *_: (first, second)[now[0]]

        monkeypatch.setattr(idle, "usable_processors", lambda: usable)
        monkeypatch.setattr(psutil, "cpu_count", lambda: 64)
        monkeypatch.setattr(idle, "monotonic", at(50.0, 50.0 + span_s))
        monkeypatch.setattr(idle, "busy_s", at(1000.0, None if busy_s is None else 1000.0 + busy_s))
        monkeypatch.setattr(idle, "stolen_s", at(7.0, None if stolen_s is None else 7.0 + stolen_s))
        monkeypatch.setattr(idle.time, "process_time", at(3.0, 3.0 + engine_s))
        times = ThreadTime(3.0, 1.0), ThreadTime(3.0 + engine_s, 1.0 + waited_s)
        monkeypatch.setattr(run_delay, "thread_times", at({"1": times[0]}, {"1": times[1]}))
        make = ProcessTime("make", 1, 4.0), ProcessTime("make", 1, 5.5)
        monkeypatch.setattr(processes, "process_times", at({8: make[0]}, {8: make[1]}))
        monkeypatch.setattr(processes, "user_of", lambda pid: "bob")
        probe = IdleProbe()
        now[0] = 1
        return probe.since(2.5)

    yield observe


def test_quiet_machine_has_its_own_load_and_no_neighbors(observed: Callable[..., Idle]) -> None:
    found = observed(0.06)
    assert (found.t, found.window_s, found.others_cpu_percent) == (2.5, 2.0, 2.0)
    assert (found.steal_percent, found.run_delay_percent, found.neighbors) == (0.0, pytest.approx(4.76), ())


def test_busy_machine_names_who_is_busy(observed: Callable[..., Idle]) -> None:
    found = observed(1.52, stolen_s=0.1)
    assert (found.others_cpu_percent, found.steal_percent) == (75.0, 5.0)
    assert found.neighbors == (Neighbor(name="make", user="bob", cpu_percent=75.0),)


def test_missing_readings_are_missing(observed: Callable[..., Idle]) -> None:
    found = observed(None, stolen_s=None)
    assert (found.others_cpu_percent, found.steal_percent, found.neighbors) == (None, None, ())


def test_readings_are_those_of_the_span_between_them(observed: Callable[..., Idle]) -> None:
    found = observed(0.0433, span_s=0.5)
    assert (found.window_s, found.others_cpu_percent) == (0.5, 4.7)
    assert observed(0.06, span_s=2.004).window_s == 2.0
    assert observed(0.06, span_s=0.0).others_cpu_percent is None
    assert observed(0.06, engine_s=0.0, waited_s=0.0).run_delay_percent is None


def test_share_of_all_processors_decides_whether_others_are_named(observed: Callable[..., Idle]) -> None:
    limit_s = 2.0 * others_limit_percent(2) / 100 + 0.02
    assert observed(limit_s).neighbors and not observed(limit_s - 0.01).neighbors
    assert not observed(limit_s, usable=None).neighbors, "64 processors"


class Driver:
    def processes(self, uuid: str) -> dict[int, float | None] | None:
        return {"A": {1: None, 2: 3.0}, "B": {3: None}, "C": {}, "D": None}[uuid]


def test_processes_on_idle_gpus_are_counted() -> None:
    gpus = [Gpu(index=index, name="H100", uuid=uuid) for index, uuid in enumerate("ABCD")]
    driver: Any = Driver()
    assert idle_gpu_processes(driver, [*gpus, Gpu(index=9, name="no UUID")], busy={1}) == {"gpu 0": 2}
