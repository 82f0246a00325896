"""Machine gauges: current readings, their limits, and their history. Independent of Textual."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import wrap

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.bars import bar, history
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, crop, line, side_by_side

HEAD = 19
LIMIT = 8
"""Cells before a bar (``HEAD``: label and value) and after it (``LIMIT``: the limit)."""
NARROW, COLUMN_GAP = 40, 3
"""Minimum width of machines side by side, and the gap between them, in cells."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """A reading with its limit and history."""

    label: str
    value: str
    """Newest reading with its unit."""
    fraction: float | None
    """Fraction of the limit, from 0 to 1; None if either is unknown."""
    limit: str = ""
    past: Callable[[], Sequence[float]] | None = None
    """Returns fractions of the limit, newest last, NaN for gaps. Lazy, since most are never drawn."""
    absent: str = ""
    """Reason why there is no reading."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A device or the host: title, gauges in order of importance, and other readings."""

    title: str
    name: str
    gauges: tuple[Gauge, ...]
    readings: tuple[tuple[str, str], ...] = ()
    """Label and value of readings without a gauge."""
    remark: str = ""
    """Remark, such as why the clock is throttled."""
    alarming: bool = False
    """Whether the remark is an alarm."""

    @property
    def remark_span(self) -> Span:
        """Remark as a styled span."""
        return (self.remark, "bad" if self.alarming else "muted")


@dataclass(frozen=True, slots=True)
class Machines:
    """Snapshot of all devices and the host."""

    count: int
    """Number of devices."""
    device: Callable[[int], Machine]
    """Returns a device by index from 0. Lazy, since most of many are never drawn."""
    host: Machine | None
    why: str = ""
    """Reason why there is no device to show."""

    @property
    def whole(self) -> int:
        """Number of machines, including the host."""
        return self.count + (self.host is not None)

    def first(self, count: int) -> list[Machine]:
        """Return up to ``count`` machines, the host last."""
        devices = [self.device(place) for place in range(min(count, self.count))]
        return [*devices, *([self.host] if self.host else [])][:count]


def gauge_lines(machines: Machines, width: int, height: int, symbols: Symbols, more: str = "") -> list[Line]:
    """Render as much of each machine as fits.

    First choice is with history, then without, then one line each. ``more`` says where to find the machines
    that don't fit.
    """
    if height <= 3:
        return _one_line_each(machines, width, height, symbols, more)
    note, most = _note(machines.why, width), _most_columns(width)
    every = machines.first(most * height)
    for full in (True, False) if len(every) == machines.whole else ():
        columns = _columns([(each, _height(each, full)) for each in every], height - len(note))
        if columns is not None and len(columns) <= most:
            room = _column_width(width, len(columns))
            drawn = [_below(column, room, symbols, full) for column in columns]
            return [*note, *side_by_side(drawn, room + COLUMN_GAP)]
    return _rows(machines, width, height, symbols, more)


def _height(machine: Machine, full: bool) -> int:
    pasts = sum(gauge.past is not None for gauge in machine.gauges) if full else 0
    return 1 + len(machine.gauges) + pasts + bool(machine.readings) + bool(machine.remark)


def _columns(every: Iterable[tuple[Machine, int]], height: int) -> list[list[Machine]] | None:
    """Stack machines into columns up to a height; None if one is too tall."""
    columns: list[list[Machine]] = []
    left = 0
    for machine, lines in every:
        if lines > height:
            return None
        if lines > left:
            columns.append([])
            left = height
        columns[-1].append(machine)
        left -= lines + 1
    return columns


