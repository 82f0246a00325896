"""Help for the place it was asked from; knows no Textual."""

from collections.abc import Sequence

from benchtui.themes import Symbols
from benchtui.tui.widgets.ink import BLANK, Line, line
from benchtui.tui.widgets.transport import SIGNS

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
    ("R", "replay what has been recorded, from its beginning"),
    ("+  -", "draw more often, less often"),
    ("t", "next theme"),
    ("D", "what the screen itself costs"),
    ("ctrl+p  :", "all commands by name"),
    ("ctrl+z", "suspend the screen; fg brings it back"),
    ("?  f1", "this page"),
)

REPLAY_KEYS = (
    ("space", "play, or stand still; at the end, play once more"),
    ("[  ]", "to the recorded moment before, and after; held down, ever further"),
    ("{  }", "to the event before, and after: a case begins or ends, throttling, an outlier, a message"),
    ("<  >", "slower, faster: from 0.25 to 64 times"),
    ("0 to 9", "to 0 %, 10 % up to 90 % of the record"),
    ("g", "to a time, a share or a case: 90, 1:30, 50%, case 3"),
    ("tab  shift+tab", "next place, previous place; from there the numbers lead to places again"),
    ("esc", "back to the case that ran; leave the replay for the end of the session"),
    ("q", "quit"),
    ("arrows, h j k l", "choose a case; the upper part then shows it"),
    ("home  G", "first and last case"),
    ("enter", "all that was known of the chosen case, or of the one shown"),
    ("+  -", "draw more often, less often"),
    ("t", "next theme"),
    ("D", "what the screen itself costs"),
    ("ctrl+p  :", "all commands by name"),
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
    return [*_table("Keys", MONITOR_KEYS), BLANK, *_signs(symbols)]


def replay_help(symbols: Symbols) -> list[Line]:
    """Keys of a replay, and signs of the Monitor and of the transport line."""
    kinds = {"outlier": "steps far off the others", "throttled": "throttled, repeated, or a warning"}
    named = {kind: kinds.get(kind, f"case {kind}") for kind in ("begin", *kinds, "oom", "failed", "timeout")}
    named["begin"] = "a case begins"
    below = tuple((str(getattr(symbols, SIGNS[kind][0])), word) for kind, word in named.items())
    return [*_table("Keys", REPLAY_KEYS), BLANK, *_table("Below the bar", below), BLANK, *_signs(symbols)]


def _signs(symbols: Symbols) -> list[Line]:
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
    return [*_table("Figures", readings), BLANK, *_table("States", signs)]


def chooser_help() -> list[Line]:
    """Keys of the chooser."""
    return _table("Keys", CHOOSER_KEYS)


def _table(title: str, rows: Keys) -> list[Line]:
    size = max(len(key) for key, _ in rows)
    lines = [line((f"  {key:<{size}}   ", "accent"), (does, "plain")) for key, does in rows]
    return [line((title, "strong")), *lines]
