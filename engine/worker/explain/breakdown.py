"""Breakdown of profiled steps: time by family, the most expensive kernels, and idle time of the GPU."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from benchtui.engine.worker.explain import costs
from benchtui.engine.worker.explain.families import family_of, family_of_work, is_operator, is_overhead
from benchtui.engine.worker.explain.recording import BLOCK, LAP, STEP, ProfiledEvent
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.profiles import FamilyName, FamilyTime, KernelTime

MOST_KERNELS = 40
"""Maximum number of operators or kernels to keep: more than a page shows, so that two cases can be compared."""
LEAST_CHOSEN_FROM = 4
"""Minimum number of blocks for choosing typical ones."""
LONG_GAP_NS = 200_000
"""Shortest gap that may be a sleep. Gaps between operators are shorter."""
TOKENIZER_PART = "tokenize"
_STREAMING: tuple[FamilyName, ...] = ("elementwise", "copy", "optimizer")
"""Families whose operators read all of their inputs once. A lookup reads only part of its inputs."""

_LAUNCHES = ("cudaLaunch", "cuLaunch", "cudaMemcpy", "cudaMemset", "cudaGraphLaunch", "hipLaunch", "hipMemcpy")
_RUNTIME = ("cuda", "cuLaunch", "cuMem", "cuStream", "cuCtx", "cuKernel", "cuLibrary", "hip")


class Segment(NamedTuple):
    """Time of the main thread in one event itself, excluding the events that it calls."""

    begin_ns: int
    end_ns: int
    owner: int | None
    """Number of the event in ``HostTimeline.events``; None for a gap between operators."""


def typical_blocks(blocks: Sequence[ProfiledEvent]) -> list[ProfiledEvent]:
    """Return the half of the blocks whose times are closest to the median, in order, or all if there are few.

    A step disturbed by other activity isn't representative of the case.
    """
    if len(blocks) < LEAST_CHOSEN_FROM:
        return list(blocks)
    middle_ns = median(block.end_ns - block.begin_ns for block in blocks)
    nearest = sorted(blocks, key=lambda block: abs(block.end_ns - block.begin_ns - middle_ns))
    return sorted(nearest[: (len(blocks) + 1) // 2], key=lambda block: block.begin_ns)


class HostTimeline:
    """Main thread in the profiled blocks: nested events, and segments that add up to the blocks."""

    def __init__(self, events: Iterable[ProfiledEvent]) -> None:
        """Nest the events. Raises BenchtuiError if there is no block."""
        host = sorted(
            (event for event in events if not event.on_gpu), key=lambda event: (event.begin_ns, -event.end_ns)
        )
        blocks = [event for event in host if event.name == BLOCK]
        if not blocks:
            raise BenchtuiError("the profiler recorded no step")
        self.blocks = typical_blocks(blocks)
        """Blocks that the breakdown covers."""
        thread = blocks[0].track
        main = [event for event in host if event.track == thread]
        self.steps = [event for event in main if event.name == STEP and self.covers(event)]
        """Steps in these blocks."""
        self._laps = [event for event in main if event.name.startswith(LAP)]
        self._part_ends_ns = [event.end_ns for event in self._laps]
        marks = (BLOCK, STEP)
        self.events = [event for event in main if event.name not in marks and not event.name.startswith(LAP)]
        self.parents: list[int | None] = []
        self.segments: list[Segment] = []
        for block in self.blocks:
            self._nest(block)

    def names_around(self, index: int) -> Iterator[str]:
        """Yield the names of the events that enclose an event, innermost first."""
        parent = self.parents[index]
        while parent is not None:
            yield self.events[parent].name
            parent = self.parents[parent]

    def is_called(self, index: int) -> bool:
        """Return whether an event is an operator that isn't called by another operator."""
        return is_operator(self.events[index].name) and not any(map(is_operator, self._called_within(index)))

    def _called_within(self, index: int) -> Iterator[str]:
        return (name for name in self.names_around(index) if not is_overhead(name))

    def part_at(self, moment_ns: int) -> str:
        """Return the part of the step at a moment; empty after the last one."""
        place = bisect_right(self._part_ends_ns, moment_ns)
        return self._laps[place].name.removeprefix(LAP) if place < len(self._laps) else ""

    def covers(self, event: ProfiledEvent) -> bool:
        """Return whether an event begins in one of the blocks."""
        return any(block.begin_ns <= event.begin_ns < block.end_ns for block in self.blocks)

    @property
    def span_ns(self) -> int:
        """Total time of all blocks."""
        return sum(block.end_ns - block.begin_ns for block in self.blocks)

    def _nest(self, block: ProfiledEvent) -> None:
        """Add the segments of one block, and the parents of events up to its end."""
        stack: list[int] = []
        reached_ns = block.begin_ns
        while len(self.parents) < len(self.events):
            index = len(self.parents)
            event = self.events[index]
            if event.begin_ns >= block.end_ns:
                break
            if event.begin_ns >= block.begin_ns:
                reached_ns = self._close(stack, event.begin_ns, reached_ns)
                reached_ns = self._add(reached_ns, event.begin_ns, stack[-1] if stack else None)
            self.parents.append(stack[-1] if stack else None)
            if event.begin_ns >= block.begin_ns:
                stack.append(index)
        reached_ns = self._close(stack, block.end_ns, reached_ns)
        self._add(reached_ns, block.end_ns, None)

    def _close(self, stack: list[int], until_ns: int, reached_ns: int) -> int:
        """Close the events that end by a moment; return the time up to which there are segments."""
        while stack and self.events[stack[-1]].end_ns <= until_ns:
            owner = stack.pop()
            reached_ns = self._add(reached_ns, self.events[owner].end_ns, owner)
        return reached_ns

    def _add(self, begin_ns: int, end_ns: int, owner: int | None) -> int:
        reached_ns = begin_ns
        for part_end_ns in self._part_ends_within(begin_ns, end_ns) if owner is None else ():
            self.segments.append(Segment(reached_ns, part_end_ns, None))
            reached_ns = part_end_ns
        if end_ns > reached_ns:
            self.segments.append(Segment(reached_ns, end_ns, owner))
        return max(begin_ns, end_ns)

    def _part_ends_within(self, begin_ns: int, end_ns: int) -> Sequence[int]:
        """Return the ends of parts between two moments, at which a gap is split."""
        ends = self._part_ends_ns
        return ends[bisect_right(ends, begin_ns) : bisect_left(ends, end_ns)]


