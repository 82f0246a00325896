"""The case that runs, or the one that was chosen: its options, phase and figures; knows no Textual."""

from dataclasses import dataclass

from benchtui.sessions.forecast import Estimate
from benchtui.themes import Symbols
from benchtui.tui import text
from benchtui.tui.widgets.bars import bar
from benchtui.tui.widgets.heading import time_left
from benchtui.tui.widgets.ink import Line, Piece, crop, line, spread_out


@dataclass(frozen=True, slots=True)
class Figures:
    """What the measured steps amount to; None where too few say."""

    n: int
    p50_ms: float | None
    p99_ms: float | None
    interval_percent: float | None
    samples_per_s: float | None


@dataclass(frozen=True, slots=True)
class Part:
    """A timed part of a step."""

    name: str
    mean_ms: float
    share: float
    """Of the whole step, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Current:
    """A case as the upper panel shows it."""

    title: str
    position: str
    """Which of the cases it is, in words."""
    phase: str
    """What happens: ``loading model``, ``warm-up``, ``measuring``, or the outcome."""
    role: str
    """Role of the phase's word."""
    done: int = 0
    """Steps of this phase that are done."""
    planned: int = 0
    left: Estimate | None = None
    remark: str = ""
    """Why it ended as it did, or how long the phase has lasted."""
    hint: str = ""
    """What to do next, where there are no figures."""
    figures: Figures | None = None


def current_lines(current: Current, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Options, phase with its progress, figures."""
    title = spread_out([(current.title, "strong")], [(current.position, "muted")], width, symbols)
    return [title, _phase(current, width, symbols), _third(current, width, symbols)][:height]


def part_lines(parts: tuple[Part, ...], width: int, height: int, symbols: Symbols) -> list[Line]:
    """The parts of a step as bars, in two columns where that has room."""
    across = 2 if width >= 64 and len(parts) > 1 else 1
    each = width // across
    shown = parts[: across * height]
    cells = [_part(part, each - 2, symbols) for part in shown]
    rows = [cells[at : at + across] for at in range(0, len(cells), across)]
    return [line(*(piece for cell in row for piece in (*cell, ("  ", "plain")))) for row in rows]


def _phase(current: Current, width: int, symbols: Symbols) -> Line:
    word: Piece = (f"{current.phase:<15}", current.role)
    if not current.planned:
        return crop([word, (current.remark, "muted")], width, symbols)
    digits = len(str(current.planned))
    count = f"{current.done:>{digits}}/{current.planned} "
    room = max(10, min(40, width - 15 - len(count) - 18))
    left = time_left(current.left, symbols)
    progress = bar(current.done / current.planned, room, symbols)
    return crop([word, (count, "plain"), *progress, (f"  {left}", "muted")], width, symbols)


def _third(current: Current, width: int, symbols: Symbols) -> Line:
    if current.figures is None:
        return crop([(current.hint, "plain")], width, symbols)
    return _figures(current.figures, width, symbols)


def _figures(figures: Figures, width: int, symbols: Symbols) -> Line:
    p50, p99 = (text.milliseconds(value, symbols) for value in (figures.p50_ms, figures.p99_ms))
    interval = text.percent(figures.interval_percent, symbols)
    pieces: list[Piece] = [
        ("p50 ", "muted"),
        (f"{p50:>7}", "bright"),
        (" ms  p99 ", "muted"),
        (f"{p99:>7}", "bright"),
        (f" ms  {symbols.plus_minus}", "muted"),
        (f"{interval:>5}", "plain"),
        (" %  ", "muted"),
        (f"{text.rate(figures.samples_per_s, symbols):>9}", "bright"),
        (" samples/s  n ", "muted"),
        (f"{figures.n}", "plain"),
    ]
    return crop(pieces, width, symbols)


def _part(part: Part, width: int, symbols: Symbols) -> list[Piece]:
    head: list[Piece] = [
        (text.fit(part.name, 10, symbols), "muted"),
        (f"{part.mean_ms:>9.2f}", "plain"),
        (f"{100 * part.share:>4.0f} % ", "muted"),
    ]
    return [*head, *bar(part.share, max(4, width - 26), symbols)]
