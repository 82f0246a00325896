"""Help for the Charts view: symbols."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.pages.help import Section


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
