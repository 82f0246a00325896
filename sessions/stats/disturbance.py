"""Disturbance detection: whether something other than the case affected its times.

Pure rules over the recorded environment of the case. A neighbor, a process of somebody else, may slow a case
down by any factor: threads that spin at a barrier wait for the one whose processor it took. So rounds next to a
neighbor don't count while the case has others, and without others nothing follows from them.
"""

from __future__ import annotations  # CaseState is only a type here: its module imports this one

import re
from collections.abc import Iterable, Sequence
from itertools import compress
from math import inf
from typing import TYPE_CHECKING, TypeVar

import msgspec

from benchtui.sessions.payloads import CLOCK_LIMITS, Environment, Neighbor, is_hardware_throttle
from benchtui.sessions.state.file_names import CHANGED

if TYPE_CHECKING:
    from benchtui.sessions.state.case import CaseState

OTHERS_SHARE = 0.05
"""Share of the processors that a case may use, from which their use by others disturbs it. As much again may be
the machine's own, measured while it was idle: what uses more is a neighbor that was there from the start."""
WAITED_SHARE = 0.02
"""Share of the time in which the worker's threads wanted to run, from which waiting for a processor disturbs
it; again, as much more may be the machine's own."""
IDLE_GPU_PERCENT = 5.0
"""Utilization up to which a GPU counts as idle, whatever processes are on it."""
LEAST_CLOCK = 0.75
"""Share of the usual clock below which an unexplained GPU clock is marked (NVBench's threshold)."""
INTERRUPTED = 1.25
"""Slowdown factor assumed for a stall, a used-up CPU quota, a throttled processor, or a throttled GPU whose
clock is unknown."""
LEAST_PROCESSOR = 0.9
"""CPU time over wall time of a CPU worker, below which it must have waited for a processor. Only for records
without the time that it waited."""
QUOTA_SHARE = 0.01
"""Share of stopped periods of a CPU quota from which a case counts as disturbed."""
LEAST_FAULTS = 1_000
"""Page faults per step, 4 MB of memory, from which they are marked."""
LEAST_KERNEL_SHARE = 0.05
"""Share of the worker's CPU time spent in the kernel, from which they are marked."""
PAGE_FAULTS = "page faults"
THROTTLED_PROCESSOR = "throttled: the processor,"
SHARED_PROCESSOR = "the worker waited for a processor"
_WAITED = "disturbed: waited for a processor"
_USED = "disturbed: other processes used"
_SHARED = "shared GPU with"
BY_PROCESSES = (_WAITED, _USED)
"""Prefixes of marks about processes that compete for the processors of a case."""
KINDS = ("disturbed", "throttled", "clock", "shared GPU", "in parallel", "unwatched")
"""Prefixes of this module's marks."""
_COUNTED = ("waits for the GPU", "gradient scaler skipped", CHANGED, PAGE_FAULTS)
"""Prefixes of marks that contain a number and report no disturbance."""
_NAMES = re.compile(r"(?<=CPU|ess|ses|ime): .*")
"""Names of processes at the end of a mark."""
_OF_SESSION = "of its best in this session"
_CAUSES = {
    THROTTLED_PROCESSOR: "the processor was throttled",
    "throttled": "the GPU was throttled",
    _OF_SESSION: "the GPU ran below its best clock in the session",
    "clock": "the GPU ran below its default clock",
    "shared GPU": "another process used the GPU",
    _WAITED: SHARED_PROCESSOR,
    "stalled": "the machine stalled",
    "CPU quota": "the CPU quota of the control group stopped the worker",
}
"""Causes by a phrase that occurs in the mark."""


T = TypeVar("T")


class Slowdown(msgspec.Struct, frozen=True):
    """Possible slowdown of a case by its environment: a factor on step time, and the causes."""

    by: float = 1.0
    """Infinite next to a neighbor: nothing limits how much it slows a case down."""
    why: tuple[str, ...] = ()

    @property
    def unbounded(self) -> bool:
        """Whether nothing is known about the case's own speed."""
        return self.by == inf


def estimate_slowdown(case: CaseState, *, throughout: bool) -> Slowdown:
    """Return how much the environment may have slowed down a case in the rounds that count.

    It is that of the worst of them, or with ``throughout`` of the best one, so that it applies to all.
    """
    by_round = _slowdowns(case)
    choose = min if throughout else max
    return choose(_bounded(by_round) or by_round, key=lambda slowdown: slowdown.by, default=Slowdown())


def undisturbed(case: CaseState, rounds: Sequence[T]) -> Sequence[T] | None:
    """Return the values of the rounds that nothing disturbed; None if something disturbed each of them.

    ``rounds`` may have been left without those next to a neighbor.
    """
    by_round = _slowdowns(case)
    if len(counted := _bounded(by_round)) == len(rounds):
        by_round = counted
    clean = [slowdown.by <= 1 for slowdown in by_round]
    if len(clean) != len(rounds):
        return rounds if all(clean) else None
    return list(compress(rounds, clean)) or None


def left_out_rounds(case: CaseState) -> frozenset[int]:
    """Return the rounds next to a neighbor, which don't count because the case has others."""
    by_round = _slowdowns(case)
    if not _bounded(by_round):
        return frozenset()
    return frozenset(place for place, slowdown in enumerate(by_round) if slowdown.unbounded)


def _slowdowns(case: CaseState) -> list[Slowdown]:
    """Return the slowdown of each round."""
    on_cpu = case.config.device == "cpu"
    return [_slowed(end.environment, end.measured_s, on_cpu=on_cpu) for end in case.ends]


