"""Disturbance detection: whether something other than the case affected its times.

Pure rules over the recorded environment of the case.
"""

from __future__ import annotations  # CaseState is only a type here: its module imports this one

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from benchtui.sessions.payloads import CLOCK_LIMITS, Environment, is_hardware_throttle
from benchtui.sessions.state.file_names import CHANGED

if TYPE_CHECKING:
    from benchtui.sessions.state.case import CaseState

OTHERS_PERCENT = 25.0
OTHERS_SHARE = 0.1
"""CPU use of other processes that disturbs a case: a quarter of one or a tenth of all, whichever is more."""
SWITCHES_PER_S = 100.0
"""Involuntary context switches per second from which a case counts as disturbed. A few are normal; a process on
the same core causes hundreds."""
LEAST_INTERRUPTING = 1.0
"""CPU use of other processes, in percent, below which switches are attributed to the worker's own threads."""
LEAST_S = 0.2
"""Measured span, in seconds, below which a rate of context switches is meaningless."""
LEAST_CLOCK = 0.75
"""Share of the usual clock below which an unexplained GPU clock is marked (NVBench's threshold)."""
INTERRUPTED = 1.25
"""Slowdown factor assumed for frequent interruptions, a throttled processor, or a throttled GPU of unknown
clock."""
SHARED_GPU_SLOWDOWN = 2.0
"""Slowdown factor assumed for a GPU that another process uses too."""
LEAST_PROCESSOR = 0.9
"""CPU time over wall time of a CPU worker, below which it must have waited for a processor."""
QUOTA_SHARE = 0.01
"""Share of stopped periods of a CPU quota from which a case counts as disturbed."""
LEAST_FAULTS = 1_000
"""Page faults per step, 4 MB of memory, from which they are marked."""
LEAST_KERNEL_SHARE = 0.05
"""Share of the worker's CPU time spent in the kernel, from which they are marked."""
PAGE_FAULTS = "page faults"
THROTTLED_PROCESSOR = "throttled: the processor,"
SHARED_PROCESSOR = "the worker waited for a processor"
KINDS = ("disturbed", "throttled", "clock", "shared GPU", "in parallel", "unwatched")
"""Prefixes of this module's marks."""
_COUNTED = ("waits for the GPU", "gradient scaler skipped", CHANGED, PAGE_FAULTS)
"""Prefixes of marks that contain a number and report no disturbance."""
_OF_SESSION = "of its best in this session"
_CAUSES = {
    THROTTLED_PROCESSOR: "the processor was throttled",
    "throttled": "the GPU was throttled",
    _OF_SESSION: "the GPU ran below its best clock in the session",
    "clock": "the GPU ran below its default clock",
    "shared GPU": "another process used the GPU",
    "stalled": "the machine stalled",
    "CPU quota": "the CPU quota of the control group stopped the worker",
}
"""Causes by a phrase that occurs in the mark."""


class Slowdown(msgspec.Struct, frozen=True):
    """Possible slowdown of a case by its environment: a factor on step time, and the causes."""

    by: float = 1.0
    why: tuple[str, ...] = ()


def estimate_slowdown(case: CaseState, *, throughout: bool) -> Slowdown:
    """Return how much the environment may have slowed down a case.

    The estimate is that of the worst round, or with ``throughout`` of the best one, so that it applies to all
    rounds.
    """
    if all(end.environment is None for end in case.ends):
        return Slowdown()
    on_cpu = case.config.device == "cpu"
    slowdowns = [_slowed(end.environment, end.measured_s, on_cpu=on_cpu) for end in case.ends]
    choose = min if throughout else max
    return choose(slowdowns, key=lambda slowdown: slowdown.by, default=Slowdown())


def is_noisy(others_percent: float, processors: int | None) -> bool:
    """Return whether other processes use so much of the processors that they may disturb a case."""
    return others_percent >= max(OTHERS_PERCENT, 100 * OTHERS_SHARE * (processors or 1))


