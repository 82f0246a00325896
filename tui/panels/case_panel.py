"""Case panel: options, phase, and metrics of the running or selected case. Independent of Textual."""

from dataclasses import dataclass

from benchtui.sessions.estimates.eta import Estimate, StepsLeft
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.drawing.bars import bar
from benchtui.tui.drawing.styled_text import Line, Span, crop, justify, line, width_of
from benchtui.tui.panels.header import time_left


@dataclass(frozen=True, slots=True)
class PanelMetrics:
    """Metrics of the measured steps; None if there are too few steps."""

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
    """Share of the whole step, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Current:
    """Snapshot of a case for the upper panel."""

    title: str
    position: str
    """Position among the cases, in words."""
    phase: str
    """Phase, such as ``loading model``, ``warm-up``, or ``measuring``; else the outcome."""
    role: str
    """Color role of the phase."""
    done: int = 0
    """Steps completed in this phase."""
    planned: int = 0
    """Steps planned for this phase; 0 if not counted."""
    needed: StepsLeft | None = None
    """What the round still needs, unless it has a fixed number of steps."""
    left: Estimate | None = None
    remark: str = ""
    """Why the case ended, or how long the phase has lasted."""
    hint: str = ""
    """What to do next, if there are no metrics."""
    metrics: PanelMetrics | None = None


def current_lines(current: Current, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the options, the phase with its progress, and the metrics."""
    title = justify([(current.title, "strong")], [(current.position, "muted")], width, symbols)
    return [title, _phase(current, width, symbols), _metrics_or_hint(current, width, symbols)][:height]


def needs_words(needed: StepsLeft, symbols: Symbols) -> str:
    """Format what the round still needs, such as ``needs ~40 more for ±0.3 %``."""
    about = f"{symbols.about}" if needed.rough else ""
    if needed.limited:
        return f"time for {about}{needed.steps:,} more"
    more = f"needs {about}{needed.steps:,} more"
    if needed.min_time_s is not None:
        return f"{more} for {needed.min_time_s:g} s"
    if needed.percent is not None:
        return f"{more} for {symbols.plus_minus}{needed.percent:g} %"
    return f"{more} to estimate the noise" if needed.rough else more


def part_lines(parts: tuple[Part, ...], width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the parts of a step as one stacked bar, with a legend below."""
    if not parts or height < 2 or width < 20:
        return []
    ends = [round(sum(part.share for part in parts[: at + 1]) * width) for at in range(len(parts))]
    sizes = [max(0, min(end, width) - start) for start, end in zip([0, *ends], ends, strict=False)]
    stacked = [(_fill(at, symbols) * size, _SHADES[at % len(_SHADES)]) for at, size in enumerate(sizes)]
    return [line(*stacked), *_legend(parts, width, symbols)][:height]


def part_table(parts: tuple[Part, ...], width: int, symbols: Symbols) -> list[Line]:
    """Render the parts of a step, one bar each."""
    return [line(*_part(part, width, symbols)) for part in parts]


def _phase(current: Current, width: int, symbols: Symbols) -> Line:
    word: Span = (f"{current.phase:<15}", current.role)
    if not current.planned:
        return crop([word, (current.remark, "muted")], width, symbols)
    digits = len(str(current.planned))
    about = symbols.about if current.needed and current.needed.rough else ""
    count = f"{current.done:>{digits}}/{about}{current.planned} "
    left = time_left(current.left, symbols)
    goal = f"   {needs_words(current.needed, symbols)}" if current.needed else ""
    text_width = len(left) + len(goal) + 4
    room = max(8, min(40, width - 15 - len(count) - max(text_width, 18)))
    progress = bar(current.done / current.planned, room, symbols)
    return crop([word, (count, "plain"), *progress, (f"  {left}", "muted"), (goal, "plain")], width, symbols)


def _metrics_or_hint(current: Current, width: int, symbols: Symbols) -> Line:
    if current.metrics is None:
        return crop([(current.hint, "plain")], width, symbols)
    return _metrics(current.metrics, width, symbols)


def _metrics(metrics: PanelMetrics, width: int, symbols: Symbols) -> Line:
    p50, p99 = (format.milliseconds(value, symbols) for value in (metrics.p50_ms, metrics.p99_ms))
    interval = format.percent(metrics.interval_percent, symbols)
    pieces: list[Span] = [
        ("p50 ", "muted"),
        (f"{p50:>7}", "bright"),
        (" ms  p99 ", "muted"),
        (f"{p99:>7}", "bright"),
        (f" ms  {symbols.plus_minus}", "muted"),
        (f"{interval:>5}", "plain"),
        (" %  ", "muted"),
        (f"{format.rate(metrics.samples_per_s, symbols):>9}", "bright"),
        (" samples/s  n ", "muted"),
        (f"{metrics.n}", "plain"),
    ]
    return crop(pieces, width, symbols)


_SHADES = ("accent", "soft", "muted", "faint")
"""Color roles of adjacent parts, which also differ in fill."""


def _fill(at: int, symbols: Symbols) -> str:
    return symbols.fills[at % len(symbols.fills)]


def _legend(parts: tuple[Part, ...], width: int, symbols: Symbols) -> list[Line]:
    """Render each part's fill, name, time, and share, as many per line as fit."""
    lines: list[Line] = []
    pieces: list[Span] = []
    for at, part in enumerate(parts):
        ms = format.milliseconds(part.mean_ms, symbols)
        word = f"{part.name} {ms} ms  {100 * part.share:.0f} %   "
        entry: list[Span] = [(f"{_fill(at, symbols)} ", _SHADES[at % len(_SHADES)]), (word, "muted")]
        if pieces and width_of([*pieces, *entry]) > width + 3:
            lines.append(crop(pieces, width, symbols))
            pieces = []
        pieces += entry
    return [*lines, crop(pieces, width + 3, symbols)]


def _part(part: Part, width: int, symbols: Symbols) -> list[Span]:
    head: list[Span] = [
        (format.fit(part.name, 10, symbols), "muted"),
        (f"{part.mean_ms:>9.2f}", "plain"),
        (f"{100 * part.share:>4.0f} % ", "muted"),
    ]
    return [*head, *bar(part.share, max(4, width - 26), symbols)]
