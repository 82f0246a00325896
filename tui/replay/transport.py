"""Transport line of a replay: position, speed, and event marks. Independent of Textual."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from benchtui.sessions.replay.markers import TimelineEvent
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.bars import bar
from benchtui.tui.drawing.styled_text import Line, Span, crop, line, width_of

LEAST_BAR = 16
MOST_CELLS = 1000
"""Number of time slots in a recording; each keeps at most one mark."""
State = Literal["playing", "paused", "seeking", "reading", "at end"]

SIGNS: dict[str, tuple[str, str]] = {
    "begin": ("axis", "muted"),
    "round": ("dot", "muted"),
    "info": ("dot", "muted"),
    "skipped": ("skipped", "muted"),
    "outlier": ("above", "accent"),
    "repeated": ("flag", "warning"),
    "resumed": ("flag", "warning"),
    "warning": ("flag", "warning"),
    "throttled": ("flag", "warning"),
    "interrupted": ("interrupted", "warning"),
    "timeout": ("timeout", "warning"),
    "oom": ("oom", "warning"),
    "error": ("flag", "bad"),
    "failed": ("failed", "bad"),
}
"""Symbol and color role of each kind of mark. In a shared cell, the last listed wins."""
_WEIGHTS = {kind: weight for weight, kind in enumerate(SIGNS)}


class TransportPosition(msgspec.Struct, frozen=True):
    """Snapshot of a replay's position."""

    state: State
    position_s: float
    end_s: float | None
    """None while the recording is still being read."""
    speed: float
    marks: tuple[TimelineEvent, ...]
    origins: tuple[str, ...]
    """When and where the session was recorded, longest wording first."""


def transport_lines(transport: TransportPosition, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render state, speed, position, bar, and origin. The marks are below the bar."""
    head = _head(transport, symbols)
    before, origin, room = _fitted(transport, width, symbols)
    share = transport.position_s / transport.end_s if transport.end_s else None
    first = crop([*head, *bar(share, room, symbols), (f"  {origin}", "muted")], width, symbols)
    marks = _marks(transport, room, symbols)
    return [first, line((" " * before, "plain"), *marks)][:height]


def percent_at(transport: TransportPosition, cell: int, width: int, symbols: Symbols) -> float | None:
    """Return the position at a cell of the bar, as a percentage of the recording; None outside the bar."""
    before, _, room = _fitted(transport, width, symbols)
    return 100 * (cell - before) / room if before <= cell < before + room else None


def _fitted(transport: TransportPosition, width: int, symbols: Symbols) -> tuple[int, str, int]:
    """Return the cells before the bar, the origin, and the cells of the bar."""
    before = width_of(_head(transport, symbols))
    longest = width - before - LEAST_BAR - 2
    shortest = transport.origins[-1] if transport.origins else ""
    origin = next((words for words in transport.origins if len(words) <= longest), shortest)
    return before, origin, max(width - before - len(origin) - 2, 0)


def most_severe(marks: Sequence[TimelineEvent], end_s: float) -> tuple[TimelineEvent, ...]:
    """Return the most severe mark of each time slot. No line can show more."""
    severest: dict[int, TimelineEvent] = {}
    for mark in marks:
        place = int(mark.t / end_s * MOST_CELLS) if end_s else 0
        weight = _WEIGHTS.get(mark.kind, -1)
        if weight > (_WEIGHTS[severest[place].kind] if place in severest else -1):
            severest[place] = mark
    return tuple(severest.values())


def clock_text(seconds: float) -> str:
    """Format a time as minutes, seconds, and tenths, with hours if there are any."""
    tenths = int(seconds * 10)
    hours, minutes = tenths // 36_000, tenths // 600 % 60
    rest = f"{tenths // 10 % 60:02}.{tenths % 10}"
    return f"{hours}:{minutes:02}:{rest}" if hours else f"{minutes}:{rest}"


def _head(transport: TransportPosition, symbols: Symbols) -> list[Span]:
    sign = symbols.running if transport.state == "playing" else symbols.interrupted
    role = "accent" if transport.state == "playing" else "bright"
    end = symbols.absent if transport.end_s is None else clock_text(transport.end_s)
    position = clock_text(transport.position_s)
    return [
        (f"{sign} {transport.state:<8}", role),
        (f"{transport.speed:>4g}x  ", "plain"),
        (f"{position:>{max(len(end), 6)}}", "bright"),
        (f" / {end:<6}  ", "muted"),
    ]


def _marks(transport: TransportPosition, room: int, symbols: Symbols) -> Sequence[Span]:
    cells: list[str | None] = [None] * room
    if transport.end_s and room:
        for mark in transport.marks:
            place = min(int(mark.t / transport.end_s * room), room - 1)
            before = cells[place]
            if mark.kind in _WEIGHTS and (before is None or _WEIGHTS[mark.kind] > _WEIGHTS[before]):
                cells[place] = mark.kind
    return [(" ", "plain") if kind is None else _sign(kind, symbols) for kind in cells]


def _sign(kind: str, symbols: Symbols) -> Span:
    name, role = SIGNS[kind]
    return (str(getattr(symbols, name)), role)


def transport_help(symbols: Symbols) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the help section on the marks below the bar."""
    kinds = {"outlier": "steps far from the rest", "throttled": "throttled, repeated, resumed, or a warning"}
    named = {"begin": "a case starts", **kinds} | {
        kind: f"case {kind}" for kind in ("oom", "failed", "timeout")
    }
    return "Below the bar", tuple((_sign(kind, symbols)[0], word) for kind, word in named.items())
