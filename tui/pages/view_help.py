"""Help of the views: values, columns and signs. The keys come from the keymap."""

from collections.abc import Callable, Sequence

from benchtui.sessions.metrics.quantity import Quantity
from benchtui.sessions.metrics.views import COMPARED_ON_SCREEN
from benchtui.themes.symbols import Symbols
from benchtui.tui.pages.help import Rows, Section
from benchtui.tui.table.columns import ABOUT, TITLES, quantity_title


def editor_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the Sweep view."""
    values = (
        ("1,4,32", "these values; every combination is a case"),
        ("1..8", "all values from 1 to 8; 1..8+2: every second one"),
        ("1..128*2", "doubling from 1 to 128"),
    )
    signs = (
        (symbols.ok, "a case that will be measured; a value that is on"),
        (symbols.skipped, "a case that is off, saved as [[exclude]], or whose device isn't here"),
        (symbols.absent, "a skipped case: its options can't be combined"),
        ("12.3", "measured in an earlier session on this machine"),
        (f"{symbols.about}12.3", "estimated from cases with other options in earlier sessions"),
        (
            "12.3?",
            "a rough estimate: 2 operations per parameter and token (6 in training) at 100e9 per second on cpu "
            "and 10e12 on cuda; memory of weights and libraries, and of the batch if config.json has sizes",
        ),
    )
    return (("Values", values), ("Signs", signs))


def home_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of Home."""
    columns = (
        ("size", "files of its weights; random: only its architecture is here"),
        ("task", "from modules.json or the class in config.json; empty if neither says"),
        (
            "fits",
            "largest batch of a search that fits into the memory that is free now: weights, activations and "
            "cache, from the sizes in config.json; a rough estimate, checked in benchtui doctor",
        ),
        ("best here", f"highest rate measured on this machine; {symbols.flag}: its session has marks"),
    )
    models = (
        ("measured", "models of the sessions of this machine come first"),
        ("folders", "of the entry models in config.toml"),
        ("cache", "of the Hugging Face hub: HF_HUB_CACHE, HF_HOME"),
        ("paste", "a path or a hub id is selected"),
    )
    return (("Models", models), ("Columns", columns))


def library_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the Library view."""
    columns = (
        ("measured", "measured cases, of those planned"),
        (
            "best rate",
            f"throughput of the case to run; {symbols.about} while undecided, {symbols.absent} without any",
        ),
        ("A B C", "the marked sessions; A is the base"),
        (symbols.flag, "caveats of the measurements"),
    )
    outcomes = (
        (symbols.running, "running"),
        (symbols.ok, "completed"),
        (symbols.interrupted, "interrupted, crashed"),
        (symbols.failed, "failed, unreadable"),
    )
    return (("Columns", columns), ("Outcomes", outcomes))


def compare_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the Compare view."""
    metrics = (
        ("ratio", "speed relative to the base; above 1, the new session is faster"),
        ("interval", "95 % interval of the ratio: steps, fresh processes, sessions"),
        *((quantity_title(row), row.help) for row in COMPARED_ON_SCREEN.rows() if isinstance(row, Quantity)),
    )
    verdicts = (
        ("F faster", "the whole 99 % interval lies above 1 by more than 0.5 %"),
        ("S slower", "the whole 99 % interval lies below 1 by more than 0.5 %"),
        ("= same", "the whole 95 % interval lies within the margin (2 %)"),
        ("? unsure", "anything else; the selected row says why, and what would decide it"),
        ("r reported", "the source kept no steps, so its figures are shown as they are"),
        (f"{symbols.failed} lost", "measured in the base, planned and not measured in the new session"),
    )
    return (("Metrics", metrics), ("Verdicts", verdicts))


def charts_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the Charts view."""
    signs = (
        ("a b c", "a point of that line; the bar through it is its 95 % interval"),
        (f"{symbols.oom}{symbols.failed}{symbols.timeout}", "on the axis: out of memory, failed, timed out"),
        ("a+2", "two more points on the same cell"),
        ("front", "of one sequence length: no other case has more samples/s at no higher cost"),
    )
    cells = (
        (symbols.best, "the best case of its sequence length; for speed the one to run, once that is decided"),
        (f"{symbols.up[1]} to {symbols.up[-1]}", "color step of the value, from the lowest to the highest"),
        (f"{symbols.hatch}OOM{symbols.hatch}", "out of memory"),
        (f"{symbols.skipped} {symbols.queued}", "skipped; not measured yet"),
    )
    return (("Lines and fronts", signs), ("Heatmap", cells))


def case_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the case screen."""
    signs = (
        (symbols.ok, "requested, and confirmed by reading it back"),
        (symbols.failed, "requested, but not applied"),
        (symbols.absent, "not verified"),
        (symbols.above, "outlier: far outside normal variation; included in all metrics"),
    )
    return (("Signs", signs),)


