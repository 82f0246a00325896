"""Telemetry of a case: a small trace of each reading during its measurement. Independent of Textual."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

import msgspec

from benchtui.sessions.payloads import GPU_ACTIVITY, HOST_ACTIVITY
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.columns import ThrottleSpan, Trace
from benchtui.sessions.state.machine import MachineState
from benchtui.sessions.state.session import Session
from benchtui.sessions.text.formatting import MB, MIB, count
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.axis_scale import Scale, linear, placed, tick_text, time_interval, time_text
from benchtui.tui.drawing.format import clean, duration
from benchtui.tui.drawing.plot import Canvas
from benchtui.tui.drawing.styled_text import BLANK, Line, crop, line, side_by_side, wrap_facts

LEAST_HEIGHT, MOST_HEIGHT = 3, 14
"""Minimum and maximum rows of a trace, depending on the height of the page."""
TIME_CELLS = 12
"""Minimum distance between two labels of the time axis, in cells."""
NEAR_LIMIT = 1.5
"""Limits up to this multiple of the largest reading are drawn. Higher ones would flatten the trace."""
GAP = 4
LABELS = 9
"""Cells left of a trace, for axis labels."""
MOST_POINTS = 4000
"""Maximum number of readings drawn per trace. Longer traces are subsampled."""

TWO_COLUMN_WIDTH = 100
"""Width in cells from which two traces are drawn side by side."""
DEGREES = "degrees"
"""Placeholder for the degree symbol of ``Symbols``."""

GPU = (
    ("power_w", "power", "W"),
    ("graphics_clock_mhz", "clock", "MHz"),
    ("temperature_c", "temperature", DEGREES),
    ("memory_used_mb", "VRAM", "MiB"),
    ("utilization_percent", "utilization", "%"),
    *((name, label, unit) for name, (label, unit) in GPU_ACTIVITY.items()),
)
HOST = (
    ("worker_cpu_percent", "worker CPU", "%"),
    ("cpu_percent", "all CPUs", "%"),
    ("worker_rss_mb", "worker RSS", "MiB"),
    ("memory_used_mb", "memory", "MiB"),
    *((name, label, unit) for name, (label, unit) in HOST_ACTIVITY.items()),
)


class Series(msgspec.Struct, frozen=True):
    """Time series of one reading within a span of session time."""

    label: str
    unit: str
    at_s: Sequence[float]
    values: Sequence[float]
    limit: float | None = None
    """Upper limit in the unit of the reading; None if there is none, or if it is unknown."""


def measured_span(case: CaseState, now_s: float) -> tuple[float, float] | None:
    """Return the session time span in which a case was measured.

    If that is unknown, return the span from its start to its end or to now; None before it has started.
    """
    if case.finished and case.finished.measured_s:
        return case.finished.measured_s
    if case.started is None:
        return None
    return case.started.t, case.finished.t if case.finished else now_s


def trace_lines(
    session: Session,
    case: CaseState,
    machine: MachineState,
    now_s: float,
    size: tuple[int, int],
    symbols: Symbols,
) -> list[Line]:
    """Render a trace of each reading of the case's device and worker, and any throttling.

    ``machine`` contains the readings of the machine that the case is running on, or ran on last. ``size`` is
    the width and height of the page; the traces fill it, and exceed it if there are many.
    """
    span = measured_span(case, now_s)
    if span is None:
        return [line(("the case has not started: no readings", "muted"))]
    gpu, (width, height) = session.gpu_of(case), size
    readings = _readings(machine, gpu, span)
    if not readings:
        return [line(("no readings: the measurement was shorter than the sampling interval", "muted"))]
    head = _head(machine, readings, span, width, symbols)
    spans = () if gpu is None else machine.throttle_spans.get(gpu, ())
    throttling = [] if gpu is None else _throttle_lines(spans, span, width, symbols)
    return [*head, *_traces(readings, span, width, height - len(head) - len(throttling), symbols), *throttling]


def _head(
    machine: MachineState, readings: Sequence[Series], span: tuple[float, float], width: int, symbols: Symbols
) -> list[Line]:
    """Render the span of the session that the traces show, and which part of it is missing."""
    most = max(len(reading.values) for reading in readings)
    when = f"session time {span[0]:,.1f} s to {span[1]:,.1f} s"
    words = [f"{when}, {duration(span[1] - span[0])}, {count(most, 'reading')}"]
    if machine.readings_from_s > span[0]:
        words.append(
            f"readings before {machine.readings_from_s:,.1f} s can be reloaded once the case has ended"
        )
    return [crop([(text, "muted")], width, symbols) for text in words]


def _traces(
    readings: Sequence[Series], span: tuple[float, float], width: int, height: int, symbols: Symbols
) -> list[Line]:
    """Render the traces, as tall as the page allows; side by side if it is wide."""
    across = 2 if width >= TWO_COLUMN_WIDTH else 1
    chart_width = (width - GAP * (across - 1)) // across
    down = -(-len(readings) // across)
    rows = min(max(height // down - 2, LEAST_HEIGHT), MOST_HEIGHT)
    drawn = [_drawn(reading, span, (chart_width, rows), symbols) for reading in readings]
    return [
        row
        for at in range(0, len(drawn), across)
        for row in side_by_side(drawn[at : at + across], chart_width + GAP)
    ]


def readings_in_memory(case: CaseState, machine: MachineState, now_s: float) -> bool:
    """Return whether all readings of a case are in memory. True until it ends: it can't be reloaded before."""
    span = measured_span(case, now_s)
    return case.finished is None or span is None or machine.readings_from_s <= span[0]