def _bounded(by_round: Iterable[Slowdown]) -> list[Slowdown]:
    return [slowdown for slowdown in by_round if not slowdown.unbounded]


def others_limit_percent(processors: int | None, idle_percent: float | None = None) -> float:
    """Return the CPU use of other processes that disturbs a case; 100 is one processor.

    ``idle_percent`` is their use while the machine was idle.
    """
    limit = 100 * OTHERS_SHARE * (processors or 1)
    return limit + min(idle_percent or 0.0, limit)


def is_noisy(others_percent: float, processors: int | None, idle_percent: float | None = None) -> bool:
    """Return whether other processes use so much of the processors that they may disturb a case."""
    return others_percent >= others_limit_percent(processors, idle_percent)


def gpu_sharers(environment: Environment) -> int:
    """Return the number of other processes on the GPU, without those that left it idle at first."""
    return max(0, (environment.gpu_processes or 0) - environment.idle_gpu_processes)


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
    stalled_s = environment.stood_still_s
    stalled = (f"disturbed: stalled for {stalled_s:.0f} s",) if stalled_s else ()
    return (*neighbor_marks(environment, span_s), *stalled)


def neighbor_marks(environment: Environment, span_s: float) -> tuple[str, ...]:
    """Return a mark for each resource that the case had to share with somebody else."""
    marks = []
    others, who = environment.others_cpu_percent, _who(environment)
    if others is not None and is_noisy(others, environment.processors, environment.idle_others_cpu_percent):
        marks.append(f"{_USED} {others:.0f}% CPU{who}")
    elif (share := _waited_share(environment, span_s)) > _waited_limit(environment):
        marks.append(f"{_WAITED} for {100 * share:.0f}% of the time{who}")
    if sharers := gpu_sharers(environment):
        marks.append(f"{_SHARED} {sharers} other process{'es' if sharers > 1 else ''}{who}")
    return tuple(marks)


def names_of(neighbors: Iterable[Neighbor]) -> str:
    """Return the distinct names of processes with their users: ``python3 (alice), make (bob)``."""
    names = (neighbor.name + (f" ({neighbor.user})" if neighbor.user else "") for neighbor in neighbors)
    return ", ".join(dict.fromkeys(names))


def _who(environment: Environment) -> str:
    """Return whose processes they were, as the end of a mark; empty if they weren't visible."""
    return f": {names_of(environment.neighbors)}" if environment.neighbors else ""


def _waited_share(environment: Environment, span_s: float) -> float:
    """Return the share of the time that the worker's threads wanted to run in which others made them wait.

    Threads also wait for each other and for the engine, and while a CPU quota stops them. Others took the time
    that they used the processors beyond their use while idle, in the part of the span in which a worker wanted
    to run that takes turns or mostly waits for its GPU. While processors are idle, the kernel moves a waiting
    thread to one of them; then the wait is divided in proportion to the CPU time that each side used.
    """
    waited_s, others = environment.run_delay_s, environment.others_cpu_percent
    if waited_s is None or others is None or environment.beside:
        return 0.0
    own_s = span_s * (environment.worker_cpu or 0.0)
    wanted_s = own_s + waited_s
    waited_s -= environment.quota_stopped_s or 0.0
    used_s = min(span_s, wanted_s) * max(0.0, others - (environment.idle_others_cpu_percent or 0.0)) / 100
    if not used_s:
        return 0.0
    idle_s = span_s * (environment.processors or 1) - own_s - used_s
    by_others_s = max(min(waited_s, used_s - max(0.0, idle_s)), waited_s * used_s / (used_s + own_s))
    return by_others_s / wanted_s


def _waited_limit(environment: Environment) -> float:
    idle = (environment.idle_run_delay_percent or 0.0) / 100
    return WAITED_SHARE + min(idle, WAITED_SHARE)


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
    return (f"{PAGE_FAULTS}: {faults:,.0f} per step, {100 * share:.0f}% of the CPU time in the kernel",)


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
    neighbors, who = neighbor_marks(environment, span_s), _who(environment)
    factors = [inf if mark in neighbors else _factor(environment, mark) for mark in marks]
    causes = [_cause(mark.removesuffix(who)) + (who if mark in neighbors else "") for mark in marks]
    share = environment.worker_cpu if environment.run_delay_s is None else None
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


def merge_round_marks(rounds: Sequence[Sequence[str]], total: int | None = None) -> tuple[str, ...]:
    """Merge the marks of rounds: each disturbance at its worst, with its number of rounds.

    ``total`` is the number of rounds if the marks of several were merged before.
    """
    by_kind: dict[str, list[tuple[str, int]]] = {}
    for mark in (mark for round_marks in rounds for mark in round_marks):
        merged = _IN_ROUNDS.search(mark)
        text, amount = (mark[: merged.start()], int(merged[1])) if merged else (mark, 1)
        by_kind.setdefault(_without_figures(text), []).append((text, amount))
    return tuple(
        worst if mark_kind(worst) == worst else f"{worst}, in {amount} of {total or len(rounds)} rounds"
        for same in by_kind.values()
        for worst, amount in [(max((text for text, _ in same), key=_figures), sum(count for _, count in same))]
    )


_IN_ROUNDS = re.compile(r", in (\d+) of (\d+) rounds$")


def in_some_rounds(mark: str) -> bool:
    """Return whether a merged mark applies to some rounds of its case only."""
    match = _IN_ROUNDS.search(mark)
    return match is not None and match[1] != match[2]


def _without_figures(mark: str) -> str:
    return re.sub(r"\d[\d,]*", "", _NAMES.sub("", mark)) if mark_kind(mark) != mark else mark


def _figures(mark: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", mark.replace(",", ""))]
