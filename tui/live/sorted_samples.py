"""Figures kept in order while more come, in chunks: a few more among ten millions move a few thousand."""

from __future__ import annotations  # array[float] is a type to the checker, no expression before Python 3.12

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import accumulate

from benchtui.tui.drawing.array_ops import merged

CHUNK = 4096
MANY_MORE = 0.01
"""From this share of new figures on, ordering all of them anew takes less time than putting in each."""


class Ordered:
    """A growing sample in order; figures are reached by their place, and places by a figure."""

    def __init__(self) -> None:
        self._chunks: list[array[float]] = []
        """None is empty, and none holds more than twice ``CHUNK``."""
        self._lows: list[float] = []
        """The first figure of each chunk."""
        self._starts: list[int] = []
        """The place of each chunk's first figure."""
        self._count = 0

    def extend(self, values: Sequence[float]) -> None:
        """Take in more figures."""
        if len(values) > MANY_MORE * self._count:
            self._order_anew(values)
        else:
            for value in values:
                self._put(value)
        self._count += len(values)
        self._starts = [0, *accumulate(map(len, self._chunks))]

    def below(self, value: float) -> int:
        """How many figures are smaller than this one."""
        chunk = bisect_left(self._lows, value) - 1
        return 0 if chunk < 0 else self._starts[chunk] + bisect_left(self._chunks[chunk], value)

    def up_to(self, value: float) -> int:
        """How many figures are no larger than this one."""
        chunk = bisect_right(self._lows, value) - 1
        return 0 if chunk < 0 else self._starts[chunk] + bisect_right(self._chunks[chunk], value)

    def __getitem__(self, place: int) -> float:
        """The figure at a place, counted from 0, or with a negative one from the end."""
        place += self._count if place < 0 else 0
        if not 0 <= place < self._count:
            raise IndexError(place)
        chunk = bisect_right(self._starts, place) - 1
        return self._chunks[chunk][place - self._starts[chunk]]

    def __len__(self) -> int:
        return self._count

    def _order_anew(self, values: Sequence[float]) -> None:
        before = array("d")
        for chunk in self._chunks:
            before.extend(chunk)
        every = merged(before, values)
        self._chunks = [every[start : start + CHUNK] for start in range(0, len(every), CHUNK)]
        self._lows = [chunk[0] for chunk in self._chunks]

    def _put(self, value: float) -> None:
        place = max(bisect_right(self._lows, value) - 1, 0)
        chunk = self._chunks[place]
        insort(chunk, value)
        self._lows[place] = chunk[0]
        if len(chunk) > 2 * CHUNK:
            self._chunks[place : place + 1] = [chunk[:CHUNK], chunk[CHUNK:]]
            self._lows[place : place + 1] = [chunk[0], chunk[CHUNK]]