def _readings(machine: MachineState, gpu: int | None, span: tuple[float, float]) -> list[Series]:
    device = [] if gpu is None else [(machine.gpus.get(gpu, Trace()), names) for names in GPU]
    host = [(machine.trace, names) for names in HOST]
    newest = None if gpu is None else machine.gpu_readings.get(gpu)
    limits = (
        {} if newest is None else {"power_w": newest.power_limit_w, "memory_used_mb": newest.memory_total_mb}
    )
    readings = [_within(trace, names, span, limits.get(names[0])) for trace, names in device]
    readings += [_within(trace, names, span) for trace, names in host]
    return [reading for reading in readings if len(reading.values)]


def _within(
    trace: Trace, names: tuple[str, str, str], span: tuple[float, float], limit: float | None = None
) -> Series:
    key, label, unit = names
    column = trace.columns.get(key, ())
    start, end = bisect_left(trace.at_s, span[0]), bisect_right(trace.at_s, span[1])
    every = max(
        1, -(-(end - start) // MOST_POINTS)
    )  # rounded up, because rounding down could keep twice as many
    places = [place for place in range(start, min(end, len(column)), every) if column[place] == column[place]]
    scale = MB / MIB if unit == "MiB" else 1.0
    at_s, values = [trace.at_s[place] for place in places], [scale * column[place] for place in places]
    return Series(label, unit, at_s, values, limit and scale * limit)


def _drawn(reading: Series, span: tuple[float, float], size: tuple[int, int], symbols: Symbols) -> list[Line]:
    values, limit = reading.values, reading.limit
    least, mean, most = min(values), sum(values) / len(values), max(values)
    unit = symbols.degree if reading.unit == DEGREES else reading.unit
    stats = (("min", least), ("mean", mean), ("max", most))
    facts = [[(f"{name} ", "muted"), (_format_value(value), "plain")] for name, value in stats]
    facts[-1] += [(" of ", "muted"), (_format_value(limit), "plain")] if limit else []
    title = [(f"{reading.label} {unit}".ljust(14), "plain")]
    head = wrap_facts([title, *facts], size[0])[0]
    near = limit is not None and most <= limit <= NEAR_LIMIT * most
    scale = _scale(least, limit if near and limit else most)
    return [head, *_curve(reading, span, scale, size, symbols), _time_axis(span, size[0], symbols)]


def _format_value(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}"


def _scale(least: float, most: float) -> Scale:
    """Return a scale around the values. Small variations aren't magnified."""
    room = max(most - least, 0.05 * abs(most), 1.0)
    return linear(max(0.0, (least + most - room) / 2), (least + most + room) / 2, 3, from_zero=False)


def _curve(
    reading: Series, span: tuple[float, float], scale: Scale, size: tuple[int, int], symbols: Symbols
) -> list[Line]:
    canvas = Canvas(max(size[0] - LABELS - 1, 10), size[1], symbols)
    across, down = canvas.width * canvas.across - 1, canvas.height * canvas.down - 1
    if reading.limit is not None and scale.low <= reading.limit <= scale.high:
        for x in range(0, across, 2 * canvas.across):
            canvas.dot(x, round((1 - scale.share(reading.limit)) * down), "warning")
    length = max(span[1] - span[0], 1e-9)
    before: tuple[int, int] | None = None
    for at, value in zip(reading.at_s, reading.values, strict=True):
        now = round((at - span[0]) / length * across), round((1 - scale.share(value)) * down)
        canvas.stroke(before or now, now, "accent")
        before = now
    ends = {0: tick_text(scale.high), canvas.height - 1: tick_text(scale.low)}
    return [
        line((f"{ends.get(row, ''):>{LABELS - 1}} ", "muted"), (symbols.axis, "faint"), *drawn)
        for row, drawn in enumerate(canvas.lines())
    ]


def _time_axis(span: tuple[float, float], width: int, symbols: Symbols) -> Line:
    """Render the time since the start of the span, below a trace."""
    room, length_s = max(width - LABELS - 1, 10), max(span[1] - span[0], 1e-9)
    every_s = time_interval(length_s * TIME_CELLS / room)
    times = (every_s * number for number in range(int(length_s / every_s) + 1))
    texts = [(round(at_s / length_s * (room - 1)), time_text(at_s)) for at_s in times]
    return line((" " * LABELS, "plain"), (symbols.corner, "faint"), (placed(texts, room), "muted"))


def _throttle_lines(
    throttle_spans: Iterable[ThrottleSpan], span: tuple[float, float], width: int, symbols: Symbols
) -> list[Line]:
    spans = [throttle for throttle in throttle_spans if throttle.reasons]
    within = [throttle for throttle in spans if throttle.end_s >= span[0] and throttle.start_s <= span[1]]
    if not within:
        return [BLANK, line(("the clock was not throttled", "muted"))]
    rows = []
    for throttle in within:
        start_s, end_s = max(throttle.start_s, span[0]), min(throttle.end_s, span[1])
        reasons = clean(throttle.reasons).replace("_", " ").replace("+", ", ")
        when = f"  {start_s:>9,.1f} s to {end_s:>9,.1f} s   "
        rows.append(crop([(when, "muted"), (reasons, "warning")], width, symbols))
    return [BLANK, line((f"{symbols.flag} the clock was throttled", "warning")), *rows]
