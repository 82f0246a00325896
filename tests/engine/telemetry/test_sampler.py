import itertools
import os
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

import msgspec
import psutil
import pytest

from benchtui.engine.telemetry import sampler as sampler_module
from benchtui.engine.telemetry.gpu.reader import GpuReader, GpuSample
from benchtui.engine.telemetry.host import HostReader
from benchtui.engine.telemetry.rapl import Rapl
from benchtui.engine.telemetry.sampler import REST_TICKS, GpuSelection, Sampler, next_due_s
from benchtui.sessions.events import Telemetry

PATIENCE_S = 30


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "telemetry"]


def drain(emitted: SimpleQueue[Telemetry]) -> list[Telemetry]:
    return [emitted.get() for _ in range(emitted.qsize())]


def test_ticks_stay_on_the_grid_and_late_ones_are_skipped() -> None:
    assert next_due_s(10.0, 10.0, 0.25) == 10.25
    assert next_due_s(10.0, 10.2, 0.25) == 10.25
    assert next_due_s(10.0, 10.25, 0.25) == 10.5
    assert next_due_s(10.0, 11.1, 0.25) == 11.25


def test_samples_are_batched_and_the_rest_flushed_at_the_end() -> None:
    emitted: SimpleQueue[Telemetry] = SimpleQueue()
    ticks = itertools.count()
    three_samples = threading.Event()

    def clock() -> float:
        if next(ticks) > 12:
            three_samples.set()
        return time.monotonic()

    sampler = Sampler(None, clock=clock, emit=emitted.put, period_s=0.002, batch=2)
    sampler.start()
    assert three_samples.wait(PATIENCE_S)
    sampler.stop()
    assert threads() == []
    events = drain(emitted)
    assert {len(event.at_s) for event in events[:-1]} == {2} and 1 <= len(events[-1].at_s) <= 2
    at_s = [at for event in events for at in event.at_s]
    assert len(at_s) >= 3 and sorted(set(at_s)) == at_s
    for event in events:
        assert event.gpus == () and event.t >= event.at_s[-1]
        *columns, package_j, processor_mhz, dram_j, per_cycle, traffic = msgspec.structs.astuple(event.host)
        assert {len(column) for column in columns} == {len(event.at_s)}
        assert package_j == dram_j == per_cycle == traffic == [], "most machines don't give them"
        assert len(processor_mhz) in (0, len(event.at_s))


def test_processor_energy_has_columns_only_if_readable(tmp_path: Path) -> None:
    package = tmp_path / "intel-rapl:0"
    package.mkdir()
    for name, text in (("name", "package-0"), ("max_energy_range_uj", "9"), ("energy_uj", "0")):
        (package / name).write_text(text)
    emitted: SimpleQueue[Telemetry] = SimpleQueue()
    host = HostReader(Rapl(tmp_path))
    sampler = Sampler(None, clock=time.monotonic, emit=emitted.put, period_s=0.002, batch=2, host=host)
    sampler.start()
    readings = emitted.get(timeout=PATIENCE_S).host
    sampler.stop()
    assert (readings.package_energy_j, readings.dram_energy_j) == ([0.0, 0.0], [])


def test_stop_flushes_a_partial_batch() -> None:
    emitted: SimpleQueue[Telemetry] = SimpleQueue()
    ticks = itertools.count()
    sampled = threading.Event()

    def clock() -> float:
        if next(ticks) > 4:
            sampled.set()
        return time.monotonic()

    sampler = Sampler(None, clock=clock, emit=emitted.put, period_s=0.002, batch=1000)
    sampler.start()
    assert sampled.wait(PATIENCE_S)
    assert emitted.empty()
    sampler.stop()
    assert len(drain(emitted)) == 1


def test_flush_emits_pending_samples() -> None:
    emitted: SimpleQueue[Telemetry] = SimpleQueue()
    sampler = Sampler(None, clock=time.monotonic, emit=emitted.put, period_s=0.002, batch=1_000_000)
    sampler.start()
    at_s: list[float] = []
    while len(at_s) < 5:
        sampler.flush()
        at_s += [at for event in drain(emitted) for at in event.at_s]
    sampler.stop()
    at_s += [at for event in drain(emitted) for at in event.at_s]
    assert sorted(set(at_s)) == at_s, "none twice, and in order"


def test_worker_is_read_while_watched() -> None:
    emitted: SimpleQueue[Telemetry] = SimpleQueue()
    sampler = Sampler(None, clock=time.monotonic, emit=emitted.put, period_s=0.002, batch=1)
    sampler.start()

    def soon(read: bool) -> bool:
        events = (emitted.get(timeout=PATIENCE_S) for _ in range(10_000))
        return any((event.host.worker_rss_mb != [None]) is read for event in events)

    assert emitted.get(timeout=PATIENCE_S).host.worker_rss_mb == [None]
    sampler.watch([os.getpid()])
    assert soon(read=True)
    sampler.watch([])
    assert soon(read=False)
    sampler.stop()


