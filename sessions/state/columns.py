"""Columns of steps and readings, which use most of a session's memory."""

from __future__ import annotations  # array[float] can't be evaluated before Python 3.12

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from itertools import accumulate
from math import nan
from typing import Any

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Steps
from benchtui.sessions.payloads import (
    GPU_ACTIVITY,
    GpuReadings,
    HostReadings,
    RequestTimes,
    is_hardware_throttle,
)

GPU_COLUMNS = (
    "power_w",
    "memory_used_mb",
    "utilization_percent",
    "temperature_c",
    "graphics_clock_mhz",
    "energy_j",
    *GPU_ACTIVITY,
)
HOST_COLUMNS = tuple(
    name for name in HostReadings.__struct_fields__ if name not in ("processor_mhz", "dram_energy_j")
)
_STEP_COLUMNS = ("wall_ms", "device_ms", "host_ms", "tokens", "padded_tokens", "loss", "requests")
"""Columns with an entry per step, besides those of the parts."""


class Columns(msgspec.Struct):
    """Steps of one phase of a case, one entry per step in each column."""

    wall_ms: array[float] = msgspec.field(default_factory=lambda: array("d"))
    device_ms: array[float] = msgspec.field(default_factory=lambda: array("d"))
    """Empty if the device has no events."""
    host_ms: array[float] = msgspec.field(default_factory=lambda: array("d"))
    """Empty if the host is the device, or if unknown."""
    parts_ms: dict[str, array[float]] = msgspec.field(default_factory=dict)
    tokens: array[int] = msgspec.field(default_factory=lambda: array("H"))
    """Real tokens per step, in the narrowest type that fits; empty if the task has none."""
    rounds: list[tuple[int, int]] = msgspec.field(default_factory=list)
    """Each round with steps, and the index of its first step."""
    padded_tokens: array[int] = msgspec.field(default_factory=lambda: array("H"))
    """Tokens per step with padding, in the narrowest type that fits; empty if unknown."""
    loss: array[float] = msgspec.field(default_factory=lambda: array("d"))
    """Loss of each training step, NaN if it wasn't finite; empty for other tasks."""
    requests: list[RequestTimes] = msgspec.field(default_factory=list)
    """Times of the requests of each step; empty for a task without requests."""
    event_ends: list[tuple[int, float]] = msgspec.field(default_factory=list)
    """Number of steps after each ``steps`` event, and the event's session time in seconds."""

    def extend(self, steps: Steps) -> None:
        """Append the columns of an event; raises BenchtuiError if their lengths differ."""
        columns = (*(getattr(steps, name) for name in _STEP_COLUMNS), *steps.parts_ms.values())
        if len({len(column) for column in columns if column is not None}) > 1:
            raise BenchtuiError(f"case {steps.case}, steps at {steps.t:g} s: columns differ in length")
        if steps.wall_ms and (not self.rounds or self.rounds[-1][0] != steps.round):
            self.rounds.append((steps.round, len(self)))
        self.wall_ms.extend(steps.wall_ms)
        self.event_ends.append((len(self), steps.t))
        self.device_ms.extend(steps.device_ms or ())
        self.host_ms.extend(steps.host_ms or ())
        self.tokens = _with_counts(self.tokens, steps.tokens or ())
        self.padded_tokens = _with_counts(self.padded_tokens, steps.padded_tokens or ())
        self.loss.extend(nan if loss is None else loss for loss in steps.loss or ())
        self.requests.extend(steps.requests or ())
        for part, times in steps.parts_ms.items():
            self.parts_ms.setdefault(part, array("d")).extend(times)

    def drop_from_round(self, round_index: int) -> None:
        """Drop the steps of a round and of later rounds, because the round is measured again."""
        kept = next((first for number, first in self.rounds if number >= round_index), len(self))
        for column in (*(getattr(self, name) for name in _STEP_COLUMNS), *self.parts_ms.values()):
            del column[kept:]
        self.rounds = [entry for entry in self.rounds if entry[1] < kept]
        self.event_ends = [entry for entry in self.event_ends if entry[0] <= kept]

    def copy(self) -> Columns:
        """Return a copy that stays as it is when steps are added or dropped."""
        columns = {name: getattr(self, name)[:] for name in self.__struct_fields__ if name != "parts_ms"}
        return Columns(**columns, parts_ms={part: times[:] for part, times in self.parts_ms.items()})

    def without_rounds(self, rounds: Collection[int]) -> Columns:
        """Return a copy without the steps of these rounds, and without the ends of events."""
        kept = [span for span in self.spans() if span[0] not in rounds]
        steps = (0, *accumulate(end - first for _, first, end in kept))
        return Columns(
            **{name: _only(getattr(self, name), kept) for name in _STEP_COLUMNS},
            parts_ms={part: _only(times, kept) for part, times in self.parts_ms.items()},
            rounds=[(index, first) for (index, _, _), first in zip(kept, steps, strict=False)],
        )

    def by_round(self) -> list[array[float]]:
        """Return the step times in milliseconds, one column per round that has any."""
        return [self.wall_ms[first:end] for _, first, end in self.spans()]

    def of_round(self, round_index: int) -> int:
        """Return the number of steps in a round."""
        return sum(end - first for number, first, end in self.spans() if number == round_index)

    def spans(self) -> list[tuple[int, int, int]]:
        """Return each round with the index of its first step and the index after its last."""
        ends = (*(first for _, first in self.rounds[1:]), len(self))
        return [(round_index, first, end) for (round_index, first), end in zip(self.rounds, ends, strict=False)]

    def __len__(self) -> int:
        return len(self.wall_ms)


