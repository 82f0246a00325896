"""What happened along a case's steps, as signs in a row above the band; knows no Textual."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Span


@dataclass(frozen=True, slots=True)
class Grid:
    """How steps share the cells of a row: many to a cell, or many cells to a step."""

    steps: int
    """Steps a column."""
    cells: int
    """Cells a column."""

    @classmethod
    def of(cls, planned: int, width: int) -> "Grid":
        """A grid in which all planned steps have room."""
        if planned <= width:
            return cls(1, max(1, min(4, width // max(planned, 1))))
        return cls(ceil(planned / width), 1)


@dataclass(frozen=True, slots=True)
class Signs:
    """What happened along the measured steps of a case; steps are counted from 0."""

    outliers: tuple[int, ...] = ()
    throttled: tuple[tuple[int, int], ...] = ()
    """Spans of steps, from one up to another, in which a clock was held down by heat or power supply."""
    compiling: tuple[int, ...] = ()
    """Steps in which the compiler was at work."""
    rounds: tuple[tuple[int, int], ...] = ()
    """The number of each later round, counted from 1, and its first step."""

    def __bool__(self) -> bool:
        return bool(self.outliers or self.throttled or self.compiling or self.rounds)


def sign_cells(signs: Signs, shown: tuple[int, int], grid: Grid, symbols: Symbols) -> list[Span]:
    """A cell for each cell of the band: of several signs in one the rarest; empty where there is none."""
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
    """What the signs that occur mean."""
    outliers = len(signs.outliers)
    known = (
        (outliers, symbols.outlier, f"{outliers} outlier{'s' if outliers > 1 else ''}", "warning"),
        (len(signs.throttled), symbols.throttled, "throttled", "bad"),
        (len(signs.compiling), symbols.compiling, "compiler at work", "warning"),
        (len(signs.rounds), symbols.round, "round", "muted"),
    )
    pieces: list[Span] = []
    for amount, sign, word, role in known:
        if amount:
            pieces += [(f"{sign} ", role), (f"{word}  ", "muted")]
    return pieces
