"""Help for the place it was asked from; knows no Textual."""

from collections.abc import Sequence

from benchtui.themes import Symbols
from benchtui.tui.keymap import Bound, shown
from benchtui.tui.widgets.ink import BLANK, Line, line
from benchtui.tui.widgets.transport import SIGNS

Keys = Sequence[tuple[str, str]]

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


def monitor_help(keys: Sequence[Bound], symbols: Symbols) -> list[Line]:
    """Keys, as they are mapped, and signs of the Monitor."""
    return [*_table("Keys", key_rows(keys)), BLANK, *_signs(symbols)]


def replay_help(symbols: Symbols) -> list[Line]:
    """Keys of a replay, and signs of the Monitor and of the transport line."""
    kinds = {"outlier": "steps far off the others", "throttled": "throttled, repeated, resumed, or a warning"}
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
    return [*_table("Figures", readings), BLANK, *_table("States", signs)]


def key_rows(keys: Sequence[Bound]) -> list[tuple[str, str]]:
    """What is bound, for a table of help."""
    return [(shown(each.keys), f"{each.does}: {each.about}" if each.about else each.does) for each in keys]


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


LIBRARY_KEYS = (
    ("arrows, j k  g G", "choose a session"),
    ("enter", "open it in the Monitor; one that runs with its engine"),
    ("R", "play it again from its beginning"),
    ("u", "resume it: run what is left of one that was interrupted or cut off"),
    ("space", "mark it for comparing; the first marked is the base, A"),
    ("c", "compare the marked sessions, or a single one with the chosen one"),
    ("e", "edit its sweep"),
    ("/", "filter by words of name, host, model, outcome or note; n N go through what is shown"),
    ("s", "sort by the next column"),
    ("m  F2", "rename"),
    ("o", "note, kept in a text file beside the session"),
    ("X  del", "delete the session and its note, after a question"),
    ("E", "write its report as markdown"),
    ("i", "import a session file: a copy goes into the library"),
    ("r", "look again"),
    ("esc", "back: what is asked, then the filter, then the marks"),
    ("t  :  ctrl+z", "next theme, all commands by name, suspend"),
    ("q", "quit"),
)


def library_help(symbols: Symbols) -> list[Line]:
    """Keys and columns of the library."""
    columns = (
        ("measured", "cases that ended well, of those that were planned"),
        ("samples/s", f"of the best case; {symbols.absent} where none was measured"),
        ("A B C", "the marked sessions; A is the base"),
        (symbols.flag, "what to know before believing the figures"),
    )
    signs = tuple(
        (f"{getattr(symbols, sign)}", word)
        for sign, word in (("running", "running"), ("ok", "completed"), ("interrupted", "interrupted, cut off"))
    )
    failed = (symbols.failed, "failed, or not readable")
    return [
        *_table("Keys", LIBRARY_KEYS),
        BLANK,
        *_table("Columns", columns),
        BLANK,
        *_table("Outcomes", (*signs, failed)),
    ]


COMPARE_KEYS = (
    ("arrows, j k  g G", "choose a case; the lower part shows both of its sides"),
    ("s", "sort by the plan, the slowest first, the fastest first, or the verdict"),
    ("/", "filter by words of case or verdict; n N go through what is shown"),
    ("b", "have the next session be the base, A"),
    ("d", "all that differs between machines, software, work and settings"),
    ("y  Y", "copy the case, or the whole comparison, as markdown; works over SSH"),
    ("E", "write the comparison as markdown"),
    ("esc", "back: what is asked, then the filter"),
    ("t  :  ctrl+z", "next theme, all commands by name, suspend"),
    ("q", "quit"),
)


def compare_help(symbols: Symbols) -> list[Line]:
    """Keys and signs of the comparison."""
    figures = (
        ("ratio", "how many times as fast; above 1 the new session is the faster one"),
        (
            "interval",
            "all that both cases' ranges allow (fastest step to third quartile), or the rounds from three on",
        ),
        ("p50", "median step; the mean where the source kept no steps"),
        ("MB", "peak memory: on the device; on the processor, resident memory of the worker"),
        ("J/1k", "joules for a thousand samples"),
    )
    verdicts = (
        ("F faster", "the whole interval lies above 1, by 0.5 % at least"),
        ("S slower", "the whole interval lies below 1, by 0.5 % at least"),
        ("= same", "the ranges overlap"),
        ("? unsure", "too few steps, or rounds that contradict the steps"),
        (f"{symbols.failed} lost", "measured in the base, planned and not measured in the new session"),
    )
    return [
        *_table("Keys", COMPARE_KEYS),
        BLANK,
        *_table("Figures", figures),
        BLANK,
        *_table("Verdicts", verdicts),
    ]
