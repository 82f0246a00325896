"""Cells drawn on in dots: braille, eight dots a cell, or one sign a cell where only ASCII will do."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Line, Span, line

DOTS = ((0, 3), (1, 4), (2, 5), (6, 7))
"""Bit of each dot of a braille cell, row by row from above."""


class Canvas:
    """A field of cells; what is drawn later lies above."""

    def __init__(self, width: int, height: int, symbols: Symbols) -> None:
        """A field of so many cells, all empty."""
        self.width, self.height = width, height
        fine = len(symbols.dots) == 256
        self.across, self.down = (2, 4) if fine else (1, 1)
        """Dots of a cell."""
        self._signs = symbols.dots
        self._bits = [[0] * width for _ in range(height)]
        self._roles = [["plain"] * width for _ in range(height)]
        self._signed: dict[tuple[int, int], Span] = {}

    def dot(self, x: int, y: int, role: str) -> None:
        """A dot, counted from the left and from above; one outside the field is left out."""
        column, row = x // self.across, y // self.down
        if not (0 <= column < self.width and 0 <= row < self.height):
            return
        self._bits[row][column] |= 1 << (DOTS[y % 4][x % 2] if self.across > 1 else 0)
        self._roles[row][column] = role

    def stroke(self, start: tuple[int, int], end: tuple[int, int], role: str) -> None:
        """A straight line of dots."""
        (left, top), (right, bottom) = start, end
        steps = max(abs(right - left), abs(bottom - top), 1)
        for step in range(steps + 1):
            share = step / steps
            self.dot(round(left + share * (right - left)), round(top + share * (bottom - top)), role)

    def sign(self, column: int, row: int, text: str, role: str) -> None:
        """A character of its own in a cell, above all dots."""
        if 0 <= column < self.width and 0 <= row < self.height:
            self._signed[column, row] = (text, role)

    def lines(self) -> Sequence[Line]:
        """The field as lines."""
        return [line(*(self._cell(column, row) for column in range(self.width))) for row in range(self.height)]

    def _cell(self, column: int, row: int) -> Span:
        signed = self._signed.get((column, row))
        return signed or (self._signs[self._bits[row][column]], self._roles[row][column])
