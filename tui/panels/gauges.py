"""Gauges of a machine: a row per GPU or node, the host, and charts if there is room. Independent of Textual."""

from collections.abc import Callable, Iterable, Sequence
from math import ceil

import msgspec
from rich.cells import cell_len

from benchtui.themes.gauges import SEVERE
from benchtui.themes.symbols import UNICODE, Symbols
from benchtui.tui.drawing.bars import history
from benchtui.tui.drawing.styled_text import BLANK, GAP, Line, Span, crop, line, side_by_side, wrap_facts
from benchtui.tui.panels.machine_rows import (
    BAR_CELLS,
    SPAN_S,
    Gauge,
    Machine,
    arrange,
    bar_of,
    dimmed,
    header_row,
    machine_row,
)

NARROW, PANEL_GAP = 70, 3
"""Minimum width of rows side by side, and the gap between them, in cells."""
CHART_WIDTH, CHART_ROWS, MAX_CHART_ROWS = 38, 2, 12
"""Minimum width of a chart, and its minimum and maximum number of rows below its title."""
WIDE_HOST = 112
"""Width in cells from which a host without GPU has two gauges per line, and a host next to GPUs one line."""
MAX_SUMMED = 64
"""Maximum number of hidden devices whose state is counted. Each has to be built first."""


class Machines(msgspec.Struct, frozen=True):
    """Snapshot of all devices and the host."""

    count: int
    """Number of devices."""
    device: Callable[[int], Machine]
    """Returns a device by index from 0. Lazy, since most of many are never drawn."""
    host: Machine | None
    why: str = ""
    """Reason why there is no device to show."""
    noun: str = "GPU"
    """Kind of the devices: ``GPU`` or ``node``."""
    own: frozenset[int] = frozenset()
    """Devices of the shown case, by index from 0; they are drawn first."""
    as_of: str | None = None
    """Time of the last readings, such as ``14:02``, if they are no longer live; empty if unknown."""

    def devices(self, count: int) -> list[Machine]:
        """Return up to ``count`` devices in order, preferring those of the shown case."""
        chosen = sorted(range(self.count), key=lambda place: place not in self.own)[:count]
        return [self.device(place) for place in sorted(chosen)]


def gauge_height(machines: Machines, width: int) -> int:
    """Return the number of rows that ``gauge_lines`` needs to show everything in this width."""
    if not machines.count:
        return len(_lone_host(machines, width, UNICODE)) if machines.host or machines.why else 1
    reasons = any(gauge.absent for machine in machines.devices(MAX_SUMMED) for gauge in machine.gauges)
    return 1 + machines.count + reasons + len(_host_lines(machines, width, UNICODE))


def machine_title(machines: Machines) -> tuple[list[Span], list[Span]]:
    """Return the title of the gauges, which says so if the readings are old."""
    what: Span = (f"{machines.noun}s" if machines.count else "machine", "muted")
    if machines.as_of is None:
        return [what], []
    return [what], [("last readings" + (f", {machines.as_of}" if machines.as_of else ""), "plain")]


def gauge_lines(machines: Machines, width: int, height: int, symbols: Symbols, more: str = "") -> list[Line]:
    """Render the gauges in any size: rows first, then host, header and reasons, then charts.

    ``more`` says where to find the devices that don't fit.
    """
    if height < 1 or width < 1:
        return []
    lines = _rows_and_host(machines, width, height, symbols, more) if machines.count else []
    if not machines.count:
        lines = _lone_host(machines, width, symbols)
        lines = lines if len(lines) <= height else _compact_host(machines, width, height, symbols)
    lines += _charts(machines, width, height - len(lines), symbols)
    lines = [crop(drawn, width, symbols) for drawn in lines[:height]]
    return lines if machines.as_of is None else [dimmed(drawn) for drawn in lines]


