"""Trace events, written one per line in the Trace Event Format that Perfetto and Chrome open.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. Times are whole
microseconds of session time: viewers read fractions as floating-point numbers, whose rounding may make adjacent
slices overlap.
"""

from collections.abc import Iterable
from typing import IO, Any

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files import visible_json

Arguments = dict[str, Any]


class Track(msgspec.Struct, frozen=True):
    """Row in a trace viewer: a thread of a process. Both numbers are assigned here, not by the system."""

    process: int
    thread: int


LONGEST_S = 1e9
"""Latest time in a trace, about 30 years. Microseconds lose precision only far beyond it."""


def microseconds(at_s: float) -> int:
    """Convert session time in seconds to the trace's clock. Raises BenchtuiError above ``LONGEST_S``."""
    if at_s > LONGEST_S:
        raise BenchtuiError(f"{at_s:g} s is too long for a trace, whose times end at {LONGEST_S:g} s")
    return round(at_s * 1e6)


class TraceWriter:
    """Writer of a trace. Slices of a track must be written in order, outer ones before inner ones."""

    def __init__(self, out: IO[bytes], facts: Arguments) -> None:
        """Write the header. ``facts`` is the metadata of the whole trace."""
        self._out = out
        self._separator = b""
        out.write(b'{"displayTimeUnit":"ms","otherData":' + visible_json.encode(facts) + b',"traceEvents":[\n')

    def close(self) -> None:
        """Write the footer."""
        self._out.write(b"\n]}\n")

    def name_process(self, process: int, name: str, labels: str = "") -> None:
        """Name a process. Viewers sort processes by number."""
        self._about(Track(process, 0), "process_name", name=name)
        self._about(Track(process, 0), "process_sort_index", sort_index=process)
        if labels:
            self._about(Track(process, 0), "process_labels", labels=labels)

    def name_track(self, track: Track, name: str) -> None:
        """Name a track. Viewers sort the tracks of a process by number."""
        self._about(track, "thread_name", name=name)
        self._about(track, "thread_sort_index", sort_index=track.thread)

    def begin(self, track: Track, at_us: int, name: str, category: str, /, **arguments: object) -> None:
        """Begin a slice, to be ended by ``end`` once its length is known."""
        self._event("B", track, at_us, {"name": name, "cat": category} | _with_arguments(arguments))

    def end(self, track: Track, at_us: int) -> None:
        """End the newest open slice of the track."""
        self._event("E", track, at_us, {})

    def slice(
        self, track: Track, span_us: tuple[int, int], name: str, category: str, /, **arguments: object
    ) -> None:
        """Write a complete slice, with start and end."""
        start_us, end_us = span_us
        fields = {"dur": end_us - start_us, "name": name, "cat": category}
        self._event("X", track, start_us, fields | _with_arguments(arguments))

    def instant(self, track: Track, at_us: int, name: str, category: str, /, **arguments: object) -> None:
        """Write an event without a duration."""
        self._event("i", track, at_us, {"name": name, "cat": category, "s": "t"} | _with_arguments(arguments))

    def counter(self, process: int, at_us: int, name: str, value: float) -> None:
        """Write the value of a process's counter from a time on."""
        self._event("C", Track(process, 0), at_us, {"name": name, "args": {"value": value}})

    def write(self, events: Iterable[bytes]) -> None:
        """Write encoded events."""
        for event in events:
            self._out.write(self._separator)
            self._out.write(event)
            self._separator = b",\n"

    def _about(self, track: Track, kind: str, /, **arguments: object) -> None:
        self._event("M", track, 0, {"name": kind, "args": arguments})

    def _event(self, phase: str, track: Track, at_us: int, fields: Arguments) -> None:
        where = {"ph": phase, "pid": track.process, "tid": track.thread, "ts": at_us}
        self.write((visible_json.encode(where | fields),))


def _with_arguments(arguments: Arguments) -> Arguments:
    """Return the field with the known arguments; empty if there are none."""
    given = {name: value for name, value in arguments.items() if value not in (None, (), {})}
    return {"args": given} if given else {}