class Breakdown(NamedTuple):
    """Time of the profiled steps by family; means per step."""

    step_ms: float
    families: tuple[FamilyTime, ...]
    kernels: tuple[KernelTime, ...]
    launches: float
    busy_ms: float | None = None
    idle_ms: Mapping[str, float] = {}
    launching_ms: float | None = None


class _Key(NamedTuple):
    name: str
    family: FamilyName
    shape: str | None
    operator: str | None
    """Operator that launched the kernel; None on the host."""


class _Kernels:
    """Time of operators or kernels by name and shape."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._ns: Counter[_Key] = Counter()
        self._counts: Counter[_Key] = Counter()
        self._costs: dict[_Key, tuple[float | None, float | None]] = {}

    def add(self, name: str, family: FamilyName, operator: ProfiledEvent | None, of_gpu: bool) -> _Key:
        """Count one call and return its key."""
        shape = operator and costs.shape_text(operator.shapes, operator.dtypes)
        key = _Key(name, family, shape, operator.name if of_gpu and operator else None)
        self._counts[key] += 1
        if operator and key not in self._costs:
            flops = costs.flops(operator.name, operator.shapes)
            streams = family in _STREAMING
            moved = costs.moved_bytes(operator.name, operator.shapes, operator.dtypes) if streams else None
            self._costs[key] = (flops, moved)
        return key

    def spend(self, key: _Key, time_ns: int) -> None:
        """Add time to a key."""
        self._ns[key] += time_ns

    def longest(self) -> tuple[KernelTime, ...]:
        """Return the most expensive operators or kernels."""
        return tuple(self._time(key, ns) for key, ns in self._ns.most_common(MOST_KERNELS))

    def _time(self, key: _Key, time_ns: int) -> KernelTime:
        count = self._counts[key] / self._steps
        flops, moved = self._costs.get(key, (None, None))
        return KernelTime(
            **key._asdict(),
            count=round(count, 3),
            ms=_ms(time_ns, self._steps),
            flops=None if flops is None else flops * count,
            bytes=None if moved is None else moved * count,
        )


def break_down(
    events: Sequence[ProfiledEvent], host: HostTimeline, asleep_ms: float, *, on_gpu: bool
) -> Breakdown:
    """Break down the time of the steps: GPU work if the case runs on a GPU, else host work.

    ``asleep_ms`` is the time per step in which the main thread slept, outside the tokenizer.
    Raises BenchtuiError if the profiler recorded no work on the GPU.
    """
    if on_gpu:
        return _of_gpu(events, host, asleep_ms)
    steps = len(host.steps)
    kernels, spent, counts = _Kernels(steps), Counter[FamilyName](), Counter[FamilyName]()
    long_ns, keys = 0, dict[int, _Key]()
    for begin_ns, end_ns, owner in host.segments:
        family = _gap_family(host, begin_ns) if owner is None else _host_family(host, owner)
        spent[family] += end_ns - begin_ns
        if family == "python" and owner is None and end_ns - begin_ns >= LONG_GAP_NS:
            long_ns += end_ns - begin_ns
        if owner is not None and not is_overhead(host.events[owner].name):
            if owner not in keys:
                event = host.events[owner]
                keys[owner] = kernels.add(event.name, family, event, False)
                counts[family] += host.is_called(owner)
            kernels.spend(keys[owner], end_ns - begin_ns)
    _move_waiting(spent, long_ns, asleep_ms, steps)
    return Breakdown(
        step_ms=_ms(host.span_ns, steps),
        families=_families(spent, counts, steps),
        kernels=kernels.longest(),
        launches=round(sum(counts.values()) / steps, 3),
    )


def _of_gpu(events: Sequence[ProfiledEvent], host: HostTimeline, asleep_ms: float) -> Breakdown:
    steps = len(host.steps)
    work = sorted((event for event in events if event.on_gpu), key=lambda event: event.begin_ns)
    if not work:
        raise BenchtuiError("the profiler recorded no work on the GPU")
    gpu_time = _GpuTime(_Launchers(events, host), _Kernels(steps))
    for block in host.blocks:
        gpu_time.add(work, block)
    waiting, long_ns = _idle_causes(host, gpu_time.idle)
    _move_waiting(waiting, long_ns, asleep_ms, steps)
    calls = (event for event in host.events if event.name.startswith(_LAUNCHES) and host.covers(event))
    return Breakdown(
        step_ms=_ms(host.span_ns, steps),
        families=_families(gpu_time.spent + waiting, gpu_time.counts, steps),
        kernels=gpu_time.kernels.longest(),
        launches=round(sum(gpu_time.counts.values()) / steps, 3),
        busy_ms=_ms(sum(gpu_time.spent.values()), steps),
        idle_ms={family: _ms(time_ns, steps) for family, time_ns in waiting.items() if time_ns},
        launching_ms=_ms(sum(event.end_ns - event.begin_ns for event in calls), steps),
    )


class _Launchers:
    """Host operators by the GPU work that they launched."""

    def __init__(self, events: Sequence[ProfiledEvent], host: HostTimeline) -> None:
        self._host = host
        self._places = {event.id: index for index, event in enumerate(host.events) if event.id}
        self._others = {event.id: event for event in events if event.id and not event.on_gpu}

    def of(self, work: ProfiledEvent) -> tuple[FamilyName, ProfiledEvent | None]:
        """Return the family of a kernel or copy on the GPU, and the operator that launched it."""
        operator, place = self._others.get(work.launched_by), self._places.get(work.launched_by)
        around: tuple[str, ...] = (operator.name,) if operator else ()
        if place is not None:
            around = (self._host.events[place].name, *self._host.names_around(place))
        return family_of_work(work.name, around), operator


class _GpuTime:
    """GPU time: busy time by family and kernel, and idle spans. Overlapping work counts once."""

    def __init__(self, launchers: _Launchers, kernels: _Kernels) -> None:
        self._launchers = launchers
        self.kernels = kernels
        self.spent, self.counts = Counter[FamilyName](), Counter[FamilyName]()
        self.idle: list[tuple[int, int]] = []

    def add(self, work: Sequence[ProfiledEvent], block: ProfiledEvent) -> None:
        """Add the work within a block of steps. ``work`` is ordered by start time."""
        reached_ns = block.begin_ns
        for kernel in work:
            if kernel.end_ns <= block.begin_ns or kernel.begin_ns >= block.end_ns:
                continue
            family, operator = self._launchers.of(kernel)
            self.counts[family] += 1
            if kernel.begin_ns > reached_ns:
                self.idle.append((reached_ns, kernel.begin_ns))
            end_ns = min(kernel.end_ns, block.end_ns)
            time_ns = max(0, end_ns - max(kernel.begin_ns, reached_ns))
            self.spent[family] += time_ns
            self.kernels.spend(self.kernels.add(kernel.name, family, operator, True), time_ns)
            reached_ns = max(reached_ns, end_ns)
        if block.end_ns > reached_ns:
            self.idle.append((reached_ns, block.end_ns))


def _idle_causes(host: HostTimeline, idle: Sequence[tuple[int, int]]) -> tuple[Counter[FamilyName], int]:
    """Return the GPU's idle time by host activity, and the part of it that falls into long gaps of the host."""
    causes, long_ns, place = Counter[FamilyName](), 0, 0
    segments = host.segments
    for begin_ns, end_ns in idle:
        while place < len(segments) and segments[place].end_ns <= begin_ns:
            place += 1
        index = place
        while index < len(segments) and segments[index].begin_ns < end_ns:
            segment = segments[index]
            time_ns = min(segment.end_ns, end_ns) - max(segment.begin_ns, begin_ns)
            family = _gap_family(host, segment.begin_ns) if segment.owner is None else "python"
            causes[family] += time_ns
            if (
                segment.owner is None
                and family == "python"
                and segment.end_ns - segment.begin_ns >= LONG_GAP_NS
            ):
                long_ns += time_ns
            index += 1
    return causes, long_ns


def _gap_family(host: HostTimeline, moment_ns: int) -> FamilyName:
    return "tokenizer" if host.part_at(moment_ns) == TOKENIZER_PART else "python"


def _host_family(host: HostTimeline, owner: int) -> FamilyName:
    name = host.events[owner].name
    family = family_of(name, host.names_around(owner))
    if family == "other" and name.startswith(_RUNTIME):
        return "python"
    return family


def _move_waiting(spent: Counter[FamilyName], long_ns: int, asleep_ms: float, steps: int) -> None:
    """Move the time asleep from Python to waiting, up to the time of long gaps, in which no operator ran."""
    asleep_ns = min(long_ns, round(asleep_ms * 1e6 * steps))
    if asleep_ns > 0:
        spent["wait"] += asleep_ns
        spent["python"] -= asleep_ns


def _families(spent: Counter[FamilyName], counts: Counter[FamilyName], steps: int) -> tuple[FamilyTime, ...]:
    return tuple(
        FamilyTime(family=family, ms=_ms(time_ns, steps), launches=round(counts[family] / steps, 3))
        for family, time_ns in spent.most_common()
        if time_ns > 0
    )


def _ms(time_ns: int, steps: int) -> float:
    return round(time_ns / 1e6 / steps, 6)
