"""Profiling of a case's step: plain steps, the same steps under torch's profiler, and memory by kind."""

import time
from collections import defaultdict
from collections.abc import Callable
from statistics import fmean, median

import msgspec
import torch
from torch.profiler import ProfilerActivity, profile, record_function

from benchtui.engine.devices.base import Device, Lap, StepTime, no_lap
from benchtui.engine.devices.failure import result_or_reason
from benchtui.engine.telemetry.processors import usable_processors
from benchtui.engine.worker.explain.breakdown import TOKENIZER_PART, Breakdown, HostTimeline, break_down
from benchtui.engine.worker.explain.compiler_log import CompilerLog
from benchtui.engine.worker.explain.memory_kinds import memory_kinds
from benchtui.engine.worker.explain.recording import BLOCK, LAP, STEP, ProfiledEvent, read_events
from benchtui.engine.worker.explain.timeline import timeline
from benchtui.engine.worker.torch_info import transformers_version
from benchtui.engine.workloads.base import Workload
from benchtui.sessions.profiles import MemoryKinds, StepProfile

STEPS = 6
"""Maximum number of plain steps, and of profiled ones. With warm-up, a trial and two steps for memory, there
are 20 steps."""
STEPS_S = 8.0
"""Maximum seconds for all plain steps. Fewer are run if they are long."""
MOST_EVENTS = 60_000
"""Maximum number of events to read from the profiler. Each takes about 50 microseconds."""


class _Plain(msgspec.Struct, frozen=True):
    """Steps without a profiler."""

    times: list[StepTime]
    busy_cpus: float
    """CPU time of the process over the time of the steps."""


