"""Steps of a trace: slices with their parts, placed back to back.

The session has the length of each step and the time at which a batch of steps was recorded, right after its
last step. A batch is therefore placed to end at that time, but never starts before the end of the previous
batch.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from benchtui.sessions.events import Steps
from benchtui.sessions.export.trace.writer import LONGEST_S, Track, microseconds
from benchtui.sessions.files import visible_json

SUMMED = ("tokens", "padded_tokens", "device_ms", "host_ms")
"""Columns whose sum over several steps is meaningful."""


class DrawnSteps(msgspec.Struct, frozen=True):
    """Steps of one event."""

    steps: Steps
    first: int
    """Number of its first step within case, round and phase."""
    merge: int
    """Number of consecutive steps drawn as one slice."""
    compiling: Collection[int]
    """Numbers of the steps in which torch compiled."""

    def edges_us(self, not_before_us: int) -> list[int]:
        """Return the start of each slice and the end of the last one. Raises BenchtuiError for absurd times."""
        steps_us = 1000 * _column(self.steps.wall_ms)
        total_us = microseconds(float(steps_us.sum()) / 1e6)
        begin_us = max(not_before_us, microseconds(self.steps.t) - total_us)
        ends_us = begin_us + np.rint(np.cumsum(steps_us)).astype(np.int64)
        return [begin_us, *ends_us[self.merge - 1 :: self.merge].tolist(), *self._rest(ends_us)]

    def _rest(self, ends_us: np.ndarray) -> list[int]:
        """Return the end of the last slice if it has fewer steps; otherwise nothing."""
        return [int(ends_us[-1])] if len(ends_us) % self.merge else []

    def encoded(self, track: Track, edges_us: Sequence[int]) -> Iterator[bytes]:
        """Yield a slice for each step or several merged ones, with a nested slice for each part."""
        head = f'"pid":{track.process},"tid":{track.thread}'
        names = [_text(name) for name in self.steps.parts_ms]
        parts_us = self._parts_us()
        numbers = range(self.first, self.first + len(self.steps.wall_ms), self.merge)
        arguments = self._arguments(numbers)
        for place, (number, start_us) in enumerate(zip(numbers, edges_us, strict=False)):
            end_us = edges_us[place + 1]
            yield (
                f'{{"ph":"X",{head},"ts":{start_us},"dur":{end_us - start_us},"name":{self._name(number)},'
                f'"args":{arguments[place]}}}'
            ).encode()
            for name, offset_us, until_us in zip(names, parts_us[place], parts_us[place][1:], strict=False):
                begin_us = min(start_us + offset_us, end_us)
                length_us = min(start_us + until_us, end_us) - begin_us
                yield (
                    f'{{"ph":"X",{head},"ts":{begin_us},"dur":{length_us},"name":{name},"cat":"part"}}'.encode()
                )

    def _name(self, number: int) -> str:
        """Return the name and category of the slice that begins with a step."""
        last = min(number + self.merge, self.first + len(self.steps.wall_ms))
        kind = "warm-up step" if self.steps.phase == "warmup" else "step"
        if any(step in self.compiling for step in range(number, last)):
            return f'"{kind}, compiling","cat":"compile"'
        return f'"{kind}{"s" if self.merge > 1 else ""}","cat":"{self.steps.phase}"'

    def _parts_us(self) -> list[list[int]]:
        """Return the end of each part per slice, relative to the slice's start, with a leading 0."""
        starts = self._starts()
        columns = [np.add.reduceat(_column(times), starts) for times in self.steps.parts_ms.values()]
        ends = np.cumsum([np.zeros(len(starts)), *columns], axis=0) * 1000
        return np.rint(np.minimum(ends, LONGEST_S * 1e6)).astype(np.int64).T.tolist()  # type: ignore[no-any-return]

    def _starts(self) -> np.ndarray:
        return np.arange(0, len(self.steps.wall_ms), self.merge)

    def _arguments(self, numbers: range) -> list[str]:
        """Return the arguments of each slice, as JSON."""
        starts = self._starts()
        columns: dict[str, list[Any]] = {"step": list(numbers), "round": [self.steps.round] * len(starts)}
        if self.merge > 1:
            columns["steps"] = np.diff(np.append(starts, len(self.steps.wall_ms))).tolist()
        columns["wall_ms"] = np.add.reduceat(_column(self.steps.wall_ms), starts).tolist()
        summed_columns = {name: getattr(self.steps, name) for name in SUMMED}
        columns |= {
            name: np.add.reduceat(_column(summed), starts).tolist()
            for name, summed in summed_columns.items()
            if summed
        }
        if self.steps.loss and self.merge == 1:
            columns["loss"] = list(self.steps.loss)
        row = "{" + ",".join(f'"{name}":%s' for name in columns) + "}"
        cells = ([_number(value) for value in column] for column in columns.values())
        return [row % values for values in zip(*cells, strict=True)]


def _column(values: Sequence[float]) -> np.ndarray:
    """Return numbers as floats, because sums of integers could overflow."""
    return np.asarray(values, dtype=float)


def _number(value: float | None) -> str:
    """Return a number as JSON, without the digits that are rounding errors of a sum."""
    return "null" if value is None else f"{value:.15g}"


def _text(text: str) -> str:
    return visible_json.encode(text).decode()