def throttling(environment: Environment) -> tuple[str, ...]:
    """Return a mark if heat or the power supply slowed the GPU or a processor. Measuring again may help."""
    reasons = [reason for reason in environment.throttle if is_hardware_throttle(reason)]
    gpu = (f"throttled: {'+'.join(reasons)}",) if reasons else ()
    times = environment.processor_throttled
    return (*gpu, f"{THROTTLED_PROCESSOR} by heat (count {times})") if times else gpu


def clock_marks(environment: Environment) -> tuple[str, ...]:
    """Return a mark for a low GPU clock that no configured limit explains. Measuring again doesn't help."""
    clock, usual = environment.graphics_clock_mhz, _usual_clock_mhz(environment)
    # a power cap, locked clocks or a board's limit are how this GPU works
    limited = any(reason in CLOCK_LIMITS for reason in environment.throttle)
    if clock is None or not usual or clock >= LEAST_CLOCK * usual or limited:
        return ()
    if environment.graphics_clock_best_mhz:
        reference = _OF_SESSION
    else:
        reference = "of its highest" if environment.graphics_clock_default_is_highest else "of its default"
    return (f"clock at {100 * clock / usual:.0f}% {reference}",)


def _usual_clock_mhz(environment: Environment) -> float | None:
    """Return the clock that a GPU should have: the session's best, or the driver's default if none is recorded.

    Few GPUs sustain the driver's default clock under load, and locked clocks don't change that default.
    """
    return environment.graphics_clock_best_mhz or environment.graphics_clock_default_mhz


def contention_marks(environment: Environment, span_s: float) -> tuple[str, ...]:
    """Return a mark for each kind of interference with a case, measured over ``span_s`` seconds."""
    marks = []
    if (others := environment.others_cpu_percent) is not None and is_noisy(others, environment.processors):
        marks.append(f"disturbed: other processes used {others:.0f}% CPU")
    # while other cases of the sweep run, one of them may have caused the switches
    switches = None if environment.beside else environment.involuntary_switches
    idle = others is not None and others < LEAST_INTERRUPTING
    if switches is not None and not idle and span_s >= LEAST_S and switches / span_s >= SWITCHES_PER_S:
        marks.append(f"disturbed: {switches / span_s:.0f} context switches per second")
    if environment.stood_still_s:
        marks.append(f"disturbed: stalled for {environment.stood_still_s:.0f} s")
    if others_there := environment.gpu_processes:
        marks.append(f"shared GPU with {others_there} other process{'es' if others_there > 1 else ''}")
    return tuple(marks)


def quota_marks(environment: Environment) -> tuple[str, ...]:
    """Return a mark if the control group's CPU quota stopped the worker. Measuring again doesn't help."""
    periods, stopped = environment.quota_periods, environment.quota_stopped_periods
    if not periods or not stopped or stopped < QUOTA_SHARE * periods:
        return ()
    return (
        f"disturbed: CPU quota stopped the worker in {100 * stopped / periods:.0f}% of the quota's periods",
    )


def page_fault_marks(environment: Environment) -> tuple[str, ...]:
    """Return a mark if each step maps its memory again. As plain scripts do so too, no figure is doubtful."""
    faults, user_ms, kernel_ms = environment.minor_faults_per_step, environment.user_ms, environment.system_ms
    if not faults or not kernel_ms or user_ms is None:
        return ()
    share = kernel_ms / (user_ms + kernel_ms)
    if faults < LEAST_FAULTS or share < LEAST_KERNEL_SHARE:
        return ()
    return (f"{PAGE_FAULTS}: {faults:.0f} per step, {100 * share:.0f}% of the CPU time in the kernel",)


def disturbances(environment: Environment, span_s: float) -> tuple[str, ...]:
    """Return all marks about the environment of a case, most of which are disturbances."""
    gpu = (*throttling(environment), *clock_marks(environment))
    others = (*contention_marks(environment, span_s), *_parallel_marks(environment))
    return (*gpu, *quota_marks(environment), *others, *page_fault_marks(environment))


