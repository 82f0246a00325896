import os
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.engine.node import case_execution
from benchtui.engine.node.case_execution import CaseRun, count_other_gpu_processes
from benchtui.engine.node.telemetry_window import TelemetryWindow
from benchtui.engine.telemetry.neighbors.processes import ProcessTime
from benchtui.sessions.events import CaseFinished, CasePrepared, Idle, Steps, Telemetry
from benchtui.sessions.payloads import Energy, Environment, Gpu, GpuReadings, Host, HostReadings, Model

WORKER = 41
INVISIBLE = 2**22 + 1
"""No process of this machine: higher than any ID (proc_sys_kernel(5))."""
GPU = Gpu(index=0, name="A", uuid="GPU-1", graphics_clock_mhz=2000.0, memory_clock_mhz=2619.0)
HOST = Host(gpus=(GPU,), absent={"rapl": "no counters"})


class Execution:
    """A case that has run already. Each call collects one event."""

    pid = WORKER

    def __init__(self, prepared: dict[str, Any], **ended: Any) -> None:
        self._events = [
            CasePrepared(t=0.0, case=0, model=Model(name="m"), **prepared),
            Steps(t=0.0, case=0, phase="measure", wall_ms=[1.0]),
            CaseFinished(**{"t": 9.0, "case": 0, "outcome": "ok", "measured_s": (1.0, 5.0)} | ended),
        ]

    def collect(self, now_s: float) -> Any:
        return iter([self._events.pop(0)])


class Driver:
    """A driver that lists two processes on the GPU, or none."""

    def __init__(self, lists: bool = True) -> None:
        self._lists = lists

    def processes(self, uuid: str) -> dict[int, float | None] | None:
        return {WORKER: 900.0, INVISIBLE: None} if self._lists else None


def telemetry() -> TelemetryWindow:
    readings, at_s = TelemetryWindow(), [0.5, 1.5, 2.5, 3.5, 4.5]
    gpu = GpuReadings(
        index=0,
        power_w=[50.0, 100.0, 100.0, 100.0, 100.0],
        power_limit_w=700.0,
        temperature_c=[90.0, 60.0, 70.0, 65.0, None],
        graphics_clock_mhz=[300.0, 1500.0, 1300.0, 1200.0, 1200.0],
        memory_clock_mhz=[405.0, 2600.0, 2600.0, 2400.0, None],
        performance_state=[8, 2, 0, 0, None],
        throttle=["hw_thermal", "", "sw_thermal", "sw_power_cap+sw_thermal", None],
        energy_j=[0.0, 50.0, 150.0, 250.0, 350.0],
        tensor_active_percent=[None, 40.0, 50.0, 60.0, 50.0],
        pcie_rx_mb_per_s=[None, None, 1.0, 2.0, 6.0],
    )
    host = HostReadings(
        engine_cpu_percent=[90.0, 2.0, 2.0, 2.0, 2.0], processor_mhz=[800.0, 3000.0, 3100.0, 3050.0, None]
    )
    readings.add(Telemetry(t=5.0, at_s=at_s, gpus=(gpu,), host=host))
    return readings


def finished(gpu_uuid: str | None, readings: TelemetryWindow | None = None, **ended: Any) -> CaseFinished:
    device = "cuda:0" if gpu_uuid else "cpu"
    return run_on(device, HOST, readings or telemetry(), {"gpu_uuid": gpu_uuid}, **ended)


def run_on(
    device: str,
    host: Host,
    readings: TelemetryWindow,
    prepared: dict[str, Any],
    *,
    steps_s: float = 3.0,
    lists: bool = True,
    **ended: Any,
) -> CaseFinished:
    execution: Any = Execution(prepared, **ended)
    driver: Any = Driver(lists)
    ended_runs: list[CaseRun] = []
    run = CaseRun(execution, driver, host, readings, 0.0, ended_runs.append, device=device)
    _, _, last = (event for at_s in (0.5, steps_s, 9.0) for event in run.collect(at_s))
    assert ended_runs == [run]
    assert isinstance(last, CaseFinished)
    return last