def _most_columns(width: int) -> int:
    return max(1, (width + COLUMN_GAP) // (NARROW + COLUMN_GAP))


def _column_width(width: int, count: int) -> int:
    return (width + COLUMN_GAP) // max(count, 1) - COLUMN_GAP


def _below(column: Iterable[Machine], width: int, symbols: Symbols, full: bool) -> list[Line]:
    return [line for machine in column for line in _machine(machine, width, symbols, full)]


def _machine(machine: Machine, width: int, symbols: Symbols, full: bool) -> list[Line]:
    title = crop([(machine.title, "strong"), (f"  {machine.name}", "muted")], width, symbols)
    lines = [title]
    for gauge in machine.gauges:
        lines.append(_gauge(gauge, width, symbols))
        if full and gauge.past is not None:
            lines.append(line((" " * HEAD, "plain"), (_past(gauge, width - HEAD - LIMIT, symbols), "soft")))
    if machine.readings:
        lines.append(_readings(machine, width, symbols))
    if machine.remark:
        lines.append(crop([machine.remark_span], width, symbols))
    return [*lines, BLANK]


def _gauge(gauge: Gauge, width: int, symbols: Symbols) -> Line:
    if gauge.absent:
        return crop([*_head(gauge), (gauge.absent, "muted")], width, symbols)
    return line(*_head(gauge), *bar(gauge.fraction, width - HEAD - LIMIT, symbols), *_limit(gauge))


def _past(gauge: Gauge, width: int, symbols: Symbols) -> str:
    return history(gauge.past() if gauge.past else (), 1.0, width, symbols)


def _readings(machine: Machine, width: int, symbols: Symbols) -> Line:
    pieces: list[Span] = []
    for label, value in machine.readings:
        between = "   " if pieces else ""
        pieces += [(f"{between}{label} ", "muted"), (value, "plain")]
    return crop(pieces, width, symbols)


def _one_line_each(machines: Machines, width: int, height: int, symbols: Symbols, more: str) -> list[Line]:
    """Render one line per gauge with its history, and any alarm. Several devices get one line each."""
    if machines.count > 1:
        return _rows(machines, width, height, symbols, more)
    machine = machines.device(0) if machines.count else machines.host
    if machine is None:
        return []
    lines = [_gauge_with_history(gauge, width, symbols) for gauge in machine.gauges[: height - 1]]
    return [
        *lines,
        crop([machine.remark_span if machine.alarming else (machines.why, "muted")], width, symbols),
    ]


def _gauge_with_history(gauge: Gauge, width: int, symbols: Symbols) -> Line:
    if gauge.absent:
        return crop([*_head(gauge), (gauge.absent, "muted")], width, symbols)
    room = width - HEAD - LIMIT - 2
    drawn = bar(gauge.fraction, room - room // 2, symbols)
    past = _past(gauge, room // 2, symbols)
    return line(*_head(gauge), *drawn, *_limit(gauge), ("  ", "plain"), (past, "soft"))


def _rows(machines: Machines, width: int, height: int, symbols: Symbols, more: str) -> list[Line]:
    """Render one line per machine. If not all fit, the last line says how many are left."""
    count = machines.whole
    columns = min(_most_columns(width), ceil(count / height))
    shown = machines.first(count if count <= columns * height else columns * height - 1)
    titles, room = max(len(machine.title) for machine in shown), _column_width(width, columns)
    lines = [crop(_row(machine, titles, machine is machines.host), room, symbols) for machine in shown]
    if hidden := count - len(shown):
        lines.append(crop([(f"{hidden} more{more}", "muted")], room, symbols))
    each = ceil(len(lines) / columns)
    return side_by_side(
        [lines[start : start + each] for start in range(0, len(lines), each)], room + COLUMN_GAP
    )


def _row(machine: Machine, room: int, labelled: bool) -> list[Span]:
    """Render a machine in one line. Units identify GPU readings; only host readings need labels."""
    pieces: list[Span] = [(f"{machine.title:<{max(room, 6) + 1}}", "strong")]
    for gauge in machine.gauges:
        pieces += [(f" {gauge.label} " if labelled else "", "muted"), (f"{gauge.value:>8} ", "plain")]
    for label, value in machine.readings:
        pieces += [(f"  {label} " if labelled else " ", "muted"), (value, "muted")]
    return [*pieces, *([("  ", "plain"), machine.remark_span] if machine.remark else [])]


def _head(gauge: Gauge) -> list[Span]:
    return [(f"{gauge.label:<8}", "muted"), (f"{gauge.value:>9}  ", "plain")]


def _limit(gauge: Gauge) -> list[Span]:
    return [(f"{gauge.limit:>{LIMIT}}", "muted")]


def _note(why: str, width: int) -> list[Line]:
    return (
        [line((part, "muted")) for part in wrap(why, max(10, width), break_on_hyphens=False)] + [BLANK]
        if why
        else []
    )


def shares(values: Sequence[float], limit: float | None) -> Sequence[float]:
    """Return readings as fractions of their limit. Without a limit, use their maximum."""
    known = [value for value in values if value == value]
    most = limit or max(known, default=0.0)
    return [value / most for value in values] if most else ()
