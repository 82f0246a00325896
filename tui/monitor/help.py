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