def _only(column: Any, spans: Sequence[tuple[int, int, int]]) -> Any:  # noqa: ANN401  (an array or a list)
    copied = column[:0]
    for _, first, end in spans:
        copied.extend(column[first:end])
    return copied


def _with_counts(kept: array[int], counts: Sequence[int]) -> array[int]:
    """Append counts; return a wider column if one of them needs it."""
    try:
        kept.fromlist(list(counts))
    except OverflowError:
        more = narrowest(counts)
        kept = array(more.typecode, kept)
        kept.extend(more)
    return kept


def narrowest(counts: Sequence[int]) -> array[int]:
    """Return counts as an array of the narrowest type that fits."""
    for kind in "HI":
        with suppress(OverflowError):
            return array(kind, counts)
    return array("Q", counts)


class Trace(msgspec.Struct):
    """Readings over time, one column per reading; NaN where a reading failed."""

    at_s: array[float] = msgspec.field(default_factory=lambda: array("d"))
    columns: dict[str, array[float]] = msgspec.field(default_factory=dict)

    def extend(self, at_s: list[float], readings: GpuReadings | HostReadings, names: Iterable[str]) -> None:
        """Append the named columns of an event; a column shorter than the samples is filled with NaN."""
        before, count = len(self.at_s), len(at_s)
        self.at_s.fromlist(at_s)
        for name in names:
            values, column = getattr(readings, name), self.columns.get(name)
            if column is None:
                if not values:
                    continue
                column = self.columns[name] = array("d", [nan] * before)
            if len(values) != count:
                values = [*values[:count], *[nan] * (count - len(values))]
            column.fromlist([nan if value is None else value for value in values] if None in values else values)

    def drop_before(self, before_s: float) -> None:
        """Drop the samples before a session time."""
        count = bisect_left(self.at_s, before_s)
        for column in (self.at_s, *self.columns.values()):
            del column[:count]

    @property
    def numbers(self) -> int:
        """Number of stored values, including times."""
        return len(self.at_s) * (1 + len(self.columns))

    def latest(self, name: str) -> float | None:
        """Return the newest reading, or None if it failed."""
        column = self.columns.get(name)
        value = column[-1] if column else nan
        return None if value != value else value

    def between(self, name: str, start_s: float, end_s: float) -> list[float]:
        """Return the readings of a column within a span of session time."""
        first, end = bisect_left(self.at_s, start_s), bisect_right(self.at_s, end_s)
        return [value for value in self.columns.get(name, ())[first:end] if value == value]


class ThrottleSpan(msgspec.Struct):
    """Span of session time with the same throttle reasons, joined by ``+``; empty for no reason."""

    start_s: float
    end_s: float
    reasons: str

    @property
    def throttled(self) -> bool:
        """Whether heat or the power supply was a reason; a configured power cap doesn't count."""
        return any(map(is_hardware_throttle, self.reasons.split("+")))
