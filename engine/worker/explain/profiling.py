"""Profiling of a case's step: plain steps and steps under torch's profiler in turns, then memory by kind."""

import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median
from typing import Any

import torch
from msgspec.structs import replace
from torch.profiler import ProfilerActivity, profile, record_function

from benchtui.engine.devices.base import Device, Lap, StepTime, no_lap
from benchtui.engine.devices.failure import result_or_reason
from benchtui.engine.telemetry.kernel_files import kernel_text
from benchtui.engine.telemetry.processors import usable_processors
from benchtui.engine.worker.environment import diagnostic_modes
from benchtui.engine.worker.explain.breakdown import TOKENIZER_PART, Breakdown, break_down
from benchtui.engine.worker.explain.compiler_log import CompilerLog
from benchtui.engine.worker.explain.denormals import with_denormals
from benchtui.engine.worker.explain.host_timeline import HostTimeline
from benchtui.engine.worker.explain.host_use import HostWatch, has_neighbor, spread_threads, thread_kernel_s
from benchtui.engine.worker.explain.memory_kinds import memory_kinds
from benchtui.engine.worker.explain.recording import BLOCK, LAP, STEP, ProfiledEvent, read_events
from benchtui.engine.worker.explain.sampling import Sampler
from benchtui.engine.worker.torch_info import transformers_version
from benchtui.engine.workloads.base import Workload
from benchtui.sessions.profiles import MemoryKinds, Place, StepProfile

ROUNDS = 6
"""Maximum number of turns: plain steps, then profiled ones."""
STEPS_S = 8.0
"""Maximum seconds for all plain steps. Fewer are run if they are long."""
BLOCK_STEPS = 3
"""Steps of a turn in throughput mode, in which the device isn't synchronized between them."""
PROFILED_S, MOST_PROFILED = 0.03, 10
"""Seconds of profiled steps in a turn, since the first ones find cold caches, and their maximum number."""
PLAIN_S, MOST_PLAIN = 0.06, 40
"""Minimum seconds of plain steps in a turn, since the kernel counts in ticks, and their maximum number."""
SAMPLED_S, MOST_SAMPLED = 0.3, 300
"""Minimum seconds of sampled steps, of which at least one runs, and maximum number."""
MOST_EVENTS = 60_000
"""Maximum number of events to read from the profiler. Each takes about 50 microseconds."""
SCHEDSTAT = Path("/proc/thread-self/schedstat")