def why_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the Why page."""
    signs = (
        (symbols.chosen, "finding; green: measured directly, yellow: another cause is possible, gray: a hint"),
        (symbols.flag, "what to know before trusting the profile"),
    )
    columns = (
        ("ms", "time per step, excluding operators that it calls"),
        ("calls", "operators that Python calls; on a GPU, kernels and copies"),
        ("rate", "operations or bytes per second, by the shapes of the inputs"),
        ("% peak", "share of this machine's measured peak; cached: beyond the peak of memory"),
        ("gap, ms", "how much longer than in the case on the left"),
    )
    return (("Signs", signs), ("Columns", columns))


def report_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the Report page."""
    signs = (
        (symbols.flag, "caveat about the figures below"),
        (
            f"{symbols.axis}{symbols.eighths[-1]}{symbols.light}",
            "bar around 1: right is faster than the baseline, left slower; the light end is the 95 % interval",
        ),
        ("FASTER", "a verdict; docs/verdicts.md says when each is given"),
        (f"{symbols.track * 3}", "columns that don't fit follow in a second table, with the rows' names again"),
    )
    return (("Signs", signs),)


EXPLAINED = ("p50", "p99", "interval", "samples", "memory", "base", "answer", "accepted")
STATES = ("running", "queued", "ok", "oom", "skipped", "failed", "timeout", "interrupted")


def monitor_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections on metrics, gauges, and states."""
    return (
        ("Metrics", (*_columns(symbols), *_plot(symbols), *_predictions(symbols))),
        ("Gauges", _gauges(symbols)),
        ("States", tuple((getattr(symbols, state), state) for state in STATES)),
    )


def _columns(symbols: Symbols) -> Rows:
    shown = tuple((TITLES[key].replace("+-", symbols.plus_minus), ABOUT[key]) for key in EXPLAINED)
    return (
        *shown,
        (f"{symbols.about}1.000x", "the same: the whole 95 % interval lies within the margin (2 %)"),
        ("1.30x?", "unsure: the interval is too wide, or a caveat applies; ? alone: nothing follows"),
        ("1.30x*", "as reported: the source kept no steps to test it with"),
        ("pending", "the baseline has yet to be measured"),
        ("no base", "the baseline of this sequence length wasn't measured; notes say why"),
        (
            f"{symbols.axis}{symbols.eighths[-1]}{symbols.light}",
            "bar around 1: right is faster, left slower; the light end is the interval",
        ),
        (symbols.best, "the case to run for throughput, as in the report; no star while that is undecided"),
        (
            f"{symbols.flag} noisy",
            "measured, but with a caveat: other processes used the machine; throttled, low clock, ...",
        ),
    )


def _plot(symbols: Symbols) -> Rows:
    return (
        (f"{symbols.shade}{symbols.shade}", "warm-up: recorded, never counted"),
        (symbols.spread * 2, "from p5 to p95 of the measured steps; from 40 steps on"),
        (symbols.axis_break * 2, "axis break: the range down to zero is omitted"),
        (symbols.above, "steps above the scale"),
        (
            symbols.outlier,
            "outlier among at least 20 steps: 14.8 median absolute deviations off; never removed",
        ),
        (symbols.bar * 2, "below the steps: throttled by heat or power supply, or the compiler was running"),
    )


def _predictions(symbols: Symbols) -> Rows:
    return (
        (f"{symbols.about}1.2 GiB", "predicted peak memory of a queued case"),
        (f"{symbols.about} left", "estimated from cases with other options"),
    )


def _gauges(symbols: Symbols) -> Rows:
    return (
        (symbols.chosen, "GPU of the selected case, or of the running ones"),
        (symbols.flag, "GPU in use by other processes, or throttled"),
        ("memory", "amber from 90 % of the total, red from 97 %"),
        ("power", "amber from 98 % of the limit"),
        (
            "temp",
            f"amber 10 {symbols.degree} below the GPU's slowdown temperature (90 if unknown), red from it on",
        ),
    )


SECTIONS: dict[str, Callable[[Symbols], Sequence[Section]]] = {
    "": lambda symbols: (),
    "home": home_help,
    "monitor": monitor_help,
    "sweep": editor_help,
    "library": library_help,
    "compare": compare_help,
    "charts": charts_help,
    "case": case_help,
    "why": why_help,
    "report": report_help,
}
"""Help sections by view; they follow its keys."""
