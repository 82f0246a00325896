"""Dot canvas: braille with eight dots per cell, or one ASCII character per cell."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Line, Span, line

DOTS = ((0, 3), (1, 4), (2, 5), (6, 7))
"""Bit of each dot in a braille cell, row by row from the top."""


class Canvas:
    """Grid of cells; later drawing covers earlier."""

    def __init__(self, width: int, height: int, symbols: Symbols) -> None:
        """Create an empty canvas; width and height are in cells."""
        self.width, self.height = width, height
        fine = len(symbols.dots) == 256
        self.across, self.down = (2, 4) if fine else (1, 1)
        """Dots per cell, horizontally and vertically."""
        self._signs = symbols.dots
        self._bits = [[0] * width for _ in range(height)]
        self._roles = [["plain"] * width for _ in range(height)]
        self._signed: dict[tuple[int, int], Span] = {}

    def dot(self, x: int, y: int, role: str) -> None:
        """Draw a dot, counted from the top left. Dots outside the canvas are ignored."""
        column, row = x // self.across, y // self.down
        if not (0 <= column < self.width and 0 <= row < self.height):
            return
        self._bits[row][column] |= 1 << (DOTS[y % 4][x % 2] if self.across > 1 else 0)
        self._roles[row][column] = role

    def stroke(self, start: tuple[int, int], end: tuple[int, int], role: str) -> None:
        """Draw a straight line of dots."""
        (left, top), (right, bottom) = start, end
        steps = max(abs(right - left), abs(bottom - top), 1)
        for step in range(steps + 1):
            share = step / steps
            self.dot(round(left + share * (right - left)), round(top + share * (bottom - top)), role)

    def sign(self, column: int, row: int, text: str, role: str) -> None:
        """Put a character in a cell, above all dots."""
        if 0 <= column < self.width and 0 <= row < self.height:
            self._signed[column, row] = (text, role)

    def lines(self) -> Sequence[Line]:
        """Return the canvas as lines."""
        return [line(*(self._cell(column, row) for column in range(self.width))) for row in range(self.height)]

    def _cell(self, column: int, row: int) -> Span:
        signed = self._signed.get((column, row))
        return signed or (self._signs[self._bits[row][column]], self._roles[row][column])
