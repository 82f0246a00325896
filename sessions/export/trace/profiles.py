"""Profiles of explained cases: the operators and kernels of one step, on separate tracks."""

from collections.abc import Iterator

from benchtui.sessions.events import Explained
from benchtui.sessions.export.trace.writer import TraceWriter, Track, microseconds
from benchtui.sessions.profiles import Timeline

_Slice = tuple[int, int, int, int]
"""Track, start and end in microseconds, and number of the slice."""


def write_profile(writer: TraceWriter, process: int, name: str, at_us: int, event: Explained) -> bool:
    """Write the profile of a case as a process, starting at a time. Return whether it has a timeline.

    The time has no meaning, because each case is profiled in a separate process after it was measured.
    """
    timeline = event.profile.timeline if event.profile else None
    if timeline is None:
        return False
    writer.name_process(process, name, "a step under the profiler, in a separate process")
    whole = Track(process, 1)
    writer.name_track(whole, "step")
    facts = {"created": event.created, "omitted": timeline.omitted or None, "changed": event.changed}
    writer.slice(
        whole, (at_us, at_us + microseconds(timeline.step_ms / 1000)), "profiled step", "profile", **facts
    )
    for number, title in enumerate(timeline.tracks):
        writer.name_track(Track(process, 2 + number), title)
    for track, start_us, end_us, place in _nested(timeline):
        span_us = at_us + start_us, at_us + end_us
        exact_us = round(1000 * timeline.duration_ms[place], 3)
        title = timeline.names[timeline.name[place]]
        writer.slice(Track(process, 2 + track), span_us, title, "profile", duration_us=exact_us)
    return True


def _nested(timeline: Timeline) -> Iterator[_Slice]:
    """Yield the slices in order. Each ends within its enclosing slice, even if rounding disagrees."""
    open_ends: dict[int, list[int]] = {}
    columns = zip(timeline.name, timeline.track, timeline.start_ms, timeline.duration_ms, strict=False)
    for place, (name, track, start_ms, duration_ms) in enumerate(columns):
        if name >= len(timeline.names) or track >= len(timeline.tracks):
            continue  # a file may refer to names that it lacks
        start_us, end_us = microseconds(start_ms / 1000), microseconds((start_ms + duration_ms) / 1000)
        ends = open_ends.setdefault(track, [])
        while ends and ends[-1] <= start_us:
            ends.pop()
        end_us = min(end_us, ends[-1]) if ends else end_us
        ends.append(end_us)
        yield track, start_us, end_us, place
