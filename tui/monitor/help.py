"""Monitor help: its metrics, gauges and states."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.monitor.columns_dialog import ABOUT, TITLES
from benchtui.tui.pages.help import Rows, Section

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
        (f"{symbols.about}1.2 GB", "predicted peak memory of a queued case"),
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
