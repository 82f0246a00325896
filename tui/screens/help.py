"""Help for the place it was asked from: its keys as they are mapped, and its figures and signs."""

import textwrap
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from textual.screen import Screen

from benchtui.themes import Symbols
from benchtui.tui.keymap import Bound, active, shown
from benchtui.tui.screens.page import Page
from benchtui.tui.widgets.ink import BLANK, Line, line
from benchtui.tui.widgets.transport import SIGNS

Rows = tuple[tuple[str, str], ...]
Section = tuple[str, Rows]
"""A title, and what is explained under it."""
TENTHS = "replay.share_"
TENTHS_ROW = ("0 to 9", "Go to 0 %, 10 % up to 90 % of the record")


def open_help(screen: Screen[Any], symbols: Symbols, sections: Callable[[Symbols], Sequence[Section]]) -> None:
    """Show what the keys of a screen do, and what else there is to explain of it."""
    explained = (("Keys", key_rows(active(screen))), *sections(symbols))
    screen.app.push_screen(Page(lambda width: help_lines(explained, width), symbols))


def help_lines(sections: Sequence[Section], width: int) -> list[Line]:
    """Sections below each other; what is too long for a line goes on under its own beginning."""
    lines: list[Line] = []
    for title, rows in sections:
        lines += [*([BLANK] if lines else []), line((title, "strong")), *_table(rows, width)]
    return lines


def key_rows(keys: Sequence[Bound]) -> Rows:
    """What is bound; the tenths of a record, while they are on their numbers, are one row."""
    rows: list[tuple[str, str]] = []
    for tenths, group in groupby(keys, _is_tenth):
        each = [(shown(one.keys), f"{one.does}: {one.about}" if one.about else one.does) for one in group]
        rows += [TENTHS_ROW] if tenths else each
    return tuple(rows)


def monitor_help(symbols: Symbols) -> Sequence[Section]:
    """Figures and signs of the Monitor."""
    readings = (
        ("p50", "median of the measured steps, tokenizing included"),
        ("p99", f"the slowest 1 %; {symbols.absent} below 100 steps"),
        (f"{symbols.plus_minus} %", "half the width of the median's 95 % interval"),
        ("vs base", "samples/s at the typical step, over the baseline's; as the report and compare judge it"),
        ("= 1.00x", "the same: the whole 95 % interval lies within the margin (2 %)"),
        ("? 1.30x", "unsure: the interval is too wide to call, or something speaks against it"),
        ("memory", "peak on the device; on the processor, resident memory of the worker"),
        (f"{symbols.shade}{symbols.shade}", "warm-up: recorded, never counted"),
        (symbols.above, "steps above the scale"),
        (symbols.outlier, "an outlier: 14.8 median absolute deviations off, told and never removed"),
        (symbols.throttled, "heat or the power supply held the clock down"),
        (symbols.compiling, "the compiler was at work"),
        (f"{symbols.round}2", "the second round begins"),
        (f"{symbols.about}1,234", "of a queued case: the memory it is expected to need"),
        (f"{symbols.about} left", "rests on cases with other options"),
        (symbols.flag, "what to know before believing the figures"),
    )
    states = ("running", "queued", "ok", "oom", "skipped", "failed", "timeout", "interrupted")
    return (("Figures", readings), ("States", tuple((getattr(symbols, state), state) for state in states)))


def replay_help(symbols: Symbols) -> Sequence[Section]:
    """Figures and signs of a replay: those of the transport line, and those of the Monitor."""
    kinds = {"outlier": "steps far off the others", "throttled": "throttled, repeated, resumed, or a warning"}
    named = {kind: kinds.get(kind, f"case {kind}") for kind in ("begin", *kinds, "oom", "failed", "timeout")}
    named["begin"] = "a case begins"
    below = tuple((str(getattr(symbols, SIGNS[kind][0])), word) for kind, word in named.items())
    return (("Below the bar", below), *monitor_help(symbols))