class _Sleep:
    """Time that the main thread slept in each part of the steps, according to its CPU clock."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, int], list[float]] = defaultdict(list)
        self._place = 0
        self._clocks = (0, 0)

    def begin_step(self) -> None:
        """Record the start of a step."""
        self._place, self._clocks = 0, _clocks_ns()

    def end_part(self, part: str) -> None:
        """Record the end of a part."""
        now_ns = _clocks_ns()
        wall_ns, cpu_ns = (after - before for after, before in zip(now_ns, self._clocks, strict=True))
        self._parts[part, self._place].append(max(0.0, wall_ns - cpu_ns) / 1e6)
        self._place, self._clocks = self._place + 1, now_ns

    @property
    def ms(self) -> float:
        """Time asleep per step outside the tokenizer: the sum over parts of the minimum over steps.

        A preempted thread doesn't run either, but that doesn't happen in every step.
        """
        return sum(min(times) for (part, _), times in self._parts.items() if part != TOKENIZER_PART)


def profile_step(
    workload: Workload, device: Device, log: CompilerLog, *, throughput: bool, trace: str
) -> StepProfile:
    """Profile the step of a warmed-up case. ``trace`` is the file for the profiler's trace; empty for none.

    Raises BenchtuiError if the profiler recorded no work.
    """
    workload.begin_measuring()
    plain = _plain_steps(workload, device, throughput)
    trial = _profiled(workload, device, 1, throughput=False, trace="")[0]
    steps = max(1, min(len(plain.times), MOST_EVENTS // max(1, len(trial))))
    workload.begin_measuring()
    events, sleep = _profiled(workload, device, steps, throughput=throughput, trace=trace)
    host = HostTimeline(events)
    on_gpu = device.torch_device.type != "cpu"
    breakdown = break_down(events, host, sleep.ms, on_gpu=on_gpu)
    memory, reason = _memory(workload, device)
    profiled = _profile(breakdown, plain, len(host.steps))
    return msgspec.structs.replace(
        profiled,
        graph_breaks=log.graph_breaks(),
        recompiles=log.recompiles(),
        memory=memory,
        timeline=timeline(events, host),
        absent={"memory": reason} if reason else {},
    )


def _profile(breakdown: Breakdown, plain: _Plain, steps: int) -> StepProfile:
    parts: dict[str, list[float]] = defaultdict(list)
    for step_time in plain.times:
        for part, time_ms in step_time.parts_ms.items():
            parts[part].append(time_ms)
    processors = usable_processors()
    return StepProfile(
        steps=steps,
        step_ms=breakdown.step_ms,
        plain_steps=len(plain.times),
        plain_ms=round(median(step_time.wall_ms for step_time in plain.times), 6),
        families=breakdown.families,
        kernels=breakdown.kernels,
        parts_ms={part: round(fmean(times_ms), 6) for part, times_ms in parts.items()},
        launches=breakdown.launches,
        busy_ms=breakdown.busy_ms,
        idle_ms=dict(breakdown.idle_ms),
        launching_ms=breakdown.launching_ms,
        threads=torch.get_num_threads(),
        processors=len(processors) if processors else None,
        busy_cpus=round(plain.busy_cpus, 3),
        versions=_versions(),
    )


def _versions() -> dict[str, str]:
    versions = {
        "torch": str(torch.__version__),
        "transformers": transformers_version(),
        "cuda": torch.version.cuda,
    }
    return {name: version for name, version in versions.items() if version}


def _plain_steps(workload: Workload, device: Device, throughput: bool) -> _Plain:
    """Run steps as in a measurement, fewer if they are long."""
    begin_s, begin_cpu_s = time.monotonic(), time.process_time()
    if throughput:
        first = device.time_block(workload.step, 1)
        more = _steps_left(first[0][0].wall_ms)
        rows = device.time_block(workload.step, more) if more else first
    else:
        rows = [device.time(workload.step)]
        rows += [device.time(workload.step) for _ in range(_steps_left(rows[0][0].wall_ms))]
    span_s = max(1e-9, time.monotonic() - begin_s)
    return _Plain([step_time for step_time, _ in rows], (time.process_time() - begin_cpu_s) / span_s)


def _steps_left(step_ms: float) -> int:
    return min(STEPS, int(1000 * STEPS_S / max(step_ms, 1e-3))) - 1


def _profiled(
    workload: Workload, device: Device, steps: int, *, throughput: bool, trace: str
) -> tuple[list[ProfiledEvent], _Sleep]:
    """Run steps under the profiler. The device is synchronized at both ends of each step, or of all steps."""
    sleep = _Sleep()
    lap = _annotated(sleep)
    activities = [ProfilerActivity.CPU]
    if device.torch_device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    synchronize = _synchronizer(device)
    synchronize()
    with profile(activities=activities, record_shapes=True) as profiler:
        for block in _blocks(steps, throughput):
            with record_function(BLOCK):
                for _ in range(block):
                    _run_step(workload, lap, sleep)
                synchronize()
    if trace:
        profiler.export_chrome_trace(trace)
    return read_events(profiler), sleep


def _blocks(steps: int, throughput: bool) -> list[int]:
    return [steps] if throughput else [1] * steps


def _run_step(workload: Workload, lap: Lap, sleep: _Sleep) -> None:
    with record_function(STEP):
        sleep.begin_step()
        workload.step(lap)
        sleep.end_part("")


def _annotated(sleep: _Sleep) -> Lap:
    """Return a lap that marks the ends of parts in the profile."""

    def lap(part: str) -> None:
        sleep.end_part(part)
        with record_function(f"{LAP}{part}"):
            pass

    return lap


def _synchronizer(device: Device) -> Callable[[], object]:
    if device.torch_device.type == "cuda":
        return lambda: torch.cuda.synchronize(device.torch_device)
    return lambda: None


def _memory(workload: Workload, device: Device) -> tuple[MemoryKinds, str | None]:
    """Return memory by kind, and the reason if it is missing."""
    kinds = result_or_reason(
        str(device.torch_device),
        lambda: memory_kinds(lambda: workload.step(no_lap), device.torch_device, workload.kv_cache_mb),
    )
    return (MemoryKinds(), kinds) if isinstance(kinds, str) else (kinds, None)


def _clocks_ns() -> tuple[int, int]:
    return time.perf_counter_ns(), time.thread_time_ns()
