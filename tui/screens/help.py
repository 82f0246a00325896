"""Help for the place it was asked from; knows no Textual."""

from collections.abc import Sequence

from benchtui.themes import Symbols
from benchtui.tui.keymap import Bound, shown
from benchtui.tui.widgets.ink import BLANK, Line, line

Keys = Sequence[tuple[str, str]]

CHOOSER_KEYS = (
    ("arrows, j k", "choose"),
    ("enter", "start a sweep, watch one that runs, open a recorded one"),
    ("r", "look again for sweeps, engines and sessions"),
    ("t", "next theme"),
    ("ctrl+p  :", "all commands by name"),
    ("q  esc", "quit"),
)


def monitor_help(keys: Sequence[Bound], symbols: Symbols) -> list[Line]:
    """Keys, as they are mapped, and signs of the Monitor."""
    about = f"{symbols.plus_minus} %"
    readings = (
        ("p50", "median of the measured steps, tokenizing included"),
        ("p99", f"the slowest 1 %; {symbols.absent} below 100 steps"),
        (about, "half the width of the median's 95 % interval"),
        ("vs base", f"samples/s over the baseline's; {symbols.about} where they can't be told apart"),
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
    signs = tuple((f"{getattr(symbols, state)}", state) for state in states)
    return [
        *_table("Keys", key_rows(keys)),
        BLANK,
        *_table("Figures", readings),
        BLANK,
        *_table("States", signs),
    ]


def key_rows(keys: Sequence[Bound]) -> list[tuple[str, str]]:
    """What is bound, for a table of help."""
    return [(shown(each.keys), f"{each.does}: {each.about}" if each.about else each.does) for each in keys]


def chooser_help() -> list[Line]:
    """Keys of the chooser."""
    return _table("Keys", CHOOSER_KEYS)


def _table(title: str, rows: Keys) -> list[Line]:
    size = max(len(key) for key, _ in rows)
    lines = [line((f"  {key:<{size}}   ", "accent"), (does, "plain")) for key, does in rows]
    return [line((title, "strong")), *lines]