def test_pending_samples_are_flushed_at_the_end_of_a_case() -> None:
    late = telemetry()
    readings = TelemetryWindow(lambda: readings.add(*late._events))
    assert finished("GPU-1", readings).energy == finished("GPU-1").energy


def test_gpu_case_ends_with_the_telemetry_of_its_measured_span() -> None:
    ended = finished("GPU-1", environment=Environment(processors=2, others_cpu_percent=11.0), marks=("sample",))
    seen = ended.environment
    assert seen is not None
    assert seen.others_cpu_percent == 9.0, "the engine is no other"
    assert (seen.graphics_clock_mhz, seen.graphics_clock_least_mhz, seen.graphics_clock_default_mhz) == (
        1300.0,
        1200.0,
        2000.0,
    )
    assert seen.graphics_clock_best_mhz == 1300.0
    assert (seen.memory_clock_mhz, seen.memory_clock_highest_mhz) == (2533.3, 2619.0)
    assert (seen.performance_states, seen.processor_mhz) == ((0, 2), 3050.0)
    assert (seen.throttle, seen.temperature_c) == (("sw_thermal", "sw_power_cap"), 70.0)
    assert (seen.power_limit_w, seen.gpu_processes) == (700.0, 1)
    assert (seen.tensor_active_percent, seen.pcie_rx_mb_per_s, seen.compute_active_percent) == (50.0, 3.0, None)
    assert ended.marks == ("sample", "throttled: sw_thermal", "shared GPU with 1 other process")
    assert ended.memory is not None and ended.memory.peak_device_mb == 900.0
    assert ended.energy is not None and ended.energy.source == "counter"
    assert ended.energy.energy_j == pytest.approx(400.0)


def test_case_records_what_the_machine_did_while_it_was_idle() -> None:
    readings = telemetry()
    readings.idle = Idle(
        t=2.0,
        window_s=2.0,
        others_cpu_percent=3.0,
        run_delay_percent=0.5,
        gpu_processes={"gpu 0": 1, "gpu 1": 4},
    )
    ended = finished("GPU-1", readings, environment=Environment(processors=2, others_cpu_percent=14.0))
    seen = ended.environment
    assert seen is not None
    assert (seen.others_cpu_percent, seen.idle_others_cpu_percent, seen.idle_run_delay_percent) == (
        12.0,
        3.0,
        0.5,
    )
    assert (seen.gpu_processes, seen.idle_gpu_processes) == (1, 1)
    assert ended.marks == ("throttled: sw_thermal",), "they are the machine's own"


def test_case_names_who_was_busy_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def process(name: str, parent: int, used_s: float) -> ProcessTime:
        return ProcessTime(name, parent, used_s)

    own = os.getpid()
    begin = {1: process("init", 0, 50.0), own: process("engine", 1, 1.0), 8: process("make", 1, 100.0)}
    end = begin | {8: process("make", 1, 105.4), 9: process("worker", own, 9.0), 10: process("ld", 8, 1.8)}
    moments = iter((begin, end, end))
    monkeypatch.setattr(case_execution, "process_times", lambda: next(moments))
    ended = finished(None, environment=Environment(processors=2, others_cpu_percent=64.0))
    assert ended.environment is not None
    assert [(each.name, each.cpu_percent) for each in ended.environment.neighbors] == [
        ("make", 60.0),
        ("ld", 20.0),
    ]
    assert ended.marks[0].startswith("disturbed: other processes used 62% CPU: make")


def test_short_case_has_the_use_of_others_around_it() -> None:
    readings = telemetry()
    host = HostReadings(others_cpu_percent=[90.0, 2.0, 4.0, 30.0, 90.0])
    readings.add(Telemetry(t=5.0, at_s=[2.0, 2.6, 2.9, 3.4, 3.7], host=host))
    ended = finished(None, readings, measured_s=(3.0, 3.01), environment=Environment(processors=2))
    assert ended.environment is not None and ended.environment.others_cpu_percent == 12.0


