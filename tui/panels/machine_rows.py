"""Gauge rows: one line per machine, with bars in common columns. Independent of Textual."""

from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec.structs import replace
from rich.cells import cell_len

from benchtui.themes.gauges import BAR_ROLES, SEVERE, TEXT_ROLES, Standing
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.bars import gauge_bar, history
from benchtui.tui.drawing.format import fit
from benchtui.tui.drawing.styled_text import Line, Span, crop, line, width_of

BAR_CELLS, GOOD_BAR_CELLS, WIDE_BAR_CELLS = 5, 10, 16
"""Cells inside a bar: the minimum, and the widths up to which it grows before the sparkline does."""
BAR_ENDS = 2
"""Cells of a bar's two ends."""
SPAN_S = 60
"""Span of a sparkline in seconds."""
SPARK_CELLS = (60, 30, 20, 15, 12, 10)
"""Widths of a sparkline. They divide its span, so that each cell covers the same whole seconds."""
NOTE_CELLS = 24
"""Minimum room for the notes of cluster nodes, which name the running case."""
COLUMN_GAP = 2

Past = Callable[[int, float], Sequence[float]]
"""Returns fractions of the limit, newest last, for a number of buckets and their seconds. NaN is a gap."""


class Gauge(msgspec.Struct, frozen=True):
    """A reading with its limit and history."""

    label: str
    value: str
    """Newest reading with its unit, and with its limit where both are needed."""
    fraction: float | None = None
    """Fraction of the limit, from 0 to 1; None if either is unknown."""
    role: str = "plain"
    """Role of the bar. ``warning`` and ``bad`` color the value as well."""
    widest: int = 0
    """Width of the widest value in cells."""
    short: str = ""
    """Shorter value for narrow terminals, of a constant width; empty if there is none."""
    barred: bool = True
    """Whether it has a bar."""
    optional: bool = False
    """Whether it is shown only on wide terminals."""
    past: Past | None = None
    """History. Lazy, since most are never drawn."""
    absent: str = ""
    """Reason why there is no reading."""
    known: bool = True
    """Whether there is a reading."""


class Machine(msgspec.Struct, frozen=True):
    """A device, a cluster node or the host."""

    title: str
    name: str
    """Model of the device; dropped if space is short."""
    gauges: tuple[Gauge, ...]
    """Readings in column order, the most important first."""
    readings: tuple[Span, ...] = ()
    """Further readings in words."""
    notes: tuple[str, ...] = ()
    """Remark in several wordings, longest first, such as why the clock is throttled."""
    alarming: bool = False
    """Whether the remark is an alarm."""
    standing: Standing = "plain"
    trend: str = ""
    """Label of the gauge whose history is the sparkline."""

    @property
    def role(self) -> str:
        """Role of its text."""
        return "bad" if self.alarming else TEXT_ROLES[self.standing]

    def gauge(self, label: str) -> Gauge | None:
        """Return a gauge by label."""
        return next((gauge for gauge in self.gauges if gauge.label == label), None)

    def past(self, count: int, bucket_s: float) -> Sequence[float]:
        """Return the history of the sparkline."""
        trend = self.gauge(self.trend)
        return trend.past(count, bucket_s) if trend is not None and trend.past is not None else ()


class GaugeColumn(msgspec.Struct, frozen=True):
    """GaugeColumn of the same gauge in all rows."""

    label: str
    value_cells: int
    short_cells: int
    """Width of the shorter values."""
    barred: bool
    optional: bool
    short: bool = False
    """Whether it shows the shorter values."""

    def cells(self, bar: int) -> int:
        """Return its width for a number of cells inside the bar."""
        return max(len(self.label), self.value_cells + (bar + BAR_ENDS + 1 if self.barred else 0))


class Columns(msgspec.Struct, frozen=True):
    """Layout of all rows in a width."""

    width: int
    title_cells: int
    name_cells: int
    """0 if the name is dropped."""
    kept: tuple[GaugeColumn, ...]
    bar: int
    """Cells inside a bar."""
    spark: int
    """Cells of the sparkline; 0 without one."""

    @property
    def ends(self) -> list[int]:
        """Return where the label and each column end."""
        ends = [self.label_cells]
        for column in self.kept:
            ends.append(ends[-1] + COLUMN_GAP + column.cells(self.bar))
        return ends

    @property
    def label_cells(self) -> int:
        """Width of mark, title and name."""
        return 1 + self.title_cells + (1 + self.name_cells if self.name_cells else 0)


