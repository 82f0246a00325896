"""Checker of traces against the Trace Event Format.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU: kinds of events, their required
fields, metadata events, nesting of the slices of a thread ("events are synchronous and must be nested").
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

REQUIRED = {
    "B": {"name": str, "cat": str},
    "E": {},
    "X": {"name": str, "cat": str, "dur": int},
    "i": {"name": str, "cat": str, "s": str},
    "C": {"name": str, "args": dict},
    "M": {"name": str, "args": dict},
}
METADATA = {
    "process_name": "name",
    "process_labels": "labels",
    "process_sort_index": "sort_index",
    "thread_name": "name",
    "thread_sort_index": "sort_index",
}
Event = dict[str, Any]
Track = tuple[int, int]


def check(text: str | bytes) -> list[Event]:
    """Return the events of a trace that follows the format; AssertionError otherwise."""
    whole = json.loads(text)
    assert set(whole) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert whole["displayTimeUnit"] in ("ms", "ns")
    events: list[Event] = whole["traceEvents"]
    for event in events:
        check_fields(event)
    check_names(events)
    for track in {(event["pid"], event["tid"]) for event in events}:
        check_nesting([event for event in events if (event["pid"], event["tid"]) == track])
    return events


def check_fields(event: Event) -> None:
    assert event["ph"] in REQUIRED, event
    fields = REQUIRED[event["ph"]] | {"pid": int, "tid": int, "ts": int}
    assert all(isinstance(event.get(name), kind) for name, kind in fields.items()), event
    assert set(event) <= {"ph", "args", *fields}, event
    assert event["ts"] >= 0 and event.get("dur", 0) >= 0, event
    assert event.get("s", "t") in ("g", "p", "t")
    if event["ph"] == "C":
        values = event["args"].values()
        assert values and all(isinstance(value, int | float) for value in values), event
    if event["ph"] == "M":
        assert set(event["args"]) == {METADATA[event["name"]]}, event


def check_names(events: Iterable[Event]) -> None:
    """Check that every process and every thread with events has one name and one place."""
    named: dict[tuple[str, int, int], int] = defaultdict(int)
    for event in events:
        if event["ph"] == "M":
            named[event["name"], event["pid"], event["tid"]] += 1
    assert set(named.values()) == {1}
    for event in events:
        assert ("process_name", event["pid"], 0) in named and ("process_sort_index", event["pid"], 0) in named
        if event["ph"] in "BEXi":
            place = event["pid"], event["tid"]
            assert ("thread_name", *place) in named and ("thread_sort_index", *place) in named, event


def check_nesting(events: Iterable[Event]) -> None:
    """Check that no slice of a track begins before, or ends after, the one around it; and that all end.

    Viewers sort by time and keep the order of the file where times are equal.
    """
    open_ends: list[int | None] = []
    for event in sorted((each for each in events if each["ph"] in "BEX"), key=lambda each: each["ts"]):
        at = event["ts"]
        while open_ends and (end := open_ends[-1]) is not None and end <= at:
            open_ends.pop()
        if event["ph"] == "E":
            assert open_ends and open_ends.pop() is None, f"ends within another slice: {event}"
            continue
        around = next((end for end in reversed(open_ends) if end is not None), None)
        end = at + event["dur"] if event["ph"] == "X" else None
        inside = open_ends[-1] if open_ends else None
        assert inside is None or (end is not None and end <= inside), f"overlaps: {event}, {around}"
        open_ends.append(end)
    assert None not in open_ends, "a slice has no end"