def test_cpu_case_records_why_its_energy_is_absent() -> None:
    ended = finished(None, environment=Environment(processors=2, others_cpu_percent=64.0))
    assert ended.energy is not None and ended.energy.absent == "no counters"
    assert ended.marks[0].startswith("disturbed: other processes used 62% CPU")
    assert ended.environment is not None
    assert (ended.environment.graphics_clock_mhz, ended.environment.processor_mhz) == (None, 3050.0)


RAPL = HostReadings(package_energy_j=[0.0, 100.0, 200.0, 300.0, 400.0])
NO_UUID = "torch 2.4.0 doesn't report the GPU's UUID"


@pytest.mark.parametrize(
    ("prepared", "absent", "reason"),
    [
        ({"gpu_absent": NO_UUID}, {}, NO_UUID),
        ({"gpu_uuid": "GPU-2"}, {}, "the driver doesn't list the device that torch uses"),
        ({"gpu_uuid": "GPU-2"}, {"gpu": "no driver"}, "no driver"),
    ],
)
def test_case_on_an_unread_gpu_is_marked_and_never_gets_the_energy_of_the_processor(
    prepared: dict[str, Any], absent: dict[str, str], reason: str
) -> None:
    readings, host = telemetry(), Host(gpus=() if absent else HOST.gpus, absent=absent)
    readings.add(Telemetry(t=5.0, at_s=[0.5, 1.5, 2.5, 3.5, 4.5], host=RAPL))
    on_gpu = run_on("cuda:0", host, readings, prepared)
    assert on_gpu.energy == Energy(absent=reason)
    assert on_gpu.marks == (f"GPU not read: {reason}",)
    on_cpu = run_on("cpu", host, readings, {})
    assert on_cpu.energy is not None and on_cpu.energy.energy_j == pytest.approx(400.0)
    assert on_cpu.marks == ()


@pytest.mark.parametrize("uuid", ["GPU-1", "GPU-of-an-instance"])
def test_case_on_a_mig_instance_gets_no_readings_of_the_whole_device(uuid: str) -> None:
    host = Host(gpus=(Gpu(index=0, name="A", uuid="GPU-1", mig=True),))
    ended = run_on("cuda:0", host, telemetry(), {"gpu_uuid": uuid}, environment=Environment(processors=2))
    reason = "the GPU is partitioned by MIG, and the driver reports the whole device instead of the instance"
    assert (ended.marks, ended.energy) == ((f"GPU not read: {reason}",), Energy(absent=reason))
    seen = ended.environment
    assert seen is not None and (seen.graphics_clock_mhz, seen.throttle, seen.gpu_processes) == (None, (), None)
    assert ended.memory is not None and ended.memory.peak_device_mb is None


def test_failed_case_is_passed_on_unchanged() -> None:
    ended = finished("GPU-1", outcome="failed", reason="killed")
    assert (ended.environment, ended.energy, ended.memory) == (None, None, None)


def shared(worker_cpu_percent: list[float | None]) -> TelemetryWindow:
    """A span in which two workers were at work, one of them for a while only."""
    readings = TelemetryWindow()
    readings.set_worker_count(1, 0.0)
    readings.set_worker_count(2, 2.0)
    readings.set_worker_count(1, 3.0)
    host = HostReadings(engine_cpu_percent=[2.0] * 4, worker_cpu_percent=worker_cpu_percent)
    readings.add(Telemetry(t=5.0, at_s=[1.5, 2.5, 3.5, 4.5], host=host))
    return readings


