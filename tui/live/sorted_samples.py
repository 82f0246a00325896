"""Sorted sample, stored in chunks. Inserting into ten million values moves only a few thousand."""

from __future__ import annotations  # array[float] can't be evaluated before Python 3.12

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import accumulate

from benchtui.tui.drawing.array_ops import NUMPY_THRESHOLD, merged

CHUNK = 4096
RESORT_FRACTION, NUMPY_RESORT_FRACTION = 0.05, 0.01
"""Fraction of new values above which re-sorting is faster than inserting; the second one is for numpy."""


class SortedSample:
    """A growing sorted sample, with lookup by index and by value."""

    def __init__(self) -> None:
        self._chunks: list[array[float]] = []
        """Sorted chunks; none is empty or longer than twice ``CHUNK``."""
        self._lows: list[float] = []
        """First value of each chunk."""
        self._starts: list[int] = []
        """Index of each chunk's first value."""
        self._count = 0

    def extend(self, values: Sequence[float]) -> None:
        """Add values to the sample."""
        fraction = RESORT_FRACTION if self._count < NUMPY_THRESHOLD else NUMPY_RESORT_FRACTION
        if len(values) > fraction * self._count:
            self._sort_all(values)
        else:
            for value in values:
                self._put(value)
        self._count += len(values)
        self._starts = [0, *accumulate(map(len, self._chunks))]

    def below(self, value: float) -> int:
        """Return the number of values smaller than this one."""
        chunk = bisect_left(self._lows, value) - 1
        return 0 if chunk < 0 else self._starts[chunk] + bisect_left(self._chunks[chunk], value)

    def up_to(self, value: float) -> int:
        """Return the number of values no larger than this one."""
        chunk = bisect_right(self._lows, value) - 1
        return 0 if chunk < 0 else self._starts[chunk] + bisect_right(self._chunks[chunk], value)

    def __getitem__(self, place: int) -> float:
        """Return the value at an index from 0. Negative indices count from the end."""
        place += self._count if place < 0 else 0
        if not 0 <= place < self._count:
            raise IndexError(place)
        chunk = bisect_right(self._starts, place) - 1
        return self._chunks[chunk][place - self._starts[chunk]]

    def __len__(self) -> int:
        return self._count

    def _sort_all(self, values: Sequence[float]) -> None:
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
