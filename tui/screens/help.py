"""Help for the place it was asked from; knows no Textual."""

from collections.abc import Sequence

from benchtui.themes import Symbols
from benchtui.tui.widgets.ink import BLANK, Line, line

Keys = Sequence[tuple[str, str]]

MONITOR_KEYS = (
    ("q", "quit; while the sweep runs: detach (it goes on) or stop it"),
    ("d", "detach: leave the screen, the sweep goes on; benchtui attach shows it again"),
    ("s", "stop the sweep, after a question; what was measured is kept"),
    ("x", "skip the case that runs"),
    ("space", "freeze the display; the sweep goes on"),
    ("arrows, h j k l", "choose a case; the upper part then shows it"),
    ("g  G", "first and last case"),
    ("enter", "all that is known of the chosen case, or of the one shown"),
    ("esc", "back to the case that runs"),
    ("+  -", "draw more often, less often"),
    ("t", "next theme"),
    ("D", "what the screen itself costs"),
    ("ctrl+p  :", "all commands by name"),
    ("ctrl+z", "suspend the screen; fg brings it back"),
    ("?  f1", "this page"),
)

CHOOSER_KEYS = (
    ("arrows, j k", "choose"),
    ("enter", "start a sweep, watch one that runs, open a recorded one"),
    ("r", "look again for sweeps, engines and sessions"),
    ("t", "next theme"),
    ("ctrl+p  :", "all commands by name"),
    ("q  esc", "quit"),
)


def monitor_help(symbols: Symbols) -> list[Line]:
    """Keys and signs of the Monitor."""
    about = f"{symbols.plus_minus} %"
    readings = (
        ("p50", "median of the measured steps, tokenizing included"),
        ("p99", f"the slowest 1 %; {symbols.absent} below 100 steps"),
        (about, "half the width of the median's 95 % interval"),
        ("vs base", f"samples/s over the baseline's; {symbols.about} where they can't be told apart"),
        ("memory", "peak on the device; on the processor, resident memory of the worker"),
        (f"{symbols.shade}{symbols.shade}", "warm-up: recorded, never counted"),
        (symbols.above, "steps above the scale"),
        (f"{symbols.about} left", "rests on cases with other options"),
        (symbols.flag, "what to know before believing the figures"),
    )
    states = ("running", "queued", "ok", "oom", "skipped", "failed", "timeout", "interrupted")
    signs = tuple((f"{getattr(symbols, state)}", state) for state in states)
    return [*_table("Keys", MONITOR_KEYS), BLANK, *_table("Figures", readings), BLANK, *_table("States", signs)]


CHARTS_KEYS = (
    ("f  F", "next figure, the one before"),
    ("x", "next axis; of a Pareto front, what throughput is weighed against"),
    ("up down, k j", "choose a line, or a case of the front"),
    ("left right", "choose a point of the line"),
    ("enter", "all that is known of the chosen case"),
    ("p", "Pareto front: the cases that no other beats, and back"),
    ("l", "logarithmic or linear scale"),
    ("/", "show only lines with these words, such as fp16; esc drops them"),
    ("y", "copy the table as markdown"),
    ("t", "next theme"),
    ("ctrl+p  :", "all commands by name"),
    ("q", "quit"),
)


CASE_KEYS = (
    ("tab  l", "next section"),
    ("shift+tab  h", "section before"),
    ("right  n", "next case, in the same section"),
    ("left  p", "case before"),
    ("up down  k j", "scroll; page keys, g and G go further"),
    ("o  /", "next outlier among the steps; O the one before"),
    ("y", "copy the case as markdown"),
    ("esc  q", "back"),
)


def case_help(symbols: Symbols) -> list[Line]:
    """Keys and signs of a case."""
    signs = (
        (symbols.ok, "asked for, and read back as such"),
        (symbols.failed, "asked for, and not in force"),
        (symbols.absent, "not read back"),
        (symbols.above, "outlier: so far off that something else must have happened; it stays in all figures"),
    )
    return [*_table("Keys", CASE_KEYS), BLANK, *_table("Signs", signs)]


def charts_help(symbols: Symbols) -> list[Line]:
    """Keys and signs of the Charts."""
    signs = (
        ("a b c", "a point of that line; a bar through it is its 95 % interval"),
        (f"{symbols.oom}{symbols.failed}{symbols.timeout}", "on the axis: out of memory, failed, timed out"),
        ("front", "no other case has more samples/s at no higher cost"),
    )
    return [*_table("Keys", CHARTS_KEYS), BLANK, *_table("Signs", signs)]


def chooser_help() -> list[Line]:
    """Keys of the chooser."""
    return _table("Keys", CHOOSER_KEYS)


def _table(title: str, rows: Keys) -> list[Line]:
    size = max(len(key) for key, _ in rows)
    lines = [line((f"  {key:<{size}}   ", "accent"), (does, "plain")) for key, does in rows]
    return [line((title, "strong")), *lines]
