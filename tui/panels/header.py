"""Header: sweep progress, and a navigation bar below it. Independent of Textual."""

import msgspec
from rich.cells import cell_len

from benchtui.sessions.estimates.eta import Estimate
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.bars import gauge_bar
from benchtui.tui.drawing.format import duration
from benchtui.tui.drawing.styled_text import Line, Span, fitting_facts, justify, width_of
from benchtui.tui.table.mark_words import kind_word
from benchtui.tui.widgets.nav_bar import place_pieces

NARROW, WIDE = 70, 100
"""Widths in cells from which there is room for a bar, and for whole words and a long bar."""
ENDING = 17
"""Width of the time left, or of how the sweep ended, in cells."""
ROUNDING = 1e-9
"""Percentage points added before rounding down, because 0.29 * 100 is less than 29."""


class SweepHeading(msgspec.Struct, frozen=True):
    """Snapshot of the sweep's progress."""

    name: str
    host: str
    device: str
    done: int
    """Number of cases that were run to an end."""
    total: int
    """Number of cases to run; skipped ones aren't counted."""
    progress: float
    """Elapsed fraction of the sweep's time, from 0 to 1."""
    state: str
    """``running``, ``completed``, ``interrupted``, ``failed``, ``crashed``, or ``reading``."""
    left: Estimate | None
    about: str
    """Model name and size."""
    paused: bool = False
    """Whether the queue is paused: no further case starts."""
    skipped: int = 0
    """Number of skipped cases."""
    round: tuple[int, int] | None = None
    """Round in progress, from 1, and their number; ``done`` counts the cases that it has measured."""
    light: tuple[Span, ...] = ()
    """Whether other processes disturb the machine now, longest wording first; empty if unknown, or if nothing
    is running."""
    marks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes on the display itself, such as ``quiet, 1 Hz``."""


def heading_lines(heading: SweepHeading, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the sweep's progress, and the navigation bar with all marks (caveats)."""
    right = _progress(heading, width, symbols)
    first = justify(_place(heading, width - width_of(right) - 2, symbols), right, width, symbols)
    places = place_pieces("monitor", width, symbols)
    notes = _notes(heading, width - width_of(places) - 1)
    marks = _marks(heading.marks, width - width_of([*places, *notes]) - 1, symbols)
    return [first, justify([*places, (marks, "warning")], notes, width, symbols)][:height]


def _notes(heading: SweepHeading, room: int) -> Line:
    """Return the notes that fit, and the noise light in the longest wording that leaves room for them."""
    notes: list[list[Span]] = [[(note, "muted")] for note in heading.notes]
    lights = heading.light or (("", "plain"),)
    return max((fitting_facts([[light], *notes], room) for light in lights), key=len)


def _marks(marks: tuple[str, ...], room: int, symbols: Symbols) -> str:
    """Format the marks, the first in full if they fit; those without room for a word are counted."""
    short = tuple(map(kind_word, marks))
    whole = [(*marks[:shown], *short[shown:]) for shown in range(len(marks), 0, -1)]
    first = [
        (*short[: shown - 1], f"{short[shown - 1]} +{len(marks) - shown}") for shown in range(1, len(marks))
    ]
    by_length = (*whole, short, *reversed(first))
    forms = ("  ".join(f" {symbols.flag} {mark}" for mark in form) for form in by_length)
    return next((form for form in forms if cell_len(form) <= room), "") if marks else ""


def _place(heading: SweepHeading, width: int, symbols: Symbols) -> list[Span]:
    """Return the sweep's name, and as much of host, device, and model as fits."""
    pieces: list[Span] = [(heading.name, "strong")]
    for word in (heading.host, heading.device, heading.about):
        piece = (f" {symbols.dot} {word}", "muted")
        if word and width_of([*pieces, piece]) <= width:
            pieces.append(piece)
    return pieces


def time_left(estimate: Estimate | None, symbols: Symbols) -> str:
    """Format an estimate of the time left; empty if there is none."""
    if estimate is None:
        return ""
    return f"{symbols.about + ' ' if estimate.rough else ''}{duration(estimate.seconds)} left"


def count_text(heading: SweepHeading, symbols: Symbols) -> str:
    """Format the number of cases run to an end; skipped ones are counted separately."""
    count = f"{heading.done:>{len(str(heading.total))}}/{heading.total} cases"
    if heading.round is not None:
        current, rounds = heading.round
        count = f"round {current}/{rounds} {symbols.dot} {count.strip()}"
    return count + (f" {symbols.dot} {heading.skipped} skipped" if heading.skipped else "")


def percent_text(progress: float) -> str:
    """Format the progress in percent: 100 only once everything is done."""
    return f"{int(100 * progress + ROUNDING):>4} %"


def _progress(heading: SweepHeading, width: int, symbols: Symbols) -> list[Span]:
    size = 12 if width < WIDE else 26
    words = count_text(heading, symbols)
    count = (f"{words.removesuffix(' cases') if heading.round and width < WIDE else words} ", "plain")
    drawn = gauge_bar(heading.progress, size, symbols, "accent") if width >= NARROW else []
    share: Span = (percent_text(heading.progress), "bright")
    text, role = _ending(heading, symbols)
    return [count, *drawn, share, (f"{text:>{ENDING if width >= NARROW else len(text) + 2}}", role)]


def _ending(heading: SweepHeading, symbols: Symbols) -> Span:
    if heading.paused:
        return ("paused", "warning")
    if heading.state == "running":
        return (time_left(heading.left, symbols), "plain")
    roles = {"completed": "good", "interrupted": "warning"}
    return (heading.state, roles.get(heading.state, "bad"))