def _rows_and_host(machines: Machines, width: int, height: int, symbols: Symbols, more: str) -> list[Line]:
    across = min(max(1, (width + PANEL_GAP) // (NARROW + PANEL_GAP)), ceil(machines.count / height))
    fits = machines.count <= across * height
    shown = machines.devices(machines.count if fits else max(across * height - (height > 1), 1))
    rows_per_column = ceil((len(shown) + (not fits)) / across)
    rows_below = height - rows_per_column
    host = _host_lines(machines, width, symbols)[: max(rows_below, 0)]
    rows_below -= len(host)
    reasons = _reasons(shown, width, symbols)[: max(rows_below - 1, 0)]
    rows = _rows(
        machines, shown, rows_per_column, (width + PANEL_GAP) // across - PANEL_GAP, rows_below > 0, symbols
    )
    hidden = [] if fits or height == 1 else [_summary(machines, len(shown), symbols, more)]
    rows[-1] += hidden
    return [*side_by_side(rows, (width + PANEL_GAP) // across), *reasons, *host]


def _rows(
    machines: Machines,
    shown: Sequence[Machine],
    rows_per_column: int,
    width: int,
    header: bool,
    symbols: Symbols,
) -> list[list[Line]]:
    """Render the rows in stacks of ``each``, side by side with the same columns."""
    columns = arrange(shown, width, noted=machines.noun == "node")
    trend = shown[0].trend if shown else ""
    span = f"last {SPAN_S} s"
    label = f"{trend}, {span}" if trend and len(trend) + len(span) + 2 <= columns.spark else span
    head = [header_row(columns, symbols, label)] if header else []
    drawn = [machine_row(machine, columns, symbols) for machine in shown]
    return [
        [*head, *drawn[start : start + rows_per_column]]
        for start in range(0, max(len(drawn), 1), rows_per_column)
    ]


def _summary(machines: Machines, shown: int, symbols: Symbols, more: str) -> Line:
    """Count the hidden devices, and those of them that need attention."""
    hidden = machines.count - shown
    words: list[Span] = [(f"{hidden} more {machines.noun}{'s' * (hidden != 1)}", "muted")]
    if hidden <= MAX_SUMMED:
        drawn = {machine.title for machine in machines.devices(shown)}
        rest = [device for device in map(machines.device, range(machines.count)) if device.title not in drawn]
        foreign = sum(machine.standing == "foreign" for machine in rest)
        alarms = [machine.notes[-1] for machine in rest if machine.alarming and machine.notes]
        words += [(f", {foreign} used by other processes", "warning")] if foreign else []
        words += [(f", {alarms.count(note)} {note}", "bad") for note in dict.fromkeys(alarms)]
    return line((" ", "plain"), *words, (more, "muted"))


def _reasons(shown: Sequence[Machine], width: int, symbols: Symbols) -> list[Line]:
    """Say once why readings are absent."""
    labels_by_reason: dict[str, dict[str, None]] = {}
    for machine in shown:
        for gauge in machine.gauges:
            if gauge.absent:
                labels_by_reason.setdefault(gauge.absent, {})[gauge.label] = None
    words = "; ".join(f"{', '.join(labels)}: {reason}" for reason, labels in labels_by_reason.items())
    return [crop([(f" {symbols.absent} {words}", "muted")], width, symbols)] if words else []


def _host_lines(machines: Machines, width: int, symbols: Symbols) -> list[Line]:
    """Render the host next to GPUs: one line if wide, else two. Facts that don't fit are dropped."""
    host = machines.host
    if host is None:
        return []
    facts: list[list[Span]] = [_barred(gauge, host, symbols) for gauge in host.gauges[:2]]
    facts += [[reading] for reading in (*_worker(host), *host.readings)]
    facts[0] = [(f"{host.title} ", "strong"), *facts[0]]
    lines = wrap_facts(facts, width - 1)[: 1 if width >= WIDE_HOST else 2]
    return [line((" ", "plain"), *drawn) for drawn in lines]


def _barred(gauge: Gauge, host: Machine, symbols: Symbols) -> list[Span]:
    label: Span = (f"{gauge.label} ", "muted")
    value: Span = (gauge.value, gauge.role if gauge.role in SEVERE else "plain")
    if gauge.fraction is None:
        return [label, value]
    return [label, *bar_of(gauge, host, BAR_CELLS, symbols), (" ", "plain"), value]


def _worker(host: Machine) -> tuple[Span, ...]:
    """Return CPU and memory of the worker in words; nothing while there is none."""
    cpu, rss = (host.gauge(label) for label in ("worker CPU", "worker RSS"))
    shown = cpu and rss and cpu.known and rss.known
    return ((f"worker {cpu.value} CPU, {rss.value} RSS", "plain"),) if shown and cpu and rss else ()


def _lone_host(machines: Machines, width: int, symbols: Symbols) -> list[Line]:
    """Render a host without GPU: a line per gauge with its history, then the rest in one line."""
    host = machines.host
    if host is None:
        return [line((machines.why, "muted"))] if machines.why else []
    across = 2 if width >= WIDE_HOST else 1
    room = (width + PANEL_GAP) // across - PANEL_GAP
    rows = [
        Machine(
            _label(host, gauge), "", (_unlabeled(gauge, host.gauges),), trend="value", standing=host.standing
        )
        for gauge in host.gauges
    ]
    columns = arrange(rows, room)
    drawn = [machine_row(row, columns, symbols) for row in rows]
    stacks = [drawn[start::across] for start in range(across)]
    span = f"last {SPAN_S} s" if columns.spark else ""
    return [*side_by_side(stacks, room + PANEL_GAP), *_rest(machines, host, width, span)]


def _label(host: Machine, gauge: Gauge) -> str:
    """Return the label of a host's gauge by itself: readings without a scope are those of the host."""
    return gauge.label if gauge.label.startswith("worker") else f"{host.title} {gauge.label}"


def _unlabeled(gauge: Gauge, beside: Iterable[Gauge]) -> Gauge:
    """Return a gauge as the value of a row, as wide as the others."""
    widest = max(max(other.widest, len(other.value)) for other in beside)
    return Gauge("value", gauge.value, gauge.fraction, gauge.role, widest, past=gauge.past)


def _rest(machines: Machines, host: Machine, width: int, span: str) -> list[Line]:
    """Render what has no gauge, the span of the sparklines, and why there is no GPU, in brief if it is long."""
    why = machines.why if cell_len(machines.why) < width else machines.why.partition(";")[0].partition(" (")[0]
    words = ((why, "muted"), (span, "muted"), *host.readings)
    facts: list[list[Span]] = [[word] for word in words if word[0]]
    every, most = wrap_facts(facts, width - 1), wrap_facts(facts[:-1], width - 1)
    lines = every if len(every) == len(most) else most  # the last fact is not worth a line
    return [line((" ", "plain"), *drawn) for drawn in lines if drawn]


def _compact_host(machines: Machines, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render a host without GPU in few lines, the reason at the end if there is room."""
    why = [line((f" {machines.why}", "muted"))] if machines.why else []
    return [*_host_lines(machines, width, symbols), *why][:height]


def _charts(machines: Machines, width: int, room: int, symbols: Symbols) -> list[Line]:
    """Fill the rest of a tall panel with charts of as many readings as fit."""
    most = max(1, (width + PANEL_GAP) // (CHART_WIDTH + PANEL_GAP))
    for labels, least in CHARTED if room >= CHART_ROWS + 2 else ():
        charts = _charted(machines, labels)
        per_machine = sum(machine is charts[0][0] for machine, _ in charts) if charts else 1
        for across in range(min(2, most), most + 1) if charts else ():
            rows = room // ceil(len(charts) / across) - 2
            if rows >= least and (across % per_machine == 0 or per_machine % across == 0):
                return _chart_grid(charts, across, min(rows, MAX_CHART_ROWS), width, symbols)
    return []


CHARTED = (
    (
        ("utilization", "power", "memory", "SM", "tensor", "DRAM", "CPU", "worker CPU", "worker RSS"),
        2 * CHART_ROWS,
    ),
    (("utilization", "power", "memory", "CPU", "worker CPU", "worker RSS"), 2 * CHART_ROWS),
    (("utilization", "power", "CPU"), 2 * CHART_ROWS),
    (("utilization", "power"), CHART_ROWS),
    (("power",), CHART_ROWS),
    (("CPU", "memory", "worker CPU", "worker RSS"), CHART_ROWS),
)
"""Readings with a chart, and the rows that each needs: the first selection that fits is drawn."""


def _charted(machines: Machines, labels: Sequence[str]) -> list[tuple[Machine, Gauge]]:
    every = [*machines.devices(MAX_SUMMED), *([machines.host] if machines.host else [])]
    gauges = [(machine, machine.gauge(label)) for machine in every for label in labels]
    return [(machine, gauge) for machine, gauge in gauges if gauge is not None and gauge.past is not None]


def _chart_grid(
    charts: Sequence[tuple[Machine, Gauge]], across: int, rows: int, width: int, symbols: Symbols
) -> list[Line]:
    room = (width + PANEL_GAP) // across - PANEL_GAP
    lines: list[Line] = []
    for start in range(0, len(charts), across):
        beside = [_chart(*chart, room, rows, symbols) for chart in charts[start : start + across]]
        lines += [BLANK, *side_by_side(beside, room + PANEL_GAP)]
    return lines


def _chart(machine: Machine, gauge: Gauge, width: int, rows: int, symbols: Symbols) -> list[Line]:
    """Render the history of a reading as columns of several rows, on a scale from 0 to its limit."""
    past = gauge.past(width, 1.0) if gauge.past is not None else ()
    title = _label(machine, gauge) if not machine.trend else f"GPU {machine.title} {machine.name}".strip()
    label = f"  {gauge.label} " if machine.trend else " "
    head: list[Span] = [(title, machine.role), (label, "muted"), (gauge.value, "plain")]
    role = "faint" if machine.standing == "other" else "soft"
    levels = ([value * rows - row for value in past] for row in range(rows - 1, -1, -1))
    body = [line((history(level, 1.0, width, symbols), role)) for level in levels]
    return [crop([*head, (f"{GAP}last {width} s", "muted")], width, symbols), *body]
