"""Breakdown of profiled steps: time by family, the most expensive kernels, and idle time of the GPU."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchtui.engine.worker.explain import costs
from benchtui.engine.worker.explain.families import family_of, family_of_work, is_overhead
from benchtui.engine.worker.explain.host_timeline import LONG_GAP_NS, HostTimeline, Segment
from benchtui.engine.worker.explain.recording import ProfiledEvent
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.profiles import FamilyName, FamilyTime, KernelTime

MOST_KERNELS = 40
"""Maximum number of operators or kernels to keep: more than a page shows, so that two cases can be compared."""
TOKENIZER_PART = "tokenize"
_COMPUTING: tuple[FamilyName, ...] = ("matmul", "attention")
_STREAMING: tuple[FamilyName, ...] = ("elementwise", "copy", "optimizer")
"""Families whose operators read all of their inputs once. A lookup reads only part of its inputs."""

_LAUNCHES = ("cudaLaunch", "cuLaunch", "cudaMemcpy", "cudaMemset", "cudaGraphLaunch", "hipLaunch", "hipMemcpy")
_RUNTIME = ("cuda", "cuLaunch", "cuMem", "cuStream", "cuCtx", "cuKernel", "cuLibrary", "hip")


class Breakdown(NamedTuple):
    """Time of the profiled steps by family; means per step."""

    step_ms: float
    families: tuple[FamilyTime, ...]
    kernels: tuple[KernelTime, ...]
    launches: float
    busy_ms: float | None = None
    idle_ms: Mapping[str, float] = {}
    launching_ms: float | None = None
    recomputed_ms: float = 0.0


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
        self._strided: set[_Key] = set()

    def add(self, name: str, family: FamilyName, operator: ProfiledEvent | None, of_gpu: bool) -> _Key:
        """Count one call and return its key."""
        shape = operator and costs.shape_text(operator.shapes, operator.dtypes)
        key = _Key(name, family, shape, operator.name if of_gpu and operator else None)
        self._counts[key] += 1
        if operator and key not in self._costs:
            computes = family in _COMPUTING and "splitK" not in name  # that only sums what others computed
            flops = costs.flops(operator.name, operator.shapes) if computes else None
            streams = family in _STREAMING
            moved = costs.moved_bytes(operator.name, operator.shapes, operator.dtypes) if streams else None
            self._costs[key] = (flops, moved)
            if costs.has_gaps(operator.shapes, operator.strides):
                self._strided.add(key)
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
            strided=key in self._strided,
        )


def break_down(events: Sequence[ProfiledEvent], host: HostTimeline, *, on_gpu: bool) -> Breakdown:
    """Break down the time of the steps: GPU work if the case runs on a GPU, else host work.

    Raises BenchtuiError if the profiler recorded no work on the GPU.
    """
    if on_gpu:
        return _of_gpu(events, host)
    steps = len(host.steps)
    kernels, spent, counts = _Kernels(steps), Counter[FamilyName](), Counter[FamilyName]()
    long_ns, recomputed_ns, keys = 0, 0, dict[int, _Key]()
    for segment in host.segments:
        owner, time_ns = segment.owner, segment.end_ns - segment.begin_ns
        family = _family_of_segment(host, segment)
        spent[family] += time_ns
        long_ns += time_ns * _may_be_asleep(segment, family)
        recomputed_ns += time_ns * (owner is not None and host.is_recomputed(owner))
        if owner is not None and not is_overhead(host.events[owner].name):
            if owner not in keys:
                event = host.events[owner]
                keys[owner] = kernels.add(event.name, family, event, False)
                counts[family] += host.is_called(owner)
            kernels.spend(keys[owner], time_ns)
    _move_waiting(spent, long_ns, host.asleep_ms, steps)
    return Breakdown(
        step_ms=_ms(host.span_ns, steps),
        families=_families(spent, counts, steps),
        kernels=kernels.longest(),
        launches=round(sum(counts.values()) / steps, 3),
        recomputed_ms=_ms(recomputed_ns, steps),
    )


def _of_gpu(events: Sequence[ProfiledEvent], host: HostTimeline) -> Breakdown:
    steps = len(host.steps)
    work = sorted((event for event in events if event.on_gpu), key=lambda event: event.begin_ns)
    if not work:
        raise BenchtuiError("the profiler recorded no work on the GPU")
    gpu_time = _GpuTime(_Launchers(events, host), _Kernels(steps))
    for block in host.blocks:
        gpu_time.add(work, block)
    waiting, long_ns = _idle_causes(host, gpu_time.idle)
    _move_waiting(waiting, long_ns, host.asleep_ms, steps)
    calls = (event for event in host.events if event.name.startswith(_LAUNCHES) and host.covers(event))
    return Breakdown(
        step_ms=_ms(host.span_ns, steps),
        families=_families(gpu_time.spent + waiting, gpu_time.counts, steps),
        kernels=gpu_time.kernels.longest(),
        launches=round(sum(gpu_time.counts.values()) / steps, 3),
        busy_ms=_ms(sum(gpu_time.spent.values()), steps),
        idle_ms={family: _ms(time_ns, steps) for family, time_ns in waiting.items() if time_ns},
        launching_ms=_ms(sum(event.end_ns - event.begin_ns for event in calls), steps),
        recomputed_ms=_ms(gpu_time.recomputed_ns, steps),
    )


class _Launchers:
    """Host operators by the GPU work that they launched."""

    def __init__(self, events: Sequence[ProfiledEvent], host: HostTimeline) -> None:
        self._host = host
        self._places = {event.id: index for index, event in enumerate(host.events) if event.id}
        self._others = {event.id: event for event in events if event.id and not event.on_gpu}

    def of(self, work: ProfiledEvent) -> tuple[FamilyName, ProfiledEvent | None, bool]:
        """Return the family of a kernel or copy on the GPU, its operator, and whether that is recomputed."""
        operator, place = self._others.get(work.launched_by), self._places.get(work.launched_by)
        if place is None:
            return family_of_work(work.name, (operator.name,) if operator else ()), operator, False
        around = tuple(self._host.names_from(place))
        return family_of_work(work.name, around), operator, self._host.is_recomputed(place)


class _GpuTime:
    """GPU time: busy time by family and kernel, and idle spans. Overlapping work counts once."""

    def __init__(self, launchers: _Launchers, kernels: _Kernels) -> None:
        self._launchers = launchers
        self.kernels = kernels
        self.spent, self.counts = Counter[FamilyName](), Counter[FamilyName]()
        self.idle: list[tuple[int, int]] = []
        self.recomputed_ns = 0

    def add(self, work: Sequence[ProfiledEvent], block: ProfiledEvent) -> None:
        """Add the work within a block of steps. ``work`` is ordered by start time."""
        reached_ns = block.begin_ns
        for kernel in work:
            if kernel.end_ns <= block.begin_ns or kernel.begin_ns >= block.end_ns:
                continue
            family, operator, recomputed = self._launchers.of(kernel)
            self.counts[family] += 1
            if kernel.begin_ns > reached_ns:
                self.idle.append((reached_ns, kernel.begin_ns))
            end_ns = min(kernel.end_ns, block.end_ns)
            time_ns = max(0, end_ns - max(kernel.begin_ns, reached_ns))
            self.spent[family] += time_ns
            self.recomputed_ns += time_ns * recomputed
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
            family = _family_of_segment(host, segment)
            # what a GPU waits for while the host runs an operator or annotation
            waits_for = family if segment.owner is None or family in ("input", "compile") else "python"
            causes[waits_for] += time_ns
            long_ns += time_ns * _may_be_asleep(segment, family)
            index += 1
    return causes, long_ns


def _family_of_segment(host: HostTimeline, segment: Segment) -> FamilyName:
    """Return what the host does in a segment; in a gap it is the tokenizer or Python."""
    if segment.owner is None:
        return "tokenizer" if host.part_at(segment.begin_ns) == TOKENIZER_PART else "python"
    name = host.events[segment.owner].name
    family = family_of(name, host.names_around(segment.owner))
    return "python" if family == "other" and name.startswith(_RUNTIME) else family


def _may_be_asleep(segment: Segment, family: FamilyName) -> bool:
    """Return whether a segment is a gap of Python that is longer than those between operators."""
    return segment.owner is None and family == "python" and segment.end_ns - segment.begin_ns >= LONG_GAP_NS


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
