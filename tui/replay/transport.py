"""The transport line of a replay: where it stands, how fast it goes, what happened when; knows no Textual."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchtui.sessions.replay.markers import TimelineEvent
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.bars import bar
from benchtui.tui.drawing.styled_text import Line, Span, crop, line, width_of

LEAST_BAR = 16
MOST_CELLS = 1000
"""Shares of a record that are told apart."""
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
"""Symbol and role of each kind of mark that is drawn; where several share a cell, the last of these is."""
_WEIGHTS = {kind: weight for weight, kind in enumerate(SIGNS)}


@dataclass(frozen=True, slots=True)
class Transport:
    """Where a replay stands."""

    state: State
    position_s: float
    end_s: float | None
    """None while the record is still being read."""
    speed: float
    marks: tuple[TimelineEvent, ...]
    origins: tuple[str, ...]
    """When and where it was recorded, in ever fewer words."""


def transport_lines(transport: Transport, width: int, height: int, symbols: Symbols) -> list[Line]:
    """State, speed, position, a bar beside the record's origin; below the bar what happened when."""
    head = _head(transport, symbols)
    before = width_of(head)
    origin = _origin(transport, width - before - LEAST_BAR - 2)
    room = max(width - before - len(origin) - 2, 0)
    share = transport.position_s / transport.end_s if transport.end_s else None
    first = crop([*head, *bar(share, room, symbols), (f"  {origin}", "muted")], width, symbols)
    marks = _marks(transport, room, symbols)
    return [first, line((" " * before, "plain"), *marks)][:height]


def worst(marks: Sequence[TimelineEvent], end_s: float) -> tuple[TimelineEvent, ...]:
    """Of each small share of the record the mark that needs the eye most: as many as a line can show."""
    found: dict[int, TimelineEvent] = {}
    for mark in marks:
        place = int(mark.t / end_s * MOST_CELLS) if end_s else 0
        weight = _WEIGHTS.get(mark.kind, -1)
        if weight > (_WEIGHTS[found[place].kind] if place in found else -1):
            found[place] = mark
    return tuple(found.values())


def clock_text(seconds: float) -> str:
    """A moment as minutes, seconds and tenths, with hours where there are any."""
    tenths = int(seconds * 10)
    hours, minutes = tenths // 36_000, tenths // 600 % 60
    rest = f"{tenths // 10 % 60:02}.{tenths % 10}"
    return f"{hours}:{minutes:02}:{rest}" if hours else f"{minutes}:{rest}"


def _head(transport: Transport, symbols: Symbols) -> list[Span]:
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


def _origin(transport: Transport, room: int) -> str:
    """The longest words on the origin that leave room for the bar; the shortest where none do."""
    fitting = (words for words in transport.origins if len(words) <= room)
    return next(fitting, transport.origins[-1] if transport.origins else "")


def _marks(transport: Transport, room: int, symbols: Symbols) -> Sequence[Span]:
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
