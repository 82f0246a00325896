"""Host timeline: what the main thread did in the profiled blocks, and other threads while it slept."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, takewhile
from statistics import median
from typing import NamedTuple

from benchtui.engine.worker.explain.families import BACKWARD, is_of_forward, is_operator, is_overhead
from benchtui.engine.worker.explain.recording import BLOCK, LAP, STEP, ProfiledEvent
from benchtui.sessions.errors import BenchtuiError

LEAST_CHOSEN_FROM = 4
"""Minimum number of blocks for choosing among them."""
LONG_GAP_NS = 200_000
"""Shortest gap that may be a sleep. Gaps between operators are shorter."""


class Segment(NamedTuple):
    """Time of a thread in one event itself, excluding the events that it calls."""

    begin_ns: int
    end_ns: int
    owner: int | None
    """Number of the event in ``HostTimeline.events``; None for a gap between operators."""


def nearest_blocks(blocks: Sequence[ProfiledEvent], plain_ns: float | None) -> list[ProfiledEvent]:
    """Return the half of the blocks whose times are closest to that without the profiler, or all if few.

    Of that half, those that took more than twice as long count only if hardly any others exist: next to a
    neighbor, many blocks wait for a processor. ``plain_ns`` is the time of a block without the profiler; None
    for the median of the blocks.
    """
    if len(blocks) < LEAST_CHOSEN_FROM:
        return list(blocks)
    target_ns = median(block.end_ns - block.begin_ns for block in blocks) if plain_ns is None else plain_ns
    nearest = sorted(blocks, key=lambda block: abs(block.end_ns - block.begin_ns - target_ns))
    alike = sum(block.end_ns - block.begin_ns <= 2 * target_ns for block in blocks)
    kept = nearest[: min((len(blocks) + 1) // 2, max(alike, LEAST_CHOSEN_FROM))]
    return sorted(kept, key=lambda block: block.begin_ns)


class HostTimeline:
    """Host threads in the profiled blocks: nested events, and segments that add up to the blocks."""

    def __init__(
        self, events: Iterable[ProfiledEvent], asleep_ms: float = 0.0, plain_ns: float | None = None
    ) -> None:
        """Nest the events. ``asleep_ms`` is the time per step in which the main thread slept.

        Raises BenchtuiError if there is no block.
        """
        host = sorted(
            (event for event in events if not event.on_gpu), key=lambda event: (event.begin_ns, -event.end_ns)
        )
        blocks = [event for event in host if event.name == BLOCK]
        if not blocks:
            raise BenchtuiError("the profiler recorded no step")
        self.blocks = nearest_blocks(blocks, plain_ns)
        """Blocks that the breakdown covers."""
        thread = blocks[0].track
        self.steps = [
            event for event in host if event.name == STEP and event.track == thread and self.covers(event)
        ]
        """Steps in these blocks."""
        self._laps = [event for event in host if event.name.startswith(LAP)]
        self._part_ends_ns = [event.end_ns for event in self._laps]
        self.events: list[ProfiledEvent] = []
        """Events of all threads, those of the main thread first."""
        self.parents: list[int | None] = []
        lanes = _by_thread(event for event in host if not _is_mark(event))
        main = self._lane(lanes.pop(thread, []))
        others = [self._lane(events) for _, events in sorted(lanes.items())]
        asleep_ns = round(asleep_ms * 1e6 * len(self.steps))
        self.segments, covered_ns = self._merged(main, others, asleep_ns)
        self.filled_ms = covered_ns / 1e6 / max(1, len(self.steps))
        """Time per step in which another thread worked for it."""
        self.asleep_ms = max(0.0, asleep_ms - self.filled_ms)
        """Time asleep per step in which none did."""

    def names_around(self, index: int) -> Iterator[str]:
        """Yield the names of the events that enclose an event, innermost first."""
        return islice(self.names_from(index), 1, None)

    def names_from(self, index: int) -> Iterator[str]:
        """Yield the name of an event, and those of the events that enclose it."""
        return (self.events[place].name for place in self._places_from(index))

    def _places_from(self, index: int | None) -> Iterator[int]:
        while index is not None:
            yield index
            index = self.parents[index]

    def is_recomputed(self, index: int) -> bool:
        """Return whether an event belongs to a forward pass within a backward pass."""
        backward = self._backward_around(index)
        if backward is None or backward not in self._recomputing:
            return False
        within = list(takewhile(lambda place: place != backward, self._places_from(index)))
        operators = [place for place in within if is_operator(self.events[place].name)]
        # a graph is recorded in the forward pass, so an operator without one is the node's own
        return not operators or any(self.events[place].in_graph for place in operators)

    @cached_property
    def _recomputing(self) -> set[int]:
        """Nodes of the backward pass that first compute a forward pass, by the annotations around them."""
        called = (i for i, event in enumerate(self.events) if event.in_graph and is_of_forward(event.name))
        return {backward for index in called if (backward := self._backward_around(index)) is not None}

    def _backward_around(self, index: int) -> int | None:
        return next((i for i in self._places_from(index) if self.events[i].name.startswith(BACKWARD)), None)

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

    @property
    def operator_spans_ns(self) -> list[tuple[int, int]]:
        """Begin and end of the time in operators, in order."""
        return [
            (begin_ns, end_ns)
            for begin_ns, end_ns, owner in self.segments
            if owner is not None and _is_work(self.events[owner].name)
        ]

    def _lane(self, events: Sequence[ProfiledEvent]) -> list[Segment]:
        """Add the events of a thread, and return its segments in all blocks."""
        first = len(self.events)
        self.events.extend(events)
        self.parents.extend([None] * len(events))
        return [segment for block in self.blocks for segment in self._within(block, first)]

    def _within(self, block: ProfiledEvent, first: int) -> Iterator[Segment]:
        """Yield the segments of a block, and set the parents of its events from number ``first`` on."""
        inner = (bisect_left(self.events, end, first, key=_begin_ns) for end in (block.begin_ns, block.end_ns))
        around, reached_ns = list[int](), block.begin_ns
        for index in (*range(*inner), None):
            now_ns = block.end_ns if index is None else self.events[index].begin_ns
            while around and self.events[around[-1]].end_ns <= now_ns:
                end_ns = self.events[around[-1]].end_ns
                yield from _segment(reached_ns, end_ns, around.pop())
                reached_ns = max(reached_ns, end_ns)
            parent = around[-1] if around else None
            yield from _segment(reached_ns, now_ns, parent)
            reached_ns = max(reached_ns, now_ns)
            if index is not None:
                self.parents[index] = parent
                around.append(index)

    def _merged(
        self, main: Sequence[Segment], others: Sequence[Sequence[Segment]], asleep_ns: int
    ) -> tuple[list[Segment], int]:
        """Fill the gaps of the main thread with work of a thread that it slept for, such as autograd's.

        Return the segments and the filled time. A thread that works while the main thread is running fills
        nothing: its work takes no time of the step.
        """
        merged, covered_ns = list(main), 0
        for lane in others:
            work = [segment for segment in lane if segment.owner is not None]
            filled, filled_ns = _filled(merged, work)
            if filled_ns and covered_ns + filled_ns <= 1.1 * asleep_ns:
                merged, covered_ns = filled, covered_ns + filled_ns
        return [part for segment in merged for part in self._split(segment)], covered_ns

    def _split(self, segment: Segment) -> Iterator[Segment]:
        """Split a gap at the ends of parts."""
        ends = self._part_ends_ns
        inner = slice(bisect_right(ends, segment.begin_ns), bisect_left(ends, segment.end_ns))
        begin_ns = segment.begin_ns
        for end_ns in ends[inner] if segment.owner is None else ():
            yield Segment(begin_ns, end_ns, None)
            begin_ns = end_ns
        if segment.end_ns > begin_ns:
            yield Segment(begin_ns, segment.end_ns, segment.owner)


def _begin_ns(event: ProfiledEvent) -> int:
    return event.begin_ns


def _segment(begin_ns: int, end_ns: int, owner: int | None) -> Iterator[Segment]:
    """Yield the segment unless it is empty."""
    if end_ns > begin_ns:
        yield Segment(begin_ns, end_ns, owner)


def _filled(segments: Sequence[Segment], work: Sequence[Segment]) -> tuple[list[Segment], int]:
    """Fill gaps with the work of another thread. Return the segments and the time filled in long gaps."""
    filled, filled_ns, place = list[Segment](), 0, 0
    for segment in segments:
        if segment.owner is not None or segment.end_ns - segment.begin_ns < LONG_GAP_NS:
            filled.append(segment)
            continue
        reached_ns = segment.begin_ns
        while place < len(work) and work[place].begin_ns < segment.end_ns:
            begin_ns, end_ns = max(work[place].begin_ns, reached_ns), min(work[place].end_ns, segment.end_ns)
            if end_ns > begin_ns:
                filled += [*_segment(reached_ns, begin_ns, None), Segment(begin_ns, end_ns, work[place].owner)]
                filled_ns, reached_ns = filled_ns + end_ns - begin_ns, end_ns
            if work[place].end_ns > segment.end_ns:
                break
            place += 1
        filled += _segment(reached_ns, segment.end_ns, None)
    return filled, filled_ns


def _is_work(name: str) -> bool:
    return is_operator(name) and not is_overhead(name)


def _is_mark(event: ProfiledEvent) -> bool:
    return event.name in (BLOCK, STEP) or event.name.startswith(LAP)


def _by_thread(events: Iterable[ProfiledEvent]) -> dict[int, list[ProfiledEvent]]:
    lanes = defaultdict[int, list[ProfiledEvent]](list)
    for event in events:
        lanes[event.track].append(event)
    return dict(lanes)
