"""Step annotations, drawn as a row of signs above the band. Independent of Textual."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Span


@dataclass(frozen=True, slots=True)
class Grid:
    """Maps steps to cells: many steps per cell, or many cells per step."""

    steps: int
    """Steps per column."""
    cells: int
    """Cells per column."""

    @classmethod
    def of(cls, planned: int, width: int) -> "Grid":
        """Return a grid that fits all planned steps."""
        if planned <= width:
            return cls(1, max(1, min(4, width // max(planned, 1))))
        return cls(ceil(planned / width), 1)


@dataclass(frozen=True, slots=True)
class Signs:
    """Annotations of a case's measured steps; steps are counted from 0."""

    outliers: tuple[int, ...] = ()
    throttled: tuple[tuple[int, int], ...] = ()
    """Spans of steps (end exclusive) in which heat or power supply throttled the clock."""
    compiling: tuple[int, ...] = ()
    """Steps during which the compiler was running."""
    rounds: tuple[tuple[int, int], ...] = ()
    """Number of each later round, counted from 1, and its first step."""

    def __bool__(self) -> bool:
        return bool(self.outliers or self.throttled or self.compiling or self.rounds)


def sign_cells(signs: Signs, shown: tuple[int, int], grid: Grid, symbols: Symbols) -> list[Span]:
    """Return one cell per cell of the band. Empty if there are no annotations.

    In a shared cell, outliers take precedence over compilation, throttling, and rounds.
    """
    if not signs:
        return []
    warmup, measured = shown
    head = ceil(warmup / grid.steps)
    cells: list[Span] = [(" ", "plain")] * ((head + ceil(measured / grid.steps)) * grid.cells)

    def put(step: int, text: str, role: str) -> None:
        at = (head + step // grid.steps) * grid.cells
        for place, letter in enumerate(text, at):
            if place < len(cells):
                cells[place] = (letter, role)

    for number, first in signs.rounds:
        put(first, f"{symbols.round}{number}", "muted")
    for first, end in signs.throttled:
        for step in range(first, min(end, measured), grid.steps):
            put(step, symbols.throttled, "bad")
    for step in signs.compiling:
        put(step, symbols.compiling, "warning")
    for step in signs.outliers:
        put(step, symbols.outlier, "warning")
    return cells


def sign_words(signs: Signs, symbols: Symbols) -> Sequence[Span]:
    """Return a legend of the signs that occur."""
    outliers = len(signs.outliers)
    known = (
        (outliers, symbols.outlier, f"{outliers} outlier{'s' if outliers > 1 else ''}", "warning"),
        (len(signs.throttled), symbols.throttled, "throttled", "bad"),
        (len(signs.compiling), symbols.compiling, "compiling", "warning"),
        (len(signs.rounds), symbols.round, "round", "muted"),
    )
    pieces: list[Span] = []
    for amount, sign, word, role in known:
        if amount:
            pieces += [(f"{sign} ", role), (f"{word}  ", "muted")]
    return pieces
