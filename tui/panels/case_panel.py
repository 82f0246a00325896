"""The case that runs, or the one that was chosen: its options, phase and figures; knows no Textual."""

from dataclasses import dataclass

from benchtui.sessions.estimates.eta import Estimate, StepsLeft
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.drawing.bars import bar
from benchtui.tui.drawing.styled_text import Line, Span, crop, justify, line, width_of
from benchtui.tui.panels.header import time_left


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
    """Steps that the phase is going to take; 0 where nothing is counted."""
    needed: StepsLeft | None = None
    """What the round still waits for, where no fixed number of steps ends it."""
    left: Estimate | None = None
    remark: str = ""
    """Why it ended as it did, or how long the phase has lasted."""
    hint: str = ""
    """What to do next, where there are no figures."""
    figures: Figures | None = None


def current_lines(current: Current, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Options, phase with its progress, figures."""
    title = justify([(current.title, "strong")], [(current.position, "muted")], width, symbols)
    return [title, _phase(current, width, symbols), _third(current, width, symbols)][:height]


def needs_words(needed: StepsLeft, symbols: Symbols) -> str:
    """What measuring still waits for, such as ``needs ~40 more for ±0.3 %``."""
    about = f"{symbols.about}" if needed.rough else ""
    if needed.limited:
        return f"time for {about}{needed.steps:,} more"
    aim = "to know the noise" if needed.percent is None else f"for {symbols.plus_minus}{needed.percent:g} %"
    return f"needs {about}{needed.steps:,} more {aim}"


def part_lines(parts: tuple[Part, ...], width: int, height: int, symbols: Symbols) -> list[Line]:
    """The parts of a step as one bar, and below it what each is."""
    if not parts or height < 2 or width < 20:
        return []
    ends = [round(sum(part.share for part in parts[: at + 1]) * width) for at in range(len(parts))]
    sizes = [max(0, min(end, width) - start) for start, end in zip([0, *ends], ends, strict=False)]
    stacked = [(_fill(at, symbols) * size, _SHADES[at % len(_SHADES)]) for at, size in enumerate(sizes)]
    return [line(*stacked), *_legend(parts, width, symbols)][:height]


def part_table(parts: tuple[Part, ...], width: int, symbols: Symbols) -> list[Line]:
    """The parts of a step, a bar each."""
    return [line(*_part(part, width, symbols)) for part in parts]


def _phase(current: Current, width: int, symbols: Symbols) -> Line:
    word: Span = (f"{current.phase:<15}", current.role)
    if not current.planned:
        return crop([word, (current.remark, "muted")], width, symbols)
    digits = len(str(current.planned))
    about = symbols.about if current.needed and current.needed.rough else ""
    count = f"{current.done:>{digits}}/{about}{current.planned} "
    left = time_left(current.left, symbols)
    aim = f"   {needs_words(current.needed, symbols)}" if current.needed else ""
    said = len(left) + len(aim) + 4
    room = max(8, min(40, width - 15 - len(count) - max(said, 18)))
    progress = bar(current.done / current.planned, room, symbols)
    return crop([word, (count, "plain"), *progress, (f"  {left}", "muted"), (aim, "plain")], width, symbols)


def _third(current: Current, width: int, symbols: Symbols) -> Line:
    if current.figures is None:
        return crop([(current.hint, "plain")], width, symbols)
    return _figures(current.figures, width, symbols)


def _figures(figures: Figures, width: int, symbols: Symbols) -> Line:
    p50, p99 = (format.milliseconds(value, symbols) for value in (figures.p50_ms, figures.p99_ms))
    interval = format.percent(figures.interval_percent, symbols)
    pieces: list[Span] = [
        ("p50 ", "muted"),
        (f"{p50:>7}", "bright"),
        (" ms  p99 ", "muted"),
        (f"{p99:>7}", "bright"),
        (f" ms  {symbols.plus_minus}", "muted"),
        (f"{interval:>5}", "plain"),
        (" %  ", "muted"),
        (f"{format.rate(figures.samples_per_s, symbols):>9}", "bright"),
        (" samples/s  n ", "muted"),
        (f"{figures.n}", "plain"),
    ]
    return crop(pieces, width, symbols)


_SHADES = ("accent", "soft", "muted", "faint")
"""Roles of neighbouring parts, which have different fills as well."""


def _fill(at: int, symbols: Symbols) -> str:
    return symbols.fills[at % len(symbols.fills)]


def _legend(parts: tuple[Part, ...], width: int, symbols: Symbols) -> list[Line]:
    """Each part's fill, name, time and share; as many to a line as there is room for."""
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