def test_failed_reading_does_not_end_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise psutil.AccessDenied

    for reading in ("cpu_times", "virtual_memory", "Process"):
        monkeypatch.setattr(psutil, reading, refuse)
    emitted: SimpleQueue[Telemetry] = SimpleQueue()
    sampler = Sampler(None, clock=time.monotonic, emit=emitted.put, period_s=0.002, batch=2)
    sampler.watch([os.getpid()])
    sampler.start()
    emitted.get(timeout=PATIENCE_S)
    host = emitted.get(timeout=PATIENCE_S).host
    sampler.stop()
    assert host.cpu_percent == host.memory_used_mb == host.worker_rss_mb == [None, None]
    assert None not in host.engine_cpu_percent


class HangingGpu:
    """Stands in for a driver that does not come back from a reading."""

    def __init__(self) -> None:
        self.asked, self.released = threading.Event(), threading.Event()

    def sample(self, indices: Collection[int] | None = None) -> tuple[GpuSample, ...]:
        self.asked.set()
        self.released.wait(PATIENCE_S)
        return ()


def test_hanging_driver_does_not_block_stop_or_emit_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler_module, "_STOP_S", 0.01)
    emitted: SimpleQueue[Telemetry] = SimpleQueue()
    gpu = HangingGpu()
    sampler = Sampler(cast(GpuReader, gpu), clock=time.monotonic, emit=emitted.put, period_s=0.002, batch=1)
    sampler.start()
    assert gpu.asked.wait(PATIENCE_S)
    sampler.stop()
    (thread,) = threads()
    gpu.released.set()
    thread.join(PATIENCE_S)
    assert not thread.is_alive() and emitted.empty()


def test_gpu_lost_while_sampling_keeps_columns_and_reports_once(with_gpus: Callable[..., Any]) -> None:
    script = """
import time
from queue import SimpleQueue
from benchtui.engine.telemetry.sampler import Sampler

emitted = SimpleQueue()
sampler = Sampler(open_nvml(), clock=time.monotonic, emit=emitted.put, period_s=0.002, batch=2)
sampler.start()
result = [emitted.get(timeout=30) for _ in range(4)]
sampler.stop()
"""
    events = with_gpus(
        script, FAKE_NVML_FAIL="0:GetTotalEnergyConsumption:3,1:GetPowerUsage:15:4,1:GetFieldValues:15:4"
    )
    healthy, lost = zip(*(event["gpus"] for event in events), strict=True)
    power_w = [power for event in lost for power in event["power_w"]]
    assert power_w == [160.0, 170.0, 180.0, None, None, None, None, None]
    assert [event.get("memory_total_mb") for event in lost] == [80000.0, 80000.0, None, None]
    throttle = [event["throttle"] for event in lost]
    assert throttle == [["", ""], ["", None], [None, None], [None, None]]
    assert [list(event.get("absent", {})) for event in lost] == [[], ["gpu"], [], []]
    assert [list(event.get("absent", {})) for event in healthy] == [["energy_j"], [], [], []]
    power_w = [power for event in healthy for power in event["power_w"]]
    assert power_w == [110.0, 120.0, 130.0, 140.0, 100.0, 110.0, 120.0, 130.0]
    assert {tuple(event["energy_j"]) for event in healthy} == {(None, None)}
    assert [event["temperature_c"][1] for event in healthy] == [42.0, 44.0, 46.0, 48.0]


def test_gpus_without_a_case_are_read_at_the_end_of_every_fourth_event() -> None:
    running = {1}
    selection = GpuSelection(lambda: running)
    ticks = [selection.indices(first=place % 2 == 0, last=place % 2 == 1) for place in range(2 * REST_TICKS)]
    rest = [frozenset({1})] * (REST_TICKS - 1)
    assert ticks == [*rest, None, *rest, None]


def test_gpu_of_a_new_case_is_read_at_once_and_that_of_an_ended_one_to_the_end_of_its_event() -> None:
    answers = iter([None, {0}, {0}, {0, 1}, {1}, {1}, None, {0}])
    selection = GpuSelection(lambda: next(answers))
    ticks = [selection.indices(first=place % 4 == 0, last=place % 4 == 3) for place in range(8)]
    assert ticks == [None, None, None, None, {1}, {1}, None, None]


def test_gpus_without_a_case_are_sampled_less_often_and_columns_stay_aligned(
    with_gpus: Callable[..., Any],
) -> None:
    script = """
import time
from queue import SimpleQueue
from benchtui.engine.telemetry.sampler import Sampler

emitted = SimpleQueue()
sampler = Sampler(
    open_nvml(), clock=time.monotonic, emit=emitted.put, period_s=0.002, batch=2, measured_gpus=lambda: {1}
)
sampler.start()
result = dict(events=[emitted.get(timeout=30) for _ in range(8)])
sampler.stop()
result["calls"] = [calls(gpu, "GetClockInfo") / calls(1, "GetClockInfo") for gpu in (0, 1)]
"""
    got = with_gpus(script)
    assert [[gpu["index"] for gpu in event["gpus"]] for event in got["events"]] == [[1], [1], [1], [1, 0]] * 2
    for event in got["events"]:
        for gpu in event["gpus"]:
            read = [value is not None for value in gpu["power_w"]]
            assert read == ([True, True] if gpu["index"] == 1 else [False, True]), "the newest is a reading"
            assert {len(column) for column in gpu.values() if isinstance(column, list)} == {2}
    energy_j = [value for event in got["events"] for value in event["gpus"][0]["energy_j"]]
    assert len(energy_j) == 16 and None not in energy_j
    assert got["calls"][0] < 0.3 and got["calls"][1] == 1