def case_help(symbols: Symbols) -> Sequence[Section]:
    """Signs of a case."""
    signs = (
        (symbols.ok, "asked for, and read back as such"),
        (symbols.failed, "asked for, and not in force"),
        (symbols.absent, "not read back"),
        (symbols.above, "outlier: so far off that something else must have happened; it stays in all figures"),
    )
    return (("Signs", signs),)


def charts_help(symbols: Symbols) -> Sequence[Section]:
    """Signs of the Charts."""
    signs = (
        ("a b c", "a point of that line; a bar through it is its 95 % interval"),
        (f"{symbols.oom}{symbols.failed}{symbols.timeout}", "on the axis: out of memory, failed, timed out"),
        ("front", "no other case has more samples/s at no higher cost"),
    )
    return (("Signs", signs),)


def editor_help(symbols: Symbols) -> Sequence[Section]:
    """Values and signs of the Sweep place."""
    values = (
        ("1,4,32", "these values; every combination of values is a case"),
        ("1..8", "all from 1 to 8; 1..8+2: every second one"),
        ("1..128*2", "doubled each time"),
    )
    signs = (
        (symbols.ok, "a case that will be measured; a value that is on"),
        (symbols.skipped, "switched off: saved as [[exclude]]"),
        (symbols.absent, "skipped, because it would mean nothing"),
        ("12.3", "as measured in an earlier session on this machine"),
        (f"{symbols.about}12.3", "by cases of other options in earlier sessions"),
        (
            "12.3?",
            "a guess: 2 operations a parameter and token, in training 6; 100e9 of them a second on cpu, "
            "10e12 on cuda; memory of weights and libraries alone",
        ),
    )
    return (("Values", values), ("Signs", signs))


def library_help(symbols: Symbols) -> Sequence[Section]:
    """Columns and outcomes of the library."""
    columns = (
        ("measured", "cases that ended well, of those that were planned"),
        ("samples/s", f"of the best case; {symbols.absent} where none was measured"),
        ("A B C", "the marked sessions; A is the base"),
        (symbols.flag, "what to know before believing the figures"),
    )
    outcomes = (
        (symbols.running, "running"),
        (symbols.ok, "completed"),
        (symbols.interrupted, "interrupted, cut off"),
        (symbols.failed, "failed, or not readable"),
    )
    return (("Columns", columns), ("Outcomes", outcomes))


def compare_help(symbols: Symbols) -> Sequence[Section]:
    """Figures and verdicts of the comparison."""
    figures = (
        ("ratio", "how many times as fast; above 1 the new session is the faster one"),
        ("interval", "95 % interval of the ratio: steps, fresh processes, sessions"),
        ("p50", "median step; the mean where the source kept no steps"),
        ("MB", "peak memory: on the device; on the processor, resident memory of the worker"),
        ("J/1k", "joules for a thousand samples"),
    )
    verdicts = (
        ("F faster", "the whole 99 % interval lies above 1 by more than 0.5 %"),
        ("S slower", "the whole 99 % interval lies below 1 by more than 0.5 %"),
        ("= same", "the whole 95 % interval lies within the margin (2 %)"),
        ("? unsure", "all else; the chosen row says why, and what would decide it"),
        (f"{symbols.failed} lost", "measured in the base, planned and not measured in the new session"),
    )
    return (("Figures", figures), ("Verdicts", verdicts))


def no_signs(symbols: Symbols) -> Sequence[Section]:
    """Nothing but keys."""
    return ()


def _is_tenth(each: Bound) -> bool:
    return each.id.startswith(TENTHS) and each.keys == each.id.removeprefix(TENTHS)[:1]


def _table(rows: Rows, width: int) -> list[Line]:
    size = max((len(name) for name, _ in rows), default=0)
    lines: list[Line] = []
    for name, text in rows:
        first, *others = textwrap.wrap(text, max(width - size - 5, 20)) or [""]
        lines.append(line((f"  {name:<{size}}   ", "accent"), (first, "plain")))
        lines += [line((" " * (size + 5) + other, "plain")) for other in others]
    return lines