def arrange(machines: Sequence[Machine], width: int, noted: bool = False) -> Columns:
    """Choose the columns: drop the least important ones until the rest fits, then widen bars and sparkline.

    ``noted`` reserves room for notes at the end of the rows in place of a sparkline.
    """
    title = min(max((cell_len(machine.title) for machine in machines), default=0), max(width // 3, 1))
    name = max((cell_len(machine.name) for machine in machines), default=0)
    sparks = not noted and any(machine.past(1, 1.0) for machine in machines)
    for kept, named, spark, bar in _choices(list(_columns(machines)), bool(name), sparks):
        tail = NOTE_CELLS if noted else spark
        columns_that_fit = Columns(width, title, name if named else 0, tuple(kept), bar, tail)
        spare = width - columns_that_fit.ends[-1] - (COLUMN_GAP + tail if tail else 0)
        if spare >= 0:
            break
    crowded = not spark and any(machine.alarming for machine in machines)
    return columns_that_fit if crowded else _widened(columns_that_fit, spare, noted)


def _columns(machines: Sequence[Machine]) -> Iterator[GaugeColumn]:
    labels = dict.fromkeys(gauge.label for machine in machines for gauge in machine.gauges)
    for label in labels:
        same = [gauge for machine in machines if (gauge := machine.gauge(label))]
        widest = max(max(gauge.widest, len(gauge.value)) for gauge in same)
        shorter = max(len(gauge.short) or widest for gauge in same)
        yield GaugeColumn(label, widest, shorter, same[0].barred, same[0].optional)


def _choices(
    columns: list[GaugeColumn], named: bool, sparks: bool
) -> Iterator[tuple[list[GaugeColumn], bool, int, int]]:
    """Yield selections of columns, name, sparkline and bar width, each narrower than the one before.

    Bars outrank the name. Of the numbers without a bar, only the first one outranks it.
    """
    needed = [column for column in columns if not column.optional]
    least = min(len(needed), sum(column.barred for column in needed) + 1)
    yield columns, named, SPARK_CELLS[1] if sparks else 0, GOOD_BAR_CELLS
    yield needed, named, SPARK_CELLS[-1] if sparks else 0, BAR_CELLS
    needed = [replace(column, value_cells=column.short_cells, short=True) for column in needed]
    yield needed, named, SPARK_CELLS[-1] if sparks else 0, BAR_CELLS
    for count in range(len(needed), least - 1, -1):
        yield needed[:count], named, 0, BAR_CELLS
    for count in range(least, -1, -1):
        yield needed[:count], False, 0, BAR_CELLS


def _widened(columns: Columns, spare: int, noted: bool) -> Columns:
    """Spend the cells that are left on bars and sparkline in turn."""
    bars, spark, bar = sum(column.barred for column in columns.kept), columns.spark, columns.bar
    for good_bar, good_spark in (
        (GOOD_BAR_CELLS, SPARK_CELLS[2]),
        (WIDE_BAR_CELLS, SPARK_CELLS[0]),
        (spare, 0),
    ):
        grown = max(0, min(spare // bars, good_bar - bar)) if bars else 0
        bar, spare = bar + grown, spare - bars * grown
        if spark and not noted:
            fitting = (cells for cells in SPARK_CELLS if cells <= min(spark + spare, good_spark))
            wider = max(spark, next(fitting, spark))
            spare, spark = spare - (wider - spark), wider
        elif noted and good_bar == WIDE_BAR_CELLS:
            break
    return replace(columns, bar=bar, spark=spark)


def header_row(columns: Columns, symbols: Symbols, trend: str) -> Line:
    """Render the labels of all columns. ``trend`` is the label of the sparkline."""
    pieces: list[Span] = [(" " * columns.label_cells, "plain")]
    for column in columns.kept:
        label = f" {column.label:<{column.cells(columns.bar) - 1}}" if column.barred else ""
        pieces.append((" " * COLUMN_GAP + (label or f"{column.label:>{column.cells(columns.bar)}}"), "muted"))
    if columns.spark and trend:
        pieces.append((f"{'':{COLUMN_GAP}}{trend}", "muted"))
    return crop(pieces, columns.width, symbols)


def machine_row(machine: Machine, columns: Columns, symbols: Symbols) -> Line:
    """Render a machine in one line. An alarm takes the place of the last columns if it needs their room."""
    ends = columns.ends
    count, note = _note(machine, columns)
    pieces = _label(machine, columns, symbols)
    at = width_of(pieces)
    for column, end in zip(columns.kept[:count], ends[1:], strict=False):
        cell = _cell(machine, column, columns.bar, symbols)
        at += COLUMN_GAP + width_of(cell)
        pieces += [(" " * COLUMN_GAP, "plain"), *cell, (" " * (end - at), "plain")]
        at = max(at, end)
    room = columns.width - ends[count]
    return crop([*pieces, *_tail(machine, note, room, columns.spark, symbols)], columns.width, symbols)


def _label(machine: Machine, columns: Columns, symbols: Symbols) -> list[Span]:
    foreign = machine.standing == "foreign" or machine.alarming
    own = machine.standing in ("own", "shared")
    mark = symbols.chosen if own else symbols.flag if foreign else " "
    role = machine.role
    name = f" {fit(machine.name, columns.name_cells, symbols)}" if columns.name_cells else ""
    strong = "strong" if role == "bright" else role
    return [(mark, strong), (fit(machine.title, columns.title_cells, symbols), strong), (name, role)]


def _note(machine: Machine, columns: Columns) -> tuple[int, str]:
    """Return how many columns to draw, and the wording of the note that fits after them.

    An alarm may replace one column by a longer wording, and any number by its shortest wording.
    """
    whole = len(columns.kept)
    if not machine.notes:
        return whole, ""
    ends = columns.ends
    cropped = machine.trend == ""  # names of cases may be cut, readings and alarms may not
    least = whole if not machine.alarming else max(whole - 1, 1)
    for note in machine.notes:
        for count in range(whole, least - 1, -1):
            if len(note) <= columns.width - ends[count] - COLUMN_GAP:
                return count, note
    if machine.alarming:
        counts = range(whole, 0, -1)
        last = machine.notes[-1]
        return next((n for n in counts if len(last) <= columns.width - ends[n] - COLUMN_GAP), 0), last
    return whole, machine.notes[-1] if cropped else ""


def _tail(machine: Machine, note: str, room: int, spark: int, symbols: Symbols) -> list[Span]:
    """Render the note, and the sparkline in the remaining room."""
    gap: Span = (" " * COLUMN_GAP, "plain")
    if not note:
        return [gap, (_spark(machine, spark, symbols), _trend_role(machine))] if spark else []
    words: Span = (note, machine.role if machine.role in SEVERE else "muted")
    rest = min(spark, room) - len(note) - COLUMN_GAP
    if rest < SPARK_CELLS[-1] or not machine.trend:
        return [gap, words]
    past = _spark(machine, spark, symbols)[-rest:]
    return [gap, words, (" " * (spark - len(note) - rest), "plain"), (past, _trend_role(machine))]


def _spark(machine: Machine, cells: int, symbols: Symbols) -> str:
    return history(machine.past(cells, SPAN_S / cells), 1.0, cells, symbols)


def _trend_role(machine: Machine) -> str:
    return "faint" if machine.standing == "other" else "soft"


def _cell(machine: Machine, column: GaugeColumn, bar: int, symbols: Symbols) -> list[Span]:
    gauge = machine.gauge(column.label)
    width = column.cells(bar)
    if gauge is None:
        return [(" " * width, "plain")]
    role = gauge.role if gauge.role in SEVERE else machine.role
    value = gauge.short if column.short and gauge.short else gauge.value
    if not column.barred:
        return [(f"{value:>{width}}", role)]
    drawn = bar_of(gauge, machine, bar, symbols)
    return [*drawn, (f" {value:>{column.value_cells}}", role)]


def bar_of(gauge: Gauge, machine: Machine, cells: int, symbols: Symbols) -> list[Span]:
    """Draw the bar of a gauge with ``cells`` inside; blank if its fraction is unknown."""
    if gauge.fraction is None:
        return [(" " * (cells + BAR_ENDS), "plain")]
    role = gauge.role
    if machine.role == "warning" and role == "accent":
        role = "warning"
    elif machine.standing == "other" and role not in SEVERE:
        role = "faint"
    return gauge_bar(gauge.fraction, cells + BAR_ENDS, symbols, role)


def dimmed(drawn: Line) -> Line:
    """Return a line without colors, for readings that are no longer live."""
    return line(*((text, "faint" if role in BAR_ROLES else "muted") for text, role in drawn))