def test_cpu_use_of_other_workers_of_the_sweep_is_not_counted_as_others() -> None:
    around = Environment(processors=2, others_cpu_percent=95.0, worker_cpu=0.9, involuntary_switches=5000)
    ended = finished(None, shared([90.0, 260.0, 90.0, 90.0]), environment=around)
    assert ended.environment is not None and ended.environment.beside == 1
    assert ended.environment.others_cpu_percent == pytest.approx(95 - 2 - (132.5 - 90))
    assert ended.marks == (
        "disturbed: other processes used 50% CPU",
        "in parallel with 1 of this sweep's cases",
    )


@pytest.mark.parametrize(("columns", "worker_cpu"), [([None] * 4, 0.9), ([90.0] * 4, None)])
def test_unread_worker_use_leaves_the_use_by_others_unknown(
    columns: list[float | None], worker_cpu: float | None
) -> None:
    around = Environment(processors=2, others_cpu_percent=95.0, worker_cpu=worker_cpu)
    ended = finished(None, shared(columns), environment=around)
    assert ended.environment is not None and ended.environment.others_cpu_percent is None
    assert ended.marks == (
        "in parallel with 1 of this sweep's cases; other load can't be distinguished from them",
    )


def test_gpu_process_count_excludes_the_worker() -> None:
    assert count_other_gpu_processes({41: 100.0}, frozenset({41})) == 0
    assert count_other_gpu_processes({41: 100.0, 42: None, 43: 5.0}, frozenset({41})) == 2
    assert count_other_gpu_processes({41: 100.0, 42: None, 43: 5.0}, frozenset({41, 43})) == 1


def test_worker_under_an_unknown_pid_is_assumed_to_be_listed() -> None:
    assert count_other_gpu_processes({}, frozenset({41})) == 0
    assert count_other_gpu_processes({7001: 100.0}, frozenset({41})) == 0
    assert count_other_gpu_processes({7001: 100.0, 7002: 5.0}, frozenset({41})) == 1
    assert count_other_gpu_processes({7001: 100.0, 7002: 5.0}, frozenset({41, 42})) == 0


def test_gpu_case_without_a_reading_in_its_span_is_marked() -> None:
    """A span between two readings."""
    mark = "unwatched: no reading of the GPU's clock and power and other processes in"
    assert f"{mark} 0.06 s" in finished("GPU-1", measured_s=(1.6, 1.66)).marks
    unlisted, watched = finished("GPU-unknown"), finished("GPU-1")
    assert any("GPU not read" in each for each in unlisted.marks), "which says more than that it was unwatched"
    for each in (unlisted, watched):
        assert not any("unwatched" in mark for mark in each.marks)


@pytest.mark.parametrize(
    ("steps_s", "lists", "marks"),
    [
        (4.9, True, []),
        (5.1, True, ["unwatched: no reading of the GPU's other processes in 4 s"]),
        (5.1, False, []),
    ],
)
def test_gpu_case_without_a_list_of_processes_in_its_span_is_marked(
    steps_s: float, lists: bool, marks: list[str]
) -> None:
    ended = finished("GPU-1", steps_s=steps_s, lists=lists)
    assert [mark for mark in ended.marks if mark.startswith("unwatched")] == marks


def test_unsupported_reading_does_not_mark_a_case() -> None:
    unread = {"power_w": [None] * 5, "absent": {"power_w": "not supported"}}
    for earlier, marks in (((), []), ((70.0,), ["unwatched: no reading of the GPU's power in 4 s"])):
        readings = TelemetryWindow()
        if earlier:
            once = GpuReadings(index=0, power_w=list(earlier))
            readings.add(Telemetry(t=0.1, at_s=[0.1], gpus=(once,)))
        (event,) = telemetry()._events
        (gpu,) = event.gpus
        readings.add(replace(event, gpus=(replace(gpu, **unread),)))
        ended = finished("GPU-1", readings)
        assert [mark for mark in ended.marks if mark.startswith("unwatched")] == marks
        assert ended.energy is not None and ended.energy.source == "counter"
