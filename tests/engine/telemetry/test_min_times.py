"""Readings that fall into the measured span of a case by the default rules."""

from collections.abc import Callable
from typing import Any

DEFAULT_CASE = """
from time import monotonic, sleep
from types import SimpleNamespace
from benchtui.engine.devices.base import StepTime
from benchtui.engine.node.case_execution import CaseRun
from benchtui.engine.node.telemetry_window import TelemetryWindow
from benchtui.engine.telemetry.sampler import Sampler
from benchtui.engine.worker.timed_loop import Recorder, measure, warm_up
from benchtui.engine.workloads.base import StepCounts
from benchtui.sessions.events import CaseFinished, CasePrepared
from benchtui.sessions.payloads import Host, Model
from benchtui.sessions.sweep.toml_reader import parse_sweep

class Device:
    def time(self, step):
        begin_s = monotonic()
        sleep(0.003)
        took_ms = 1000 * (monotonic() - begin_s)
        return StepTime(took_ms, took_ms, {}), None
    def reset_memory_peaks(self):
        pass

nvml = open_nvml()
host = Host(gpus=nvml.gpus())
gpu, began_s = host.gpus[0], monotonic()
clock = lambda: monotonic() - began_s
readings = TelemetryWindow()
sampler = Sampler(nvml, clock=clock, emit=readings.add)
readings.flush = sampler.flush
sampler.start()
rules = parse_sweep('model = "m"', "f").measure.for_device("cuda:0")
nothing = lambda: None
work = SimpleNamespace(
    step=None, count=lambda done: StepCounts(), begin_warmup=nothing, begin_measuring=nothing
)
pending = [CasePrepared(t=0.0, case=0, model=Model(name="m"), gpu_uuid=gpu.uuid)]
process = SimpleNamespace(pid=1, collect=lambda now_s: [pending.pop(0)] if pending else [])
run = CaseRun(process, nvml, host, readings, 0.0, lambda run: None, device="cuda:0")

def collect(event):
    pending.append(event)
    return [found for _ in pending[:] for found in run.collect(clock())][-1]

record = lambda phase: Recorder(0, phase, collect, clock)
warmup_begin_s = clock()
warmup_stop = warm_up(work, Device(), rules, record("warmup"))
warmup_s = clock() - warmup_begin_s
measured = measure(work, Device(), rules, record("measure"))
span = (measured.begin_s - began_s, measured.end_s - began_s)
finished = collect(
    CaseFinished(t=clock(), case=0, outcome="ok", measured_s=span, environment=measured.environment)
)
sampler.stop()
clocks = readings.gpu(gpu.index, "graphics_clock_mhz", *span)
result = [warmup_s, len(clocks), finished.energy, finished.environment, finished.marks]
"""


def test_default_case_of_short_steps_gets_clock_power_and_counter_energy(with_gpus: Callable[..., Any]) -> None:
    warmup_s, clocks, energy, environment, marks = with_gpus(DEFAULT_CASE, FAKE_NVML_GPUS="1")
    assert warmup_s >= 1.0
    assert clocks >= 7
    assert energy["source"] == "counter" and energy["energy_j"] > 0 and energy["mean_power_w"] > 0
    assert environment["sm_clock_mhz"] > 0
    assert not any(mark.startswith("unwatched") for mark in marks)
