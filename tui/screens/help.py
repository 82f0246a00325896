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

EDITOR_KEYS = (
    ("arrows, h j k l", "choose a line and its values, or a case and its options"),
    ("enter  e", "type the value; checked at each keystroke; esc: as it was"),
    ("space", "put a value on or off, or take the next; switch a case"),
    ("a", "switch all cases that share the value under the cursor"),
    ("d", "back to the default"),
    ("tab", "to the cases, and back to the entries"),
    ("u  ctrl+r", "take back, make again; opening a sweep as well"),
    ("o", "open a preset, a TOML file, or the sweep of a session"),
    ("w  ctrl+s", "save as a TOML file; comments are kept"),
    ("s", "start the sweep, and watch it"),
    ("t", "next theme"),
    ("ctrl+p  :", "all commands by name"),
    ("q", "quit; asks where changes would be lost"),
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


def editor_help(symbols: Symbols) -> list[Line]:
    """Keys and signs of the Sweep place."""
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
        ("12.3?", "a guess: 2 operations a parameter and token, in training 6;"),
        ("", "100e9 of them a second on cpu, 10e12 on cuda;"),
        ("", "memory of weights and libraries alone"),
    )
    return [*_table("Keys", EDITOR_KEYS), BLANK, *_table("Values", values), BLANK, *_table("Signs", signs)]


def _table(title: str, rows: Keys) -> list[Line]:
    size = max(len(key) for key, _ in rows)
    lines = [line((f"  {key:<{size}}   ", "accent"), (does, "plain")) for key, does in rows]
    return [line((title, "strong")), *lines]
