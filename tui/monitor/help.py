"""Monitor help: its metrics and states."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.pages.help import Section


def monitor_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections on metrics, signs, and states."""
    readings = (
        ("p50", "median of the measured steps, tokenizing included"),
        ("p99", f"the slowest 1 %; {symbols.absent} below 100 steps"),
        (f"{symbols.plus_minus} %", "half the width of the median's 95 % interval"),
        ("vs base", "samples/s at the typical step, over the baseline's; as the report and compare judge it"),
        ("= 1.000x", "the same: the whole 95 % interval lies within the margin (2 %)"),
        ("? 1.30x", "unsure: the interval is too wide, or a caveat applies"),
        ("memory", "peak on the device; on the processor, resident memory of the worker"),
        (f"{symbols.shade}{symbols.shade}", "warm-up: recorded, never counted"),
        (symbols.above, "steps above the scale"),
        (symbols.outlier, "outlier: 14.8 median absolute deviations off; reported, never removed"),
        (symbols.throttled, "heat or power supply throttled the clock"),
        (symbols.compiling, "the compiler was running"),
        (f"{symbols.round}2", "the second round starts"),
        (f"{symbols.about}1,234", "predicted peak memory of a queued case"),
        (f"{symbols.about} left", "estimated from cases with other options"),
        (symbols.flag, "caveat about the metrics"),
    )
    states = ("running", "queued", "ok", "oom", "skipped", "failed", "timeout", "interrupted")
    return (("Metrics", readings), ("States", tuple((getattr(symbols, state), state) for state in states)))