def unwatched_marks(unread: Sequence[str], span_s: float) -> tuple[str, ...]:
    """Return a mark for a GPU case if ``unread`` names readings that are missing in its measured span."""
    if not unread:
        return ()
    return (f"unwatched: no reading of the GPU's {' and '.join(unread)} in {span_s:.2g} s",)


def _slowed(
    environment: Environment | None, measured_s: tuple[float, float] | None, *, on_cpu: bool
) -> Slowdown:
    if environment is None:
        return Slowdown()
    span_s = measured_s[1] - measured_s[0] if measured_s else 0.0
    # few GPUs reach their highest clock under load, so a lower clock isn't a slowdown
    comparable = environment.graphics_clock_best_mhz or not environment.graphics_clock_default_is_highest
    clocks = clock_marks(environment) if comparable else ()
    own = (*throttling(environment), *clocks, *quota_marks(environment))
    marks = (*own, *contention_marks(environment, span_s))
    factors = [_factor(environment, mark) for mark in marks]
    causes = [_cause(mark) for mark in marks]
    share = environment.worker_cpu
    if on_cpu and share is not None and 0 < share < LEAST_PROCESSOR:
        factors.append(1 / share)
        causes.append(SHARED_PROCESSOR)
    return Slowdown(max(factors, default=1.0), tuple(dict.fromkeys(causes)))


def _cause(mark: str) -> str:
    """Return the cause of a mark."""
    causes = (cause for word, cause in _CAUSES.items() if word in mark)
    return next(causes, "other processes were running")


def _factor(environment: Environment, mark: str) -> float:
    """Return the slowdown factor that a mark may account for."""
    if "other processes used" in mark:
        used = (environment.others_cpu_percent or 0.0) / 100
        return 1 + used / max(1.0, (environment.processors or 1) / 2)
    if mark.startswith("shared GPU"):
        return SHARED_GPU_SLOWDOWN
    clock, usual = environment.graphics_clock_mhz, _usual_clock_mhz(environment)
    if mark.startswith(THROTTLED_PROCESSOR):
        return INTERRUPTED
    if mark.startswith(("throttled", "clock")) and clock and usual:
        return max(usual / clock, 1.0)
    return INTERRUPTED


def _parallel_marks(environment: Environment) -> tuple[str, ...]:
    """Return a mark for a case measured in parallel with others of its sweep."""
    if not environment.beside:
        return ()
    unknown = "; other load can't be distinguished from them" if environment.others_cpu_percent is None else ""
    return (f"in parallel with {environment.beside} of this sweep's cases{unknown}",)


def mark_kind(mark: str) -> str:
    """Return a mark without its numbers, to count cases by mark. Other marks are returned unchanged."""
    return next((name for name in (*KINDS, *_COUNTED) if mark.startswith(name)), mark)


def is_disturbed(marks: Iterable[str]) -> bool:
    """Return whether one of a case's marks says that something else may have affected its times."""
    return any(mark_kind(mark) in KINDS for mark in marks)


def merge_round_marks(rounds: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Merge the marks of several rounds: each disturbance at its worst, with its number of rounds."""
    marks = [mark for round_marks in rounds for mark in round_marks]
    by_kind: dict[str, list[str]] = {}
    for mark in marks:
        by_kind.setdefault(_without_figures(mark), []).append(mark)
    worst = ((max(same, key=_figure), len(same)) for same in by_kind.values())
    return tuple(
        mark if mark_kind(mark) == mark else f"{mark}, in {amount} of {len(rounds)} rounds"
        for mark, amount in worst
    )


def in_some_rounds(mark: str) -> bool:
    """Return whether a merged mark applies to some rounds of its case only."""
    match = re.search(r", in (\d+) of (\d+) rounds$", mark)
    return match is not None and match[1] != match[2]


def _without_figures(mark: str) -> str:
    return re.sub(r"\d+", "", mark) if mark_kind(mark) != mark else mark


def _figure(mark: str) -> int:
    return int(next(iter(re.findall(r"\d+", mark)), 0))