class _Sleep:
    """Time that the main thread slept in each part of the steps: it neither ran nor waited for a processor."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, int], list[float]] = defaultdict(list)
        self._place = 0
        self._clocks = (0, 0, 0)

    def begin_step(self) -> None:
        """Record the start of a step."""
        self._place, self._clocks = 0, _clocks_ns()

    def end_part(self, part: str) -> None:
        """Record the end of a part."""
        now_ns = _clocks_ns()
        wall_ns, *ran_ns = (after - before for after, before in zip(now_ns, self._clocks, strict=True))
        self._parts[part, self._place].append(max(0.0, wall_ns - sum(ran_ns)) / 1e6)
        self._place, self._clocks = self._place + 1, now_ns

    @property
    def ms(self) -> float:
        """Time asleep per step outside the tokenizer: the sum over parts of the median over steps."""
        return sum(median(times) for (part, _), times in self._parts.items() if part != TOKENIZER_PART)


class _Turns:
    """Plain and profiled steps in turns, so that both are in the same state of the machine and the program."""

    def __init__(self, workload: Workload, device: Device, *, throughput: bool) -> None:
        self._workload, self._device = workload, device
        self._block = BLOCK_STEPS if throughput else 1
        self._blocks = 1
        """Blocks of a turn."""
        self._affordable = 1
        """Maximum number of profiled blocks in all."""
        self.watch, self.sleep = HostWatch(), _Sleep()
        self.plain: list[StepTime] = []
        self.events: list[ProfiledEvent] = []
        self._profilers: list[Any] = []
        self._user_s = 0.0
        """CPU time of this thread outside of the kernel in all profiled blocks."""

    def run(self) -> None:
        """Run one plain step and one profiled step to see how many of each are affordable, then all turns."""
        step_s = max(1e-6, self._time(1)[0].wall_ms / 1000)
        rounds = max(1, min(ROUNDS, int(STEPS_S / step_s / self._block)))
        self._affordable = MOST_EVENTS // max(1, len(self._profile(0, _Sleep())) * self._block)
        self._profilers.clear()
        self._user_s = 0.0
        plain = min(MOST_PLAIN, max(self._block, int(PLAIN_S / step_s)))
        if self._block == 1:
            self._blocks = max(1, min(MOST_PROFILED, int(PROFILED_S / step_s), self._affordable // rounds))
        for turn in range(rounds):
            with self.watch.stretch(plain):
                self.plain += self._time(plain)
            if turn < max(1, self._affordable // self._blocks):
                self.events += self._profile(turn, self.sleep)

    def places(self) -> tuple[Place, ...]:
        """Return where the main thread is in plain steps. Profiled ones tell which samples are of operators."""
        step_s = self.plain_ms / 1000
        plain = _sampled(self._workload, step_s)
        if self._device.torch_device.type != "cpu":
            return plain.places()
        with _profiler(self._device, shapes=False) as profiler, record_function(BLOCK):
            profiled = _sampled(self._workload, step_s, max(1, self._affordable * self._block))
        host = HostTimeline(read_events(profiler))
        return plain.places(profiled.shares_within(host.operator_spans_ns))

    @property
    def plain_ms(self) -> float:
        """Median time of a plain step."""
        return median(step_time.wall_ms for step_time in self.plain)

    @property
    def block_ns(self) -> float:
        """Time of a block of steps without the profiler."""
        return self.plain_ms * 1e6 * self._block

    @property
    def added_user_ms(self) -> float:
        """CPU time outside of the kernel that profiling adds to a step of this thread."""
        steps, plain = len(self._profilers) * self._blocks * self._block, self.watch.use()
        return max(0.0, 1000 * self._user_s / steps - (plain.cpu_ms - plain.main_kernel_ms))

    def export_trace(self, host: HostTimeline, file: str) -> None:
        """Write the trace of the turn whose time is closest to that of plain steps."""
        spans = [event for event in self.events if event.name == BLOCK]
        nearest = min(host.blocks, key=lambda block: abs(block.end_ns - block.begin_ns - self.block_ns))
        self._profilers[spans.index(nearest) // self._blocks].export_chrome_trace(file)

    def _time(self, steps: int) -> list[StepTime]:
        """Run steps as in a measurement."""
        if self._block > 1:
            rows = self._device.time_block(self._workload.step, steps)
        else:
            rows = [self._device.time(self._workload.step) for _ in range(steps)]
        return [step_time for step_time, _ in rows]

    def _profile(self, turn: int, sleep: _Sleep) -> list[ProfiledEvent]:
        """Run the blocks of a turn under the profiler. The device is synchronized at both ends of each.

        A step before them, which doesn't count, wakes the threads that slept while the profiler started.
        """
        lap = _annotated(sleep)
        synchronize = _synchronizer(self._device)
        synchronize()
        with _profiler(self._device) as profiler:
            self._workload.step(no_lap)
            synchronize()
            before_s = _thread_user_s()
            for _ in range(self._blocks):
                with record_function(BLOCK):
                    for _ in range(self._block):
                        with record_function(STEP):
                            sleep.begin_step()
                            self._workload.step(lap)
                            sleep.end_part("")
                    synchronize()
            self._user_s += _thread_user_s() - before_s
        self._profilers.append(profiler)
        return read_events(profiler, turn)


def profile_step(
    workload: Workload, device: Device, log: CompilerLog, *, throughput: bool, trace: str
) -> StepProfile:
    """Profile the step of a warmed-up case. Raises BenchtuiError if the profiler recorded no work.

    ``trace`` is the file for the profiler's trace; empty for none.
    """
    workload.begin_measuring()
    turns = _Turns(workload, device, throughput=throughput)
    on_gpu = device.torch_device.type != "cpu"

    def step() -> None:
        workload.step(no_lap)

    with spread_threads(wanted=not on_gpu and has_neighbor(step)):
        turns.run()
        compiler = log.graph_breaks(), log.recompiles()  # those of the steps below aren't the case's
        places = turns.places()
    host = HostTimeline(turns.events, turns.sleep.ms, turns.block_ns)
    breakdown = break_down(turns.events, host, on_gpu=on_gpu)
    if trace:
        turns.export_trace(host, trace)
    diagnostics = tuple(diagnostic_modes())
    absent: dict[str, str] = {}
    name, kernels = str(device.torch_device), breakdown.kernels
    looked_at = kernels if on_gpu else result_or_reason(name, lambda: with_denormals(kernels, step))
    if isinstance(looked_at, str):
        absent["denormals"], looked_at = looked_at, kernels
    memory = result_or_reason(name, lambda: memory_kinds(step, device.torch_device, workload.kv_cache_mb))
    if isinstance(memory, str):
        absent["memory"], memory = memory, MemoryKinds()
    return replace(
        step_profile(breakdown._replace(kernels=looked_at), turns.plain, turns.watch, len(host.steps)),
        places=places,
        filled_ms=round(host.filled_ms, 6),
        added_user_ms=round(turns.added_user_ms, 6),
        diagnostics=diagnostics,
        graph_breaks=compiler[0],
        recompiles=compiler[1],
        memory=memory,
        absent=absent,
    )


def step_profile(breakdown: Breakdown, plain: list[StepTime], watch: HostWatch, steps: int) -> StepProfile:
    """Return a profile of so many steps, with what was watched during the plain ones."""
    parts: dict[str, list[float]] = defaultdict(list)
    for step_time in plain:
        for part, time_ms in step_time.parts_ms.items():
            parts[part].append(time_ms)
    processors, use = usable_processors(), watch.use()
    return StepProfile(
        **breakdown._asdict(),
        steps=steps,
        plain_steps=len(plain),
        plain_ms=round(median(step_time.wall_ms for step_time in plain), 6),
        parts_ms={part: round(fmean(times_ms), 6) for part, times_ms in parts.items()},
        threads=torch.get_num_threads(),
        processors=len(processors) if processors else None,
        busy_cpus=round((use.user_ms + use.kernel_ms) / max(use.step_ms, 1e-6), 3),
        host=use,
        versions=_versions(),
    )


def _versions() -> dict[str, str]:
    versions = {
        "torch": str(torch.__version__),
        "transformers": transformers_version(),
        "cuda": torch.version.cuda,
    }
    return {name: version for name, version in versions.items() if version}


def _profiler(device: Device, *, shapes: bool = True) -> Any:  # noqa: ANN401  (torch's profiler has no types for this)
    """Return a profiler of all threads, also of those that were running before."""
    activities = [ProfilerActivity.CPU]
    if device.torch_device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    return profile(activities=activities, record_shapes=shapes, experimental_config=_all_threads())


def _all_threads() -> Any:  # noqa: ANN401
    """Return the profiler's option for all threads; None in releases without it, which follow autograd's."""
    try:
        return torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    except TypeError:
        return None


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


def sampled_places(workload: Workload, step_s: float) -> tuple[Place, ...]:
    """Return where the main thread is, sampled over steps."""
    return _sampled(workload, step_s).places()


def _sampled(workload: Workload, step_s: float, most: int = MOST_SAMPLED) -> Sampler:
    """Sample the main thread over steps."""
    sampler = Sampler()
    begin_s = time.perf_counter()
    with sampler.running():
        for _ in range(min(most, MOST_SAMPLED, 1 + int(SAMPLED_S / max(step_s, 1e-6)))):
            workload.step(no_lap)
            if time.perf_counter() - begin_s > 2 * SAMPLED_S:
                break
    return sampler


def _thread_user_s() -> float:
    return time.thread_time() - thread_kernel_s()


def _clocks_ns() -> tuple[int, int, int]:
    """Return the wall clock, the CPU time of this thread, and how long it has waited for a processor."""
    words = kernel_text(SCHEDSTAT).split()
    return time.perf_counter_ns(), time.thread_time_ns(), int(words[1]) if len(words) == 3 else 0
