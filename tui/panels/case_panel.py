"""Case panel: options, phase, and metrics of the running or selected case. Independent of Textual."""

import msgspec

from benchtui.sessions.estimates.eta import Estimate, StepsLeft
from benchtui.themes import LINES
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.drawing.bars import gauge_bar, partial_cells
from benchtui.tui.drawing.styled_text import GAP, Line, Span, crop, fitting_facts, line
from benchtui.tui.panels.header import time_left

SHARE_WIDTH = 6
"""Cells of a share with its percent sign."""
MIN_PART_BAR = 4
"""Minimum cells of a part's bar."""


class PanelMetrics(msgspec.Struct, frozen=True):
    """Metrics of the measured steps; None if there are too few steps."""

    n: int
    step_ms: float | None
    """Typical step, or the median of the steps so far."""
    p99_ms: float | None
    interval_percent: float | None
    rate: float | None
    unit: str = "samples/s"
    """Unit of the throughput."""
    unsteady: bool = False
    """Whether the rate holds only roughly."""


class Part(msgspec.Struct, frozen=True):
    """A timed part of a step."""

    name: str
    mean_ms: float
    share: float
    """Share of the whole step, from 0 to 1."""


class Current(msgspec.Struct, frozen=True):
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
    """Remaining condition of the stop rule, unless the round has a fixed number of steps."""
    left: Estimate | None = None
    remark: str = ""
    """Why the case ended, or how long the phase has lasted."""
    hints: tuple[str, ...] = ()
    """Notes and next steps to show if there are no metrics, the most important first."""
    metrics: PanelMetrics | None = None


def current_title(current: Current) -> tuple[list[Span], list[Span]]:
    """Return both ends of the panel's title: the case, and its position among the cases."""
    return [(current.title, "strong")], [(current.position, "muted")]


def current_lines(current: Current, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the phase with its progress, and the metrics."""
    return [_phase(current, width, symbols), _metrics_or_hint(current, width, symbols)][:height]


def needs_words(needed: StepsLeft | None, symbols: Symbols) -> str:
    """Format what the round still needs, such as ``about 40 more steps for ±0.3 %``; empty if unknown."""
    if needed is None:
        return ""
    about = "about " if needed.rough else ""
    more = f"{about}{needed.steps:,} more step{'s' * (needed.steps != 1)}"
    if needed.limited:
        return f"time for {more}"
    if needed.min_time_s is not None:
        return f"{more} for {needed.min_time_s:g} s"
    if needed.percent is not None:
        return f"{more} for {symbols.plus_minus}{needed.percent:g} %"
    return f"{more} to estimate the noise" if needed.rough else more


def part_lines(parts: tuple[Part, ...], width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the parts of a step in a row each; the smallest of too many are summed up in one row."""
    if height < 1 or width < 20:
        return []
    return part_table(_largest(parts, height), width, symbols)[:height]


def _largest(parts: tuple[Part, ...], most: int) -> tuple[Part, ...]:
    """Return the parts in order, with the smallest of too many summed up at the end."""
    if len(parts) <= most:
        return parts
    kept = sorted(parts, key=lambda part: -part.share)[: max(most - 1, 1)]
    rest = [part for part in parts if part not in kept]
    others = Part("others", sum(part.mean_ms for part in rest), sum(part.share for part in rest))
    return (*(part for part in parts if part in kept), others)


def part_table(parts: tuple[Part, ...], width: int, symbols: Symbols) -> list[Line]:
    """Render the parts of a step in a row each: name, time, bar, and share."""
    times = [_part_time(part) for part in parts]
    names, longest = max(len(part.name) for part in parts) if parts else 0, max(map(len, times), default=0)
    name_width = min(names, max(6, width - longest - SHARE_WIDTH - MIN_PART_BAR - 2))
    room = max(0, width - name_width - longest - SHARE_WIDTH - 2)
    return [
        line(
            (f"{format.fit(part.name, name_width, symbols)} ", "muted"),
            (f"{time:>{longest}} ", "plain"),
            *_part_bar(at, part.share, room, symbols),
            (f"{100 * part.share:>{SHARE_WIDTH - 2}.0f} %", "muted"),
        )
        for at, (part, time) in enumerate(zip(parts, times, strict=True))
    ]


def _part_time(part: Part) -> str:
    """Format the time of a part; that of a tiny one with a single digit."""
    return f"{format.significant(part.mean_ms, digits=3 if part.mean_ms >= 0.1 else 1)} ms"


def _part_bar(at: int, share: float, room: int, symbols: Symbols) -> list[Span]:
    """Draw a part's bar. Even a tiny part has a visible one."""
    cells = max(min(share, 1.0) * room, 1 / 8 if share > 0 else 0.0) if room else 0.0
    fill = partial_cells(cells, symbols) or symbols.eighths[1] * (cells > 0)
    return [(fill, f"line{at % LINES}"), (" " * (room - len(fill)), "plain")]


def _phase(current: Current, width: int, symbols: Symbols) -> Line:
    word: Span = (f"{current.phase:<15}", current.role)
    if not current.planned:
        return crop([word, (current.remark, "muted")], width, symbols)
    digits = len(str(current.planned))
    about = symbols.about if current.needed and current.needed.rough else ""
    count = f"{current.done:>{digits}}/{about}{current.planned} "
    remaining = time_left(current.left, symbols)
    words = needs_words(current.needed, symbols)
    needs = f"{GAP}{words}" if current.metrics is None and words else ""
    room = max(8, min(40, width - 15 - len(count) - max(len(remaining) + len(needs) + 2, 18)))
    progress = gauge_bar(current.done / current.planned, room, symbols, current.role)
    return crop(
        [word, (count, "plain"), *progress, (f"  {remaining}", "muted"), (needs, "plain")], width, symbols
    )


def _metrics_or_hint(current: Current, width: int, symbols: Symbols) -> Line:
    if current.metrics is None:
        return fitting_facts([[(hint, "plain")] for hint in current.hints], width)
    needs = needs_words(current.needed, symbols)
    facts = [*_metrics(current.metrics, symbols), *([[(needs, "plain")]] if needs else [])]
    return fitting_facts(facts, width)


def _metrics(metrics: PanelMetrics, symbols: Symbols) -> list[list[Span]]:
    """Return the metrics that are known, most important first."""
    unsteady = metrics.unsteady
    step, p99 = (format.significant(value, symbols) for value in (metrics.step_ms, metrics.p99_ms))
    rate = (symbols.about if unsteady else "") + format.significant(metrics.rate, symbols, 2 if unsteady else 3)
    facts: list[list[Span]] = [[("step ", "muted"), (step, "bright"), (" ms", "muted")]]
    if metrics.p99_ms is not None:
        facts.append([("p99 ", "muted"), (p99, "bright")])
    if metrics.interval_percent is not None:
        facts.append([(format.half_width(metrics.interval_percent, symbols), "plain")])
    facts.append([("n ", "muted"), (f"{metrics.n:,}", "plain")])
    return [*facts, [(rate, "bright"), (f" {metrics.unit}", "muted")]]
