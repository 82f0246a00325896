"""GPUs of a vendor that benchtui has never seen: a reader and one entry of ``READERS``, and no other file."""

import time
from collections.abc import Collection
from operator import attrgetter
from queue import SimpleQueue
from typing import Any

import msgspec
import pytest

from benchtui.engine.node.case_execution import CaseRun
from benchtui.engine.node.telemetry_window import TelemetryWindow
from benchtui.engine.telemetry.gpu import open as open_module
from benchtui.engine.telemetry.gpu.reader import GpuReader, GpuSample, GpusUnavailable
from benchtui.engine.telemetry.host_info import describe_host
from benchtui.engine.telemetry.sampler import Sampler
from benchtui.sessions.events import AnyEvent, CaseFinished, CasePrepared, SessionStarted, Telemetry
from benchtui.sessions.payloads import Gpu, Model
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config, Sweep
from benchtui.themes.symbols import UNICODE
from benchtui.tui.model.machines import machines_of
from benchtui.tui.panels.gauges import gauge_lines

CONFIG = Config(device="cuda:0")


class Acme:
    """Reader of one hot GPU, which has no energy counter, no performance states and no clock."""

    driver = "acme 7"
    absent: dict[str, str]

    def __init__(self) -> None:
        self.absent = {"gpu 1": "asleep"}

    def gpus(self) -> tuple[Gpu, ...]:
        return (Gpu(index=0, name="ACME X1", uuid="GPU-x1", memory_mb=64_000.0, slowdown_c=95.0),)

    def sample(self, indices: Collection[int] | None = None) -> tuple[GpuSample, ...]:
        sample = GpuSample(
            index=0,
            power_w=512.0,
            power_averaged=False,
            power_limit_w=750.0,
            memory_used_mb=16_000.0,
            memory_total_mb=64_000.0,
            utilization_percent=88.0,
            temperature_c=97.0,
            graphics_clock_mhz=None,
            memory_clock_mhz=None,
            performance_state=None,
            throttle="junction_thermal+firmware_cap",
            energy_j=None,
            absent={
                "graphics_clock_mhz": "hidden by the firmware",
                "energy_j": "no counter",
                "activity": "none",
            },
            compute_active_percent=71.0,
        )
        return (sample,)

    def processes(self, uuid: str) -> dict[int, float | None] | None:
        return {41: 15_500.0}

    def close(self) -> None:
        pass


class Process:
    """Worker of a case that ran on the GPU."""

    pid = 41

    def __init__(self) -> None:
        prepared = CasePrepared(t=0.0, case=0, model=Model(name="m"), gpu_uuid="GPU-x1")
        ended = CaseFinished(t=9e5, case=0, outcome="ok", measured_s=(0.0, 9e5))
        self._events: list[Any] = [prepared, ended]

    def collect(self, now_s: float) -> Any:
        return iter([self._events.pop(0)])


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> GpuReader:
    monkeypatch.setattr(open_module, "READERS", (lambda: GpusUnavailable("no NVIDIA driver"), Acme))
    opened = open_module.open_gpus()
    assert not isinstance(opened, GpusUnavailable)
    return opened


@pytest.fixture
def telemetry(reader: GpuReader) -> Telemetry:
    """Samples as they come back from a session file."""
    emitted: SimpleQueue[Telemetry] = SimpleQueue()
    begin_s = time.monotonic()
    sampler = Sampler(
        reader, clock=lambda: time.monotonic() - begin_s, emit=emitted.put, period_s=0.002, batch=2
    )
    sampler.start()
    event = emitted.get(timeout=60)
    sampler.stop()
    decoded = msgspec.json.decode(msgspec.json.encode(event), type=AnyEvent)
    assert isinstance(decoded, Telemetry)
    return decoded


def test_its_samples_are_recorded_with_the_reasons_for_missing_ones(telemetry: Telemetry) -> None:
    (gpu,) = telemetry.gpus
    assert (gpu.power_w, gpu.utilization_percent, gpu.compute_active_percent) == (
        [512.0] * 2,
        [88.0] * 2,
        [71.0] * 2,
    )
    assert (gpu.graphics_clock_mhz, gpu.performance_state) == ([None] * 2, [])
    assert gpu.absent["sm_clock_mhz"] == gpu.reasons["graphics_clock_mhz"] == "hidden by the firmware"


def test_its_gauges_show_readings_and_its_own_throttle_reason(reader: GpuReader, telemetry: Telemetry) -> None:
    host = describe_host(reader)
    assert (host.driver, host.absent["gpu 1"]) == ("acme 7", "asleep")
    session = Session()
    sweep = Sweep(name="s", model="m")
    session.apply_all(
        [SessionStarted(t=0.0, id="x", created="", sweep=sweep, plan=(CONFIG,), host=host), telemetry]
    )
    lines = gauge_lines(machines_of(session, UNICODE, attrgetter("name")), 120, 12, UNICODE)
    text = "\n".join("".join(piece for piece, _ in line) for line in lines)
    for shown in ("ACME X1", "88%", "512", "97°", "THROTTLED: junction thermal", "hidden by the firmware"):
        assert shown in text, text


def test_its_case_gets_memory_power_and_a_mark_with_its_word(reader: GpuReader, telemetry: Telemetry) -> None:
    window, process = TelemetryWindow(), Process()
    window.add(telemetry)
    case: Any = process
    run = CaseRun(case, reader, describe_host(reader), window, 0.0, lambda run: None, device="cuda:0")
    *_, ended = (event for at_s in (1.0, 9e5) for event in run.collect(at_s))
    assert isinstance(ended, CaseFinished) and ended.memory is not None and ended.environment is not None
    assert (ended.memory.peak_device_mb, ended.environment.temperature_c) == (15_500.0, 97.0)
    assert ended.environment.compute_active_percent == 71.0
    # other tests use the processors at the same time, which is a mark too
    of_gpu = [mark for mark in ended.marks if not mark.startswith("disturbed: ")]
    assert of_gpu == ["throttled: junction_thermal"]
